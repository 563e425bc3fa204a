"""Data checked once (finite numbers, labels ±1, names), and rows a_μ = y_μ x_μ that a separating w must satisfy, a_μ·w > 0."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import InputError, real_number, whole_number

Floats = NDArray[np.float64]
INPUTS = ("binary", "gaussian", "sphere")
MOST_NUMBERS = 2 * 10**8  # of a random problem: 1.6 GB
LARGEST = 1e100  # numbers between 1/LARGEST and LARGEST have squares, and sums of squares, that a double can hold
SINGLE = 40_000  # columns above which a table in single precision stays as it is
BLOCK_ENTRIES = (
    1_000_000  # of X that are worked on at a time, so that no copy of all of it is needed
)
FIRST = 16  # columns in which rows that differ mostly do


def check_arrays(
    X: ArrayLike, y: ArrayLike, feature_names: Sequence[str] | None = None
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """X as finite numbers, y as ±1 (the larger of the two values positive), and a name for every column."""
    data, names = check_matrix(X, feature_names)
    if data.shape[0] < 2:
        raise InputError(
            f"X must have samples as rows (at least 2) and features as columns, but has shape {data.shape}."
        )
    return data, check_labels(y, data.shape, fewest=2), names


def check_matrix(
    X: ArrayLike, feature_names: Sequence[str] | None = None
) -> tuple[Floats, tuple[str, ...]]:
    """X as finite numbers that can be computed with, and a name for every column; polars and Arrow tables by way of pandas."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    data = as_numbers(X)
    if data.ndim != 2 or data.size == 0:
        raise InputError(
            f"X must have two dimensions, samples as rows and features as columns, but has shape {data.shape}."
        )
    given = column_names(X) if feature_names is None else feature_names
    names = (
        tuple(map(str, given))
        if given is not None
        else tuple(f"x{j}" for j in range(data.shape[1]))
    )
    if len(names) != data.shape[1]:
        raise InputError(f"there are {len(names)} feature names for {data.shape[1]} columns of X.")
    if not np.isfinite(data).all():
        row, column = np.argwhere(~np.isfinite(data))[0]
        raise InputError(
            f"X has a missing or infinite value in row {row + 1}, column {names[column]!r}; fill or drop it."
        )
    # Columns whose squares, or the squares of whose weights, no double can hold.
    largest = np.maximum(data.max(axis=0), -data.min(axis=0)).astype(float)
    odd = np.flatnonzero((largest > LARGEST) | ((largest > 0) & (largest < 1 / LARGEST)))
    if odd.size:
        raise InputError(
            f"the largest value of column {names[odd[0]]!r} of X is {largest[odd[0]]:.3g}, too far from 1 to compute with; "
            "multiply that column by a constant."
        )
    return data, names


def check_labels(y: ArrayLike, shape: tuple[int, ...], fewest: int = 1) -> Floats:
    """y as ±1 for an X of that shape, the larger of two values positive; one value alone is a problem like any other."""
    labels = read_labels(y, shape)
    values: NDArray[Any] = np.unique(labels)
    if not fewest <= len(values) <= 2:
        few = ", ".join(map(str, values[:4])) + (", …" if len(values) > 4 else "")
        raise InputError(f"y must have two classes, but has {len(values)} ({few}).")
    if len(values) == 1:
        return np.full(shape[0], -1.0 if values[0] in (-1, 0, False) else 1.0)
    return np.where(labels == values[1], 1.0, -1.0)


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns; None for an array."""
    return tuple(map(str, X.columns)) if hasattr(X, "columns") else None


def as_numbers(X: ArrayLike) -> Floats:
    """X as doubles in rows, a copy unless X is that already and read-only; a sparse matrix is filled with its zeros.

    Single precision stays where there are more than `SINGLE` columns: twice as much memory would be for nothing.
    """
    if np.ma.is_masked(X):
        raise InputError("X must be a plain matrix: fill masked values.")
    try:
        raw: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        kind = (
            raw.dtype
            if raw.dtype == np.float32 and raw.shape[-1:] > (SINGLE,)
            else np.dtype(np.float64)
        )
        if raw.dtype == kind and raw.flags.c_contiguous and not raw.flags.writeable:
            return raw
        if raw.dtype.kind not in "cmM":
            return np.array(raw, dtype=kind, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        "X must be a matrix of numbers only, real ones; turn text columns into indicators or leave them out."
    )


def read_labels(y: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """The labels, one for each row of an X of that shape."""
    n_samples, n_features = shape
    labels: NDArray[Any] = np.asarray(y)
    if labels.shape == (n_features,) != (n_samples,):
        raise InputError(
            f"X has {n_samples} rows and {n_features} columns for {n_features} labels; pass X.T, samples are rows."
        )
    if labels.shape != (n_samples,) or np.ma.is_masked(y):
        raise InputError(
            f"y must hold one label for each of the {n_samples} rows of X, but has shape {labels.shape}."
        )
    missing = [
        row for row, label in enumerate(labels.tolist(), 1) if label is None or label != label
    ]
    if missing:
        raise InputError(f"y has missing labels, the first in row {missing[0]}; remove those rows.")
    return labels


def find_features(features: Sequence[int | str], names: Sequence[str]) -> NDArray[np.int64]:
    """Sorted indices of the features named (or numbered)."""
    if len(features) == 0 or isinstance(features, str):
        raise InputError(
            "name at least one feature in a list, or leave the features out to search."
        )
    places = {name: j for j, name in enumerate(names)}
    indices = []
    for feature in features:
        if isinstance(feature, str) and feature not in places:
            near = difflib.get_close_matches(feature, names, n=2)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
            raise InputError(
                f"there is no feature {feature!r} among the {len(names)} numeric columns{hint}"
            )
        place = places[feature] if isinstance(feature, str) else feature
        indices.append(whole_number(place, "a feature's number", at_most=len(names) - 1))
    if len(set(indices)) < len(indices):
        raise InputError("the same feature was named twice.")
    return np.array(sorted(indices), dtype=np.int64)


def distinct_columns(X: NDArray[np.float64], intercept: bool) -> NDArray[np.int64]:
    """First column of every set of equal ones, constants left out (all of them with an intercept, else
    zeros).

    A rule that uses a duplicate can use the first of its kind, and a constant is the intercept over again,
    so the union over supports need only run over these columns.
    """
    # Digests stand for columns, a block at a time, as for rows below.
    seen: dict[bytes, int] = {}
    width = max(1, BLOCK_ENTRIES // len(X))
    for start in range(0, X.shape[1], width):
        columns = np.ascontiguousarray(X[:, start : start + width].T) + 0.0
        constant = np.all(columns[:, :1] == columns, axis=1) & (intercept | (columns[:, 0] == 0))
        for j in np.flatnonzero(~constant):
            seen.setdefault(blake2b(columns[j], digest_size=16).digest(), start + int(j))
    return np.array(sorted(seen.values()), dtype=np.int64)


def contradicting_rows(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of equal rows with opposite labels (one pair for each such set of rows)."""
    if len(np.unique(X[:, :FIRST] + 0.0, axis=0)) == len(X):
        return []
    # Digests stand for rows, which together would be a copy of X. Adding zero makes −0 and 0 the same bytes.
    firsts: dict[bytes, dict[bool, int]] = {}
    for i, row in enumerate(X):
        firsts.setdefault(blake2b((row + 0.0).tobytes()).digest(), {}).setdefault(bool(y[i] > 0), i)
    return sorted(
        (min(first.values()), max(first.values())) for first in firsts.values() if len(first) == 2
    )


def random_problem(
    n: int,
    alpha: float | None = None,
    seed: int = 0,
    inputs: str = "binary",
    *,
    n_patterns: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Patterns X (P × N) and labels y = ±1 by fair coin, P = `n_patterns` or round(αN).

    Parameters
    ----------
    inputs : "binary" (entries ±1), "gaussian" (standard normal) or "sphere" (rows uniform on the sphere of radius √N).
    """
    n = whole_number(n, "The number of variables", at_least=1)
    if (alpha is None) == (n_patterns is None):
        raise InputError(
            "Give the number of patterns either as alpha (per variable) or as n_patterns, not both."
        )
    wanted = (
        real_number(alpha, "alpha") * n
        if alpha is not None
        else whole_number(n_patterns, "The number of patterns")
    )
    if not 0.5 < wanted <= MOST_NUMBERS / n:
        raise InputError(
            f"There must be at least one pattern and at most {MOST_NUMBERS:,} numbers in all, but alpha·n gives {wanted:.3g} "
            f"patterns of {n} variables."
        )
    patterns = round(wanted)
    if inputs not in INPUTS:
        raise InputError(f"There are no {inputs!r} inputs; choose one of {', '.join(INPUTS)}.")
    generator = np.random.Generator(np.random.PCG64(whole_number(seed, "The seed")))
    y = np.where(generator.integers(0, 2, patterns) == 1, 1.0, -1.0)
    if inputs == "binary":
        return np.where(generator.integers(0, 2, (patterns, n)) == 1, 1.0, -1.0), y
    X = generator.standard_normal((patterns, n))
    if inputs == "sphere":
        X *= np.sqrt(n) / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


@dataclass(frozen=True, eq=False)
class Problem:
    """Validated data (X, y) with y = ±1, and the scaled columns that the searchers work on.

    The searchers see `columns`, shape (N [+ 1], P): column j divided by its scale (and centred when there is an
    intercept), times the labels; the intercept is one more column at the end that every support contains.
    `original` turns their weights back into the units of X. Where the signs of weights are given (+1, −1, or 0 for free), the
    scale has them too, so that the searchers need only keep the weights of `signed` columns from being negative.
    """

    X: Floats
    y: Floats
    intercept: bool = False
    signs: NDArray[np.int64] | None = None

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def kept(self) -> int:
        """Columns that belong to every support and are not counted: 1 with an intercept, else 0."""
        return int(self.intercept)

    @cached_property
    def centre(self) -> Floats:
        return self.X.mean(axis=0, dtype=float) if self.intercept else np.zeros(self.n_features)

    @cached_property
    def scale(self) -> Floats:
        root_mean_square = np.empty(self.n_features)
        constant = np.zeros(self.n_features, dtype=np.bool_)
        width = max(1, BLOCK_ENTRIES // self.n_samples)
        for start in range(0, self.n_features, width):
            some = slice(start, start + width)
            centred = self.X[:, some] - self.centre[some]
            largest = np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
            root_mean_square[some] = largest * np.sqrt(((centred / largest) ** 2).mean(axis=0))
            constant[some] = (self.X[:, some] == self.X[:1, some]).all(axis=0)
        # A constant column carries nothing that the intercept does not; without one only zeros carry nothing.
        useless = constant if self.intercept else root_mean_square == 0.0
        scale = np.where(useless, np.inf, root_mean_square)
        return scale if self.signs is None else np.where(self.signs < 0, -scale, scale)

    @cached_property
    def signed(self) -> NDArray[np.bool_]:
        """For every one of `columns` whether its weight must not be negative."""
        return (
            np.append(
                np.zeros(self.n_features) if self.signs is None else self.signs, np.zeros(self.kept)
            )
            != 0
        )

    @cached_property
    def columns(self) -> Floats:
        """(N [+ 1], P), C-contiguous: the scaled a_j, the intercept last."""
        columns = np.empty((self.n_features + self.kept, self.n_samples))
        np.divide((self.X - self.centre).T, self.scale[:, None], out=columns[: self.n_features])
        columns[: self.n_features] *= self.y
        if self.intercept:
            columns[-1] = self.y
        return columns

    def rows(
        self, support: NDArray[np.int64], samples: NDArray[np.int64] | slice = slice(None)
    ) -> Floats:
        """The scaled a_μ of some samples on a support, the intercept last; very wide tables do without `columns`."""
        rows = (self.X[:, support][samples] - self.centre[support]) / self.scale[support]
        if self.intercept:
            rows = np.column_stack([rows, np.ones(rows.shape[0])])
        return np.ascontiguousarray(rows * self.y[samples, None])

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Weights of columns like those of `rows`: those of the variables, and that of the intercept."""
        return (weights[:-1], float(weights[-1])) if self.intercept else (weights, 0.0)

    def original(
        self, support: NDArray[np.int64], weights: Floats, constant: float
    ) -> tuple[Floats, float]:
        """Weights and bias in the units of X, of Euclidean length 1 together."""
        slopes = weights / self.scale[support]
        bias = constant - float(slopes @ self.centre[support]) if self.intercept else 0.0
        length = float(np.sqrt(slopes @ slopes + bias * bias))
        return (
            (slopes / length, bias / length)
            if length > 0 and np.isfinite(length)
            else (slopes, bias)
        )


def check_signs(signs: ArrayLike | None, n_features: int) -> NDArray[np.int64] | None:
    """One sign for every column, +1, −1 or 0 for free, also as one number for all of them; None if all are free."""
    if signs is None:
        return None
    given: NDArray[Any] = np.asarray(signs)
    if given.shape not in {(), (n_features,)} or not np.isin(given, (-1, 0, 1)).all():
        raise InputError(
            f"The signs must be +1, −1 or 0 (free), one for each of the {n_features} columns of X or one for all."
        )
    return np.broadcast_to(given, n_features).astype(np.int64) if given.any() else None


def make_problem(
    X: ArrayLike,
    y: ArrayLike,
    intercept: bool = False,
    contradictions: bool = False,
    signs: ArrayLike | None = None,
) -> Problem:
    """Check the data and say in one sentence what is wrong with them.

    Labels may be any two values (the larger one becomes +1), or one: a single class is a problem like any other. Equal
    rows with opposite labels are refused unless `contradictions` are allowed.
    """
    data, _ = check_matrix(X)
    given = check_signs(signs, data.shape[1])
    problem = Problem(X=data, y=check_labels(y, data.shape), intercept=bool(intercept), signs=given)
    pairs = [] if contradictions else contradicting_rows(problem.X, problem.y)
    if pairs:
        first, second = (row + 1 for row in pairs[0])
        raise InputError(
            f"Rows {first} and {second} of X are equal but have opposite labels, so nothing separates them; remove one."
        )
    return problem
