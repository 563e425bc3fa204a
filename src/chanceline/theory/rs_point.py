"""A point of the replica-symmetric equations: its order parameters, and the averages there.

The formulas are those of `rs_equations`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from chanceline.theory.ensemble import Ensemble
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.pattern_averages import PatternMeans, PatternOrder
from chanceline.theory.quadrature import Array
from chanceline.theory.support_averages import SupportMeans


class Coordinates(NamedTuple):
    """A point decoded; V, d and F₀ are known as shares of E, which follows from χE = ρ₊."""

    patterns: PatternOrder
    logit_q0: float
    K: float
    log_V_over_d: float
    V_over_E: float
    d_over_E: float
    F0_over_E: float


def decode(point: Array, rho: float, ensemble: Ensemble) -> Coordinates:
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
    return Coordinates(
        patterns=patterns,
        logit_q0=logit_q0,
        K=K,
        log_V_over_d=log_V_over_d,
        V_over_E=expit(log_V_over_d),
        d_over_E=expit(-log_V_over_d),
        F0_over_E=np.exp(log_F0_over_E),
    )


class Values(NamedTuple):
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


def evaluate(
    coords: Coordinates, ensemble: Ensemble, means: PatternMeans, support: SupportMeans
) -> Values:
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
    return Values(
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
