"""The first moment: where the expected number of pairs (support, set of errors) stops growing.

Its exponent is that of the replica calculation without overlap between supports, x = χ/ρ and A of
`patterns` at s² = 1, χ = x:

    H₂(ρ) + ½ρ ln(1 + 1/x) + α{Σ_c f_c ln[A(τ_c) + e^{−y}] + yε},      τ_c = margin + σ_c b,

stationary in x, b and y (y = ∞ without errors). With given signs the second term is ρ ln[½ + ½√(1 +
1/x)]. For the plain ensemble this is Cover's count, `closed_forms.union_bound`. By Markov the zero
is an upper bound on the load, or a lower bound on the density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from chanceline.errors import ConvergenceError
from chanceline.theory.closed_forms import binary_entropy, l0_gardner, union_bound
from chanceline.theory.continuation import first_success
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import Newton, OutsideDomain, Solved
from chanceline.theory.patterns import PatternSide, pattern_side
from chanceline.theory.quadrature import Array

# From no errors to those wanted the rate grows by such factors; the next is tried where one fails.
_RATE_FACTORS = (1e9, 4.0, 1.5, 1.15, 1.04, 1.01)
# A factor as large as this goes to the rate wanted at once.
_AT_ONCE = 1e6
# Errors below this share of H₂(ρ) change little, and the point without errors starts them.
_FIRST_RATE = 1e-3
# Ends of the search for y and logit ρ: beyond them weights and densities are out of reach.
_LARGEST_Y = 50.0
_LOWEST_LOGIT = -40.0
_HIGHEST_LOGIT = 30.0

# From the load per density α/ρ to (ρ, α), one of them known.
Scaling = Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Counted:
    """Where an exponent of a number of solutions should be stationary and zero."""

    alpha: float
    rho: float
    residual: Array  # how far it is not, (equations,)


def first_moment_load(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """The load where the expected number of (support, set of errors) pairs stops growing.

    An upper bound on the capacity, by Markov. Infinite where so many errors are allowed that their
    choice alone outnumbers all labellings.
    """
    if _never_vanishes(ensemble):
        return np.inf
    counted = _solve_first_moment(
        rho,
        ensemble,
        name=f"the first moment at rho = {rho:.10g}",
        scaling=lambda load: (rho, load * rho),
    )
    return counted.alpha


def first_moment_density(alpha: float, ensemble: Ensemble = PLAIN) -> float:
    """Where the same expected number is 1 at load α: a lower bound on ρ_VS(α).

    It is 0 where `first_moment_load` is infinite.
    """
    if _never_vanishes(ensemble):
        return 0.0
    counted = _solve_first_moment(
        _density_nearby(alpha, ensemble),
        ensemble,
        name=f"the first moment at alpha = {alpha:.10g}",
        scaling=lambda load: (alpha / load, alpha),
    )
    return counted.rho


def _density_nearby(alpha: float, ensemble: Ensemble) -> float:
    """A density to start from: where the ℓ₀-Gardner load, scaled to this ensemble, is α.

    For the plain ensemble α_union has its maximum inside; this lies on its rising side.
    """
    scale = gardner(replace(ensemble, error_rate=0.0)).load / 2
    load = min(alpha / scale, 2.0)
    if load >= 2:
        return 0.5

    def excess(logit_rho: float) -> float:
        return l0_gardner(float(expit(logit_rho))) - load

    return float(expit(brentq(excess, _LOWEST_LOGIT, _HIGHEST_LOGIT)))


def _solve_first_moment(rho: float, ensemble: Ensemble, name: str, scaling: Scaling) -> Counted:
    """The zero of the exponent, from a density near to it.

    Without errors first, from the plain ensemble; then the error rate is raised step by step.
    """

    def stationary(start: Array, ensemble: Ensemble) -> Solved[Counted]:
        newton = Newton(tolerance=1e-11, step_tolerance=1e-7, iterations=60)
        return newton.solve(
            lambda point: _first_moment(point, scaling, ensemble), start, ensemble.label(name)
        )

    faultless = replace(ensemble, error_rate=0.0)
    without_errors = stationary(_start_without_errors(rho, faultless), faultless)
    if not ensemble.error_rate:
        return without_errors.state

    def with_growing_rate(factor: float) -> Solved[Counted]:
        """Each rate is `factor` times the last and started from it."""
        rates = [ensemble.error_rate]
        while factor < _AT_ONCE and rates[-1] > _FIRST_RATE * binary_entropy(rho):
            rates.append(rates[-1] / factor)
        y = _log_weight(without_errors.unknowns, rates[-1], faultless)
        point = np.append(without_errors.unknowns, y)
        for rate in reversed(rates):
            solved = stationary(point, replace(ensemble, error_rate=rate))
            point = solved.unknowns
        return solved

    with_errors = first_success(with_growing_rate, _RATE_FACTORS)
    if not ensemble.free_threshold:
        return with_errors.state

    # With many errors a second threshold can be stationary, one that gives the rarer class up; the
    # larger moment is the bound.
    log_x = with_errors.unknowns[0]
    second_start = np.array([log_x, gardner(ensemble).threshold])
    y = _log_weight(second_start, ensemble.error_rate, faultless)
    try:
        second = stationary(np.append(second_start, y), ensemble)
    except ConvergenceError:
        return with_errors.state
    return max(with_errors.state, second.state, key=lambda state: state.alpha / state.rho)


def _start_without_errors(rho: float, faultless: Ensemble) -> Array:
    """(ln x, and b if the threshold is free) from the plain ensemble, where αp₊ = ρ."""
    rho_over_alpha = rho / union_bound(rho)
    # √(x/(1 + x)); the same with given signs, where α is less by ρ.
    ratio = rho_over_alpha / (1 - rho_over_alpha)
    point = np.array([2 * np.log(ratio) - np.log1p(-(ratio**2))])
    if faultless.free_threshold:
        point = np.append(point, gardner(faultless).threshold)
    return point


class _Classes(NamedTuple):
    """Share and sign of each class, (classes,), and its pattern side."""

    shares: Array
    signs: Array
    side: PatternSide


def _classes_at(point: Array, ensemble: Ensemble) -> _Classes:
    """The classes at the point (ln x, b if the threshold is free, …)."""
    shares, signs = np.array(ensemble.classes).T
    threshold = point[1] if ensemble.free_threshold else 0.0
    side = pattern_side(ensemble.margin + signs * threshold, 1.0, float(np.exp(point[0])))
    return _Classes(shares, signs, side)


def _log_weight(point: Array, rate: float, ensemble: Ensemble) -> float:
    """The y at which the error rate, Σ_c f_c e^{−y}/(A_c + e^{−y}), is `rate`."""
    shares, _, side = _classes_at(point, ensemble)

    def excess(y: float) -> float:
        return float(shares @ expit(-y - side.log_a)) - rate

    return float(brentq(excess, -_LARGEST_Y, _LARGEST_Y - float(np.min(side.log_a))))


def _never_vanishes(ensemble: Ensemble) -> bool:
    """Whether so many errors are allowed that their choice alone outnumbers all labellings.

    For α → ∞ a support does no better than a random one, A → Φ(−τ): the exponent in braces is then
    max_b of its value there, a maximum over the threshold of a minimum over y.
    """
    if not ensemble.error_rate:
        return False
    shares, signs = np.array(ensemble.classes).T
    thresholds = np.linspace(-8, 8, 321)[:, None]
    right = ndtr(-ensemble.margin - signs * thresholds)  # (thresholds, classes)
    y = np.linspace(-5, 60, 651)[:, None, None]
    values = np.log(right + np.exp(-y)) @ shares + y[:, :, 0] * ensemble.error_rate
    return bool(values.min(axis=0).max() >= 0)


def _first_moment(point: Array, scaling: Scaling, ensemble: Ensemble) -> Counted:
    """The equations: zero, and stationary in x (which gives α/ρ), threshold and y.

    The point is (ln x, b if the threshold is free, y if errors are allowed).
    """
    x = float(np.exp(point[0]))
    error_rate = ensemble.error_rate
    y = float(point[-1]) if error_rate else np.inf
    shares, signs, side = _classes_at(point, ensemble)
    log_weight = np.logaddexp(side.log_a, -y)  # ln[A + e^{−y}], (classes,)
    right = np.exp(side.log_a - log_weight)  # probability that a pattern is not one of the errors

    # Stationary in x.
    root = np.sqrt(1 + 1 / x)
    gain = 0.5 + 0.5 * root if ensemble.signed else root
    load = ensemble.widest / (root * gain) / float(shares @ (right * side.second))
    rho, alpha = scaling(load)
    if not 0 < rho < 1:
        raise OutsideDomain("0 < ρ < 1 is needed")

    # The exponent, relative to the entropy of all choices, and its other derivatives.
    braces = float(shares @ log_weight)
    if error_rate:
        braces += y * error_rate
    exponent = binary_entropy(rho) + rho * np.log(gain) + alpha * braces
    residual = [exponent / binary_entropy(rho)]
    if ensemble.free_threshold:
        residual.append(float((shares * signs) @ (right * side.mean)))
    if error_rate:
        wrong = float(shares @ np.exp(-y - log_weight))
        residual.append(wrong / error_rate - 1)
    return Counted(alpha=alpha, rho=rho, residual=np.array(residual))
