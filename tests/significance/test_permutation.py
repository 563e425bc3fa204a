"""Counting, stopping and interrupting the permutations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from chanceline.significance.permutation import (
    PermutationRunner,
    Procedure,
    Value,
    clopper_pearson,
    permutation_reading,
    read_draws,
)
from chanceline.significance.plan import make_scheme


def values(*ranks):
    return [Value(rank, rank, 0) for rank in ranks]


def read(observed, drawn, requested, **options):
    return read_draws(observed, drawn, np.array([value.rank <= observed.rank for value in drawn]), requested, **options)


def test_counts_as_good_or_better():
    reading = read(Value(3, 3, 0), values(5, 3, 4, 2, 6), 5)
    assert reading.exceedances == 2
    assert reading.pvalue == 3 / 6
    assert reading.floor == 1 / 6
    assert reading.null_sizes == (5, 3, 4, 2, 6)


def test_stops_at_the_hth_exceedance():
    reading = read(Value(3, 3, 0), values(5, 3, 4, 2, 6, 1), 100, stop_after=2)
    assert (reading.exceedances, reading.done) == (2, 4)
    assert reading.pvalue == 2 / 4
    assert reading.stopped_early


def test_searches_that_fail_are_worse_than_any_set():
    procedure = Procedure(errors=1)
    X = np.zeros((4, 9))
    rule = type("R", (), {"errors": 2, "n_selected": 9, "support": np.arange(9)})()
    assert procedure.value(rule, X.shape[1]).rank == 11
    reading = read(Value(9, 9, 0), [Value(11, 9, 2), Value(9, 9, 1)], 2, allowed=1)
    assert reading.null_sizes == (None, 9)
    assert reading.exceedances == 1


def test_interval_is_clopper_pearson():
    for hits, draws in [(0, 10), (3, 40), (40, 40)]:
        exact = binomtest(hits, draws).proportion_ci(0.95, "exact")
        assert clopper_pearson(hits, draws, False) == pytest.approx((exact.low, exact.high))
    # Stopped at the third exceedance in draw 20: both tails of the waiting time have probability 2.5 %.
    low, high = clopper_pearson(3, 20, True)
    assert binom.sf(2, 20, low) == pytest.approx(0.025)
    assert binom.cdf(2, 19, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 0, False) == (0.0, 1.0)


@pytest.mark.parametrize("stop_after", [None, 1, 4])
def test_sequential_p_value_is_valid_and_interval_covers(stop_after):
    """Exchangeable integer statistics with many ties: P(p ≤ a) ≤ a; the interval covers the true exceedance rate."""
    rng = np.random.default_rng(3)
    pvalues, covered = [], 0
    for _ in range(3000):
        ranks = rng.binomial(6, 0.4, size=40)
        reading = read(Value(ranks[0], 0, 0), values(*ranks[1:]), 39, stop_after=stop_after)
        truth = binom.cdf(ranks[0], 6, 0.4)
        covered += reading.interval[0] <= truth <= reading.interval[1]
        pvalues.append(reading.pvalue)
    for level in (0.025, 0.05, 0.1, 0.2, 0.5):
        assert np.sum(np.array(pvalues) <= level) <= binom.isf(1e-4, 3000, level)
    assert covered >= binom.ppf(1e-4, 3000, 0.95)


@dataclass(frozen=True)
class Counting:
    """A cheap statistic: the number of positive labels among the rows with a positive first column."""

    def __call__(self, X, y):
        hits = int(np.sum((X[:, 0] > 0) & (y > 0)))
        return Value(hits, hits, 0)


@dataclass(frozen=True)
class Interrupting(Counting):
    after: int

    def __call__(self, X, y):
        if len(CALLS) == self.after:
            raise KeyboardInterrupt
        CALLS.append(1)
        return super().__call__(X, y)


CALLS: list[int] = []


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 8)), np.repeat([1.0, -1.0], 15)


def test_same_result_for_any_number_of_workers(noise):
    X, y = noise
    scheme = make_scheme(y)
    procedure = Procedure(budget=30)
    observed = procedure(X, y)
    options = {"permutations": 12, "seed": 5, "stop_after": 4}
    alone = permutation_reading(procedure, X, scheme, observed, **options)
    together = permutation_reading(procedure, X, scheme, observed, runner=PermutationRunner(n_jobs=2), **options)
    assert alone == together


def test_draws_depend_on_seed_and_number_only(noise):
    X, y = noise
    scheme, statistic = make_scheme(y), Counting()
    short, long = (permutation_reading(statistic, X, scheme, Value(-1, 0, 0), permutations=n, seed=2) for n in (10, 30))
    assert short.null_sizes == long.null_sizes[:10]
    other = permutation_reading(statistic, X, scheme, Value(-1, 0, 0), permutations=30, seed=3)
    assert other.null_sizes != long.null_sizes


def test_interrupt_keeps_what_is_done(noise):
    X, y = noise
    CALLS.clear()
    reading = permutation_reading(Interrupting(7), X, make_scheme(y), Value(-1, 0, 0), permutations=50, seed=0)
    assert reading.interrupted
    assert reading.done == 7
    assert reading.pvalue == 1 / 8
    assert reading.floor == 1 / 51


def test_progress_is_told_in_order(noise):
    X, y = noise
    told = []
    runner = PermutationRunner(progress=lambda *a: told.append(a))
    permutation_reading(Counting(), X, make_scheme(y), Value(-1, 0, 0), permutations=5, seed=0, runner=runner)
    assert told == [(k, 5) for k in range(1, 6)]
