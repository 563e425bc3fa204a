"""Counting, stopping and interrupting the permutations, and the searches that are repeated for every labelling."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression

from chanceline.errors import InputError
from chanceline.perceptron.certificate import certify
from chanceline.significance.own_search import SearchProcedure
from chanceline.significance.readings import Draws, SearchStatistic, read_draws


def values(*ranks):
    return [SearchStatistic(rank, rank, 0) for rank in ranks]


def read(observed, drawn, requested, **options):
    as_good = np.array([value.rank <= observed.rank for value in drawn], dtype=bool)
    return read_draws(Draws(observed, drawn, as_good, requested), **options)


def test_counts_as_good_or_better():
    reading = read(SearchStatistic(3, 3, 0), values(5, 3, 4, 2, 6), 5)
    assert reading.exceedances == 2
    assert reading.pvalue == 3 / 6
    assert reading.floor == 1 / 6
    assert reading.null_sizes == (5, 3, 4, 2, 6)


def test_stops_at_the_hth_exceedance():
    reading = read(SearchStatistic(3, 3, 0), values(5, 3, 4, 2, 6, 1), 100, stop_after=2)
    assert (reading.exceedances, reading.done) == (2, 4)
    assert reading.pvalue == 2 / 4
    assert reading.stopped_early


def test_searches_that_fail_are_worse_than_any_set():
    procedure = SearchProcedure(errors=1)
    X = np.zeros((4, 9))
    rule = type("R", (), {"errors": 2, "n_selected": 9, "support": np.arange(9)})()
    assert procedure.statistic_of(rule, X.shape[1]).rank == 11
    reading = read(
        SearchStatistic(9, 9, 0),
        [SearchStatistic(11, 9, 2), SearchStatistic(9, 9, 1)],
        2,
        max_errors=1,
    )
    assert reading.null_sizes == (None, 9)
    assert reading.exceedances == 1


def test_interval_is_clopper_pearson():
    for hits, draws in [(0, 10), (3, 40), (40, 40)]:
        exact = binomtest(hits, draws).proportion_ci(0.95, "exact")
        reading = read(SearchStatistic(1, 1, 0), values(*[1] * hits, *[2] * (draws - hits)), draws)
        assert reading.interval == pytest.approx((exact.low, exact.high))
    # Stopped at the third exceedance in draw 20: both tails of the waiting time have probability 2.5 %.
    low, high = read(
        SearchStatistic(1, 1, 0), values(1, 1, *[2] * 17, 1, 1), 100, stop_after=3
    ).interval
    assert binom.sf(2, 20, low) == pytest.approx(0.025)
    assert binom.cdf(2, 19, high) == pytest.approx(0.025)
    assert read(SearchStatistic(1, 1, 0), [], 5).interval == (0.0, 1.0)


@pytest.mark.parametrize("stop_after", [None, 1, 4])
def test_sequential_p_value_is_valid_and_interval_covers(stop_after):
    """Exchangeable integer statistics with many ties: P(p ≤ a) ≤ a; the interval covers the true exceedance rate."""
    rng = np.random.default_rng(3)
    pvalues, covered = [], 0
    for _ in range(3000):
        ranks = rng.binomial(6, 0.4, size=40)
        reading = read(
            SearchStatistic(ranks[0], 0, 0), values(*ranks[1:]), 39, stop_after=stop_after
        )
        truth = binom.cdf(ranks[0], 6, 0.4)
        covered += reading.interval[0] <= truth <= reading.interval[1]
        pvalues.append(reading.pvalue)
    for level in (0.025, 0.05, 0.1, 0.2, 0.5):
        assert np.sum(np.array(pvalues) <= level) <= binom.isf(1e-4, 3000, level)
    assert covered >= binom.ppf(1e-4, 3000, 0.95)


def separable(X, y):
    return certify(X, y, range(X.shape[1]), True).separable


def test_scales_of_columns_do_not_matter():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 30))
    y = np.where(X[:, 3] + X[:, 9] > 0.1, 1.0, -1.0)
    scaled = X * 10.0 ** rng.integers(-6, 7, size=30) + rng.normal(size=30)
    plain, other = (SearchProcedure().find(data, y) for data in (X, scaled))
    assert plain.support.tolist() == other.support.tolist() == [3, 9]
    assert other.errors == 0


def test_smallest_set_by_enumeration():
    rng = np.random.default_rng(12)
    for _ in range(6):
        X = rng.normal(size=(12, 7))
        y = rng.permutation(np.repeat([1.0, -1.0], 6))
        found = SearchProcedure()(X, y)
        smallest = next(
            (
                m
                for m in range(1, 8)
                if any(separable(X[:, s], y) for s in map(list, combinations(range(7), m)))
            ),
            None,
        )
        if smallest is None:
            assert found.errors > 0
        else:
            assert found.rank == smallest


def test_errors_allowed_make_smaller_sets():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 20))
    y = np.where(X[:, 4] > 0, 1.0, -1.0)
    y[[1, 2]] *= -1
    strict, tolerant = (SearchProcedure(errors=e).find(X, y) for e in (0, 2))
    assert tolerant.support.tolist() == [4]
    # The fewest errors that any threshold on that column makes, either way round.
    order = np.sort(X[:, 4])
    thresholds = (order[1:] + order[:-1]) / 2
    fewest = min(
        np.count_nonzero(sign * (X[:, 4] - t) * y <= 0) for t in thresholds for sign in (1, -1)
    )
    assert tolerant.errors == fewest == 2
    assert (
        tolerant.wrong.tolist()
        == np.flatnonzero(y * (X[:, 4] * tolerant.weights[0] + tolerant.bias) <= 0).tolist()
    )
    assert strict.errors > 0 or strict.n_selected > 1
    X[3], y[3] = X[0], -y[0]
    assert SearchProcedure(errors=3)(X, y).rank == 1
    assert SearchProcedure()(X, y).rank > 20


def test_a_method_that_allows_no_errors_looks_for_none():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 15)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    assert (
        SearchProcedure("tabu", errors=2).find(X, y).support.tolist()
        == SearchProcedure("tabu").find(X, y).support.tolist()
    )
    assert SearchProcedure(errors=2).find(X, y).n_selected < SearchProcedure().find(X, y).n_selected


def test_selectors_and_functions_as_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 10))
    y = np.where(X[:, 2] > 0, 1.0, -1.0)
    assert SearchProcedure(SelectKBest(f_classif, k=1)).find(X, y).support.tolist() == [2]
    assert SearchProcedure(lambda X, y: [2, 5])(X, y).rank == 2
    assert SearchProcedure(lambda X, y: np.arange(10) == 2)(X, y).rank == 1
    assert SearchProcedure(lambda X, y: [7])(X, y).rank > 10
    with pytest.raises(InputError, match="get_support"):
        SearchProcedure(LogisticRegression())(X, y)
    with pytest.raises(InputError, match="indices of columns"):
        SearchProcedure(lambda X, y: [10])(X, y)


def test_one_class_needs_an_intercept():
    """Everybody in one class costs no feature with an intercept; without one a rule has to be found like any other."""
    X = np.array([[1.0, -1.0], [2.0, 3.0], [-1.0, 1.0], [-3.0, 2.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0])
    assert SearchProcedure(errors=1)(X, y).rank == 0
    without = SearchProcedure(errors=1, intercept=False).find(X, y)
    assert without.bias == 0
    assert without.n_selected > 0
    assert SearchProcedure(intercept=False).find(X[:2], y[:2]).n_selected == 1
