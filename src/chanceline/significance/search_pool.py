"""The columns in which rules for the observed labels are searched: all of them, or in a very wide
table a pool of those that go best with the labels.

The bound covers all sets of features of the table, whatever found one of them, so that any pool may
be searched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import ColumnTable
from chanceline.perceptron.rule import Rule
from chanceline.select.column_pool import COLUMNS_PER_VARIABLE, MIN_POOL_WIDTH, POOL_ENTRIES
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.plan import Plan


class SearchedTable(NamedTuple):
    """The columns that a search may take.

    Attributes
    ----------
    X : (samples, searched columns)
    pool : (searched columns,) their numbers in the table, rising; None if they are all.
    """

    X: Floats
    pool: Ints | None = None

    def rule_of_table(self, rule: Rule) -> Rule:
        """A rule on searched columns as one on columns of the table."""
        if self.pool is None:
            return rule
        return replace(rule, support=self.pool[rule.support])


def table_to_search(plan: Plan, path: ObservedPath) -> SearchedTable:
    """All columns; of a very wide table those of the path and the most correlated with labels."""
    if not isinstance(plan.data.X, ColumnTable):
        return SearchedTable(plan.data.X)
    columns = path.columns
    labels = columns.residuals(plan.data.y[None])[0]
    correlations = np.abs(columns.products(labels))
    most_correlated = np.argsort(-correlations, kind="stable")[: search_pool_width(len(labels))]
    pool = np.union1d(columns.feature_of_column[most_correlated], path.features)
    return SearchedTable(plan.data.X[:, pool], pool)


def search_pool_width(n_samples: int) -> int:
    """How many columns are searched: several for every variable that noise may need.

    Half as many as samples separate noise as often as not, whichever they are (Cover).
    """
    variables_needed = n_samples // 2
    affordable = POOL_ENTRIES // n_samples
    return max(MIN_POOL_WIDTH, affordable, COLUMNS_PER_VARIABLE * variables_needed)
