"""A check whether labels or features still depend on covariates after the adjustment.

The adjustment projects a model's terms out of labels and features. Then units that are neighbours
in a covariate should be no more alike than other units. The statistic is

    T = Σ_i Σ_{j neighbour of i} ⟨e_i, e_j⟩

of residuals e. Its null distribution comes from permuting the residuals among the units (as Mantel
1967 compares two matrices of distances). The check sees any dependence that is smooth on the scale
of the distance between neighbours, also shapes for which `term_choice` has no term. In a model with
many terms, residuals are slightly negatively correlated with those of neighbours, which makes the
check conservative.

The check cannot see that a covariate was measured with error: the residuals then depend on its true
value, which is not in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from chanceline._arrays import Floats, Ints
from chanceline.prediction.covariates import Category, CovariateEncoder, real_numbers
from chanceline.significance.covariate_terms import normal_scores
from chanceline.significance.term_evidence import KnownSpan, Responses

# The probability that a dependence is reported although there is none, over all tests together.
CHECK_LEVEL = 0.05
# The permutations of residuals that the observed order is compared with.
N_PERMUTATIONS = 999
SEED = 0
N_NEIGHBOURS = 3
# At most this many units are checked, evenly spread over the table.
MAX_UNITS_CHECKED = 1_000
# The scale of a category's indicators, in standard deviations of a numeric covariate: units of
# different levels are rarely neighbours.
DISTANCE_OF_LEVELS = 3.0


class Side(StrEnum):
    """What may still depend on a covariate."""

    LABELS = "labels"
    FEATURES = "features"


class MissedDependence(NamedTuple):
    """A dependence on covariates that the model misses: neighbours are alike.

    covariates : names of the covariates in which units are neighbours.
    side : what is alike, the residuals of the labels or of the features.
    pvalue : of the permutation test.
    """

    covariates: tuple[str, ...]
    side: Side
    pvalue: float


class Neighbourhood(NamedTuple):
    """Which units are neighbours in some covariates.

    covariates : names of the covariates.
    neighbours : (units, neighbours) for every unit, the indices of the nearest other units.
    """

    covariates: tuple[str, ...]
    neighbours: Ints


def find_missed_dependences(
    encoder: CovariateEncoder,
    columns: Mapping[str, NDArray[Any]],
    projected_out: KnownSpan,
    responses: Responses,
) -> tuple[MissedDependence, ...]:
    """Find the covariates on which labels or features still depend after the adjustment.

    The adjustment projects a span of covariate terms out of labels and features. For each numeric
    covariate, and for all covariates together, a permutation test asks whether neighbours (units
    with similar values of the covariate) have more similar residuals than other units.

    Parameters
    ----------
    encoder : the covariates, each a number or a `Category`.
    columns : covariates by name, each with one value for each unit (sample or group).
    projected_out : the span that the adjustment projects out.
    responses : labels (units,) and features (units, features).

    Returns
    -------
    One entry for each significant test, with Bonferroni over all tests.
    """
    # Which units are neighbours. In a large table only a subset of the units is checked.
    n_units = len(responses.labels)
    n_checked = min(n_units, MAX_UNITS_CHECKED)
    units_checked = np.linspace(0, n_units - 1, n_checked).astype(int)
    columns_checked = {name: values[units_checked] for name, values in columns.items()}
    neighbourhoods = make_neighbourhoods(encoder, columns_checked)

    # The residuals (units, columns) of the labels, and of the features if there are any.
    labels = responses.labels[:, None]  # (units, 1)
    residuals_of_side = {Side.LABELS: projected_out.residuals(labels)}
    if responses.features.shape[1] > 0:
        residuals_of_side[Side.FEATURES] = projected_out.residuals(responses.features)

    # Test every combination of a side and a neighbourhood.
    n_tests = len(neighbourhoods) * len(residuals_of_side)
    missed = []
    for side, residuals in residuals_of_side.items():
        products = _products(residuals[units_checked])  # (units, units)
        for neighbourhood in neighbourhoods:
            pvalue = neighbour_pvalue(products, neighbourhood.neighbours)
            if pvalue * n_tests <= CHECK_LEVEL:  # Bonferroni
                missed.append(MissedDependence(neighbourhood.covariates, side, pvalue))
    return tuple(missed)


def make_neighbourhoods(
    encoder: CovariateEncoder, columns: Mapping[str, NDArray[Any]]
) -> tuple[Neighbourhood, ...]:
    """Find the nearest units in each numeric covariate, and in all covariates together.

    Distances are Euclidean. A numeric covariate has one coordinate, its normal score (the normal
    quantile of the rank). A category has one coordinate for each level, the scaled indicator. A
    category by itself needs no check, because the model has an indicator of each of its levels.

    Parameters
    ----------
    encoder : the covariates, each a number or a `Category`.
    columns : covariates by name, each with one value for each unit.

    Returns
    -------
    One neighbourhood for each numeric covariate; then, if there are several covariates, one for all
    of them.
    """
    coordinates_of_covariates = []  # (units, coordinates) each
    neighbourhoods = []
    for covariate in encoder.covariates:
        values = columns[covariate.name]
        if isinstance(covariate, Category):
            indicators = covariate.transform(values)  # (units, levels)
            coordinates_of_covariates.append(DISTANCE_OF_LEVELS * indicators)
        else:
            numbers = real_numbers(values, covariate.name)
            scores = normal_scores(numbers)[:, None]  # (units, 1)
            coordinates_of_covariates.append(scores)
            neighbourhoods.append(Neighbourhood((covariate.name,), _nearest(scores)))
    if len(coordinates_of_covariates) > 1:
        all_coordinates = np.hstack(coordinates_of_covariates)
        neighbourhoods.append(Neighbourhood(encoder.names, _nearest(all_coordinates)))
    return tuple(neighbourhoods)


def _nearest(coordinates: Floats) -> Ints:
    """The nearest other units of every unit: (units, neighbours).

    Parameters
    ----------
    coordinates : (units, coordinates). A slight jitter is added, so that the neighbours of units
        with equal values are random and do not depend on the order of rows.
    """
    rng = np.random.default_rng(SEED)
    jittered = coordinates + 1e-6 * rng.random(coordinates.shape)
    n_neighbours = min(N_NEIGHBOURS, len(coordinates) - 1)
    _, nearest = cKDTree(jittered).query(jittered, k=n_neighbours + 1)
    # The first column is the unit itself.
    neighbours: Ints = nearest[:, 1:].astype(np.int64)
    return neighbours


def _products(residuals: Floats) -> Floats:
    """⟨e_i, e_j⟩ of the residuals of all pairs of units: (units, units).

    Parameters
    ----------
    residuals : (units, columns); columns are scaled to length 1, so that all count the same.
    """
    lengths = np.linalg.norm(residuals, axis=0)
    residuals = residuals / np.where(lengths > 0, lengths, 1.0)
    return residuals @ residuals.T


def neighbour_pvalue(products: Floats, neighbours: Ints) -> float:
    """The permutation p-value of the hypothesis that neighbours are no more alike than other units.

    The statistic is T = Σ_i Σ_{j neighbour of i} ⟨e_i, e_j⟩, where e_i is the vector of residuals
    of unit i. T is compared with its values after random permutations of the residuals among the
    units.

    Parameters
    ----------
    products : (units, units) ⟨e_i, e_j⟩.
    neighbours : (units, neighbours) for every unit, the indices of its neighbours.
    """
    rng = np.random.default_rng(SEED)
    n_units = len(products)
    units = np.arange(n_units)
    observed = products[units[:, None], neighbours].sum()  # T
    n_as_large = 1  # the observed order counts as one of the permutations
    for _ in range(N_PERMUTATIONS):
        # Unit i gets the residuals of unit source[i], and its neighbour j those of source[j].
        source = rng.permutation(n_units)
        permuted = products[source[:, None], source[neighbours]].sum()
        n_as_large += int(permuted >= observed)
    return n_as_large / (1 + N_PERMUTATIONS)
