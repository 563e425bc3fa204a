"""The first moment: where the expected number of pairs (support, set of errors) stops growing.

Its exponent is that of the replica calculation without overlap between supports, x = χ/ρ and A of
`patterns` at s² = 1, χ = x:

    H₂(ρ) + ρ ln γ(x) + α{Σ_c f_c ln[A(τ_c) + e^{−y}] + yε},      τ_c = margin + σ_c b,

stationary in x, b and y, by which `Dual` numbers differentiate it; γ = √(1 + 1/x), or
½ + ½√(1 + 1/x) with given signs. e^{−y} is the weight of an error (y = ∞ without errors). For the
plain ensemble this is Cover's count, `closed_forms.union_bound`. By Markov the zero is an upper
bound on the load, or a lower bound on the density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from chanceline.errors import ConvergenceError
from chanceline.theory.closed_forms import (
    PLAIN_LOAD_OF_ALL,
    binary_entropy,
    l0_gardner,
    union_bound,
)
from chanceline.theory.continuation import first_success
from chanceline.theory.dual import (
    Dual,
    Numbers,
    exp,
    independent,
    log,
    logaddexp,
    sqrt,
    weighted_sum,
)
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import EPS, Newton, OutsideDomain, Solved
from chanceline.theory.patterns import log_pattern_weight
from chanceline.theory.quadrature import Array

# From no errors to those wanted the rate grows by such factors; None goes there at once. Where one
# fails the next is tried.
_RATE_FACTORS = (None, 4.0, 1.5, 1.15, 1.04, 1.01)
# Error rates below this share of H₂(ρ) change little, and the point without errors starts them.
_SMALL_RATE = 1e-3
# Largest residual accepted. Where few variables are left out rounding leaves more than that: it is
# so many roundings of the exponent, in units of the machine's precision.
_TOLERANCE = 1e-11
_ROUNDINGS_OF_EXPONENT = 16
# Ends of the search for y and logit ρ: beyond them weights and densities are out of reach.
_LARGEST_PRICE = 50.0
_LOGIT_RHO_ENDS = (-40.0, 30.0)
# The grids on which the exponent for α → ∞ is maximised over the threshold b and minimised over y.
# Beyond |b| = 8 a class is right or wrong up to Φ(−8) = 6e-16. The exponent is stationary where
# e^{−y}/(Φ + e^{−y}) is the error rate: y ≤ 60 for this Φ and rates down to 1e-11, y ≥ −5 for Φ = 1
# and rates up to 0.99.
_THRESHOLD_GRID = np.linspace(-8, 8, 321)
_PRICE_GRID = np.linspace(-5, 60, 651)


class _GivenRhoOrAlpha(NamedTuple):
    """Which of density ρ and load α is given while the zero of the exponent is sought.

    The equations give the ratio α/ρ. With one of α and ρ given, the ratio determines the other.
    """

    name: str  # of the problem, for error messages
    rho_guess: float  # ρ itself if it is given, else a density near the solution
    rho_and_alpha_of_ratio: Callable[[float], tuple[float, float]]  # (ρ, α) from the ratio α/ρ


@dataclass(frozen=True)
class Counted:
    """The exponent of a number of solutions at a point: it should be stationary and zero."""

    alpha: float  # load
    rho: float  # density of chosen variables
    residual: Array  # how far it is from stationary and zero, (equations,)


def first_moment_load(rho: float, ensemble: Ensemble = PLAIN) -> float:
    """An upper bound on the capacity: the load where an expected number of solutions stops growing.

    Counted are pairs of a support (a choice of ρN of N variables) and a set of errors with which it
    separates the patterns. Where their expected number vanishes there are none, with probability
    one as N → ∞ (Markov's inequality). The load, patterns per variable, is infinite where so many
    errors are allowed that their choice alone outnumbers all labellings.

    With given signs the load of the plain ensemble is lower by exactly ρ. Weights of M variables
    must separate P patterns and be ≥ 0: the patterns and the M unit vectors are P + M points in
    general position in M dimensions, and for symmetric inputs all their 2^{P+M} sign patterns are
    as likely. So such weights exist with Cover's probability for P + M points (Wendel 1962),
    2^{1−P−M} Σ_{k<M} C(P + M − 1, k).
    """
    if _first_moment_always_grows(ensemble):
        return np.inf

    def rho_and_alpha_of_ratio(alpha_over_rho: float) -> tuple[float, float]:
        """The given density, and the load that follows from the ratio."""
        return rho, alpha_over_rho * rho

    given_rho = _GivenRhoOrAlpha(
        name=f"the first moment at rho = {rho:.10g}",
        rho_guess=rho,
        rho_and_alpha_of_ratio=rho_and_alpha_of_ratio,
    )
    return _solve_first_moment(given_rho, ensemble).alpha


def first_moment_density(alpha: float, ensemble: Ensemble = PLAIN) -> float:
    """Compute a lower bound on the smallest share ρ of variables that separates αN patterns.

    There are N variables. A solution is a choice of ρN of them together with a set of patterns, the
    errors, such that a rule on these variables classifies all other patterns. At shares ρ below the
    bound the expected number of solutions (its first moment) decreases exponentially with N, so as
    N → ∞ there are none. The bound is 0 if so many errors are allowed that the expected number
    grows at every load α.
    """
    if _first_moment_always_grows(ensemble):
        return 0.0

    # Two densities can solve the equations, because the load at which the expected number stops
    # growing may decrease again towards ρ = 1. The guess is near the smaller of the two densities.
    rho_guess = _guessed_density(alpha, ensemble)

    # The solver finds the ratio α/ρ. It serves for a given ρ and for a given α, and is told by a
    # function how to get both from the ratio.
    def rho_and_alpha_of_ratio(alpha_over_rho: float) -> tuple[float, float]:
        """The density that follows from the ratio, and the given load."""
        return alpha / alpha_over_rho, alpha

    given_alpha = _GivenRhoOrAlpha(
        name=f"the first moment at alpha = {alpha:.10g}",
        rho_guess=rho_guess,
        rho_and_alpha_of_ratio=rho_and_alpha_of_ratio,
    )
    return _solve_first_moment(given_alpha, ensemble).rho


def _guessed_density(alpha: float, ensemble: Ensemble) -> float:
    """Guess the density at which an expected number of solutions stops growing at load α.

    The guess starts the solver of `first_moment_density`. It uses the ℓ₀-Gardner load, which has a
    formula for the plain ensemble (equal classes, no margin, no errors, free signs) and increases
    there with the density from 0 to 2. The load of the given ensemble is taken to increase in the
    same way, but from 0 to the capacity of this ensemble with all variables and no errors.
    """
    load_of_all_without_errors = gardner(replace(ensemble, error_rate=0.0)).load
    scale = load_of_all_without_errors / PLAIN_LOAD_OF_ALL
    plain_load = alpha / scale
    if plain_load >= PLAIN_LOAD_OF_ALL:
        return 0.5  # the formula reaches this load at no density: start in the middle

    def excess_load(logit_rho: float) -> float:
        """The ℓ₀-Gardner load at the density with this logit, minus `plain_load`."""
        rho = float(expit(logit_rho))
        return l0_gardner(rho) - plain_load

    # At the two ends the densities are 0 and 1 within rounding, and the loads 0 and 2. They enclose
    # `plain_load`, so there is a root.
    lower_end, upper_end = _LOGIT_RHO_ENDS
    root = brentq(excess_load, lower_end, upper_end)
    return float(expit(root))


def _solve_first_moment(rho_or_alpha: _GivenRhoOrAlpha, ensemble: Ensemble) -> Counted:
    """Find the load and the density where the expected number of solutions stops growing with N.

    A solution is a choice of ρN of N variables together with a set of errors, such that a rule on
    these variables classifies all other patterns. The density ρ or the load α is given by
    `rho_or_alpha`, and the other is found. The equations are solved without errors first. If errors
    are allowed, the error rate is then raised in steps, each of which starts from the solution
    before it.
    """
    rho_guess = rho_or_alpha.rho_guess  # a guess if α is given, else ρ itself
    error_free = replace(ensemble, error_rate=0.0)
    start = _start_without_errors(rho_guess, error_free)
    without_errors = _solve_stationary(rho_or_alpha, error_free, start)
    if not ensemble.error_rate:
        return without_errors.state

    # Rates that are small compared with the entropy of all choices change the solution little: the
    # steps begin there.
    small_rate = _SMALL_RATE * binary_entropy(rho_guess)

    def solve_with_rate_factor(factor: float | None) -> Solved[Counted]:
        """Raise the rate by `factor` in each step, or in one step if it is None."""
        rates = _rising_rates(ensemble.error_rate, small_rate, factor)
        return _solve_along_rates(rho_or_alpha, ensemble, without_errors, rates)

    # The factors are tried in turn, from one step to ever smaller steps, until one succeeds.
    with_errors = first_success(solve_with_rate_factor, _RATE_FACTORS)

    # Unless the classes are equal, the rule has a threshold, and there can be a second solution of
    # the equations.
    if ensemble.free_threshold:
        return _solution_with_larger_ratio(rho_or_alpha, ensemble, with_errors)
    return with_errors.state


def _solve_stationary(
    rho_or_alpha: _GivenRhoOrAlpha, ensemble: Ensemble, start: Array
) -> Solved[Counted]:
    """Find the zero of the exponent by Newton's method; `start` is a point near it."""
    # The terms of the exponent are of the order of 1, so each has a rounding error of about EPS.
    # One residual is the exponent divided by the binary entropy H₂(ρ): its rounding error is this.
    rounding = _ROUNDINGS_OF_EXPONENT * EPS / binary_entropy(rho_or_alpha.rho_guess)
    newton = Newton(tolerance=max(_TOLERANCE, rounding), step_tolerance=1e-7, iterations=60)
    return newton.solve(
        lambda point: _first_moment_equations(point, rho_or_alpha, ensemble),
        start,
        ensemble.label(rho_or_alpha.name),
    )


def _rising_rates(wanted: float, small: float, factor: float | None) -> list[float]:
    """Return increasing error rates, from one of at most `small` up to `wanted`.

    Each rate is `factor` times the rate before it. If `factor` is None, `wanted` is the only rate.
    """
    rates = [wanted]
    if factor is not None:
        while rates[0] > small:
            rates.insert(0, rates[0] / factor)
    return rates


def _solve_along_rates(
    rho_or_alpha: _GivenRhoOrAlpha,
    ensemble: Ensemble,
    without_errors: Solved[Counted],
    rates: list[float],
) -> Solved[Counted]:
    """Solve at each of several increasing error rates, and return the solution at the last one.

    Each solution starts the next. With errors a point has one more coordinate, the price y of an
    error. The first rate starts from the point without errors, with the price that gives this rate
    there.
    """
    price = _price_of_rate(without_errors.unknowns, rates[0], ensemble)
    point = np.append(without_errors.unknowns, price)
    for rate in rates:
        solved = _solve_stationary(rho_or_alpha, replace(ensemble, error_rate=rate), point)
        point = solved.unknowns
    return solved


def _solution_with_larger_ratio(
    rho_or_alpha: _GivenRhoOrAlpha, ensemble: Ensemble, first_solution: Solved[Counted]
) -> Counted:
    """Search for a second solution of the equations; return the one with the larger ratio α/ρ.

    A solution is a load α and a density ρ at which the expected number of separating rules stops
    growing with N, the number of variables. One of α and ρ is given (`rho_or_alpha`). The unknowns
    are (ln x, b, y): x is the response of the weights, b the threshold of the rules, and y the
    price of an error, whose weight is e^{−y}. If many errors are allowed, there can be a solution
    besides `first_solution`, with another threshold, whose rules give up the rarer class.

    Each solution stands for one kind of rules, whose expected number grows with N as long as α/ρ is
    below the ratio of the solution. The two expected numbers add up. Their sum grows as long as one
    of them does, and so up to the larger of the two ratios. `first_solution` is returned if no
    second solution is found.
    """
    # Newton's method needs a start (ln x, b, y) of the second solution: x of the first one, the
    # best threshold of a rule with all variables, and the price at which these two give the allowed
    # share of errors.
    log_response, _, _ = first_solution.unknowns  # ln x; b and y are not used
    threshold_of_all = gardner(ensemble).threshold
    response_and_threshold = np.array([log_response, threshold_of_all])  # (ln x, b)
    price = _price_of_rate(response_and_threshold, ensemble.error_rate, ensemble)
    start = np.append(response_and_threshold, price)  # (ln x, b, y)
    try:
        second_solution = _solve_stationary(rho_or_alpha, ensemble, start)
    except ConvergenceError:
        return first_solution.state

    first_state = first_solution.state
    second_state = second_solution.state
    first_ratio = first_state.alpha / first_state.rho
    second_ratio = second_state.alpha / second_state.rho
    if second_ratio > first_ratio:
        return second_state
    return first_state


def _start_without_errors(rho: float, error_free: Ensemble) -> Array:
    """Return a start for the equations without errors: (ln x,), or (ln x, b) if b is free.

    x = χ/ρ is the response of the weights, relative to the density ρ, and b the threshold of the
    rule. x is taken from the plain ensemble at the load α of the union bound, where its first
    moment stops growing. There αp₊ = ρ: the constraints that are exactly tight, of share p₊, are as
    many as the weights. (With given signs α is smaller by ρ, and x the same.) Since choices of
    variables do not overlap here, p₊ depends on x only:

        p₊ = r/(1 + r) with r = √(x/(1 + x)),    so that r = p₊/(1 − p₊) and x = r²/(1 − r²).

    b is the best threshold of a rule with all variables.
    """
    p_tight = rho / union_bound(rho)  # p₊
    r = p_tight / (1 - p_tight)
    log_response = 2 * np.log(r) - np.log1p(-(r**2))  # ln x
    point = np.array([log_response])
    if error_free.free_threshold:
        point = np.append(point, gardner(error_free).threshold)
    return point


# Where a point holds its coordinates: ln x, then b if it is free, and y last if errors are allowed.
_LOG_RESPONSE = 0
_THRESHOLD = 1
_PRICE = -1


class _Unknowns(NamedTuple):
    """A point decoded: all that the exponent is stationary in, numbers or Duals."""

    response: Numbers  # x = χ/ρ, of the weights
    threshold: Numbers = 0.0  # b of the rule, 0 where it is not free
    price: Numbers = np.inf  # y of an error, which weighs e^{−y}; infinite where none is allowed


def _decode(point: Array, ensemble: Ensemble) -> _Unknowns:
    """Split a point of the solver, (coordinates,), into its named unknowns.

    The coordinates are ln x, b if the threshold is free, and y if errors are allowed: x is the
    response of the weights, b the threshold and y the price of an error. The unknowns are Duals,
    numbers that carry their derivatives by the coordinates. An unknown without a coordinate is a
    constant.
    """
    coordinates = independent(point)
    unknowns = _Unknowns(response=exp(coordinates[_LOG_RESPONSE]))
    if ensemble.free_threshold:
        unknowns = unknowns._replace(threshold=coordinates[_THRESHOLD])
    if ensemble.error_rate:
        unknowns = unknowns._replace(price=coordinates[_PRICE])
    return unknowns


class _ClassWeights(NamedTuple):
    """The classes c of the patterns; both arrays are (classes,)."""

    shares: Array  # f_c
    log_right: Numbers  # ln A_c, A_c the weight of a pattern that is right


def _class_weights(response: Numbers, threshold: Numbers, ensemble: Ensemble) -> _ClassWeights:
    """Return the shares f_c of the pattern classes, and ln A_c, the log-weights of right patterns.

    The violation of a pattern of class c, in units of |w| = √ρ, has the mean τ_c = margin + σ_c b,
    where σ_c = ±1 is the sign of the class and b the threshold. Its variance is s² = 1, because
    choices of variables do not overlap in the first moment, and χ = x in these units.
    """
    shares, signs = np.array(ensemble.classes).T  # f_c and σ_c, (classes,)
    mean_violations = ensemble.margin + signs * threshold  # τ_c
    log_right = log_pattern_weight(mean_violations, s2=1.0, chi=response)
    return _ClassWeights(shares=shares, log_right=log_right)


def _price_of_rate(point: Array, rate: float, ensemble: Ensemble) -> float:
    """Find the price y of an error at which the mean share of errors equals `rate`.

    A pattern of class c has the weight A_c if it is right and e^{−y} if it is an error, so it is an
    error with probability e^{−y}/(A_c + e^{−y}). With the shares f_c of the classes y is the root
    of

        Σ_c f_c e^{−y}/(A_c + e^{−y}) = rate.

    The weights A_c depend on the response x of the weights and the threshold b of the rule. `point`
    is (ln x, b), or (ln x,) if the classes are equal; then b is 0.
    """
    response = float(np.exp(point[_LOG_RESPONSE]))
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[_THRESHOLD])
    shares, log_right = _class_weights(response, threshold, ensemble)  # f_c and ln A_c, (classes,)

    def excess_rate(price: float) -> float:
        """The share of errors at this price, minus `rate`; it decreases with the price."""
        log_odds_of_error = -price - log_right  # ln(e^{−y}/A_c), (classes,)
        p_error = expit(log_odds_of_error)  # e^{−y}/(A_c + e^{−y})
        return float(shares @ p_error) - rate

    # The bracket of the root. At the lower end e^{−y} is much larger than all A_c ≤ 1, and all
    # patterns are errors. At the upper end it is much smaller than all A_c, and none is.
    lower_end = -_LARGEST_PRICE
    upper_end = _LARGEST_PRICE - float(np.min(log_right))
    return float(brentq(excess_rate, lower_end, upper_end))


def _first_moment_always_grows(ensemble: Ensemble) -> bool:
    """Return whether the expected number of solutions grows with N at every load.

    A solution is a rule together with the set of its errors. If very many errors are allowed, even
    random rules are solutions, at any load. The expected number of these grows by a factor
    exp(exponent) for each pattern, and the function tests whether the exponent is at least 0 at
    some threshold b of the rule:

        max_b exponent(b) ≥ 0,
        exponent(b) = min_y {Σ_c f_c ln[Φ(−τ_c) + e^{−y}] + yε}.

    Φ(−τ_c), with the normal distribution function Φ and τ_c = margin + σ_c b, is the probability
    that a random rule is right about a pattern of class c. f_c is the share and σ_c = ±1 the sign
    of the class, ε the error rate, and the minimum over the price y of an error keeps the share of
    errors at ε. Maximum and minimum are taken on grids of b and y.
    """
    if not ensemble.error_rate:
        return False

    # ln[Φ(−τ_c) + e^{−y}] on an array with the axes (prices, thresholds, classes).
    shares, signs = np.array(ensemble.classes).T  # f_c and σ_c, (classes,)
    thresholds = _THRESHOLD_GRID[:, None]  # b, (thresholds, 1)
    p_right = ndtr(-ensemble.margin - signs * thresholds)  # Φ(−τ_c), (thresholds, classes)
    error_weights = np.exp(-_PRICE_GRID)[:, None, None]  # e^{−y}, (prices, 1, 1)
    log_weights = np.log(p_right + error_weights)  # (prices, thresholds, classes)

    # The sum over c, with yε added, then the minimum over y and the maximum over b.
    mean_log_weights = log_weights @ shares  # (prices, thresholds)
    price_terms = _PRICE_GRID[:, None] * ensemble.error_rate  # yε, (prices, 1)
    exponents_by_price = mean_log_weights + price_terms
    exponents = exponents_by_price.min(axis=0)  # (thresholds,)
    return bool(exponents.max() >= 0)


def _first_moment_equations(
    point: Array, rho_or_alpha: _GivenRhoOrAlpha, ensemble: Ensemble
) -> Counted:
    """Evaluate the equations for load and density where the expected number stops growing with N.

    The expected number of solutions grows as e^{N·exponent}, with the density ρ, the load α and

        exponent = H₂(ρ) + ρ·per_variable + α·per_pattern.

    H₂(ρ) is the entropy of choices of ρN variables; `per_variable` and `per_pattern` are what each
    chosen variable and each pattern add. The exponent must be 0 and stationary in the coordinates
    of `point`, which gives an equation each:

        ∂exponent/∂ln x = 0    x is the response of the weights; solved here, for the ratio α/ρ,
        exponent = 0           first component of the residual,
        ∂exponent/∂b = 0       next component, only if the rule has a free threshold b,
        ∂exponent/∂y = 0       last component, only if errors are allowed, at the price y each.

    Returns α, ρ and the residual, (coordinates,), each component scaled to the order of 1.
    """
    unknowns = _decode(point, ensemble)
    # Two Duals, numbers with a `value` and a `gradient` by the coordinates.
    per_variable = _exponent_per_variable(unknowns.response, ensemble.signed)
    per_pattern = _exponent_per_pattern(unknowns, ensemble)

    # ∂exponent/∂ln x = ρ·variable_slope + α·pattern_slope = 0 gives the ratio α/ρ. One of α and ρ
    # is given (`rho_or_alpha`), and the ratio determines the other.
    variable_slope = per_variable.gradient[_LOG_RESPONSE]
    pattern_slope = per_pattern.gradient[_LOG_RESPONSE]
    alpha_over_rho = -variable_slope / pattern_slope
    rho, alpha = rho_or_alpha.rho_and_alpha_of_ratio(float(alpha_over_rho))
    if not 0 < rho < 1:
        raise OutsideDomain("0 < ρ < 1 is needed")

    entropy_of_choices = binary_entropy(rho)  # H₂(ρ)
    exponent = entropy_of_choices + rho * per_variable.value + alpha * per_pattern.value
    residual = [exponent / entropy_of_choices]

    # Only `per_pattern` depends on b and y, so its slopes must vanish. The slope in b is of the
    # order of 1/x. The slope in y is (allowed error rate) − (share of errors).
    if ensemble.free_threshold:
        slope_in_threshold = per_pattern.gradient[_THRESHOLD]
        residual.append(unknowns.response.value * slope_in_threshold)
    if ensemble.error_rate:
        slope_in_price = per_pattern.gradient[_PRICE]
        residual.append(slope_in_price / ensemble.error_rate)
    return Counted(alpha=alpha, rho=rho, residual=np.array(residual))


def _exponent_per_variable(response: Dual, signed: bool) -> Dual:
    """ln γ, γ the weight of a chosen variable at the response x:

    γ = √(1 + 1/x)           with free signs,
    γ = ½ + ½√(1 + 1/x)      with given ones: half of the fields have the wrong sign, and then
                             the variable has no weight and counts 1.
    """
    gamma = sqrt(1 + 1 / response)
    if signed:
        gamma = 0.5 + 0.5 * gamma
    return log(gamma)


def _exponent_per_pattern(unknowns: _Unknowns, ensemble: Ensemble) -> Dual:
    """Σ_c f_c ln(A_c + e^{−y}) + yε, the log-weight of a pattern, with its gradient.

    Class c has the share f_c of the patterns. One of them weighs A_c if it is right, and e^{−y} if
    it is an error; yε, with the error rate ε that is allowed, holds their share at ε.
    """
    shares, log_right = _class_weights(unknowns.response, unknowns.threshold, ensemble)
    if not ensemble.error_rate:
        return weighted_sum(shares, log_right)
    log_weights = logaddexp(log_right, -unknowns.price)
    return weighted_sum(shares, log_weights) + unknowns.price * ensemble.error_rate
