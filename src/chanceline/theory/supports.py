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

    w is h/E; with given signs h₊/E, which is 0 with the weight 1 − `nonzero`. Arrays have the shape
    of u.
    """

    log_one_plus: Array  # f
    chosen: Array  # p
    rejected: Array  # 1 − p
    mean: Array  # of w
    variance: Array | float  # of w
    e: float  # E
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
    """B(u) against e^K, with E = V + d.

    Parameters
    ----------
    u : array of any shape
        Means u of the field h.
    V, d, k
        Variance V of the field, d = E − V, and K.
    signed
        Whether the sign of the weight is given.
    """
    if signed:
        return _support_side_given_signs(u, V, d, k)
    e = V + d
    log_odds = 0.5 * np.log(e / d) + u**2 / (2 * d) - k
    return SupportSide(
        log_one_plus=np.logaddexp(0.0, log_odds),
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=u / d,
        variance=V / (e * d),
        e=e,
    )


def _support_side_given_signs(u: Array, V: float, d: float, k: float) -> SupportSide:
    """The same for w = h₊/E: the law of h₊ is that of T on the pattern side at χ = −E."""
    e = V + d
    law = pattern_side(u, V, -e)
    log_odds = law.log_a - k
    mean = law.mean / e
    return SupportSide(
        log_one_plus=np.logaddexp(0.0, log_odds),
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=mean,
        variance=law.variance / e**2,
        e=e,
        nonzero=law.tight,
        third=law.third / e**3,
        nonzero_slope=law.edge + mean * law.loose,
    )
