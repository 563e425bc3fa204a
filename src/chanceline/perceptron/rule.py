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
    """The rule of these weights in the units of X, its errors counted exactly.

    Its margin is rounded: one that is zero but for rounding may have another sign than `wrong`
    says.
    """
    entries = X[:, support]
    is_right = strictly_right(entries, y, weights, bias)
    return Rule(
        support=support,
        weights=weights,
        bias=float(bias),
        wrong=np.flatnonzero(~is_right),
        margin=float((y * (entries @ weights + bias)).min()),
    )


def strictly_right(entries: Floats, y: Floats, weights: Floats, bias: float) -> NDArray[np.bool_]:
    """Whether y_μ(x_μ·w + b) > 0, decided exactly; shape (samples,).

    Where rounding could matter, in rational arithmetic. `entries` are the x_μ, (samples, columns),
    `weights` and `bias` are w and b.
    """
    margins = y * (entries @ weights + bias)
    is_right = margins > 0

    # The rounding of a sum of n products is below n·eps/(1 − n·eps) times the sum of their absolute
    # values. The bias is one more term, and one more is to spare; four times that covers the
    # denominator, and the rounding of the bound itself, with room to spare.
    n_terms = entries.shape[1] + 2
    absolute = np.abs(entries) @ np.abs(weights) + abs(bias)
    rounding = 4 * n_terms * np.finfo(float).eps * absolute
    for i in np.flatnonzero(np.abs(margins) <= rounding):
        field = exact_product(entries[i].tolist(), weights.tolist()) + Fraction(bias)
        is_right[i] = field * int(y[i]) > 0
    return is_right


def exact_product(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """Σ_i left_i right_i without rounding."""
    return sum((Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True)), Fraction(0))


def scaled_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """The rule of weights on scaled columns, and of the intercept's weight, in the units of X.

    A weight that has not the sign it must have is zero; features without weight then leave the
    support.
    """
    if problem.signs is not None:
        clipped = np.maximum(weights, 0.0)
        weights = np.where(problem.nonnegative[support], clipped, weights)
        is_used = weights != 0
        support = support[is_used]
        weights = weights[is_used]
    slopes, bias = problem.original(support, weights, constant)
    return make_rule(problem.X, problem.y, support, slopes, bias)


def constant_rule(X: AnyTable, y: Floats, support: NDArray[np.int64]) -> Rule:
    """Everybody belongs to the larger class, whatever the features; this takes an intercept."""
    bias = 1.0
    if np.sum(y > 0) * 2 < len(y):
        bias = -1.0
    return make_rule(X, y, support, np.zeros(len(support)), bias)
