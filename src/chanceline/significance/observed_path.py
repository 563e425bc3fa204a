"""The forward stepwise path of the observed labels.

The path adds one column at a time (`path`): after K steps it has a set of K features. It is
computed in the first batch of labellings, whose row 0 has the observed labels.
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
    columns : the columns among which the path chooses.
    first_batch : the paths of the first batch of labellings; row 0 has the observed labels.
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
        """The columns of X that are in any set of the path, ascending."""
        sets = [self.support(n_selected) for n_selected in range(1, self.n_steps + 1)]
        return np.unique(np.concatenate(sets))

    def support(self, n_selected: int) -> Ints:
        """The columns of X in the path's set of this size, ascending."""
        return self.first_batch.support(OBSERVED, n_selected)

    def least_squares_errors(self, plan: Plan, support: Ints) -> int:
        """Errors of least squares on some columns of X together with blocks and covariates."""
        return errors_with_design(self.columns, plan.data.X, plan.data.y, support)


def columns_for_path(plan: Plan) -> ForwardColumns:
    """The columns of X among which the forward stepwise path chooses, prepared for the path.

    These are the distinct columns (copies and constants left out) of the features named beforehand,
    or of the whole table if none were.
    """
    X = plan.data.X
    intercept = plan.settings.intercept
    if plan.settings.preregistered and plan.features is not None:
        distinct = distinct_columns(X[:, plan.features], intercept)  # positions in plan.features
        return make_path_columns(X, plan.design, intercept, plan.features[distinct])
    if isinstance(X, ColumnTable):
        # A table too wide for memory is read in tiles of columns, by several threads.
        n_threads = number_of_threads(plan.settings.n_jobs)
        return make_tiled_columns(X, plan.distinct_features, plan.design, intercept, n_threads)
    return make_path_columns(X, plan.design, intercept, plan.distinct_features)


def path_length(plan: Plan, columns: ForwardColumns) -> int:
    """The number of steps of the path: that of the settings, if columns and samples allow it."""
    return longest_path(
        plan.settings.largest,
        n_columns=len(columns.feature_of_column),
        n_samples=len(plan.design.y),
    )
