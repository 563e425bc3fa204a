"""Replica-symmetric equations above the Cover–Gardner load, in the rescaled variables of the limit m → 0.

Every saddle equation is a partial derivative of one function, the free entropy

    Σ(q₀, χ, E, F₁, F₀, K, b, y) = α Σ_c f_c ∫Dz ln A(√q₀ z + θ_c) + ∫Dz ln(1 + e^{−K}B) + Kρ + ½(E − F₁)ρ − ½F₁χ + ½F₀q₀ + yαε,

with A and B of `kernels`, s² = ρ − q₀, d = E − F₁ + F₀, u = √F₀ z. Class c has the share f_c and the offset
θ_c = √ρ(margin + σ_c b); b is the threshold, ε the error rate allowed and e^{−y} the weight of an error (y = ∞ without
errors). With equal classes b = 0, and the paper's case has θ = 0. The derivatives by E and F₁ give χE = ρ₊, the share of
variables with a weight other than zero: ρ, or less where the sign of each weight is given. Those by χ and q₀ give F₁ and F₀.
What is left to solve, with V = F₁ − F₀, is
    (1) ∫Dz p = ρ,    (2) ∫Dz p⟨w²⟩ = ρ,    (3) ∫Dz (p⟨w⟩)² = q₀,
    (4) F₀ = (α/χ²)⟨R₁²⟩,    (5) d = E − (α/χ²)⟨R₂ − R₁²⟩,    (6) Σ_c σ_c f_c ∫Dz R₁ = 0,    (7) ⟨wrong⟩ = ε,
where ⟨·⟩ = Σ_c f_c ∫Dz, in the unknowns ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E) and, where they are free, b and ln t*, v* = √ρ
t* = √(2χy). (V and F₀ could be eliminated, but p(u) depends exponentially on d, a small difference of large terms.)

The pattern term does not change when ρ, χ, q₀, θ² and v*² are scaled together (w → λw), the support term not when E, F₁ and
F₀ are. At the saddle these two Euler identities give

    α⟨p₊ − v*e* + κR₁/ρ⟩ = ρ₊,      κ = margin·√ρ,

which without margin and errors reads αp₊ = ρ₊: as many tight constraints as weights. It gives the load as a function of
the other unknowns, without cancellation near ρ = 1; along the branch χ falls steadily from ∞ (at α_CG) to 0 (at α_ℓ₀) and is
the parameter to follow. One of (2) and (3) is then redundant: write X and Y for their errors; by Gaussian integration by
parts on both sides, (1), (4)–(7) and the identity imply

    F₀ Y = (F₀ − d) X.

Near the entrance, where F₀ ≪ d, (2) hardly depends on q₀; at F₀ = d (3) holds by itself. The combination X − Y d/(F₀ + d) = 0
is good everywhere, and X and Y separately are left over as a check of every solution.

The chance line is where the entropy of separating choices vanishes, Σ = 0; its inverse ρ_VS(α) is `density`. With given signs Σ
counts the choices on which some weights of the right sign separate; half of the inputs, well chosen, reach the load of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.ensemble import (
    APPROXIMATE,
    PLAIN,
    Ensemble,
    EnsembleResult,
    binary_entropy,
    check_alpha,
    gardner,
    l0_load,
    overlap_kernel,
    typical_overlap,
    with_error,
)
from chanceline.theory.kernels import (
    ClassSide,
    PatternMeans,
    SupportMeans,
    class_sides,
    pattern_means,
    support_means,
)
from chanceline.theory.numerics import STEP, Array, ChiBranch, Newton, OutsideDomain, Solved, first_success, follow, gaussian_rule


@dataclass(frozen=True)
class Order:
    """Order parameters and their conjugates; `threshold` is b/|w|, and an error has the weight e^{−price}."""

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
    """The equations at one point: order parameters, residual (relative), Jacobian, and what follows at the saddle."""

    alpha: float
    to_gardner: float  # α_c − α, the load left to that of all variables; without cancellation for the plain ensemble and ρ > ½
    order: Order
    residual: Array
    jacobian: Array
    alpha_gradient: Array  # by the same unknowns as the Jacobian
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


def _coordinates(point: Array, rho: float, ensemble: Ensemble) -> tuple[float, ...]:
    """χ, q₀, s², V/E, d/E, F₀/E, K, b and v* of a point."""
    log_chi, y, K, v, log_f0 = (float(value) for value in point[:5])
    threshold = float(point[5]) if ensemble.free_threshold else 0.0
    ceiling = float(np.sqrt(rho) * np.exp(point[-1])) if ensemble.error_rate else np.inf
    chi, F0 = np.exp(log_chi), np.exp(log_f0)
    return chi, rho * expit(y), rho * expit(-y), expit(v), expit(-v), F0, K, threshold, ceiling


def equations(point: Array, rho: float, ensemble: Ensemble = PLAIN, step: float = STEP) -> RSState:
    """Residuals of (1), (2) with (3), (4)–(7) and their analytic Jacobian in all coordinates of the point.

    The point is (ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E)), then b if the threshold is free, then ln t* if errors are allowed.
    """
    if np.abs(np.delete(point, 2)).max() > 100:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    chi, q0, s2, v_share, d_share, ratio, K, threshold, ceiling = _coordinates(point, rho, ensemble)
    support = support_means(ratio, float(point[3]), K, step, ensemble.signed)
    nonzero = support.nonzero if ensemble.signed else np.array([rho, 0.0, 0.0, 0.0])
    E = nonzero[0] / chi
    V, d, F0 = E * v_share, E * d_share, E * ratio
    F1 = F0 + V
    sides = class_sides(ensemble, rho, q0, s2, chi, threshold, ceiling, step)
    means = pattern_means(sides, ensemble, rho)
    isostatic = means.isostatic[0]
    if not isostatic > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = float(nonzero[0] / isostatic)
    a = alpha / chi**2
    norm, overlap = support.norm[0] / E, support.overlap[0] / E
    residual = [
        (support.chosen[0] - rho) / rho if rho <= 0.5 else 1 - support.rejected / (1 - rho),
        (norm - rho - d / (F0 + d) * (overlap - q0)) / rho,
        a * means.square[0] / F0 - 1,
        (a * means.variance[0] - V) * E / (V * d),
    ]
    if ensemble.free_threshold:
        residual.append(means.by_threshold[0] / np.sqrt(rho))
    price = 0.0
    if ensemble.error_rate:
        residual.append(means.wrong[0] / ensemble.error_rate - 1)
        price = ceiling**2 / (2 * chi)
    by_alpha = means.log_a + price * ensemble.error_rate
    # ½[(E − F₁)ρ − F₁χ + F₀q₀], grouped so that no term is larger than it need be.
    outside = 0.5 * (d * rho - F0 * s2 - F1 * chi)
    kappa = ensemble.margin * np.sqrt(rho)
    jacobian, alpha_gradient, entropy_gradient = _gradients(point, rho, ensemble, means, support, nonzero)
    return RSState(
        alpha=alpha,
        to_gardner=_to_gardner(sides[0], rho, ensemble, alpha),
        order=Order(float(q0), float(chi), float(E), float(F1), float(F0), K, threshold, price or np.inf),
        residual=np.array(residual),
        jacobian=jacobian,
        alpha_gradient=alpha_gradient,
        isostatic=float(isostatic),
        nonzero=float(nonzero[0]),
        tight=means.tight,
        norm=float(norm),
        overlap=float(overlap),
        entropy=float(alpha * by_alpha + support.log_one_plus + K * rho + outside),
        entropy_gradient=entropy_gradient,
        entropy_by_alpha=by_alpha,
        # With ρ the offsets grow like √ρ; that of the threshold is stationary.
        entropy_by_rho=float(0.5 * alpha * (means.heat - kappa * means.first / (rho * chi)) + K + 0.5 * (E - F1)),
        between=float(alpha * means.curvature_square * support.curvature_square / E**2),
    )


def _gradients(
    point: Array, rho: float, ensemble: Ensemble, means: PatternMeans, support: SupportMeans, nonzero: Array
) -> tuple[Array, Array, Array]:
    """The Jacobian of the residual and the gradients of α and Σ, by the coordinates of the point."""
    chi, q0, _, v_share, d_share, ratio, _, _, ceiling = _coordinates(point, rho, ensemble)
    E = nonzero[0] / chi
    V, F0, y = E * v_share, E * ratio, float(point[1])
    alpha = nonzero[0] / means.isostatic[0]
    a = alpha / chi**2
    V_now, F0_now = a * means.variance[0], a * means.square[0]
    norm, overlap = support.norm[0] / E, support.overlap[0] / E
    share = d_share / (ratio + d_share)
    unit, zero = np.eye(len(point)), np.zeros(len(point))
    by_chi, by_y, by_k, by_v, by_ratio = unit[:5]
    by_threshold = unit[5] if ensemble.free_threshold else zero
    by_ceiling = unit[-1] if ensemble.error_rate else zero
    dq0 = q0 * expit(-y) * by_y
    of_patterns = np.array([by_chi, dq0, by_threshold, by_ceiling])
    of_supports = np.array([by_k, by_v, by_ratio])
    by_nonzero = nonzero[1:] @ of_supports / nonzero[0]
    by_E = by_nonzero - by_chi  # of ln E; the next two of ln V and ln F₀
    by_V, by_f0 = by_E + d_share * by_v, by_E + by_ratio
    dalpha = alpha * (by_nonzero - means.isostatic[1:] @ of_patterns / means.isostatic[0])
    da = a * (dalpha / alpha - 2 * by_chi)
    dF0_now = a * (means.square[1:] @ of_patterns) + F0_now / a * da
    dV_now = a * (means.variance[1:] @ of_patterns) + V_now / a * da
    dnorm, doverlap = (of[1:] @ of_supports / E - of[0] / E * by_E for of in (support.norm, support.overlap))
    dshare = -share * (1 - share) * (v_share * by_v + by_ratio)
    jacobian = [
        support.chosen[1:] @ of_supports / min(rho, 1 - rho),
        (dnorm - share * (doverlap - dq0) - (overlap - q0) * dshare) / rho,
        dF0_now / F0 - F0_now / F0 * by_f0,
        (dV_now / V - V_now / V * by_V + (V_now / V - 1) * v_share * by_v) / d_share,
    ]
    if ensemble.free_threshold:
        jacobian.append(means.by_threshold[1:] @ of_patterns / np.sqrt(rho))
    price, dprice = 0.0, zero
    if ensemble.error_rate:
        jacobian.append(means.wrong[1:] @ of_patterns / ensemble.error_rate)
        price = ceiling**2 / (2 * chi)
        dprice = price * (2 * by_ceiling - by_chi)
    # dΣ: every term but the last vanishes at the saddle. ∂Σ/∂χ = ½(α⟨R₂⟩/χ² − F₁), ∂Σ/∂q₀ = ½(F₀ − α⟨g'²⟩).
    dentropy = (
        (rho - support.chosen[0]) * by_k
        + 0.5 * (rho - norm) * E * by_E
        + 0.5 * (norm - rho + support.nonzero[0] / E - chi) * (F0 * by_f0 + V * by_V)
        + 0.5 * (q0 - overlap) * F0 * by_f0
        + 0.5 * (F0_now + V_now - (F0 + V)) * chi * by_chi
        + 0.5 * (F0 - F0_now) * dq0
        - alpha / chi * np.sqrt(rho) * means.by_threshold[0] * by_threshold
        + alpha * (ensemble.error_rate - means.wrong[0]) * dprice
        + (means.log_a + price * ensemble.error_rate) * dalpha
    )
    return np.array(jacobian), dalpha, dentropy


def _to_gardner(one: ClassSide, rho: float, ensemble: Ensemble, alpha: float) -> float:
    if not ensemble.plain or rho <= 0.5:
        return gardner(ensemble).load - alpha
    # With every term small: ∫Dz p₊ = ½ + ∫_{z>0} Dz [p₊(−z) − (1 − p₊(z))].
    tight, half = one.side.tight, one.rule.nodes.size // 2
    odd = one.rule.weights * (tight[::-1] - one.side.loose)
    return float((1 - rho + odd[half] + 2 * odd[half + 1 :].sum()) / one.rule.mean(tight))


def entrance_overlap(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """c = lim q₀/ρ at α_CG: the root of c = α_CG Σ_c f_c ∫Dz [∫Dy v]², v between 0 and t* and N(τ_c + √c z, 1 − c).

    For the plain ensemble this is c = 2ρ J(c), J(c) = [√(1−c²) + c(π − arccos c)]/(2π). The right-hand side over ρ is F₀/F₁;
    with given signs c = 2ρ J(F₀/F₁).
    """
    if ensemble.plain:
        return typical_overlap(rho)
    all_variables = gardner(ensemble)
    rule = gaussian_rule(step=STEP / 8)

    def density(x: Array) -> Array:
        return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)

    def excess(c: float) -> float:
        width, total = np.sqrt(1 - c), 0.0
        for share, sign in ensemble.classes:
            mean = (ensemble.margin + sign * all_variables.threshold + np.sqrt(c) * rule.nodes) / width
            top = all_variables.ceiling / width
            first = mean * (ndtr(top - mean) - ndtr(-mean)) + density(mean) - density(top - mean)
            total += share * float(rule.mean((width * first) ** 2))
        ratio = all_variables.load / ensemble.widest * total  # F₀/F₁
        return rho * (2 * overlap_kernel(ratio) if ensemble.signed else ratio) - c

    # Where the rule no longer resolves √(1 − c), a start that is as near to 1 will do.
    nearest = 1 - 1e-5
    return float(brentq(excess, 0.0, nearest, xtol=1e-14)) if excess(nearest) < 0 else nearest


def beginning(chi: float, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """The branch to leading order in 1/χ: q₀/ρ → c, e^{−K} → ρ/(1 − ρ), with F₀ and V as they follow."""
    c = entrance_overlap(rho, ensemble)
    top = gardner(ensemble)
    sides = class_sides(ensemble, rho, rho * c, rho * (1 - c), chi, top.threshold, np.sqrt(rho) * top.ceiling, STEP)
    means = pattern_means(sides, ensemble, rho)
    F0, V = (value / (means.isostatic[0] * chi) for value in (means.square[0], means.variance[0]))  # over E = ρ₊/χ
    extra = [top.threshold] if ensemble.free_threshold else []
    if ensemble.error_rate:
        extra.append(float(np.log(top.ceiling)))
    return np.array([np.log(chi), logit(c), -logit(rho), logit(V), np.log(F0), *extra])


@dataclass(frozen=True)
class Branch(ChiBranch[RSState]):
    """The replica-symmetric branch at one density: from its entrance at α_CG, χ → ∞, to its end at α_ℓ₀, χ → 0."""

    rho: float
    ensemble: Ensemble = PLAIN

    def at_chi(self, log_chi: float, start: Array, step: float = STEP) -> Solved[RSState]:
        # With errors the share of patterns at the margin is a difference of terms larger than it by 1/χ.
        rounding = 4 * np.finfo(float).eps * self.rho * np.exp(-log_chi) if self.ensemble.error_rate else 0.0
        solved = Newton(tolerance=max(Newton.tolerance, rounding)).solve(
            lambda values: equations(np.array([log_chi, *values]), self.rho, self.ensemble, step),
            start[1:],
            self.ensemble.label(f"RS at χ = {np.exp(log_chi):.6g} at ρ = {self.rho:.10g}"),
            jacobian=lambda state: state.jacobian[:, 1:],
        )
        return replace(solved, unknowns=np.array([log_chi, *solved.unknowns]))

    def at_zero_entropy(self, start: Array) -> Solved[RSState]:
        """The point where no choice is left to count, Σ = 0, as one more equation."""
        scale = binary_entropy(self.rho)
        # Σ is a small difference of terms as large as α⟨ln A⟩.
        rounding = 16 * np.finfo(float).eps * self.rho * np.exp(-start[0]) / scale
        return Newton(tolerance=max(Newton.tolerance, rounding)).solve(
            lambda point: equations(point, self.rho, self.ensemble),
            start,
            self.ensemble.label(f"RS capacity at ρ = {self.rho:.10g}"),
            residual=lambda state: np.append(state.residual, state.entropy / scale),
            jacobian=lambda state: np.vstack([state.jacobian, state.entropy_gradient / scale]),
        )

    def from_entrance(self, until: Callable[[RSState], bool], below: float = np.inf) -> Iterator[Solved[RSState]]:
        """Continuation from the entrance; ends with the first point where `until` holds.

        The first point has χ = 100ρ, or more if its load is not yet below `below`.
        """
        log_chi, first = float(np.log(100 * self.rho)), None
        while first is None or first.state.alpha >= below:
            first = self.at_chi(log_chi, beginning(np.exp(log_chi), self.rho, self.ensemble))
            log_chi += 2.0
        yield from self.follow(first, -1.0, until)

    def excess_load(self, state: RSState, alpha: float) -> float:
        """How far the load of a point lies above α, without cancellation near that of all variables."""
        return state.alpha - alpha if self.rho <= 0.5 else gardner(self.ensemble).load - alpha - state.to_gardner


# The chance line.


@dataclass(frozen=True, repr=False)
class Density(EnsembleResult):
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        return f"density at {self.ensemble.label(f'α = {self.alpha:g}')}: ρ_VS = {with_error(self.rho, self.error)}"

    def __str__(self) -> str:
        return self.summary() + (f"\n  {APPROXIMATE}" if self.errors else "")


@dataclass(frozen=True)
class End:
    """The point Σ = 0, its load on a refined rule, and the error of the load."""

    solved: Solved[RSState]
    alpha: float
    error: float


def _from_the_entrance(branch: Branch) -> Solved[RSState]:
    """The point Σ = 0 by the whole way along the branch."""
    *_, before, after = branch.from_entrance(lambda state: state.entropy <= 0)
    return branch.point_where((before, after), lambda state: state.entropy)


def _from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """The same by way of the points Σ = 0 of other densities: with errors the entrance is hard to find near ρ = 1."""
    *_, last = follow(
        lambda x, guess: Branch(branch.ensemble.widest * float(expit(x)), branch.ensemble).at_zero_entropy(guess),
        _from_the_entrance(Branch(0.5 * branch.ensemble.widest, branch.ensemble)),
        0.0,
        0.5,
        until=float(logit(branch.rho / branch.ensemble.widest)),
    )
    return last


def zero_entropy(branch: Branch, start: Array | None) -> End:
    """The capacity of a branch, from a point near to it or from nothing."""
    ways = [_from_the_entrance, _from_smaller_densities]
    if start is not None:
        ways.insert(0, lambda branch: branch.at_zero_entropy(start))
    coarse = first_success(lambda way: way(branch), ways)
    fine = branch.at_chi(float(coarse.unknowns[0]), coarse.unknowns, STEP / 2)
    state = fine.state
    alpha = state.alpha - state.entropy / state.entropy_by_alpha
    before_refinement = coarse.state.alpha - coarse.state.entropy / coarse.state.entropy_by_alpha
    order = state.order
    rounding = 4 * np.finfo(float).eps * (order.F0 * (branch.rho - order.q0) + abs(alpha * state.entropy_by_alpha))
    return End(fine, float(alpha), float(abs(alpha - before_refinement) + rounding / abs(state.entropy_by_alpha)))


def density(alpha: float, *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0, signs: str = "free") -> Density:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α, 0 < α < α_c.

    α_c is the capacity with all variables kept (2 for equal classes without margin and errors, half of it with given signs); the
    other parameters are those of `capacity`. Newton on ln(α/(α_c − α)) as a function of logit ρ (2ρ with given signs), with
    dα_VS/dρ = −(∂Σ/∂ρ)/(∂Σ/∂α).
    """
    alpha, ensemble = check_alpha(alpha), Ensemble.checked(balance, margin, errors, signs)
    top, widest = gardner(ensemble).load, ensemble.widest
    if alpha >= top:
        raise InputError(f"alpha must be below {top:.6g}, the capacity with all variables kept, but is {alpha:g}")
    lowest, highest = -30.0, 14.0

    def nearest(x: float) -> float:
        return l0_load(widest * float(expit(x)), ensemble) - alpha

    if not nearest(lowest) < 0 < nearest(highest):
        raise InputError(f"alpha = {alpha:g} is too close to 0 or {top:.6g} to resolve; choose a load further inside")
    x = float(brentq(nearest, lowest, highest))
    start: Array | None = None
    for _ in range(50):
        rho = widest * float(expit(x))
        end = zero_entropy(Branch(rho, ensemble), start)
        start, state, reached = end.solved.unknowns, end.solved.state, end.alpha
        slope = -state.entropy_by_rho / state.entropy_by_alpha
        if slope <= 0:
            raise ConvergenceError(
                f"density at {ensemble.label(f'α = {alpha:g}')}: with errors replica symmetry is an approximation, in which no "
                "density has this capacity; choose a smaller load"
            )
        move = np.log(alpha * (top - reached) / (reached * (top - alpha)))
        by_x = slope * rho * (1 - rho / widest) * top / (reached * (top - reached))
        step = float(np.clip(move / by_x, -1.0, 1.0))
        x += step
        if abs(step) < 1e-13 or abs(reached - alpha) <= end.error:
            rho = widest * float(expit(x))
            error = float(end.error / slope + 2 * np.finfo(float).eps * rho)
            return Density(alpha, rho, error, ensemble=ensemble, threshold=state.order.threshold)
    raise ConvergenceError(
        f"density at α = {alpha:g}: Newton stopped at ρ = {widest * expit(x):.10g}; try a load further from 0 or {top:.6g}"
    )
