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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline.theory.dual import Dual, Numbers, independent, value_of
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import check_logarithms
from chanceline.theory.pattern_averages import (
    ClassLaw,
    PatternMeans,
    class_laws,
    pattern_means,
)
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_point import (
    K_INDEX,
    Coordinates,
    PointValues,
    decode_point,
    evaluate_point,
)
from chanceline.theory.support_averages import VariableMeans, variable_means


@dataclass(frozen=True)
class OrderParameters:
    """Order parameters and their Lagrange multipliers (the paper's conjugates) at one point."""

    q0: float  # overlap of the weights of two typical choices of variables
    # χ, the response of the weights: (ρ − q₁)/m as m → 0, where q₁ is the overlap of two weight
    # vectors on the same choice and m the number of them.
    chi: float
    E: float  # multiplier of the norm of the weights
    F1: float  # multiplier of q₁
    F0: float  # multiplier of q₀
    K: float  # multiplier of the density ρ: the price of choosing a variable
    threshold: float = 0.0  # b/|w|
    price: float = np.inf  # y: an error weighs e^{−y}


class SaddleChecks(NamedTuple):
    """Averages that have known values at a saddle, and so check a solution.

    p is the probability that a variable is chosen and w its weight then, p₊ the probability that a
    pattern is at the margin; ⟨·⟩ is the mean over patterns, ∫Dz that over variables.
    """

    # ⟨p₊ − v*e* + κR₁/ρ⟩ = ρ₊/α, where v* is the largest violation that is no error, e* the density
    # of violations there, R₁ the mean correction of a pattern and κ = margin·√ρ.
    effective_tight: float
    nonzero: float  # ρ₊, the share of variables with a weight other than zero
    tight: float  # ⟨p₊⟩, the share of patterns at the margin
    norm: float  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: float  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle


class StabilityProducts(NamedTuple):
    """How much small differences between supports grow in a round of the equations: stable below 1.

    The differences are in the overlap of the weights of two supports (choices of variables).
    """

    between: float  # the replicon: all weight vectors of a support differ alike
    weights: float  # the difference depends on the weight vectors of both supports
    mixed: float  # it depends on the weight vectors of one of them


@dataclass(frozen=True)
class RSState:
    """The equations at one point: order parameters, relative residual, Jacobian, what follows.

    Gradients are by all coordinates of the point, (coordinates,).
    """

    alpha: float  # the load
    # α_c − α, the load left to that of all variables; without cancellation for the plain ensemble
    # and ρ > ½.
    to_gardner: float
    order: OrderParameters
    residual: Array  # (equations,)
    jacobian: Array  # (equations, coordinates)
    alpha_gradient: Array
    entropy: float  # Σ = ln(number of separating choices)/N
    entropy_gradient: Array
    entropy_by_alpha: float  # ∂Σ/∂α at the saddle
    checks: SaddleChecks
    stability: StabilityProducts

    @property
    def replicon_between(self) -> float:
        """The replicon between supports: above 1 replica symmetry is unstable."""
        return self.stability.between


class _Evaluated(NamedTuple):
    """All that is known at a point; its numbers are Duals, which carry their derivatives."""

    ensemble: Ensemble
    coords: Coordinates  # the order parameters that the point gives directly
    laws_of_classes: list[ClassLaw]  # the patterns of each class
    pattern_averages: PatternMeans
    variable_averages: VariableMeans
    values: PointValues  # load and multipliers, which need the averages


def equations(
    point: Array, rho: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP
) -> RSState:
    """Evaluate the equations of the theory at a point: errors, their derivatives, and results.

    The theory describes a large random problem by a few unknowns, the order parameters, which must
    fulfil a set of equations (the replica-symmetric saddle equations). If all errors (`residual` of
    the result) are zero, the point is a solution. Its load, patterns per variable, is then `alpha`,
    and `entropy` is ln(number of separating choices of variables) per variable.

    Parameters
    ----------
    point : (coordinates,)
        The order parameters, encoded as `decode_point` describes.
    rho
        The density ρ, the share of variables chosen.
    ensemble
        The kind of patterns and weights: balance, margin, errors allowed, signs.
    step
        Step of the quadrature.

    Returns
    -------
    RSState
        All values at the point, as plain numbers and arrays. The Jacobian has a row for each
        equation. Its columns, and the components of gradients, are derivatives by the coordinates.
    """
    _check_coordinates(point)

    # The coordinates become Duals, numbers that carry their gradient by the coordinates. Everything
    # computed from a Dual is a Dual.
    coordinates = independent(point)
    evaluated = _evaluate(coordinates, rho, ensemble, step)
    load = evaluated.values.alpha
    errors = _residual(evaluated)
    entropy = _entropy(evaluated)

    # In the result values and gradients are separate fields.
    alpha = float(load.value)
    return RSState(
        alpha=alpha,
        to_gardner=_load_below_gardner(evaluated.laws_of_classes, rho, ensemble, alpha),
        order=_order_parameters(evaluated),
        residual=np.array([error.value for error in errors]),
        jacobian=np.array([error.gradient for error in errors]),
        alpha_gradient=load.gradient,
        entropy=float(entropy.value),
        entropy_gradient=entropy.gradient,
        entropy_by_alpha=evaluated.values.entropy_by_alpha.value,
        checks=_checks(evaluated),
        stability=_stability_products(evaluated),
    )


def _check_coordinates(point: Array) -> None:
    """OutsideDomain for a point, (coordinates,), at which an exponential would overflow.

    Only K and the threshold are no logarithms. K may be large and is left out of the check; the
    threshold is always small.
    """
    logarithms = point.copy()
    logarithms[K_INDEX] = 0.0
    check_logarithms(logarithms)


def _evaluate(
    coordinates: Sequence[Numbers], rho: Numbers, ensemble: Ensemble, step: float
) -> _Evaluated:
    """Compute all quantities that the equations at a point are made of.

    These are, in order: the order parameters of the point; averages over the variables, which are
    chosen or not; averages over the patterns, which are satisfied or violated; and load and
    Lagrange multipliers, which follow from the averages.

    `coordinates` are the coordinates of the point (`decode_point`), `rho` is the density, and
    `step` the step of the quadrature. If coordinates or density are Duals, the results carry their
    derivatives.
    """
    coords = decode_point(coordinates, rho, ensemble)

    variable_averages = variable_means(coords.supports, step, ensemble.signed)

    laws_of_classes = class_laws(ensemble, coords.patterns, step)
    pattern_averages = pattern_means(laws_of_classes, ensemble, rho)

    return _Evaluated(
        ensemble=ensemble,
        coords=coords,
        laws_of_classes=laws_of_classes,
        pattern_averages=pattern_averages,
        variable_averages=variable_averages,
        values=evaluate_point(coords, ensemble, pattern_averages, variable_averages),
    )


def _order_parameters(evaluated: _Evaluated) -> OrderParameters:
    """Collect the order parameters and Lagrange multipliers of a point as plain numbers.

    Most of them are Duals, numbers with a gradient; `.value` is the number alone. `coords` has
    those that follow directly from the coordinates of the point, `values` those that need averages.
    """
    coords = evaluated.coords
    values = evaluated.values
    # The price of an error. If no error is allowed it is infinite, while `values.price` is 0.
    price = np.inf
    if evaluated.ensemble.error_rate:
        price = values.price.value
    return OrderParameters(
        q0=float(coords.q0.value),
        chi=float(coords.chi.value),
        E=float(values.E.value),
        F1=float(values.F1.value),
        F0=float(values.F0.value),
        K=coords.K.value,
        threshold=value_of(coords.threshold),  # not a Dual but a plain 0 if it is not free
        price=price,
    )


def _checks(evaluated: _Evaluated) -> SaddleChecks:
    """The averages that check a solution, as plain numbers without gradients."""
    values = evaluated.values
    return SaddleChecks(
        effective_tight=float(evaluated.pattern_averages.effective_tight.value),
        nonzero=float(value_of(values.nonzero)),  # a plain ρ where the signs are free
        tight=evaluated.pattern_averages.tight,
        norm=float(values.norm.value),
        overlap=float(values.overlap.value),
    )


def _stability_products(evaluated: _Evaluated) -> StabilityProducts:
    """The three stability products between supports at a point, each stable below 1."""
    return StabilityProducts(
        between=_replicon_between(evaluated),
        weights=_weights_stability_product(evaluated),
        mixed=_mixed_stability_product(evaluated),
    )


def _replicon_between(evaluated: _Evaluated) -> float:
    """The replicon between supports, α⟨g''²⟩∫Dz f''²: above 1 replica symmetry is unstable.

    It is the factor by which small differences among the overlaps of supports grow in one round of
    the saddle equations. α is the load; g = ln A and f = ln(1 + e^{−K}B) are the log-weights of a
    pattern and of a variable, with second derivatives by their fields. ⟨·⟩ and ∫Dz average over the
    fields of patterns and of variables.
    """
    # The mean of f''² was taken with the multiplier E = 1, and scales as 1/E².
    alpha = evaluated.values.alpha.value
    E = evaluated.values.E.value
    mean_g_square = evaluated.pattern_averages.curvature_square  # ⟨g''²⟩
    mean_f_square = evaluated.variable_averages.curvature_square / E**2  # ∫Dz f''²
    return float(alpha * mean_g_square * mean_f_square)


def _weights_stability_product(evaluated: _Evaluated) -> float:
    """Stability against changes that differ among the weight vectors of both of two supports.

    The overlap of two supports then depends on which weight vectors of each are compared. In the
    replicon α⟨g''²⟩⟨f''²⟩ this puts p₊/χ in place of −g'' and p/E in place of f'':

        (α/χ²)⟨p₊²⟩⟨p²⟩/E²,    stable below 1.

    p₊ is the probability that a pattern is at the margin, p that a variable is chosen (and its
    weight is not 0), α the load, χ the response and E the multiplier of the norm of the weights.
    """
    alpha = evaluated.values.alpha.value
    E = evaluated.values.E.value
    chi = evaluated.coords.chi.value
    scale = alpha / (chi * E) ** 2  # α/χ² and 1/E², as the mean of p² was taken with E = 1
    mean_tight_square = evaluated.pattern_averages.tight_square  # ⟨p₊²⟩
    mean_chosen_square = evaluated.variable_averages.nonzero_square  # ⟨p²⟩
    return float(scale * mean_tight_square * mean_chosen_square)


def _mixed_stability_product(evaluated: _Evaluated) -> float:
    """Compute the factor by which a small perturbation of the mixed kind grows, stable below 1:

        (α/χ)⟨−g''p₊⟩⟨f''p⟩/E.

    The perturbed quantity is the overlap of two supports (choices of variables): the scalar product
    of their weights, per variable. Mixed means that the perturbation depends on which separating
    weight vector is taken on one of the supports, but not on the other.

    ⟨·⟩ are averages over patterns and over variables. p₊ is the probability that a pattern is
    exactly at the margin, p the probability that a variable has a nonzero weight. g'' and f'' are
    the second derivatives, the curvatures, of the log-weights of a pattern and of a variable by
    their fields. α is the load, χ the scale of the cost v²/2χ of a violation v, and E the
    stiffness of the weights (a field h gives the weight h/E).

    The averages over variables are computed in units in which E = 1. In these units f'' is E times
    as large, so that the code has ⟨E f''p⟩ in place of ⟨f''p⟩, and 1/E² in place of 1/E.
    """
    alpha = evaluated.values.alpha.value
    stiffness = evaluated.values.E.value  # E
    chi = evaluated.coords.chi.value
    scale = alpha / (chi * stiffness**2)
    pattern_mean = evaluated.pattern_averages.curvature_times_tight  # ⟨g''p₊⟩
    scaled_variable_mean = evaluated.variable_averages.curvature_times_nonzero  # ⟨E f''p⟩
    return float(-scale * pattern_mean * scaled_variable_mean)


def _residual(evaluated: _Evaluated) -> list[Dual]:
    """Collect the relative errors of the equations of the theory, each a Dual with its gradient.

    The equations determine the unknowns of the theory. They are, in this order,

        share of chosen variables = ρ
        norm = ρ, overlap = q₀    combined into one equation; the norm is the squared length of the
                                  weights, the overlap the scalar product of the weights on two
                                  choices of variables, both per variable,
        F₀ = an average           F₀ is the variance, over the variables, of the mean field by which
                                  the patterns pull a weight,
        V = an average            V is the variance of the field around its mean,
        threshold is the best     only if the rule has a free threshold,
        share of errors = ε       only if a share ε of errors is allowed.

    There is one equation fewer than coordinates, because the solutions at one density form a curve,
    with one point for each load.
    """
    values = evaluated.values
    coords = evaluated.coords
    ensemble = evaluated.ensemble
    pattern_averages = evaluated.pattern_averages
    chosen_error = _chosen_error(evaluated.variable_averages, coords.rho)
    norm_and_overlap_error = _norm_and_overlap_error(values, coords)
    F0_error = values.F0_of_patterns / values.F0 - 1
    V_error = _V_error(values)
    errors = [chosen_error, norm_and_overlap_error, F0_error, V_error]

    if ensemble.free_threshold:
        # At the best threshold the mean corrections of the two classes balance: their sum, each
        # with the share and the sign ±1 of its class, is 0.
        size_of_corrections = float(np.sqrt(coords.rho))  # their order of magnitude
        errors.append(pattern_averages.correction_by_sign / size_of_corrections)
    if ensemble.error_rate:
        errors.append(pattern_averages.wrong / ensemble.error_rate - 1)
    return errors


def _V_error(values: PointValues) -> Dual:
    """The error of V against its average over the patterns, with its gradient.

    V and d = E − V must both be accurate, however small one of them is: so the error is relative to
    the smaller one. For that stands V d/E, which is smooth: the larger of V and d lies between E/2
    and E, and V d/E between half the smaller one and all of it.
    """
    difference: Dual = values.V_of_patterns - values.V
    return difference * values.E / (values.V * values.d)


def _chosen_error(variable_averages: VariableMeans, rho: float) -> Dual:
    """The relative error of "the share of variables chosen is ρ", with its gradient.

    Above ρ = ½ the share rejected is compared with 1 − ρ instead: of the two shares the smaller one
    keeps more digits. Both forms have the same sign.
    """
    chosen: Dual = variable_averages.chosen
    rejected: Dual = variable_averages.rejected
    if rho <= 0.5:
        return (chosen - rho) / rho
    return 1 - rejected / (1 - rho)


def _norm_and_overlap_error(values: PointValues, coords: Coordinates) -> Dual:
    """The relative error of norm = ρ and overlap = q₀ together: both hold where it vanishes.

    norm is the squared length of the weights per variable, overlap the scalar product of the
    weights of two choices of variables. For their excesses X = norm − ρ and Y = overlap − q₀ the
    other equations imply (docstring of the module)

        F₀ Y = (F₀ − d) X.

    F₀ is the multiplier of q₀, and d = E − V with the multiplier E of the norm. So one equation is
    enough. X = 0 alone does not fix q₀ where F₀ ≪ d, as the norm hardly depends on it there; Y = 0
    alone always holds at F₀ = d. X − Y d/(F₀ + d) = 0 is good everywhere.
    """
    norm_excess = values.norm - coords.rho  # X
    overlap_excess = values.overlap - coords.q0  # Y
    d_share = values.d / (values.F0 + values.d)
    # With Y = (1 − d/F₀)X this is X(F₀² + d²)/[F₀(F₀ + d)], zero only where X, and so Y, is.
    combined_excess = norm_excess - d_share * overlap_excess
    return combined_excess / coords.rho


def _entropy(evaluated: _Evaluated) -> Dual:
    """Compute the entropy Σ = ln(number of separating choices)/N, a Dual with its gradient:

        Σ = αG + ∫Dz ln(1 + e^{−K}B) + Kρ + ½[(E − F₁)ρ − F₁χ + F₀q₀].

    The first three terms are

        αG      patterns: the load α (patterns per variable) times the mean log-weight of a pattern,
                to which allowed errors add a term; as Σ is linear in α, G is also ∂Σ/∂α,
        ∫Dz …   variables: e^{−K}B are the odds that a variable is chosen, given the Gaussian number
                z by which the patterns act on it,
        Kρ      choices: K is the price of a variable, ρ the density (share of variables chosen).

    In the bracket E is the Lagrange multiplier of the norm of the weights, F₁ that of the overlap
    of two weight vectors on one choice, and F₀ that of their overlap q₀ on two choices. χ is the
    scale of the cost v²/2χ of a violation v.
    """
    coords = evaluated.coords
    values = evaluated.values
    pattern_term = values.alpha * values.entropy_by_alpha
    variable_term = evaluated.variable_averages.log_partition
    price_term = coords.K * coords.rho

    # The bracket, written with d = E − F₁ + F₀ and s² = ρ − q₀ as dρ − F₀s² − F₁χ. This form avoids
    # Eρ and F₁ρ, two large terms that nearly cancel where χ is small.
    bracket = values.d * coords.rho - values.F0 * coords.s2 - values.F1 * coords.chi
    return pattern_term + variable_term + price_term + 0.5 * bracket


def entropy_by_rho(point: Array, rho: float, ensemble: Ensemble = PLAIN) -> float:
    """Compute ∂Σ/∂ρ: how the number of separating choices grows with the number of variables used.

    Σ, the entropy, is ln(number of separating choices of ρN variables) per variable. Its derivative
    by the density ρ is taken at fixed load α. `point` is a solution of the saddle equations,
    (coordinates,), encoded as for `equations`.
    """
    # Only ρ is a Dual, a number with a gradient, so every gradient has one component, d/dρ. The
    # coordinates can be kept fixed, because at a saddle Σ is stationary in the order parameters.
    (dual_rho,) = independent(np.array([rho]))
    evaluated = _evaluate(point.tolist(), dual_rho, ensemble, QUADRATURE_STEP)
    values = evaluated.values

    # The load is computed from the coordinates and ρ, and changes with ρ. The gradient of Σ is
    # therefore the total derivative dΣ/dρ = ∂Σ/∂ρ + ∂Σ/∂α·dα/dρ. The result is its first term.
    (total_slope,) = _entropy(evaluated).gradient  # dΣ/dρ
    (load_slope,) = values.alpha.gradient  # dα/dρ
    entropy_by_alpha = values.entropy_by_alpha.value  # ∂Σ/∂α
    return float(total_slope - entropy_by_alpha * load_slope)


def _load_below_gardner(
    laws_of_classes: list[ClassLaw], rho: float, ensemble: Ensemble, alpha: float
) -> float:
    """How far the load α lies below Gardner's load α_c, that of all variables.

    As the density ρ → 1 loads come near to α_c, and the difference α_c − α cancels. The plain
    ensemble, where α_c = 2, has a formula for it that does not.
    """
    if ensemble.plain and rho > 0.5:
        (only_class,) = laws_of_classes  # of equal classes one stands for both
        return _load_below_two(only_class, rho)
    return gardner(ensemble).load - alpha


def _load_below_two(only_class: ClassLaw, rho: float) -> float:
    """2 − α without cancellation, for the load α = ρ/∫Dz p₊ of the plain ensemble:

        2 − α = (2∫Dz p₊ − ρ)/∫Dz p₊.

    p₊(z), the probability that a pattern of field z is at the margin, rises from 0 to 1. The
    numerator is small where the density ρ is near 1 and p₊ on average ½. As Dz is even,
    ∫Dz p₊(−z) = ∫Dz p₊(z); with this and ∫Dz 1 = 1 the numerator becomes a sum of small terms,

        2∫Dz p₊ − ρ = 1 − ρ + ∫Dz D(z),    D(z) = p₊(−z) − [1 − p₊(z)].
    """
    tight = value_of(only_class.law.p_tight)  # p₊(z), (nodes,)
    not_tight = value_of(only_class.law.p_not_tight)  # 1 − p₊(z), with all digits where it is small
    # The nodes are 0 and pairs ±z: a reversed array is the one at −z.
    D = tight[::-1] - not_tight
    # D(−z) = D(z), so that the half z ≥ 0 is enough. There both terms of D are small and their
    # difference has all digits; for z < 0 both are near 1, and the difference would cancel.
    numerator = 1 - rho + _mean_of_even(D, only_class)
    return float(numerator / only_class.mean(tight))


def _mean_of_even(values: Array, class_law: ClassLaw) -> float:
    """∫Dz of an even function from its values at z ≥ 0 alone; `values` are at all nodes, (nodes,).

    The nodes must be 0, in the middle, and pairs ±z on either side, which the rule has for a class
    without offset. A pair counts twice its term at z > 0.
    """
    middle = class_law.nodes.size // 2
    assert class_law.nodes[middle] == 0
    terms = class_law.weights * values
    return float(terms[middle] + 2 * terms[middle + 1 :].sum())
