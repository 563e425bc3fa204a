"""Arrays and tables in memory, checked once: finite numbers, labels ±1, names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._validation import shown, whole_number
from chanceline.errors import InputError

Floats = NDArray[np.float64]
LARGEST = 1e100  # numbers between 1/LARGEST and LARGEST have squares, and sums of squares, that a double can hold


def check_arrays(
    X: ArrayLike, y: ArrayLike, feature_names: Sequence[str] | None = None
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """X as finite numbers, y as ±1 (the larger of the two values positive), and a name for every column."""
    data, names = check_matrix(X, feature_names)
    if data.shape[0] < 2:
        raise InputError(f"X must have samples as rows (at least 2) and features as columns, but has shape {data.shape}.")
    labels, values = read_classes(y, data.shape)
    if len(values) != 2:
        raise InputError(f"y must have two classes, but has {len(values)} ({_few(values)}).")
    return data, np.where(labels == values[1], 1.0, -1.0), names


def check_matrix(X: ArrayLike, feature_names: Sequence[str] | None = None) -> tuple[Floats, tuple[str, ...]]:
    """X as finite numbers that can be computed with, and a name for every column."""
    if feature_names is None:
        feature_names = column_names(X)
    data = as_numbers(X)
    if data.ndim != 2:
        raise InputError(f"X must have two dimensions, samples as rows and features as columns, but has shape {data.shape}.")
    if data.shape[0] == 0 or data.shape[1] == 0:
        raise InputError(f"X must have at least one row and one column, but has shape {data.shape}.")
    names = tuple(map(str, feature_names)) if feature_names is not None else tuple(f"x{j}" for j in range(data.shape[1]))
    if len(names) != data.shape[1]:
        raise InputError(f"there are {len(names)} feature names for {data.shape[1]} columns of X.")
    if not np.isfinite(data).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(data))[0])
        raise InputError(f"X has a missing or infinite value in row {row + 1}, column {names[column]!r}; fill or drop it.")
    check_range(data, names)
    return data, names


def check_labels(y: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """y as ±1 for an X of that shape, the larger of two values positive; one value alone is a problem like any other."""
    labels, values = read_classes(y, shape)
    if len(values) > 2:
        raise InputError(f"y must have two classes, but has {len(values)} different values ({_few(values)}).")
    if len(values) == 1:
        return np.full(shape[0], -1.0 if values[0] in (-1, 0, False) else 1.0)
    return np.where(labels == values[1], 1.0, -1.0)


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns; None for an array."""
    return tuple(map(str, X.columns)) if hasattr(X, "columns") else None


def as_numbers(X: ArrayLike) -> Floats:
    """X as doubles in rows, a copy unless X is that already and read-only; what is no array of real numbers gets a sentence."""
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; pass X.toarray().")
    if np.ma.is_masked(X):
        raise InputError("X has masked values; fill them or leave those rows out.")
    no_numbers = InputError("X must be a matrix of numbers only; turn text columns into indicators or leave them out.")
    try:
        raw: NDArray[Any] = np.asarray(X)
    except ValueError:
        raise no_numbers from None
    if raw.dtype == np.float64 and raw.flags.c_contiguous and not raw.flags.writeable:
        return raw
    kind = raw.dtype.kind
    if kind == "c" or (kind == "O" and any(isinstance(value, complex) for value in raw.flat)):
        raise InputError("X holds complex numbers; take their real and imaginary parts as two columns.")
    if kind in "mM":
        raise InputError("X holds dates or times; turn them into numbers first.")
    try:
        with np.errstate(all="ignore"):
            return np.array(X, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise no_numbers from None


def check_range(X: Floats, names: Sequence[str]) -> None:
    """Refuse columns whose squares, or the squares of whose weights, no double can hold."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    odd = np.flatnonzero((largest > LARGEST) | ((largest > 0) & (largest < 1 / LARGEST)))
    if odd.size:
        column = int(odd[0])
        raise InputError(
            f"the largest value of column {names[column]!r} of X is {largest[column]:.3g}, too far from 1 to compute with; "
            "multiply that column by a constant."
        )


def read_classes(y: ArrayLike, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The labels, one for each row of an X of that shape, and their different values in order."""
    n_samples, n_features = shape
    if hasattr(y, "toarray") or np.ma.is_masked(y):
        raise InputError("y must be an array without masked values, one label for each row of X.")
    try:
        labels: NDArray[Any] = np.asarray(y)
    except ValueError:
        raise InputError("y must hold one label for each row of X, but holds lists of different lengths.") from None
    if labels.shape == (n_features,) != (n_samples,):
        raise InputError(f"X has {n_samples} rows and {n_features} columns for {n_features} labels; pass X.T, samples are rows.")
    if labels.shape != (n_samples,):
        raise InputError(f"y must hold one label for each of the {n_samples} rows of X, but has shape {labels.shape}.")
    if labels.dtype.kind in "cmMV":
        raise InputError("y must hold two classes as numbers or names, not complex numbers, dates or records.")
    if labels.dtype.kind == "O":
        if any(value is None or value != value for value in labels):
            raise InputError("y has missing labels; remove those rows.")
        try:
            return labels, np.unique(labels)
        except TypeError:
            labels = labels.astype(str)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(f"y has missing labels, the first in row {int(np.argmin(np.isfinite(labels))) + 1}; remove those rows.")
    return labels, np.unique(labels)


def _few(values: NDArray[Any]) -> str:
    return ", ".join(map(str, values[:4])) + (", …" if len(values) > 4 else "")


def find_features(features: Sequence[int | str], names: Sequence[str]) -> NDArray[np.int64]:
    """Sorted indices of the features named (or numbered)."""
    if not isinstance(features, Sequence | np.ndarray) or isinstance(features, str | bytes) or np.ndim(features) != 1:
        raise InputError(f"features must be a list of names or numbers, not {shown(features)}.")
    if len(features) == 0:
        raise InputError("no feature was named; name at least one or leave the features out to search.")
    places = {name: j for j, name in enumerate(names)}
    indices = []
    for feature in features:
        if isinstance(feature, str):
            if feature not in places:
                near = difflib.get_close_matches(feature, names, n=2)
                hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
                raise InputError(f"there is no feature {feature!r} among the {len(names)} numeric columns{hint}")
            indices.append(places[feature])
        else:
            index = whole_number(feature, "a feature's number", at_least=-(2**63))
            if not 0 <= index < len(names):
                raise InputError(f"feature {feature} does not exist; columns are numbered from 0 to {len(names) - 1}.")
            indices.append(index)
    if len(set(indices)) < len(indices):
        raise InputError("the same feature was named twice.")
    return np.array(sorted(indices), dtype=np.int64)


def distinct_columns(X: NDArray[np.float64], intercept: bool) -> NDArray[np.int64]:
    """First column of every set of equal ones, constants left out (all of them with an intercept, else
    zeros).

    A rule that uses a duplicate can use the first of its kind, and a constant is the intercept over again,
    so the union over supports need only run over these columns.
    """
    seen: dict[bytes, int] = {}
    constant = np.all(X[:1] == X, axis=0)
    if not intercept:
        constant &= X[0] == 0
    for j in np.flatnonzero(~constant):
        seen.setdefault((X[:, j] + 0.0).tobytes(), int(j))
    return np.array(sorted(seen.values()), dtype=np.int64)


def contradictions(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of equal rows with opposite labels (one pair for each such set of rows)."""
    # Digests stand for rows, which together would be a copy of X. Adding zero makes −0 and 0 the same bytes.
    rows: dict[bytes, list[int]] = {}
    for i, row in enumerate(X):
        rows.setdefault(blake2b((row + 0.0).tobytes()).digest(), []).append(i)
    pairs = []
    for members in rows.values():
        positive = [i for i in members if y[i] > 0]
        negative = [i for i in members if y[i] < 0]
        if positive and negative:
            pairs.append((min(positive[0], negative[0]), max(positive[0], negative[0])))
    return sorted(pairs)
