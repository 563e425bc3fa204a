"""The replica-symmetric branch at one density, from the Cover–Gardner load to its end.

Along it χ falls steadily from ∞ (at α_CG) to 0 (at α_ℓ₀); the equations are those of
`rs_equations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit, ndtr

from chanceline.theory.closed_forms import binary_entropy, overlap_kernel, typical_overlap
from chanceline.theory.continuation import ChiBranch
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import Gardner, gardner
from chanceline.theory.newton import EPS, Newton, Solved
from chanceline.theory.pattern_averages import PatternParameters, class_laws, pattern_means
from chanceline.theory.quadrature import QUADRATURE_STEP, Array, gaussian_rule
from chanceline.theory.rs_equations import RSState, equations
from chanceline.theory.rs_point import LOG_CHI, encode_point

# The first point has χ = this times ρ, where the branch is still that of leading order in 1/χ.
_FIRST_CHI_OVER_RHO = 100
# If the load of the first point is not yet small enough, its ln χ is raised by this.
_LOG_CHI_BACK = 2.0
# First step of ln χ along the branch.
_LOG_CHI_STEP = -1.0
# The largest overlap c = q₀/ρ at the entrance of a branch. For larger ones the rule of the
# quadrature no longer resolves √(1 − c).
_LARGEST_OVERLAP = 1 - 1e-5
# Roundings, in units of the machine's precision and of the largest term, that the sums make: the
# share of patterns at the margin has a few terms, the entropy some ten.
_ROUNDINGS_OF_SHARE = 4
_ROUNDINGS_OF_ENTROPY = 16


@dataclass(frozen=True)
class Branch(ChiBranch[RSState]):
    """The branch at one density: from its entrance at α_CG, χ → ∞, to its end at α_ℓ₀, χ → 0."""

    rho: float
    ensemble: Ensemble = PLAIN

    def at_chi(
        self, log_chi: float, start: Array, step: float = QUADRATURE_STEP
    ) -> Solved[RSState]:
        """Solve the equations of the branch at a given value of χ, by Newton's method.

        The solutions at one density form a curve, the branch. χ, the scale of the cost v²/2χ of a
        violation v, falls along the curve as the load grows, and so marks a point on it. ln χ is
        the first coordinate of a point and is held fixed; the others, the free coordinates, are
        solved for.

        Parameters
        ----------
        log_chi
            ln χ.
        start : (coordinates,)
            A point near the solution. Its own ln χ is not used.
        step
            The step of the quadrature.

        Returns
        -------
        The solution, whose `unknowns` are the whole point, ln χ included, (coordinates,).
        """
        chi = np.exp(log_chi)
        # The residual cannot become smaller than its rounding error.
        tolerance = max(Newton.tolerance, self._rounding_of_residual(chi))
        free = slice(LOG_CHI + 1, None)  # all coordinates but the first

        def whole_point(free_coordinates: Array) -> Array:
            """The given ln χ, followed by the free coordinates: (coordinates,)."""
            return np.array([log_chi, *free_coordinates])

        def equations_at(free_coordinates: Array) -> RSState:
            """The equations at the given ln χ and these free coordinates."""
            return equations(whole_point(free_coordinates), self.rho, self.ensemble, step=step)

        def free_jacobian(state: RSState) -> Array:
            """The derivatives of the residual by the free coordinates, one in each column."""
            return state.jacobian[:, free]

        solved = Newton(tolerance=tolerance).solve(
            equations_at,
            start[free],
            self.ensemble.label(f"RS at χ = {chi:.6g} at ρ = {self.rho:.10g}"),
            jacobian=free_jacobian,
        )
        return replace(solved, unknowns=whole_point(solved.unknowns))

    def _rounding_of_residual(self, chi: float) -> float:
        """How small the residual can become at a response χ before rounding stops it.

        The residual has the share of patterns at the margin. Where errors are allowed this is a
        difference of terms that grow as ρ/χ, each rounded. Without errors nothing cancels: 0.
        """
        if self.ensemble.error_rate:
            return _ROUNDINGS_OF_SHARE * EPS * self.rho / chi
        return 0.0

    def at_zero_entropy(self, start: Array) -> Solved[RSState]:
        """Solve for the capacity: the point of the branch where the entropy Σ is 0.

        Σ is ln(number of separating choices of variables) per variable; at loads above the capacity
        no choice separates any more. Newton's method starts from `start`, a point near the
        capacity, (coordinates,), and moves all its coordinates.
        """
        entropy_of_all = binary_entropy(self.rho)  # H₂(ρ), the entropy of all choices of variables

        # The branch has a solution at each load, because its equations are one fewer than the
        # coordinates. Σ = 0, relative to H₂(ρ), is added as the last equation.
        def residual(state: RSState) -> Array:
            """The errors of the equations of the branch, followed by Σ/H₂(ρ)."""
            return np.append(state.residual, state.entropy / entropy_of_all)

        def jacobian(state: RSState) -> Array:
            """The derivatives of `residual` by the coordinates, a row for each equation."""
            return np.vstack([state.jacobian, state.entropy_gradient / entropy_of_all])

        # The residual cannot become smaller than the rounding error of Σ, which depends on χ. The χ
        # of the start is close enough.
        rounding = self._rounding_of_entropy(start[LOG_CHI]) / entropy_of_all
        tolerance = max(Newton.tolerance, rounding)
        return Newton(tolerance=tolerance).solve(
            lambda point: equations(point, self.rho, self.ensemble),
            start,
            self.ensemble.label(f"RS capacity at ρ = {self.rho:.10g}"),
            residual=residual,
            jacobian=jacobian,
        )

    def _rounding_of_entropy(self, log_chi: float) -> float:
        """How small the entropy Σ can become at a response χ before rounding stops it.

        Σ is a difference of some terms that grow as ρ/χ, each rounded.
        """
        return _ROUNDINGS_OF_ENTROPY * EPS * self.rho * float(np.exp(-log_chi))

    def from_entrance(
        self, until: Callable[[RSState], bool], below: float = np.inf
    ) -> Iterator[Solved[RSState]]:
        """Yield points from the entrance of the branch, where χ → ∞, towards smaller χ.

        χ is the response of the weights, which falls as the load grows. Ends with the first point
        where `until` holds. The first point has χ = 100ρ; if the load there is not below `below`, χ
        is raised, nearer to the entrance, until it is.
        """
        log_chi = float(np.log(_FIRST_CHI_OVER_RHO * self.rho))
        first = self._near_entrance(log_chi)
        while first.state.alpha >= below:
            log_chi += _LOG_CHI_BACK
            first = self._near_entrance(log_chi)
        yield from self.follow(first, _LOG_CHI_STEP, until)

    def _near_entrance(self, log_chi: float) -> Solved[RSState]:
        """The saddle at a large response χ, started from the formulas of leading order in 1/χ."""
        return self.at_chi(log_chi, branch_start(np.exp(log_chi), self.rho, self.ensemble))

    def excess_load(self, state: RSState, alpha: float) -> float:
        """How far the load of a point lies above α, without cancellation near α_c.

        α_c is Gardner's load, that of all variables, to which loads come near as the density ρ → 1.
        There `state.to_gardner`, α_c minus the load of the point, is small and has more digits than
        the load itself: the difference is taken between the distances from α_c.
        """
        if self.rho <= 0.5:
            return state.alpha - alpha
        alpha_to_gardner = gardner(self.ensemble).load - alpha  # α_c − α
        return alpha_to_gardner - state.to_gardner


def branch_start(chi: float, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """Return a start for Newton's method near the beginning of the branch, (coordinates,).

    The branch is the curve of solutions of the theory at one density ρ, the share of variables that
    a rule may use. It begins at the largest load that a typical choice of variables separates. χ,
    the scale of the cost v²/2χ of a violation v, is infinite there. The start has the given large
    `chi`, and its other coordinates are right to leading order in 1/χ: the values at the beginning
    of the branch. `encode_point` puts them into the order that the solver expects.
    """
    # The threshold and the ceiling (the largest violation that is no error) are the same as for a
    # rule with all variables, in units of the length |w| of the weights.
    rule_of_all = gardner(ensemble)

    # The overlap q₀ of two choices of variables (the scalar product of their weights, per variable)
    # relative to ρ.
    overlap_over_rho = entrance_overlap(rho, ensemble)

    # The price K of a variable: each variable is chosen with the odds e^{−K} = ρ/(1 − ρ).
    price = -logit(rho)

    # The field of a chosen variable, by which the patterns pull its weight: F₀ is the variance of
    # its mean, which differs between variables, and V the variance around the mean. Both follow
    # from averages over the patterns, relative to E, the stiffness of the weights.
    pattern_parameters = _patterns_at_entrance(chi, rho, overlap_over_rho, rule_of_all)
    multiplier_ratios = _multiplier_ratios(pattern_parameters, ensemble)
    return encode_point(
        ensemble,
        chi=chi,
        q0_over_rho=overlap_over_rho,
        K=price,
        V_over_E=multiplier_ratios.V_over_E,
        F0_over_E=multiplier_ratios.F0_over_E,
        threshold=rule_of_all.threshold,
        largest_violation=rule_of_all.ceiling,
    )


def _patterns_at_entrance(
    chi: float, rho: float, overlap_over_rho: float, rule_of_all: Gardner
) -> PatternParameters:
    """Collect the parameters of averages over the patterns, near the beginning of the branch.

    The units of threshold and ceiling differ. `rule_of_all`, the rule with all variables, has both
    in units of |w| = √ρ. `PatternParameters` has the threshold in these units, too, but the ceiling
    in the units of the violations themselves.
    """
    return PatternParameters(
        rho=rho,
        q0=rho * overlap_over_rho,
        s2=rho * (1 - overlap_over_rho),  # ρ − q₀
        chi=chi,
        threshold=rule_of_all.threshold,
        ceiling=np.sqrt(rho) * rule_of_all.ceiling,
    )


class _MultiplierRatios(NamedTuple):
    """Multipliers of the overlaps of weights, relative to E, that of their norm."""

    V_over_E: float  # V = F₁ − F₀, F₁ the multiplier of the overlap within a choice of variables
    F0_over_E: float  # F₀, of the overlap between two choices


def _multiplier_ratios(parameters: PatternParameters, ensemble: Ensemble) -> _MultiplierRatios:
    """Compute V/E and F₀/E, which follow from averages over the patterns by three equations:

        E = ρ₊/χ,    F₀ = (α/χ²)⟨R₁²⟩,    V = (α/χ²)⟨R₂ − R₁²⟩.

    R₁ = E[T] and R₂ = E[T²] are moments of the correction T of a pattern, and ⟨·⟩ is their mean
    over patterns. ρ₊ is the share of variables with a nonzero weight. The load is α = ρ₊/p, where p
    is the share of tight patterns (`effective_tight`), so that (α/χ²)/E = 1/(χp).
    """
    laws_of_classes = class_laws(ensemble, parameters, QUADRATURE_STEP)
    means = pattern_means(laws_of_classes, ensemble, parameters.rho)
    factor = 1 / (means.effective_tight * parameters.chi)  # (α/χ²)/E
    return _MultiplierRatios(
        V_over_E=means.correction_variance * factor,
        F0_over_E=means.mean_correction_square * factor,
    )


def entrance_overlap(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """Compute c, the correlation of the weights on two typical choices of ρN variables.

    It is taken at the Cover–Gardner load, the largest load that a typical choice separates. There
    each choice has one separating weight vector left. The weights of a variable that is in both
    choices come from its fields in the two choices (what the data pull it by); r(c) is the
    correlation of these fields. This gives an equation for c, 0 < c < 1:

        c = ρ r(c)            with weights of free sign,
        c = 2ρ J(r(c))        with weights of given sign.

    J (`overlap_kernel`) is the mean product of the positive parts of two Gaussians.
    """
    if ensemble.plain:
        return typical_overlap(rho)  # here r(c) = 2J(c), and no quadrature is needed

    def excess(c: float) -> float:
        """The right-hand side of the equation for c, minus c; positive at c = 0."""
        field_correlation = _field_correlation(c, ensemble)  # r(c)
        if ensemble.signed:
            weight_correlation = 2 * overlap_kernel(field_correlation)
        else:
            weight_correlation = field_correlation
        return rho * weight_correlation - c

    # The root can be closer to 1 than the quadrature resolves. The result only starts Newton's
    # method, so the largest overlap that is resolved is good enough in this case.
    if excess(_LARGEST_OVERLAP) >= 0:
        return _LARGEST_OVERLAP
    return float(brentq(excess, 0.0, _LARGEST_OVERLAP, xtol=1e-14))


def _field_correlation(overlap: float, ensemble: Ensemble) -> float:
    """Compute the correlation of the fields on a variable in two choices that both contain it.

    The field of a variable is what the patterns pull its weight by. It comes from the corrections T
    of violated patterns, and the correlation of the fields in the two choices is

        E[T T']/E[T²].

    A pattern has the violation x in the first choice, in units of |w|. Its correction T is x if x
    lies between 0 and the ceiling, the largest violation that is no error, and 0 otherwise. T' is
    the same in the second choice. `overlap` is the correlation of the two violations.
    """
    # E[T T'], a mean over the classes of patterns.
    rule_of_all = gardner(ensemble)  # the rule with all variables
    mean_product = 0.0
    for class_share, class_sign in ensemble.classes:
        mean_violation = ensemble.margin + class_sign * rule_of_all.threshold
        mean_product_of_class = _mean_product_of_corrections(
            mean_violation, overlap, ceiling=rule_of_all.ceiling
        )
        mean_product += class_share * mean_product_of_class

    # E[T²]. By Gardner's formula it is 1/α, where α is the capacity of a rule with all variables
    # and free signs. If the signs are given, `rule_of_all.load` is only ½ α; the factor, ½ or 1, is
    # `saturation_density`.
    load_of_free_signs = rule_of_all.load / ensemble.saturation_density  # α = 1/E[T²]
    return load_of_free_signs * mean_product


def _mean_product_of_corrections(mean: float, overlap: float, ceiling: float) -> float:
    """Compute E[T T'], the mean product of the corrections of a pattern in two choices.

    The violations x and x' in the two choices of variables are N(mean, 1), with the correlation
    c = `overlap`. T = x if 0 < x < ceiling, and T = 0 otherwise; T' is the same for x'. Let √c z,
    with a standard Gaussian z, be the part that x and x' have in common. Given z they are
    independent, x ~ N(mean + √c z, 1 − c), and so

        E[T T'] = ∫Dz E[T | z]².
    """
    # The inner mean changes over √(1 − c)/√c in z, which is short where c is near to 1: the step
    # is an eighth of the usual one.
    rule = gaussian_rule(step=QUADRATURE_STEP / 8)
    # x/√(1 − c) has unit variance; its partial mean is that of x over √(1 − c).
    width = np.sqrt(1 - overlap)
    scaled_mean = (mean + np.sqrt(overlap) * rule.nodes) / width  # (nodes,)
    mean_correction = width * _partial_mean(scaled_mean, ceiling / width)  # E[T | z], (nodes,)
    return float(rule.mean(mean_correction**2))


def _partial_mean(mean: Array, top: float) -> Array:
    """E[x 1_{0<x<top}] for x ~ N(m, 1): m [Φ(top − m) − Φ(−m)] + φ(m) − φ(top − m).

    Φ and φ are the normal distribution function and density. The formula follows from
    x φ(x − m) = m φ(x − m) − dφ(x − m)/dx. One value for each mean m, (nodes,).
    """
    weight = ndtr(top - mean) - ndtr(-mean)  # P(0 < x < top)
    return mean * weight + _normal_density(mean) - _normal_density(top - mean)


def _normal_density(x: Array) -> Array:
    """φ(x), the density of the standard normal distribution, at each x, (nodes,)."""
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)
