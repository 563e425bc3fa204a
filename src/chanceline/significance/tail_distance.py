"""How far a labelling lies out among all labellings, on a scale that goes on beyond the first
place.

Among B + 1 labellings the best has the place 1, however far it is ahead of the others. With many
sets of features some labelling has the first place in nearly every set, and first places have to be
told apart. A gamma distribution with the mean, the variance and the skewness of the *other*
labellings (Pearson's type III, which sums of squares and largest values follow well) says how
probable a value as large would be. The labelling itself has no part in its own scale: a value far
out would widen it.

These probabilities order labellings, and nothing else: p-values are made of counts. All labellings
are treated alike, so that whatever the distribution is, counts stay valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from chanceline._arrays import Floats
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.members import MemberArrays

# Below this skewness the gamma distribution is a normal one, up to rounding.
MIN_SKEWNESS = 1e-3
SMALLEST_TAIL = np.finfo(float).tiny  # in place of a probability too small to be written


class StandardizedValues(NamedTuple):
    """Values (labellings, columns) as seen from the other labellings.

    Attributes
    ----------
    deviations : standard deviations above the mean of the others; 0 where the others are constant.
    skewness : of the others; 0 where they are constant.
    """

    deviations: Floats
    skewness: Floats


def log_tails_of_losses(losses: MemberArrays) -> MemberArrays:
    """log p[b, k], the probability of a loss as small as that of labelling b in column k.

    Parameters
    ----------
    losses : of every member (labellings, columns).

    Returns
    -------
    Of every member (labellings, columns).
    """
    return MemberArrays(*(log_tail_by_others(-member) for member in losses))


def log_evidence(log_tails: MemberArrays) -> Floats:
    """log Σ_member max_k 1/p[b, k] of every labelling b: (labellings,).

    The sum is that of `combination`, where places stand for probabilities.

    Parameters
    ----------
    log_tails : log p[b, k] of every member (labellings, columns).
    """
    log_terms = [-member.min(axis=1) for member in log_tails]
    return np.logaddexp.reduce(log_terms, axis=0)


def log_tail_by_others(values: Floats) -> Floats:
    """log of the probability of a value as large, from the other labellings of the same column.

    Parameters
    ----------
    values : (labellings, columns)

    Returns
    -------
    (labellings, columns)
    """
    standardized = standardize_by_others(values)
    return np.where(
        standardized.skewness > MIN_SKEWNESS,
        _log_gamma_tail(standardized),
        special.log_ndtr(-standardized.deviations),
    )


def _log_gamma_tail(standardized: StandardizedValues) -> Floats:
    """log P(Z ≥ z) of a gamma distribution of mean 0, variance 1 and skewness γ.

    Z = (G − a)/√a with G of the gamma distribution of shape a = 4/γ².
    """
    shape = 4 / np.maximum(standardized.skewness, MIN_SKEWNESS) ** 2
    quantile = shape + standardized.deviations * np.sqrt(shape)
    tail = special.gammaincc(shape, np.maximum(quantile, 0.0))
    return np.log(np.maximum(tail, SMALLEST_TAIL))


def standardize_by_others(values: Floats) -> StandardizedValues:
    """Standardize every value by the mean and standard deviation of the other values of its column.

    Rows are labellings (the observed one, and shuffles). The skewness of the other values is
    returned, too. Entry [b, k] of both results is computed from column k without row b.

    Parameters
    ----------
    values : (labellings, columns)

    Returns
    -------
    Deviations and skewness, each (labellings, columns); 0 where the other values are constant.
    """
    n_others = max(len(values) - 1, 1)
    d = values - values.mean(axis=0)  # (labellings, columns) differences from the column's mean
    square = d**2
    cube = d**3

    # The means of d, d² and d³ over the other rows, written m, E d² and E d³ below. Each is the sum
    # over all rows without the row's own term, divided by the number of other rows. The sum of d
    # over all rows is 0, so that only −d is left of it.
    mean_of_others = -d / n_others  # m
    mean_square_of_others = (square.sum(axis=0) - square) / n_others  # E d²
    mean_cube_of_others = (cube.sum(axis=0) - cube) / n_others  # E d³

    # The second and third moments of the others about their own mean:
    #     E (d − m)² = E d² − m²,
    #     E (d − m)³ = E d³ − 3m E d² + 2m³.
    # Rounding may make the variance slightly negative.
    variance = np.maximum(mean_square_of_others - mean_of_others**2, 0.0)
    third_moment = (
        mean_cube_of_others - 3 * mean_of_others * mean_square_of_others + 2 * mean_of_others**3
    )

    # Where the others are constant, both results are 0. The standard deviation 1 only prevents a
    # division by 0 there.
    varies = variance > ROUNDING_TOLERANCE**2
    standard_deviation = np.sqrt(np.where(varies, variance, 1.0))
    deviations = (d - mean_of_others) / standard_deviation
    skewness = third_moment / standard_deviation**3
    return StandardizedValues(
        deviations=np.where(varies, deviations, 0.0),
        skewness=np.where(varies, skewness, 0.0),
    )
