"""The margin that a load leaves: the capacity with a margin, turned round."""

from __future__ import annotations

from scipy.optimize import brentq

from chanceline.errors import InputError
from chanceline.theory.capacity import capacity_curve
from chanceline.theory.gardner import gardner
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.patterns import LARGEST_MARGIN, Patterns


def largest_margin(alpha: float, rho: float, *, balance: float = 0.5) -> float:
    """The largest margin κ, in units of |w|, with which some choice of ρN variables separates at load α.

    It solves capacity(rho, margin=κ) = α, replica symmetric, to six digits.
    """
    alpha, rho = check_alpha(alpha), check_rho(rho)

    def excess(margin: float) -> float:
        return capacity_curve([rho], margin=margin, balance=balance)[0].alpha - alpha

    if excess(0.0) < 0:
        raise InputError(f"at alpha = {alpha:g} no choice of a share rho = {rho:g} separates; choose a smaller alpha")
    if excess(LARGEST_MARGIN) > 0:
        raise InputError(f"alpha = {alpha:g} leaves a margin above {LARGEST_MARGIN:g}; choose a larger alpha")
    return float(brentq(excess, 0.0, LARGEST_MARGIN, xtol=1e-7, rtol=1e-7))


def typical_margin(alpha: float, rho: float, *, balance: float = 0.5) -> float:
    """The margin with a typical choice of ρN variables (Gardner's, in ρN dimensions): ρα_c(κ) = α."""
    alpha, rho = check_alpha(alpha), check_rho(rho)

    def excess(margin: float) -> float:
        return rho * gardner(Patterns.checked(balance, margin, 0.0)).load - alpha

    if excess(0.0) < 0:
        raise InputError(f"at alpha = {alpha:g} typical choices of a share rho = {rho:g} do not separate; choose a smaller alpha")
    if excess(LARGEST_MARGIN) > 0:
        raise InputError(f"alpha = {alpha:g} leaves a margin above {LARGEST_MARGIN:g}; choose a larger alpha")
    return float(brentq(excess, 0.0, LARGEST_MARGIN, xtol=1e-10))
