"""The law of a sum of Bernoulli variables against all outcomes, and the Chernoff bound against all labellings."""

from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest

from chanceline.chance.chernoff import log_tail_bound
from chanceline.chance.poisson_binomial import poisson_binomial_pmf


def test_the_law_by_enumeration():
    probabilities = np.array([0.1, 0.45, 0.8, 0.33, 1.0, 0.02])
    law = np.zeros(7)
    for outcome in product((0, 1), repeat=6):
        law[sum(outcome)] += np.prod(np.where(outcome, probabilities, 1 - probabilities))
    found = [poisson_binomial_pmf(probabilities, k) for k in range(7)]
    np.testing.assert_allclose(found, law, rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize("slope", [-2.0, 0.7])
def test_the_tail_is_bounded_by_the_exact_generating_function(slope):
    """One block of 9 units, 4 positives: E e^{h(S − s)} over all subsets, and the share of subsets as far out."""
    column = np.random.default_rng(8).normal(size=9)
    labels = np.arange(9) < 4
    sums = np.array([column[list(chosen)].sum() for chosen in combinations(range(9), 4)])
    observed = column[labels].sum()
    bound = log_tail_bound(column, labels, np.zeros(1, dtype=np.int64), slope)
    assert bound == pytest.approx(log(np.mean(np.exp(slope * (sums - observed)))), abs=1e-12)
    assert np.mean(np.sign(slope) * (sums - observed) >= 0) <= exp(bound) * (1 + 1e-12)
