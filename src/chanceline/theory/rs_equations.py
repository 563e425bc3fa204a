"""Replica-symmetric equations above the Cover–Gardner load, in rescaled variables (m → 0).

Every saddle equation is a partial derivative of one function, the free entropy

    Σ(q₀, χ, E, F₁, F₀, K, b, y) = α Σ_c f_c ∫Dz ln A(√q₀ z + θ_c) + ∫Dz ln(1 + e^{−K}B) + Kρ
                                   + ½(E − F₁)ρ − ½F₁χ + ½F₀q₀ + yαε,

with A of `patterns` and B of `supports`, s² = ρ − q₀, d = E − F₁ + F₀, u = √F₀ z. Class c has the
share f_c and the offset θ_c = √ρ(margin + σ_c b); b is the threshold, ε the error rate allowed and
e^{−y} the weight of an error (y = ∞ without errors). With equal classes b = 0, and the paper's case
has θ = 0. The derivatives by E and F₁ give χE = ρ₊, the share of variables with a weight other than
zero: ρ, or less where the sign of each weight is given. Those by χ and q₀ give F₁ and F₀. What is
left to solve, with V = F₁ − F₀, is

    (1) ∫Dz p = ρ,    (2) ∫Dz p⟨w²⟩ = ρ,    (3) ∫Dz (p⟨w⟩)² = q₀,
    (4) F₀ = (α/χ²)⟨R₁²⟩,    (5) d = E − (α/χ²)⟨R₂ − R₁²⟩,
    (6) Σ_c σ_c f_c ∫Dz R₁ = 0,    (7) ⟨wrong⟩ = ε,

where ⟨·⟩ = Σ_c f_c ∫Dz, in the unknowns ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E) and, where they are
free, b and ln t*, v* = √ρ t* = √(2χy). (V and F₀ could be eliminated, but p(u) depends
exponentially on d, a small difference of large terms.)

The pattern term does not change when ρ, χ, q₀, θ² and v*² are scaled together (w → λw), the support
term not when E, F₁ and F₀ are. At the saddle these two Euler identities give

    α⟨p₊ − v*e* + κR₁/ρ⟩ = ρ₊,      κ = margin·√ρ,

which without margin and errors reads αp₊ = ρ₊: as many tight constraints as weights. It gives the
load as a function of the other unknowns, without cancellation near ρ = 1; along the branch χ falls
steadily from ∞ (at α_CG) to 0 (at α_ℓ₀) and is the parameter to follow. One of (2) and (3) is then
redundant: write X and Y for their errors; by Gaussian integration by parts on both sides, (1),
(4)–(7) and the identity imply

    F₀ Y = (F₀ − d) X.

Near the entrance, where F₀ ≪ d, (2) hardly depends on q₀; at F₀ = d (3) holds by itself. The
combination X − Y d/(F₀ + d) = 0 is good everywhere, and X and Y separately are left over as a check
of every solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.pattern_averages import (
    ClassSide,
    PatternMeans,
    PatternOrder,
    class_sides,
    pattern_means,
)
from chanceline.theory.quadrature import STEP, Array
from chanceline.theory.support_averages import SupportMeans, support_means

# Logarithms of order parameters beyond this are no longer numbers to compute with. K is none.
_LARGEST_LOG = 100
_K_INDEX = 2


@dataclass(frozen=True)
class Order:
    """Order parameters and their conjugates; `threshold` is b/|w|, an error weighs e^{−price}."""

    q0: float
    chi: float
    E: float
    F1: float
    F0: float
    K: float
    threshold: float = 0.0
    price: float = np.inf


@dataclass(frozen=True)
class RSState:
    """The equations at one point: order parameters, relative residual, Jacobian, what follows.

    Gradients are by all coordinates of the point, (coordinates,).
    """

    alpha: float
    # α_c − α, the load left to that of all variables; without cancellation for the plain ensemble
    # and ρ > ½.
    to_gardner: float
    order: Order
    residual: Array  # (equations,)
    jacobian: Array  # (equations, coordinates)
    alpha_gradient: Array
    isostatic: float  # ⟨p₊ − v*e* + κR₁/ρ⟩
    nonzero: float  # ρ₊, the share of variables with a weight other than zero
    tight: float  # ⟨p₊⟩
    norm: float  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: float  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle
    entropy: float
    entropy_gradient: Array
    entropy_by_alpha: float  # ∂Σ/∂α at the saddle
    entropy_by_rho: float  # ∂Σ/∂ρ at the saddle
    between: float  # the replicon between supports


def equations(point: Array, rho: float, ensemble: Ensemble = PLAIN, step: float = STEP) -> RSState:
    """Residuals of (1), (2) with (3), (4)–(7) and their analytic Jacobian in all coordinates.

    Parameters
    ----------
    point : (coordinates,)
        (ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E)), then b if the threshold is free, then ln t* if
        errors are allowed.
    rho, ensemble
        The density and the patterns.
    step
        Step of the quadrature.
    """
    if np.abs(np.delete(point, _K_INDEX)).max() > _LARGEST_LOG:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    coords = _decode(point, rho, ensemble)
    support = support_means(coords.F0_over_E, coords.log_V_over_d, coords.K, step, ensemble.signed)
    sides = class_sides(ensemble, coords.patterns, step)
    means = pattern_means(sides, ensemble, rho)
    values = _evaluate(coords, ensemble, means, support)
    differentials = _differentials(point, coords, ensemble, values)

    # ½[(E − F₁)ρ − F₁χ + F₀q₀], grouped so that no term is larger than it need be.
    chi = coords.patterns.chi
    outside = 0.5 * (values.d * rho - values.F0 * coords.patterns.s2 - values.F1 * chi)
    by_alpha = means.log_a + values.price * ensemble.error_rate
    entropy = values.alpha * by_alpha + support.log_one_plus + coords.K * rho + outside

    # With ρ the offsets grow like √ρ; that of the threshold is stationary.
    kappa = ensemble.margin * np.sqrt(rho)
    heat = means.heat - kappa * means.first / (rho * chi)
    by_rho = 0.5 * values.alpha * heat + coords.K + 0.5 * (values.E - values.F1)

    order = Order(
        q0=float(coords.patterns.q0),
        chi=float(chi),
        E=float(values.E),
        F1=float(values.F1),
        F0=float(values.F0),
        K=coords.K,
        threshold=coords.patterns.threshold,
        price=values.price or np.inf,
    )
    return RSState(
        alpha=values.alpha,
        to_gardner=_load_below_gardner(sides[0], rho, ensemble, values.alpha),
        order=order,
        residual=_residual(values, coords, ensemble),
        jacobian=_jacobian(values, coords, ensemble, differentials),
        alpha_gradient=differentials.alpha,
        isostatic=float(means.isostatic[0]),
        nonzero=float(values.nonzero[0]),
        tight=means.tight,
        norm=float(values.norm),
        overlap=float(values.overlap),
        entropy=float(entropy),
        entropy_gradient=_entropy_gradient(values, coords, ensemble, differentials),
        entropy_by_alpha=by_alpha,
        entropy_by_rho=float(by_rho),
        between=float(
            values.alpha * means.curvature_square * support.curvature_square / values.E**2
        ),
    )


class _Coordinates(NamedTuple):
    """A point decoded; V, d and F₀ are known as shares of E, which follows from χE = ρ₊."""

    patterns: PatternOrder
    logit_q0: float
    K: float
    log_V_over_d: float
    V_over_E: float
    d_over_E: float
    F0_over_E: float


def _decode(point: Array, rho: float, ensemble: Ensemble) -> _Coordinates:
    """The order parameters of a point; s² = ρ − q₀ and d = E − V come without cancellation."""
    log_chi, logit_q0, K, log_V_over_d, log_F0_over_E = (float(value) for value in point[:5])
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[5])
    ceiling = np.inf
    if ensemble.error_rate:
        ceiling = float(np.sqrt(rho) * np.exp(point[-1]))
    patterns = PatternOrder(
        rho=rho,
        q0=rho * expit(logit_q0),
        s2=rho * expit(-logit_q0),
        chi=np.exp(log_chi),
        threshold=threshold,
        ceiling=ceiling,
    )
    return _Coordinates(
        patterns=patterns,
        logit_q0=logit_q0,
        K=K,
        log_V_over_d=log_V_over_d,
        V_over_E=expit(log_V_over_d),
        d_over_E=expit(-log_V_over_d),
        F0_over_E=np.exp(log_F0_over_E),
    )


class _Values(NamedTuple):
    """What the averages give at a point."""

    means: PatternMeans
    support: SupportMeans
    nonzero: Array  # ρ₊ and its derivatives by (K, ln(V/d), ln(F₀/E)), (4,)
    E: float
    V: float
    d: float
    F0: float
    F1: float
    alpha: float
    F0_of_patterns: float  # (α/χ²)⟨R₁²⟩, equal to F₀ at the saddle
    V_of_patterns: float  # (α/χ²)⟨R₂ − R₁²⟩, equal to V at the saddle
    norm: float  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: float  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle
    price: float  # y = v*²/2χ, 0 without errors


def _evaluate(
    coords: _Coordinates, ensemble: Ensemble, means: PatternMeans, support: SupportMeans
) -> _Values:
    """E from χE = ρ₊, the load from the identity, and both sides of equations (2) to (5)."""
    patterns = coords.patterns
    nonzero = np.array([patterns.rho, 0.0, 0.0, 0.0])
    if ensemble.signed:
        nonzero = support.nonzero
    E = nonzero[0] / patterns.chi
    V = E * coords.V_over_E
    F0 = E * coords.F0_over_E

    isostatic = means.isostatic[0]
    if not isostatic > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = float(nonzero[0] / isostatic)
    alpha_over_chi2 = alpha / patterns.chi**2

    price = 0.0
    if ensemble.error_rate:
        price = patterns.ceiling**2 / (2 * patterns.chi)
    return _Values(
        means=means,
        support=support,
        nonzero=nonzero,
        E=E,
        V=V,
        d=E * coords.d_over_E,
        F0=F0,
        F1=F0 + V,
        alpha=alpha,
        F0_of_patterns=alpha_over_chi2 * means.square[0],
        V_of_patterns=alpha_over_chi2 * means.variance[0],
        norm=support.norm[0] / E,
        overlap=support.overlap[0] / E,
        price=price,
    )


def _residual(values: _Values, coords: _Coordinates, ensemble: Ensemble) -> Array:
    """The errors of (1), of (2) with (3), of (4) to (7), each relative; (equations,)."""
    rho = coords.patterns.rho
    means = values.means
    support = values.support
    if rho <= 0.5:
        chosen_error = (support.chosen[0] - rho) / rho
    else:
        chosen_error = 1 - support.rejected / (1 - rho)

    # X − Y d/(F₀ + d), with X of (2) and Y of (3).
    d_share = values.d / (values.F0 + values.d)
    overlap_error = values.overlap - coords.patterns.q0
    norm_error = values.norm - rho - d_share * overlap_error

    V_error = values.V_of_patterns - values.V
    residual = [
        chosen_error,
        norm_error / rho,
        values.F0_of_patterns / values.F0 - 1,
        V_error * values.E / (values.V * values.d),
    ]
    if ensemble.free_threshold:
        residual.append(means.by_threshold[0] / np.sqrt(rho))
    if ensemble.error_rate:
        residual.append(means.wrong[0] / ensemble.error_rate - 1)
    return np.array(residual)


class _Differentials(NamedTuple):
    """Differentials by the coordinates of the point, each of shape (coordinates,)."""

    log_chi: Array
    K: Array
    log_V_over_d: Array
    log_F0_over_E: Array
    threshold: Array  # zero where it is fixed
    log_ceiling: Array  # zero without errors
    q0: Array
    of_patterns: Array  # rows: ln χ, q₀, b, ln v*, as `PatternMeans` has its derivatives
    of_supports: Array  # rows: K, ln(V/d), ln(F₀/E), as `SupportMeans` has them
    log_E: Array
    log_V: Array
    log_F0: Array
    alpha: Array


def _differentials(
    point: Array, coords: _Coordinates, ensemble: Ensemble, values: _Values
) -> _Differentials:
    """How the coordinates move the order parameters, and with them E and the load."""
    n_coordinates = len(point)
    unit = np.eye(n_coordinates)
    zero = np.zeros(n_coordinates)
    log_chi, logit_q0, K, log_V_over_d, log_F0_over_E = unit[:5]
    threshold = unit[5] if ensemble.free_threshold else zero
    log_ceiling = unit[-1] if ensemble.error_rate else zero
    q0 = coords.patterns.q0 * expit(-coords.logit_q0) * logit_q0
    of_patterns = np.array([log_chi, q0, threshold, log_ceiling])
    of_supports = np.array([K, log_V_over_d, log_F0_over_E])

    # E = ρ₊/χ and α = ρ₊/⟨p₊ − v*e* + κR₁/ρ⟩.
    log_nonzero = values.nonzero[1:] @ of_supports / values.nonzero[0]
    log_E = log_nonzero - log_chi
    isostatic = values.means.isostatic
    log_isostatic = isostatic[1:] @ of_patterns / isostatic[0]
    return _Differentials(
        log_chi=log_chi,
        K=K,
        log_V_over_d=log_V_over_d,
        log_F0_over_E=log_F0_over_E,
        threshold=threshold,
        log_ceiling=log_ceiling,
        q0=q0,
        of_patterns=of_patterns,
        of_supports=of_supports,
        log_E=log_E,
        log_V=log_E + coords.d_over_E * log_V_over_d,
        log_F0=log_E + log_F0_over_E,
        alpha=values.alpha * (log_nonzero - log_isostatic),
    )


def _jacobian(
    values: _Values, coords: _Coordinates, ensemble: Ensemble, differential: _Differentials
) -> Array:
    """The derivatives of the residual, row by row, (equations, coordinates)."""
    rho = coords.patterns.rho
    means = values.means
    of_patterns = differential.of_patterns
    of_supports = differential.of_supports

    # Both sides of (4) and (5): a = α/χ² times a mean over the patterns.
    a = values.alpha / coords.patterns.chi**2
    d_a = a * (differential.alpha / values.alpha - 2 * differential.log_chi)
    F0_now = values.F0_of_patterns
    V_now = values.V_of_patterns
    d_F0_now = a * (means.square[1:] @ of_patterns) + F0_now / a * d_a
    d_V_now = a * (means.variance[1:] @ of_patterns) + V_now / a * d_a

    # The norm of (2) and the overlap of (3), which are means at E = 1 over E.
    norm = values.support.norm
    overlap = values.support.overlap
    E = values.E
    d_norm = norm[1:] @ of_supports / E - norm[0] / E * differential.log_E
    d_overlap = overlap[1:] @ of_supports / E - overlap[0] / E * differential.log_E

    # The share d/(F₀ + d) with which they are combined.
    share = coords.d_over_E / (coords.F0_over_E + coords.d_over_E)
    log_share = coords.V_over_E * differential.log_V_over_d + differential.log_F0_over_E
    d_share = -share * (1 - share) * log_share
    overlap_error = values.overlap - coords.patterns.q0
    d_overlap_error = d_overlap - differential.q0

    V_ratio = V_now / values.V
    F0_ratio = F0_now / values.F0
    d_V_of_d = coords.V_over_E * differential.log_V_over_d
    rows = [
        values.support.chosen[1:] @ of_supports / min(rho, 1 - rho),
        (d_norm - share * d_overlap_error - overlap_error * d_share) / rho,
        d_F0_now / values.F0 - F0_ratio * differential.log_F0,
        (d_V_now / values.V - V_ratio * differential.log_V + (V_ratio - 1) * d_V_of_d)
        / coords.d_over_E,
    ]
    if ensemble.free_threshold:
        rows.append(means.by_threshold[1:] @ of_patterns / np.sqrt(rho))
    if ensemble.error_rate:
        rows.append(means.wrong[1:] @ of_patterns / ensemble.error_rate)
    return np.array(rows)


def _entropy_gradient(
    values: _Values, coords: _Coordinates, ensemble: Ensemble, differential: _Differentials
) -> Array:
    """dΣ by the coordinates of the point, (coordinates,).

    Every term but the last vanishes at the saddle. ∂Σ/∂χ = ½(α⟨R₂⟩/χ² − F₁), ∂Σ/∂q₀ = ½(F₀ −
    α⟨g'²⟩).
    """
    rho = coords.patterns.rho
    chi = coords.patterns.chi
    means = values.means
    E = values.E
    V = values.V
    F0 = values.F0
    F0_now = values.F0_of_patterns
    V_now = values.V_of_patterns
    d_log_E = differential.log_E
    d_F0 = F0 * differential.log_F0
    d_F1 = d_F0 + V * differential.log_V
    d_price = values.price * (2 * differential.log_ceiling - differential.log_chi)
    norm_and_nonzero = values.norm - rho + values.support.nonzero[0] / E - chi
    by_threshold = values.alpha / chi * np.sqrt(rho) * means.by_threshold[0]
    by_alpha = means.log_a + values.price * ensemble.error_rate
    return (
        (rho - values.support.chosen[0]) * differential.K
        + 0.5 * (rho - values.norm) * E * d_log_E
        + 0.5 * norm_and_nonzero * d_F1
        + 0.5 * (coords.patterns.q0 - values.overlap) * F0 * differential.log_F0
        + 0.5 * (F0_now + V_now - (F0 + V)) * chi * differential.log_chi
        + 0.5 * (F0 - F0_now) * differential.q0
        - by_threshold * differential.threshold
        + values.alpha * (ensemble.error_rate - means.wrong[0]) * d_price
        + by_alpha * differential.alpha
    )


def _load_below_gardner(
    class_side: ClassSide, rho: float, ensemble: Ensemble, alpha: float
) -> float:
    """α_c − α; for the plain ensemble at ρ > ½ from a sum of small terms."""
    if not ensemble.plain or rho <= 0.5:
        return gardner(ensemble).load - alpha
    # ∫Dz p₊ = ½ + ∫_{z>0} Dz [p₊(−z) − (1 − p₊(z))].
    tight = class_side.side.tight
    middle = class_side.rule.nodes.size // 2
    odd = class_side.rule.weights * (tight[::-1] - class_side.side.loose)
    missing = 1 - rho + odd[middle] + 2 * odd[middle + 1 :].sum()
    return float(missing / class_side.rule.mean(tight))
