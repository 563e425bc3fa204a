"""What a search gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._results import visible
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule, margin_on


class Candidate(NamedTuple):
    """What a method yields when it improves: columns of the problem (without the intercept), their scaled weights,
    the intercept's weight, and the iterations spent so far."""

    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    constant: float
    iterations: int


NOTHING = Candidate(np.zeros(0, dtype=np.int64), np.zeros(0), 0.0, 0)  # what a method has that finds nothing


def fitted(
    problem: Problem, support: NDArray[np.int64], iterations: int, samples: NDArray[np.int64] | slice = slice(None)
) -> Candidate:
    """The candidate of largest margin on a support and these samples."""
    return Candidate(support, *problem.split(margin_on(problem, support, samples).weights), iterations)


class LowerBound(NamedTuple):
    """What a proof yields at its end: no support smaller than `smallest` separates, and the nodes it took."""

    smallest: int
    nodes: int


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
    """

    iterations: int
    history: list[tuple[int, int]]
    seed: int
    method: str
    n_samples: int
    n_features: int
    lower_bound: int = 1
    proof_size: int = 0
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
        return "exact" if self.minimum_proven else "certified"

    def summary(self) -> str:
        ending = "s" * (self.n_selected == 1)
        verdict = f"separate{ending} all" if self.separates else f"leave{ending} {self.errors} errors among"
        proof = f"; at least {self.lower_bound} are needed (proven)" if self.lower_bound > 1 else ""
        proof = ", the proven minimum" if self.minimum_proven else proof
        return f"{self.n_selected} of {self.n_features} variables {verdict} {self.n_samples} samples{proof}"

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
