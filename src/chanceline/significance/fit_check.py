"""Whether labels or features still go with covariates after what the model says was taken out.

Units that are neighbours in a covariate should be no more alike than others. The statistic is

    T = Σ_i Σ_{j neighbour of i} ⟨e_i, e_j⟩

of residuals e, and its null distribution comes from residuals that are dealt out to the units at
random (as Mantel 1967 compares two matrices of distances). It sees any shape that is not rougher
than the distance of neighbours, so also those that `term_choice` has no term for. Residuals of a
model with many terms are slightly unlike their neighbours, which makes the check cautious.

A covariate that was measured with error leaves no trace here, and none can be seen: the residuals
go with its true value, which is not in the table.
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

# The chance that anything at all is said to be left where nothing is.
CHECK_LEVEL = 0.05
N_DEALS = 999
SEED_OF_DEALS = 0
N_NEIGHBOURS = 3
# At most this many units are looked at, evenly spread over the table.
MAX_UNITS_CHECKED = 1_000
# How far apart two levels of a category are, in standard deviations of a number.
DISTANCE_OF_LEVELS = 3.0


class Side(StrEnum):
    """What still goes with a covariate."""

    LABELS = "labels"
    FEATURES = "features"


class LeftOver(NamedTuple):
    """Something that the model does not follow.

    covariates : the names of those whose neighbours are alike.
    side : in what they are alike.
    pvalue : that chance makes them so.
    """

    covariates: tuple[str, ...]
    side: Side
    pvalue: float


class Neighbourhood(NamedTuple):
    """Which units are neighbours in some covariates.

    covariates : their names.
    neighbours : (units, neighbours) for every unit the indices of others.
    """

    covariates: tuple[str, ...]
    neighbours: Ints


def find_left_overs(
    encoder: CovariateEncoder,
    columns: Mapping[str, NDArray[Any]],
    known: KnownSpan,
    responses: Responses,
) -> tuple[LeftOver, ...]:
    """The covariates that labels or features still go with after the adjustment.

    Units that are neighbours in a covariate, or in all covariates together, are tested for being
    more alike in their residuals than other units.

    Parameters
    ----------
    encoder : which covariates are categories.
    columns : one value for each unit, by the name of the covariate.
    known : the span that the adjustment takes out.
    responses : labels and features.
    """
    # Which units are neighbours. If there are many units, some of them stand for all.
    n_units = len(responses.labels)
    n_checked = min(n_units, MAX_UNITS_CHECKED)
    units_checked = np.linspace(0, n_units - 1, n_checked).astype(int)
    columns_checked = {name: values[units_checked] for name, values in columns.items()}
    neighbourhoods = make_neighbourhoods(encoder, columns_checked)

    # What the adjustment leaves of the labels, and of the features if there are any.
    residuals_of_side = {Side.LABELS: known.residuals(responses.labels[:, None])}
    if responses.features.shape[1] > 0:
        residuals_of_side[Side.FEATURES] = known.residuals(responses.features)

    n_tests = len(neighbourhoods) * len(residuals_of_side)
    left_overs = []
    for side, residuals in residuals_of_side.items():
        products = _products(residuals[units_checked])  # (units, units)
        for neighbourhood in neighbourhoods:
            pvalue = neighbour_pvalue(products, neighbourhood.neighbours)
            # Bonferroni over all tests.
            if pvalue * n_tests <= CHECK_LEVEL:
                left_overs.append(LeftOver(neighbourhood.covariates, side, pvalue))
    return tuple(left_overs)


def make_neighbourhoods(
    encoder: CovariateEncoder, columns: Mapping[str, NDArray[Any]]
) -> tuple[Neighbourhood, ...]:
    """Which units are neighbours in each number, and in all covariates if there are several.

    A category alone needs no check: the model has a threshold for each of its levels.

    Parameters
    ----------
    encoder : which covariates are categories.
    columns : one value for each unit, by the name of the covariate.
    """
    coordinates = []  # of every covariate (units, coordinates), in about the same scale
    neighbourhoods = []
    for covariate in encoder.covariates:
        values = columns[covariate.name]
        if isinstance(covariate, Category):
            levels = covariate.transform(values)
            coordinates.append(DISTANCE_OF_LEVELS * levels)
        else:
            scores = normal_scores(real_numbers(values, covariate.name))[:, None]
            coordinates.append(scores)
            neighbourhoods.append(Neighbourhood((covariate.name,), _nearest(scores)))
    if len(coordinates) > 1:
        nearest_in_all = _nearest(np.hstack(coordinates))
        neighbourhoods.append(Neighbourhood(encoder.names, nearest_in_all))
    return tuple(neighbourhoods)


def _nearest(coordinates: Floats) -> Ints:
    """The nearest other units of every unit: (units, neighbours).

    Where values are equal, which of them are neighbours is left to chance: a slight jitter, so that
    the order of rows does not matter.
    """
    rng = np.random.default_rng(SEED_OF_DEALS)
    jittered = coordinates + 1e-6 * rng.random(coordinates.shape)
    n_neighbours = min(N_NEIGHBOURS, len(coordinates) - 1)
    _, nearest = cKDTree(jittered).query(jittered, k=n_neighbours + 1)
    # The nearest of all is the unit itself.
    neighbours: Ints = nearest[:, 1:].astype(np.int64)
    return neighbours


def _products(residuals: Floats) -> Floats:
    """⟨e_i, e_j⟩ of all pairs of units; every column counts the same: (units, units)."""
    lengths = np.linalg.norm(residuals, axis=0)
    residuals = residuals / np.where(lengths > 0, lengths, 1.0)
    return residuals @ residuals.T


def neighbour_pvalue(products: Floats, neighbours: Ints) -> float:
    """A permutation p-value that neighbours are no more alike than other units.

    Likeness is the sum of the products of all units with their neighbours. It is compared with the
    same sum after residuals were dealt out to the units at random.

    Parameters
    ----------
    products : (units, units) of residuals.
    neighbours : (units, neighbours) indices.
    """
    rng = np.random.default_rng(SEED_OF_DEALS)
    n_units = len(products)
    observed = products[np.arange(n_units)[:, None], neighbours].sum()
    n_as_alike = 1  # the observed residuals count as one of the deals
    for _ in range(N_DEALS):
        dealt_unit = rng.permutation(n_units)  # (units,) whose residual each unit gets
        dealt = products[dealt_unit[:, None], dealt_unit[neighbours]].sum()
        n_as_alike += int(dealt >= observed)
    return n_as_alike / (1 + N_DEALS)
