"""The loads around α_VS(ρ) that need no replica calculation, or only one with all variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from chanceline.errors import ConvergenceError
from chanceline.theory.ensemble import PLAIN, Ensemble, binary_entropy, gardner, l0_gardner, l0_load, union_bound
from chanceline.theory.kernels import PatternSide, class_sides, pattern_means, pattern_side
from chanceline.theory.numerics import STEP, Array, Newton, OutsideDomain, Solved, first_success, follow


@dataclass(frozen=True)
class Bounds:
    """The loads around α_VS, in their order for small ρ.

    `vc` = α_VC = ρ: below it *every* choice of ρN variables separates patterns in general position; None with a margin, which no
    load is small enough to leave for every choice, or given signs. `cover_gardner` = α_CG, 2ρ for the plain ensemble, ρ with
    given signs: below it a *typical* choice separates (Cover 1965, Gardner 1988, Amit, Wong and Campbell 1989).
    """

    vc: float | None
    cover_gardner: float
    union: float
    l0_gardner: float


def bounds_at(rho: float, ensemble: Ensemble = PLAIN) -> Bounds:
    """α_VC, α_CG = ρα_c, the union bound and ℓ₀-Gardner; α_c as in `gardner`.

    With given signs the union bound of the plain ensemble is lower by exactly ρ. Of M columns, the P rows and the M unit vectors
    are P + M points in general position in M dimensions, and for symmetric inputs all their 2^{P+M} sign patterns are as likely:
    weights ≥ 0 that separate exist with Cover's probability for P + M points (Wendel 1962), 2^{1−P−M} Σ_{k<M} C(P + M − 1, k).
    """
    vc = None if ensemble.margin or ensemble.signed else rho
    if ensemble.plain:
        return Bounds(vc, 2 * rho, union_bound(rho), l0_gardner(rho))
    return Bounds(vc, rho * typical_load(ensemble), first_moment_load(rho, ensemble), l0_load(rho, ensemble))


def typical_load(ensemble: Ensemble) -> float:
    """α_CG/ρ: what all variables of a typical choice can do; with errors one step broken, as the symmetric load is too high."""
    return one_step_gardner(ensemble).state.alpha if ensemble.error_rate else gardner(ensemble).load


# The first moment: the expected number of separating supports.


@dataclass(frozen=True)
class Counted:
    """Where an exponent of a number of solutions should be stationary and zero: the load, the density and the errors of that."""

    alpha: float
    rho: float
    residual: Array


def first_moment_load(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """The load where the expected number of (support, set of errors) pairs stops growing: an upper bound, by Markov.

    Its exponent is that of the replica calculation without overlap between supports, x = χ/ρ and A at s² = 1, χ = x:

        H₂(ρ) + ½ρ ln(1 + 1/x) + α{Σ_c f_c ln[A(τ_c) + e^{−y}] + yε},      τ_c = margin + σ_c b,

    stationary in x, b and y (y = ∞ without errors). With given signs the second term is ρ ln[½ + ½√(1 + 1/x)]. For the plain
    ensemble this is Cover's count, `union_bound`. Infinite where so many errors are allowed that their choice alone outnumbers
    all labellings.
    """
    if _never_vanishes(ensemble):
        return np.inf
    return _solve_first_moment(rho, ensemble, f"the first moment at rho = {rho:.10g}", lambda load: (rho, load * rho)).alpha


def first_moment_density(alpha: float, ensemble: Ensemble = PLAIN) -> float:
    """Where the same expected number is 1 at load α: a lower bound on ρ_VS(α); 0 where `first_moment_load` is infinite."""
    if _never_vanishes(ensemble):
        return 0.0
    # For the plain ensemble α_union has its maximum inside; the density is sought on its rising side.
    scale = gardner(replace(ensemble, error_rate=0.0)).load / 2
    wanted = min(alpha / scale, 2.0)
    guess = float(expit(brentq(lambda x: l0_gardner(float(expit(x))) - wanted, -40.0, 30.0))) if wanted < 2 else 0.5
    what = f"the first moment at alpha = {alpha:.10g}"
    return _solve_first_moment(guess, ensemble, what, lambda load: (alpha / load, alpha)).rho


def _solve_first_moment(rho: float, ensemble: Ensemble, what: str, place: Callable[[float], tuple[float, float]]) -> Counted:
    """The zero from a density near to it; `place` gives (ρ, α) from α/ρ, one of them known."""

    def stationary(start: Array, ensemble: Ensemble) -> Solved[Counted]:
        return Newton(tolerance=1e-11, step_tolerance=1e-7, iterations=60).solve(
            lambda point: _first_moment(point, place, ensemble), start, ensemble.label(what)
        )

    plain = rho / union_bound(rho)
    ratio = plain / (1 - plain)  # √(x/(1 + x)), as αp₊ = ρ there; the same with given signs, where α is less by ρ
    point = np.array([2 * np.log(ratio) - np.log1p(-(ratio**2))])
    faultless = replace(ensemble, error_rate=0.0)
    if ensemble.free_threshold:
        point = np.append(point, gardner(faultless).threshold)
    start = stationary(point, faultless)
    if not ensemble.error_rate:
        return start.state

    def with_errors(factor: float) -> Solved[Counted]:
        """From no errors to more and more, each rate `factor` times the last and started from it."""
        rates = [ensemble.error_rate]
        while factor < 1e6 and rates[-1] > 1e-3 * binary_entropy(rho):
            rates.append(rates[-1] / factor)
        point = np.append(start.unknowns, _log_weight(start.unknowns, rates[-1], faultless))
        for rate in reversed(rates):
            solved = stationary(point, replace(ensemble, error_rate=rate))
            point = solved.unknowns
        return solved

    found = first_success(with_errors, (1e9, 4.0, 1.5, 1.15, 1.04, 1.01))
    if not ensemble.free_threshold:
        return found.state
    # With many errors a second threshold can be stationary, one that gives the rarer class up; the larger moment is the bound.
    other = np.array([found.unknowns[0], gardner(ensemble).threshold])
    try:
        second = stationary(np.append(other, _log_weight(other, ensemble.error_rate, faultless)), ensemble)
    except ConvergenceError:
        return found.state
    return max(found.state, second.state, key=lambda state: state.alpha / state.rho)


def _class_weights(point: Array, ensemble: Ensemble) -> tuple[Array, Array, PatternSide]:
    """The share and sign of each class, and its pattern side at the point (ln x, b if the threshold is free, …)."""
    shares, signs = np.array(ensemble.classes).T
    threshold = point[1] if ensemble.free_threshold else 0.0
    return shares, signs, pattern_side(ensemble.margin + signs * threshold, 1.0, float(np.exp(point[0])))


def _log_weight(point: Array, rate: float, ensemble: Ensemble) -> float:
    """The y at which the error rate, Σ_c f_c e^{−y}/(A_c + e^{−y}), is the one given."""
    shares, _, side = _class_weights(point, ensemble)
    return float(brentq(lambda y: float(shares @ expit(-y - side.log_a)) - rate, -50.0, 50.0 - float(np.min(side.log_a))))


def _never_vanishes(ensemble: Ensemble) -> bool:
    """Whether so many errors are allowed that their choice alone outnumbers all labellings, at any load.

    For α → ∞ a support does no better than a random one, A → Φ(−τ): the exponent in braces is then max_b of its value there.
    """
    if not ensemble.error_rate:
        return False
    shares, signs = np.array(ensemble.classes).T
    right = ndtr(-ensemble.margin - signs * np.linspace(-8, 8, 321)[:, None])
    y = np.linspace(-5, 60, 651)[:, None, None]
    # A concave maximum over the threshold of a convex minimum over y.
    values = np.log(right + np.exp(-y)) @ shares + y[:, :, 0] * ensemble.error_rate
    return bool(values.min(axis=0).max() >= 0)


def _first_moment(point: Array, place: Callable[[float], tuple[float, float]], ensemble: Ensemble) -> Counted:
    """The equations of the first moment: stationary in χ (which gives α/ρ), threshold and y, and zero."""
    x, epsilon = float(np.exp(point[0])), ensemble.error_rate
    shares, signs, side = _class_weights(point, ensemble)
    y = float(point[-1]) if epsilon else np.inf
    log_weight = np.logaddexp(side.log_a, -y)
    right = np.exp(side.log_a - log_weight)  # probability that a pattern is not one of the errors
    root = np.sqrt(1 + 1 / x)
    gain = 0.5 + 0.5 * root if ensemble.signed else root
    rho, alpha = place(ensemble.widest / (root * gain) / float(shares @ (right * side.second)))
    if not 0 < rho < 1:
        raise OutsideDomain("0 < ρ < 1 is needed")
    inside = float(shares @ log_weight) + (y * epsilon if epsilon else 0.0)
    residual = [(binary_entropy(rho) + rho * np.log(gain) + alpha * inside) / binary_entropy(rho)]
    if ensemble.free_threshold:
        residual.append(float((shares * signs) @ (right * side.mean)))
    if epsilon:
        residual.append(float(shares @ np.exp(-y - log_weight)) / epsilon - 1)
    return Counted(alpha, rho, np.array(residual))


# All variables, with errors: one step of breaking.

# A start near the solution without threshold and margin at errors 0.1: ln χ, logit q₀, ln t*. All others are followed from there.
_ERROR_RATE, _START = 0.1, np.array([-3.6, 1.23, -0.754])


def clusters(point: Array, ensemble: Ensemble) -> Counted:
    """The equations at (ln χ, logit q₀, b if the threshold is free, ln t*); α⟨p₊ − v*e* + κR₁⟩ = 1 gives the load."""
    if np.abs(point).max() > 60:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    chi, q0, s2, ceiling = np.exp(point[0]), expit(point[1]), expit(-point[1]), np.exp(point[-1])
    threshold = float(point[2]) if ensemble.free_threshold else 0.0
    means = pattern_means(class_sides(ensemble, 1.0, q0, s2, chi, threshold, ceiling, STEP), ensemble, 1.0)
    if not means.isostatic[0] > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = 1 / means.isostatic[0]
    width, price = chi + s2, ceiling**2 / (2 * chi)
    entropy = alpha * (means.log_a + price * ensemble.error_rate) + 0.5 * np.log1p(s2 / chi) + 0.5 * q0 / width
    square = alpha * means.square[0] / chi**2
    residual = [square * width**2 / q0 - 1, means.wrong[0] / ensemble.error_rate - 1, float(entropy)]
    if ensemble.free_threshold:
        residual.append(means.by_threshold[0])
    return Counted(float(alpha), 1.0, np.array(residual))


@lru_cache(maxsize=64)
def one_step_gardner(ensemble: Ensemble) -> Solved[Counted]:
    """α_c with *all* variables when errors are allowed, one step broken: where α_VS with errors ends as ρ → 1.

    With errors the weights that classify well form several clusters, and Gardner and Derrida's load (`gardner`), which is replica
    symmetric, is too high. One step of breaking (Majer, Engel and Zippelius, J. Phys. A 26, 7405, 1993) counts the clusters. For
    |w| = 1, overlap q₀ between clusters and s² = 1 − q₀ the exponent of their number is

        Σ(q₀, χ, b, y) = α Σ_c f_c ∫Dz ln A(√q₀ z + θ_c) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²) + yαε,

    stationary in q₀, χ, b and y, with A of `kernels`; the capacity is its zero, where the last cluster vanishes. It is the same
    function as that of `rs` at ρ = 1, where the only choices left to count are the clusters themselves: Σ of `rs` with errors
    counts pairs of a support and a cluster.
    """

    def solve_at(share: float, start: Array) -> Solved[Counted]:
        """On the way from the start (share 0) to the ensemble wanted (share 1)."""
        rate = _ERROR_RATE ** (1 - share) * ensemble.error_rate**share
        between = Ensemble(0.5 + (ensemble.balance - 0.5) * share, ensemble.margin * share, rate)
        return Newton(tolerance=1e-11, step_tolerance=1e-7).solve(
            lambda point: clusters(point, between), start, between.label("clusters of weights")
        )

    first = solve_at(0.0, _START)
    if ensemble.free_threshold:
        first = replace(first, unknowns=np.insert(first.unknowns, 2, 0.0))
    *_, last = follow(solve_at, first, 0.0, 0.25, until=1.0)
    return last
