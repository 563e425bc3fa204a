"""A point of the replica-symmetric equations: its order parameters, and the averages there.

The formulas are those of `rs_equations`. Every number is a `Dual`: it carries its derivatives by
the coordinates of the point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from chanceline.theory.dual import Dual
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.pattern_averages import PatternMeans, PatternOrder
from chanceline.theory.quadrature import Array
from chanceline.theory.support_averages import SupportMeans

# Where a point holds its coordinates.
LOG_CHI = 0
LOGIT_Q0 = 1  # of q₀/ρ
K_INDEX = 2
LOG_V_OVER_D = 3
LOG_F0_OVER_E = 4
THRESHOLD = 5  # if it is free
LOG_CEILING = -1  # ln t*, the last one, if errors are allowed


class Coordinates(NamedTuple):
    """A point decoded.

    E, F₁ and F₀ are the multipliers of the norm of the weights, of q₁ (overlap of two weight
    vectors on the same choice of variables) and of q₀. V = F₁ − F₀, d = E − V and F₀ are known as
    shares of E, which follows later from χE = ρ₊, the share of variables with a weight.
    """

    rho: float  # the density, share of variables chosen
    chi: Dual  # (ρ − q₁)/m as m → 0
    q0: Dual  # overlap of the weights of two typical choices
    K: Dual  # the multiplier of ρ
    V_over_E: Dual
    d_over_E: Dual
    F0_over_E: Dual
    threshold: Dual  # b in units of |w|; zero where it is fixed
    ceiling: Dual  # v*, the largest violation that is no error; infinite without errors
    patterns: PatternOrder  # what the pattern side depends on, as plain numbers
    log_V_over_d: float
    pattern_differentials: Array  # differentials of ln χ, q₀, b, ln v*, (4, coordinates)
    support_differentials: Array  # differentials of K, ln(V/d), ln(F₀/E), (3, coordinates)

    def pattern_mean(self, mean: Array) -> Dual:
        """A mean of `PatternMeans` with its derivatives by (ln χ, q₀, b, ln v*), (5,)."""
        return Dual(float(mean[0]), mean[1:] @ self.pattern_differentials)

    def support_mean(self, mean: Array) -> Dual:
        """A mean of `SupportMeans` with its derivatives by (K, ln(V/d), ln(F₀/E)), (4,)."""
        return Dual(float(mean[0]), mean[1:] @ self.support_differentials)


def decode_point(point: Array, rho: float, ensemble: Ensemble) -> Coordinates:
    """The order parameters of a point, each with its differential by all coordinates.

    `point` is (ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E)), then b if the threshold is free, then
    ln t* if errors are allowed; the letters are those of `Coordinates`, and v* = √ρ t*.

    The differential of e^x is e^x dx, that of the logistic function s(x) is s(x) s(−x) dx.
    """
    unit = np.eye(len(point))  # row i is the differential of coordinate i
    values = point.tolist()

    chi = np.exp(values[LOG_CHI])
    F0_over_E = np.exp(values[LOG_F0_OVER_E])

    # q₀/ρ = s(x), and 1 − q₀/ρ = s(−x) without cancellation.
    q0_over_rho = expit(values[LOGIT_Q0])
    one_minus_q0_over_rho = expit(-values[LOGIT_Q0])
    q0 = rho * q0_over_rho
    q0_differential = q0 * one_minus_q0_over_rho * unit[LOGIT_Q0]

    # As V + d = E, ln(V/d) is the logit of V/E: V/E = s(x) and d/E = s(−x).
    V_over_E = expit(values[LOG_V_OVER_D])
    d_over_E = expit(-values[LOG_V_OVER_D])
    V_over_E_differential = V_over_E * d_over_E * unit[LOG_V_OVER_D]

    threshold = _decode_threshold(point, ensemble)
    ceiling = _decode_ceiling(point, rho, ensemble)
    return Coordinates(
        rho=rho,
        chi=Dual(chi, chi * unit[LOG_CHI]),
        q0=Dual(q0, q0_differential),
        K=Dual(values[K_INDEX], unit[K_INDEX]),
        V_over_E=Dual(V_over_E, V_over_E_differential),
        d_over_E=Dual(d_over_E, -V_over_E_differential),
        F0_over_E=Dual(F0_over_E, F0_over_E * unit[LOG_F0_OVER_E]),
        threshold=threshold,
        ceiling=ceiling.value,
        patterns=PatternOrder(
            rho=rho,
            q0=q0,
            s2=rho * one_minus_q0_over_rho,  # ρ − q₀
            chi=chi,
            threshold=threshold.value,
            ceiling=ceiling.value.value,
        ),
        log_V_over_d=values[LOG_V_OVER_D],
        pattern_differentials=np.array(
            [unit[LOG_CHI], q0_differential, threshold.differential, ceiling.log_differential]
        ),
        support_differentials=unit[[K_INDEX, LOG_V_OVER_D, LOG_F0_OVER_E]],
    )


def _decode_threshold(point: Array, ensemble: Ensemble) -> Dual:
    """The threshold b in units of |w|: a coordinate of the point where it is free, 0 elsewhere."""
    differential = np.zeros(len(point))
    if not ensemble.free_threshold:
        return Dual(0.0, differential)
    differential[THRESHOLD] = 1.0
    return Dual(float(point[THRESHOLD]), differential)


class _Ceiling(NamedTuple):
    """v*, the largest violation that is no error."""

    value: Dual
    log_differential: Array  # of ln v*, (coordinates,)


def _decode_ceiling(point: Array, rho: float, ensemble: Ensemble) -> _Ceiling:
    """v* = √ρ t*, where ln t* is the last coordinate of the point; infinite without errors."""
    log_differential = np.zeros(len(point))
    if not ensemble.error_rate:
        return _Ceiling(Dual(np.inf, log_differential), log_differential)
    # ln v* = ln t* + ½ ln ρ has the differential of the coordinate.
    log_differential[LOG_CEILING] = 1.0
    v_star = float(np.sqrt(rho) * np.exp(float(point[LOG_CEILING])))
    return _Ceiling(Dual(v_star, v_star * log_differential), log_differential)


def encode_point(  # noqa: PLR0913
    ensemble: Ensemble,
    *,
    chi: float,
    q0_over_rho: float,
    K: float,
    V_over_E: float,
    F0_over_E: float,
    threshold: float,
    largest_violation: float,
) -> Array:
    """The point with these order parameters, (coordinates,): the inverse of `decode_point`.

    It is (ln χ, logit(q₀/ρ), K, ln(V/d), ln(F₀/E)), then b (`threshold`) if the threshold is free,
    then ln t* (of `largest_violation`) if errors are allowed; b and t* are in units of |w|. The
    letters are those of `Coordinates`. As V + d = E, ln(V/d) is the logit of V/E.
    """
    point = [np.log(chi), logit(q0_over_rho), K, logit(V_over_E), np.log(F0_over_E)]
    if ensemble.free_threshold:
        point.append(threshold)
    if ensemble.error_rate:
        point.append(np.log(largest_violation))
    return np.array(point)


class PointValues(NamedTuple):
    """What the averages give at a point.

    p is the probability that a variable of field z is chosen, w its weight then; R₁ and R₂ are
    moments of the violation of a pattern, ⟨·⟩ = Σ_c f_c ∫Dz their mean over fields and classes c,
    of share f_c and sign σ_c.
    """

    nonzero: Dual  # ρ₊, the share of variables with a weight other than zero
    E: Dual  # conjugate to the norm
    V: Dual  # F₁ − F₀
    d: Dual  # E − V
    F0: Dual  # conjugate to the overlap q₀ of two choices
    F1: Dual  # conjugate to the overlap q₁ within a choice
    alpha: Dual  # the load
    F0_of_patterns: Dual  # (α/χ²)⟨R₁²⟩, equal to F₀ at the saddle
    V_of_patterns: Dual  # (α/χ²)⟨R₂ − R₁²⟩, equal to V at the saddle
    chosen: Dual  # ∫Dz p, equal to ρ at the saddle
    norm: Dual  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: Dual  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle
    violation_by_sign: Dual  # Σ_c σ_c f_c ∫Dz R₁, zero at the saddle
    wrong: Dual  # ⟨wrong⟩, equal to ε at the saddle
    price: Dual  # y = v*²/2χ, where an error weighs e^{−y}; 0 without errors


def evaluate(
    coords: Coordinates, ensemble: Ensemble, means: PatternMeans, support: SupportMeans
) -> PointValues:
    """The multipliers, the load, and the averages that the equations compare.

    E, F₁ and F₀ are the multipliers of the norm of the weights, of the overlap of two weight
    vectors within a choice of variables, and of that between two choices; V = F₁ − F₀ and
    d = E − V. χ is the response. `means` are over the patterns, `support` over the variables;
    `coords.pattern_mean` and `coords.support_mean` give them their derivatives by all coordinates.
    """
    chi = coords.chi
    nonzero = _nonzero_share(coords, ensemble, support)  # ρ₊

    # The saddle equation χE = ρ₊ sets E. The point holds the other multipliers as shares of it.
    E = nonzero / chi
    V = E * coords.V_over_E
    d = E * coords.d_over_E
    F0 = E * coords.F0_over_E

    # The multipliers that the patterns ask for: R₁ and R₂ are moments of the violation of one.
    alpha = _load(coords, nonzero, means)
    alpha_over_chi2 = alpha / (chi * chi)
    F0_of_patterns = alpha_over_chi2 * coords.pattern_mean(means.square)  # (α/χ²)⟨R₁²⟩
    V_of_patterns = alpha_over_chi2 * coords.pattern_mean(means.variance)  # (α/χ²)⟨R₂ − R₁²⟩

    # Means of squared weights were taken at E = 1, and scale as 1/E.
    norm = coords.support_mean(support.norm) / E
    overlap = coords.support_mean(support.overlap) / E
    return PointValues(
        nonzero=nonzero,
        E=E,
        V=V,
        d=d,
        F0=F0,
        F1=F0 + V,
        alpha=alpha,
        F0_of_patterns=F0_of_patterns,
        V_of_patterns=V_of_patterns,
        chosen=coords.support_mean(support.chosen),
        norm=norm,
        overlap=overlap,
        violation_by_sign=coords.pattern_mean(means.by_threshold),
        wrong=coords.pattern_mean(means.wrong),
        price=_price(coords, ensemble),
    )


def _nonzero_share(coords: Coordinates, ensemble: Ensemble, support: SupportMeans) -> Dual:
    """ρ₊, the share of variables with a weight other than zero.

    They are all that are chosen, ρ, unless the sign of each weight is given.
    """
    if ensemble.signed:
        return coords.support_mean(support.nonzero)
    return Dual(coords.rho, np.zeros_like(coords.chi.differential))


def _load(coords: Coordinates, nonzero: Dual, means: PatternMeans) -> Dual:
    """The load α, by an identity: as many tight constraints as weights, α·isostatic = ρ₊.

    `nonzero` is ρ₊. Without margin and errors `isostatic` is p₊, the share of patterns at the
    margin. With them it is ⟨p₊ − v*e* + κR₁/ρ⟩: v* is the largest violation that is no error, e*
    the density of violations there, R₁ the mean violation and κ = margin·√ρ.
    """
    isostatic = coords.pattern_mean(means.isostatic)
    if not isostatic.value > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    return nonzero / isostatic


def _price(coords: Coordinates, ensemble: Ensemble) -> Dual:
    """The price y of an error, which weighs e^{−y}; 0 where none is allowed.

    At the ceiling v* a violation weighs as much as an error: e^{−v*²/2χ} = e^{−y}.
    """
    if not ensemble.error_rate:
        return Dual(0.0, np.zeros_like(coords.chi.differential))
    return coords.ceiling * coords.ceiling / (2 * coords.chi)
