"""Numbers from outside: what counts as one, and the sentence for what does not."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from chanceline.checks import real_number, shown, truth, whole_number
from chanceline.errors import InputError


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.array(3), Fraction(3)])
def test_whole_numbers(value):
    number = whole_number(value, "P")
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [
    40.5, float("nan"), float("inf"), "3", b"3", None, True, np.bool_(True), 3j, np.complex128(3), [3], (), {}, set(), object(),
    ..., np.array([3, 4]), np.array([]), np.datetime64("NaT"), np.timedelta64(3, "D"), Decimal("3.5"), range(3), int,
])  # fmt: skip
def test_what_is_no_whole_number(value):
    with pytest.raises(InputError, match=r"^P must be a whole number, not .+\.$") as caught:
        whole_number(value, "P")
    assert "\n" not in str(caught.value)


def test_limits_are_named():
    with pytest.raises(InputError, match=r"P must be at least 2, not 1\."):
        whole_number(1, "P", at_least=2)
    with pytest.raises(InputError, match=r"P must be between 0 and 1,000, not 1001\."):
        whole_number(1001, "P", at_most=1000)
    with pytest.raises(InputError, match="at least 0"):
        whole_number(2**63, "P")


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2)])
def test_real_numbers(value):
    number = real_number(value, "x")
    assert (number, type(number)) == (0.5, float)


@pytest.mark.parametrize("value", ["0.5", None, True, 1j, np.complex128(1), np.array([0.5]), 10**400, np.datetime64("NaT")])
def test_what_is_no_number(value):
    with pytest.raises(InputError, match="x must be a number"):
        real_number(value, "x")


@pytest.mark.parametrize("value", [float("nan"), -np.inf, np.float32("inf")])
def test_what_is_not_finite(value):
    with pytest.raises(InputError, match="finite"):
        real_number(value, "x")


@pytest.mark.parametrize("value", [True, 1, np.bool_(True), np.array(True), 1.0])
def test_truth(value):
    assert truth(value, "x") is True


@pytest.mark.parametrize("value", [None, "True", 2, float("nan"), [], np.array([True]), {}, 1j, object()])
def test_what_is_no_truth(value):
    with pytest.raises(InputError, match="x must be True or False"):
        truth(value, "x")


def test_values_are_shown_in_one_short_line():
    assert shown(np.zeros((50, 50))).count("\n") == 0
    assert len(shown("x" * 1000)) == 60
