"""Supports as covers of cuts, against brute force and the tree."""

import itertools

import numpy as np
import pytest

from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.random_problem import random_problem
from chanceline.select import cover
from chanceline.select.cover import can_cover, covers, most_cuts_first, smallest_cuts
from chanceline.select.enumeration import enumerate_supports
from chanceline.select.exact import branch, fitted, prove
from chanceline.select.outcome import Bound, Candidate
from chanceline.select.tree import EXHAUSTED, FOUND, PAUSED


def balanced_problem(n, patterns, seed):
    """±1 columns with as many + as −, so that they stay ±1 when an intercept is fitted."""
    rng = np.random.default_rng(seed)
    half = np.repeat([-1.0, 1.0], patterns // 2)
    X = np.column_stack([rng.permutation(half) for _ in range(n)])
    return make_problem(X, rng.permutation(half), intercept=True, contradictions=True)


def coin_problem(n, patterns, seed):
    return make_problem(*random_problem(n, seed=seed, n_patterns=patterns), contradictions=True)


def last(steps):
    verdict = PAUSED
    while verdict == PAUSED:
        step = next(steps)
        verdict = step.verdict
    return step


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
                expected.append(sum(1 << int(j) for j in np.flatnonzero(left[:n])))
    cuts = smallest_cuts(problem, sixes).tolist()
    assert sorted(cuts) == sorted(expected)
    sizes = [cut.bit_count() for cut in cuts]
    assert sizes == sorted(sizes)


def test_only_the_smallest_cuts_are_kept(monkeypatch):
    problem = coin_problem(12, 12, 5)
    every = smallest_cuts(problem, True)
    monkeypatch.setattr(cover, "MOST_CUTS", 100)
    some = smallest_cuts(problem, True)
    assert 0 < some.size <= 100
    assert some.tolist() == every[: some.size].tolist()
    assert int(every[some.size]).bit_count() > int(some[-1]).bit_count()


@pytest.mark.parametrize("most_cuts", [0, 20, 40_000])
@pytest.mark.parametrize("make", [coin_problem, balanced_problem])
def test_covers_agree_with_the_tree(make, most_cuts, monkeypatch):
    monkeypatch.setattr(cover, "MOST_CUTS", most_cuts)
    monkeypatch.setattr(cover, "SIXES_FROM", 4)
    verdicts = set()
    for seed in range(20):
        problem = make(11, 8 + 2 * (seed % 4), seed)
        for size in range(2, 8):
            by_cover, by_tree = last(covers(problem, size)), last(branch(problem, size))
            assert by_cover.undecided == by_tree.undecided == 0
            assert by_cover.verdict == by_tree.verdict
            verdicts.add(by_cover.verdict)
            if by_cover.verdict == FOUND:
                support = by_cover.support
                assert np.unique(support).size == size
                candidate = fitted(problem, support, 0)
                fields = candidate.weights @ problem.columns[support]
                fields += candidate.constant * problem.y if problem.kept else 0.0
                assert fields.min() > 0
                break
    assert verdicts == {EXHAUSTED, FOUND}


def test_variables_of_many_cuts_come_first():
    cuts = smallest_cuts(coin_problem(12, 10, 1), False)
    order, arranged = most_cuts_first(cuts, 12)
    assert sorted(order.tolist()) == list(range(12))
    sets = [{order[place] for place in range(12) if int(cut) >> place & 1} for cut in arranged]
    assert sets == [{j for j in range(12) if int(cut) >> j & 1} for cut in cuts]
    met = [sum(j in cut for cut in sets) for j in order]
    assert met == sorted(met, reverse=True)
    assert met[0] > met[-1]


@pytest.mark.parametrize("n", [63, 64])
def test_covers_use_the_whole_word(n):
    for seed in range(3):
        problem = coin_problem(n, 20, seed)
        for size in range(2, 6):
            verdict = last(covers(problem, size)).verdict
            assert verdict == last(enumerate_supports(problem, size)).verdict
            if verdict == FOUND:
                break


def test_what_can_be_covered():
    assert can_cover(coin_problem(64, 30, 0), 16)
    assert not can_cover(coin_problem(64, 30, 0), 1)
    assert not can_cover(coin_problem(64, 30, 0), 17)
    assert not can_cover(coin_problem(65, 30, 0), 5)
    assert not can_cover(coin_problem(20, 129, 0), 5)
    assert can_cover(balanced_problem(63, 30, 0), 15)
    assert not can_cover(balanced_problem(63, 30, 0), 16)
    assert not can_cover(balanced_problem(64, 30, 0), 5)
    assert not can_cover(make_problem(*random_problem(20, 1.0, 0, "gaussian")), 5)


@pytest.mark.parametrize("found", [0, 1, 2])
def test_a_proof_starts_from_supports_that_are_too_large_as_well(found):
    problem = coin_problem(14, 14, 2)
    smallest = next(size for size in range(1, 14) if last(branch(problem, size)).verdict == FOUND)
    assert smallest >= 4
    start = fitted(problem, np.arange(smallest + found), 0)
    events = list(prove(problem, start, 10**6))
    sizes = [event.support.size for event in events if isinstance(event, Candidate)]
    bounds = [event.smallest for event in events if isinstance(event, Bound)]
    assert bounds[-1] == smallest
    assert bounds == sorted(bounds)
    assert sizes == list(range(smallest + found - 1, smallest - 1, -1))
