"""A linear rule on some features, its errors counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline._results import Result
from chanceline.columns.table import AnyTable
from chanceline.perceptron.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Result):
    """sign(x_S·w + b) on the features S, and the samples it gets wrong.

    Attributes
    ----------
    support : sorted indices of the columns of X it uses.
    weights, bias : in the units of X.
    wrong : the samples with y_μ(x_μ·w + b) ≤ 0: one on the threshold is an error.
    margin : min_μ y_μ(x_μ·w + b).
    multipliers : λ_μ ≥ 0 of sum 1, one for each sample, where the rule was fitted for the largest
        margin. If nothing separates, Σ λ_μ y_μ x_μ = 0 on the support (and Σ λ_μ y_μ = 0 with an
        intercept) up to rounding; `certify` checks this exactly.
    """

    support: NDArray[np.int64]
    weights: Floats
    bias: float
    wrong: NDArray[np.int64]
    margin: float = float("nan")
    multipliers: Floats | None = None

    kind = "exact"
    _derived = ("errors",)
    _hidden = ("multipliers",)

    @property
    def errors(self) -> int:
        return len(self.wrong)

    @property
    def separates(self) -> bool:
        return self.errors == 0

    @property
    def n_selected(self) -> int:
        return len(self.support)

    def summary(self) -> str:
        return f"{self.n_selected} features, {self.errors} errors, margin {self.margin:.3g}"


def make_rule(
    X: AnyTable, y: Floats, support: NDArray[np.int64], weights: Floats, bias: float
) -> Rule:
    """Make the rule of given weights, with its errors counted exactly.

    `wrong` lists the samples with y_μ(x_μ·w + b) ≤ 0, decided exactly. The margin, the smallest
    y_μ(x_μ·w + b), is computed in floating point: if it is zero up to rounding, its sign may not
    agree with `wrong`.

    X : (samples, features).
    y : (samples,) labels ±1.
    support : (k,) indices of features.
    weights, bias : (k,) weights and the intercept, in the units of X.
    """
    entries = X[:, support]
    is_right = has_positive_margin(entries, y, weights, bias)
    margins = y * (entries @ weights + bias)
    return Rule(
        support=support,
        weights=weights,
        bias=float(bias),
        wrong=np.flatnonzero(~is_right),
        margin=float(margins.min()),
    )


def has_positive_margin(
    entries: Floats, y: Floats, weights: Floats, bias: float
) -> NDArray[np.bool_]:
    """Whether the margin y_μ(x_μ·w + b) of each sample is positive, decided exactly: (samples,).

    The margins are computed in floating point. Those so near to zero that rounding could change
    their sign are computed again in rational arithmetic.

    entries : (samples, columns) the x_μ.
    y : (samples,) labels ±1.
    weights, bias : (columns,) w, and b.
    """
    margins = y * (entries @ weights + bias)
    is_positive = margins > 0

    # The rounding error of a sum of n products is below n·eps/(1 − n·eps) times the sum of their
    # absolute values. The bias is one more term, and one more is counted for safety. The factor 4
    # generously covers the denominator 1 − n·eps and the rounding of the bound itself.
    n_terms = entries.shape[1] + 2
    sum_of_absolutes = np.abs(entries) @ np.abs(weights) + abs(bias)
    largest_rounding = 4 * n_terms * np.finfo(float).eps * sum_of_absolutes
    is_doubtful = np.abs(margins) <= largest_rounding

    # Decide the doubtful samples in fractions.
    for sample in np.flatnonzero(is_doubtful):
        product = exact_product(entries[sample].tolist(), weights.tolist())  # x_μ·w
        exact_margin = int(y[sample]) * (product + Fraction(bias))
        is_positive[sample] = exact_margin > 0
    return is_positive


def exact_product(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """Return the dot product Σ_i left_i right_i without rounding, as a fraction."""
    total = Fraction(0)
    for left_entry, right_entry in zip(left, right, strict=True):
        total += Fraction(left_entry) * Fraction(right_entry)
    return total


def scaled_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """Convert weights on scaled columns into a rule in the units of X.

    Where the sign of a weight is prescribed, one of the wrong sign becomes zero, and features
    without weight leave the support.

    problem : the data; its scaled columns are y (x − centre) / scale, turned so that weights of
        prescribed sign must not be negative.
    support : (k,) indices of features.
    weights : (k,) weights on the scaled columns.
    constant : weight of the intercept.
    """
    if problem.signs is not None:
        clipped = np.maximum(weights, 0.0)
        weights = np.where(problem.nonnegative[support], clipped, weights)
        is_used = weights != 0
        support = support[is_used]
        weights = weights[is_used]
    slopes, bias = problem.in_original_units(support, weights, constant)
    return make_rule(problem.X, problem.y, support, slopes, bias)


def constant_rule(X: AnyTable, y: Floats, support: NDArray[np.int64]) -> Rule:
    """Return the rule that puts every sample into the larger class; it needs an intercept.

    `support` are features that get the weight zero.
    """
    n_positive = np.sum(y > 0)
    bias = 1.0
    if 2 * n_positive < len(y):
        bias = -1.0
    return make_rule(X, y, support, np.zeros(len(support)), bias)
