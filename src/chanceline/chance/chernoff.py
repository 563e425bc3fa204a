"""How far the sum of a column over shuffled positives may go: a Chernoff bound.

Within a block of P units the n₊ positives are a random subset, and the sum S of a column over them
has the moment generating function e_{n₊}(e^{h a_1}, …, e^{h a_P})/C(P, n₊), e_m the elementary
symmetric polynomial. With any μ, η_i = μ + h a_i, and K the sum of independent Bernoulli variables
of probabilities 1/(1 + e^{−η_i}),

    E e^{hS} = e^{−μ n₊} Π_i (1 + e^{η_i}) · P(K = n₊)/C(P, n₊)

is an identity (the generating function of e_m, read as probabilities). So Markov's inequality says

    ln p ≤ −ℓ(μ, h) + Σ_blocks [ln P(K = n₊) − ln C(P, n₊)],

ℓ the log-likelihood of the logistic regression of the labels on a, with a μ for every block. Each
(μ, h) gives a bound, and nothing hangs on how well ℓ is maximised. That the positives are drawn
without replacement is taken into account in full; drawing with replacement, which dominates
(Hoeffding 1963, theorem 4), would halve ln p where the classes are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from chanceline.chance.binomial import log_binomial
from chanceline.chance.poisson_binomial import poisson_binomial_pmf

_LARGEST_LOGIT = 50.0  # μ so far beyond the values makes all units positive, or none
_BISECTIONS = 25  # halvings of the interval for μ; any μ gives a bound


def log_tail_bound(
    column: NDArray[np.float64],
    labels: NDArray[np.bool_],
    starts: NDArray[np.int64],
    slope: float,
    *,
    exact: bool = True,
) -> float:
    """Bound the p-value of the sum of a column over the positives; return the bound's logarithm.

    Units (samples) form blocks, and labels are shuffled only within each block. S is the sum of the
    column over the positives of shuffled labels, s the sum over the observed positives. The p-value
    is P(S ≥ s) if the slope is positive, and P(S ≤ s) if it is negative. By Markov's inequality
    both are at most E e^{slope·(S − s)}, and ln of this expectation is returned.

    The expectation is computed with a logistic model, in which every unit is positive independently
    with the probability 1/(1 + e^{−logit}), logit = intercept + slope·value. For a block with n₊
    positives it is

        P(K = n₊) / (likelihood · C(units, n₊)),

    where `likelihood` is the probability of the observed labels in the model, K the number of
    positives in the model, and C(units, n₊) the number of shuffled labellings. Blocks are
    independent, so their factors are multiplied.

    Parameters
    ----------
    column : (units,)
        The values, block after block.
    labels : (units,)
        True for a positive.
    starts : (blocks,)
        Index of the first unit of each block.
    slope
        The weight of the column. Every slope gives a bound; the best one is up to the caller.
    exact
        If False, P(K = n₊) is that of a normal distribution: quicker and good enough to look for
        the best slope, but no longer a bound.
    """
    scaled_column = slope * column
    block_sizes = np.diff(starts, append=len(column))
    positives = np.add.reduceat(labels, starts, dtype=np.int64)  # n₊ of each block, (blocks,)
    intercepts = _intercept_of_block(scaled_column, starts, positives)
    logits = np.repeat(intercepts, block_sizes) + scaled_column  # (units,)
    probabilities = expit(logits)

    # Why this is right, for one block. In the model a labelling with n₊ positives and the sum S has
    # the probability
    #     e^{intercept·n₊ + slope·S} / Π_units (1 + e^logit).
    # That of the observed labels, with S = s, is the likelihood, so that
    #     e^{slope·(S − s)} = (probability of the labelling) / likelihood.
    # The C(units, n₊) shuffled labellings are equally frequent, and their probabilities in the
    # model add up to P(K = n₊). So the mean of the left side is P(K = n₊) / (C(units, n₊) ·
    # likelihood), for any intercept.
    log_likelihood = logits[labels].sum() - np.logaddexp(0, logits).sum()
    log_labellings = log_binomial(block_sizes, positives).sum()
    if exact:
        log_probability_of_count = _log_probability_of_counts(probabilities, starts, positives)
    else:
        log_probability_of_count = _normal_log_probability_of_counts(probabilities, starts)
    return float(-log_likelihood - log_labellings + log_probability_of_count)


def _log_probability_of_counts(
    probabilities: NDArray[np.float64], starts: NDArray[np.int64], positives: NDArray[np.int64]
) -> float:
    """Σ_blocks ln P(K = n₊), K a sum of independent Bernoulli variables."""
    log_probability = 0.0
    probabilities_of_block = np.split(probabilities, starts[1:])
    for of_block, n_positives in zip(probabilities_of_block, positives.tolist(), strict=True):
        log_probability += float(np.log(poisson_binomial_pmf(of_block, n_positives)))
    return log_probability


def _normal_log_probability_of_counts(
    probabilities: NDArray[np.float64], starts: NDArray[np.int64]
) -> float:
    """Σ_blocks ln of the normal density of K at its mean, at most 0 for each block."""
    variances = np.add.reduceat(probabilities * (1 - probabilities), starts)
    return float(-np.log(np.maximum(2 * np.pi * variances, 1)).sum() / 2)


def _intercept_of_block(
    scaled_column: NDArray[np.float64], starts: NDArray[np.int64], positives: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Find the intercept of each block's logistic model, (blocks,), by bisection.

    In the model a unit is positive with probability 1/(1 + e^{−intercept − scaled value}). The
    intercept sought makes the probabilities of a block add up to its number of positives.

    Parameters
    ----------
    scaled_column : (units,)
        The values of the column times the slope, block after block.
    starts, positives : (blocks,)
        Index of the first unit of each block, and its positives.
    """
    block_sizes = np.diff(starts, append=len(scaled_column))
    # With `low_intercept` the probabilities of a block add up to about 0, with `high_intercept` to
    # about the block's size.
    low_intercept = -np.maximum.reduceat(scaled_column, starts) - _LARGEST_LOGIT
    high_intercept = _LARGEST_LOGIT - np.minimum.reduceat(scaled_column, starts)
    for _ in range(_BISECTIONS):
        middle_intercept = (low_intercept + high_intercept) / 2
        probabilities = expit(np.repeat(middle_intercept, block_sizes) + scaled_column)  # (units,)
        expected_positives = np.add.reduceat(probabilities, starts)  # (blocks,)
        has_too_few = expected_positives < positives
        low_intercept = np.where(has_too_few, middle_intercept, low_intercept)
        high_intercept = np.where(has_too_few, high_intercept, middle_intercept)
    return low_intercept
