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
redundant: write X and Y for their errors, left − right; by Gaussian integration by parts on both
sides, (1), (4)–(7) and the identity imply

    F₀ Y = (F₀ − d) X.

Near the entrance, where F₀ ≪ d, (2) hardly depends on q₀; at F₀ = d (3) holds by itself. The
combination X − Y d/(F₀ + d) = 0 is good everywhere, and X and Y separately are left over as a check
of every solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline.theory.dual import Dual
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import check_logarithms
from chanceline.theory.pattern_averages import (
    ClassSide,
    PatternMeans,
    class_sides,
    pattern_means,
)
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_point import K_INDEX, Coordinates, PointValues, decode_point, evaluate
from chanceline.theory.support_averages import SupportMeans, support_means


@dataclass(frozen=True)
class Order:
    """Order parameters and their conjugates (Lagrange multipliers) at one point."""

    q0: float  # overlap of the weights of two typical choices of variables
    chi: float  # (ρ − q₁)/m as m → 0, q₁ the overlap of two weight vectors on the same choice
    E: float  # conjugate to the norm of the weights
    F1: float  # conjugate to q₁
    F0: float  # conjugate to q₀
    K: float  # conjugate to the density ρ: what choosing a variable costs
    threshold: float = 0.0  # b/|w|
    price: float = np.inf  # y: an error weighs e^{−y}


@dataclass(frozen=True)
class RSState:
    """The equations at one point: order parameters, relative residual, Jacobian, what follows.

    Gradients are by all coordinates of the point, (coordinates,). Letters: z is the field of a
    variable or of a pattern, p the probability that a variable is chosen and w its weight then, p₊
    the probability that a pattern is at the margin, R₁ its mean violation; ⟨·⟩ is the mean over
    fields and classes of patterns.
    """

    alpha: float  # the load
    # α_c − α, the load left to that of all variables; without cancellation for the plain ensemble
    # and ρ > ½.
    to_gardner: float
    order: Order
    residual: Array  # (equations,)
    jacobian: Array  # (equations, coordinates)
    alpha_gradient: Array
    # ⟨p₊ − v*e* + κR₁/ρ⟩ = ρ₊/α, where v* is the largest violation that is no error, e* the density
    # of violations there and κ = margin·√ρ.
    isostatic: float
    nonzero: float  # ρ₊, the share of variables with a weight other than zero
    tight: float  # ⟨p₊⟩, the share of patterns at the margin
    norm: float  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: float  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle
    entropy: float  # Σ = ln(number of separating choices)/N
    entropy_gradient: Array
    entropy_by_alpha: float  # ∂Σ/∂α at the saddle
    entropy_by_rho: float  # ∂Σ/∂ρ at the saddle
    between: float  # the replicon between supports: above 1 replica symmetry is unstable


def equations(
    point: Array, rho: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP
) -> RSState:
    """Residuals of the saddle equations, their analytic Jacobian, and all that is known at a point.

    Parameters
    ----------
    point : (coordinates,)
        (ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E)), then b if the threshold is free, then ln t* if
        errors are allowed. χ, q₀, K, E and F₀ are the order parameters and multipliers of `Order`,
        V = F₁ − F₀, d = E − V, b is the threshold and t* the largest violation that is no error,
        both in units of |w|.
    rho, ensemble
        The density (share of variables kept) and the kind of patterns.
    step
        Step of the quadrature.
    """
    # Every coordinate but K is a logarithm (b, which is none, is small enough to pass).
    check_logarithms(np.delete(point, K_INDEX))

    # Decode the point and average over the fields of variables and of patterns.
    coords = decode_point(point, rho, ensemble)
    support = support_means(
        coords.F0_over_E.value, coords.log_V_over_d, coords.K.value, step, ensemble.signed
    )
    sides = class_sides(ensemble, coords.patterns, step)
    means = pattern_means(sides, ensemble, rho)

    # What the averages give: the load and the multipliers, the errors of the equations, Σ.
    values = evaluate(coords, ensemble, means, support)
    residual = _residual(values, coords, ensemble, support)
    alpha = values.alpha.value
    # ∂Σ/∂α = ⟨ln A⟩ + yε: Σ is linear in the load. A is the weight of a pattern, e^{−y} that of an
    # error, and ε the share of errors allowed.
    entropy_by_alpha = means.log_a + values.price.value * ensemble.error_rate

    price = np.inf  # no error is allowed
    if ensemble.error_rate:
        price = values.price.value
    order = Order(
        q0=float(coords.q0.value),
        chi=float(coords.chi.value),
        E=float(values.E.value),
        F1=float(values.F1.value),
        F0=float(values.F0.value),
        K=coords.K.value,
        threshold=coords.threshold.value,
        price=price,
    )

    # The replicon between supports is α⟨g''²⟩∫Dz f''², where g = ln A of a pattern and
    # f = ln(1 + e^{−K}B) of a variable. The mean of f''² was taken at E = 1 and scales as 1/E².
    between = alpha * means.curvature_square * support.curvature_square / values.E.value**2
    return RSState(
        alpha=float(alpha),
        to_gardner=_load_below_gardner(sides, rho, ensemble, alpha),
        order=order,
        residual=np.array([error.value for error in residual]),
        jacobian=np.array([error.differential for error in residual]),
        alpha_gradient=values.alpha.differential,
        isostatic=float(means.isostatic[0]),
        nonzero=float(values.nonzero.value),
        tight=means.tight,
        norm=float(values.norm.value),
        overlap=float(values.overlap.value),
        entropy=_entropy(values, coords, support, entropy_by_alpha),
        entropy_gradient=_entropy_gradient(values, coords, ensemble, support, entropy_by_alpha),
        entropy_by_alpha=entropy_by_alpha,
        entropy_by_rho=_entropy_by_rho(values, coords, ensemble, means),
        between=float(between),
    )


def _residual(
    values: PointValues, coords: Coordinates, ensemble: Ensemble, support: SupportMeans
) -> list[Dual]:
    """The relative error of each equation, with its differential: a row of the Jacobian.

    Each equation compares an average with what it must be, in the fields of `values`:

        chosen = ρ                  share of variables chosen, ∫Dz p;
        norm = ρ                    squared length of the weights, ∫Dz p⟨w²⟩, and
        overlap = q₀                overlap of two choices, ∫Dz (p⟨w⟩)²: both in one equation
                                    (`_norm_and_overlap_error`);
        F0_of_patterns = F₀         (α/χ²)⟨R₁²⟩;
        V_of_patterns = V           (α/χ²)⟨R₂ − R₁²⟩;
        violation_by_sign = 0       Σ_c σ_c f_c ∫Dz R₁, if the threshold is free;
        wrong = ε                   share of errors, if errors are allowed.

    p is the probability that a variable of field z is chosen, w its weight then; R₁ and R₂ are the
    first two moments of the violation of a pattern, ⟨·⟩ = Σ_c f_c ∫Dz their mean over fields z and
    classes c, of share f_c and sign σ_c. F₀, V and d = E − V are multipliers.
    """
    rho = coords.rho

    # Of the shares chosen and rejected the smaller one is compared: its relative error says more.
    if rho <= 0.5:
        chosen_error = (values.chosen - rho) / rho
    else:
        rejected = Dual(support.rejected, -values.chosen.differential)
        chosen_error = 1 - rejected / (1 - rho)

    norm_and_overlap_error = _norm_and_overlap_error(values, coords)
    F0_error = values.F0_of_patterns / values.F0 - 1
    # Relative to V d/E, the smaller one of V and d within a factor 2, as both must be accurate.
    V_error = (values.V_of_patterns - values.V) * values.E / (values.V * values.d)

    errors = [chosen_error, norm_and_overlap_error, F0_error, V_error]
    if ensemble.free_threshold:
        errors.append(values.violation_by_sign / np.sqrt(rho))  # violations have the scale √ρ
    if ensemble.error_rate:
        errors.append(values.wrong / ensemble.error_rate - 1)
    return errors


def _norm_and_overlap_error(values: PointValues, coords: Coordinates) -> Dual:
    """The relative error of norm = ρ and overlap = q₀ together: both hold where it vanishes.

    norm, the squared length of the weights, must be ρ; overlap, that of the weights of two choices
    of variables, must be q₀. F₀ and d are multipliers. The two excesses X = norm − ρ and
    Y = overlap − q₀ are put together as

        X − Y d/(F₀ + d).

    One equation is enough because the load already comes from an identity, with which the other
    equations imply F₀Y = (F₀ − d)X. With this Y the error is X(F₀² + d²)/[F₀(F₀ + d)], so that it
    vanishes only with X, and then Y does, too. Neither X = 0 nor Y = 0 would do by itself: norm
    hardly depends on q₀ where F₀ ≪ d, and Y = 0 always holds at F₀ = d.
    """
    norm_excess = values.norm - coords.rho  # X
    overlap_excess = values.overlap - coords.q0  # Y
    d_share = values.d / (values.F0 + values.d)
    return (norm_excess - d_share * overlap_excess) / coords.rho


def _entropy(
    values: PointValues, coords: Coordinates, support: SupportMeans, by_alpha: float
) -> float:
    """The entropy of separating choices, Σ = ln(their number)/N:

        Σ = α ∂Σ/∂α + ∫Dz ln(1 + e^{−K}B) + Kρ + ½[(E − F₁)ρ − F₁χ + F₀q₀].

    The patterns give the first term: Σ is linear in the load α, and `by_alpha` is ∂Σ/∂α. The
    variables give the second, `support.log_one_plus`: a variable weighs e^{−K}B if it is chosen,
    1 if not. In the rest ρ is the density, q₀ the overlap of two choices, χ the response; K, E, F₁
    and F₀ are multipliers.
    """
    rho = coords.rho
    s2 = coords.patterns.s2  # ρ − q₀

    # With d = E − F₁ + F₀ the bracket is dρ − F₀s² − F₁χ, where no term is larger than need be.
    bracket = values.d.value * rho - values.F0.value * s2 - values.F1.value * coords.chi.value
    order_terms = 0.5 * bracket
    pattern_term = values.alpha.value * by_alpha
    return float(pattern_term + support.log_one_plus + coords.K.value * rho + order_terms)


def _entropy_by_rho(
    values: PointValues, coords: Coordinates, ensemble: Ensemble, means: PatternMeans
) -> float:
    """∂Σ/∂ρ at the saddle, of the entropy Σ by the density ρ at a fixed load α.

    Σ is stationary in all order parameters, so only the terms count in which ρ itself stands:

        Kρ and ½(E − F₁)ρ     with the multipliers K, E and F₁;
        α⟨ln A⟩               with the weight A of a pattern.

    The violation of a pattern is Gaussian, and both its mean μ and its variance s² = ρ − q₀ depend
    on ρ. For the mean it is the offset θ_c = √ρ(margin + σ_c b) of class c, of sign σ_c, that does
    (b is the threshold): ∂θ_c/∂ρ = θ_c/2ρ. As ∂ ln A/∂μ = −R₁/χ, with the mean violation R₁ that
    is corrected, and the response χ,

        ∂⟨ln A⟩/∂ρ = ⟨∂ ln A/∂s²⟩ − ⟨θ_c R₁⟩/2ρχ.
    """
    rho = coords.rho
    # At the saddle ⟨σ_c R₁⟩ = 0. So b drops out of ⟨θ_c R₁⟩, and κ⟨R₁⟩ is left, κ = margin·√ρ.
    kappa = ensemble.margin * np.sqrt(rho)
    log_a_by_offset = -0.5 * kappa * means.first / (rho * coords.chi.value)
    log_a_by_rho = means.log_a_by_s2 + log_a_by_offset
    pattern_term_by_rho = values.alpha.value * log_a_by_rho
    return float(pattern_term_by_rho + coords.K.value + 0.5 * (values.E.value - values.F1.value))


def _entropy_gradient(
    values: PointValues,
    coords: Coordinates,
    ensemble: Ensemble,
    support: SupportMeans,
    by_alpha: float,
) -> Array:
    """dΣ by the coordinates of the point, (coordinates,): the sum of (∂Σ/∂a) da over all a in

        Σ = α(⟨ln A⟩ + yε) + ∫Dz ln(1 + e^{−K}B) + Kρ + ½(E − F₁)ρ − ½F₁χ + ½F₀q₀.

    α is the load, ρ the density; q₀ the overlap of two choices, χ the response; K, E, F₁ and F₀
    the multipliers. A is the weight of a pattern, which depends on q₀, χ, the threshold b and the
    price y of an error; ε is the share of errors allowed. e^{−K}B is the weight of a chosen
    variable. Each a is a `Dual`: its value, and da as `differential`.

    ∂Σ/∂α is the argument `by_alpha`. Every other partial derivative is the error of a saddle
    equation, an average that should have a value (`values`).
    """
    rho = coords.rho
    chi = coords.chi.value
    alpha = values.alpha.value
    norm = values.norm.value  # ∫Dz p⟨w²⟩, w the weight of a variable, p its chance to be chosen
    nonzero_over_E = support.nonzero[0] / values.E.value  # ρ₊/E, ρ₊ the share of weights not zero
    F0_of_patterns = values.F0_of_patterns.value  # (α/χ²)⟨R₁²⟩
    F1_of_patterns = F0_of_patterns + values.V_of_patterns.value  # (α/χ²)⟨R₂⟩

    # The partial derivatives of Σ: by the multipliers, …
    by_K = rho - values.chosen.value
    by_E = 0.5 * (rho - norm)
    by_F1 = 0.5 * (norm - rho + nonzero_over_E - chi)
    by_F0 = 0.5 * (coords.q0.value - values.overlap.value)
    # … and, through the moments R₁ and R₂ of the violation of a pattern, by what A depends on. That
    # by b is −(α/χ)√ρ Σ_c σ_c f_c ∫Dz R₁ over the classes c, of share f_c and sign σ_c.
    by_chi = 0.5 * (F1_of_patterns - values.F1.value)
    by_q0 = 0.5 * (values.F0.value - F0_of_patterns)
    by_threshold = -alpha / chi * np.sqrt(rho) * values.violation_by_sign.value
    by_price = alpha * (ensemble.error_rate - values.wrong.value)

    # The chain rule.
    return np.asarray(
        by_K * coords.K.differential
        + by_E * values.E.differential
        + by_F1 * values.F1.differential
        + by_F0 * values.F0.differential
        + by_chi * coords.chi.differential
        + by_q0 * coords.q0.differential
        + by_threshold * coords.threshold.differential
        + by_price * values.price.differential
        + by_alpha * values.alpha.differential
    )


def _load_below_gardner(
    sides: list[ClassSide], rho: float, ensemble: Ensemble, alpha: float
) -> float:
    """How far the load α lies below Gardner's load α_c, that of all variables.

    For the plain ensemble at ρ > ½ the difference can be small, and is computed without
    cancellation. There α_c = 2 and α = ρ/∫Dz p₊, where p₊(z) is the probability that a pattern of
    field z is at the margin, so that

        α_c − α = (2∫Dz p₊ − ρ)/∫Dz p₊.

    The Gaussian measure Dz is even, ∫Dz p₊(z) = ∫Dz p₊(−z), and ∫Dz = 1. So the numerator is

        2∫Dz p₊ − ρ = 1 − ρ + ∫Dz D(z),    D(z) = p₊(−z) − [1 − p₊(z)],

    where D is small: p₊ rises from 0 to 1, so that far out both terms are 0 or both are 1. D is
    even: exchanging z and −z gives the same. So D(0) counts once, D(z) at each z > 0 twice.
    """
    if not ensemble.plain or rho <= 0.5:
        return gardner(ensemble).load - alpha
    only_class = sides[0]  # of equal classes one stands for both
    rule = only_class.rule  # without offset: its nodes are z = 0 and pairs ±z
    middle = rule.nodes.size // 2
    assert rule.nodes[middle] == 0  # so that reversed arrays are those at −z
    tight = only_class.side.tight  # p₊(z), (nodes,)
    tight_at_minus_z = tight[::-1]
    D_terms = rule.weights * (tight_at_minus_z - only_class.side.loose)  # `loose` is 1 − p₊
    D_at_zero = D_terms[middle]
    D_beyond_zero = D_terms[middle + 1 :].sum()
    numerator = 1 - rho + D_at_zero + 2 * D_beyond_zero
    return float(numerator / rule.mean(tight))
