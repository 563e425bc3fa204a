"""What should not go with an outcome, and does: gaps, dates, totals and means of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from chanceline._arrays import Bools, Floats
from chanceline.tables.checks.outcome_association import ASSOCIATION_LEVEL, OutcomeAssociation
from chanceline.tables.checks.row_shifts import FEWEST_COLUMNS, columns_rise_alike
from chanceline.tables.checks.totals import are_counts
from chanceline.tables.checks.within_classes import evenly_spaced_columns
from chanceline.tables.dataset import Finding


def warn_if_gaps_follow_outcome(gaps: Bools, association: OutcomeAssociation) -> list[Finding]:
    """A warning if gaps that were filled in are associated with the outcome.

    There are two tests: one of the number of gaps in each row, and one of the column whose gaps are
    most associated with the outcome. The smaller p-value counts, times 2 (Bonferroni).

    Parameters
    ----------
    gaps : (rows, columns) which cells were filled in.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    column_has_gap = gaps.any(axis=0)
    if not column_has_gap.any():
        return []

    # The number of gaps in each row.
    n_gaps_in_row = gaps.sum(axis=1)
    pvalue_of_counts = _rank_pvalue(n_gaps_in_row, association)

    # The columns with gaps, 1 in gaps and else 0. Of very many columns, evenly spaced ones are
    # tested. The p-value is that of the column with the largest R².
    gap_indicators = gaps[:, column_has_gap].astype(np.float64)
    pvalue_of_columns = association.pvalue(evenly_spaced_columns(gap_indicators))

    pvalue = min(1.0, 2 * pvalue_of_counts, 2 * pvalue_of_columns)
    if pvalue > ASSOCIATION_LEVEL:
        return []
    return [
        Finding.warning(
            f"gaps go with the outcome (p = {pvalue:.1g}), and filled in they may be all the test "
            "sees; missing='rows' or missing='columns' keeps that out."
        )
    ]


def warn_if_dates_follow_outcome(
    times: pd.DataFrame, association: OutcomeAssociation
) -> list[Finding]:
    """A warning for every column of dates that is associated with the outcome.

    Parameters
    ----------
    times : (rows, columns) numbers in the order of time; a gap counts as the median of its column.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    n_columns = times.shape[1]
    findings = []
    for position, name in enumerate(times.columns):
        column = times.iloc[:, position]
        filled_times = column.fillna(column.median()).to_numpy()
        pvalue = n_columns * _rank_pvalue(filled_times, association)  # Bonferroni
        if pvalue > ASSOCIATION_LEVEL:
            continue
        findings.append(
            Finding.warning(
                f"the dates in {str(name)!r} go with the outcome (p = {pvalue:.1g}), and so "
                "does whatever drifts with time; blocks=COLUMN of runs keeps it out."
            )
        )
    return findings


def warn_if_depth_follows_outcome(X: Floats, association: OutcomeAssociation) -> list[Finding]:
    """A warning if the depth of the rows is associated with the outcome.

    The depth is the total of a row in a table of counts. In other tables it is the mean of a row,
    if nearly all columns rise and fall together from row to row.

    Parameters
    ----------
    X : numbers, (rows, features).
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    if are_counts(X):
        return _warn_if_totals_follow_outcome(X, association)
    if X.shape[1] < FEWEST_COLUMNS:
        return []
    return _warn_if_means_follow_outcome(X, association)


def _warn_if_totals_follow_outcome(
    counts: Floats, association: OutcomeAssociation
) -> list[Finding]:
    """A warning if the totals of rows of counts are associated with the outcome.

    Parameters
    ----------
    counts : (rows, features)
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    pvalue = _rank_pvalue(counts.sum(axis=1), association)
    if pvalue > ASSOCIATION_LEVEL:
        return []
    return [
        Finding.warning(
            "the table holds counts, and the totals of its rows alone go with the outcome "
            f"(p = {pvalue:.1g}), so that depth looks like structure; transform='clr' or "
            "transform='cpm' takes it out, transform='none' says that totals are meant."
        )
    ]


def _warn_if_means_follow_outcome(X: Floats, association: OutcomeAssociation) -> list[Finding]:
    """A warning if the means of rows look like depth and are associated with the outcome.

    They look like depth if nearly all columns rise and fall together from row to row, in what the
    outcome leaves unexplained of the columns.

    Parameters
    ----------
    X : numbers, (rows, features).
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    pvalue = _rank_pvalue(X.mean(axis=1), association)
    if pvalue > ASSOCIATION_LEVEL:
        return []
    residuals = association.residuals(evenly_spaced_columns(X))
    if not columns_rise_alike(residuals):
        return []
    return [
        Finding.warning(
            "nearly all columns rise and fall together from row to row, and the rows' means alone "
            f"go with the outcome (p = {pvalue:.1g}), as logarithms of counts of different depth "
            "do; transform='centre' takes the rows' means out, transform='none' says that they are "
            "meant."
        )
    ]


def _rank_pvalue(values: Floats, association: OutcomeAssociation) -> float:
    """The p-value of the hypothesis that the ranks of numbers (rows,) are independent of the
    outcome.
    """
    ranks: Floats = rankdata(values)
    return association.pvalue(ranks[:, None])
