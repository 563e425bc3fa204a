"""Ridge regression of many labellings on all columns at once, for signal that many columns hold
only together.

Let Z be the normalised columns and y the centred labels. What a ridge λ fits of the labels is

    yᵀHy,   H = Z(ZᵀZ + λ)⁻¹Zᵀ.

H is blind to the labels, so that it is made once for the table. With the principal axes u_i of the
columns and the columns' squared lengths d_i along them (ZZᵀ = Σ_i d_i u_i u_iᵀ),

    yᵀHy = Σ_i d_i/(d_i + λ)·(u_i·y)²,   tr H = Σ_i d_i/(d_i + λ).

A large ridge leaves the sum of squared products of labels and columns, Σ_j (z_j·y)²/λ: it sees axes
along which the columns vary much. A small one counts all axes nearly alike, and sees labels that go
along an axis of small variance among correlated columns, where no column says anything alone.

tr H is the number of free parameters of the regression, and ridges are set by it: as a share of the
number of axes, it means the same in every table. With the share 1 the regression is least squares,
which fits any labels if there are as many columns as samples.

Cost: samples²·columns for the products and samples³ for the axes (the smaller of samples and
columns is cubed), once; then samples² for each labelling.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from chanceline._arrays import Floats
from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.significance.arrays import ROUNDING_TOLERANCE

# Free parameters of the regressions, as shares of the number of axes. Chosen on nine designs of
# signal along small variance and on other sets of the designs of `benchmarks/power.py`; on sixteen
# fresh designs other shares between 0.3 and 0.95, and three instead of two, did no better.
RIDGE_SHARES = (0.9, 0.5)
# The principal axes of a table that is larger in both directions take too long (7 s at this size).
MAX_AXES = 4_000


@dataclass(frozen=True, eq=False)
class RidgeRegressions:
    """Ridge regressions on all columns, in the coordinates of the columns.

    Attributes
    ----------
    axes : (coordinates, axes) u, the principal axes of the columns, orthonormal.
    shrinkages : (axes, ridges) d/(d + λ), the share of the labels' part along an axis that is
        fitted. No ridges if the table is too large.
    """

    axes: Floats
    shrinkages: Floats

    @property
    def n_parameters(self) -> Floats:
        """(ridges,) tr H, the number of free parameters."""
        return self.shrinkages.sum(axis=0)

    def fitted_squares(self, labels: Floats) -> Floats:
        """yᵀHy of every labelling y: (labellings, ridges).

        Parameters
        ----------
        labels : (labellings, coordinates) centred labels, in the coordinates of the columns.
        """
        squares_along_axes = (labels @ self.axes) ** 2
        return squares_along_axes @ self.shrinkages


def make_ridge_regressions(columns: Floats, max_axes: int = MAX_AXES) -> RidgeRegressions:
    """A regression for each of `RIDGE_SHARES`.

    Parameters
    ----------
    columns : (coordinates, columns) normalised, none of them zero.
    max_axes : no regressions are made for a table that is larger in both directions.
    """
    if min(columns.shape) > max_axes:
        return no_ridge_regressions(len(columns))
    return _ridges_along_axes(principal_axes(columns))


def no_ridge_regressions(n_coordinates: int) -> RidgeRegressions:
    """None, where there would be too many axes."""
    return RidgeRegressions(axes=np.zeros((n_coordinates, 0)), shrinkages=np.zeros((0, 0)))


def ridge_regressions_of_gram(gram: Floats) -> RidgeRegressions:
    """The same from the products of the columns' rows, ZZᵀ, (coordinates, coordinates)."""
    return _ridges_along_axes(_axes_of_products(gram))


def _ridges_along_axes(principal: PrincipalAxes) -> RidgeRegressions:
    """A regression for each of `RIDGE_SHARES`."""
    squared_lengths = principal.squared_lengths[:, None]
    ridges = np.array([ridge_of_share(principal.squared_lengths, share) for share in RIDGE_SHARES])
    return RidgeRegressions(
        axes=principal.axes, shrinkages=squared_lengths / (squared_lengths + ridges)
    )


class PrincipalAxes(NamedTuple):
    """The principal axes of columns.

    Attributes
    ----------
    axes : (coordinates, axes) orthonormal.
    squared_lengths : (axes,) sum of the squares of all columns along each axis, above rounding.
    """

    axes: Floats
    squared_lengths: Floats


def principal_axes(columns: Floats) -> PrincipalAxes:
    """The eigenvectors u of ZZᵀ and their eigenvalues d > 0, from the smaller of ZZᵀ and ZᵀZ.

    The eigenvectors are the principal axes of the columns of Z. The eigenvalue of an axis is the
    sum of the columns' squares along it.

    Parameters
    ----------
    columns : Z, (coordinates, columns).
    """
    n_coordinates, n_columns = columns.shape
    if n_columns >= n_coordinates:
        # `ColumnTable.gram` adds up ZZᵀ over chunks of columns, which saves memory.
        products = ColumnTable(SlicedColumns(columns)).gram()  # (coordinates, coordinates)
        return _axes_of_products(products)

    # ZᵀZ has the same positive eigenvalues d. If v is its eigenvector, Zv/√d is that of ZZᵀ.
    products = columns.T @ columns  # (columns, columns)
    vectors, squared_lengths = _axes_of_products(products)
    axes = columns @ vectors / np.sqrt(squared_lengths)
    return PrincipalAxes(axes=axes, squared_lengths=squared_lengths)


def _axes_of_products(products: Floats) -> PrincipalAxes:
    """Eigenvectors and eigenvalues of a matrix of products, without those that are rounding."""
    squared_lengths, vectors = np.linalg.eigh(products)
    is_left = squared_lengths > ROUNDING_TOLERANCE * squared_lengths[-1]
    return PrincipalAxes(axes=vectors[:, is_left], squared_lengths=squared_lengths[is_left])


def ridge_of_share(squared_lengths: Floats, share: float) -> float:
    """The ridge λ at which a regression has a given number of effective parameters.

    An axis counts d_i/(d_i + λ) effective parameters: 1 without a ridge, less with one. λ solves

        Σ_i d_i/(d_i + λ) = share · (number of axes).

    Parameters
    ----------
    squared_lengths : (axes,) d_i > 0, the sum of the columns' squares along each principal axis.
    share : the effective parameters as a share of the number of axes, strictly between 0 and 1.
    """
    n_parameters = share * len(squared_lengths)

    def excess_parameters(log_ridge: float) -> float:
        shrinkages = squared_lengths / (squared_lengths + exp(log_ridge))
        return float(shrinkages.sum()) - n_parameters

    # Bracket the solution. A single axis has d/(d + λ) = share at λ = d·(1 − share)/share. With the
    # λ of the smallest d all axes have at least the share; with that of the largest d all have at
    # most the share. The factor 2 on both sides is for rounding.
    ridge_per_length = (1 - share) / share
    lowest = log(squared_lengths.min() * ridge_per_length / 2)
    highest = log(squared_lengths.max() * ridge_per_length * 2)
    return exp(brentq(excess_parameters, lowest, highest))
