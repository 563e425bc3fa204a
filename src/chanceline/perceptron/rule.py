"""A linear rule on some features, its errors counted exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.perceptron.certificate import strictly_right

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Result):
    """sign(x_S·w + b) on the features S, and the samples it gets wrong.

    Attributes
    ----------
    support : sorted indices of the columns of X it uses.
    weights, bias : in the units of X.
    wrong : the samples with y_μ(x_μ·w + b) ≤ 0: one on the threshold is an error.
    margin : min_μ y_μ(x_μ·w + b).
    multipliers : λ_μ ≥ 0 of sum 1, one for each sample, where the rule was fitted for the largest margin. If nothing
        separates, Σ λ_μ y_μ x_μ = 0 on the support (and Σ λ_μ y_μ = 0 with an intercept) up to rounding; `certify` checks
        this exactly.
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


def make_rule(X: Floats, y: Floats, support: NDArray[np.int64], weights: Floats, bias: float) -> Rule:
    """The rule with its errors counted exactly, whatever the rounding."""
    columns = X[:, support]
    wrong = np.flatnonzero(~strictly_right(columns, y, weights, bias))
    margin = float((y * (columns @ weights + bias)).min())
    return Rule(support, weights, float(bias), wrong, margin)
