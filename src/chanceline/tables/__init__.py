"""From a file to numbers, labels and names, and what to know about them beforehand. Names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chanceline.tables.dataset import Dataset, Finding, TableSettings
    from chanceline.tables.diagnostics import examine
    from chanceline.tables.read import load_data

__all__ = ["Dataset", "Finding", "TableSettings", "examine", "load_data"]
_HOMES = {"examine": "diagnostics", "load_data": "read"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'dataset')}"), name)
