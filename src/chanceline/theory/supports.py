"""One variable at a fixed mean field: the inner integral ∫Dy in closed form and in logarithms.

With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the weight w = h/E of a chosen variable has the tilted mean u/d and variance V/(E d);
f = ln(1 + e^{−K}B) has f' = p⟨w⟩.

Where the sign of the weight is given (+ without loss of generality) only h > 0 has a weight, w =
h₊/E, and exp(h₊²/2E) stands in the integral: B is A of `patterns` with μ = u, s² = V and χ = −E, so
that `pattern_law` has all its moments,

    B(u) = Φ(−u/√V) + √(E/d) e^{u²/2d} Φ(u√(E/(V d))).

Every formula is written for numbers, arrays and `Dual` numbers alike (`dual`).
"""

from __future__ import annotations

from typing import NamedTuple

from chanceline.theory.dual import Numbers, expit, log, softplus, square, value_of
from chanceline.theory.patterns import pattern_law


class VariableLaw(NamedTuple):
    """Whether a variable is chosen and, if so, the law of its weight w, at each mean field u.

    The odds that it is chosen are e^{−K}B(u). Its weight is w = h/E in a field h of mean u; with
    given signs it is w = h₊/E, which may be 0. Arrays have the shape of u.
    """

    log_partition: Numbers  # f
    p_chosen: Numbers  # p
    p_rejected: Numbers  # 1 − p
    mean_weight: Numbers  # of w
    weight_variance: Numbers  # of w
    stiffness: Numbers  # E, of the weights: w = h/E
    p_nonzero: Numbers = 1.0  # P(w ≠ 0)

    @property
    def slope(self) -> Numbers:
        """f' = p⟨w⟩, the mean weight of a variable; one that is not chosen has the weight 0."""
        return self.p_chosen * self.mean_weight

    @property
    def mean_slope(self) -> Numbers:
        """d⟨w⟩/du = Var w + P(w ≠ 0)/E, where w = h/E and ⟨·⟩ is the tilted mean.

        When the mean u of the field h moves, w moves by 1/E where it is not 0. And the tilt
        e^{h²/2E} changes, by its logarithmic slope h/E = w: this adds the covariance of w with w.
        With free signs the sum is 1/d, because ⟨w⟩ = u/d.
        """
        return self.weight_variance + self.p_nonzero / self.stiffness

    @property
    def curvature(self) -> Numbers:
        """f'' = p d⟨w⟩/du + p(1 − p)⟨w⟩², the slope of f' = p⟨w⟩, as dp/du = p(1 − p)⟨w⟩."""
        return self.p_chosen * self.mean_slope + self.p_chosen * self.p_rejected * square(
            self.mean_weight
        )

    def without_differentials(self) -> VariableLaw:
        """The same numbers and arrays, none of them a Dual."""
        return VariableLaw._make(map(value_of, self))


def variable_law(
    mean_field: Numbers,
    field_variance: Numbers,
    net_stiffness: Numbers,
    price: Numbers,
    signed: bool = False,
) -> VariableLaw:
    """Compute the probability that a variable is chosen, and mean and variance of its weight then.

    The patterns pull the weight of the variable by a Gaussian number h ~ N(u, V), its field. The
    variable is chosen with the odds

        e^{−K}B,    B = ∫N(h; u, V) e^{h²/2E} dh = √(E/d) e^{u²/2d},    E = V + d.

    If the variable is chosen, its weight is w = h/E, and the density of h has the factor e^{h²/2E}:
    w is then Gaussian with mean u/d and variance V/(E d).

    Parameters
    ----------
    mean_field : array of any shape
        Means u of the field h.
    field_variance
        V, the variance of the field around u.
    net_stiffness
        d = E − V > 0, where E is the stiffness of the weight.
    price
        K, the price of choosing the variable.
    signed
        Whether the sign of the weight is given. Then w = max(h, 0)/E, which may be 0.

    Returns
    -------
    VariableLaw
        Probabilities, and mean and variance of the weight, each with the shape of u.
    """
    if signed:
        return _variable_law_given_signs(mean_field, field_variance, net_stiffness, price)

    stiffness = field_variance + net_stiffness  # E = V + d

    # The log-odds ln(e^{−K}B) = u²/2d + ½ ln(E/d) − K.
    log_b_at_zero = 0.5 * log(stiffness / net_stiffness)  # ½ ln(E/d), which is ln B at u = 0
    log_odds_at_zero = log_b_at_zero - price
    log_odds = square(mean_field) / (2 * net_stiffness) + log_odds_at_zero

    return VariableLaw(
        log_partition=softplus(log_odds),  # ln(1 + odds)
        p_chosen=expit(log_odds),
        p_rejected=expit(-log_odds),  # 1 − p_chosen, without cancellation
        mean_weight=mean_field / net_stiffness,  # u/d
        weight_variance=field_variance / (stiffness * net_stiffness),  # V/(E d)
        stiffness=stiffness,
    )


def _variable_law_given_signs(
    mean_field: Numbers, field_variance: Numbers, net_stiffness: Numbers, price: Numbers
) -> VariableLaw:
    """Compute the same as `variable_law` for a weight that must not be negative.

    The patterns pull the weight by a Gaussian number h ~ N(u, V), the field; u is `mean_field` and
    V `field_variance`. If the variable is chosen, its weight is w = h₊/E, where h₊ = max(h, 0) and
    E = V + d is the stiffness, d being `net_stiffness`. With the price K of the variable, the odds
    that it is chosen are e^{−K}B, where

        B = ∫N(h; u, V) e^{h₊²/2E} dh.

    If the variable is chosen, the density of h is the integrand divided by B. Mean and variance of
    the weight, and the probability that it is not 0, belong to this density.
    """
    stiffness = field_variance + net_stiffness  # E

    # `pattern_law` computes the same integral for another purpose. It is about the violation
    # v ~ N(μ, s²) of a pattern, and takes the mean A of e^{−v₊²/2χ}. With
    #     v = h,  μ = u,  s² = V,  χ = −E
    # A is B. (χ may be negative here, because V < E makes the integral finite.) What it calls the
    # correction of a pattern is v₊, here h₊, and a tight pattern is one with v > 0, here h > 0.
    law_of_field = pattern_law(mu=mean_field, s2=field_variance, chi=-stiffness)
    log_b = law_of_field.log_mean_weight  # ln B
    mean_of_positive_part = law_of_field.mean_correction  # of h₊
    variance_of_positive_part = law_of_field.correction_variance
    p_field_positive = law_of_field.p_tight

    log_odds = log_b - price  # ln(e^{−K}B)
    return VariableLaw(
        log_partition=softplus(log_odds),  # ln(1 + e^{−K}B)
        p_chosen=expit(log_odds),
        p_rejected=expit(-log_odds),  # 1 − p_chosen, without cancellation
        mean_weight=mean_of_positive_part / stiffness,  # w = h₊/E
        weight_variance=variance_of_positive_part / square(stiffness),
        stiffness=stiffness,
        p_nonzero=p_field_positive,
    )
