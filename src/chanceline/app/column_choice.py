"""What the user may say that a column is."""

from __future__ import annotations

from enum import StrEnum


class ColumnChoice(StrEnum):
    """What the user says a column is; the values are those of the page's fields."""

    AS_FOUND = ""
    LABEL = "label"
    TIME = "time"
    EVENT = "event"
    FEATURE = "feature"
    GROUPS = "groups"
    STEMS_ARE_GROUPS = "groups of stems"
    STEMS_OF_STEMS_ARE_GROUPS = "groups of stems of stems"
    PAIRS = "pairs"
    STEMS_ARE_PAIRS = "pairs of stems"
    BLOCKS = "blocks"
    COVARIATE = "adjust"
    INDEPENDENT = "independent"
    IDENTIFIER = "identifier"
    LEFT_OUT = "drop"


# Columns of the outcome.
OUTCOME_CHOICES = (ColumnChoice.LABEL, ColumnChoice.TIME, ColumnChoice.EVENT)
# Columns that are no features and say nothing else either.
CHOICES_LEFT_OUT = (ColumnChoice.IDENTIFIER, ColumnChoice.LEFT_OUT)
