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
        """Whether each weight of a scaled column must not be negative, (features [+ 1],).

        The last entry is that of the intercept, if there is one; its weight is free.
        """
        nonnegative = np.zeros(self.n_features + self.n_unpenalized, dtype=np.bool_)
        if self.signs is not None:
            nonnegative[: self.n_features] = self.signs != 0
        return nonnegative

    def nonnegative_on(self, support: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the weights on a support must not be negative, (k [+ 1],), the intercept last."""
        return np.append(self.nonnegative[support], np.zeros(self.n_unpenalized, dtype=np.bool_))

    @cached_property
    def centre(self) -> Floats:
        """What is subtracted from the columns of X, (features,).

        These are their means if there is an intercept, else zeros.
        """
        if self.intercept:
            return self.X.mean(axis=0, dtype=float)
        return np.zeros(self.n_features)

    @cached_property
    def scale(self) -> Floats:
        """What the centred columns are divided by, (features,): their root mean square.

        The scale is negative where the weight must not be positive. It is infinite for useless
        columns, which become zero: constant columns if there is an intercept, and columns of zeros
        without one.
        """
        root_mean_square = np.empty(self.n_features)
        is_constant = np.zeros(self.n_features, dtype=np.bool_)
        for block in column_blocks(self.X):
            entries = self.X[:, block]
            root_mean_square[block] = _root_mean_square(entries - self.centre[block])
            is_constant[block] = (entries == entries[0]).all(axis=0)

        # With an intercept every constant column is useless, without one only a column of zeros.
        if self.intercept:
            is_useless = is_constant
        else:
            is_useless = root_mean_square == 0.0
        unsigned_scale = np.where(is_useless, np.inf, root_mean_square)

        # Dividing by a negative scale changes the sign of a column, and so of its weight: then
        # every weight whose sign is prescribed must not be negative.
        if self.signs is None:
            return unsigned_scale
        return np.where(self.signs < 0, -unsigned_scale, unsigned_scale)

    @cached_property
    def columns(self) -> Floats:
        """The scaled columns y (x − centre) / scale, (features [+ 1], samples), C-contiguous.

        With an intercept the last one is that of the constant 1, which is y.
        """
        columns = np.empty((self.n_features + self.n_unpenalized, self.n_samples))
        features = columns[: self.n_features]  # a view, without the intercept
        centred = self.X - self.centre
        np.divide(centred.T, self.scale[:, None], out=features)
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
        """The scaled rows a_μ = y_μ (x_μ − centre) / scale of some samples on a support.

        They are computed from X itself, as very wide tables do without `columns`.

        support : (k,) indices of features.
        samples : indices of samples, or a slice; by default all.

        Returns
        -------
        (samples, k [+ 1]), the intercept's column last.
        """
        entries = self.X[:, support][samples]  # (samples, k)
        rows = (entries - self.centre[support]) / self.scale[support]
        if self.intercept:
            rows = np.column_stack([rows, np.ones(rows.shape[0])])
        return np.ascontiguousarray(rows * self.y[samples, None])

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Split weights into those of the features and that of the intercept, 0 without one.

        `weights`, (k [+ 1],), belong to columns like those of `rows`, the intercept last.
        """
        if self.intercept:
            return weights[:-1], float(weights[-1])
        return weights, 0.0

    def in_original_units(
        self, support: NDArray[np.int64], weights: Floats, constant: float
    ) -> tuple[Floats, float]:
        """Convert weights on scaled columns into slopes and a bias in the units of X.

        Slopes and bias together are scaled to Euclidean length 1, unless all are zero.

        support : (k,) indices of features.
        weights : (k,) their weights on the scaled columns.
        constant : weight of the intercept.
        """
        # Solve weights · (x − centre) / scale + constant = slopes · x + bias for slopes and bias.
        slopes = weights / self.scale[support]
        bias = 0.0
        if self.intercept:
            bias = constant - float(slopes @ self.centre[support])

        # Divide by the length of (slopes, bias); a positive factor does not change the rule.
        squared_length = slopes @ slopes + bias * bias
        length = float(np.sqrt(squared_length))
        if length > 0 and np.isfinite(length):
            return slopes / length, bias / length
        return slopes, bias


def _root_mean_square(columns: Floats) -> Floats:
    """Return √(mean of x²) of every column, (columns,), from an array (samples, columns)."""
    # Divide by the largest entry first: squares of numbers up to 1 do not overflow. The maximum
    # with `tiny` keeps the divisor of a column of zeros from being zero.
    largest = np.maximum(np.abs(columns).max(axis=0), np.finfo(float).tiny)
    relative = columns / largest
    root: Floats = largest * np.sqrt((relative**2).mean(axis=0))
    return root


def make_problem(
    X: ArrayLike,
    y: ArrayLike,
    intercept: bool = False,
    allow_contradictions: bool = False,
    signs: ArrayLike | None = None,
) -> Problem:
    """Check data and make a problem of them; an error says in one sentence what is wrong.

    Parameters
    ----------
    X : (samples, features) finite numbers.
    y : (samples,) labels of two values, the larger of which becomes +1. A single value is allowed
        too: one class is a problem like any other.
    intercept : whether rules have one.
    allow_contradictions : whether equal rows with opposite labels are accepted.
    signs : the sign that each weight must have, +1, −1 or 0 (free), for every feature or one for
        all.
    """
    data, _ = check_matrix(X)
    checked_signs = check_signs(signs, data.shape[1])
    labels = check_labels(y, data.shape)
    problem = Problem(X=data, y=labels, intercept=bool(intercept), signs=checked_signs)
    if allow_contradictions:
        return problem

    pairs = contradicting_rows(problem.X, problem.y)
    if pairs:
        first_row, second_row = pairs[0]
        raise InputError(
            f"Rows {first_row + 1} and {second_row + 1} of X are equal but have opposite labels, "
            "so nothing separates them; remove one."
        )
    return problem
