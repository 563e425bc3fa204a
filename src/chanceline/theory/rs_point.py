"""A point of the replica-symmetric equations: its order parameters, and the averages there.

The formulas are those of `rs_equations`. Numbers are Duals, which carry their derivatives by the
coordinates of the point, wherever the coordinates or the density they are made of are Duals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from chanceline.theory.dual import Numbers, exp, expit, sqrt, square, value_of
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.pattern_averages import PatternMeans, PatternParameters
from chanceline.theory.quadrature import Array
from chanceline.theory.support_averages import VariableMeans, VariableParameters

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

    rho: Numbers  # the density, share of variables chosen
    chi: Numbers  # χ, the response of the weights: (ρ − q₁)/m as m → 0
    q0: Numbers  # overlap of the weights of two typical choices
    s2: Numbers  # ρ − q₀, without cancellation
    K: Numbers  # the multiplier of ρ
    V_over_E: Numbers
    d_over_E: Numbers
    F0_over_E: Numbers
    threshold: Numbers  # b in units of |w|, 0 where it is fixed
    ceiling: Numbers  # v*, the largest violation that is no error, ∞ without errors

    @property
    def patterns(self) -> PatternParameters:
        """What the averages over patterns depend on; `PatternParameters` says what each is."""
        return PatternParameters(
            rho=self.rho,
            q0=self.q0,
            s2=self.s2,
            chi=self.chi,
            threshold=self.threshold,
            ceiling=self.ceiling,
        )

    @property
    def supports(self) -> VariableParameters:
        """What the averages over variables depend on, in units of E, the multiplier of the norm.

        F₀ is the variance of the mean field of a variable, V that around it, K its price; V + d = E
        is 1 in these units.
        """
        return VariableParameters(F0=self.F0_over_E, V=self.V_over_E, d=self.d_over_E, K=self.K)


def decode_point(coordinates: Sequence[Numbers], rho: Numbers, ensemble: Ensemble) -> Coordinates:
    """Decode the unknowns of Newton's method into order parameters; inverse of `encode_point`.

    The order parameters are the few numbers that describe a large random problem in the theory.
    Their coordinates may be any real numbers, so that Newton's method can move freely: a positive
    quantity is encoded by its logarithm, and a share between 0 and 1 by its logit. The coordinates
    are, in this order,

        ln χ          χ > 0: a violation v of a constraint is corrected at the cost v²/2χ,
        logit(q₀/ρ)   0 < q₀ < ρ, the overlap (scalar product per variable) of two choices' weights,
        K             the price of choosing a variable: its odds have the factor e^{−K},
        ln(V/d)       V, d > 0, where E = V + d is the stiffness of the weights,
        ln(F₀/E)      F₀ > 0,
        b             the threshold of the rule, only if the ensemble leaves it free,
        ln t*         v* = √ρ t* is the largest violation that is no error, only with errors.

    V and F₀ are variances of the field by which the patterns pull the weight of a variable: F₀ that
    of its mean, which differs between variables, and V that around the mean. A field h gives the
    weight h/E. The coordinates and ρ may be Duals, numbers with derivatives; the result then
    carries derivatives.
    """
    # Two shares that add up to 1 are expit(x) and expit(−x) with the same coordinate x. The second
    # one is not computed as 1 − expit(x), which would cancel.
    logit_q0_over_rho = coordinates[LOGIT_Q0]
    q0_over_rho = expit(logit_q0_over_rho)
    rest_over_rho = expit(-logit_q0_over_rho)  # (ρ − q₀)/ρ
    log_V_over_d = coordinates[LOG_V_OVER_D]
    V_over_E = expit(log_V_over_d)  # because E = V + d
    d_over_E = expit(-log_V_over_d)

    threshold: Numbers = 0.0  # if it is not free
    if ensemble.free_threshold:
        threshold = coordinates[THRESHOLD]
    ceiling: Numbers = np.inf  # v*, infinite if no errors are allowed
    if ensemble.error_rate:
        ceiling = sqrt(rho) * exp(coordinates[LOG_CEILING])

    return Coordinates(
        rho=rho,
        chi=exp(coordinates[LOG_CHI]),
        q0=rho * q0_over_rho,
        s2=rho * rest_over_rho,  # s² = ρ − q₀
        K=coordinates[K_INDEX],
        V_over_E=V_over_E,
        d_over_E=d_over_E,
        F0_over_E=exp(coordinates[LOG_F0_OVER_E]),
        threshold=threshold,
        ceiling=ceiling,
    )


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
    """The solver's point with these order parameters, (coordinates,): inverse of `decode_point`.

    Positive numbers enter by their logarithm, shares between 0 and 1 by their logit.

    Parameters
    ----------
    ensemble
        Says whether threshold and errors are part of the point.
    chi
        χ > 0, the response of the weights.
    q0_over_rho
        q₀/ρ, the overlap of the weights of two choices of variables over the density ρ.
    K
        The price of choosing a variable.
    V_over_E, F0_over_E
        V/E and F₀/E, where V = F₁ − F₀. F₁ and F₀ are the Lagrange multipliers of the overlaps of
        weights within a choice and between two choices, E that of their norm.
    threshold
        Of the rule, in units of |w|; used only if it is free.
    largest_violation
        The largest violation that is no error, in units of |w|; used only if errors are allowed.
    """
    # With d = E − V, logit(V/E) is ln(V/d), the name of this coordinate in `decode_point`.
    point = [np.log(chi), logit(q0_over_rho), K, logit(V_over_E), np.log(F0_over_E)]
    if ensemble.free_threshold:
        point.append(threshold)
    if ensemble.error_rate:
        point.append(np.log(largest_violation))
    return np.array(point)


class PointValues(NamedTuple):
    """Load and multipliers at a point, and the averages that equal them at a saddle.

    p is the probability that a variable of field z is chosen, w its weight then; R₁ and R₂ are
    moments of the correction of a pattern, ⟨·⟩ = Σ_c f_c ∫Dz their mean over fields and classes c,
    of share f_c and sign σ_c.
    """

    nonzero: Numbers  # ρ₊, the share of variables with a weight other than zero
    E: Numbers  # multiplier of the norm of the weights
    V: Numbers  # F₁ − F₀
    d: Numbers  # E − V
    F0: Numbers  # multiplier of the overlap q₀ of two choices
    F1: Numbers  # multiplier of the overlap q₁ within a choice
    alpha: Numbers  # the load
    F0_of_patterns: Numbers  # (α/χ²)⟨R₁²⟩, equal to F₀ at the saddle
    V_of_patterns: Numbers  # (α/χ²)⟨R₂ − R₁²⟩, equal to V at the saddle
    norm: Numbers  # ∫Dz p⟨w²⟩, equal to ρ at the saddle
    overlap: Numbers  # ∫Dz (p⟨w⟩)², equal to q₀ at the saddle
    price: Numbers  # y = v*²/2χ, where an error weighs e^{−y}; 0 without errors
    entropy_by_alpha: Numbers  # ∂Σ/∂α = ⟨ln A⟩ + yε, A the weight of a pattern, ε the error rate


def evaluate_point(
    coords: Coordinates,
    ensemble: Ensemble,
    pattern_averages: PatternMeans,
    variable_averages: VariableMeans,
) -> PointValues:
    """Compute all numbers at a point that its equations compare, from averages taken there.

    A point of the solver has the unknowns of the theory; `coords` has them decoded. The field of a
    variable, by which the patterns pull its weight, has the variance F₀ (of its mean) and V (around
    the mean), and a field h gives the weight h/E. The equations of the theory are

        number of tight patterns = number of nonzero weights    solved here for the load α,
        χE = share of nonzero weights                           solved here for the stiffness E,
        F₀ = F0_of_patterns, V = V_of_patterns                  errors computed by the caller,
        norm = ρ, overlap = q₀                                  errors computed by the caller.

    The caller has more equations, which need only the averages themselves.
    """
    # The two equations that are solved here, so that they hold at every point.
    nonzero_share = _nonzero_share(coords, ensemble, variable_averages)
    alpha = _load(nonzero_share, pattern_averages)
    E = nonzero_share / coords.chi

    # The coordinates have these numbers relative to E.
    V = E * coords.V_over_E
    d = E * coords.d_over_E  # net stiffness E − V
    F0 = E * coords.F0_over_E

    # What F₀ and V must be: (α/χ²)⟨R₁²⟩ and (α/χ²)⟨R₂ − R₁²⟩, averages over the patterns with the
    # first two moments R₁ and R₂ of the correction of a pattern.
    alpha_over_chi2 = alpha / square(coords.chi)
    F0_of_patterns = alpha_over_chi2 * pattern_averages.mean_correction_square
    V_of_patterns = alpha_over_chi2 * pattern_averages.correction_variance

    # The mean square of a weight, and its mean product on two choices of variables. The averages
    # were taken in units in which E = 1, and are proportional to 1/E.
    norm = variable_averages.norm / E
    overlap = variable_averages.overlap / E

    # ∂Σ/∂α of the entropy Σ: the mean log-weight of a pattern plus (price of an error)·(error
    # rate).
    price = _price(coords, ensemble)
    entropy_by_alpha = pattern_averages.log_mean_weight + price * ensemble.error_rate
    return PointValues(
        nonzero=nonzero_share,
        E=E,
        V=V,
        d=d,
        F0=F0,
        F1=F0 + V,
        alpha=alpha,
        F0_of_patterns=F0_of_patterns,
        V_of_patterns=V_of_patterns,
        norm=norm,
        overlap=overlap,
        price=price,
        entropy_by_alpha=entropy_by_alpha,
    )


def _nonzero_share(
    coords: Coordinates, ensemble: Ensemble, variable_averages: VariableMeans
) -> Numbers:
    """ρ₊, the share of variables with a weight other than zero.

    They are all that are chosen, ρ, unless the sign of each weight is given: then the weight of a
    chosen variable is 0 where its field has the wrong sign.
    """
    if ensemble.signed:
        return variable_averages.nonzero
    return coords.rho


def _load(nonzero: Numbers, pattern_averages: PatternMeans) -> Numbers:
    """The load α, from the identity "as many tight patterns as weights": α·effective_tight = ρ₊.

    `nonzero` is ρ₊, the share of variables with a weight. Without margin and errors
    `effective_tight` is p₊, the share of patterns at the margin. With them it is
    ⟨p₊ − v*e* + κR₁/ρ⟩: v* is the largest violation that is no error, e* the density of violations
    there, R₁ the mean correction and κ = margin·√ρ. The docstring of `rs_equations` derives it.
    """
    if not value_of(pattern_averages.effective_tight) > 0:
        # No load is possible here: Newton takes a shorter step.
        raise OutsideDomain("p₊ − v*e* must be positive")
    return nonzero / pattern_averages.effective_tight


def _price(coords: Coordinates, ensemble: Ensemble) -> Numbers:
    """The price y of an error, which weighs e^{−y}; 0 where none is allowed.

    At the ceiling v* a violation weighs as much as an error: e^{−v*²/2χ} = e^{−y}.
    """
    if not ensemble.error_rate:
        return 0.0
    return square(coords.ceiling) / (2 * coords.chi)
