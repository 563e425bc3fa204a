"""From how many columns on a table stays where it is kept, and is read a tile at a time."""

from __future__ import annotations

WIDE_FROM = 40_000  # columns; with more of them memory counts


def is_wide(n_columns: int) -> bool:
    """Whether a table of so many columns is read a tile at a time."""
    return n_columns > WIDE_FROM
