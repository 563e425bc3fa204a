"""Dates that tell the classes apart, as then whatever drifts with time does."""

from __future__ import annotations

from typing import Any

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.ranks import mann_whitney, stratified_rank_pvalue, warn_if_small
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural


def warn_if_dates_follow_classes(
    name: Any, times: pd.Series, labels: Floats, blocks: pd.Series | None = None
) -> list[Finding]:
    """A warning if the time of sampling tells the classes apart.

    Parameters
    ----------
    name : of the column of dates.
    times : numbers in the order of time, of shape (samples,); gaps count as their median.
    labels : ±1 of shape (samples,).
    blocks : blocks or pairs that the labels are exchanged in; times are compared within these.
    """
    filled = times.fillna(times.median()).to_numpy()
    if blocks is not None:
        pvalue = stratified_rank_pvalue(filled, labels, blocks)
        block_values = plural(blocks.nunique(), "value")
        return warn_if_small(
            pvalue,
            f"the dates in {str(name)!r} tell the classes apart within the {block_values} of "
            f"{str(blocks.name)!r} too (p = {pvalue:.2g}), and so does whatever drifts with time; "
            "smaller blocks keep it out.",
        )
    area, pvalue = mann_whitney(filled, labels)
    return warn_if_small(
        pvalue,
        f"the dates in {str(name)!r} tell the classes apart (area under the curve "
        f"{max(area, 1 - area):.2f}, p = {pvalue:.2g}), and so does whatever drifts with time; "
        "blocks=COLUMN of runs with both classes keeps it out.",
    )
