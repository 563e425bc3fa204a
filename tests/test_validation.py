"""Numbers from outside: what counts as one, and the sentence for what does not."""

import re
from fractions import Fraction

import numpy as np
import pytest

from chanceline.errors import InputError, real_number, shown, whole_number


@pytest.mark.parametrize(
    "value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.array(3), Fraction(3)]
)
def test_whole_numbers(value):
    number = whole_number(value, "P")
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize(
    "value", [40.5, float("nan"), float("inf"), "3", None, True, 3j, [3], np.array([3, 4])]
)
def test_what_is_no_whole_number(value):
    with pytest.raises(InputError, match="P must be a whole number"):
        whole_number(value, "P")


@pytest.mark.parametrize(
    ("value", "limits", "said"),
    [(1, {"at_least": 2}, "at least 2"), (1001, {"at_most": 1000}, "1,000")],
)
def test_limits_are_named(value, limits, said):
    with pytest.raises(InputError, match=re.escape(said)):
        whole_number(value, "P", **limits)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2)])
def test_real_numbers(value):
    number = real_number(value, "x")
    assert (number, type(number)) == (0.5, float)


@pytest.mark.parametrize("value", ["0.5", None, True, 1j, 10**400, float("nan"), -np.inf])
def test_what_is_no_finite_number(value):
    with pytest.raises(InputError, match=r"x must be a .*number"):
        real_number(value, "x")


def test_values_are_shown_in_one_short_line():
    assert shown(np.zeros((50, 50))).count("\n") == 0
    assert len(shown("x" * 1000)) == 60
