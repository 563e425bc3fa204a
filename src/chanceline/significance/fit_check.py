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
# Of more units so many are looked at, evenly spread over the table.
MAX_UNITS_CHECKED = 1_000
# Different levels of a category are so many standard deviations of a number apart.
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


class View(NamedTuple):
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
    """What labels and features still have of single numbers, and of all covariates together.

    Parameters
    ----------
    encoder : which covariates are categories.
    columns : one value for each unit, by the name of the covariate.
    known : what was taken out.
    responses : labels and features.
    """
    n_units = len(responses.labels)
    n_checked = min(n_units, MAX_UNITS_CHECKED)
    checked = np.linspace(0, n_units - 1, n_checked).astype(int)
    views = make_views(encoder, {name: values[checked] for name, values in columns.items()})

    residuals_of_side = {Side.LABELS: known.residuals(responses.labels[:, None])}
    if responses.features.shape[1] > 0:
        residuals_of_side[Side.FEATURES] = known.residuals(responses.features)
    n_tests = len(views) * len(residuals_of_side)
    left_overs = []
    for side, residuals in residuals_of_side.items():
        products = _products(residuals[checked])
        for view in views:
            pvalue = neighbour_pvalue(products, view.neighbours)
            # Bonferroni over all views and both sides.
            if pvalue * n_tests <= CHECK_LEVEL:
                left_overs.append(LeftOver(view.covariates, side, pvalue))
    return tuple(left_overs)


def make_views(encoder: CovariateEncoder, columns: Mapping[str, NDArray[Any]]) -> tuple[View, ...]:
    """Neighbours in every number, and in all covariates together where there are several.

    The levels of a category have thresholds of their own, so that nothing of it alone is left.
    """
    coordinates = []
    views = []
    for covariate in encoder.covariates:
        values = columns[covariate.name]
        if isinstance(covariate, Category):
            levels = covariate.transform(values)
            coordinates.append(DISTANCE_OF_LEVELS * levels)
            continue
        scores = normal_scores(real_numbers(values, covariate.name))[:, None]
        coordinates.append(scores)
        views.append(View((covariate.name,), _nearest(scores)))
    if len(coordinates) > 1:
        views.append(View(encoder.names, _nearest(np.hstack(coordinates))))
    return tuple(views)


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
    """The share of deals in which neighbours are as alike as they are, itself counted as one.

    Parameters
    ----------
    products : (units, units) of residuals.
    neighbours : (units, neighbours) indices.
    """
    rng = np.random.default_rng(SEED_OF_DEALS)
    n_units = len(products)
    observed = products[np.arange(n_units)[:, None], neighbours].sum()
    n_as_alike = 1
    for _ in range(N_DEALS):
        dealt_to = rng.permutation(n_units)
        dealt = products[dealt_to[:, None], dealt_to[neighbours]].sum()
        n_as_alike += int(dealt >= observed)
    return n_as_alike / (1 + N_DEALS)
