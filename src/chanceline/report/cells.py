"""Values as cells of a table to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def cells_to_read(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows of a table with every value as `cell_to_read`."""
    return [[cell_to_read(value) for value in row] for row in rows]


def cell_to_read(value: Any) -> Any:
    """A value for a table to read: numbers with three digits, a mark for yes, nothing for no."""
    if isinstance(value, bool | np.bool_):
        return "✓" if value else ""
    if isinstance(value, float):
        return "" if np.isnan(value) else float(f"{value:.3g}")
    return value
