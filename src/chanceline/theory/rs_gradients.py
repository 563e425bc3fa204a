"""Analytic derivatives of the replica-symmetric equations by the coordinates of the point.

The differentials of the order parameters come first; the Jacobian of the residual and the gradient
of the entropy are combinations of them with the derivatives that `pattern_averages` and
`support_averages` give.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from chanceline.theory.ensemble import Ensemble
from chanceline.theory.quadrature import Array
from chanceline.theory.rs_point import Coordinates, Values


class Differentials(NamedTuple):
    """Differentials by the coordinates of the point, each of shape (coordinates,)."""

    log_chi: Array
    K: Array
    log_V_over_d: Array
    log_F0_over_E: Array
    threshold: Array  # zero where it is fixed
    log_ceiling: Array  # zero without errors
    q0: Array
    of_patterns: Array  # rows: ln χ, q₀, b, ln v*, as `PatternMeans` has its derivatives
    of_supports: Array  # rows: K, ln(V/d), ln(F₀/E), as `SupportMeans` has them
    log_E: Array
    log_V: Array
    log_F0: Array
    alpha: Array


def differentials_at(
    point: Array, coords: Coordinates, ensemble: Ensemble, values: Values
) -> Differentials:
    """How the coordinates move the order parameters, and with them E and the load."""
    n_coordinates = len(point)
    unit = np.eye(n_coordinates)
    zero = np.zeros(n_coordinates)
    log_chi, logit_q0, K, log_V_over_d, log_F0_over_E = unit[:5]
    threshold = unit[5] if ensemble.free_threshold else zero
    log_ceiling = unit[-1] if ensemble.error_rate else zero
    q0 = coords.patterns.q0 * expit(-coords.logit_q0) * logit_q0
    of_patterns = np.array([log_chi, q0, threshold, log_ceiling])
    of_supports = np.array([K, log_V_over_d, log_F0_over_E])

    # E = ρ₊/χ and α = ρ₊/⟨p₊ − v*e* + κR₁/ρ⟩.
    log_nonzero = values.nonzero[1:] @ of_supports / values.nonzero[0]
    log_E = log_nonzero - log_chi
    isostatic = values.means.isostatic
    log_isostatic = isostatic[1:] @ of_patterns / isostatic[0]
    return Differentials(
        log_chi=log_chi,
        K=K,
        log_V_over_d=log_V_over_d,
        log_F0_over_E=log_F0_over_E,
        threshold=threshold,
        log_ceiling=log_ceiling,
        q0=q0,
        of_patterns=of_patterns,
        of_supports=of_supports,
        log_E=log_E,
        log_V=log_E + coords.d_over_E * log_V_over_d,
        log_F0=log_E + log_F0_over_E,
        alpha=values.alpha * (log_nonzero - log_isostatic),
    )


def residual_jacobian(
    values: Values, coords: Coordinates, ensemble: Ensemble, differential: Differentials
) -> Array:
    """The derivatives of the residual, row by row, (equations, coordinates)."""
    rho = coords.patterns.rho
    means = values.means
    of_patterns = differential.of_patterns
    of_supports = differential.of_supports

    # Both sides of (4) and (5): a = α/χ² times a mean over the patterns.
    a = values.alpha / coords.patterns.chi**2
    d_a = a * (differential.alpha / values.alpha - 2 * differential.log_chi)
    F0_now = values.F0_of_patterns
    V_now = values.V_of_patterns
    d_F0_now = a * (means.square[1:] @ of_patterns) + F0_now / a * d_a
    d_V_now = a * (means.variance[1:] @ of_patterns) + V_now / a * d_a

    # The norm of (2) and the overlap of (3), which are means at E = 1 over E.
    norm = values.support.norm
    overlap = values.support.overlap
    E = values.E
    d_norm = norm[1:] @ of_supports / E - norm[0] / E * differential.log_E
    d_overlap = overlap[1:] @ of_supports / E - overlap[0] / E * differential.log_E

    # The share d/(F₀ + d) with which they are combined.
    share = coords.d_over_E / (coords.F0_over_E + coords.d_over_E)
    log_E_over_d = coords.V_over_E * differential.log_V_over_d
    log_F0_over_d = log_E_over_d + differential.log_F0_over_E
    d_share = -share * (1 - share) * log_F0_over_d
    overlap_error = values.overlap - coords.patterns.q0
    d_overlap_error = d_overlap - differential.q0

    # (4) is F₀_now/F₀ − 1, and (5) is (V_now/V − 1) E/d.
    F0_ratio = F0_now / values.F0
    V_ratio = V_now / values.V
    d_F0_ratio = d_F0_now / values.F0 - F0_ratio * differential.log_F0
    d_V_ratio = d_V_now / values.V - V_ratio * differential.log_V
    rows = [
        values.support.chosen[1:] @ of_supports / min(rho, 1 - rho),
        (d_norm - share * d_overlap_error - overlap_error * d_share) / rho,
        d_F0_ratio,
        (d_V_ratio + (V_ratio - 1) * log_E_over_d) / coords.d_over_E,
    ]
    if ensemble.free_threshold:
        rows.append(means.by_threshold[1:] @ of_patterns / np.sqrt(rho))
    if ensemble.error_rate:
        rows.append(means.wrong[1:] @ of_patterns / ensemble.error_rate)
    return np.array(rows)


def entropy_gradient(
    values: Values, coords: Coordinates, ensemble: Ensemble, differential: Differentials
) -> Array:
    """dΣ by the coordinates of the point, (coordinates,).

    Every term but the last vanishes at the saddle. ∂Σ/∂χ = ½(α⟨R₂⟩/χ² − F₁), ∂Σ/∂q₀ = ½(F₀ −
    α⟨g'²⟩).
    """
    rho = coords.patterns.rho
    chi = coords.patterns.chi
    means = values.means
    E = values.E
    V = values.V
    F0 = values.F0
    F0_now = values.F0_of_patterns
    V_now = values.V_of_patterns
    d_log_E = differential.log_E
    d_F0 = F0 * differential.log_F0
    d_F1 = d_F0 + V * differential.log_V
    d_price = values.price * (2 * differential.log_ceiling - differential.log_chi)
    norm_and_nonzero = values.norm - rho + values.support.nonzero[0] / E - chi
    by_threshold = values.alpha / chi * np.sqrt(rho) * means.by_threshold[0]
    by_alpha = means.log_a + values.price * ensemble.error_rate
    return (
        (rho - values.support.chosen[0]) * differential.K
        + 0.5 * (rho - values.norm) * E * d_log_E
        + 0.5 * norm_and_nonzero * d_F1
        + 0.5 * (coords.patterns.q0 - values.overlap) * F0 * differential.log_F0
        + 0.5 * (F0_now + V_now - (F0 + V)) * chi * differential.log_chi
        + 0.5 * (F0 - F0_now) * differential.q0
        - by_threshold * differential.threshold
        + values.alpha * (ensemble.error_rate - means.wrong[0]) * d_price
        + by_alpha * differential.alpha
    )
