"""The jitted searches step by step against plain NumPy versions of the same algorithms."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr

from chanceline.kernels.random import next_random, random_state
from chanceline.perceptron.hinge import SAFELY_POSITIVE, SWAP_FIT_STEPS, fit
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.workspace import HINGE_RIDGE, make_hinge, set_support
from chanceline.select import random_problem
from chanceline.select.amp import MESSAGE_DAMPING, SLOW_PACE, amp_steps
from chanceline.select.greedy import SWAP_NOISE, fit_greedily
from chanceline.select.tabu import ADDITION_FIT_STEPS, Patience, swap_down, swap_until_separated


def columns_of(inputs, n, patterns, seed=0):
    X, y = random_problem(n, None, seed, inputs, n_patterns=patterns)
    return np.ascontiguousarray((X * y[:, None]).T)


class PlainRandom:
    """splitmix64 in Python's integers."""

    def __init__(self, state):
        self.state = int(state)

    def __call__(self):
        word = 2**64 - 1
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & word
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        return ((z ^ (z >> 31)) >> 11) / 2**53

    def noise(self):
        return 1.0 + SWAP_NOISE * (2.0 * self() - 1.0)


class PlainHinge:
    """The squared hinge on a support, every matrix computed anew."""

    def __init__(self, columns):
        self.columns = columns
        self.support, self.weights = [], np.zeros(0)
        self.active = np.ones(columns.shape[1], dtype=bool)

    @property
    def part(self):
        return self.columns[self.support]

    @property
    def margins(self):
        return self.weights @ self.part

    @property
    def hessian(self):
        return (self.part * self.active) @ self.part.T + HINGE_RIDGE * np.eye(len(self.support))

    def gradients(self):
        return np.abs(self.columns @ np.maximum(1.0 - self.margins, 0.0))

    def energy(self, weights):
        return (
            0.5 * np.sum(np.maximum(1.0 - weights @ self.part, 0.0) ** 2)
            + 0.5 * HINGE_RIDGE * weights @ weights
        )

    def refit(self, max_newton):
        for newton in range(max_newton):
            move = np.linalg.solve(self.hessian, self.part @ self.active) - self.weights
            step = 1.0
            while (
                newton
                and self.energy(self.weights + step * move) > self.energy(self.weights)
                and step > 1e-4
            ):
                step *= 0.5
            self.weights = self.weights + step * move
            if self.margins.min() > SAFELY_POSITIVE:
                return True
            flipped = (self.margins < 1.0) != self.active
            if step == 1.0 and not flipped.any():
                return False
            self.active = self.margins < 1.0
        return False

    def add(self, j):
        self.support.append(int(j))
        self.weights = np.append(self.weights, 0.0)

    def drop(self, place):
        """The last variable takes the place of the one that goes."""
        self.support[place] = self.support[-1]
        self.weights[place] = self.weights[-1]
        self.support, self.weights = self.support[:-1], self.weights[:-1]


def plain_tabu_step(plain, tabu_until, iteration, random):
    """Add the best non-tabu variable, refit, drop the cheapest non-tabu one (if all are tabu, the last), refit; whether the
    support separates."""
    scores = plain.gradients()
    free = [
        j for j in range(len(tabu_until)) if j not in plain.support and tabu_until[j] <= iteration
    ]
    addition = free[int(np.argmax([scores[j] * random.noise() for j in free]))]
    plain.add(addition)
    tabu_until[addition] = iteration + 2 + int(6 * random())
    plain.refit(ADDITION_FIT_STEPS)
    costs = plain.weights**2 / np.diag(np.linalg.inv(plain.hessian))
    places = [i for i, j in enumerate(plain.support) if tabu_until[j] <= iteration]
    removal = len(plain.support) - 1
    if places:
        removal = places[int(np.argmin([costs[i] * random.noise() for i in places]))]
        tabu_until[plain.support[removal]] = iteration + 4 + int(6 * random())
    plain.drop(removal)
    return plain.refit(SWAP_FIT_STEPS)


def test_random_numbers():
    state = random_state(5)
    plain = PlainRandom(state[0])
    assert [next_random(state) for _ in range(100)] == [plain() for _ in range(100)]


@pytest.mark.parametrize("inputs", ["gaussian", "sphere"])
def test_omp_adds_what_plain_omp_adds(inputs):
    problem = make_problem(*random_problem(40, None, 0, inputs, n_patterns=50))
    problem.__dict__["columns"] = columns_of(inputs, 40, 50)  # as they are, without a scale
    hinge, separable = fit_greedily(problem)
    plain = PlainHinge(problem.columns)
    done = False
    while not done:
        scores = plain.gradients()
        scores[plain.support] = -1.0
        plain.add(np.argmax(scores))
        done = plain.refit(60)
    assert separable
    assert hinge.support.tolist() == plain.support
    np.testing.assert_allclose(hinge.weights, plain.weights, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("inputs", ["gaussian", "sphere"])
def test_tabu_walks_as_plain_tabu_walks(inputs):
    columns = columns_of(inputs, 30, 36)
    hinge, plain = make_hinge(columns, 8), PlainHinge(columns)
    start = [2, 3, 5, 7, 11]
    set_support(hinge, np.array(start))
    for j in start:
        plain.add(j)
    assert fit(hinge, max_newton=SWAP_FIT_STEPS) == plain.refit(SWAP_FIT_STEPS)
    hinge.state.random[:] = random_state(3)
    tabu_until = np.zeros(30, dtype=np.int64)
    random = PlainRandom(hinge.state.random[0])
    visited = set()
    for step in range(1, 41):
        result = swap_until_separated(hinge, size=hinge.size, max_swaps=1)
        assert plain_tabu_step(plain, tabu_until, step, random) == result.separates
        assert hinge.support.tolist() == plain.support
        np.testing.assert_allclose(hinge.weights, plain.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(hinge.state.tabu_until, tabu_until)
        visited.add(tuple(sorted(plain.support)))
    assert len(visited) > 20


@pytest.mark.parametrize("kept", [0, 1])
def test_message_passing_as_in_plain_numpy(kept):
    n, patterns, count = 30, 40, 7
    columns = columns_of("gaussian", n, patterns)
    columns /= np.sqrt((columns**2).mean(axis=1, keepdims=True))
    hinge = make_hinge(columns, 1 + kept, n_unpenalized=kept)
    begin = 0.01 * np.random.default_rng(0).standard_normal(n)
    *_, beliefs = islice(amp_steps(hinge, count, begin, SLOW_PACE.reinforcement), 12)

    mean, variance, field, response, bend = (
        begin,
        np.full(n, count / n),
        np.zeros(n),
        np.zeros(patterns),
        0.0,
    )
    for step in range(1, 13):
        rate = 1.0 - SLOW_PACE.reinforcement**step
        V = variance.sum() / n
        omega = columns.T @ mean / np.sqrt(n) - V * response
        x = omega / np.sqrt(V)
        response = np.exp(-0.5 * x**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(x)) / np.sqrt(V)
        precision = np.sum(response * (response + omega / V)) / n
        bend = precision + rate * bend
        field = precision * mean + columns @ response / np.sqrt(n) + rate * field
        width = 1.0 / (1.0 + bend)
        evidence = 0.5 * field**2 * width
        free = evidence[: n - kept]
        odds = brentq(
            lambda odds, free=free: expit(odds + free).sum() - count, -1e4, 1e4, xtol=1e-13
        )
        pi = np.append(expit(odds + free), np.ones(kept))
        new = pi * field * width
        variance = MESSAGE_DAMPING * variance + (1 - MESSAGE_DAMPING) * (
            pi * (width + (field * width) ** 2) - new**2
        )
        mean = MESSAGE_DAMPING * mean + (1 - MESSAGE_DAMPING) * new
    # The products are in single precision.
    np.testing.assert_allclose(beliefs.mean, mean, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(beliefs.variance, variance, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(beliefs.evidence, evidence, rtol=2e-4, atol=2e-5)


def test_swaps_end_after_half_of_the_budget_without_success():
    problem = make_problem(*random_problem(40, 1.0, 3))
    hinge, separable = fit_greedily(problem)
    assert separable
    events = list(swap_down(hinge, 600, seed=0, patience=Patience(share=0.5)))
    best = max(event.iterations for event in events if not isinstance(event, int))
    assert best < 300
    assert events[-1] == best + 300
