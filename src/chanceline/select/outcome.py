"""What a search gives back."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._results import visible
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import margin_on


class Candidate(NamedTuple):
    """What a method yields when it improves: columns of the problem (without the intercept), their scaled weights,
    the intercept's weight, and the iterations spent so far; and the rule itself, where scaled weights would lose it to rounding.
    """

    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    constant: float
    iterations: int
    rule: Rule | None = None


NOTHING = Candidate(
    np.zeros(0, dtype=np.int64), np.zeros(0), 0.0, 0
)  # what a method has that finds nothing


def fitted(
    problem: Problem,
    support: NDArray[np.int64],
    iterations: int,
    samples: NDArray[np.int64] | slice = slice(None),
) -> Candidate:
    """The candidate of largest margin on a support and these samples."""
    return Candidate(
        support, *problem.split(margin_on(problem, support, samples).weights), iterations
    )


def candidate_rule(problem: Problem, found: Candidate) -> Rule:
    """The rule of a candidate in the units of X, its errors counted exactly."""
    if found.rule is not None:
        return found.rule
    return scaled_rule(problem, found.support.astype(np.int64), found.weights, found.constant)


class LowerBound(NamedTuple):
    """What a proof yields at its end: no support smaller than `smallest` separates, and the nodes it took.

    gap : none separates by a larger margin than this, with weights of length 1 on columns of mean square 1; 0: none at all.
    """

    smallest: int
    nodes: int
    gap: float = 0.0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchOutcome(Rule):
    """The fewest variables found, and the perceptron on them.

    Attributes
    ----------
    support : sorted indices of the selected columns of X.
    features : names of the selected columns, if X has names (a DataFrame).
    weights : one weight for each index of `support`, in the units of X; with `bias` of Euclidean length 1.
    bias : weight of the intercept, 0 without one; it does not count as a selected variable.
    margin : min_μ y_μ(x_μ·w + b), positive if and only if every pattern is classified.
    errors : patterns with y_μ(x_μ·w + b) ≤ 0.
    allowed : errors that the search was allowed.
    separates : errors == 0.
    iterations : effort spent, in the method's own steps.
    history : (iterations, selected variables) at every improvement.
    minimum_proven : no smaller support separates (or makes as few errors as allowed), by exhaustion (method `exact`, and
        `auto` where a sweep was affordable).
    lower_bound : no support smaller than this suffices (1 when nothing was proven).
    proof_size : nodes or supports examined by the proof, 0 without one.
    proven_gap : up to which gap that is proven. 0: every decision was exact. Otherwise too many would have had to be made in
        rational arithmetic, and no smaller support separates by a margin above this (weights of length 1, columns of X centred
        if there is an intercept and scaled to mean square 1).
    kind : "exact" if the number of variables is the minimum, proven exactly, else "certified": it is known to suffice.
    """

    iterations: int
    history: list[tuple[int, int]]
    seed: int
    method: str
    n_samples: int
    n_features: int
    lower_bound: int = 1
    proof_size: int = 0
    proven_gap: float = 0.0
    allowed: int = 0
    features: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The perceptron: this outcome is one."""
        return self

    @property
    def minimum_proven(self) -> bool:
        return self.errors <= self.allowed and self.n_selected <= self.lower_bound

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether the number of variables is the minimum, or only known to suffice."""
        return "exact" if self.minimum_proven and self.proven_gap == 0.0 else "certified"

    def summary(self) -> str:
        ending = "s" * (self.n_selected == 1)
        verdict = (
            f"separate{ending} all"
            if self.separates
            else f"leave{ending} {self.errors} errors among"
        )
        return f"{self.n_selected} of {self.n_features} variables {verdict} {self.n_samples} samples{self._proof()}"

    def _proof(self) -> str:
        """What is proven, and up to which gap."""
        gap = ""
        if self.proven_gap > 0.0:
            rounded_up = Context(prec=2, rounding=ROUND_CEILING).create_decimal(self.proven_gap)
            gap = f" up to a gap of {float(rounded_up):.2g}"
        if self.minimum_proven:
            return f", the proven minimum{gap}"
        if self.lower_bound > self.n_features and self.allowed == 0:
            return f"; nothing separates all (proven{gap})"
        if self.lower_bound > 1:
            return f"; at least {self.lower_bound} are needed (proven{gap})"
        return ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "method": self.method,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_selected": self.n_selected,
            "support": self.support.tolist(),
            "features": list(self.features) or [f"x{j}" for j in self.support],
            "weights": self.weights.tolist(),
            "bias": self.bias,
            "margin": self.margin,
            "errors": self.errors,
            "allowed": self.allowed,
            "separates": self.separates,
            "iterations": self.iterations,
            "history": self.history,
            "minimum_proven": self.minimum_proven,
            "lower_bound": self.lower_bound,
            "proof_size": self.proof_size,
            "proven_gap": self.proven_gap,
            "interrupted": False,  # for one version: Ctrl-C raises KeyboardInterrupt
            "seed": self.seed,
        }

    def __str__(self) -> str:
        nodes = f", a proof of {self.proof_size} nodes" if self.proof_size else ""
        names = self.features or tuple(map(str, self.support))
        shown = ", ".join(map(visible, names[:12])) + (", …" if self.n_selected > 12 else "")
        return (
            f"{self.summary()}\n  variables {shown}\n"
            f"  {self.method}, seed {self.seed}, {self.iterations} iterations{nodes}; margin {self.margin:.3g}"
        )
