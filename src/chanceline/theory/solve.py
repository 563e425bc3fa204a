"""`solve(alpha, rho)`: the replica solution at one point of the diagram."""

from __future__ import annotations

from chanceline._validation import shown
from chanceline.errors import InputError
from chanceline.theory.patterns import Patterns
from chanceline.theory.rsb import OneStepSolution, solve_1rsb
from chanceline.theory.symmetric import RSSolution, solve_rs


def solve(
    alpha: float, rho: float, ansatz: str = "rs", *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0
) -> RSSolution | OneStepSolution:
    """Solve the saddle-point equations at load α = P/N and density ρ = M/N.

    Parameters
    ----------
    alpha
        Patterns per variable, positive.
    rho
        Share of the variables that the perceptron may keep, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric, or "1rsb", one step of symmetry breaking between supports (where there is any).
    balance, margin, errors
        Share of positive patterns, margin wanted and share of errors allowed, as in `capacity`.

    Returns
    -------
    RSSolution or OneStepSolution
        Order parameters, entropy Σ of separating choices, both stability products, residual and quadrature error.
    """
    patterns = Patterns.checked(balance, margin, errors)
    if not isinstance(ansatz, str) or ansatz not in ("rs", "1rsb"):
        raise InputError(f"ansatz must be 'rs' or '1rsb', but is {shown(ansatz)}")
    return solve_rs(alpha, rho, patterns) if ansatz == "rs" else solve_1rsb(alpha, rho, patterns)
