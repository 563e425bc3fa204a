"""A linear rule on given features: does it separate, and if not, how few errors does it make?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import ConvergenceError
from chanceline.perceptron.certificate import strictly_right
from chanceline.perceptron.data import contradictions
from chanceline.perceptron.fit import fewest_errors, separate

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rule:
    """sign(x_S·w + b) on the features S, and the samples it gets wrong."""

    support: NDArray[np.int64]
    weights: Floats
    bias: float
    wrong: NDArray[np.int64]

    @property
    def errors(self) -> int:
        return len(self.wrong)

    @property
    def n_selected(self) -> int:
        return len(self.support)


def make_rule(X: Floats, y: Floats, support: NDArray[np.int64], weights: Floats, bias: float) -> Rule:
    """The rule with its errors counted exactly, whatever the rounding."""
    wrong = np.flatnonzero(~strictly_right(X[:, support], y, weights, bias))
    return Rule(support, weights, float(bias), wrong)


def rule_on(X: Floats, y: Floats, support: NDArray[np.int64], intercept: bool) -> Rule:
    """The rule of largest margin on these features if they separate, else one that makes few errors."""
    support = np.asarray(support, dtype=np.int64)
    columns = X[:, support]
    rows = consistent_rows(columns, y)
    if intercept and (len(support) == 0 or np.all(y[rows] == y[rows[0]])):
        return constant_rule(X, y, support)
    if len(support) == 0:
        return make_rule(X, y, support, np.zeros(0), 0.0)
    everything = np.arange(len(support))
    try:
        found = separate(columns[rows], y[rows], everything, intercept)
        if found.separates:
            return make_rule(X, y, support, found.weights, found.bias)
    except ConvergenceError:
        # Not settled in floating point: whatever rule comes next is judged exactly all the same.
        pass
    few = fewest_errors(columns[rows], y[rows], everything, intercept)
    return make_rule(X, y, support, few.weights, few.bias)


def consistent_rows(X: Floats, y: Floats) -> NDArray[np.int64]:
    """Rows without the minority of every set of equal rows with both labels, which any rule gets wrong."""
    if not contradictions(X, y):
        return np.arange(len(y))
    _, kind = np.unique(X, axis=0, return_inverse=True)
    kind = kind.ravel()
    balance = np.bincount(kind, weights=y)[kind]
    return np.flatnonzero((balance * y > 0) | ((balance == 0) & (y > 0)))


def constant_rule(X: Floats, y: Floats, support: NDArray[np.int64]) -> Rule:
    """Everybody belongs to the larger class, whatever the features; this takes an intercept."""
    larger = 1.0 if np.sum(y > 0) * 2 >= len(y) else -1.0
    return make_rule(X, y, support, np.zeros(len(support)), larger)
