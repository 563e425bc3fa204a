"""The forward stepwise path of the observed labels.

The path takes one column after the other (`path`); after K steps it has the best K features
that it found. It is computed in the first batch of labellings, whose row 0 is the observed one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline._parallel import number_of_threads
from chanceline.columns.table import ColumnTable
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.significance.least_squares import errors_with_design
from chanceline.significance.path import ForwardPaths, longest_path
from chanceline.significance.path_columns import ForwardColumns, make_path_columns
from chanceline.significance.plan import Plan
from chanceline.significance.tiled_columns import make_tiled_columns

OBSERVED = 0  # row of the observed labelling in a batch


@dataclass(frozen=True, eq=False)
class ObservedPath:
    """The path of the observed labels.

    Attributes
    ----------
    columns : the columns that it runs over.
    first_batch : the paths of the first batch of labellings.
    """

    columns: ForwardColumns
    first_batch: ForwardPaths

    @property
    def n_steps(self) -> int:
        """The largest number of features."""
        return self.first_batch.losses.shape[1]

    @property
    def losses(self) -> Floats:
        """Share of the labels' squares that K = 1, 2, … features leave unexplained, (steps,)."""
        return self.first_batch.losses[OBSERVED]

    @property
    def errors(self) -> Ints:
        """Errors of least squares on K = 1, 2, … features at its best threshold, (steps,)."""
        return self.first_batch.errors[OBSERVED]

    @property
    def features(self) -> Ints:
        """Sorted columns of X of all sets of the path."""
        sets = [self.support(n_selected) for n_selected in range(1, self.n_steps + 1)]
        return np.unique(np.concatenate(sets))

    def support(self, n_selected: int) -> Ints:
        """Sorted columns of X of the best set of this size."""
        return self.first_batch.support(OBSERVED, n_selected)

    def least_squares_errors(self, plan: Plan, support: Ints) -> int:
        """Errors of least squares on a support, with blocks and covariates besides."""
        return errors_with_design(self.columns, plan.data.X, plan.data.y, support)


def columns_for_path(plan: Plan) -> ForwardColumns:
    """The columns that the path may take: all distinct ones, or those that were preregistered."""
    X = plan.data.X
    intercept = plan.settings.intercept
    if plan.settings.preregistered and plan.features is not None:
        distinct = distinct_columns(X[:, plan.features], intercept)  # positions in plan.features
        return make_path_columns(X, plan.design, intercept, plan.features[distinct])
    if isinstance(X, ColumnTable):
        # A wide table is gone through by tiles, in threads.
        n_threads = number_of_threads(plan.settings.n_jobs)
        return make_tiled_columns(X, plan.distinct_features, plan.design, intercept, n_threads)
    return make_path_columns(X, plan.design, intercept, plan.distinct_features)


def path_length(plan: Plan, columns: ForwardColumns) -> int:
    """Steps of the path: as many as asked for, but no more than columns and samples allow."""
    return longest_path(
        plan.settings.largest,
        n_columns=len(columns.feature_of_column),
        n_samples=len(plan.design.y),
    )
