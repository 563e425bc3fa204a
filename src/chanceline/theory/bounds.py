"""The loads in closed form, or as the root of elementary functions, that lie around α_VS(ρ)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from chanceline.errors import ConvergenceError
from chanceline.theory.closed_forms import cover_gardner, l0_gardner, union_bound, vapnik_chervonenkis
from chanceline.theory.gardner import gardner
from chanceline.theory.gardner_broken import broken_load
from chanceline.theory.kernels import PatternSide, binary_entropy, pattern_side
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.solver import Newton, OutsideDomain, Solved, difference_jacobian, first_success

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """The closed-form loads around α_VS, in their order for small ρ.

    `vc` is None with a margin: no load is so small that *every* choice of variables leaves one.
    """

    vc: float | None
    cover_gardner: float
    union: float
    l0_gardner: float


def bounds_at(rho: float, patterns: Patterns = PLAIN) -> Bounds:
    """α_VC, α_CG = ρα_c, the union bound and ℓ₀-Gardner, α_c[ρ + 2tφ(t)] with 2H(t) = ρ; α_c as in `gardner`."""
    vc = None if patterns.margin else vapnik_chervonenkis(rho)
    if patterns.plain:
        return Bounds(vc, cover_gardner(rho), union_bound(rho), l0_gardner(rho))
    top = gardner(patterns).load
    return Bounds(vc, rho * typical_load(patterns), first_moment_load(rho, patterns), top * l0_gardner(rho) / 2)


def typical_load(patterns: Patterns) -> float:
    """α_CG/ρ: what all variables of a typical choice can do; with errors one step broken, as the symmetric load is too high."""
    return broken_load(patterns) if patterns.errors else gardner(patterns).load


@dataclass(frozen=True)
class _FirstMoment:
    """The equations of the first moment at one point: stationary in χ (which gives α/ρ), threshold and price, and zero."""

    alpha: float
    rho: float
    residual: Array
    jacobian: Array


@dataclass(frozen=True)
class _Known:
    """Which of α and ρ is given; the other follows."""

    name: str
    value: float


def first_moment_load(rho: float, patterns: Patterns) -> float:
    """The load where the expected number of (support, set of errors) pairs stops growing: an upper bound, by Markov.

    Its exponent is that of the replica calculation without overlap between supports, x = χ/ρ and A at s² = 1, χ = x:

        H₂(ρ) + ½ρ ln(1 + 1/x) + α{Σ_c f_c ln[A(τ_c) + e^{−y}] + yε},      τ_c = margin + σ_c b,

    stationary in x, b and y (y = ∞ without errors). For plain patterns this is Cover's count, `union_bound`. Infinite where so
    many errors are allowed that their choice alone outnumbers all labellings.
    """
    if _never_vanishes(patterns):
        return np.inf
    return _solve_first_moment(_Known("rho", rho), rho, patterns).alpha


def first_moment_density(alpha: float, patterns: Patterns) -> float:
    """Where the same expected number is 1 at load α: a lower bound on ρ_VS(α); 0 where `first_moment_load` is infinite."""
    if _never_vanishes(patterns):
        return 0.0
    low, high = -40.0, 30.0
    # For plain patterns α_union has its maximum inside; the density is sought on its rising side.
    scale = gardner(replace(patterns, errors=0.0)).load / 2
    wanted = min(alpha / scale, 2.0)
    guess = float(expit(brentq(lambda x: l0_gardner(float(expit(x))) - wanted, low, high))) if wanted < 2 else 0.5
    return _solve_first_moment(_Known("alpha", alpha), guess, patterns).rho


def _solve_first_moment(known: _Known, rho: float, patterns: Patterns) -> _FirstMoment:
    plain = rho / union_bound(rho)
    ratio = plain / (1 - plain)  # √(x/(1 + x)), as αp₊ = ρ there
    point = np.array([2 * np.log(ratio) - np.log1p(-(ratio**2))])
    faultless = replace(patterns, errors=0.0)
    if patterns.free_threshold:
        point = np.append(point, gardner(faultless).threshold)
    start = _stationary(point, known, faultless)
    if not patterns.errors:
        return start.state

    def with_errors(factor: float) -> Solved[_FirstMoment]:
        """From no errors to more and more, each share `factor` times the last and started from it."""
        share, shares = patterns.errors, [patterns.errors]
        while factor < 1e6 and share > 1e-3 * binary_entropy(rho):
            share /= factor
            shares.append(share)
        point = np.append(start.unknowns, _price(start.unknowns, share, faultless))
        for share in reversed(shares):
            solved = _stationary(point, known, replace(patterns, errors=share))
            point = solved.unknowns
        return solved

    found = first_success(with_errors, (1e9, 4.0, 1.5, 1.15, 1.04, 1.01))
    if not patterns.free_threshold:
        return found.state
    # With many errors a second threshold can be stationary, one that gives the rarer class up; the larger moment is the bound.
    other = np.array([found.unknowns[0], gardner(patterns).threshold])
    try:
        second = _stationary(np.append(other, _price(other, patterns.errors, faultless)), known, patterns)
    except ConvergenceError:
        return found.state
    return max(found.state, second.state, key=lambda state: state.alpha / state.rho)


def _class_weights(point: Array, patterns: Patterns) -> tuple[Array, PatternSide]:
    """The share of each class, and its pattern side at the point (ln x, b if the threshold is free, …)."""
    shares, signs = np.array(patterns.classes).T
    threshold = point[1] if patterns.free_threshold else 0.0
    return shares, pattern_side(patterns.margin + signs * threshold, 1.0, float(np.exp(point[0])))


def _price(point: Array, share: float, patterns: Patterns) -> float:
    """The price y at which the share of errors, Σ_c f_c e^{−y}/(A_c + e^{−y}), is the one given."""
    shares, side = _class_weights(point, patterns)
    return float(brentq(lambda y: float(shares @ expit(-y - side.log_a)) - share, -50.0, 50.0 - float(np.min(side.log_a))))


def _never_vanishes(patterns: Patterns) -> bool:
    """Whether so many errors are allowed that their choice alone outnumbers all labellings, at any load.

    For α → ∞ a support does no better than a random one, A → Φ(−τ): the exponent in braces is then max_b of its value there.
    """
    if not patterns.errors:
        return False
    shares, signs = np.array(patterns.classes).T
    right = ndtr(-patterns.margin - signs * np.linspace(-8, 8, 321)[:, None])
    price = np.linspace(-5, 60, 651)[:, None, None]
    # A concave maximum over the threshold of a convex minimum over the price.
    values = np.log(right + np.exp(-price)) @ shares + price[:, :, 0] * patterns.errors
    return bool(values.min(axis=0).max() >= 0)


def _stationary(start: Array, known: _Known, patterns: Patterns) -> Solved[_FirstMoment]:
    def residual(point: Array) -> Array:
        return _first_moment(point, known, patterns).residual

    def equations(point: Array) -> _FirstMoment:
        return replace(_first_moment(point, known, patterns), jacobian=difference_jacobian(residual, point))

    what = f"the first moment at {known.name} = {known.value:.10g}, {patterns.describe()}"
    return Newton(tolerance=1e-11, step_tolerance=1e-7, iterations=60).solve(equations, start, what)


def _first_moment(point: Array, known: _Known, patterns: Patterns) -> _FirstMoment:
    x, signs = float(np.exp(point[0])), np.array(patterns.classes).T[1]
    shares, side = _class_weights(point, patterns)
    price = float(point[-1]) if patterns.errors else np.inf
    log_weight = np.logaddexp(side.log_a, -price)
    kept = np.exp(side.log_a - log_weight)  # probability that a pattern is not one of the errors
    load = x / (1 + x) / float(shares @ (kept * side.second))  # α/ρ
    rho, alpha = (known.value, load * known.value) if known.name == "rho" else (known.value / load, known.value)
    if not 0 < rho < 1:
        raise OutsideDomain("0 < ρ < 1 is needed")
    inside = float(shares @ log_weight) + (price * patterns.errors if patterns.errors else 0.0)
    residual = [(binary_entropy(rho) + 0.5 * rho * np.log1p(1 / x) + alpha * inside) / binary_entropy(rho)]
    if patterns.free_threshold:
        residual.append(float((shares * signs) @ (kept * side.mean)))
    if patterns.errors:
        residual.append(float(shares @ np.exp(-price - log_weight)) / patterns.errors - 1)
    return _FirstMoment(alpha, rho, np.array(residual), np.eye(len(point)))
