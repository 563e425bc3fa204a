"""The interval of an area under the curve: how far it may lie from the true one by chance.

The variance of an estimated area (Hanley and McNeil 1982), for a true area A and n₁ positive and n₂
negative samples, is

    V(A) = [A(1 − A) + (n₁ − 1)(Q₁ − A²) + (n₂ − 1)(Q₂ − A²)]/(n₁n₂),
    Q₁ = A/(2 − A),    Q₂ = 2A²/(1 + A).

The interval has all A from which the estimate is no farther than z√V(A) (Newcombe 2006, method 5),
where z is the normal quantile of the confidence: so it has a length where the estimate is 1 and V
of the estimate would be 0. At A = ½ the variance is Mann and Whitney's, (n₁ + n₂ + 1)/(12 n₁n₂),
and ½ lies outside if their test says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, sqrt

from scipy.optimize import brentq
from scipy.special import ndtri

from chanceline.prediction.interval import CONFIDENCE, LOWER_TAIL, UPPER_TAIL

# The roots that are the interval's ends are bracketed by points this near to the estimate, as a
# share of the range on that side.
BRACKET_GAP = 1e-9


def area_variance(area: float, n_positive: float, n_negative: float) -> float:
    """V(A) of the module's docstring; numbers of samples need not be whole."""
    both_positive = area / (2 - area)  # Q₁
    both_negative = 2 * area**2 / (1 + area)  # Q₂
    numerator = (
        area * (1 - area)
        + (n_positive - 1) * (both_positive - area**2)
        + (n_negative - 1) * (both_negative - area**2)
    )
    return max(numerator, 0.0) / (n_positive * n_negative)


def area_interval(
    area: float, n_positive: float, n_negative: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Interval of a true area under the curve, from its estimate; NaN where that is NaN.

    By default it is the 95 % interval.
    """
    return area_interval_of_blocks(area, [(n_positive, n_negative)], confidence)


def cross_validated_area_interval(
    area: float, n_positive: float, n_negative: float
) -> tuple[float, float]:
    """The 95 % interval of a cross-validated area: ends with tails of 4 and 1 %.

    They are those of the cross-validated error (`chanceline.prediction.interval`), from the other
    side: rules of folds have fewer samples to learn from than the final one, so that its true area
    is rather larger than the estimate. The parameters are those of `area_interval`.
    """
    low, _ = area_interval(area, n_positive, n_negative, confidence=1 - 2 * UPPER_TAIL)
    _, high = area_interval(area, n_positive, n_negative, confidence=1 - 2 * LOWER_TAIL)
    return low, high


def area_interval_of_blocks(
    area: float, block_sizes: Sequence[tuple[float, float]], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Interval of a true area under the curve, if samples were only compared within blocks (sites).

    The interval holds every true area A from which the estimate Â is no farther than

        z √V(A),

    where V(A) is the variance of the estimate if A is true (`variance_of_blocks`), and z the normal
    quantile of the confidence (Newcombe 2006, method 5). All blocks have the same true area.

    Parameters
    ----------
    area : Â, the share of the pairs (a positive and a negative sample of one block) that are in the
        right order, from 0 to 1. If Â is NaN, both ends of the interval are NaN.
    block_sizes : numbers of positive and of negative samples for every block, all above 0.
    confidence : of the interval, whose two tails are equal.

    Returns
    -------
    low, high : the ends of the interval
    """
    if isnan(area):
        return area, area
    normal_quantile = float(ndtri((1 + confidence) / 2))  # z

    def excess(true_area: float) -> float:
        """|Â − A| − z √V(A): negative inside the interval, positive outside."""
        standard_error = sqrt(variance_of_blocks(true_area, block_sizes))
        return abs(area - true_area) - normal_quantile * standard_error

    # Each end of the interval is a root of the excess between the estimate and that end of the
    # range [0, 1]. If the excess is not positive at the end of the range, the interval reaches it.
    # The search stops short of the estimate: an estimate of 0 or 1 has V = 0 and would be a root.
    low = 0.0
    if excess(0.0) > 0:
        just_below_estimate = area * (1 - BRACKET_GAP)
        low = float(brentq(excess, 0.0, just_below_estimate))
    high = 1.0
    if excess(1.0) > 0:
        just_above_estimate = area + (1 - area) * BRACKET_GAP
        high = float(brentq(excess, just_above_estimate, 1.0))
    return low, high


def variance_of_blocks(area: float, block_sizes: Sequence[tuple[float, float]]) -> float:
    """Variance of an estimated area, if samples were only compared within blocks.

    The estimate is the mean of the blocks' areas, weighted by their numbers of pairs: with the
    variance V_b (`area_variance`) and n_b = n₁n₂ pairs in block b

        V = Σ_b n_b² V_b/(Σ_b n_b)².

    Parameters
    ----------
    area : the true area, the same in all blocks
    block_sizes : numbers of positive and of negative samples for every block, all above 0
    """
    n_pairs = sum(n_positive * n_negative for n_positive, n_negative in block_sizes)
    total = 0.0
    for n_positive, n_negative in block_sizes:
        block_variance = area_variance(area, n_positive, n_negative)
        total += (n_positive * n_negative) ** 2 * block_variance
    return total / n_pairs**2
