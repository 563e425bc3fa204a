"""The inner integrals ∫Dy of the rescaled equations (above the Cover–Gardner load), in closed form and in logarithms.

Pattern side. With H̃(v, χ) = Θ(−v) + Θ(v) exp(−v²/2χ) and v ~ N(μ, s²),

    A(μ) = ∫Dy H̃ = H(μ/s) + C Φ(t),    R_k(μ) = ∫Dy H̃ Θ(v) v^k / A,

where C = √(χ/(χ+s²)) exp(−μ²/2(χ+s²)), m' = μχ/(s²+χ), σ'² = s²χ/(s²+χ), t = m'/σ'. R₀ = p₊ is the tilted weight of the
violated side, that is of the tight constraints. With T = Θ(v)v, R_k = E[T^k] under the tilted law of v, and

    ∂ ln A/∂μ = −R₁/χ,    ∂R₁/∂μ = p₊ − Var T/χ,    ∂E[f(T)]/∂χ = Cov(f(T), T²)/(2χ²);

A solves the heat equation ∂A/∂s² = ½ ∂²A/∂μ². Where errors are allowed with weight e^{−y} each, a violation beyond
v* = √(2χy) weighs more as an error: H̃ = e^{−y} for v > v*, A gains e^{−y}H((v* − μ)/s), and T counts 0 < v < v* only.

Support side. With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the weight w = h/E of a chosen variable has the tilted mean u/d and variance V/(E d); f = ln(1 + e^{−K}B) has f' = p⟨w⟩.
Where the sign of the weight is given (+ without loss of generality) only h > 0 has a weight, w = h₊/E, and exp(h₊²/2E) stands in
the integral: B is A with μ = u, s² = V and χ = −E, so that the pattern side has all its moments,

    B(u) = Φ(−u/√V) + √(E/d) e^{u²/2d} Φ(u√(E/(V d))).

Averages over the field z, with their derivatives: what replica symmetry needs of the patterns and of the supports. Class c has
the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the threshold in units of |w| = √ρ. Derivatives
are taken by (ln χ, q₀, b, ln v*). On every ratio of Gaussian averages (p₊, R₁, R₂, …) they are

    ∂E/∂q₀ = (R₁/χ) ∂E/∂μ  under ∫Dz, by the heat equation in s² = ρ − q₀ (a product F·G gains F'G'),
    ∂R_k/∂χ = [R_{k+2} − R_k(R₂ + v*²ε)]/2χ²,    ∂R_k/∂v* = v*^k e* + R_k ε v*/χ,
    ∂R_k/∂μ = kR_{k−1} − v*^k e* + δ_{k0} e₀ − (R_{k+1} − R_k R₁)/χ,

with ε the weight of errors and e₀, e* the densities of v at 0 and v*.

A variable has the field u = √F₀ z. When E, V and F₀ are scaled together p does not change and E⟨w²⟩ neither: means are taken at
E = 1, with derivatives by (K, v, ln F₀), v = ln(V/d). A solution of the heat equation over 1 + e^{−K}B, which is one too, has

    ∂G/∂V = ∂G/∂F₀ + f'G'  under ∫Dz  (a product F·G loses F'G'),    ∂G/∂F₀ = u G'/2F₀.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr

from chanceline.theory.ensemble import Ensemble
from chanceline.theory.numerics import Array, GaussianRule, OutsideDomain, focused_rule, rule_for

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
# From this value of K − ½ ln(E/d) on, the switch between rejected and chosen variables needs a finer rule of its own.
_SHARP = 25.0


@dataclass(frozen=True)
class PatternSide:
    """ln A and the law of T tilted by H̃, at each μ.

    T is v where 0 < v < v*, with weight p₊, and 0 elsewhere; its moments are R_k = E[T^k].
    """

    log_a: Array
    tight: Array  # p₊ = R₀, weight of 0 < v < v*
    loose: Array  # 1 − p₊
    edge: Array  # density of v at 0⁺: N(0; μ, s²)/A
    mean: Array  # R₁
    variance: Array  # R₂ − R₁²
    third: Array  # third central moment
    fourth: Array  # fourth central moment
    chi: float
    wrong: Array | float = 0.0  # weight of v > v*
    far_edge: Array | float = 0.0  # density of v at v*: e^{−y}N(v*; μ, s²)/A
    ceiling: float = np.inf  # v*

    @property
    def second(self) -> Array:
        """R₂."""
        return self.variance + self.mean**2

    @property
    def slope(self) -> Array:
        """g' = d ln A/dμ = −R₁/χ."""
        return -self.mean / self.chi

    @property
    def net_tight(self) -> Array:
        """p₊ − v*·(density at v*), which takes the place of p₊ where errors are allowed: ∂R₁/∂μ = this − Var T/χ."""
        return self.tight - self.ceiling * self.far_edge if np.isfinite(self.ceiling) else self.tight

    @property
    def curvature(self) -> Array:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ (with errors `net_tight` for p₊)."""
        return self.variance / self.chi**2 - self.net_tight / self.chi


def pattern_side(mu: Array, s2: float, chi: float, ceiling: float = np.inf) -> PatternSide:
    """A(μ) and the moments of T, for v ~ N(μ, s²); violations beyond the ceiling v* are errors."""
    total = s2 + chi
    sd = np.sqrt(s2 * chi / total)
    t = mu * np.sqrt(chi / (s2 * total))
    log_c = 0.5 * np.log(chi / total) - mu**2 / (2 * total)
    log_loose = log_ndtr(-mu / np.sqrt(s2))
    if np.isfinite(ceiling):
        top = ceiling / sd
        log_tight = log_c + _log_ndtr_between(-t, top - t)
        log_wrong = log_ndtr((mu - ceiling) / np.sqrt(s2)) - ceiling**2 / (2 * chi)
        log_a = np.logaddexp(np.logaddexp(log_loose, log_tight), log_wrong)
        wrong = np.exp(log_wrong - log_a)
        far = np.exp(log_c - 0.5 * (top - t) ** 2 - _LOG_SQRT_2PI - log_a)  # times sd
        fars = [far, top * far, top**2 * far, top**3 * far]
    else:
        log_tight = log_c + log_ndtr(t)
        log_a = np.logaddexp(log_loose, log_tight)
        wrong, fars = 0.0, [0.0, 0.0, 0.0, 0.0]
    tight, loose = np.exp(log_tight - log_a), np.exp(log_loose - log_a) + wrong
    edge = np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a)  # times sd
    ends = edge - fars[0]
    mean = t * tight + ends
    variance = tight * (1 + t**2 * loose) + t * ends * (loose - tight) - ends**2 - fars[1]
    # In units of sd: moments about 0 where T is mostly 0, and about the Gaussian's own mean t where it mostly is that Gaussian.
    second, raw_third = t * mean + tight - fars[1], (t**2 + 2) * mean + t * (tight - fars[1]) - fars[2]
    raw_fourth = t * raw_third + 3 * second - fars[3]
    e = ends - t * loose
    inner = tight - t * ends - fars[1]  # ∫(x − t)² over 0 < x < top
    near_second = inner + t**2 * loose
    near_third = ends * (2 + t**2) + 2 * t * fars[1] - fars[2] - t**3 * loose
    near_fourth = 3 * inner - t**3 * ends - 3 * t * (t * fars[1] - fars[2]) - fars[3] + t**4 * loose
    third = np.where(t > 0, near_third - 3 * e * near_second + 2 * e**3, raw_third - 3 * mean * second + 2 * mean**3)
    fourth = np.where(
        t > 0,
        near_fourth - 4 * e * near_third + 6 * e**2 * near_second - 3 * e**4,
        raw_fourth - 4 * mean * raw_third + 6 * mean**2 * second - 3 * mean**4,
    )
    return PatternSide(
        log_a,
        tight,
        loose,
        edge / sd,
        sd * mean,
        sd**2 * variance,
        sd**3 * third,
        sd**4 * fourth,
        chi,
        wrong,
        fars[0] / sd,
        ceiling,
    )


def _log_ndtr_between(low: Array, high: Array) -> Array:
    """ln[Φ(high) − Φ(low)], taken in the tail where both lie."""
    flip = low > 0
    upper, lower = log_ndtr(np.where(flip, -low, high)), log_ndtr(np.where(flip, -high, low))
    return upper + np.log1p(-np.exp(lower - upper))


@dataclass(frozen=True)
class SupportSide:
    """f = ln(1 + e^{−K}B), p, 1 − p, and the tilted law of a chosen variable's weight w, at each u.

    w is h/E; with given signs h₊/E, which is 0 with the weight 1 − `nonzero`.
    """

    log_one_plus: Array
    chosen: Array
    rejected: Array
    mean: Array  # of w
    variance: Array | float  # of w
    e: float
    nonzero: Array | float = 1.0  # P(w ≠ 0)
    third: Array | float = 0.0  # third central moment of w
    nonzero_slope: Array | float = 0.0  # d nonzero/du

    @property
    def slope(self) -> Array:
        """f' = p⟨w⟩."""
        return self.chosen * self.mean

    @property
    def mean_slope(self) -> Array | float:
        """d⟨w⟩/du = Var w + P(w ≠ 0)/E; 1/d with free signs."""
        return self.variance + self.nonzero / self.e

    @property
    def curvature(self) -> Array:
        """f'' = p d⟨w⟩/du + p(1 − p)⟨w⟩²."""
        return self.chosen * self.mean_slope + self.chosen * self.rejected * self.mean**2


def support_side(u: Array, V: float, d: float, k: float, signed: bool = False) -> SupportSide:
    """B(u) against e^K; E = V + d."""
    e = V + d
    rest: tuple[Any, ...]
    if signed:
        law = pattern_side(u, V, -e)
        log_odds, mean = law.log_a - k, law.mean / e
        rest = (law.variance / e**2, e, law.tight, law.third / e**3, law.edge + mean * law.loose)
    else:
        log_odds, mean, rest = 0.5 * np.log(e / d) + u**2 / (2 * d) - k, u / d, (V / (e * d), e)
    return SupportSide(np.logaddexp(0.0, log_odds), expit(log_odds), expit(-log_odds), mean, *rest)


# Averages over z.


@dataclass(frozen=True)
class ClassSide:
    """The pattern side of one class on the nodes of its own rule."""

    share: float
    sign: float
    side: PatternSide
    rule: GaussianRule
    mu: Array
    s2: float

    def mean(self, values: Array) -> float:
        """f_c ∫Dz values."""
        return self.share * float(self.rule.mean(values))


def class_sides(
    ensemble: Ensemble, rho: float, q0: float, s2: float, chi: float, threshold: float, ceiling: float, step: float
) -> list[ClassSide]:
    """ln A and its moments for each class, with s² = ρ − q₀ given by itself."""
    if not (q0 >= 0 and s2 > 0 and chi > 0 and ceiling > 0):
        raise OutsideDomain(f"q₀ = {q0:.3g} must not be negative, ρ − q₀ = {s2:.3g}, χ = {chi:.3g} and v* must be positive")
    sides = []
    for share, sign, offset in ensemble.offsets(rho, threshold):
        rule = _field_rule(offset, q0, s2, chi, ceiling, step)
        mu = np.sqrt(q0) * rule.nodes + offset
        sides.append(ClassSide(share, sign, pattern_side(mu, s2, chi, ceiling), rule, mu, s2))
    return sides


def _field_rule(offset: float, q0: float, s2: float, chi: float, ceiling: float, step: float) -> GaussianRule:
    """The rule for ∫Dz that resolves the edge of A at μ = 0 and, with errors, the switch from satisfied to wrong."""
    if q0 == 0:
        return rule_for(1.0, step)
    unit = np.sqrt(q0)
    edge = np.sqrt(s2) / unit
    if np.isfinite(ceiling):
        # Beyond μ_* = v*√(1 + s²/χ) an error weighs more; A has zeros at a distance π(χ + s²)/μ_* from the real axis.
        switch = ceiling * np.sqrt(1 + s2 / chi)
        width = min(np.sqrt(s2), np.pi * (chi + s2) / switch) / unit
        return focused_rule((-offset / unit, (switch - offset) / unit), (edge, width), step)
    return rule_for(edge, step, -offset / unit)


class PatternMeans(NamedTuple):
    """Everything that the equations take from the patterns; each mean is over z and over classes.

    The first five hold the mean and its derivatives by (ln χ, q₀, b, ln v*).
    """

    isostatic: Array  # p₊ − v*e* + κR₁/ρ, which times α is ρ
    square: Array  # R₁²
    variance: Array  # R₂ − R₁²
    by_threshold: Array  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Array  # the error rate
    first: float  # R₁
    tight: float  # p₊
    log_a: float
    heat: float  # g'' + g'²
    curvature_square: float  # g''²


def pattern_means(sides: list[ClassSide], ensemble: Ensemble, rho: float) -> PatternMeans:
    """Sums over the classes."""
    root = float(np.sqrt(rho))
    parts: Any = [_class_means(one, ensemble.margin * root / rho, root) for one in sides]
    return PatternMeans._make(map(sum, zip(*parts, strict=True)))


def _class_means(one: ClassSide, by_norm: float, root_rho: float) -> PatternMeans:
    """Means and gradients of one class; `by_norm` is κ/ρ."""
    side, mean = one.side, one.mean
    chi, r1, var, third, loose = side.chi, side.mean, side.variance, side.third, side.loose
    errors = np.isfinite(side.ceiling)
    net = side.net_tight
    # Of R₁ and Var T: by μ, by ln χ and by ln v*.
    r1_mu = net - var / chi
    var_mu = 2 * r1 * (1 - net if errors else loose) - third / chi
    r1_chi = (third + 2 * r1 * var) / (2 * chi)
    var_chi = (side.fourth - var**2 + 2 * r1 * third) / (2 * chi)
    net_mu = side.edge - r1 * loose / chi
    net_chi = side.second * loose / (2 * chi)
    zero = np.zeros_like(r1)
    r1_top = var_top = net_top = wrong_mu = wrong_chi = wrong_top = zero
    if errors:
        v, wrong, far = side.ceiling, zero + side.wrong, zero + side.far_edge
        tail = (v - one.mu) / one.s2
        var_mu = var_mu - v**2 * far
        r1_chi = r1_chi - r1 * v**2 * wrong / (2 * chi)
        var_chi = var_chi - (var - r1**2) * v**2 * wrong / (2 * chi)
        square = side.second + v**2 * wrong  # E of the clipped violation squared
        far_chi = far * (v**2 - square) / (2 * chi)
        net_chi = (side.second - side.tight * square) / (2 * chi) - v * far_chi
        net_mu = net_mu - far - v * far * (tail + r1 / chi)
        r1_top = v * (v * far + r1 * v * wrong / chi)
        second_top = v * (v**2 * far + side.second * v * wrong / chi)
        var_top = second_top - 2 * r1 * r1_top
        far_top = v * far * (-(v / chi) * (1 - wrong) - tail)
        net_top = v * side.tight * v * wrong / chi - v * far_top
        wrong_mu = far + wrong * r1 / chi
        wrong_chi = wrong * (v**2 - square) / (2 * chi)
        wrong_top = -v * (v / chi * wrong * (1 - wrong) + far)

    def averaged(value: Array, by_chi: Array, by_mu: Array, by_top: Array, by_q0: float = 0.0) -> Array:
        moved = mean(r1 / chi * by_mu) + by_q0
        return np.array([mean(value), mean(by_chi), moved, mean(by_mu) * (one.sign * root_rho), mean(by_top)])

    first = averaged(r1, r1_chi, r1_mu, r1_top)
    extra = mean(r1_mu**2)  # the F'G' of a product
    return PatternMeans(
        isostatic=averaged(net, net_chi, net_mu, net_top) + by_norm * first,
        square=averaged(r1**2, 2 * r1 * r1_chi, 2 * r1 * r1_mu, 2 * r1 * r1_top, extra),
        variance=averaged(var, var_chi, var_mu, var_top, -extra),
        by_threshold=one.sign * first,
        wrong=averaged(zero + side.wrong, wrong_chi, wrong_mu, wrong_top),
        first=float(first[0]),
        tight=mean(side.tight),
        log_a=mean(side.log_a),
        heat=mean(side.curvature + side.slope**2),
        curvature_square=mean(side.curvature**2),
    )


@dataclass(frozen=True)
class SupportMeans:
    """Everything that the equations take from the variables at E = 1; arrays hold a mean and its derivatives by (K, v, ln F₀)."""

    chosen: Array  # p
    rejected: float  # 1 − p
    nonzero: Array  # p P(w ≠ 0)
    norm: Array  # p⟨w²⟩
    overlap: Array  # (p⟨w⟩)²
    log_one_plus: float  # ln(1 + e^{−K}B)
    curvature_square: float  # f''²


def support_on_rule(F0: float, V: float, d: float, K: float, step: float, signed: bool) -> tuple[SupportSide, GaussianRule]:
    """The support side on nodes that resolve where p(u) switches on, and with given signs where w does."""
    switch = K - 0.5 * np.log1p(V / d)
    edge = np.sqrt(d * (V / (V + d) if signed else 1.0) / F0) if F0 > 0 else 1.0
    if F0 == 0 or switch < _SHARP:
        # p(u) has poles near the real axis where it switches on, far from u = 0 when ρ is small: half the step resolves them.
        rule = rule_for(edge, step / 2)
    else:
        # The poles, at u²/2d = switch ± iπ, are as near as this to the real axis.
        at = np.sqrt(2 * d * switch / F0)
        rule = focused_rule((-at, 0.0, at), (at * np.pi / (2 * switch), edge, at * np.pi / (2 * switch)), step)
    return support_side(np.sqrt(F0) * rule.nodes, V, d, K, signed), rule


def support_means(F0: float, v: float, K: float, step: float, signed: bool = False) -> SupportMeans:
    """The averages at E = 1, V = 1/(1 + e^{−v}), d = 1/(1 + e^v)."""
    side, rule = support_on_rule(F0, float(expit(v)), float(expit(-v)), K, step, signed)
    u = np.sqrt(F0) * rule.nodes

    def mean(values: Array) -> float:
        return float(rule.mean(values))

    p, pr, w, nonzero, slope = side.chosen, side.chosen * side.rejected, side.mean, side.nonzero, side.slope

    def averaged(value: Array, by_odds: Array, by_u: Array, product: float = 0.0) -> Array:
        """The mean of a function and its derivatives; `by_odds` is that by −K, `product` what the heat equation lacks."""
        by_f0 = 0.5 * mean(by_u * u)
        by_V = by_f0 / F0 + mean(by_u * slope) - product
        return np.array([mean(value), -mean(by_odds), expit(v) * expit(-v) * by_V, by_f0])

    square = w**2 + side.variance
    square_slope = 2 * w * (1 + side.variance) + side.third
    turn = side.curvature
    return SupportMeans(
        chosen=averaged(p, pr, pr * w),
        rejected=mean(side.rejected),
        nonzero=averaged(p * nonzero, pr * nonzero, pr * w * nonzero + p * side.nonzero_slope),
        norm=averaged(p * square, pr * square, pr * w * square + p * square_slope),
        overlap=averaged(slope**2, 2 * slope * pr * w, 2 * slope * turn, mean(turn**2)),
        log_one_plus=mean(side.log_one_plus),
        curvature_square=mean(turn**2),
    )
