"""What is wrong with the data is seen, and only that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline import load_data, separation_test
from chanceline.perceptron.duplicates import contradicting_rows, distinct_columns
from chanceline.tables.checks.advice import examine
from chanceline.tables.identifiers import row_identifiers


@pytest.fixture
def healthy():
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 6)), np.repeat([1.0, -1.0], 15)


def messages(X, y):
    names = [f"x{j}" for j in range(X.shape[1])]
    return " | ".join(str(finding) for finding in examine(X, y, names))


def test_nothing_to_say_about_healthy_data(healthy):
    assert messages(*healthy) == ""


def test_columns(healthy):
    X, y = healthy
    X[:, 1] = 7.0
    X[:, 2] = X[:, 0]
    X[:, 3] = np.arange(30) % 4
    assert messages(X, y) == "", "constant, equal and tied columns change no verdict"
    assert distinct_columns(X, True).tolist() == [0, 3, 4, 5]
    assert distinct_columns(X, False).tolist() == [0, 1, 3, 4, 5]


def test_negative_zero_is_zero():
    X = np.array([[0.0, -0.0], [1.0, 1.0], [2.0, 2.0]])
    assert distinct_columns(X, True).tolist() == [0]
    assert contradicting_rows(np.array([[0.0], [-0.0]]), np.array([1.0, -1.0])) == [(0, 1)]


def test_rows(healthy):
    X, y = healthy
    X[20] = X[3]
    seen = messages(X, y)
    assert "warning: rows 4 and 21 are equal but have opposite labels" in seen
    assert contradicting_rows(X, y) == [(3, 20)]


def test_identifiers_and_labels_in_disguise(healthy):
    X, y = healthy
    X[:, 0] = np.arange(30) + 100
    X[:, 5] = np.where(y > 0, 3.5, -2.0)
    seen = messages(X, y)
    assert "column 'x0' looks like an identifier" in seen
    assert "column 'x5' is the label over again" in seen
    assert messages(X, y).count("warning") == 2


def test_many_identifiers_are_one_sentence(healthy):
    X, y = healthy
    X[:, :5] = np.arange(30)[:, None] * [1, 2, 3, 4, 5]
    assert messages(X, y).count("warning") == 1
    assert "columns 'x0', 'x1', 'x2', 'x3' and 1 more look like identifiers of rows" in messages(
        X, y
    )


def test_ranks_are_no_identifiers(healthy):
    """Every column of different values has ranks that count the rows: 105 warnings on a table of 105 columns."""
    X, y = healthy
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(outcome=y)
    result = separation_test(
        data, label="outcome", transform="rank", permutations=9, expected_error=False
    )
    assert [str(one) for one in result.findings] == ["prepared: ranks within the column."]


def test_an_identifier_is_told_or_kept_not_both(healthy):
    X, y = healthy
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(
        patient_id=np.arange(30), outcome=y
    )
    hidden = data.assign(patient_id=data["patient_id"].where(data.index != 3))
    assert "column 'patient_id' looks like an identifier" in str(
        load_data(hidden, "outcome", missing="rows")
    )
    kept = separation_test(
        data, label="outcome", keep_identifiers=True, permutations=9, expected_error=False
    )
    assert kept.n_features == 7
    assert not any("looks like" in str(one) for one in kept.findings)


@pytest.mark.parametrize(("name", "values", "is_one"), [
    ("patient_id", [5, 900, 17, 3], True), ("SampleID", [5, 900, 17, 3], True), ("Idx", [7, 8, 9, 6], True),
    ("barcode", [5, 900, 17, 3], True), ("age", [5, 900, 17, 3], False), ("id", [5.5, 900, 17, 3], False),
    ("id", [5, 5, 17, 3], False), ("solid", [5, 900, 17, 3], False), ("protein", [*range(0, 40, 4), 50, 99], True),
    ("protein", [*range(0, 40, 4), 50, 49], False), ("sampled", [20210304, 20210304, 20211231, 20200101], True),
    ("sampled", [20210304, 20210304, 20211331, 20200101], False),
])  # fmt: skip
def test_what_names_a_row_or_a_day(name, values, is_one):
    assert row_identifiers(np.array(values, dtype=float)[:, None], [name]).tolist() == [0] * is_one
