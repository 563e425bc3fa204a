"""Checks of what a user gives the theory: one sentence that names the culprit."""

from __future__ import annotations

from chanceline._validation import real_number
from chanceline.errors import InputError

SMALLEST = 1e-200


def check_rho(rho: float) -> float:
    """ρ as a float strictly between 0 and 1, or InputError."""
    value = check_number("rho", rho)
    if 0 < value < SMALLEST:
        raise InputError(f"rho = {value:g} is too close to 0 to resolve; choose a larger rho")
    if not 0 < value < 1:
        raise InputError(f"rho must lie strictly between 0 and 1 (it is the share of variables kept), but is {rho!r}")
    return value


def check_alpha(alpha: float) -> float:
    """α as a positive float, or InputError."""
    value = check_number("alpha", alpha)
    if 0 < value < SMALLEST:
        raise InputError(f"alpha = {value:g} is too close to 0 to resolve; choose a larger load")
    if not value > 0:
        raise InputError(f"alpha must be positive (it is the number of patterns per variable), but is {alpha!r}")
    return value


def check_number(name: str, value: float) -> float:
    """A finite float, or InputError."""
    return real_number(value, name)
