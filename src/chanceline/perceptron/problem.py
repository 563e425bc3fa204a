"""A problem: data (X, y) that are checked, and the scaled columns that searchers work on.

w separates if a_μ·w > 0 for all rows a_μ = y_μ x_μ. `Problem` translates the searchers' weights
back into the units of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.perceptron.blocks import column_blocks
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.perceptron.relatives import Relatives, find_relatives
from chanceline.perceptron.validation import check_labels, check_matrix, check_signs


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked data and the scaled columns that the searchers work on.

    A scaled column is y (x − centre) / scale; columns are centred only if there is an intercept,
    which is one more column at the end that every support contains. Where the signs of weights are
    prescribed, the scale has them too, so that the searchers need only keep the weights of
    `nonnegative` columns from being negative.

    Attributes
    ----------
    X : (samples, features).
    y : (samples,), ±1.
    signs : (features,), +1, −1 or 0 for free; None if all weights are free.
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
    def n_unpenalized(self) -> int:
        """Columns that belong to every support and are not counted: 1 with an intercept, else 0."""
        return int(self.intercept)

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """(features [+ 1],), whether the weight of a scaled column must not be negative."""
        nonnegative = np.zeros(self.n_features + self.n_unpenalized, dtype=np.bool_)
        if self.signs is not None:
            nonnegative[: self.n_features] = self.signs != 0
        return nonnegative

    def nonnegative_on(self, support: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The same for the columns of a support, the intercept last."""
        return np.append(self.nonnegative[support], np.zeros(self.n_unpenalized, dtype=np.bool_))

    @cached_property
    def centre(self) -> Floats:
        """(features,), what is subtracted from the columns of X: their means, or zeros."""
        if self.intercept:
            return self.X.mean(axis=0, dtype=float)
        return np.zeros(self.n_features)

    @cached_property
    def scale(self) -> Floats:
        """(features,), what the centred columns are divided by, with the sign of the weight.

        Their root mean square, negative where the weight must not be positive; infinity for columns
        that carry nothing.
        """
        root_mean_square = np.empty(self.n_features)
        is_constant = np.zeros(self.n_features, dtype=np.bool_)
        for block in column_blocks(self.X):
            centred = self.X[:, block] - self.centre[block]
            # Squares of numbers up to 1 neither overflow nor vanish.
            largest = np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
            root_mean_square[block] = largest * np.sqrt(((centred / largest) ** 2).mean(axis=0))
            is_constant[block] = (self.X[:, block] == self.X[:1, block]).all(axis=0)

        # A constant carries nothing that the intercept does not; without one only zeros do.
        if self.intercept:
            is_useless = is_constant
        else:
            is_useless = root_mean_square == 0.0
        unsigned_scale = np.where(is_useless, np.inf, root_mean_square)
        if self.signs is None:
            return unsigned_scale
        return np.where(self.signs < 0, -unsigned_scale, unsigned_scale)

    @cached_property
    def columns(self) -> Floats:
        """(features [+ 1], samples), C-contiguous: the scaled columns, the intercept last."""
        columns = np.empty((self.n_features + self.n_unpenalized, self.n_samples))
        features = columns[: self.n_features]
        np.divide((self.X - self.centre).T, self.scale[:, None], out=features)
        features *= self.y
        if self.intercept:
            columns[-1] = self.y
        return columns

    @cached_property
    def relatives(self) -> Relatives:
        """The scaled columns that are strongly correlated."""
        return find_relatives(self.columns)

    def rows(
        self, support: NDArray[np.int64], samples: NDArray[np.int64] | slice = slice(None)
    ) -> Floats:
        """The scaled a_μ of these samples on a support: (samples, columns), the intercept last.

        Very wide tables do without `columns`.
        """
        rows = (self.X[:, support][samples] - self.centre[support]) / self.scale[support]
        if self.intercept:
            rows = np.column_stack([rows, np.ones(rows.shape[0])])
        return np.ascontiguousarray(rows * self.y[samples, None])

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Weights of columns like those of `rows`: those of the features, and the intercept's."""
        if self.intercept:
            return weights[:-1], float(weights[-1])
        return weights, 0.0

    def original(
        self, support: NDArray[np.int64], weights: Floats, constant: float
    ) -> tuple[Floats, float]:
        """Scaled weights and the intercept's as slopes and bias in the units of X.

        Together they have Euclidean length 1, unless all are zero.
        """
        slopes = weights / self.scale[support]
        bias = 0.0
        if self.intercept:
            bias = constant - float(slopes @ self.centre[support])
        length = float(np.sqrt(slopes @ slopes + bias * bias))
        if length > 0 and np.isfinite(length):
            return slopes / length, bias / length
        return slopes, bias


def make_problem(
    X: ArrayLike,
    y: ArrayLike,
    intercept: bool = False,
    allow_contradictions: bool = False,
    signs: ArrayLike | None = None,
) -> Problem:
    """Check the data and make a problem of them; an error says in one sentence what is wrong.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,), any two values (the larger one becomes +1), or one: a single class is a problem
        like any other.
    allow_contradictions : whether equal rows with opposite labels are accepted.
    signs : +1, −1 or 0 (free) for the weight of every feature, or one for all.
    """
    data, _ = check_matrix(X)
    checked_signs = check_signs(signs, data.shape[1])
    labels = check_labels(y, data.shape)
    problem = Problem(X=data, y=labels, intercept=bool(intercept), signs=checked_signs)
    if allow_contradictions:
        return problem

    pairs = contradicting_rows(problem.X, problem.y)
    if pairs:
        first, second = pairs[0]
        raise InputError(
            f"Rows {first + 1} and {second + 1} of X are equal but have opposite labels, "
            "so nothing separates them; remove one."
        )
    return problem
