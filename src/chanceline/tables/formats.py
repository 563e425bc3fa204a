"""Old path, until the callers follow."""

from chanceline.tables.spelling import is_number

__all__ = ["is_number"]
