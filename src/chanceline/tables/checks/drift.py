"""Dates that tell the classes apart, as then whatever drifts with time does."""

from __future__ import annotations

from typing import Any

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.ranks import mann_whitney, stratified_rank_pvalue, warn_if_small
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import first_of_each_group
from chanceline.tables.wording import plural


def warn_if_dates_follow_classes(
    name: Any,
    times: pd.Series,
    labels: Floats,
    blocks: pd.Series | None = None,
    groups: pd.Series | None = None,
) -> list[Finding]:
    """A warning if the time of sampling tells the classes apart.

    Parameters
    ----------
    name : the name of the column of dates.
    times : numbers in the order of time, of shape (samples,); a gap counts as the median time.
    labels : ±1 of shape (samples,).
    blocks : (samples,) blocks or pairs within which the test shuffles labels; times are compared
        only within these. None to compare all samples.
    groups : rows with the same value belong to one subject, of which only the first row counts;
        None without groups.
    """
    is_counted = first_of_each_group(groups, len(labels))
    filled_times = times.fillna(times.median()).to_numpy()[is_counted]
    if blocks is None:
        return _warn_of_drift(str(name), filled_times, labels[is_counted])
    return _warn_of_drift_in_blocks(str(name), filled_times, labels[is_counted], blocks[is_counted])


def _warn_of_drift(name: str, times: Floats, labels: Floats) -> list[Finding]:
    """A warning if times tell the classes apart, by the Mann-Whitney test.

    Parameters
    ----------
    name : the name of the column of dates.
    times, labels : a number without gaps and ±1 for each sample, of shape (samples,).
    """
    area, pvalue = mann_whitney(times, labels)
    return warn_if_small(
        pvalue,
        f"the dates in {name!r} tell the classes apart (area under the curve "
        f"{max(area, 1 - area):.2f}, p = {pvalue:.2g}), and so does whatever drifts with time; "
        "blocks=COLUMN of runs with both classes keeps it out.",
    )


def _warn_of_drift_in_blocks(
    name: str, times: Floats, labels: Floats, blocks: pd.Series
) -> list[Finding]:
    """A warning if times tell the classes apart within blocks, by a stratified rank test.

    Parameters
    ----------
    name : the name of the column of dates.
    times, labels, blocks : a number without gaps, ±1 and a block for each sample, (samples,).
    """
    pvalue = stratified_rank_pvalue(times, labels, blocks)
    block_values = plural(blocks.nunique(), "value")
    return warn_if_small(
        pvalue,
        f"the dates in {name!r} tell the classes apart within the {block_values} of "
        f"{str(blocks.name)!r} too (p = {pvalue:.2g}), and so does whatever drifts with time; "
        "smaller blocks keep it out.",
    )
