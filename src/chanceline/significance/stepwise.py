"""Old names of what is now in `path_columns`, `path` and `least_squares`, until callers follow."""

from __future__ import annotations

from chanceline.significance.arrays import TOLERANCE as SAME
from chanceline.significance.least_squares import errors_with_design, least_squares_weights
from chanceline.significance.path import (
    SPREAD_SHARES as SHARES,
    ForwardPaths as Paths,
    follow_paths,
)
from chanceline.significance.path_columns import (
    PathColumns as Columns,
    make_path_columns as make_columns,
)

__all__ = [
    "SAME",
    "SHARES",
    "Columns",
    "Paths",
    "errors_with_design",
    "follow_paths",
    "least_squares_weights",
    "make_columns",
]
