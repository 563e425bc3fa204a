"""The steps from a file to a `Dataset`, so that an error can say at which of them it came up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from chanceline.errors import InputError


class ReadingStep(StrEnum):
    """What is being done when something turns out to be wrong."""

    FILE = "file"  # its format and its header
    SECOND_FILE = "second file"  # what it says about the samples
    LABEL = "label"  # the column of the classes, and which are compared
    COLUMNS = "columns"  # blocks, groups, pairs, covariates, what is left out
    CELLS = "cells"  # numbers that are written as text
    GAPS = "gaps"  # missing values
    UNITS = "units"  # transforms


@contextmanager
def at_step(step: ReadingStep) -> Iterator[None]:
    """Within the block an `InputError` gets this step, unless an inner block gave it one."""
    try:
        yield
    except InputError as error:
        if not error.step:
            error.step = step
        raise
