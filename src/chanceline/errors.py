"""What is wrong with a call: what was asked makes no sense, or the numbers did not settle; and checks of numbers from outside.

What the system refuses is its own OSError. Whatever else is raised, a plain ValueError too, is an error of this program.
"""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

LARGEST = 2**63 - 1  # what a compiled loop can count
SHOWN = 60


class ChancelineError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(ChancelineError, ValueError):
    """The input is wrong; the message is one sentence that names the culprit and the remedy (exit code 2)."""


class ConvergenceError(ChancelineError, ArithmeticError):
    """A solver stopped short of its tolerance; the message says where it stopped and what to try (exit code 1)."""


def whole_number(value: Any, name: str, *, at_least: int = 0, at_most: int = LARGEST) -> int:
    """The value as an int within limits; 3.0 will do, True and "3" will not.

    Parameters
    ----------
    value : what was given.
    name : what the sentence calls it, such as "the number of samples" or "seed".
    at_least, at_most : its limits, both allowed.
    """
    try:
        is_float = isinstance(value, Real) and float(value).is_integer()
        number = math.floor(value) if is_float else operator.index(value)
    except (TypeError, OverflowError):
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, not {shown(value)}.")
    if not at_least <= number <= at_most:
        limits = (
            f"at least {at_least:,}"
            if at_most == LARGEST
            else f"between {at_least:,} and {at_most:,}"
        )
        raise InputError(f"{name} must be {limits}, not {shown(number)}.")
    return number


def real_number(
    value: Any, name: str, *, above: float = -math.inf, below: float = math.inf
) -> float:
    """The value as a finite float strictly within limits; text and truth values will not do."""
    if isinstance(value, bool | str | bytes):
        raise InputError(f"{name} must be a number, not {shown(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {shown(value)}.") from None
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, not {shown(value)}.")
    if not above < number < below:
        limits = (
            f"lie strictly between {above:g} and {below:g}"
            if below < math.inf
            else f"be greater than {above:g}"
        )
        raise InputError(f"{name} must {limits}, not {shown(value)}.")
    return number


def shown(value: Any) -> str:
    """A value for a sentence: in one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
