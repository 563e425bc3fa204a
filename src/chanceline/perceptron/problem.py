"""From data and labels to the rows a_μ = y_μ x_μ that a separating w must satisfy, a_μ·w > 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import InputError
from chanceline.perceptron.data import check_labels, check_matrix, contradictions as find_contradictions

Floats = NDArray[np.float64]
BLOCK_ENTRIES = 1_000_000  # of X that are worked on at a time, so that no copy of all of it is needed


@dataclass(frozen=True, eq=False)
class Problem:
    """Validated data (X, y) with y = ±1, and the scaled columns that the searchers work on.

    The searchers see `columns`, shape (N [+ 1], P): column j divided by its scale (and centred when there is an
    intercept), times the labels; the intercept is one more column at the end that every support contains.
    `original` turns their weights back into the units of X.
    """

    X: Floats
    y: Floats
    intercept: bool = False

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
        return self.X.mean(axis=0) if self.intercept else np.zeros(self.n_features)

    @cached_property
    def scale(self) -> Floats:
        root_mean_square = np.empty(self.n_features)
        width = max(1, BLOCK_ENTRIES // self.n_samples)
        for start in range(0, self.n_features, width):
            some = slice(start, start + width)
            centred = self.X[:, some] - self.centre[some]
            largest = np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
            root_mean_square[some] = largest * np.sqrt(((centred / largest) ** 2).mean(axis=0))
        # A column that is constant up to rounding carries nothing that the intercept does not.
        noise = 64 * np.finfo(float).eps * np.abs(self.centre)
        return np.where(root_mean_square > noise, root_mean_square, np.inf)

    @cached_property
    def columns(self) -> Floats:
        """(N [+ 1], P), C-contiguous: the scaled a_j, the intercept last."""
        columns = np.empty((self.n_features + self.kept, self.n_samples))
        np.divide((self.X - self.centre).T, self.scale[:, None], out=columns[: self.n_features])
        columns[: self.n_features] *= self.y
        if self.intercept:
            columns[-1] = self.y
        return columns

    def rows(self, support: NDArray[np.int64], samples: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """The scaled a_μ of some samples on a support, the intercept last; very wide tables do without `columns`."""
        rows = (self.X[:, support][samples] - self.centre[support]) / self.scale[support]
        if self.intercept:
            rows = np.column_stack([rows, np.ones(rows.shape[0])])
        return np.ascontiguousarray(rows * self.y[samples, None])

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Weights of columns like those of `rows`: those of the variables, and that of the intercept."""
        return (weights[:-1], float(weights[-1])) if self.intercept else (weights, 0.0)

    def original(self, support: NDArray[np.int64], weights: Floats, constant: float) -> tuple[Floats, float]:
        """Weights and bias in the units of X, of Euclidean length 1 together."""
        slopes = weights / self.scale[support]
        bias = constant - float(slopes @ self.centre[support]) if self.intercept else 0.0
        length = float(np.sqrt(slopes @ slopes + bias * bias))
        return (slopes / length, bias / length) if length > 0 and np.isfinite(length) else (slopes, bias)

    def margins(self, support: NDArray[np.int64], weights: Floats, bias: float) -> Floats:
        """y_μ(x_μ·w + b) in the units of X."""
        return self.y * (self.X[:, support] @ weights + bias)


def make_problem(X: ArrayLike, y: ArrayLike, intercept: bool = False, contradictions: bool = False) -> Problem:
    """Check the data and say in one sentence what is wrong with them.

    Labels may be any two values (the larger one becomes +1), or one: a single class is a problem like any other. Equal
    rows with opposite labels are refused unless `contradictions` are allowed.
    """
    data, _ = check_matrix(X)
    problem = Problem(X=data, y=check_labels(y, data.shape), intercept=bool(intercept))
    pairs = [] if contradictions else find_contradictions(problem.X, problem.y)
    if pairs:
        first, second = (row + 1 for row in pairs[0])
        raise InputError(
            f"Rows {first} and {second} of X are equal but have opposite labels, so nothing separates them; remove one."
        )
    return problem
