"""Old paths, until the callers follow."""

from chanceline.tables.checks.advice import examine
from chanceline.tables.classes import classes_of_array
from chanceline.tables.spelling import plain_text

__all__ = ["classes_of_array", "examine", "plain_text"]
