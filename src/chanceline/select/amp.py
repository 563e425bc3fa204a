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
UNLIMITED_TRIES = 10**9  # the budget ends the search
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
    """φ(x)/Φ(x), by the scaled complementary error function, which does not underflow."""
    return math.sqrt(2.0 / math.pi) / erfcx(-x / math.sqrt(2.0))


def log_odds_for(evidence: NDArray, count: float) -> float:
    """The prior log-odds ℓ with Σ_i 1/(1 + exp(−ℓ − evidence_i)) = count.

    The sum is that of the posterior probabilities of w_i ≠ 0: `count` weights are expected not to
    be zero. `evidence`, (variables,), is for w_i ≠ 0, in nats.
    """
    from scipy.optimize import brentq

    def surplus(log_odds: float) -> float:
        return expit(log_odds + evidence).sum() - count

    # So far out all probabilities are 0 at one end and 1 at the other.
    lowest = -evidence.max() - SPARE_NATS
    highest = -evidence.min() + SPARE_NATS
    return float(brentq(surplus, lowest, highest, xtol=1e-12))


def slab_moments(field: Floats, width: float, nonnegative: NDArray[np.bool_]) -> Slab:
    """The moments of Gaussian weights of mean width·field and variance `width`.

    This is the posterior of a weight that is not zero: its prior has variance 1 and the messages
    give it the `field`; `width` is 1 / (1 + curvature of the messages). The evidence that it is not
    zero is the logarithm of the ratio of likelihoods, ½ width·field².

    Of a nonnegative weight only the positive half of the Gaussian counts. With z = √width·field and
    φ, Φ the density and distribution of a Gaussian, the mean rises by √width φ(z)/Φ(z) (`lift`),
    the second moment by mean · lift, and the evidence by ln Φ(z).

    field : (n,).
    nonnegative : (n,), the weights that must not be negative.
    """
    evidence = 0.5 * width * field**2
    mean = width * field
    second_moment = width + mean**2
    if not nonnegative.any():
        return Slab(mean=mean, second_moment=second_moment, evidence=evidence)

    z = math.sqrt(width) * field
    lift = math.sqrt(width) * inverse_mills(z)
    return Slab(
        mean=np.where(nonnegative, mean + lift, mean),
        second_moment=np.where(nonnegative, second_moment + mean * lift, second_moment),
        evidence=np.where(nonnegative, evidence + log_ndtr(z), evidence),
    )


def sample_messages(
    columns: NDArray[np.float32], mean: Floats, variance: Floats, previous_response: Floats
) -> SampleMessages:
    """What the samples say of N weights that are believed to have this mean and variance, (N,).

    Every sample wants its margin, wᵀA/√N, to be positive. By the beliefs that margin is Gaussian.
    The sample's response, by which it pushes the margin up, is the slope of ln P(margin > 0) in the
    mean of that Gaussian.

    columns : the table A, (N, samples), every column of mean square 1; products with it are in
        single precision.
    previous_response : (samples,) the responses of the step before.
    """
    n_columns = columns.shape[0]
    sqrt_N = math.sqrt(n_columns)

    # The margin's variance V = Σ_i v_i / N is the same for all samples. Its mean is
    # ω = mᵀA/√N − V · previous response (Onsager's correction), with the weights' mean m.
    margin_variance = max(variance.sum() / n_columns, SMALLEST_VARIANCE)
    margin_mean = mean.astype(np.float32) @ columns / sqrt_N - margin_variance * previous_response

    # P(margin > 0) = Φ(ω/√V), the normal distribution function. The slope of ln Φ(ω/√V) in ω is
    # (φ/Φ)(ω/√V)/√V, with the density φ.
    margin_width = math.sqrt(margin_variance)
    response = inverse_mills(margin_mean / margin_width) / margin_width

    # The fall of the response with ω is response · (response + ω/V), by (φ/Φ)' = −φ/Φ (x + φ/Φ).
    # Its sum over the samples, divided by N, is the curvature.
    total_fall = float(response @ (response + margin_mean / margin_variance))
    curvature = max(total_fall / n_columns, 0.0)
    # field = curvature · m + A · response/√N
    field = curvature * mean + columns @ response.astype(np.float32) / sqrt_N
    return SampleMessages(field=field, curvature=curvature, response=response)


def probabilities_not_zero(evidence: Floats, n_variables: int, count: int) -> Floats:
    """The probability, (n,), of every weight not to be zero, from the evidence for that, (n,).

    The prior is such that `count` of the first `n_variables` weights are expected not to be zero;
    the others, those of unpenalized columns, have probability 1.
    """
    probability = np.ones(evidence.size)
    of_variables = evidence[:n_variables]
    probability[:n_variables] = expit(log_odds_for(of_variables, count) + of_variables)
    return probability


def damped(old: Floats, new: Floats) -> Floats:
    """The share MESSAGE_DAMPING of the old values, and the rest of the new ones."""
    return MESSAGE_DAMPING * old + (1.0 - MESSAGE_DAMPING) * new


def amp_steps(hinge: Hinge, count: int, mean: Floats, reinforcement: float) -> Iterator[Beliefs]:
    """Message-passing steps for K = `count`; the beliefs after every step.

    A step has two halves. The samples, by what is believed of the weights, send a field and a
    curvature: a Gaussian of every weight, exp(field·w − ½ curvature·w²). The weights, by these and
    their prior (zero, or Gaussian of variance 1), get new means and variances, which are damped.
    The steps end if the evidence for weights other than zero runs away.

    Parameters
    ----------
    hinge : for its table of N columns; neither its state nor its scratch is used.
    count : the number K of variables that the prior expects.
    mean : (N,) the means of the weights to start from.
    reinforcement : beliefs harden as 1 − reinforcement^t after t steps.
    """
    columns = hinge.data.columns_float32
    n_columns, n_samples = columns.shape
    n_variables = n_columns - hinge.data.n_unpenalized

    variance = np.full(n_columns, count / n_columns)
    response = np.zeros(n_samples)
    field = np.zeros(n_columns)
    curvature = 0.0
    for step in itertools.count(1):
        messages = sample_messages(columns, mean, variance, response)
        response = messages.response

        # Reinforcement: the messages of former steps count too, more and more of them.
        memory = 1.0 - reinforcement**step
        field = messages.field + memory * field
        curvature = messages.curvature + memory * curvature

        # The prior of a weight that is not zero has curvature 1, which adds to that of the messages
        # and leaves it the variance `width`. The evidence for such a weight is ½ width·field².
        width = 1.0 / (1.0 + curvature)
        largest_evidence = (0.5 * width * field**2).max()
        if not largest_evidence < RUNAWAY_EVIDENCE:  # so that NaN ends it too
            return

        # The moments of a weight: those it has if it is not zero, times the probability of that.
        slab = slab_moments(field, width, hinge.data.nonnegative)
        probability = probabilities_not_zero(slab.evidence, n_variables, count)
        new_mean = probability * slab.mean
        new_variance = probability * slab.second_moment - new_mean**2
        variance = damped(variance, new_variance)
        mean = damped(mean, new_mean)
        yield Beliefs(mean=mean, variance=variance, evidence=slab.evidence)


def load_most_evident(hinge: Hinge, count: int, beliefs: Beliefs) -> None:
    """Let the support be the `count` variables of largest evidence.

    Nonnegative weights start at their means: from zero, those that Newton's first step turns away
    would leave. All others start at zero. Unpenalized columns, the last of the table, belong to
    every support and have its first places.
    """
    nonnegative = hinge.data.nonnegative
    n_columns = nonnegative.size
    n_variables = n_columns - hinge.data.n_unpenalized
    order = np.argsort(-beliefs.evidence[:n_variables], kind="stable")
    support = np.concatenate([np.arange(n_variables, n_columns), np.sort(order[:count])])
    weights = np.where(nonnegative, np.maximum(beliefs.mean, 0.0), 0.0)
    set_support(hinge, support, weights[support])


def pass_messages(hinge: Hinge, count: int, pace: Pace) -> Iterator[tuple[int, bool]]:
    """Message passing for K = `count`; at every look the steps done, and whether K separate.

    A look comes after every STEPS_PER_LOOK steps: the workspace `hinge` is fitted to the `count`
    variables of largest evidence. Ends after `pace.max_steps`, or early if the evidence runs away.
    """
    n_columns = hinge.data.columns.shape[0]
    draws = np.array([next_random(hinge.state.random) for _ in range(n_columns)])
    start = 2 * START_WIDTH * draws - START_WIDTH  # from draws in 0 … 1 to ±START_WIDTH
    steps = amp_steps(hinge, count, start, pace.reinforcement)
    for n_steps, beliefs in enumerate(itertools.islice(steps, pace.max_steps), 1):
        if n_steps % STEPS_PER_LOOK == 0:
            load_most_evident(hinge, count, beliefs)
            yield n_steps, fit(hinge)


def pass_down(
    hinge: Hinge, n_variables: int, seed: int, tries: int, spent: int = 0
) -> Iterator[Candidate | int]:
    """Message passing for fewer and fewer variables.

    Every success is thinned further: the cheapest variables are dropped as long as it separates.
    After every failure the next K is nearer to the variables known to suffice.

    Parameters
    ----------
    hinge : a workspace; its support is changed.
    n_variables : so many are known to suffice.
    seed : of the random numbers.
    tries : failures after which the search ends.
    spent : iterations of the searches before this one, which are added to its own.

    Yields
    ------
    A candidate at every success, and the iterations spent at every other chance to interrupt.
    """
    hinge.state.random[:] = random_state(seed)
    pace = BRISK_PACE
    if hinge.state.margins.size >= SLOWLY_FROM:
        pace = SLOW_PACE
    shrink = FIRST_SHRINK
    failures = 0
    while failures < tries and n_variables > 1:
        # Message passing for fewer variables than are known to suffice.
        goal = min(n_variables - 1, int(shrink * n_variables))
        n_steps = yield from steps_to_separate(hinge, goal, pace, spent)
        if n_steps is None:
            # The next goal is half as far below. A failure counts as all its steps.
            spent += pace.max_steps
            failures += 1
            shrink = 1.0 - 0.5 * (1.0 - shrink)
            yield spent
        else:
            # Variables dropped after a success cost no steps: all its candidates have this `spent`.
            spent += n_steps
            for candidate in thin_out(hinge, spent):
                n_variables = candidate.support.size
                yield candidate


def steps_to_separate(
    hinge: Hinge, count: int, pace: Pace, spent: int
) -> Generator[int, None, int | None]:
    """Pass messages until `count` variables separate: the steps it took; None if they never do.

    Yields the iterations at every look in vain, those `spent` before among them.
    """
    for n_steps, separates in pass_messages(hinge, count, pace):
        if separates:
            return n_steps
        yield spent + n_steps
    return None


def thin_out(hinge: Hinge, spent: int) -> Iterator[Candidate]:
    """Drop the cheapest variable again and again, as long as the others separate.

    Yields a candidate for the present support of the workspace, which separates, and for every
    smaller one. `spent` are the iterations that they cost.
    """
    separates = True
    while separates:
        yield candidate_of(hinge, spent)
        separates = hinge.n_selected > 1 and drop_cheapest(hinge)


def iterations_of(event: Candidate | int) -> int:
    """The iterations spent at an event: a candidate says it, other events are that number."""
    if isinstance(event, Candidate):
        return event.iterations
    return event


def run_amp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `amp`: down from the greedy support; the budget counts message-passing steps.

    Each variable that the greedy search adds counts as one step too. Yields a candidate for every
    smaller support, and in between the steps spent.
    """
    hinge, separates = fit_greedily(problem)
    n_added = hinge.n_selected
    yield candidate_of(hinge, n_added)
    if not separates:
        return
    max_steps = DEFAULT_MESSAGE_STEPS
    if budget is not None:
        max_steps = budget
    for event in pass_down(hinge, n_added, seed, tries=UNLIMITED_TRIES, spent=n_added):
        yield event
        if iterations_of(event) >= max_steps:
            return
