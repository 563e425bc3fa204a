"""Replica symmetry at one point of the diagram: below the Cover–Gardner load, at it and above.

Above α_CG (2ρ for the plain ensemble) it is a point of the branch of `rs`. Below it typical choices separate (section 5.1): for
m → 0 the choice of variables decouples, Σ = H₂(ρ) and e^{−K} = ρ/(1 − ρ). With r = q₁/ρ, γ² = r/(1 − r) and h = H'/H, what is
left is Gardner's equation in ρN dimensions and one equation for the overlap of two independent choices:

    γ² = (α/ρ) ∫Dt h(γt)²,    c = (α/γ²) ∫Dz [∫Dy h(γ(√(1−c) y + √c z))]²,    c = q₀/q₁.

With unequal classes or a margin, h is taken at γt + √(1+γ²)(margin + σ_c b), averages run over the classes, and the threshold b
(in units of |w|) maximises the volume: Σ_c σ_c f_c ∫Dt h = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, logit

from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.ensemble import (
    PLAIN,
    Ensemble,
    EnsembleResult,
    binary_entropy,
    check_alpha,
    check_rho,
    l0_gardner,
    typical_overlap,
)
from chanceline.theory.numerics import STEP, Array, Solved, centred_rule, rule_for
from chanceline.theory.rs import Branch, RSState

if TYPE_CHECKING:
    import pandas as pd

MARGINAL = 1e-9


@dataclass(frozen=True)
class Stability:
    """The two replicon products of a solution; each is stable below 1.

    Attributes
    ----------
    within : within a support (the paper's λλ̂, among the m replicas). Above 2ρ it equals α∫Dz p₊/ρ, which scale invariance sets to
        exactly 1: marginal everywhere, violated nowhere. For a fixed support the feasible set of w is convex, so there is nothing
        to break. A margin makes it smaller than 1. Errors make the set non-convex, and it is infinite: the violation that is
        corrected jumps at v*.
    between : between supports (among the n replicas): α∫Dz [g''(√q₀ z)]² · ∫Dz [f''(√F₀ z)]². This one does pass 1, before Σ = 0.
    """

    within: float
    between: float

    @property
    def verdict(self) -> str:
        """`stable`, or `unstable` when a symmetry is broken (without errors `within` is marginal at worst)."""
        return "stable" if self.between < 1 and self.within < 1 + MARGINAL else "unstable"

    def __str__(self) -> str:
        words = [
            "marginal" if abs(product - 1) <= MARGINAL else "stable" if product < 1 else "unstable"
            for product in (self.within, self.between)
        ]
        return f"within a support {self.within:.6f} ({words[0]}), between supports {self.between:.6f} ({words[1]})"


@dataclass(frozen=True, repr=False)
class ReplicaSolution(EnsembleResult):
    """What the solutions have in common, replica symmetric or broken, in the limit m → 0.

    `regime` is "typical" (α ≤ α_CG, 2ρ for the plain ensemble: typical choices of variables separate), "selected" (only
    exponentially rare choices do) or "beyond" (Σ < 0: no choice does).
    """

    alpha: float
    rho: float
    regime: str
    entropy: float
    q0: float
    q1: float
    chi: float
    K: float
    E: float
    F1: float
    F0: float
    stability: Stability
    residual: float
    quadrature_error: float
    identity_error: float

    ansatz: ClassVar[str]
    _derived = (*EnsembleResult._derived, "ansatz")

    def summary(self) -> str:
        at = self.ensemble.label(f"α = {self.alpha:g}, ρ = {self.rho:g}")
        return f"{self.ansatz.upper()} solution at {at}: {self.regime}"


@dataclass(frozen=True)
class Conjugates:
    """q̂₁, q̂₀ and Q̂, finite only below the Cover–Gardner load."""

    q1: float
    q0: float
    Q: float


@dataclass(frozen=True, repr=False)
class RSSolution(ReplicaSolution):
    """Replica-symmetric solution. Below α_CG, χ = ∞ and E = F₁ = F₀ = 0 are the limits of the rescaled variables.

    An error has the weight e^{−price}; `price` is None without errors. `nonzero` is ρ₊, the share of inputs with a weight
    other than zero, None where the signs are free: then all chosen ones have.
    """

    conjugates: Conjugates | None = None
    price: float | None = None
    nonzero: float | None = None

    ansatz = "rs"
    kind = "asymptotic (replica symmetric)"

    def __str__(self) -> str:
        lines = [
            self.summary(),
            f"  entropy Σ    {self.entropy:.10f}   (quadrature error {self.quadrature_error:.1e})",
            f"  q₁ {self.q1:.10g}   q₀ {self.q0:.10g}   χ {self.chi:.10g}   K {self.K:.10g}",
            f"  E {self.E:.10g}   F₁ {self.F1:.10g}   F₀ {self.F0:.10g}",
        ]
        if self.ensemble.free_threshold or self.price is not None:
            price = "" if self.price is None else f"   −ln of an error's weight {self.price:.10g}"
            lines.append(f"  threshold b/|w| {self.threshold:.10g}{price}")
        if self.nonzero is not None:
            lines.append(f"  ρ₊ {self.nonzero:.10g}, the share of inputs whose weight is not zero")
        lines.append(f"  stability    {self.stability}")
        lines.append(
            f"  residual     {self.residual:.1e}   |αp₊ − {'ρ' if self.nonzero is None else 'ρ₊'}| {abs(self.identity_error):.1e}"
        )
        return "\n".join(lines)


def solve_rs(alpha: float, rho: float, ensemble: Ensemble = PLAIN) -> RSSolution:
    """The replica-symmetric solution at any load where it exists, 0 < α < α_ℓ₀(ρ)."""
    alpha, rho = check_alpha(alpha), check_rho(rho)
    bounds = bounds_at(rho, ensemble)
    if alpha >= bounds.l0_gardner:
        raise InputError(
            f"no replica-symmetric solution exists at alpha = {alpha:g}: at rho = {rho:g} the branch ends at the "
            f"l0-Gardner load {bounds.l0_gardner:.6g}; choose a smaller alpha"
        )
    if rho > 1 - 1e-12:
        raise InputError(f"rho = {rho!r} is too close to 1 to resolve; choose a smaller rho")
    if ensemble.signed and alpha <= bounds.cover_gardner:
        raise InputError(
            f"at alpha = {alpha:g} typical choices of variables already separate (up to {bounds.cover_gardner:g}), and the "
            "entropy is that of all choices; with given signs choose a larger alpha"
        )
    if ensemble.error_rate:
        return _with_errors(alpha, rho, ensemble)
    # Within rounding of α_CG the two sides agree, and the limit is the answer.
    if ensemble.plain and abs(alpha - bounds.cover_gardner) <= 1e-12 * alpha:
        return _at_cover_gardner(alpha, rho)
    if alpha > bounds.cover_gardner:
        return _above(alpha, rho, ensemble)
    coarse, fine = (solve_typical(alpha, rho, ensemble, step) for step in (STEP, STEP / 2))
    return replace(fine, quadrature_error=max(abs(fine.q0 - coarse.q0), abs(fine.q1 - coarse.q1)))


def _at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    c = typical_overlap(rho)
    # (ln H)'' becomes a step, so the replicon between supports is 2ρ P(two Gaussians of correlation c are both positive).
    between = 2 * rho * (0.25 + math.asin(c) / (2 * math.pi))
    return RSSolution(
        alpha, rho, "typical", binary_entropy(rho), c * rho, rho, math.inf, float(logit(1 - rho)), 0.0, 0.0, 0.0,
        Stability(1.0, between), 0.0, 0.0, 0.0,
    )  # fmt: skip


def _above(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    branch = Branch(rho, ensemble)
    *_, before, after = branch.from_entrance(lambda state: branch.excess_load(state, alpha) >= 0, below=alpha)
    return _at_load(branch, alpha, (before, after))


def _with_errors(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The point at load α past the fold of the branch, if it has one.

    With many errors the branch first runs back to smaller loads, with Σ > H₂(ρ): Σ counts pairs of a support and a cluster of
    weights, and a typical support has several clusters there. It is taken from where Σ falls below H₂(ρ); at smaller loads
    typical choices do.
    """
    branch, all_choices = Branch(rho, ensemble), binary_entropy(rho)
    points = list(branch.from_entrance(lambda state: state.entropy < all_choices and state.alpha >= alpha))
    too_many = [i for i, point in enumerate(points) if point.state.entropy >= all_choices]
    first = points[0]
    if too_many:
        last = too_many[-1]
        first = branch.point_where((points[last], points[last + 1]), lambda state: state.entropy - all_choices)
        points = [first, *points[last + 1 :]]
    if first.state.alpha >= alpha:
        if not too_many and alpha > bounds_at(rho, ensemble).cover_gardner:
            return _above(alpha, rho, ensemble)
        raise InputError(
            f"at alpha = {alpha:g} typical choices of variables already do with this many errors (up to {first.state.alpha:.6g} "
            "in replica symmetry), and the entropy is that of all choices; choose a larger alpha"
        )
    return _at_load(branch, alpha, (points[-2], points[-1]))


def _at_load(branch: Branch, alpha: float, bracket: tuple[Solved[RSState], Solved[RSState]]) -> RSSolution:
    rho, ensemble = branch.rho, branch.ensemble
    coarse = branch.point_where(bracket, lambda state: branch.excess_load(state, alpha))
    fine = branch.at_chi(float(coarse.unknowns[0]), coarse.unknowns, STEP / 2)
    state, order = fine.state, fine.state.order
    # What is left between the load of the point and α, within rounding and quadrature error, moves Σ along its slope.
    entropy = state.entropy - state.entropy_by_alpha * branch.excess_load(state, alpha)
    # With errors the violation that is corrected jumps at v*, and the replicon within a support diverges.
    within = math.inf if ensemble.error_rate else alpha * state.tight / state.nonzero
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime="selected" if entropy > 0 else "beyond",
        entropy=entropy,
        q0=order.q0,
        q1=rho,
        chi=order.chi,
        K=order.K,
        E=order.E,
        F1=order.F1,
        F0=order.F0,
        stability=Stability(within, state.between),
        residual=max(fine.residual, abs(state.overlap / order.q0 - 1), abs(state.norm / rho - 1)),
        quadrature_error=abs(entropy - coarse.state.entropy),
        identity_error=alpha * state.isostatic - state.nonzero,
        ensemble=ensemble,
        threshold=order.threshold,
        price=order.price if ensemble.error_rate else None,
        nonzero=state.nonzero if ensemble.signed else None,
    )


def branch_table(rho: float, points: int) -> pd.DataFrame:
    """Order parameters, entropy and stability from α near 0 to near the end of the branch, at one density."""
    import pandas as pd

    end = 2 * rho + 0.98 * (l0_gardner(rho) - 2 * rho)
    loads = sorted({*np.linspace(end / points, end, points - 1).tolist(), 2 * rho})
    solutions = [solve_rs(alpha, rho) for alpha in loads]
    columns = ("alpha", "regime", "q1", "q0", "chi", "entropy", "K")
    table = pd.DataFrame({name: [getattr(s, name) for s in solutions] for name in columns})
    return table.assign(**{name: [getattr(s.stability, name) for s in solutions] for name in ("within", "between")})


# Below the Cover–Gardner load.


def mills(x: Array) -> Array:
    """h = H'/H = −φ/H."""
    return -np.sqrt(2 / np.pi) / erfcx(np.asarray(x) / np.sqrt(2))


def mills_slope(x: Array) -> Array:
    """h' = (ln H)'' = −h(x + h), by its asymptotic series where x + h cancels."""
    x = np.asarray(x, dtype=float)
    h = mills(x)
    far = np.maximum(x, 60.0) ** -2
    sum_far = -(1 - far * (2 - far * (10 - far * (74 - 706 * far)))) / np.maximum(x, 60.0)
    return -h * np.where(x > 60.0, sum_far, x + h)


@dataclass(frozen=True)
class Field:
    """Gardner's solution with ρN variables: γ, the threshold b/|w|, and each class's share, sign and offset (by √(ρ − q₁))."""

    gamma: float
    threshold: float
    classes: tuple[tuple[float, float, float], ...]
    step: float

    def mean(self, function: Callable[[Array], Array], signed: bool = False) -> float:
        """Σ_c f_c ∫Dt function(γt + offset), with σ_c if signed."""
        total = 0.0
        for share, sign, offset in self.classes:
            rule = rule_for(1 / self.gamma, self.step, -offset / self.gamma)
            total += (share * sign if signed else share) * float(rule.mean(function(self.gamma * rule.nodes + offset)))
        return total

    def mean_square(self, function: Callable[[Array], Array], c: float) -> float:
        """Σ_c f_c ∫Dz [∫Dy function(γ(√(1−c) y + √c z) + offset)]²."""
        narrow, wide, total = np.sqrt(1 - c), np.sqrt(c), 0.0
        for share, _, offset in self.classes:
            rule = rule_for(narrow / wide, self.step, -offset / (self.gamma * wide))
            shift = wide * rule.nodes + offset / self.gamma
            y, weights = centred_rule(-shift / narrow, min(4.0, 4 / (self.gamma * narrow)), self.step)
            inner = (weights * function(self.gamma * (narrow * y + shift[:, None]))).sum(axis=1)
            total += share * float(rule.mean(inner**2))
        return total


def _field(log_gamma: float, ensemble: Ensemble, step: float) -> Field:
    """The best threshold at a given γ: Σ_c σ_c f_c ∫Dt h = 0."""
    gamma = float(np.exp(log_gamma))
    norm = np.sqrt(1 + gamma**2)

    def at(threshold: float) -> Field:
        classes = tuple((share, sign, float(norm * (ensemble.margin + sign * threshold))) for share, sign in ensemble.classes)
        return Field(gamma, threshold, classes, step)

    if not ensemble.free_threshold:
        return at(0.0)
    reach = 40.0 + ensemble.margin
    return at(float(brentq(lambda threshold: at(threshold).mean(mills, signed=True), -reach, reach, xtol=1e-15, rtol=1e-14)))


def gardner_field(load: float, ensemble: Ensemble = PLAIN, step: float = STEP) -> Field:
    """Gardner's equation at load P/M = α/ρ < α_c; γ → ∞ as the load reaches α_c."""

    def excess(log_gamma: float) -> float:
        field = _field(log_gamma, ensemble, step)
        return load * field.mean(lambda x: (mills(x) / field.gamma) ** 2) - 1

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    return _field(float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)), ensemble, step)


def solve_typical(alpha: float, rho: float, ensemble: Ensemble = PLAIN, step: float = STEP) -> RSSolution:
    """All order parameters at α < α_CG (2ρ for the plain ensemble)."""
    field = gardner_field(alpha / rho, ensemble, step)
    gamma = field.gamma

    def overlap(c: float) -> float:
        return field.mean_square(lambda x: mills(x) / gamma, c)

    c = float(brentq(lambda c: alpha * overlap(c) - c, 1e-12 * rho, 1 - 1e-12, xtol=1e-16, rtol=1e-14))
    r, one_minus_r = gamma**2 / (1 + gamma**2), 1 / (1 + gamma**2)
    q1, q0, hat = rho * r, rho * r * c, 1 / one_minus_r  # hat = Q̂ + q̂₁ = ρ/(ρ − q₁)
    q1_hat = alpha / (rho * one_minus_r) * field.mean(lambda x: mills(x) ** 2)
    q0_hat = alpha / (rho * one_minus_r) * gamma**2 * overlap(c)
    within, between = alpha / rho * field.mean(lambda x: mills_slope(x) ** 2), alpha * field.mean_square(mills_slope, c)
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime="typical",
        entropy=binary_entropy(rho),
        q0=q0,
        q1=q1,
        chi=math.inf,
        K=float(logit(1 - rho)),
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=Stability(within, between),
        residual=max(abs(rho * q1_hat / hat**2 / q1 - 1), abs(rho**2 * q0_hat / hat**2 / q0 - 1)),
        quadrature_error=0.0,
        identity_error=0.0,
        conjugates=Conjugates(q1_hat, q0_hat, hat - q1_hat),
        ensemble=ensemble,
        threshold=field.threshold,
    )
