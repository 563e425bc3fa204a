"""Data from outside: what is no table of real numbers of usable size gets one sentence, through every door."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import chanceline
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_matrix, read_labels

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 4))
Y = np.where(X[:, 0] > 0, 1, -1)
DOORS = (chanceline.search, chanceline.front, chanceline.separation_test)


def with_column(factor):
    return X * np.array([1.0, factor, 1.0, 1.0])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("table", "culprit"), [
    (X + 0j, "numbers"),
    (np.ma.masked_greater(X, 1.0), "masked"),
    ([*X.tolist()[:-1], [1.0]], "numbers"),
    (with_column(1e305), "column '1'|'x1'"),
    (with_column(1e-309), "column '1'|'x1'"),
    (pd.DataFrame(X).astype("Float64").mask(X > 1), "numbers|missing|nan"),
])  # fmt: skip
def test_tables_that_are_none(door, table, culprit):
    with pytest.raises(InputError, match=culprit):
        door(table, Y)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("labels", [
    np.ma.masked_less(Y, 0), Y[:-1], np.where(Y > 0, 1.0, np.nan), np.array([None, "a"] * 6, dtype=object), "a", None,
])  # fmt: skip
def test_labels_that_are_none(door, labels):
    with pytest.raises(InputError, match=r"\by\b"):
        door(X, labels)


@pytest.mark.parametrize("factor", [1e99, 1e-99])
def test_large_and_small_numbers_give_finite_rules(factor):
    found = chanceline.search(X * factor, Y, "omp", intercept=True)
    assert found.separates
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.bias)
    rule = Y * (X * factor @ np.bincount(found.support, found.weights, minlength=4) + found.bias)
    assert (rule > 0).all()


def test_one_tiny_value_is_no_tiny_column():
    table = X.copy()
    table[0, 0] = 1e-309
    assert chanceline.search(
        table, np.where(table[:, 1] > 0, 1, -1), "omp", intercept=True
    ).separates


def arrow_table(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


@pytest.mark.parametrize("form", [
    np.asfortranarray, lambda a: a[::-1][::-1], lambda a: a.astype(np.float32).astype(np.longdouble), lambda a: a.astype(">f8"),
    lambda a: a.tolist(), pd.DataFrame, lambda a: np.ma.array(a, mask=False), lambda a: a.astype(object),
    sparse.csr_matrix, lambda a: pd.DataFrame(a, columns=list("abcd")).pipe(arrow_table),
], ids=range(10))  # fmt: skip
def test_other_forms_of_a_good_table_are_good(form):
    assert chanceline.search(form(X), Y, "omp", intercept=True).separates


def test_an_array_that_can_change_is_copied_and_one_that_cannot_is_not():
    X = np.random.default_rng(0).standard_normal((6, 4))
    own, _ = check_matrix(X)
    assert not np.shares_memory(own, X)
    X.flags.writeable = False
    assert check_matrix(X)[0] is X
    assert not np.shares_memory(check_matrix(X.T)[0], X)
    assert not np.shares_memory(check_matrix(X.astype(np.float32))[0], X)
    y = [0, 1, 0, 1, 1, 0]
    assert chanceline.search(X, y).to_dict() == chanceline.search(X.copy(), y).to_dict()


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_label_is_named(missing):
    labels = np.array(["a", missing, "b"], dtype=object)
    with pytest.raises(InputError, match="missing labels, the first in row 2"):
        read_labels(labels, (3, 2))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("i1", "f4"), ("u2", "f4"), ("f4", "f4"), ("i4", "f8"), ("f8", "f8")],
)
def test_very_wide_tables_are_in_single_precision_where_that_loses_nothing(dtype, expected):
    X = np.arange(2 * 40_001).reshape(2, -1) % 100
    wide, _ = check_matrix(X.astype(dtype))
    assert wide.dtype == np.dtype(expected)
    assert np.array_equal(wide, X)
    assert check_matrix(X[:, :40_000].astype(dtype))[0].dtype == np.float64
