"""The Poisson-binomial law: a sum of independent Bernoulli variables of different probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The circle of residues is this many standard deviations around, and as many counts wider.
_STANDARD_DEVIATIONS_AROUND = 20


def poisson_binomial_pmf(probabilities: NDArray[np.float64], n_successes: int) -> float:
    """P(K = k) for K the number of successes among independent trials, k = `n_successes`.

    Counts are kept modulo n on a circle of n residues, so that the cost is O(trials · n) with n
    about 20 standard deviations of K. What comes back is P(K = k mod n) ≥ P(K = k); for k within
    some ten standard deviations of the mean the two are equal to many digits. All terms are
    positive, so that rounding stays small.

    Parameters
    ----------
    probabilities : (trials,)
        Probability of success of each trial.
    n_successes
        The number of successes wanted.
    """
    standard_deviation = np.sqrt(np.sum(probabilities * (1 - probabilities)))
    around = _STANDARD_DEVIATIONS_AROUND
    n_residues = 1 + min(len(probabilities), around + int(around * standard_deviation))

    # Before the first trial K = 0 for certain; each success moves a part of the law one residue on.
    pmf = np.eye(1, n_residues)[0]
    for probability in probabilities:
        successes = probability * pmf
        pmf -= successes
        pmf += np.append(successes[-1], successes[:-1])
    return float(pmf[n_successes % n_residues])
