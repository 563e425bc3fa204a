"""Reinforced approximate message passing: marginals of the weights, pushed until K stand out.

GAMP with a step channel on A/√N and a Bernoulli–Gauss prior whose log-odds is set at every step so
that Σ_i π_i = K, where π_i is the probability that w_i ≠ 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr

from chanceline._arrays import Floats
from chanceline.kernels.random import next_random, random_state
from chanceline.perceptron.hinge import fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, set_support
from chanceline.select.greedy import drop_cheapest, fit_greedily
from chanceline.select.outcome import Candidate
from chanceline.select.starts import candidate_of

MESSAGE_DAMPING = 0.3  # the share of the old means and variances that a step keeps
DEFAULT_MESSAGE_STEPS = 3000  # of method `amp`
STEPS_PER_LOOK = 25  # message-passing steps between two tests of a support
RUNAWAY_EVIDENCE = 1e12  # nats: columns far from independent can drive it up without end
SPARE_NATS = 40.0  # beyond the evidence, where a probability is 0 or 1 to a double's precision
SMALLEST_VARIANCE = 1e-10  # of the margins, against a division by zero
START_WIDTH = 0.01  # means of the weights start in ± this, small against 1
SLOWLY_FROM = 600  # samples from which the slow pace pays: below, swaps get as far from either
UNLIMITED_FAILURES = 10**9  # the budget ends the search
FIRST_SHRINK = 0.97  # the first K tried, as a share of the variables known to suffice


class Pace(NamedTuple):
    """How beliefs harden, as 1 − reinforcement^t after t steps, and how many steps they get."""

    reinforcement: float
    max_steps: int


BRISK_PACE = Pace(reinforcement=0.99, max_steps=300)
SLOW_PACE = Pace(reinforcement=0.999, max_steps=500)


class Beliefs(NamedTuple):
    """What message passing believes of the n weights; every array has shape (n,).

    Attributes
    ----------
    mean, variance : of every weight.
    evidence : for w_i ≠ 0, in nats.
    """

    mean: Floats
    variance: Floats
    evidence: Floats


class SampleMessages(NamedTuple):
    """What all samples together say of the n weights.

    That is a Gaussian of every weight w_i, exp(field_i w_i − ½ curvature w_i²).

    Attributes
    ----------
    field : (n,).
    curvature : the same for all weights.
    response : (samples,) how much each sample pushes its margin up; the next step needs it.
    """

    field: Floats
    curvature: float
    response: Floats


class Slab(NamedTuple):
    """The weights if they are not zero: their first two moments, and the evidence for that."""

    mean: Floats
    second_moment: Floats
    evidence: Floats


def inverse_mills(x: NDArray) -> NDArray:
    """Return φ(x)/Φ(x), the Gaussian density divided by the distribution function.

    It is computed from the scaled complementary error function, which does not underflow for large
    negative x.
    """
    return math.sqrt(2.0 / math.pi) / erfcx(-x / math.sqrt(2.0))


def log_odds_for(evidence: NDArray, count: float) -> float:
    """Find the prior log-odds ℓ with which `count` weights are expected to be nonzero.

    The evidence e_i is the log likelihood ratio for w_i ≠ 0 against w_i = 0, in nats, of shape
    (variables,). With it weight i is nonzero with the posterior probability 1/(1 + exp(−ℓ − e_i)).
    ℓ is chosen such that these probabilities sum to `count`.
    """
    from scipy.optimize import brentq

    def surplus(log_odds: float) -> float:
        """Return the expected number of nonzero weights minus `count`; it rises with log_odds."""
        return expit(log_odds + evidence).sum() - count

    # The root lies between log-odds at which all probabilities are 0, and log-odds at which all
    # are 1, both to the precision of doubles.
    lowest = -evidence.max() - SPARE_NATS
    highest = -evidence.min() + SPARE_NATS
    return float(brentq(surplus, lowest, highest, xtol=1e-12))


def slab_moments(field: Floats, variance: float, nonnegative: NDArray[np.bool_]) -> Slab:
    """Compute mean, second moment and evidence of weights, given that they are not zero.

    The prior of a weight is a spike at zero and a slab: the Gaussian of variance 1 of the nonzero
    weights. The likelihood of a weight w is the Gaussian factor exp(field·w − ½ curvature·w²). So
    the posterior of a nonzero weight is Gaussian:

        variance = 1/(1 + curvature)
        mean     = variance · field
        evidence = ½ variance · field²     log likelihood ratio of "not zero" against "zero"

    If a weight must not be negative, only the positive half of this Gaussian is allowed. With
    z = √variance · field, and φ, Φ the normal density and distribution function,

        lift                      = √variance φ(z)/Φ(z)
        mean of the half          = mean + lift
        second moment of the half = variance + mean² + mean · lift
        evidence of the half      = evidence + ln Φ(z)

    field : (n,) the linear terms of the factors.
    variance : the posterior variance above, the same for all weights.
    nonnegative : (n,) bools, the weights that must not be negative.
    """
    # The full Gaussian.
    evidence = 0.5 * variance * field**2
    mean = variance * field
    second_moment = variance + mean**2
    if not nonnegative.any():
        return Slab(mean=mean, second_moment=second_moment, evidence=evidence)

    # The positive half of it.
    z = math.sqrt(variance) * field
    lift = math.sqrt(variance) * inverse_mills(z)
    mean_of_half = mean + lift
    second_moment_of_half = second_moment + mean * lift
    evidence_of_half = evidence + log_ndtr(z)

    # The half where weights must not be negative, the full Gaussian elsewhere.
    return Slab(
        mean=np.where(nonnegative, mean_of_half, mean),
        second_moment=np.where(nonnegative, second_moment_of_half, second_moment),
        evidence=np.where(nonnegative, evidence_of_half, evidence),
    )


def sample_messages(
    columns: NDArray[np.float32], mean: Floats, variance: Floats, previous_response: Floats
) -> SampleMessages:
    """Compute what all samples together say about each weight w, as a Gaussian factor of w.

    This is one half of a step of approximate message passing (AMP). Every sample demands that its
    margin wᵀA/√N is positive. The log likelihood of this demand, as a function of one weight, is
    approximated by field·w − ½ curvature·w². With the present means m and variances v of the
    weights,

        V         = Σ_i v_i / N                        variance of every margin
        ω         = mᵀA/√N − V · previous_response     mean of each margin, (samples,)
        response  = d ln P(margin > 0) / dω            (samples,)
        curvature = −Σ_samples (d response / dω) / N   one number for all weights
        field     = curvature · m + A · response / √N  (N,)

    The term V · previous_response, Onsager's correction, removes the influence that a sample itself
    had on the means m.

    columns : (N, samples) the table A, in single precision; every feature has mean square 1.
    mean, variance : (N,) m and v.
    previous_response : (samples,) the responses of the step before.
    """
    n_columns = columns.shape[0]
    sqrt_N = math.sqrt(n_columns)

    # V and ω. A variance of zero would be divided by below.
    margin_variance = max(variance.sum() / n_columns, SMALLEST_VARIANCE)
    uncorrected_mean = mean.astype(np.float32) @ columns / sqrt_N
    margin_mean = uncorrected_mean - margin_variance * previous_response

    # The responses. P(margin > 0) = Φ(x) with x = ω/√V, and the derivative of ln Φ(x) by ω is
    # φ(x)/Φ(x)/√V, with φ and Φ the normal density and distribution function.
    margin_deviation = math.sqrt(margin_variance)
    response = inverse_mills(margin_mean / margin_deviation) / margin_deviation

    # The curvature, which is never negative but for rounding.
    negative_derivatives = summed_fall_of_responses(response, margin_mean, margin_variance)
    curvature = max(negative_derivatives / n_columns, 0.0)

    # The field.
    summed_pushes = columns @ response.astype(np.float32) / sqrt_N  # A · response / √N
    field = curvature * mean + summed_pushes
    return SampleMessages(field=field, curvature=curvature, response=response)


def summed_fall_of_responses(
    response: Floats, margin_mean: Floats, margin_variance: float
) -> float:
    """Return −Σ d response/dω: how fast responses fall as the means ω of the margins rise.

    A response is R(x)/√V, where x = ω/√V, V is the variance of the margins and R = φ/Φ has the
    derivative −R·(x + R). So

        −d response/dω = R·(x + R)/V = response · (ω/V + response).
    """
    return float(response @ (response + margin_mean / margin_variance))


def probabilities_not_zero(evidence: Floats, n_variables: int, count: int) -> Floats:
    """Return the probability, (n,), that each weight is not zero, from the evidence for that, (n,).

    The prior is such that `count` of the first `n_variables` weights are expected to be nonzero.
    The others, those of unpenalized columns, have probability 1.
    """
    probability = np.ones(evidence.size)
    of_variables = evidence[:n_variables]
    prior_log_odds = log_odds_for(of_variables, count)
    probability[:n_variables] = expit(prior_log_odds + of_variables)
    return probability


def damped(old: Floats, new: Floats) -> Floats:
    """Mix old and new values: the share MESSAGE_DAMPING of the old, and the rest of the new."""
    return MESSAGE_DAMPING * old + (1.0 - MESSAGE_DAMPING) * new


def amp_steps(
    workspace: Hinge, count: int, mean: Floats, reinforcement: float
) -> Iterator[Beliefs]:
    """Run reinforced approximate message passing for K = `count` nonzero weights.

    It estimates which weights of a linear rule are nonzero, and yields the beliefs after every
    step: mean and variance of each weight, and the evidence that the weight is not zero. Step t has
    three parts:

    1. Messages. All samples together send each weight w a message, the Gaussian factor
       exp(field·w − ½ curvature·w²): the field is how strongly they push w up (or down, if it is
       negative), and the curvature how sharply they determine it.
    2. Reinforcement. The message is multiplied by the product from the step before, to the power
       s = 1 − reinforcement^t. So earlier messages count little at first (s ≈ 0), and later nearly
       in full (s → 1), which drives the beliefs towards certainty.
    3. Beliefs. Each weight combines the product with its prior, under which K weights are expected
       to be nonzero. The beliefs move part of the way to what comes out.

    The steps go on without end, unless the evidence diverges; the caller takes as many as it wants.

    Parameters
    ----------
    workspace : the table of N columns, which is only read (a `Hinge`).
    count : the number K of nonzero weights that the prior expects.
    mean : (N,) the means of the weights to start from.
    reinforcement : a number slightly below 1; the smaller it is, the sooner s is near 1,
        and the beliefs are certain.
    """
    columns = workspace.data.columns_float32  # (N, samples)
    n_columns, n_samples = columns.shape
    variance = np.full(n_columns, count / n_columns)  # of each weight under the prior
    previous_response = np.zeros(n_samples)

    # Field and curvature of the product of this message and the earlier ones. The curvature is one
    # number for all weights, as all columns have the same mean square.
    product_field = np.zeros(n_columns)
    product_curvature = 0.0
    for step in itertools.count(1):
        # Part 1. The next step needs the responses: how strongly each sample pushes its margin up.
        messages = sample_messages(columns, mean, variance, previous_response)
        previous_response = messages.response

        # Part 2. In a product of Gaussian factors the exponents are summed, and a power multiplies
        # the whole exponent: field and curvature alike.
        power_of_earlier = 1.0 - reinforcement**step
        product_field = messages.field + power_of_earlier * product_field
        product_curvature = messages.curvature + power_of_earlier * product_curvature

        # Part 3. `damped` mixes old and new values of the beliefs.
        new_beliefs = beliefs_from_messages(workspace, count, product_field, product_curvature)
        if new_beliefs is None:
            return  # the evidence diverges
        variance = damped(variance, new_beliefs.variance)
        mean = damped(mean, new_beliefs.mean)
        yield Beliefs(mean=mean, variance=variance, evidence=new_beliefs.evidence)


def beliefs_from_messages(
    workspace: Hinge, count: int, field: Floats, curvature: float
) -> Beliefs | None:
    """Return mean, variance and evidence of each weight, given what the samples say about it.

    This is Bayes' rule for each weight w. The likelihood, the message of all samples, is
    exp(field·w − ½ curvature·w²). Under the prior w is either zero or Gaussian of variance 1, and
    `count` weights are expected to be not zero. The evidence is the log likelihood ratio of "w is
    not zero" against "w is zero".

    workspace : the table; gives the number of unpenalized columns and the signs of the weights.
    count : number of weights that are expected to be not zero.
    field : (N,) one entry for each weight.
    curvature : the same for all weights.

    Returns
    -------
    The `Beliefs`, arrays of shape (N,); None if the evidence diverges.
    """
    # The Gaussian posterior of a weight that is not zero. The curvature 1 of the prior adds to that
    # of the message, and the variance is the reciprocal of the sum.
    variance_if_nonzero = 1.0 / (1.0 + curvature)

    # Give up if the evidence ½ variance·field² diverges. (Of a weight that must not be negative
    # the evidence is smaller.)
    largest_evidence = (0.5 * variance_if_nonzero * field**2).max()
    if not largest_evidence < RUNAWAY_EVIDENCE:  # also true for NaN
        return None

    # Mean, second moment and evidence of weights that are not zero, with their signs respected.
    if_nonzero = slab_moments(field, variance_if_nonzero, workspace.data.nonnegative)
    evidence = if_nonzero.evidence

    # The beliefs in general: the moments of a nonzero weight, times the probability that the weight
    # is not zero. Unpenalized columns (the intercept), the last of the table, are never zero.
    n_variables = field.size - workspace.data.n_unpenalized
    probability = probabilities_not_zero(evidence, n_variables, count)
    mean = probability * if_nonzero.mean
    second_moment = probability * if_nonzero.second_moment
    variance = second_moment - mean**2
    return Beliefs(mean=mean, variance=variance, evidence=evidence)


def load_most_evident(workspace: Hinge, count: int, beliefs: Beliefs) -> None:
    """Make the `count` variables of largest evidence the support of the workspace.

    Unpenalized columns (the intercept) belong to every support. They are the last columns of the
    table, but come first in a support.

    workspace : table, support and weights (a `Hinge`); support and weights are replaced.
    beliefs : what message passing believes of all weights.
    """
    nonnegative = workspace.data.nonnegative
    n_columns = nonnegative.size
    n_variables = n_columns - workspace.data.n_unpenalized
    variables_by_evidence = np.argsort(-beliefs.evidence[:n_variables], kind="stable")
    variables = np.sort(variables_by_evidence[:count])
    unpenalized = np.arange(n_variables, n_columns)
    support = np.concatenate([unpenalized, variables])

    # Weights of any sign start at zero. A weight that must not be negative leaves the support as
    # soon as a Newton step makes it negative, which from zero the first step might do. So it starts
    # at its believed mean.
    weights = np.where(nonnegative, np.maximum(beliefs.mean, 0.0), 0.0)  # (n_columns,)
    set_support(workspace, support, weights[support])


def pass_messages(workspace: Hinge, count: int, pace: Pace) -> Iterator[tuple[int, bool]]:
    """Run message passing for K = `count`, and test now and then whether it has found a support.

    After every STEPS_PER_LOOK steps the `count` variables of largest evidence are fitted in the
    workspace. Yields the number of steps done and whether these variables separate. It
    ends after `pace.max_steps`, or earlier if the evidence diverges.
    """
    n_columns = workspace.data.columns.shape[0]
    draws = np.array([next_random(workspace.state.random) for _ in range(n_columns)])
    start = 2 * START_WIDTH * draws - START_WIDTH  # uniform in ±START_WIDTH
    steps = amp_steps(workspace, count, start, pace.reinforcement)
    for n_steps, beliefs in enumerate(itertools.islice(steps, pace.max_steps), 1):
        if n_steps % STEPS_PER_LOOK == 0:
            load_most_evident(workspace, count, beliefs)
            yield n_steps, fit(workspace)


def shrink_by_message_passing(
    workspace: Hinge,
    n_known_to_separate: int,
    seed: int,
    max_failures: int,
    earlier_iterations: int = 0,
) -> Iterator[Candidate | int]:
    """Search for smaller and smaller supports that separate, by message passing.

    Each try runs message passing for a smaller number of variables, the goal. After a success the
    cheapest variables are removed as long as the others separate. After a failure the next goal is
    less ambitious.

    The search is a generator, which the caller may leave at any time. It yields a candidate for
    every support that separates, and between them the number of iterations spent.

    Parameters
    ----------
    workspace : table, support and weights (a `Hinge`); its support is changed.
    n_known_to_separate : number of variables that are known to separate.
    seed : of the random numbers.
    max_failures : number of failures after which the search ends.
    earlier_iterations : those of searches before this one, which are added to its own.
    """
    workspace.state.random[:] = random_state(seed)
    n_samples = workspace.state.margins.size
    pace = BRISK_PACE
    if n_samples >= SLOWLY_FROM:
        pace = SLOW_PACE

    goal_share = FIRST_SHRINK  # the goal, as a share of `n_known_to_separate`
    iterations = earlier_iterations
    n_failures = 0
    while n_failures < max_failures and n_known_to_separate > 1:
        # Pass messages, which yields iteration numbers. `n_steps` is None if `goal` variables were
        # not made to separate.
        goal = min(n_known_to_separate - 1, int(goal_share * n_known_to_separate))
        n_steps = yield from steps_to_separate(workspace, goal, pace, iterations)

        if n_steps is not None:
            # Success. Remove variables, which yields candidates and counts no iterations. The next
            # goal is the same share of the fewer variables that still separate.
            iterations += n_steps
            n_known_to_separate = yield from thin_out(workspace, iterations)
        else:
            # Failure. From now on goals are only half as far below the number known to separate.
            iterations += pace.max_steps
            n_failures += 1
            goal_share = 1.0 - 0.5 * (1.0 - goal_share)
            yield iterations


def steps_to_separate(
    workspace: Hinge, count: int, pace: Pace, earlier_iterations: int
) -> Generator[int, None, int | None]:
    """Pass messages until `count` variables separate; return the steps it took, or None.

    Yields the number of iterations, including the `earlier_iterations`, at every test without
    success.
    """
    for n_steps, separates in pass_messages(workspace, count, pace):
        if separates:
            return n_steps
        yield earlier_iterations + n_steps
    return None


def thin_out(workspace: Hinge, iterations: int) -> Generator[Candidate, None, int]:
    """Remove the cheapest variable as long as the others separate; return how many are needed.

    Yields a candidate for the present support of the workspace, which must separate, and for every
    smaller one that does. `iterations` is the number of iterations that the candidates report.
    """
    separates = True
    while separates:
        candidate = candidate_of(workspace, iterations)
        yield candidate
        separates = workspace.n_selected > 1 and drop_cheapest(workspace)
    return candidate.support.size


def iterations_of(event: Candidate | int) -> int:
    """Return the iterations spent at an event, which is a candidate or the number itself."""
    if isinstance(event, Candidate):
        return event.iterations
    return event


def run_amp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `amp`: find a greedy support, and then smaller ones by message passing.

    The budget counts steps of message passing, and each variable that the greedy search adds counts
    as one step too.

    Yields first the candidate of the greedy search, even if it does not separate; then a candidate
    for every smaller support, and between the candidates the number of steps spent (a plain int).

    problem : the patterns to separate.
    budget : largest number of steps, about; None for DEFAULT_MESSAGE_STEPS.
    seed : of the random numbers.
    """
    max_steps = DEFAULT_MESSAGE_STEPS
    if budget is not None:
        max_steps = budget

    # The greedy support.
    workspace, separates = fit_greedily(problem)
    n_greedy_steps = workspace.n_selected  # each step has added one variable
    yield candidate_of(workspace, n_greedy_steps)
    if not separates:
        return  # message passing starts from a support that separates

    # Message passing is tried again and again, until the steps are used up.
    events = shrink_by_message_passing(
        workspace,
        n_greedy_steps,
        seed,
        max_failures=UNLIMITED_FAILURES,
        earlier_iterations=n_greedy_steps,
    )
    for candidate_or_steps in events:
        yield candidate_or_steps
        if iterations_of(candidate_or_steps) >= max_steps:
            return
