"""On given variables: separate, or prove that it cannot be done, or make few errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.hinge import make_hinge, refit, set_support
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, hard_margin
from chanceline.perceptron.problem import Problem, make_problem

MAX_NEWTON = 200


@dataclass(frozen=True, eq=False)
class Separation:
    """A perceptron on given variables, or Gordan's multipliers that prove there is none.

    Attributes
    ----------
    separates : whether every pattern is classified.
    weights, bias : the perceptron of largest margin (in scaled columns), in the units of X; zeros if there is none.
    margin : min_μ y_μ(x_μ·w + b) at Euclidean length 1, 0 if there is none.
    multipliers : λ_μ ≥ 0, one for each pattern; if nothing separates, Σ λ_μ y_μ x_μ = 0 on the support (and Σ λ_μ y_μ = 0
        with an intercept) up to rounding. `certify` checks this exactly.
    """

    support: NDArray[np.int64]
    separates: bool
    weights: NDArray[np.float64]
    bias: float
    margin: float
    multipliers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FewErrors:
    """Few errors on given variables; a heuristic, so the fewest possible may be fewer."""

    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    bias: float
    errors: int
    misclassified: NDArray[np.int64]


def _chosen(problem: Problem, support: ArrayLike) -> NDArray[np.int64]:
    chosen = np.atleast_1d(np.asarray(support, dtype=np.int64))
    if chosen.size and (chosen.min() < 0 or chosen.max() >= problem.n_features):
        raise InputError(f"The support holds a column outside 0 … {problem.n_features - 1}; check the indices.")
    if np.unique(chosen).size != chosen.size:
        raise InputError("The support names a column twice; give every column once.")
    return np.sort(chosen)


def _rows(problem: Problem, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    columns = np.concatenate([chosen, np.arange(problem.n_features, problem.n_features + problem.kept)])
    return np.ascontiguousarray(problem.columns[columns].T)


def separate(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> Separation:
    """The perceptron of largest margin on the given columns, or multipliers that prove there is none."""
    problem = make_problem(X, y, intercept, contradictions=True)
    chosen = _chosen(problem, support)
    rows = _rows(problem, chosen)
    multipliers = np.zeros(problem.n_samples)
    if rows.shape[1] == 0:
        nothing = np.zeros(0)
        return Separation(chosen, False, nothing, 0.0, 0.0, np.eye(problem.n_samples)[0])
    scaled = np.zeros(rows.shape[1])
    verdict = hard_margin(rows, scaled, multipliers, False)
    if verdict == INSEPARABLE:
        return Separation(chosen, False, np.zeros(chosen.size), 0.0, 0.0, multipliers / multipliers.sum())
    if verdict != SEPARABLE:
        raise ConvergenceError(
            "Whether these columns separate could not be decided in floating point; remove nearly equal columns."
        )
    constant = float(scaled[-1]) if intercept else 0.0
    weights, bias = problem.original(chosen, scaled[: chosen.size], constant)
    margin = float(problem.margins(chosen, weights, bias).min())
    return Separation(chosen, margin > 0.0, weights, bias, margin, multipliers / multipliers.sum())


def fewest_errors(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> FewErrors:
    """Few errors on the given columns, by a heuristic: give up the worst patterns, then take back what fits.

    The squared hinge is fitted, the pattern with the largest slack given up, and so on until the rest separates. Then
    every pattern given up is tried again, those nearest to being right first, and kept if all still separate.
    """
    problem = make_problem(X, y, intercept, contradictions=True)
    chosen = _chosen(problem, support)
    rows = _rows(problem, chosen)
    if rows.shape[1] == 0:
        everything = np.arange(problem.n_samples)
        return FewErrors(chosen, np.zeros(0), 0.0, problem.n_samples, everything)
    kept, given_up = _give_up(rows)
    weights = np.zeros(rows.shape[1])
    order = sorted(given_up, key=lambda pattern: -_reach(rows, kept, pattern))
    for pattern in order:
        trial = np.sort(np.append(kept, pattern))
        if hard_margin(rows[trial], np.zeros(rows.shape[1]), np.zeros(trial.size), True) == SEPARABLE:
            kept = trial
    hard_margin(rows[kept], weights, np.zeros(kept.size), False)
    slopes, bias = problem.original(chosen, weights[: chosen.size], float(weights[-1]) if intercept else 0.0)
    wrong = np.flatnonzero(problem.margins(chosen, slopes, bias) <= 0.0)
    return FewErrors(chosen, slopes, bias, int(wrong.size), wrong)


def _fit(rows: NDArray[np.float64]) -> tuple[bool, NDArray[np.float64]]:
    hinge = make_hinge(np.ascontiguousarray(rows.T), rows.shape[1])
    set_support(hinge, np.arange(rows.shape[1]), np.zeros(rows.shape[1]))
    separable = bool(refit(hinge, MAX_NEWTON))
    return separable, hinge.weights[: rows.shape[1]].copy()


def _give_up(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[int]]:
    """Patterns kept, which separate, and patterns given up, worst first."""
    kept = np.arange(rows.shape[0])
    given_up: list[int] = []
    while kept.size > 1:
        separable, weights = _fit(rows[kept])
        if separable:
            break
        worst = int(kept[np.argmin(rows[kept] @ weights)])
        given_up.append(worst)
        kept = kept[kept != worst]
    return kept, given_up


def _reach(rows: NDArray[np.float64], kept: NDArray[np.int64], pattern: int) -> float:
    """How far right the pattern is for the perceptron fitted to those kept."""
    _, weights = _fit(rows[kept])
    return float(rows[pattern] @ weights)
