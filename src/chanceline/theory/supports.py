"""The support side: the inner integral ∫Dy over one variable, in closed form and in logarithms.

With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the weight w = h/E of a chosen variable has the tilted mean u/d and variance V/(E d);
f = ln(1 + e^{−K}B) has f' = p⟨w⟩.

Where the sign of the weight is given (+ without loss of generality) only h > 0 has a weight, w =
h₊/E, and exp(h₊²/2E) stands in the integral: B is A of `patterns` with μ = u, s² = V and χ = −E, so
that the pattern side has all its moments,

    B(u) = Φ(−u/√V) + √(E/d) e^{u²/2d} Φ(u√(E/(V d))).

Every formula is written for numbers, arrays and `Dual` numbers alike (`dual`).
"""

from __future__ import annotations

from typing import NamedTuple

from chanceline.theory.dual import Numbers, expit, log, softplus, square, value_of
from chanceline.theory.patterns import pattern_side


class SupportSide(NamedTuple):
    """f = ln(1 + e^{−K}B), p, 1 − p, and the tilted law of a chosen variable's weight w, at each u.

    u is the mean of the field h on a variable, p the probability that the variable is chosen, with
    the odds e^{−K}B(u). w is h/E; with given signs h₊/E, which is 0 with the weight 1 − `nonzero`.
    Arrays have the shape of u.
    """

    log_partition: Numbers  # f
    chosen: Numbers  # p
    rejected: Numbers  # 1 − p
    mean: Numbers  # of w
    variance: Numbers  # of w
    stiffness: Numbers  # E, of the weights: w = h/E
    nonzero: Numbers = 1.0  # P(w ≠ 0)

    @property
    def slope(self) -> Numbers:
        """f' = p⟨w⟩, the mean weight of a variable; one that is not chosen has the weight 0."""
        return self.chosen * self.mean

    @property
    def mean_slope(self) -> Numbers:
        """d⟨w⟩/du = Var w + P(w ≠ 0)/E, where w = h/E and ⟨·⟩ is the tilted mean.

        When the mean u of the field h moves, w moves by 1/E where it is not 0. And the tilt
        e^{h²/2E} changes, by its logarithmic slope h/E = w: this adds the covariance of w with w.
        With free signs the sum is 1/d, because ⟨w⟩ = u/d.
        """
        return self.variance + self.nonzero / self.stiffness

    @property
    def curvature(self) -> Numbers:
        """f'' = p d⟨w⟩/du + p(1 − p)⟨w⟩², the slope of f' = p⟨w⟩, as dp/du = p(1 − p)⟨w⟩."""
        return self.chosen * self.mean_slope + self.chosen * self.rejected * square(self.mean)

    def without_differentials(self) -> SupportSide:
        """The same numbers and arrays, none of them a Dual."""
        return SupportSide._make(map(value_of, self))


def support_side(
    mean_field: Numbers,
    field_variance: Numbers,
    net_stiffness: Numbers,
    price: Numbers,
    signed: bool = False,
) -> SupportSide:
    """How likely a variable is chosen, and mean and variance of its weight, given its mean field u.

    The field h ~ N(u, V) is by how much the patterns pull at the weight of the variable. If the
    variable is chosen its weight is w = h/E, with the stiffness E = V + d, and the choice has the
    factor

        e^{−K}B,    B = ∫N(h; u, V) e^{h²/2E} dh = √(E/d) e^{u²/2d};

    if it is not, the factor is 1. So e^{−K}B are the odds that it is chosen. The law of h is tilted
    by e^{h²/2E}: completing the square, h is Gaussian with mean uE/d and variance VE/d, and w has
    the mean u/d and the variance V/(E d).

    Parameters
    ----------
    mean_field : array of any shape
        Means u of the field h.
    field_variance
        V, the variance of the field around u.
    net_stiffness
        d = E − V > 0; otherwise B is infinite.
    price
        K, of choosing a variable, in logarithms.
    signed
        Whether the sign of the weight is given. Then w = max(h, 0)/E, which may be 0.
    """
    if signed:
        return _support_side_given_signs(mean_field, field_variance, net_stiffness, price)
    stiffness = field_variance + net_stiffness  # E
    log_b_at_zero = 0.5 * log(stiffness / net_stiffness)  # ln B at u = 0
    log_odds = square(mean_field) / (2 * net_stiffness) + (log_b_at_zero - price)  # ln(e^{−K}B)
    return SupportSide(
        log_partition=softplus(log_odds),  # ln(1 + e^{−K}B)
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=mean_field / net_stiffness,  # u/d
        variance=field_variance / (stiffness * net_stiffness),  # V/(E d)
        stiffness=stiffness,
    )


def _support_side_given_signs(
    mean_field: Numbers, field_variance: Numbers, net_stiffness: Numbers, price: Numbers
) -> SupportSide:
    """How likely a variable is chosen, and the law of its weight, if that must not be negative.

    The field on the variable is h ~ N(u, V), u its mean and V its variance. With h₊ = max(h, 0) the
    weight is w = h₊/E if the variable is chosen, E = V + d the stiffness of the weight and d the
    net stiffness; K is the price of choosing it. The odds of that are e^{−K}B with

        B = ∫N(h; u, V) e^{h₊²/2E} dh.

    `pattern_side` has this integral: there a violation v ~ N(μ, s²) is weighted by e^{−v₊²/2χ}, and
    A is its mean weight. With μ = u, s² = V and χ = −E, A is B, and v₊ has the law of h₊ = E w. The
    closed form holds for this negative χ, too: as V < E the Gaussian decays faster than the weight
    grows.
    """
    stiffness = field_variance + net_stiffness  # E
    positive_field = pattern_side(mu=mean_field, s2=field_variance, chi=-stiffness)  # law of h₊
    log_odds = positive_field.log_a - price  # ln(e^{−K}B)
    return SupportSide(
        log_partition=softplus(log_odds),
        chosen=expit(log_odds),
        rejected=expit(-log_odds),
        mean=positive_field.mean / stiffness,
        variance=positive_field.variance / square(stiffness),
        stiffness=stiffness,
        nonzero=positive_field.tight,  # P(h > 0)
    )
