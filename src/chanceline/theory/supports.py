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

    log_one_plus: Array  # f
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
    """Whether a variable of mean field u is chosen, and the law of its weight; E = V + d.

    The field on a variable is h ~ N(u, V), and its weight is w = h/E if it is chosen. Then it
    contributes B = ∫ N(h; u, V) e^{h²/2E} dh = √(E/d) e^{u²/2d}, at the price e^{−K}; if it is not
    it contributes 1. The odds that it is chosen are therefore e^{−K}B(u). Tilted by e^{h²/2E}, w
    has the mean u/d and the variance V/(E d).

    Parameters
    ----------
    u : array of any shape
        Means u of the field h.
    V, d, K
        Variance V of the field around u, d = E − V > 0, and the price K of a variable.
    signed
        Whether the sign of the weight is given: then w = h₊/E, and it may be 0.
    """
    if signed:
        return _support_side_given_signs(u, V, d, K)
    E = V + d
    log_odds = 0.5 * np.log(E / d) + u**2 / (2 * d) - K  # ln(e^{−K}B)
    return SupportSide(
        log_one_plus=np.logaddexp(0.0, log_odds),  # ln(1 + e^{−K}B)
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=u / d,
        variance=V / (E * d),
        E=E,
    )


def _support_side_given_signs(u: Array, V: float, d: float, K: float) -> SupportSide:
    """`support_side` for weights w = h₊/E ≥ 0, E = V + d, with the same arguments.

    u are the means and V is the variance of the field h on a variable; K is the price of choosing
    it, so that e^{−K}B are the odds of this. B = ∫ N(h; u, V) e^{h₊²/2E} dh is an integral that the
    patterns have, too, and `law` is their result.

    The field h ~ N(u, V) is tilted by e^{h²/2E} for h > 0 and by 1 below. In `pattern_side` a
    violation v ~ N(μ, s²) is tilted by e^{−v²/2χ} for v > 0 and by 1 below. Its law is that of h:

        there    μ    s²    χ     T = v₊      A    p₊          density at v = 0⁺, e₀
        here     u    V     −E    h₊ = E w    B    P(w ≠ 0)    density at h = 0⁺

    In `law` A, p₊, 1 − p₊ and e₀ are `log_a` (ln A), `tight`, `loose` and `density_at_zero`.

    Moments of w are those of T over powers of E. The slope of P(w ≠ 0) is that of p₊ there,
    ∂p₊/∂μ = e₀ − ⟨T⟩(1 − p₊)/χ, here e₀ + ⟨w⟩(1 − p₊).
    """
    E = V + d
    # The law of h₊, in units of the field.
    law = pattern_side(mu=u, s2=V, chi=-E)
    log_odds = law.log_a - K  # ln(e^{−K}B)
    mean = law.mean / E  # ⟨w⟩
    return SupportSide(
        log_one_plus=np.logaddexp(0.0, log_odds),
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=mean,
        variance=law.variance / E**2,
        E=E,
        nonzero=law.tight,
        third=law.third / E**3,
        nonzero_slope=law.density_at_zero + mean * law.loose,
    )
