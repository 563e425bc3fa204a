"""The support side: the inner integral ∫Dy over one variable, in closed form and in logarithms.

With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the weight w = h/E of a chosen variable has the tilted mean u/d and variance V/(E d);
f = ln(1 + e^{−K}B) has f' = p⟨w⟩.

Where the sign of the weight is given (+ without loss of generality) only h > 0 has a weight, w =
h₊/E, and exp(h₊²/2E) stands in the integral: B is A of `patterns` with μ = u, s² = V and χ = −E, so
that the pattern side has all its moments,

    B(u) = Φ(−u/√V) + √(E/d) e^{u²/2d} Φ(u√(E/(V d))).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from chanceline.theory.patterns import pattern_side
from chanceline.theory.quadrature import Array


@dataclass(frozen=True)
class SupportSide:
    """f = ln(1 + e^{−K}B), p, 1 − p, and the tilted law of a chosen variable's weight w, at each u.

    u is the mean of the field h on a variable, p the probability that the variable is chosen, with
    the odds e^{−K}B(u). w is h/E; with given signs h₊/E, which is 0 with the weight 1 − `nonzero`.
    Arrays have the shape of u.
    """

    log_partition: Array  # f
    chosen: Array  # p
    rejected: Array  # 1 − p
    mean: Array  # of w
    variance: Array | float  # of w
    E: float  # stiffness of the weights: w = h/E
    nonzero: Array | float = 1.0  # P(w ≠ 0)
    third: Array | float = 0.0  # third central moment of w
    nonzero_slope: Array | float = 0.0  # d nonzero/du

    @property
    def slope(self) -> Array:
        """f' = p⟨w⟩."""
        return self.chosen * self.mean

    @property
    def mean_slope(self) -> Array | float:
        """d⟨w⟩/du = Var w + P(w ≠ 0)/E, where w = h/E and ⟨·⟩ is the tilted mean.

        With free signs it is 1/d, because ⟨w⟩ = u/d.
        """
        return self.variance + self.nonzero / self.E

    @property
    def curvature(self) -> Array:
        """f'' = p d⟨w⟩/du + p(1 − p)⟨w⟩²."""
        return self.chosen * self.mean_slope + self.chosen * self.rejected * self.mean**2


def support_side(u: Array, V: float, d: float, K: float, signed: bool = False) -> SupportSide:
    """Whether a variable of mean field u is chosen, and the law of its weight.

    The field on a variable is h ~ N(u, V), and its weight is w = h/E if it is chosen, E = V + d.
    Then it contributes B = ∫ N(h; u, V) e^{h²/2E} dh = √(E/d) e^{u²/2d}, at the price e^{−K}; if it
    is not it contributes 1. The odds that it is chosen are therefore e^{−K}B(u). Tilted by
    e^{h²/2E}, w has the mean u/d and the variance V/(E d).

    Parameters
    ----------
    u : array of any shape
        Means u of the field h.
    V
        Variance of the field around u.
    d
        E − V > 0; otherwise B is infinite.
    K
        Price of a chosen variable, in logarithms.
    signed
        Whether the sign of the weight is given: then w = h₊/E, and it may be 0.
    """
    if signed:
        return _support_side_given_signs(u, V, d, K)
    E = V + d
    log_odds = 0.5 * np.log(E / d) + u**2 / (2 * d) - K  # ln(e^{−K}B)
    return SupportSide(
        log_partition=np.logaddexp(0.0, log_odds),  # ln(1 + e^{−K}B)
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=u / d,
        variance=V / (E * d),
        E=E,
    )


def _support_side_given_signs(u: Array, V: float, d: float, K: float) -> SupportSide:
    """`support_side` for weights w = h₊/E ≥ 0, E = V + d, with the same arguments.

    The field on a variable is h ~ N(u, V), and the variable is chosen with the odds e^{−K}B, where
    B = ∫ N(h; u, V) e^{h₊²/2E} dh. The patterns have the same integral: in `pattern_side` a
    violation v ~ N(μ, s²) is tilted by e^{−v₊²/2χ}, and A is the sum of the tilted weights. With
    μ = u, s² = V and χ = −E the law of v₊ is that of h₊ = E w, and A is B. The closed form holds
    for this negative χ, too, as V < E: the Gaussian decays faster than the tilt grows.
    """
    E = V + d
    law = pattern_side(mu=u, s2=V, chi=-E)  # of h₊; `law.log_a` is ln B
    log_odds = law.log_a - K  # ln(e^{−K}B)
    mean_weight = law.mean / E  # ⟨w⟩
    return SupportSide(
        log_partition=np.logaddexp(0.0, log_odds),
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=mean_weight,
        variance=law.variance / E**2,
        E=E,
        nonzero=law.tight,  # P(h > 0), which `loose` completes to 1
        third=law.third / E**3,
        # With u more of h becomes positive, by the density of h at 0; and the tilt of its law, by
        # e^{w·change of u}, adds the covariance of 1_{w ≠ 0} with w, which is ⟨w⟩ P(w = 0).
        nonzero_slope=law.density_at_zero + mean_weight * law.loose,
    )
