"""On given variables: separate, or prove that it cannot be done, or make few errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.data import contradictions
from chanceline.perceptron.hinge import MAX_NEWTON, make_hinge, refit, set_support
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, hard_margin
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rule import Rule, make_rule

Floats = NDArray[np.float64]


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


def separate(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> Rule:
    """The perceptron of largest margin on the given columns, or multipliers that prove there is none."""
    problem = make_problem(X, y, intercept, contradictions=True)
    chosen = _chosen(problem, support)
    rows = _rows(problem, chosen)
    everything, multipliers = np.arange(problem.n_samples), np.zeros(problem.n_samples)
    if rows.shape[1] == 0:
        return Rule(chosen, np.zeros(0), 0.0, everything, 0.0, np.eye(problem.n_samples)[0])
    scaled = np.zeros(rows.shape[1])
    verdict = hard_margin(rows, scaled, multipliers, False)
    if verdict == INSEPARABLE:
        return Rule(chosen, np.zeros(chosen.size), 0.0, everything, 0.0, multipliers / multipliers.sum())
    if verdict != SEPARABLE:
        raise ConvergenceError(
            "Whether these columns separate could not be decided in floating point; remove nearly equal columns."
        )
    weights, bias = problem.original(chosen, scaled[: chosen.size], float(scaled[-1]) if intercept else 0.0)
    return replace(make_rule(problem.X, problem.y, chosen, weights, bias), multipliers=multipliers / multipliers.sum())


def fewest_errors(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> Rule:
    """Few errors on the given columns, by a heuristic: give up the worst patterns, then take back what fits.

    The squared hinge is fitted, the pattern with the largest slack given up, and so on until the rest separates. Then
    every pattern given up is tried again, those nearest to being right first, and kept if all still separate.
    """
    problem = make_problem(X, y, intercept, contradictions=True)
    chosen = _chosen(problem, support)
    rows = _rows(problem, chosen)
    if rows.shape[1] == 0:
        return make_rule(problem.X, problem.y, chosen, np.zeros(0), 0.0)
    kept, given_up = _give_up(rows)
    weights = np.zeros(rows.shape[1])
    order = sorted(given_up, key=lambda pattern: -_reach(rows, kept, pattern))
    for pattern in order:
        trial = np.sort(np.append(kept, pattern))
        if hard_margin(rows[trial], np.zeros(rows.shape[1]), np.zeros(trial.size), True) == SEPARABLE:
            kept = trial
    hard_margin(rows[kept], weights, np.zeros(kept.size), False)
    slopes, bias = problem.original(chosen, weights[: chosen.size], float(weights[-1]) if intercept else 0.0)
    return make_rule(problem.X, problem.y, chosen, slopes, bias)


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
