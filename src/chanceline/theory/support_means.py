"""Averages of the support side over the field z, with their derivatives: what replica symmetry needs of the variables.

A variable with the field u = √F₀ z is chosen with the log-odds ½ ln(E/d) + u²/2d − K. Derivatives are taken by (ln χ, K, v,
ln F₀) with E = ρ/χ, v = ln(V/d) and V + d = E: ln E, ln d and ln V change by −1 with ln χ, and ln d and ln V by −V/E and d/E with
v. The log-odds then change by a constant and by a part proportional to u² = F₀z².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from chanceline.theory.kernels import SupportSide, support_side
from chanceline.theory.pattern_means import Averaged
from chanceline.theory.quadrature import GaussianRule, focused_rule, rule_for

Array = NDArray[np.float64]

# From this value of K − ½ ln(E/d) on, the switch between rejected and chosen variables needs a finer rule of its own.
_SHARP = 25.0


@dataclass(frozen=True)
class SupportMeans:
    """Everything that the equations take from the variables; gradients are by (ln χ, K, v, ln F₀)."""

    chosen: Averaged  # p
    rejected: float  # 1 − p
    norm: Averaged  # p (u²/d² + V/(E d))
    overlap: Averaged  # (p u/d)²
    log_one_plus: float  # ln(1 + e^{−K}B)
    curvature_square: float  # f''²


def support_on_rule(F0: float, E: float, d: float, K: float, step: float) -> tuple[SupportSide, GaussianRule]:
    """The support side on nodes that resolve where p(u) switches on."""
    switch = K - 0.5 * np.log(E / d)
    if F0 == 0 or switch < _SHARP:
        # p(u) has poles near the real axis where it switches on, far from u = 0 when ρ is small: half the step resolves them.
        rule = rule_for(np.sqrt(d / F0) if F0 > 0 else 1.0, step / 2)
    else:
        # The poles, at u²/2d = switch ± iπ, are as near as this to the real axis.
        at = np.sqrt(2 * d * switch / F0)
        rule = focused_rule((-at, 0.0, at), (at * np.pi / (2 * switch), np.sqrt(d / F0), at * np.pi / (2 * switch)), step)
    return support_side(np.sqrt(F0) * rule.nodes, E, d, K), rule


def support_means(F0: float, E: float, v: float, K: float, step: float) -> SupportMeans:
    """The averages at V = E/(1 + e^{−v}), d = E/(1 + e^v)."""
    V, d = E * expit(v), E * expit(-v)
    side, rule = support_on_rule(F0, E, d, K, step)

    def mean(values: Array) -> float:
        return float(rule.mean(values))

    p, pr, w, u2 = side.chosen, side.chosen * side.rejected, (side.u / side.d) ** 2, side.u**2
    spread = w + V / (E * d)
    chosen, norm, overlap = mean(p), mean(p * spread), mean(p**2 * w)

    by_chi, by_k, by_v, by_f0 = np.eye(4)
    by_d = -by_chi - expit(v) * by_v  # of ln d
    flat = 0.5 * expit(v) * by_v - by_k
    square = (by_f0 - by_d) / (2 * d)
    dw = by_f0 - 2 * by_d
    dspread = V / (E * d) * (by_chi + by_v)

    def by_log_odds(values: Array) -> Array:
        return mean(values) * flat + mean(values * u2) * square

    return SupportMeans(
        chosen=Averaged(chosen, by_log_odds(pr)),
        rejected=mean(side.rejected),
        norm=Averaged(norm, by_log_odds(pr * spread) + mean(p * w) * dw + chosen * dspread),
        overlap=Averaged(overlap, by_log_odds(2 * p * pr * w) + overlap * dw),
        log_one_plus=mean(side.log_one_plus),
        curvature_square=mean(side.curvature**2),
    )
