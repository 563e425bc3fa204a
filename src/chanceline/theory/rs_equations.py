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

from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.pattern_averages import ClassSide, class_sides, pattern_means
from chanceline.theory.quadrature import STEP, Array
from chanceline.theory.rs_gradients import differentials_at, entropy_gradient, residual_jacobian
from chanceline.theory.rs_point import Coordinates, Values, decode, evaluate
from chanceline.theory.support_averages import support_means

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

    # Decode the point, take the means over supports and patterns, and what they give.
    coords = decode(point, rho, ensemble)
    support = support_means(coords.F0_over_E, coords.log_V_over_d, coords.K, step, ensemble.signed)
    sides = class_sides(ensemble, coords.patterns, step)
    means = pattern_means(sides, ensemble, rho)
    values = evaluate(coords, ensemble, means, support)
    differentials = differentials_at(point, coords, ensemble, values)
    entropy = _entropy(values, coords, ensemble)

    order = Order(
        q0=float(coords.patterns.q0),
        chi=float(coords.patterns.chi),
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
        jacobian=residual_jacobian(values, coords, ensemble, differentials),
        alpha_gradient=differentials.alpha,
        isostatic=float(means.isostatic[0]),
        nonzero=float(values.nonzero[0]),
        tight=means.tight,
        norm=float(values.norm),
        overlap=float(values.overlap),
        entropy=entropy.value,
        entropy_gradient=entropy_gradient(values, coords, ensemble, differentials),
        entropy_by_alpha=entropy.by_alpha,
        entropy_by_rho=entropy.by_rho,
        between=float(
            values.alpha * means.curvature_square * support.curvature_square / values.E**2
        ),
    )


def _residual(values: Values, coords: Coordinates, ensemble: Ensemble) -> Array:
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


class _Entropy(NamedTuple):
    """Σ, and its derivatives at the saddle."""

    value: float
    by_alpha: float
    by_rho: float


def _entropy(values: Values, coords: Coordinates, ensemble: Ensemble) -> _Entropy:
    """Σ, ∂Σ/∂α and ∂Σ/∂ρ; by the other order parameters Σ is stationary at the saddle."""
    rho = coords.patterns.rho
    chi = coords.patterns.chi
    alpha = values.alpha
    means = values.means
    by_alpha = means.log_a + values.price * ensemble.error_rate

    # ½[(E − F₁)ρ − F₁χ + F₀q₀], grouped so that no term is larger than it need be.
    outside = 0.5 * (values.d * rho - values.F0 * coords.patterns.s2 - values.F1 * chi)
    value = alpha * by_alpha + values.support.log_one_plus + coords.K * rho + outside

    # ρ moves s² = ρ − q₀ and the offsets, which grow like √ρ; that of the threshold is stationary.
    kappa = ensemble.margin * np.sqrt(rho)
    log_a_by_offsets = -0.5 * kappa * means.first / (rho * chi)
    log_a_by_rho = means.log_a_by_s2 + log_a_by_offsets
    by_rho = alpha * log_a_by_rho + coords.K + 0.5 * (values.E - values.F1)
    return _Entropy(value=float(value), by_alpha=by_alpha, by_rho=float(by_rho))


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
