"""The walk over supports against brute force; with cuts of few patterns and without."""

import itertools

import numpy as np
import pytest

from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.random_patterns import random_problem
from chanceline.select import certify
from chanceline.select.bitsets import unpack
from chanceline.select.cuts import CutLimits, arranged_cuts, pattern_cuts_help, smallest_cuts
from chanceline.select.exact import prove
from chanceline.select.outcome import Candidate, LowerBound, max_margin_candidate
from chanceline.select.supports import all_supports
from chanceline.select.walk import EXHAUSTED, FOUND, PAUSED


def balanced_problem(n, patterns, seed):
    """±1 columns with as many + as −, so that they stay ±1 when an intercept is fitted."""
    rng = np.random.default_rng(seed)
    half = np.repeat([-1.0, 1.0], patterns // 2)
    X = np.column_stack([rng.permutation(half) for _ in range(n)])
    return make_problem(X, rng.permutation(half), intercept=True, allow_contradictions=True)


def coin_problem(n, patterns, seed):
    return make_problem(
        *random_problem(n, seed=seed, n_patterns=patterns), allow_contradictions=True
    )


def last(steps):
    return next(step for step in steps if step.verdict != PAUSED)


def plain(problem, size):
    """The verdict of the walk that has no cuts but those of the hard margin."""
    return last(all_supports(problem, size, limits=CutLimits(max_variables=0))).verdict


@pytest.mark.parametrize("sixes", [False, True])
@pytest.mark.parametrize("make", [coin_problem, balanced_problem])
def test_cuts_are_where_few_patterns_do_not_cancel(make, sixes):
    problem = make(9, 10, 3)
    n = problem.n_features
    expected = []
    for few in (2, 4, 6) if sixes else (2, 4):
        for patterns in itertools.combinations(range(problem.n_samples), few):
            left = problem.columns[:, patterns].sum(axis=1) != 0
            if not left[n:].any():
                expected.append(left[:n].tolist())
    found = smallest_cuts(problem, sixes)
    assert sorted(found.tolist()) == sorted(expected)
    assert (np.diff(found.sum(axis=1)) >= 0).all()


def test_only_the_smallest_cuts_are_kept():
    problem = coin_problem(12, 12, 5)
    every = smallest_cuts(problem, True)
    some = smallest_cuts(problem, True, max_cuts=100)
    assert 0 < len(some) <= 100
    assert some.tolist() == every[: len(some)].tolist()
    assert every[len(some)].sum() > some[-1].sum()


@pytest.mark.parametrize("most_cuts", [0, 20, 40_000])
@pytest.mark.parametrize("make", [coin_problem, balanced_problem])
def test_cuts_change_no_verdict(make, most_cuts):
    limits = CutLimits(max_cuts=most_cuts, sixes_from=4)
    verdicts = set()
    for seed in range(20):
        problem = make(11, 8 + 2 * (seed % 4), seed)
        for size in range(2, 8):
            step = last(all_supports(problem, size, limits=limits))
            assert step.undecided == 0
            assert step.verdict == plain(problem, size)
            verdicts.add(step.verdict)
            if step.verdict == FOUND:
                assert np.unique(step.support).size == size
                candidate = max_margin_candidate(problem, step.support, 0)
                fields = candidate.weights @ problem.columns[step.support]
                fields += candidate.constant * problem.y if problem.n_unpenalized else 0.0
                assert fields.min() > 0
                break
    assert verdicts == {EXHAUSTED, FOUND}


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
@pytest.mark.parametrize("intercept", [False, True])
def test_verdicts_are_those_of_brute_force(inputs, intercept):
    verdicts = set()
    for seed in range(6):
        X, y = random_problem(9, 0.9, 300 + seed, inputs)
        problem = make_problem(X, y, intercept, allow_contradictions=True)
        for size in (1, 2, 3, 4):
            expected = any(
                certify(X, y, support, intercept).separable
                for support in itertools.combinations(range(9), size)
            )
            step = last(all_supports(problem, size))
            assert step.verdict == (FOUND if expected else EXHAUSTED)
            verdicts.add(expected)
            if expected:
                assert certify(X, y, step.support, intercept).separable
                break
    assert verdicts == {True, False}


def test_variables_of_many_cuts_come_first():
    problem = coin_problem(12, 10, 1)
    order, words = arranged_cuts(problem, False)
    found = smallest_cuts(problem, False)
    assert sorted(order.tolist()) == list(range(12))
    assert unpack(words, 12).tolist() == found[:, order].tolist()
    met = found.sum(axis=0)[order]
    assert (np.diff(met) <= 0).all()
    assert met[0] > met[-1]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "n",
    [pytest.param(63, marks=SLOW), 64, pytest.param(65, marks=SLOW), pytest.param(130, marks=SLOW)],
)
def test_cuts_use_whole_words(n):
    for seed in range(2):
        problem = coin_problem(n, 18, seed)
        for size in range(2, 5):
            verdict = last(all_supports(problem, size)).verdict
            assert verdict == plain(problem, size)
            if verdict == FOUND:
                break


def test_what_can_be_cut():
    assert pattern_cuts_help(coin_problem(256, 30, 0), 16)
    assert not pattern_cuts_help(coin_problem(64, 30, 0), 1)
    assert not pattern_cuts_help(coin_problem(64, 30, 0), 17)
    assert not pattern_cuts_help(coin_problem(257, 30, 0), 5)
    assert pattern_cuts_help(coin_problem(20, 200, 0), 5)
    assert not pattern_cuts_help(balanced_problem(63, 30, 0), 16)
    assert not pattern_cuts_help(make_problem(*random_problem(20, 1.0, 0, "gaussian")), 5)


@pytest.mark.parametrize("found", [0, 1, 2])
def test_a_proof_starts_from_supports_that_are_too_large_as_well(found):
    problem = coin_problem(14, 14, 2)
    smallest = next(size for size in range(1, 14) if plain(problem, size) == FOUND)
    assert smallest >= 4
    start = max_margin_candidate(problem, np.arange(smallest + found), 0)
    events = list(prove(problem, start, 10**6))
    sizes = [event.support.size for event in events if isinstance(event, Candidate)]
    bounds = [event.smallest for event in events if isinstance(event, LowerBound)]
    assert bounds[-1] == smallest
    assert bounds == sorted(bounds)
    assert sizes == list(range(smallest + found - 1, smallest - 1, -1))
