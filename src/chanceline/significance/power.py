"""How large an effect the test would have seen."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from chanceline.significance.plan import Plan

POWER = 0.8  # the usual probability with which an effect is said to be seen
MIN_DEGREES_OF_FREEDOM = 2  # Fisher's z needs 1/√(f − 1)


def detectable_effect(plan: Plan) -> float:
    """Distance of class means at which one feature is seen with probability `POWER`.

    The distance d is in standard deviations within classes. A correlation r with the labels is
    seen if its t-value is significant at level/N (Bonferroni: for correlated features the distance
    is rather too large),

        t = quantile of Student's t with f degrees of freedom at 1 − level/(2N),
        r_seen = t/√(t² + f),

    and Fisher's z = artanh r scatters by 1/√(f − 1):

        r = tanh(artanh r_seen + quantile of the normal distribution at POWER/√(f − 1)).

    A distance d between classes of shares s and 1 − s makes r² = s(1−s)d²/(1 + s(1−s)d²), so that

        d = r/√(s(1−s)(1 − r²)).

    With blocks s(1−s) is the mean within them. The distance is infinite where no feature could be
    seen.
    """
    level = plan.settings.level - plan.spending.spent_before_shuffles
    freedom = degrees_of_freedom(plan)
    if freedom < MIN_DEGREES_OF_FREEDOM or level <= 0:
        return inf
    t = float(stdtrit(freedom, 1 - level / (2 * n_tested_features(plan))))
    r_seen = t / sqrt(t**2 + freedom)
    r = np.tanh(np.arctanh(r_seen) + float(ndtri(POWER)) / sqrt(freedom - 1))
    return float(r / sqrt(variance_within_blocks(plan) * (1 - r**2)))


def variance_within_blocks(plan: Plan) -> float:
    """s(1−s), the share of positives times that of negatives, averaged over the units."""
    sizes = plan.design.sizes
    total = sum(positives * (size - positives) / size for size, positives in sizes.every_block)
    return total / sizes.n_units


def degrees_of_freedom(plan: Plan) -> int:
    """f: units less one for the feature, one for every block and one for every covariate term."""
    sizes = plan.design.sizes
    freedom = sizes.n_units - 1 - len(sizes.every_block)
    basis = plan.design.covariate_basis  # (samples, terms)
    if basis is not None:
        freedom -= basis.shape[1]
    return freedom


def n_tested_features(plan: Plan) -> int:
    """N: the features that were fixed beforehand, or all distinct ones."""
    if plan.settings.preregistered and plan.features is not None:
        return len(plan.features)
    return len(plan.distinct_features)
