"""What methods of search yield while they run, and the outcome that `search` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._results import listed, visible
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import margin_on

SHOWN_FEATURES = 12  # names in the text of a result; the others are an ellipsis


class Candidate(NamedTuple):
    """A rule that a method yields when it improves.

    Attributes
    ----------
    support : (selected,) columns of the problem, without the intercept.
    weights : (selected,) their weights on the scaled columns, `problem.columns`.
    constant : weight of the intercept, 0 without one.
    iterations : effort spent so far.
    rule : the same rule in the units of X, where scaled weights would lose it to rounding.
    """

    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    constant: float
    iterations: int
    rule: Rule | None = None


# What a method ends with that finds nothing: no variable, and every sample wrong.
NO_CANDIDATE = Candidate(
    support=np.zeros(0, dtype=np.int64), weights=np.zeros(0), constant=0.0, iterations=0
)


def max_margin_candidate(
    problem: Problem,
    support: NDArray[np.int64],
    iterations: int,
    samples: NDArray[np.int64] | slice = slice(None),
) -> Candidate:
    """Make the candidate with the weights of largest margin on a support.

    support : (k,) columns of the problem.
    iterations : the effort of the search so far.
    samples : indices of the samples that are to be correct; by default all.
    """
    margin = margin_on(problem, support, samples)
    weights, constant = problem.split(margin.weights)
    return Candidate(support=support, weights=weights, constant=constant, iterations=iterations)


def candidate_rule(problem: Problem, candidate: Candidate) -> Rule:
    """Return the rule of a candidate in the units of X, with its errors counted exactly.

    That is `candidate.rule` if the method has found one, else that of its scaled weights.
    """
    if candidate.rule is not None:
        return candidate.rule
    support = candidate.support.astype(np.int64)
    return scaled_rule(problem, support, candidate.weights, candidate.constant)


class LowerBound(NamedTuple):
    """What a method yields that has proven something.

    Attributes
    ----------
    smallest : no support of fewer variables separates (or makes as few errors as allowed).
    nodes : supports or nodes of the search tree that the proof took.
    gap : none separates by a larger margin than this, with weights of length 1 on columns of mean
        square 1; 0: none at all.
    """

    smallest: int
    nodes: int
    gap: float = 0.0


# A step of a method: an improvement, a proof, or the iterations spent so far.
Event = Candidate | LowerBound | int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchOutcome(Rule):
    """The fewest variables found, and the perceptron on them.

    Attributes
    ----------
    support : sorted indices of the selected columns of X.
    features : names of the selected columns, if X has names (a DataFrame).
    weights : one weight for each index of `support`, in the units of X; with `bias` of Euclidean
        length 1.
    bias : weight of the intercept, 0 without one; it does not count as a selected variable.
    margin : min_μ y_μ(x_μ·w + b), positive if and only if every pattern is classified.
    errors : patterns with y_μ(x_μ·w + b) ≤ 0.
    max_errors : errors that the search was allowed.
    separates : errors == 0.
    iterations : effort spent, in the method's own steps.
    history : (iterations, selected variables) at every improvement.
    minimum_proven : no smaller support separates (or makes as few errors as allowed), by exhaustion
        (method `exact`, and `auto` where a sweep was affordable).
    lower_bound : no support smaller than this suffices (1 when nothing was proven).
    proof_size : nodes or supports examined by the proof, 0 without one.
    proven_gap : up to which gap that is proven. 0: every decision was exact. Otherwise too many
        would have had to be made in rational arithmetic, and no smaller support separates by a
        margin above this (weights of length 1, columns of X centred if there is an intercept and
        scaled to mean square 1).
    kind : "exact" if the number of variables is the minimum, proven exactly, else "certified": it
        is known to suffice.
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
    max_errors: int = 0
    features: tuple[str, ...] = ()

    _former = MappingProxyType({"allowed": "max_errors"})

    @property
    def rule(self) -> Rule:
        """The perceptron: this outcome is one."""
        return self

    @property
    def minimum_proven(self) -> bool:
        """Whether it makes few enough errors, and no smaller support does."""
        return self.errors <= self.max_errors and self.n_selected <= self.lower_bound

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether the number of variables is the minimum, or only known to suffice."""
        if self.minimum_proven and self.proven_gap == 0.0:
            return "exact"
        return "certified"

    def summary(self) -> str:
        """Say in one line how many variables there are, what they achieve, and what is proven."""
        ending = "s" if self.n_selected == 1 else ""  # of the verb
        if self.separates:
            verdict = f"separate{ending} all"
        else:
            verdict = f"leave{ending} {self.errors} errors among"
        return (
            f"{self.n_selected} of {self.n_features} variables {verdict} "
            f"{self.n_samples} samples{self._proof_text()}"
        )

    def _proof_text(self) -> str:
        """Return the end of the summary: what is proven on the number of variables; may be empty.

        It is proven that no support with fewer than `lower_bound` variables suffices. So the number
        of variables found is the minimum if it is not above that bound. A bound above the number of
        variables in the table says that all of them together do not suffice.

        If some decisions were left to floating point, these statements hold up to a gap
        (`proven_gap`, otherwise 0): smaller supports may separate, but only by a margin of at most
        the gap.
        """
        gap_text = ""
        if self.proven_gap > 0.0:
            # Round up, as a gap that is rounded down would claim more than is proven.
            two_digits_up = Context(prec=2, rounding=ROUND_CEILING)
            rounded_up = two_digits_up.create_decimal(self.proven_gap)
            gap_text = f" up to a gap of {float(rounded_up):.2g}"

        if self.minimum_proven:
            return f", the proven minimum{gap_text}"
        if self.lower_bound > self.n_features and self.max_errors == 0:
            return f"; nothing separates all (proven{gap_text})"
        if self.lower_bound > 1:
            return f"; at least {self.lower_bound} are needed (proven{gap_text})"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; columns without names are called x0, x1, …"""
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
            "max_errors": self.max_errors,
            "allowed": self.max_errors,  # its former name, for one version
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
        """Three lines: the summary, the names of the variables, and how they were found."""
        names = self.features or [str(j) for j in self.support]
        visible_names = [visible(name) for name in names]
        shown_names = listed(visible_names, SHOWN_FEATURES)
        effort = f"{self.iterations} iterations"
        if self.proof_size:
            effort += f", a proof of {self.proof_size} nodes"
        return (
            f"{self.summary()}\n"
            f"  variables {shown_names}\n"
            f"  {self.method}, seed {self.seed}, {effort}; margin {self.margin:.3g}"
        )
