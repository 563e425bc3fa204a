"""Tables of counts, and whether the totals of their rows tell the classes apart."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.perceptron.blocks import column_blocks
from chanceline.tables.checks.ranks import mann_whitney, warn_if_small
from chanceline.tables.dataset import Finding

# A table of counts has enough columns with enough different large values. Answers of a survey are
# small codes, perhaps with 77, 88 and 99 for none, and an age or two stands beside them.
FEWEST_COUNTED_COLUMNS = 10
FEWEST_LARGE_VALUES = 4
SMALLEST_LARGE_VALUE = 10
STEP_OF_SCALES = 5  # of scales from 0 to 100, which are no counts


def warn_if_totals_follow_classes(X: Floats, labels: Floats) -> list[Finding]:
    """A warning if a table of shape (samples, features) is one of counts, and its rows' totals tell
    the classes apart.
    """
    if not are_counts(X):
        return []
    area, pvalue = mann_whitney(X.sum(axis=1), labels)
    return warn_if_small(
        pvalue,
        "the table holds counts, and the totals of its rows alone tell the classes apart (area "
        f"under the curve {max(area, 1 - area):.2f}, p = {pvalue:.2g}), so that depth looks like "
        "structure; transform='clr' or transform='cpm' takes it out, transform='none' says that "
        "totals are meant.",
    )


def are_counts(X: Floats) -> bool:
    """Whether a table of shape (samples, features) holds counts.

    All its numbers are whole and not negative, and enough columns take several large values, not
    all of which are steps of a scale from 0 to 100.
    """
    # One row tells most other tables from counts.
    if not _are_whole_from_0(X[0]):
        return False
    # So many columns at a time, as every look needs a copy of them.
    if not all(_are_whole_from_0(X[:, block]) for block in column_blocks(X)):
        return False
    n_count_columns = 0
    for column in X.T:
        large_values = np.unique(column[column >= SMALLEST_LARGE_VALUE])
        # 10, 25, 50, … are steps of a scale; so are no values at all, which are too few anyway.
        is_scale = np.all(large_values % STEP_OF_SCALES == 0)
        if len(large_values) >= FEWEST_LARGE_VALUES and not is_scale:
            n_count_columns += 1
        if n_count_columns == FEWEST_COUNTED_COLUMNS:
            return True
    return False


def _are_whole_from_0(values: Floats) -> bool:
    return bool(np.all((values >= 0) & (np.round(values) == values)))
