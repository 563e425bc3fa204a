"""Reinforced approximate message passing: marginals of the weights, pushed until K of them stand out.

GAMP with a step channel on A/√N and a Bernoulli–Gauss prior whose log-odds is set at every step so that Σ π_i = K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, expit, log_ndtr

from chanceline.perceptron.hinge import Hinge, fit, random_state, set_support
from chanceline.perceptron.linalg import next_random
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate
from chanceline.select.swaps import candidate, drop_cheapest, fit_greedily

DAMPING = 0.3
DEFAULT_BUDGET = 3000
LOOK_EVERY = 25
RUNAWAY = 1e12  # evidence in nats: columns that are far from independent can drive it up without end


class Pace(NamedTuple):
    """How fast beliefs harden, 1 − reinforcement^t after t steps, and how many steps they get."""

    reinforcement: float
    steps: int


BRISK, SLOW = Pace(0.99, 300), Pace(0.999, 500)
SLOWLY_FROM = 600  # patterns from which the slow pace pays: below, swaps get as far from either


def inverse_mills(x: NDArray) -> NDArray:
    """φ(x)/Φ(x), by the scaled complementary error function, which does not underflow."""
    return math.sqrt(2.0 / math.pi) / erfcx(-x / math.sqrt(2.0))


def log_odds_for(evidence: NDArray, count: float) -> float:
    """ℓ with Σ_i 1/(1 + exp(−ℓ − evidence_i)) = count."""
    low, high = -evidence.max() - 40.0, -evidence.min() + 40.0
    return float(brentq(lambda odds: expit(odds + evidence).sum() - count, low, high, xtol=1e-12))


@dataclass
class Beliefs:
    """Where message passing stands: means and variances of the weights, fields, evidence for w_i ≠ 0, and responses."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    field: NDArray[np.float64]
    evidence: NDArray[np.float64]
    response: NDArray[np.float64]
    curvature: float = 0.0
    steps: int = 0


def amp_steps(hinge: Hinge, count: int, beliefs: Beliefs, reinforcement: float, steps: int) -> bool:
    """Message-passing steps in place for K = `count`, the products in single precision; False if they run away.

    Every column has mean square 1, so the variances need no matrix: V = Σ_i v_i / N. With an intercept, its column (the
    last) has π = 1. The slab of a signed weight is the positive half of a Gaussian.
    """
    columns, kept, signed = hinge.narrow, hinge.kept, hinge.signed
    n, now = columns.shape[0], beliefs
    root, pi = math.sqrt(n), np.ones(n)
    for _ in range(steps):
        now.steps += 1
        rate = 1.0 - reinforcement**now.steps
        V = max(now.variance.sum() / n, 1e-10)
        omega = now.mean.astype(np.float32) @ columns / root - V * now.response
        now.response = inverse_mills(omega / math.sqrt(V)) / math.sqrt(V)
        precision = max(float(now.response @ (now.response + omega / V)) / n, 0.0)
        now.curvature = precision + rate * now.curvature
        width = 1.0 / (1.0 + now.curvature)
        now.field = precision * now.mean + columns @ now.response.astype(np.float32) / root + rate * now.field
        now.evidence = 0.5 * width * now.field**2
        if not now.evidence.max() < RUNAWAY:
            return False
        slab, second = width * now.field, width + (width * now.field) ** 2
        if signed.any():
            ratio = math.sqrt(width) * now.field
            lift = math.sqrt(width) * inverse_mills(ratio)
            now.evidence = np.where(signed, now.evidence + log_ndtr(ratio), now.evidence)
            slab, second = np.where(signed, slab + lift, slab), np.where(signed, second + slab * lift, second)
        free = now.evidence[: n - kept]
        pi[: n - kept] = expit(log_odds_for(free, count) + free)
        new = pi * slab
        now.variance = DAMPING * now.variance + (1.0 - DAMPING) * (pi * second - new**2)
        now.mean = DAMPING * now.mean + (1.0 - DAMPING) * new
    return True


def passing(hinge: Hinge, count: int, pace: Pace) -> Iterator[tuple[int, bool]]:
    """Message passing for K = `count`; at every look (steps done, whether the K largest marginals separate).

    Ends early if it runs away. The workspace then holds the support that was tested.
    """
    n, patterns = hinge.columns.shape
    kept = hinge.kept
    mean = np.array([0.02 * next_random(hinge.random) - 0.01 for _ in range(n)])
    beliefs = Beliefs(mean, np.full(n, count / n), np.zeros(n), np.zeros(n), np.zeros(patterns))
    while beliefs.steps < pace.steps:
        if not amp_steps(hinge, count, beliefs, pace.reinforcement, LOOK_EVERY):
            return
        order = np.argsort(-beliefs.evidence[: n - kept], kind="stable")[:count]
        support = np.concatenate([np.arange(n - kept, n), np.sort(order)])
        # Signed weights start where they were believed to be: from zero, those that Newton's first step turns away would leave.
        set_support(hinge, support, np.where(hinge.signed, np.maximum(beliefs.mean, 0.0), 0.0)[support])
        yield beliefs.steps, fit(hinge)


def pass_down(hinge: Hinge, best: int, seed: int, tries: int, spent: int = 0) -> Iterator[Candidate | int]:
    """Scan K down from below `best`; every success is thinned further by dropping variables while it separates."""
    hinge.random[:] = random_state(seed)
    failures, shrink = 0, 0.97
    pace = SLOW if hinge.margins.size >= SLOWLY_FROM else BRISK
    while failures < tries and best > 1:
        goal = min(best - 1, int(shrink * best))
        found = False
        for steps, found in passing(hinge, goal, pace):
            if found:
                spent += steps
                break
            yield spent + steps
        if not found:
            spent += pace.steps
            failures += 1
            shrink = 1.0 - 0.5 * (1.0 - shrink)
            yield spent
            continue
        separable = True
        while separable:
            best = hinge.selected
            yield candidate(hinge, spent)
            separable = best > 1 and drop_cheapest(hinge)


def run_amp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `amp`: from OMP's number of variables down; the budget counts message-passing steps."""
    hinge, added, separable = fit_greedily(problem)
    first = candidate(hinge, added)
    yield first
    limit = DEFAULT_BUDGET if budget is None else budget
    if separable:
        for event in pass_down(hinge, first.support.size, seed, tries=10**9, spent=added):
            yield event
            if (event.iterations if isinstance(event, Candidate) else event) >= limit:
                return
