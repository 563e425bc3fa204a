"""Names of very many columns behave as a list of them, and take far less memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from chanceline.columns.names import (
    ChosenNames,
    NumberedNames,
    PackedNames,
    first_repeated_name,
    place_of_name,
)

TEXTS = ["rs1", "", "größe µ", "a b", "x" * 40, "rs2", "\ud800"]
INDICES = np.array([0, 2, 5])


@pytest.mark.parametrize(("names", "expected"), [
    (NumberedNames(7), [f"x{j}" for j in range(7)]),
    (NumberedNames(3, "column "), ["column 0", "column 1", "column 2"]),
    (PackedNames(TEXTS), TEXTS),
    (PackedNames(text for text in TEXTS), TEXTS),
    (PackedNames([]), []),
    (ChosenNames(PackedNames(TEXTS), INDICES), [TEXTS[j] for j in INDICES]),
    (ChosenNames(NumberedNames(7), INDICES), ["x0", "x2", "x5"]),
])  # fmt: skip
def test_names_behave_as_a_list(names, expected):
    assert len(names) == len(expected)
    assert list(names) == expected
    assert [names[j] for j in range(len(names))] == expected
    assert names[1:3] == expected[1:3]
    assert list(pickle.loads(pickle.dumps(names))) == expected
    with pytest.raises(IndexError):
        names[len(expected)]
    for place, name in enumerate(expected):
        assert name in names
        assert place_of_name(names, name) == place
    assert place_of_name(names, "nothing") is None
    if expected:
        assert names[-1] == expected[-1]


@pytest.mark.parametrize("name", ["x07", "x7", "x-1", "y1", "x", "", 3])
def test_numbered_names_have_no_others(name):
    assert name not in NumberedNames(7)


def test_a_name_that_two_columns_have_is_found():
    assert first_repeated_name(PackedNames(TEXTS)) is None
    assert first_repeated_name(NumberedNames(10**6)) is None
    assert first_repeated_name(PackedNames([*TEXTS, "a b", "rs1"])) == "a b"


def test_packed_names_take_a_few_bytes_each():
    names = PackedNames(f"rs{number}" for number in range(20_000))
    # "rs" and five digits, and eight bytes for the place.
    assert len(pickle.dumps(names)) < 20_000 * (7 + 8) + 1_000
    assert len(pickle.dumps(NumberedNames(10**9))) < 200
