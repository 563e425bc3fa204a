"""What a column of outcomes is taken for: two classes, several classes, or a number."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.settings import TableSettings
from chanceline.tables.spelling import plain_text
from chanceline.tables.wording import quoted

# Whole numbers with no more different values may be classes: the user has to say.
MAX_VALUES_THAT_MAY_BE_CLASSES = 10
# Words with more values than this share of the rows are names, not classes.
LARGEST_SHARE_OF_NAMES = 0.5


class OutcomeKind(StrEnum):
    """What an outcome is; the values of two of them are those that a user may ask for."""

    TWO_CLASSES = "two classes"
    CLASSES = "classes"
    NUMBER = "number"
    SURVIVAL = "survival"
    OWN = "own"  # an object that the user made


class UnclearOutcomeError(InputError):
    """A column of few whole numbers may be classes or a number: the user has to say."""


KINDS_TO_ASK_FOR = (OutcomeKind.NUMBER, OutcomeKind.CLASSES)


def check_asked_kind(asked: str | None) -> None:
    """Raise an `InputError` if the kind is neither "number" nor "classes" nor None."""
    if asked is not None and asked not in KINDS_TO_ASK_FOR:
        raise InputError(f"outcome must be 'number' or 'classes', not {asked!r}.")


def kind_of_label(column: pd.Series, asked: str | None, settings: TableSettings) -> OutcomeKind:
    """Decide what a column of labels is: a number, two classes or several classes.

    It is what the user asks for, or else what its values look like. A few whole numbers may be
    either classes or sizes: then an error asks the user.

    Parameters
    ----------
    column : the outcome of every row that is compared, without gaps.
    asked : "number" or "classes" as the user says; None to look at the values.
    settings : `positive`, `classes` or `split_at` also mean that the label is classes.
    """
    check_asked_kind(asked)

    # What the user says comes first. Two values are two classes unless the user asks for a number;
    # so are more values, if the settings make two classes of them.
    if asked == OutcomeKind.NUMBER:
        return OutcomeKind.NUMBER
    n_values = column.map(plain_text).nunique()
    if n_values <= 2 or _asks_for_two_classes(settings):
        return OutcomeKind.TWO_CLASSES
    if asked == OutcomeKind.CLASSES or settings.classes:
        return OutcomeKind.CLASSES

    # More than two values, and the user has not said what they are. Words are classes, but so many
    # different words that they seem to name the rows are an error.
    numbers = pd.to_numeric(column, errors="coerce")  # NaN for words
    if numbers.isna().any():
        _refuse_too_many_names(column, n_values)
        return OutcomeKind.CLASSES

    # Numbers are a number, unless they are few different whole numbers.
    are_whole = not np.any(numbers % 1 != 0)
    if are_whole and n_values <= MAX_VALUES_THAT_MAY_BE_CLASSES:
        different_texts = numbers.map(plain_text).unique()
        numbers_in_words = quoted(sorted(different_texts, key=float))
        raise UnclearOutcomeError(
            f"label column {str(column.name)!r} has {n_values} whole numbers "
            f"({numbers_in_words}), which may be classes or sizes; say outcome='classes' or "
            "outcome='number'."
        )
    return OutcomeKind.NUMBER


def _asks_for_two_classes(settings: TableSettings) -> bool:
    """Whether the settings name a positive class, two classes, or a value to split at."""
    if settings.positive is not None or settings.split_at is not None:
        return True
    return len(settings.classes) == 2


def _refuse_too_many_names(column: pd.Series, n_values: int) -> None:
    """Raise an `InputError` if a column has so many different words that they name the rows."""
    if n_values > LARGEST_SHARE_OF_NAMES * len(column):
        raise InputError(
            f"label column {str(column.name)!r} has {n_values} different values in {len(column)} "
            "rows, too many for classes, and they are no numbers; name another column."
        )
