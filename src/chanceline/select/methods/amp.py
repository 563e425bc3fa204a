"""Reinforced approximate message passing: marginals of the weights, pushed until K of them stand out.

GAMP with a step channel on A/√N and a Bernoulli–Gauss prior whose log-odds is set at every step so that Σ π_i = K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from chanceline.perceptron.hinge import Hinge, next_random, refit, set_support
from chanceline.perceptron.linalg import FAST, dot
from chanceline.perceptron.problem import Problem
from chanceline.select.methods.omp import candidate, fit_greedily
from chanceline.select.methods.tabu import drop_cheapest, random_state
from chanceline.select.outcome import Candidate

REINFORCEMENT = 0.99
DAMPING = 0.3
STEPS = 300
DEFAULT_BUDGET = 3000
LOOK_EVERY = 25
MAX_NEWTON = 100


@njit(cache=True)
def inverse_mills(x: float) -> float:
    """φ(x)/Φ(x); the continued fraction of Mills' ratio where Φ underflows."""
    if x > -6.0:
        return math.exp(-0.5 * x * x) / (math.sqrt(math.pi / 2.0) * math.erfc(-x / math.sqrt(2.0)))
    fraction = -x
    for depth in range(12, 0, -1):
        fraction = -x + depth / fraction
    return fraction


@njit(cache=True)
def log_odds_for(evidence: NDArray, count: float) -> float:
    """ℓ with Σ_i 1/(1 + exp(−ℓ − evidence_i)) = count, by bisection."""
    low, high = -evidence.max() - 40.0, -evidence.min() + 40.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        total = 0.0
        for i in range(evidence.size):
            total += 1.0 / (1.0 + math.exp(-min(max(middle + evidence[i], -700.0), 700.0)))
        if total > count:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@njit(cache=True, fastmath=FAST)
def correlate(rows: NDArray, vector: NDArray, out: NDArray) -> None:
    for i in range(out.size):
        out[i] = dot(rows[i], vector)


@njit(cache=True)
def amp_steps(
    by_column: NDArray, by_row: NDArray, kept: int, count: int, start: int, steps: int, state: tuple, curvature: NDArray
) -> None:
    """Message-passing steps in place, `start` of them done before; state = (mean, variance, field, evidence, response).

    Every column has mean square 1, so the variances need no matrix: V = Σ_i v_i / N. With an intercept, its column (the
    last) has π = 1.
    """
    mean, variance, field, evidence, response = state
    patterns, n = by_row.shape
    root = math.sqrt(n)
    narrow_mean = np.zeros(n, dtype=np.float32)
    narrow_response = np.zeros(patterns, dtype=np.float32)
    forward = np.zeros(patterns, dtype=np.float32)
    backward = np.zeros(n, dtype=np.float32)
    for step in range(start + 1, start + steps + 1):
        rate = 1.0 - REINFORCEMENT**step
        V = max(variance.sum() / n, 1e-10)
        narrow_mean[:] = mean
        correlate(by_row, narrow_mean, forward)
        precision = 0.0
        for pattern in range(patterns):
            omega = forward[pattern] / root - V * response[pattern]
            g = inverse_mills(omega / math.sqrt(V)) / math.sqrt(V)
            response[pattern] = g
            precision += g * (g + omega / V)
        precision /= n
        narrow_response[:] = response
        correlate(by_column, narrow_response, backward)
        curvature[0] = precision + rate * curvature[0]
        width = 1.0 / (1.0 + curvature[0])
        for i in range(n):
            field[i] = precision * mean[i] + backward[i] / root + rate * field[i]
            evidence[i] = 0.5 * field[i] * field[i] * width
        odds = log_odds_for(evidence[: n - kept], count)
        for i in range(n):
            pi = 1.0
            if i < n - kept:
                pi = 1.0 / (1.0 + math.exp(-min(max(odds + evidence[i], -700.0), 700.0)))
            slab = field[i] * width
            new = pi * slab
            variance[i] = DAMPING * variance[i] + (1.0 - DAMPING) * (pi * (width + slab * slab) - new * new)
            mean[i] = DAMPING * mean[i] + (1.0 - DAMPING) * new


def passing(hinge: Hinge, count: int, state: NDArray, steps: int = STEPS) -> Iterator[tuple[int, bool]]:
    """Message passing for K = `count`; at every look (steps done, whether the K largest marginals separate).

    The workspace then holds the support that was tested.
    """
    n, patterns = hinge.columns.shape
    kept = int(hinge.size[1])
    by_row = np.ascontiguousarray(hinge.rows, dtype=np.float32)
    mean = np.array([0.02 * next_random(state) - 0.01 for _ in range(n)])
    fields = (mean, np.full(n, count / n), np.zeros(n), np.zeros(n), np.zeros(patterns))
    curvature = np.zeros(1)
    for start in range(0, steps, LOOK_EVERY):
        amp_steps(hinge.narrow, by_row, kept, count, start, LOOK_EVERY, fields, curvature)
        order = np.argsort(-fields[3][: n - kept], kind="stable")[:count]
        support = np.concatenate([np.arange(n - kept, n), np.sort(order)])
        set_support(hinge, support, np.zeros(support.size))
        yield start + LOOK_EVERY, bool(refit(hinge, MAX_NEWTON))


def pass_down(
    hinge: Hinge, best: int, state: NDArray, tries: int = 1, shrink: float = 0.97, spent: int = 0
) -> Iterator[Candidate | int]:
    """Scan K down from below `best`; every success is thinned further by dropping variables while it separates."""
    until = np.zeros(hinge.columns.shape[0], dtype=np.int64)
    failures = 0
    while failures < tries and best > 1:
        goal = min(best - 1, int(shrink * best))
        found = False
        for steps, found in passing(hinge, goal, state):
            if found:
                spent += steps
                break
            yield spent + steps
        if not found:
            spent += STEPS
            failures += 1
            shrink = 1.0 - 0.5 * (1.0 - shrink)
            continue
        separable = True
        while separable:
            best = int(hinge.size[0] - hinge.size[1])
            yield candidate(hinge, spent)
            separable = best > 1 and drop_cheapest(hinge, until, state)


def run_amp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `amp`: from OMP's number of variables down; the budget counts message-passing steps."""
    hinge, added, separable = fit_greedily(problem)
    first = candidate(hinge, added)
    yield first
    limit = DEFAULT_BUDGET if budget is None else budget
    if separable:
        for event in pass_down(hinge, first.support.size, random_state(seed), tries=10**9, spent=added):
            yield event
            if (event.iterations if isinstance(event, Candidate) else event) >= limit:
                return
