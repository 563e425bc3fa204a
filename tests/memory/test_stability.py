"""Largest stabilities and the greedy, swapping and shrinking searches against other routes."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import norm

from chanceline.memory.stability import (
    NeuronProblem,
    add_inputs,
    drop_inputs,
    fit_stable_weights,
    swap_inputs,
)


def fit(rows, inputs):
    return fit_stable_weights(NeuronProblem(rows), inputs)


def signs(shape, seed):
    return 2.0 * np.random.default_rng(seed).integers(0, 2, shape) - 1.0


def stability_by_slsqp(rows):
    """max t subject to A w ≥ t, |w|² ≤ 1, by a general-purpose solver from several starts."""
    _, n = rows.shape
    best = -np.inf
    for seed in range(3):
        start = np.append(np.random.default_rng(seed).normal(size=n) / np.sqrt(n), -1.0)
        result = minimize(
            lambda z: -z[-1],
            start,
            jac=lambda z: np.append(np.zeros(n), -1.0),
            constraints=[
                {"type": "ineq", "fun": lambda z: rows @ z[:-1] - z[-1]},
                {"type": "ineq", "fun": lambda z: 1 - z[:-1] @ z[:-1]},
            ],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if result.success:
            best = max(best, -result.fun)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_the_most_stable(seed):
    rows = signs((12, 10), seed)
    found = fit(rows, np.arange(10))
    assert found.separates
    assert np.linalg.norm(found.weights) == pytest.approx(1)
    assert found.stability == pytest.approx((rows @ found.weights).min(), abs=1e-14)
    assert found.stability == pytest.approx(stability_by_slsqp(rows), abs=1e-6)


def test_the_multipliers_give_the_stability_back():
    rows = signs((12, 15), 3)
    found = fit(rows, np.arange(15))
    shares = found.multipliers / found.multipliers.sum()
    assert (shares >= 0).all()
    assert np.linalg.norm(shares @ rows) == pytest.approx(found.stability, rel=1e-8)


def test_inputs_that_cannot_separate_get_weights_with_few_errors():
    rows = signs((80, 10), 1)
    found = fit(rows, np.arange(10))
    assert not found.separates
    assert (rows @ found.weights <= 0).sum() < 0.3 * 80
    assert not found.multipliers.any()


def largest_by_enumeration(rows, size):
    return max(
        fit(rows, np.array(inputs)).stability for inputs in combinations(range(rows.shape[1]), size)
    )


@pytest.mark.parametrize("seed", range(4))
def test_swaps_find_the_most_stable_inputs_of_small_problems(seed):
    rows = signs((6, 11), seed)
    first = next(
        candidate
        for inputs in combinations(range(11), 4)
        if (candidate := fit(rows, np.array(inputs))).separates
    )
    best = swap_inputs(NeuronProblem(rows), first, 60, np.random.default_rng(seed))
    assert best.inputs.size == 4
    assert best.stability >= first.stability
    assert best.stability == pytest.approx(largest_by_enumeration(rows, 4), rel=1e-9)


def test_growing_never_lowers_the_stability_and_stops_when_enough():
    rows = signs((30, 60), 5)
    small = fit(rows, np.arange(25))
    assert small.separates
    stabilities = [small.stability]
    for size in range(26, 40):
        grown = add_inputs(NeuronProblem(rows), small, size)
        assert grown.inputs.size == size == np.unique(grown.inputs).size
        stabilities.append(grown.stability)
    assert np.all(np.diff(stabilities) >= -1e-12)
    enough = add_inputs(NeuronProblem(rows), small, 60, target=stabilities[6])
    assert enough.inputs.size == 31


@pytest.mark.parametrize("kappa", [0.3, 0.8])
def test_shrinking_reaches_the_smallest_fan_in_of_small_problems(kappa):
    rows = signs((4, 10), 2)
    found = drop_inputs(
        NeuronProblem(rows), fit(rows, np.arange(10)), kappa, 40, np.random.default_rng(0)
    )
    assert found.stability >= kappa
    smallest = next(size for size in range(1, 11) if largest_by_enumeration(rows, size) >= kappa)
    assert found.inputs.size == smallest


def gardner_stability(load):
    """κ with 1/α = ∫_{−κ}^∞ Dt (t + κ)² = (1 + κ²) Φ(κ) + κ φ(κ) (Gardner 1988)."""
    return brentq(lambda k: (1 + k * k) * norm.cdf(k) + k * norm.pdf(k) - 1 / load, -1, 20)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_dense_stability_is_gardners(load):
    n_inputs = 200
    found = [
        fit(signs((round(load * n_inputs), n_inputs), seed), np.arange(n_inputs)).stability
        for seed in range(20)
    ]
    assert np.mean(found) == pytest.approx(gardner_stability(load), abs=0.05)
