"""What bears on a verdict about an outcome other than two classes: rows that are too near, columns
made from the outcome or chosen by it, and what else goes with it: gaps, dates, depth, batches, the
order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from chanceline._arrays import Bools, Floats, Ints
from chanceline.tables.checks.near_rows import near_pairs, pairs_warning
from chanceline.tables.checks.outcome_association import (
    OutcomeAssociation,
    make_outcome_association,
)
from chanceline.tables.checks.outcome_batches import warn_of_outcome_batches
from chanceline.tables.checks.outcome_columns import (
    warn_of_columns_filtered_by_outcome,
    warn_of_lone_outcome_columns,
)
from chanceline.tables.checks.outcome_links import (
    warn_if_dates_follow_outcome,
    warn_if_depth_follows_outcome,
    warn_if_gaps_follow_outcome,
)
from chanceline.tables.checks.outcome_order import warn_of_outcome_drift
from chanceline.tables.checks.row_order import is_in_order_of_rows
from chanceline.tables.dataset import Finding
from chanceline.tables.outcome_kind import OutcomeKind
from chanceline.tables.outcome_table import OutcomeTable
from chanceline.tables.partitions import first_of_each_group

FEWEST_INDEPENDENT_ROWS = 8  # independent ones; fewer tell nothing


def examine_outcome_table(
    table: OutcomeTable, scores: Floats, related_rows: Ints, *, has_all_candidates: bool = True
) -> list[Finding]:
    """Warnings about rows that are too similar, and about whatever is associated with the outcome
    but should not be: gaps, dates, batches, the order of the rows and so on.

    Parameters
    ----------
    table : the table, with its outcome (a number, several classes, or survival).
    scores : numbers that stand for the outcome in tests of association, (samples, columns).
    related_rows : (samples,) rows with the same number belong together, such as those of one
        subject.
    has_all_candidates : False if the features are known to have been selected from more; then
        nothing asks whether they were.
    """
    findings = _warn_of_near_outcome_rows(table, related_rows)

    # The other checks test columns against the scores. They need independent rows: the first row of
    # each group.
    is_first = first_of_each_group(table.groups, len(scores))
    if np.count_nonzero(is_first) < FEWEST_INDEPENDENT_ROWS:
        return findings
    block_of_row = _block_of_rows(table)
    association = make_outcome_association(scores[is_first], block_of_row[is_first])
    if association is None:
        return findings  # the blocks determine the outcome

    X = table.X[is_first]
    findings += _warn_of_technical_traces(table, is_first, association)
    findings += _warn_of_columns_made_from_outcome(table, is_first, association)
    if has_all_candidates:
        findings += warn_of_columns_filtered_by_outcome(X, association)
    if not _drift_is_allowed_for(table):
        findings += warn_of_outcome_drift(X, association)
    return findings


def _warn_of_technical_traces(
    table: OutcomeTable, is_first: Bools, association: OutcomeAssociation
) -> list[Finding]:
    """Warnings about traces of how a table was made that are associated with the outcome.

    The traces are gaps, dates, batches and depth. Depth is the total of a row of counts, or else
    the mean of a row.

    Parameters
    ----------
    table : the table, with its outcome (a number, several classes, or survival).
    is_first : (samples,) whether a row is the first of its group; only these are tested.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    traces = table.traces  # what was noticed while the table was read
    X = table.X[is_first]
    findings = []
    if traces.gaps is not None:
        findings += warn_if_gaps_follow_outcome(traces.gaps[is_first], association)
    if traces.times is not None:
        findings += warn_if_dates_follow_outcome(traces.times[is_first], association)
    if not traces.units_were_chosen:  # a transform that the user chose settles depth
        findings += warn_if_depth_follows_outcome(X, association)
    if traces.text is not None:
        findings += warn_of_outcome_batches(
            text=traces.text[is_first],
            features=pd.DataFrame(X, columns=list(table.feature_names)),
            association=association,
            controlled_columns=_controlled_columns(table, is_first),
        )
    return findings


def _warn_of_columns_made_from_outcome(
    table: OutcomeTable, is_first: Bools, association: OutcomeAssociation
) -> list[Finding]:
    """A warning about columns that may have been made from the outcome.

    These are one to three columns that predict the outcome far better than all others do. Without
    such columns the list is empty.

    Parameters
    ----------
    table : the table, with its outcome (a number, several classes, or survival).
    is_first : (samples,) whether a row is the first of its group; only these are tested.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    X = table.X[is_first]
    findings = warn_of_lone_outcome_columns(X, table.feature_names, association)
    if findings or table.kind is not OutcomeKind.SURVIVAL:
        return findings

    # A column may also repeat the times of survival, which differ from the scores of survival where
    # many times are censored. So the same check is made with the ranks of the times as scores.
    # `table.outcome` holds two columns: times, then events.
    times = np.asarray(table.outcome[0], dtype=np.float64)[is_first]
    ranks = rankdata(times)
    association_with_times = make_outcome_association(ranks[:, None], association.block_of_row)
    if association_with_times is None:
        return []  # the blocks determine the times
    return warn_of_lone_outcome_columns(X, table.feature_names, association_with_times)


def _warn_of_near_outcome_rows(table: OutcomeTable, related_rows: Ints) -> list[Finding]:
    """A warning about rows that are too similar though nothing says that they belong together.

    Parameters
    ----------
    table : the table, with its outcome (a number, several classes, or survival).
    related_rows : (samples,) rows with the same number belong together, such as those of one
        subject.
    """
    pairs = near_pairs(table.X, related_rows)
    if len(pairs.first_rows) == 0:
        return []
    meaning = "if they are of one subject, say which rows belong together with groups=COLUMN"
    has_groups = len(np.unique(related_rows)) < len(related_rows)
    if has_groups:
        meaning = "though nothing that was declared says that they belong together"
    return [pairs_warning(pairs, _row_names(table), meaning)]


def _row_names(table: OutcomeTable) -> Sequence[Any]:
    """What sentences call the rows: as the outcome's column does, or 1, 2, …"""
    column = table.outcome[0]
    if isinstance(column, pd.Series):
        return column.index.tolist()
    return range(1, len(table.X) + 1)


def _block_of_rows(table: OutcomeTable) -> Ints:
    """The number of every row's block or pair, 0 if there are none: (samples,)."""
    declared = table.pairs if table.blocks is None else table.blocks
    if declared is None:
        return np.zeros(len(table.X), dtype=np.int64)
    return pd.factorize(pd.Series(declared))[0]


def _controlled_columns(table: OutcomeTable, is_first: Bools) -> list[pd.Series]:
    """Blocks, pairs and covariates, for which the test allows, one value for each row counted."""
    declared = [table.blocks, table.pairs, *(table.covariates or {}).values()]
    return [pd.Series(values)[is_first] for values in declared if values is not None]


def _drift_is_allowed_for(table: OutcomeTable) -> bool:
    """Whether blocks, pairs or a covariate that follows the rows may keep a drift out."""
    if table.blocks is not None or table.pairs is not None:
        return True
    return any(is_in_order_of_rows(values) for values in (table.covariates or {}).values())
