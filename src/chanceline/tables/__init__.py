"""From a file to numbers, labels and names, and what to know about them beforehand. Names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chanceline.tables.dataset import Dataset as Dataset
    from chanceline.tables.dataset import load_data as load_data
    from chanceline.tables.doctor import Finding as Finding
    from chanceline.tables.doctor import examine as examine
    from chanceline.tables.settings import TableSettings as TableSettings

_HOMES = {"Dataset": "dataset", "Finding": "doctor", "TableSettings": "settings", "examine": "doctor", "load_data": "dataset"}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
