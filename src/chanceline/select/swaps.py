"""Swaps that count errors and keep the best rule of every size, and what the searches by swaps share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inlined_kernel, inner_kernel, kernel
from chanceline.perceptron.hinge import (
    NEWTON,
    NEWTON_AFTER_ADDITION,
    NOISE,
    Hinge,
    choose_addition,
    choose_removal,
    fit,
    next_random,
    refit,
)
from chanceline.perceptron.linalg import NONE, ZERO, counter
from chanceline.select.line import count_errors, descend
from chanceline.select.outcome import Candidate

IDLE_ROUNDS = counter(2)  # of the descent on errors before it gives up


class Best(NamedTuple):
    """The best rule of every size k: its errors, columns (the kept ones first) and weights; then room to work in."""

    errors: NDArray[np.int64]
    supports: NDArray[np.int64]
    weights: NDArray[np.float64]
    trial: NDArray[np.float64]
    margins: NDArray[np.float64]
    breaks: NDArray[np.float64]

    def candidate(self, k: int, kept: int, iterations: int) -> Candidate:
        """The best rule of k variables, in scaled weights."""
        return as_candidate(self.supports[k, : k + kept], self.weights[k, : k + kept], kept, iterations)


def make_best(most: int, kept: int, patterns: int) -> Best:
    """Nothing found yet for 0 … `most` variables."""
    width = most + kept + 1
    return Best(
        errors=np.full(most + 1, patterns, dtype=np.int64),
        supports=np.full((most + 1, width), -1, dtype=np.int64),
        weights=np.zeros((most + 1, width)),
        trial=np.zeros(width),
        margins=np.zeros(patterns),
        breaks=np.zeros(patterns),
    )


@inner_kernel()
def store(hinge: Any, best: Any, weights: NDArray, errors: int) -> None:
    k = hinge.k[0]
    features = k - hinge.kept
    best.errors[features] = errors
    for i in range(k):
        best.supports[features, i] = hinge.support[i]
        best.weights[features, i] = weights[i]


@inlined_kernel()
def note(hinge: Any, best: Any, near: int) -> int:
    """Keep the present rule if it is the best of its size; within `near` errors of it, descend on the errors first."""
    k = hinge.k[0]
    features = k - hinge.kept
    errors = count_errors(hinge.margins)
    if features < 1 or features >= best.errors.size:
        return errors
    if errors < best.errors[features] or best.supports[features, 0] < 0:
        store(hinge, best, hinge.weights, errors)
    if errors == 0 or errors > best.errors[features] + near:
        return errors
    for i in range(k):
        best.trial[i] = hinge.weights[i]
    for pattern in range(best.margins.size):
        best.margins[pattern] = hinge.margins[pattern]
    errors = descend(hinge.columns, hinge.support, k, best.trial, best.margins, best.breaks, hinge.random, IDLE_ROUNDS)
    if errors < best.errors[features]:
        store(hinge, best, best.trial, errors)
    return errors


@kernel()
def fit_and_note(
    hinge: Any, best: Any, add: int, drop: int, allowed: int, most: int,
    share: float, near: int, noise: float, wanted: int, swaps: int,
) -> tuple[int, int]:  # fmt: skip
    """Change the support, refit and note it; then up to `swaps` swaps until the best of its size makes at most `wanted` errors.

    With share = 1 always after one error fewer than the best; with less, so much of that is forgiven, down to the plain
    squared hinge, whose landscape is smoother. Returns the errors after the first fit and the swaps done.
    """
    features, errors, jitter, watch = NONE, ZERO, 0.0, near
    for half in range(2 * swaps + 1):
        refit(hinge, add, drop, allowed, jitter, most)
        counted = note(hinge, best, watch)
        if half == 0:
            features, errors = hinge.k[0] - hinge.kept, counted
        if half % 2:
            add, drop, most, jitter, watch = NONE, choose_removal(hinge), NEWTON, 0.0, near
        elif half == 2 * swaps or best.errors[features] <= wanted:
            return errors, half // 2
        else:
            allowed = int(share * (best.errors[features] - 1))
            add, drop, most, jitter, watch = choose_addition(hinge), NONE, NEWTON_AFTER_ADDITION, noise, NONE
            if add < 0:
                break
    return errors, swaps


def cheapest(hinge: Hinge) -> int:
    """Place of the variable that costs least as in `choose_removal`, whatever its tabu."""
    chosen = slice(hinge.kept, hinge.size)
    noise = np.array([1.0 + NOISE * (2.0 * next_random(hinge.random) - 1.0) for _ in range(hinge.selected)])
    costs = hinge.weights[chosen] ** 2 / np.diag(hinge.inverse)[chosen] * noise
    return hinge.kept + int(np.argmin(costs))


def drop_cheapest(hinge: Hinge) -> bool:
    """Drop the cheapest variable; whether the rest still separates."""
    return fit(hinge, drop=cheapest(hinge), newton=NEWTON)


def try_out(
    hinge: Hinge, best: Best, add: int = -1, drop: int = -1, *, allowed: int = 0, near: int = 0, newton: int = int(NEWTON)
) -> int:
    """Errors of the support after a change and a fit that forgives so many; the rule is kept if it is the best of its size."""
    return int(fit_and_note(hinge, best, add, drop, allowed, newton, 1.0, near, 0.0, 0, 0)[0])


def as_candidate(columns: NDArray[np.int64], weights: NDArray[np.float64], kept: int, iterations: int) -> Candidate:
    """A support with the kept columns first, and its weights, as what a method yields."""
    order = np.argsort(columns[kept:])
    return Candidate(columns[kept:][order], weights[kept:][order], float(weights[0]) if kept else 0.0, iterations)


def candidate(hinge: Hinge, iterations: int) -> Candidate:
    """The present support and weights of a workspace."""
    return as_candidate(hinge.support[: hinge.size], hinge.weights[: hinge.size], hinge.kept, iterations)
