"""What a set of features explains of the labels by least squares, and which column explains most of
what it leaves.

Columns are clipped, and blocks and covariates taken out, as the path does (`path_columns`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import orth

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.column_pairs import MIN_SQUARED_LENGTH
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.path_columns import ForwardColumns
from chanceline.significance.plan import Plan


@dataclass(frozen=True)
class NextColumn:
    """The column that explains most of what a set leaves.

    Attributes
    ----------
    feature : its column of X.
    share : the part that it explains of the squares that the set leaves, from 0 to 1.
    """

    feature: int
    share: float


@dataclass(frozen=True, eq=False)
class SetSpan:
    """The span of a set's columns, and the labels that it is to explain.

    Attributes
    ----------
    axes : (samples, dimensions) orthonormal columns of the span.
    target : (samples,) the labels, free of blocks and covariates.
    """

    axes: Floats
    target: Floats

    @property
    def residual(self) -> Floats:
        """What the set leaves of the labels, (samples,)."""
        return self.target - self.axes @ (self.axes.T @ self.target)

    @property
    def explained(self) -> float:
        """R², the share of the labels' squares that least squares on the set explains."""
        residual = self.residual
        return float(1 - residual @ residual / (self.target @ self.target))

    def next_column(self, columns: ForwardColumns) -> NextColumn | None:
        """The column that, added to the set, explains most of the set's residual of the labels.

        If the residual is r, a column z of length 1 reduces its squared length by (r·z)²/l, where l
        is the squared length of the part of z outside the span of the set.

        Parameters
        ----------
        columns : the candidate columns, of length 1.

        Returns
        -------
        The column, and the share of the residual's squared length that it explains. None if the set
        explains the labels fully, or if all columns lie in its span.
        """
        residual = self.residual  # (samples,) r
        unexplained_square = float(residual @ residual)
        if unexplained_square <= ROUNDING_TOLERANCE * float(self.target @ self.target):
            return None

        products = columns.products(residual)  # (columns,) r·z
        components = columns.products(self.axes.T)  # (dimensions, columns) of z along the span
        squares_outside = 1 - np.sum(components**2, axis=0)  # (columns,) l
        is_outside = squares_outside > MIN_SQUARED_LENGTH
        if not is_outside.any():
            return None
        # Columns in the span gain nothing; 1 in place of their l avoids a division by zero.
        divisors = np.where(is_outside, squares_outside, 1.0)
        gains = np.where(is_outside, products**2 / divisors, 0.0)
        best_column = int(np.argmax(gains))
        return NextColumn(
            feature=int(columns.feature_of_column[best_column]),
            share=float(gains[best_column]) / unexplained_square,
        )


def span_of_set(plan: Plan, columns: ForwardColumns, support: Ints) -> SetSpan:
    """The span of some columns of X, as the path sees them.

    Parameters
    ----------
    columns : the path's columns, which know blocks and covariates.
    support : indices of columns of X, (features,); it may be empty.
    """
    target = columns.residuals(plan.data.y[None])[0]
    if len(support) == 0:
        return SetSpan(axes=np.zeros((len(target), 0)), target=target)
    values = plan.data.X[:, support].astype(float)
    if columns.intercept:
        values = clip_outliers(values)
    predictors = columns.residuals(values.T).T
    return SetSpan(axes=orth(predictors), target=target)
