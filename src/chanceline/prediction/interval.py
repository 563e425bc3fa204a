"""The interval of a cross-validated error: how many independent samples there are, and what a share
among so many tells.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from chanceline._arrays import Floats, Ints

CONFIDENCE = 0.95
# The probability below the upper end of a two-sided interval.
UPPER_QUANTILE = (1 + CONFIDENCE) / 2
# How many standard deviations it reaches to either side of a normal estimate.
NORMAL_QUANTILE = float(ndtri(UPPER_QUANTILE))
# The chances that a cross-validated error's interval lies above the true error and below it. They
# are unequal, as cross-validation errs on the high side: its rules have fewer samples to learn from
# than the final one.
LOWER_TAIL = 0.01
UPPER_TAIL = 1 - CONFIDENCE - LOWER_TAIL


def clopper_pearson(
    successes: float, trials: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Clopper and Pearson's (1934) interval for a probability of success, by default of 95 %.

    Parameters
    ----------
    successes, trials : how many of the independent trials succeeded, and how many there were; not
        necessarily whole numbers
    confidence : of the interval, whose two tails are equal
    """
    # Binomial tails are beta integrals, so the ends are quantiles of beta distributions. Without
    # any success the lower end is 0, and without any failure the upper end is 1.
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = 0.0
    if successes > 0:
        low = float(betaincinv(successes, failures + 1, tail))
    high = 1.0
    if failures > 0:
        high = float(betaincinv(successes + 1, failures, 1 - tail))
    return low, high


def cross_validated_interval(rate: float, n_effective: float) -> tuple[float, float]:
    """The 95 % interval of a cross-validated error rate: Clopper and Pearson's ends with tails of
    1 and 4 %.

    Parameters
    ----------
    rate : the share of errors among samples left out
    n_effective : how many independent samples it is worth
    """
    n_errors = rate * n_effective
    low, _ = clopper_pearson(n_errors, n_effective, confidence=1 - 2 * LOWER_TAIL)
    _, high = clopper_pearson(n_errors, n_effective, confidence=1 - 2 * UPPER_TAIL)
    return low, high


def independent_samples(values: Floats, unit_of_sample: Ints) -> float:
    """How many independent samples n samples are worth, if those of a unit are correlated.

    A unit is a patient with several samples, say. The number is

        n_eff = c · n/(1 + (m − 1)ρ),    c = (t_{n−1}/t_{units−1})²,    but at least n/m.

    The divisor is Kish's design effect (1965): ρ is the correlation of the values within units, and
    m = Σ_u m_u²/n, with m_u samples in unit u, is the mean size of a sample's unit. If ρ = 1, units
    are counted, and if ρ = 0, samples are. The factor c ≤ 1 allows for ρ being estimated badly from
    few units (Korn and Graubard 1998); t_k is the 97.5 % quantile of Student's t with k degrees of
    freedom. A single unit counts as one sample.

    Parameters
    ----------
    values : what is averaged over samples, (samples,). For an error rate these are the
        probabilities that a rule gives to the wrong class. Errors (0 or 1) would do as well, but
        say nothing about ρ if the rule makes none.
    unit_of_sample : number of every sample's unit, (samples,)
    """
    n_samples = len(unit_of_sample)
    units, unit_number = np.unique(unit_of_sample, return_inverse=True)  # 0, 1, …
    n_units = len(units)
    if n_units == n_samples:
        return float(n_samples)
    if n_units == 1:
        return 1.0

    unit_sizes = np.bincount(unit_number)  # m_u, (units,)
    mean_size = float(np.sum(unit_sizes**2)) / n_samples  # m
    n_if_fully_correlated = n_samples / mean_size
    correlation = correlation_within_units(values, unit_number)  # ρ

    t_of_samples = stdtrit(n_samples - 1, UPPER_QUANTILE)
    t_of_units = stdtrit(n_units - 1, UPPER_QUANTILE)
    correction = (t_of_samples / t_of_units) ** 2  # c
    design_effect = 1 + (mean_size - 1) * correlation
    n_effective = correction * n_samples / design_effect
    return max(n_if_fully_correlated, float(n_effective))


def correlation_within_units(values: Floats, unit_of_sample: Ints) -> float:
    """Correlation ρ of two values of the same unit, by analysis of variance.

    With n samples, m_u of them in unit u,

        ρ = v/(v + w),    v = (mean square between units − w)/m₀,
        w = mean square within units,    m₀ = (n − Σ_u m_u²/n)/(number of units − 1).

    v is the variance of the units' true means, taken as 0 if its estimate is negative. If all
    values are equal, ρ is 1.

    Parameters
    ----------
    values : (samples,)
    unit_of_sample : number of every sample's unit, 0, 1, …, (samples,); there must be at least two
        units, and fewer units than samples
    """
    n_samples = len(values)
    unit_sizes = np.bincount(unit_of_sample)  # m_u, (units,)
    n_units = len(unit_sizes)
    unit_means = np.bincount(unit_of_sample, weights=values) / unit_sizes

    squares_within = np.sum((values - unit_means[unit_of_sample]) ** 2)
    squares_between = np.sum(unit_sizes * (unit_means - values.mean()) ** 2)
    mean_square_within = squares_within / (n_samples - n_units)  # w
    mean_square_between = squares_between / (n_units - 1)

    effective_size = (n_samples - np.sum(unit_sizes**2) / n_samples) / (n_units - 1)  # m₀
    variance_of_units = max(0.0, (mean_square_between - mean_square_within) / effective_size)  # v
    total_variance = variance_of_units + mean_square_within
    if total_variance == 0:
        return 1.0
    return float(variance_of_units / total_variance)
