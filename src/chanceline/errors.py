"""The two ways a call can fail: what was asked makes no sense, or the numbers did not settle. The system's are its own."""

from __future__ import annotations


class ChancelineError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(ChancelineError, ValueError):
    """The input is wrong; the message is one sentence that names the culprit and the remedy (exit code 2)."""


class ConvergenceError(ChancelineError, ArithmeticError):
    """A solver stopped short of its tolerance; the message says where it stopped and what to try (exit code 1)."""
