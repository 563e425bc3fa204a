"""The Poisson-binomial law: a sum of independent Bernoulli variables of different probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The circle of residues has this many standard deviations, and so many counts more, so that it is
# wide enough where the standard deviation is small.
_STANDARD_DEVIATIONS_AROUND = 20
_SPARE_COUNTS = 20


def poisson_binomial_pmf(probabilities: NDArray[np.float64], n_successes: int) -> float:
    """Return P(K = k), K the number of successes among independent trials, or slightly more.

    The distribution of K is built up trial by trial. To save time, counts are kept modulo n
    (`n_residues`), which is about 20 standard deviations of K: counts that differ by n share an
    entry. So the result is P(K ≡ k modulo n), an upper bound on P(K = k). For k within some ten
    standard deviations of the mean it equals P(K = k) to many digits. All terms are positive, so
    rounding errors stay small.

    Parameters
    ----------
    probabilities : (trials,)
        Probability of success of each trial.
    n_successes
        k.
    """
    # n is 20 standard deviations, and 20 counts more, so that it is large enough where the standard
    # deviation is small. No more than the counts 0 … trials are needed.
    standard_deviation = np.sqrt(np.sum(probabilities * (1 - probabilities)))
    n_within_deviations = int(_STANDARD_DEVIATIONS_AROUND * standard_deviation)
    n_likely_counts = n_within_deviations + _SPARE_COUNTS
    n_residues = 1 + min(len(probabilities), n_likely_counts)

    pmf = np.zeros(n_residues)  # entry r is the probability of r successes so far, modulo n
    pmf[0] = 1.0  # no success before the first trial
    for probability in probabilities:
        # A success moves the share `probability` of each entry to the next entry, and from the last
        # entry to the first.
        successes = probability * pmf
        pmf -= successes
        pmf[1:] += successes[:-1]
        pmf[0] += successes[-1]
    return float(pmf[n_successes % n_residues])


def poisson_binomial_law(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(K = 0), …, P(K = trials) for K the number of successes among independent trials.

    The cost is O(trials²), and all terms are positive.

    Parameters
    ----------
    probabilities : (trials,)
        Probability of success of each trial.
    """
    law = np.zeros(len(probabilities) + 1)
    law[0] = 1.0  # no success before the first trial
    for probability in probabilities:
        successes = probability * law[:-1]
        law[:-1] *= 1 - probability
        law[1:] += successes
    return law
