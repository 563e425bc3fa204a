"""Old path, until the callers follow."""

from chanceline.tables.load import load_data

__all__ = ["load_data"]
