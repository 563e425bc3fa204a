"""Numbers from outside, checked where they come in: one sentence that names the culprit and what would do."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

from chanceline.errors import InputError

LARGEST = 2**63 - 1  # what a compiled loop can count
SHOWN = 60


def whole_number(value: Any, name: str, *, at_least: int = 0, at_most: int = LARGEST) -> int:
    """The value as an int within limits; 3.0 will do, True, "3" and arrays of several numbers will not.

    Parameters
    ----------
    value : what was given.
    name : what the sentence calls it, such as "the number of samples" or "seed".
    at_least, at_most : its limits, both allowed.
    """
    number = _whole(value)
    if number is None:
        raise InputError(f"{name} must be a whole number, not {shown(value)}.")
    if not at_least <= number <= at_most:
        limits = f"at least {at_least:,}" if at_most == LARGEST else f"between {at_least:,} and {at_most:,}"
        raise InputError(f"{name} must be {limits}, not {shown(number)}.")
    return number


def real_number(value: Any, name: str) -> float:
    """The value as a finite float; any real number will do, text and complex numbers will not."""
    try:
        # A number in an array of no dimensions counts as the number.
        inner = value.item() if getattr(value, "shape", None) == () else value
        number = float(inner) if isinstance(inner, Real) and _counts(value) and _counts(inner) else None
    except (OverflowError, ValueError):
        number = None
    if number is None:
        raise InputError(f"{name} must be a number, not {shown(value)}.")
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, not {shown(value)}.")
    return number


def truth(value: Any, name: str) -> bool:
    """The value as a bool; 0 and 1 will do."""
    is_bool = isinstance(value, bool) or (getattr(value, "shape", None) == () and str(getattr(value, "dtype", "")) == "bool")
    if is_bool or _whole(value) in (0, 1):
        return bool(value)
    raise InputError(f"{name} must be True or False, not {shown(value)}.")


def shown(value: Any) -> str:
    """A value for a sentence: in one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _whole(value: Any) -> int | None:
    if not _counts(value):
        return None
    try:
        return operator.index(value)
    except TypeError:
        is_whole = isinstance(value, Real) and math.isfinite(value) and value == math.floor(value)
        return math.floor(value) if is_whole else None


def _counts(value: Any) -> bool:
    """Whether it may be a number at all: truth values are none, nor are the times that NumPy takes for integers."""
    return not isinstance(value, bool) and getattr(getattr(value, "dtype", None), "kind", "") not in ("b", "m", "M")
