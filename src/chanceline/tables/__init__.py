"""From a file to numbers, labels and names, and what to know about them beforehand. Names load on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

if TYPE_CHECKING:
    from chanceline.tables.columns import examine
    from chanceline.tables.dataset import Dataset, Finding, TableSettings
    from chanceline.tables.read import load_data

__all__ = ["Dataset", "Finding", "TableSettings", "examine", "load_data"]
_HOMES = dict.fromkeys(__all__, "chanceline.tables.dataset") | {
    "examine": "chanceline.tables.columns",
    "load_data": "chanceline.tables.read",
}

__getattr__ = lazy(__name__, _HOMES)
