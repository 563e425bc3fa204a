"""The replica-symmetric branch at one density, from the Cover–Gardner load to its end.

Along it χ falls steadily from ∞ (at α_CG) to 0 (at α_ℓ₀); the equations are those of
`rs_equations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit, ndtr

from chanceline.theory.closed_forms import binary_entropy, overlap_kernel, typical_overlap
from chanceline.theory.continuation import ChiBranch
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import EPS, Newton, Solved
from chanceline.theory.pattern_averages import PatternOrder, class_sides, pattern_means
from chanceline.theory.quadrature import QUADRATURE_STEP, Array, gaussian_rule
from chanceline.theory.rs_equations import RSState, equations

# The first point has χ = this times ρ, where the branch is still that of leading order in 1/χ.
_FIRST_CHI = 100
# … and if its load is not yet small enough, ln χ is raised by this.
_LOG_CHI_BACK = 2.0
# First step of ln χ along the branch.
_LOG_CHI_STEP = -1.0
# The rule no longer resolves √(1 − c) for larger c; a start that is as near to 1 will do.
_LARGEST_OVERLAP = 1 - 1e-5


@dataclass(frozen=True)
class Branch(ChiBranch[RSState]):
    """The branch at one density: from its entrance at α_CG, χ → ∞, to its end at α_ℓ₀, χ → 0."""

    rho: float
    ensemble: Ensemble = PLAIN

    def at_chi(
        self, log_chi: float, start: Array, step: float = QUADRATURE_STEP
    ) -> Solved[RSState]:
        """The saddle at a given χ, by Newton in the other coordinates; the whole point comes back.

        `start` is a point near to it, (coordinates,), whose ln χ is not used; `step` is that of the
        quadrature.
        """
        rounding = 0.0
        if self.ensemble.error_rate:
            # The share of patterns at the margin is a difference of terms larger than it by 1/χ.
            rounding = 4 * EPS * self.rho * np.exp(-log_chi)
        solved = Newton(tolerance=max(Newton.tolerance, rounding)).solve(
            lambda values: equations(np.array([log_chi, *values]), self.rho, self.ensemble, step),
            start[1:],
            self.ensemble.label(f"RS at χ = {np.exp(log_chi):.6g} at ρ = {self.rho:.10g}"),
            jacobian=lambda state: state.jacobian[:, 1:],
        )
        return replace(solved, unknowns=np.array([log_chi, *solved.unknowns]))

    def at_zero_entropy(self, start: Array) -> Solved[RSState]:
        """The point where no choice is left to count: Σ/H₂(ρ) = 0 is one more equation for ln χ."""
        scale = binary_entropy(self.rho)
        # Σ is a small difference of terms as large as α⟨ln A⟩.
        rounding = 16 * EPS * self.rho * np.exp(-start[0]) / scale
        return Newton(tolerance=max(Newton.tolerance, rounding)).solve(
            lambda point: equations(point, self.rho, self.ensemble),
            start,
            self.ensemble.label(f"RS capacity at ρ = {self.rho:.10g}"),
            residual=lambda state: np.append(state.residual, state.entropy / scale),
            jacobian=lambda state: np.vstack([state.jacobian, state.entropy_gradient / scale]),
        )

    def from_entrance(
        self, until: Callable[[RSState], bool], below: float = np.inf
    ) -> Iterator[Solved[RSState]]:
        """Continuation from the entrance; ends with the first point where `until` holds.

        The first point has χ = 100ρ, or more if its load is not yet below `below`.
        """
        log_chi = float(np.log(_FIRST_CHI * self.rho))
        first = self._near_entrance(log_chi)
        while first.state.alpha >= below:
            log_chi += _LOG_CHI_BACK
            first = self._near_entrance(log_chi)
        yield from self.follow(first, _LOG_CHI_STEP, until)

    def _near_entrance(self, log_chi: float) -> Solved[RSState]:
        """The saddle at a large χ."""
        return self.at_chi(log_chi, branch_start(np.exp(log_chi), self.rho, self.ensemble))

    def excess_load(self, state: RSState, alpha: float) -> float:
        """How far the load of a point lies above α, without cancellation near α_c."""
        if self.rho <= 0.5:
            return state.alpha - alpha
        return gardner(self.ensemble).load - alpha - state.to_gardner


def branch_start(chi: float, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """A point of `rs_equations.equations` on the branch, to leading order in 1/χ, (coordinates,).

    There q₀/ρ = c of `entrance_overlap`, e^{−K} = ρ/(1 − ρ), and b and t* are those of all
    variables. With E = ρ₊/χ and the load α = ρ₊/⟨p₊ − v*e* + κR₁/ρ⟩ equations (4) and (5),
    F₀ = (α/χ²)⟨R₁²⟩ and V = (α/χ²)⟨R₂ − R₁²⟩, give F₀/E and V/E.
    """
    c = entrance_overlap(rho, ensemble)
    all_variables = gardner(ensemble)
    order = PatternOrder(
        rho=rho,
        q0=rho * c,
        s2=rho * (1 - c),
        chi=chi,
        threshold=all_variables.threshold,
        ceiling=np.sqrt(rho) * all_variables.ceiling,
    )
    means = pattern_means(class_sides(ensemble, order, QUADRATURE_STEP), ensemble, rho)
    isostatic = means.isostatic[0]  # ⟨p₊ − v*e* + κR₁/ρ⟩
    F0_over_E = means.square[0] / (isostatic * chi)
    V_over_E = means.variance[0] / (isostatic * chi)

    # The coordinates in the order of `rs_point.decode_point`.
    log_chi = np.log(chi)
    logit_q0 = logit(c)
    K = -logit(rho)
    log_V_over_d = logit(V_over_E)  # d = E − V
    log_F0_over_E = np.log(F0_over_E)
    point = [log_chi, logit_q0, K, log_V_over_d, log_F0_over_E]
    if ensemble.free_threshold:
        point.append(all_variables.threshold)
    if ensemble.error_rate:
        point.append(float(np.log(all_variables.ceiling)))
    return np.array(point)


def entrance_overlap(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """c = lim q₀/ρ at α_CG, the overlap of two typical choices: a root in 0 < c < 1.

    For the plain ensemble it is the root of c = 2ρ J(c), J of `overlap_kernel`. Else it solves
    c = ρ F₀/F₁, or c = 2ρ J(F₀/F₁) with given signs, where F₀/F₁ depends on c (`_F0_over_F1`).
    """
    if ensemble.plain:
        return typical_overlap(rho)

    def excess(c: float) -> float:
        """The right-hand side of the equation less c."""
        ratio = _F0_over_F1(c, ensemble)
        if ensemble.signed:
            return rho * (2 * overlap_kernel(ratio)) - c
        return rho * ratio - c

    if excess(_LARGEST_OVERLAP) >= 0:
        return _LARGEST_OVERLAP
    return float(brentq(excess, 0.0, _LARGEST_OVERLAP, xtol=1e-14))


def _F0_over_F1(c: float, ensemble: Ensemble) -> float:
    """α_c Σ_k f_k ∫Dz E[x; 0 < x < t*]², x ~ N(τ_k + √c z, 1 − c), at the entrance.

    The classes k have the shares f_k and τ_k = margin + σ_k b. α_c (of free signs: that of given
    ones over ½, the widest density), b and t* are those of all variables. E[x; 0 < x < t*] =
    E[x 1_{0<x<t*}] is a partial mean; it is taken of x/√(1−c), which has unit variance.
    """
    all_variables = gardner(ensemble)
    rule = gaussian_rule(step=QUADRATURE_STEP / 8)
    width = np.sqrt(1 - c)
    scaled_top = all_variables.ceiling / width
    total = 0.0
    for share, sign in ensemble.classes:
        tau = ensemble.margin + sign * all_variables.threshold
        scaled_mean = (tau + np.sqrt(c) * rule.nodes) / width  # (nodes,)
        partial_mean = width * _partial_mean(scaled_mean, scaled_top)
        total += share * float(rule.mean(partial_mean**2))
    return all_variables.load / ensemble.widest * total


def _partial_mean(mean: Array, top: float) -> Array:
    """E[x 1_{0<x<top}] for x ~ N(m, 1): m [Φ(top − m) − Φ(−m)] + φ(m) − φ(top − m)."""
    weight = ndtr(top - mean) - ndtr(-mean)
    return mean * weight + _normal_density(mean) - _normal_density(top - mean)


def _normal_density(x: Array) -> Array:
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)
