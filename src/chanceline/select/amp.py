"""Reinforced approximate message passing: marginals of the weights, pushed until K of them stand out.

GAMP with a step channel on A/√N and a Bernoulli–Gauss prior whose log-odds is set at every step so that Σ π_i = K.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr

from chanceline.kernels.random import next_random, random_state
from chanceline.perceptron.hinge import fit
from chanceline.perceptron.problem import Floats, Problem
from chanceline.perceptron.workspace import Hinge, set_support
from chanceline.select.greedy import drop_cheapest, fit_greedily
from chanceline.select.outcome import Candidate
from chanceline.select.starts import candidate_of

DAMPING = 0.3
DEFAULT_BUDGET = 3000
LOOK_EVERY = 25
RUNAWAY = (
    1e12  # evidence in nats: columns that are far from independent can drive it up without end
)
BRISK, SLOW = (0.99, 300), (0.999, 500)  # reinforcement, and how many steps it gets
SLOWLY_FROM = 600  # patterns from which the slow pace pays: below, swaps get as far from either


def inverse_mills(x: NDArray) -> NDArray:
    """φ(x)/Φ(x), by the scaled complementary error function, which does not underflow."""
    return math.sqrt(2.0 / math.pi) / erfcx(-x / math.sqrt(2.0))


def log_odds_for(evidence: NDArray, count: float) -> float:
    """ℓ with Σ_i 1/(1 + exp(−ℓ − evidence_i)) = count."""
    from scipy.optimize import brentq

    low, high = -evidence.max() - 40.0, -evidence.min() + 40.0
    return float(brentq(lambda odds: expit(odds + evidence).sum() - count, low, high, xtol=1e-12))


def amp_steps(
    hinge: Hinge, count: int, mean: Floats, reinforcement: float
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Message-passing steps for K = `count` from these means of the weights, the products in single precision.

    After every step the means and variances of the weights, and the evidence for w_i ≠ 0; ends if it runs away. Every column has
    mean square 1, so the variances need no matrix: V = Σ_i v_i / N. With an intercept, its column (the last) has π = 1. The slab
    of a signed weight is the positive half of a Gaussian. Beliefs harden as 1 − reinforcement^t after t steps.
    """
    columns, kept, signed = (
        hinge.data.columns_float32,
        hinge.data.n_unpenalized,
        hinge.data.nonnegative,
    )
    n, patterns = columns.shape
    root, pi = math.sqrt(n), np.ones(n)
    variance, field, response, curvature = (
        np.full(n, count / n),
        np.zeros(n),
        np.zeros(patterns),
        0.0,
    )
    for step in itertools.count(1):
        rate = 1.0 - reinforcement**step
        V = max(variance.sum() / n, 1e-10)
        omega = mean.astype(np.float32) @ columns / root - V * response
        response = inverse_mills(omega / math.sqrt(V)) / math.sqrt(V)
        precision = max(float(response @ (response + omega / V)) / n, 0.0)
        curvature = precision + rate * curvature
        width = 1.0 / (1.0 + curvature)
        field = precision * mean + columns @ response.astype(np.float32) / root + rate * field
        evidence = 0.5 * width * field**2
        if not evidence.max() < RUNAWAY:
            return
        slab, second = width * field, width + (width * field) ** 2
        if signed.any():
            ratio = math.sqrt(width) * field
            lift = math.sqrt(width) * inverse_mills(ratio)
            evidence = np.where(signed, evidence + log_ndtr(ratio), evidence)
            slab, second = (
                np.where(signed, slab + lift, slab),
                np.where(signed, second + slab * lift, second),
            )
        free = evidence[: n - kept]
        pi[: n - kept] = expit(log_odds_for(free, count) + free)
        new = pi * slab
        variance = DAMPING * variance + (1.0 - DAMPING) * (pi * second - new**2)
        mean = DAMPING * mean + (1.0 - DAMPING) * new
        yield mean, variance, evidence


def passing(
    hinge: Hinge, count: int, reinforcement: float, most: int
) -> Iterator[tuple[int, bool]]:
    """Up to `most` steps of message passing for K = `count`; at every look the steps done, and whether the K largest separate.

    Ends early if it runs away. The workspace then holds the support that was tested.
    """
    n, kept = hinge.data.columns.shape[0], hinge.data.n_unpenalized
    start = np.array([0.02 * next_random(hinge.state.random) - 0.01 for _ in range(n)])
    for done, (mean, _, evidence) in enumerate(
        itertools.islice(amp_steps(hinge, count, start, reinforcement), most), 1
    ):
        if done % LOOK_EVERY == 0:
            order = np.argsort(-evidence[: n - kept], kind="stable")[:count]
            support = np.concatenate([np.arange(n - kept, n), np.sort(order)])
            # Signed weights start where they were believed to be: from zero, those that Newton's first step turns away leave.
            set_support(
                hinge,
                support,
                np.where(hinge.data.nonnegative, np.maximum(mean, 0.0), 0.0)[support],
            )
            yield done, fit(hinge)


def pass_down(
    hinge: Hinge, best: int, seed: int, tries: int, spent: int = 0
) -> Iterator[Candidate | int]:
    """Scan K down from below `best`; every success is thinned further by dropping variables while it separates."""
    hinge.state.random[:] = random_state(seed)
    failures, shrink = 0, 0.97
    pace = SLOW if hinge.state.margins.size >= SLOWLY_FROM else BRISK
    while failures < tries and best > 1:
        goal = min(best - 1, int(shrink * best))
        found = False
        for steps, found in passing(hinge, goal, *pace):
            if found:
                spent += steps
                break
            yield spent + steps
        if not found:
            spent += pace[1]
            failures += 1
            shrink = 1.0 - 0.5 * (1.0 - shrink)
            yield spent
            continue
        separable = True
        while separable:
            best = hinge.n_selected
            yield candidate_of(hinge, spent)
            separable = best > 1 and drop_cheapest(hinge)


def run_amp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `amp`: from OMP's number of variables down; the budget counts message-passing steps."""
    hinge, separable = fit_greedily(problem)
    added = hinge.n_selected
    first = candidate_of(hinge, added)
    yield first
    limit = DEFAULT_BUDGET if budget is None else budget
    if separable:
        for event in pass_down(hinge, first.support.size, seed, tries=10**9, spent=added):
            yield event
            if (event.iterations if isinstance(event, Candidate) else event) >= limit:
                return
