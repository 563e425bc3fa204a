"""Swaps at a fixed number of variables on the trimmed squared hinge; errors are counted, and the best rule of every size kept."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inner_kernel, kernel
from chanceline.perceptron.hinge import next_random
from chanceline.perceptron.linalg import NONE, counter, dot
from chanceline.select.choice import choose_removal, most_correlated
from chanceline.select.front_line import count_errors, descend
from chanceline.select.front_trimmed import NEWTON, fit_trimmed, put_in, take_out, use

NEWTON_AFTER_ADDITION = counter(2)
IDLE_ROUNDS = counter(2)  # of the descent on errors before it gives up

Best = namedtuple("Best", "errors supports weights trial margins breaks")
Best.__doc__ = """The best rule of every size k: its errors, columns (the kept ones first) and weights; then room to work in."""


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
def store(state: Any, best: Any, weights: NDArray, errors: int) -> None:
    k = state.k[0]
    features = k - state.kept
    best.errors[features] = errors
    for i in range(k):
        best.supports[features, i] = state.support[i]
        best.weights[features, i] = weights[i]


@kernel()
def note(state: Any, best: Any, near: int, random: NDArray) -> int:
    """Keep the present rule if it is the best of its size; within `near` errors of it, descend on the errors first."""
    k = state.k[0]
    features = k - state.kept
    errors = count_errors(state.margins)
    if features < 1 or features >= best.errors.size:
        return errors
    if errors < best.errors[features] or best.supports[features, 0] < 0:
        store(state, best, state.weights, errors)
    if errors == 0 or errors > best.errors[features] + near:
        return errors
    for i in range(k):
        best.trial[i] = state.weights[i]
    for pattern in range(best.margins.size):
        best.margins[pattern] = state.margins[pattern]
    errors = descend(state.columns, state.support, k, best.trial, best.margins, best.breaks, random, IDLE_ROUNDS)
    if errors < best.errors[features]:
        store(state, best, best.trial, errors)
    return errors


@kernel()
def load(state: Any, best: Any, features: int) -> None:
    """Continue from the best rule of this size."""
    k = features + state.kept
    use(state, best.supports[features, :k], best.weights[features, :k])


@kernel()
def choose_addition(state: Any, until: NDArray, clock: int, random: NDArray) -> int:
    """The non-tabu column most correlated with the slack of the active patterns."""
    for pattern in range(state.slack.size):
        state.slack[pattern] = state.active[pattern] * (1.0 - state.margins[pattern])
    for j in range(state.pulls.size):
        state.pulls[j] = dot(state.narrow[j], state.slack)
    return most_correlated(state, until, clock, random)


@kernel()
def swap_steps(
    state: Any, best: Any, until: NDArray, clock: NDArray, random: NDArray, share: float, near: int, steps: int
) -> int:
    """Up to `steps` swaps at the present size; the swaps done.

    With share = 1 always after one error fewer than the best; with less, so much of that is forgiven, down to the plain
    squared hinge, whose landscape is smoother.
    """
    features = state.k[0] - state.kept
    for step in range(steps):
        if best.errors[features] == 0:
            return step
        allowed = int(share * (best.errors[features] - 1))
        clock[0] += 1
        addition = choose_addition(state, until, clock[0], random)
        if addition < 0:
            # Everything else is tabu: few variables. Forget the tabus (the kept columns are in the support anyway).
            for j in range(until.size):
                until[j] = 0
            addition = choose_addition(state, until, clock[0], random)
        if addition < 0:
            return step
        put_in(state, addition)
        until[addition] = clock[0] + 2 + int(6 * next_random(random))
        fit_trimmed(state, allowed, NEWTON_AFTER_ADDITION)
        note(state, best, NONE, random)
        removal = choose_removal(state, until, clock[0], random)
        if removal < 0:
            removal = state.k[0] - 1
        until[state.support[removal]] = clock[0] + 4 + int(6 * next_random(random))
        take_out(state, removal)
        fit_trimmed(state, allowed, NEWTON)
        note(state, best, near, random)
    return steps
