"""From a file to numbers, labels and names, and what to know about them beforehand.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

if TYPE_CHECKING:
    from chanceline.tables.checks.advice import examine
    from chanceline.tables.dataset import Dataset, Finding
    from chanceline.tables.load import load_data
    from chanceline.tables.settings import TableSettings

__all__ = ["Dataset", "Finding", "TableSettings", "examine", "load_data"]
_HOMES = {
    "Dataset": "chanceline.tables.dataset",
    "Finding": "chanceline.tables.dataset",
    "TableSettings": "chanceline.tables.settings",
    "examine": "chanceline.tables.checks.advice",
    "load_data": "chanceline.tables.load",
}

__getattr__ = lazy(__name__, _HOMES)
