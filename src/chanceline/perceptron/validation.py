"""Checks of X, y, signs and supports: one sentence says what is wrong and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import InputError, whole_number

MAX_MAGNITUDE = 1e100  # doubles hold the squares of such numbers, and sums of squares
SINGLE_PRECISION_FROM = 40_000  # columns above which single precision is enough: memory counts
# Types of numbers that single precision holds exactly.
EXACT_IN_SINGLE = frozenset(map(np.dtype, ("?", "i1", "u1", "i2", "u2", "f2", "f4")))
NOT_CONVERTIBLE = (TypeError, ValueError, OverflowError)  # what NumPy raises on text and the like
MAX_CLASSES_SHOWN = 4
MAX_SUGGESTIONS = 2  # of features with a name like the one that is not there


def check_arrays(
    X: ArrayLike, y: ArrayLike, feature_names: Sequence[str] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, ...]]:
    """Check data of two classes, and return X, y as ±1, and the feature names.

    X : (samples, features) numbers, at least two samples.
    y : (samples,) labels; the larger of the two values becomes +1.
    feature_names : by default those of a data frame, else x0, x1, ….
    """
    data, names = check_matrix(X, feature_names)
    if data.shape[0] < 2:
        raise InputError(
            "X must have samples as rows (at least 2) and features as columns, "
            f"but has shape {data.shape}."
        )
    labels = check_labels(y, data.shape, min_classes=2)
    return data, labels, names


def check_matrix(
    X: ArrayLike, feature_names: Sequence[str] | None = None
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Check that X (samples, features) holds finite numbers; return it with the feature names.

    Polars and Arrow tables are converted to pandas first. Without names features are x0, x1, ….
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    data = as_numbers(X)
    if data.ndim != 2 or data.size == 0:
        raise InputError(
            "X must have two dimensions, samples as rows and features as columns, "
            f"but has shape {data.shape}."
        )

    names = _feature_names(X, feature_names, n_features=data.shape[1])
    if not np.isfinite(data).all():
        row, column = np.argwhere(~np.isfinite(data))[0]
        raise InputError(
            f"X has a missing or infinite value in row {row + 1}, column {names[column]!r}; "
            "fill or drop it."
        )
    check_magnitudes(data, names)
    return data, names


def _feature_names(
    X: ArrayLike, feature_names: Sequence[str] | None, n_features: int
) -> tuple[str, ...]:
    """Return one name for each feature, as text.

    These are the names given by the caller, else those of a data frame, else x0, x1, ….
    """
    names = feature_names
    if names is None:
        names = column_names(X)
    if names is None:
        names = [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise InputError(f"there are {len(names)} feature names for {n_features} columns of X.")
    return tuple(str(name) for name in names)


def check_magnitudes(X: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse columns of numbers so large or so small that their squares would overflow or vanish.

    A column is judged by its largest absolute value; a column of zeros is accepted. `X` is
    (samples, features), and `names` are the names of the features, for the message.
    """
    largest_magnitude = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(float)  # (features,)
    is_too_large = largest_magnitude > MAX_MAGNITUDE
    is_too_small = (largest_magnitude > 0) & (largest_magnitude < 1 / MAX_MAGNITUDE)
    refused_columns = np.flatnonzero(is_too_large | is_too_small)
    if refused_columns.size:
        column = refused_columns[0]
        raise InputError(
            f"the largest value of column {names[column]!r} of X is "
            f"{largest_magnitude[column]:.3g}, "
            "too far from 1 to compute with; multiply that column by a constant."
        )


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame as text; None for an array."""
    if not hasattr(X, "columns"):
        return None
    return tuple(str(name) for name in X.columns)


def as_numbers(X: ArrayLike) -> NDArray[np.float64]:
    """Convert X (samples, features) to a C-contiguous array of floating-point numbers.

    The result is a copy, unless X is such an array already and read-only. A sparse matrix becomes a
    dense one. Numbers become doubles, except in very wide tables of types that single precision
    holds exactly: there they become single precision (`working_precision`). Text, complex numbers
    and dates are refused.
    """
    if np.ma.is_masked(X):
        raise InputError("X must be a plain matrix: fill masked values.")
    not_real_numbers = InputError(
        "X must be a matrix of numbers only, real ones; "
        "turn text columns into indicators or leave them out."
    )
    raw: NDArray[Any]
    try:
        if hasattr(X, "toarray"):  # a sparse matrix
            raw = X.toarray()
        else:
            raw = np.asarray(X)
    except NOT_CONVERTIBLE:
        raise not_real_numbers from None
    # NumPy would silently convert complex numbers (kind c), time spans (m) and dates (M).
    if raw.dtype.kind in "cmM":
        raise not_real_numbers

    n_columns = 0
    if raw.ndim > 0:
        n_columns = raw.shape[-1]
    dtype = working_precision([raw.dtype], n_columns)
    # A read-only array needs no copy: nobody can change its values later.
    has_right_form = raw.dtype == dtype and raw.flags.c_contiguous
    if has_right_form and not raw.flags.writeable:
        return raw
    try:
        return np.array(raw, dtype=dtype, order="C")
    except NOT_CONVERTIBLE:
        raise not_real_numbers from None


def working_precision(dtypes: Iterable[Any], n_columns: int) -> np.dtype[Any]:
    """Choose the number type for a table: doubles, or single precision for very wide tables.

    Single precision is chosen for more than SINGLE_PRECISION_FROM columns if it holds all their
    values exactly, as it does for small integers (genotypes, counts) and for data in single
    precision.

    dtypes : the types of all columns.
    n_columns : how many columns there are.
    """
    if n_columns > SINGLE_PRECISION_FROM and EXACT_IN_SINGLE.issuperset(dtypes):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def check_labels(y: ArrayLike, shape: tuple[int, ...], min_classes: int = 1) -> NDArray[np.float64]:
    """Convert labels of two values to ±1, shape (samples,); the larger value becomes +1.

    If there is only one value, −1, 0 and False become −1 and everything else +1.

    y : (samples,) labels.
    shape : shape of X, (samples, features).
    min_classes : 2 if a single value is to be refused.
    """
    labels = read_labels(y, shape)
    classes: NDArray[Any] = np.unique(labels)
    # A single class is refused only if `min_classes` is 2, so the message is right in this case.
    if not min_classes <= len(classes) <= 2:
        classes_shown = ", ".join(str(value) for value in classes[:MAX_CLASSES_SHOWN])
        if len(classes) > MAX_CLASSES_SHOWN:
            classes_shown += ", …"
        raise InputError(f"y must have two classes, but has {len(classes)} ({classes_shown}).")

    if len(classes) == 1:
        label = 1.0
        if classes[0] in (-1, 0, False):
            label = -1.0
        return np.full(shape[0], label)
    return np.where(labels == classes[1], 1.0, -1.0)


def read_labels(y: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the labels as an array (samples,), after a check of their number and of missing ones.

    shape : shape of X, (samples, features).
    """
    n_samples, n_features = shape
    labels: NDArray[Any] = np.asarray(y)
    # One label for each column instead of each row: X seems to be transposed.
    if labels.shape == (n_features,) and n_features != n_samples:
        raise InputError(
            f"X has {n_samples} rows and {n_features} columns for {n_features} labels; "
            "pass X.T, samples are rows."
        )
    if labels.shape != (n_samples,) or np.ma.is_masked(y):
        raise InputError(
            f"y must hold one label for each of the {n_samples} rows of X, "
            f"but has shape {labels.shape}."
        )

    for row, label in enumerate(labels.tolist(), start=1):
        if _is_missing(label):
            raise InputError(f"y has missing labels, the first in row {row}; remove those rows.")
    return labels


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or one of the values of pandas for missing data."""
    if label is None:
        return True
    is_unequal_to_itself = label != label  # True for NaN and for pandas' NaT
    if not isinstance(is_unequal_to_itself, (bool, np.bool_)):
        return True  # comparing pandas' NA gives NA
    return bool(is_unequal_to_itself)


def find_features(features: Sequence[int | str], names: Sequence[str]) -> NDArray[np.int64]:
    """Convert features, each given by name or by number, into sorted indices of `names`.

    Unknown names, numbers out of range and repeated features are refused.
    """
    if len(features) == 0 or isinstance(features, str):
        raise InputError(
            "name at least one feature in a list, or leave the features out to search."
        )
    index_of_name = {name: index for index, name in enumerate(names)}
    indices = []
    for feature in features:
        if isinstance(feature, str):
            if feature not in index_of_name:
                raise _unknown_feature(feature, names)
            indices.append(index_of_name[feature])
        else:
            indices.append(whole_number(feature, "a feature's number", at_most=len(names) - 1))
    if len(set(indices)) < len(indices):
        raise InputError("the same feature was named twice.")
    return np.array(sorted(indices), dtype=np.int64)


def _unknown_feature(feature: str, names: Sequence[str]) -> InputError:
    """Make the error for a name that does not exist, which suggests similar names."""
    hint = "."
    similar = difflib.get_close_matches(feature, names, n=MAX_SUGGESTIONS)
    if similar:
        hint = f"; did you mean {' or '.join(map(repr, similar))}?"
    return InputError(
        f"there is no feature {feature!r} among the {len(names)} numeric columns{hint}"
    )


def check_signs(signs: ArrayLike | None, n_features: int) -> NDArray[np.int64] | None:
    """Return the prescribed signs of the weights as an array (features,); None if all are free.

    A sign is +1, −1 or 0 (free); a single number is the sign of all weights.
    """
    if signs is None:
        return None
    values: NDArray[Any] = np.asarray(signs)
    has_right_shape = values.shape in {(), (n_features,)}
    if not has_right_shape or not np.isin(values, (-1, 0, 1)).all():
        raise InputError(
            "The signs must be +1, −1 or 0 (free), "
            f"one for each of the {n_features} columns of X or one for all."
        )
    if not values.any():  # all are free
        return None
    return np.broadcast_to(values, n_features).astype(np.int64)


def check_support(support: ArrayLike, n_features: int) -> NDArray[np.int64]:
    """Return the columns of a support as sorted indices; each must exist, and none occur twice."""
    columns = np.atleast_1d(np.asarray(support, dtype=np.int64))
    if columns.size and (columns.min() < 0 or columns.max() >= n_features):
        raise InputError(
            f"The support holds a column outside 0 … {n_features - 1}; check the indices."
        )
    if np.unique(columns).size != columns.size:
        raise InputError("The support names a column twice; give every column once.")
    return np.sort(columns)
