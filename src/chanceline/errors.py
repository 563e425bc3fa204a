"""What is wrong with a call, and checks of numbers from outside.

What was asked makes no sense (`InputError`), or the numbers did not settle (`ConvergenceError`).
What the system refuses is its own OSError. Whatever else is raised, a plain ValueError too, is an
error of this program.
"""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

LARGEST_COUNT = 2**63 - 1  # what a compiled loop can count
MAX_SHOWN_LETTERS = 60  # of a value in a sentence


class ChancelineError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(ChancelineError, ValueError):
    """The input is wrong (exit code 2); the message names the culprit and the remedy.

    Attributes
    ----------
    step : at which step of reading a table it came up (`tables.reading_steps`); else empty. A page
        shows the message beside the fields of that step.
    """

    step: str = ""


class ConvergenceError(ChancelineError, ArithmeticError):
    """A solver stopped short of its tolerance (exit code 1); the message says what to try."""


def whole_number(value: Any, name: str, *, at_least: int = 0, at_most: int = LARGEST_COUNT) -> int:
    """Return the value as an int; raise InputError if it is no whole number or beyond the limits.

    A float without fraction such as 3.0 is accepted; True and "3" are refused.

    Parameters
    ----------
    value : the value to check, of any type.
    name : what the error message calls the value, such as "the number of samples" or "seed".
    at_least, at_most : the limits, both inclusive.
    """
    number = _as_integer(value)
    if number is None:
        raise InputError(f"{name} must be a whole number, not {shown(value)}.")
    if not at_least <= number <= at_most:
        limits = f"between {at_least:,} and {at_most:,}"
        if at_most == LARGEST_COUNT:  # the caller gave no upper limit
            limits = f"at least {at_least:,}"
        raise InputError(f"{name} must be {limits}, not {shown(number)}.")
    return number


def _as_integer(value: Any) -> int | None:
    """The value as an int; None if it is no whole number."""
    if isinstance(value, bool):
        return None  # True and False, though Python takes them for 1 and 0
    try:
        # Real numbers of Python and numpy: 3, 3.0, np.float64(3).
        is_whole = isinstance(value, Real) and float(value).is_integer()
        if is_whole:
            return int(value)
        # Other types that stand for integers have the method __index__. For anything else, text and
        # fractions among them, this raises a TypeError.
        return operator.index(value)
    except (TypeError, OverflowError):
        return None


def real_number(
    value: Any, name: str, *, above: float = -math.inf, below: float = math.inf
) -> float:
    """Return the value as a float; raise InputError unless it is finite and within the limits.

    Text and truth values are refused, even where float() would take them.

    Parameters
    ----------
    value : the value to check, of any type.
    name : what the error message calls the value.
    above, below : the limits, both exclusive. `below` is never given without `above`.
    """
    if isinstance(value, bool | str | bytes):
        raise InputError(f"{name} must be a number, not {shown(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {shown(value)}.") from None
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, not {shown(value)}.")
    if not above < number < below:
        limits = f"be greater than {above:g}"
        if below < math.inf:
            limits = f"lie strictly between {above:g} and {below:g}"
        raise InputError(f"{name} must {limits}, not {shown(value)}.")
    return number


def shown(value: Any) -> str:
    """A value for a sentence: its `repr` in one line, cut if it is too long."""
    text = " ".join(repr(value).split())
    if len(text) > MAX_SHOWN_LETTERS:
        return f"{text[: MAX_SHOWN_LETTERS - 1]}…"
    return text
