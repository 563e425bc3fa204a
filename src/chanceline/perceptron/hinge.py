"""The squared hinge that may trim samples: the one fit engine of all searches.

E(w) = ½ Σ' (1 − a_μ·w)₊² + ½ ε|w|², where Σ' leaves out the `max_errors` samples of largest slack.
The sum can be made zero exactly where so many errors suffice. Where none are left out E is convex.

It is minimised by Newton's method on the active samples, from support to support: a fit starts at
the weights, and the inverse, of the one before it (`active_set`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import (
    NONE,
    REASSOCIATE,
    ZERO,
    counter,
    inlined_kernel,
    kernel,
    leaf_kernel,
)
from chanceline.kernels.random import next_random
from chanceline.kernels.selection import smallest_first
from chanceline.kernels.vectors import add_scaled, combine, dot_first
from chanceline.perceptron.active_set import (
    append_column,
    drop_column,
    follow_flips,
    rebuild,
    update_active,
)
from chanceline.perceptron.workspace import REBUILD_AFTER, Hinge

SAFELY_POSITIVE = 1e-9  # a margin above this is no rounding; the hinge aims at 1
SHORTEST_STEP = 1e-4  # E is convex: a shorter step is a matter of rounding
SHORTEST_TRIMMED_STEP = 1e-3  # where samples are trimmed E is not convex: a step may lead nowhere
INTERRUPTED_STEP = 0.5  # any step but a full one, which would mean that the fit is at rest
FULL_FIT_STEPS = 200  # of Newton, at most; a fit as a rule ends within a dozen
SWAP_FIT_STEPS = counter(30)  # of a fit among many, which may give up early
TABU_AFTER_REMOVAL = counter(4)  # swaps at least that a column which went must wait
TABU_SPREAD = 6  # random swaps more, fewer than this


def fit(
    hinge: Hinge,
    *,
    add: int = -1,
    drop: int = -1,
    max_errors: int = 0,
    max_newton: int = FULL_FIT_STEPS,
) -> bool:
    """Optionally change the support by one column, then fit the squared hinge by Newton's method.

    The fit starts from the present weights of the workspace. Returns whether all samples but at
    most `max_errors` have a positive margin, that is, are classified correctly.

    Parameters
    ----------
    hinge : the workspace, whose state is changed.
    add : index of a column to add to the support, or −1.
    drop : position in the support (not an index of the table) of a column to remove, or −1.
    max_errors : how many samples, those of smallest margin, are trimmed: left out of the fit as
        errors.
    max_newton : largest number of Newton steps.
    """
    return bool(
        refit(
            hinge,
            add=add,
            drop=drop,
            max_errors=max_errors,
            trim_noise=0.0,
            max_newton=max_newton,
        )
    )


@kernel()
def refit(  # noqa: PLR0913
    hinge: Any, add: int, drop: int, max_errors: int, trim_noise: float, max_newton: int
) -> bool:
    """Change the support by one column and minimise the trimmed squared hinge on it (compiled).

    The loss is half the squared hinge of the untrimmed samples, plus a ridge. Returns whether all
    samples but at most `max_errors` have a positive margin. This is a kernel of its own, so that it
    is compiled once for all searches that call it.

    Parameters
    ----------
    hinge : the workspace, whose state is changed.
    add : index of a column to add to the support, or −1.
    drop : position in the support of a column to remove, or −1.
    max_errors : how many samples, those of smallest margin, are trimmed: left out of the loss.
    trim_noise : random numbers of up to ± this are added to the margins when samples are trimmed
        before the first step; 0 for none.
    max_newton : largest number of Newton steps.
    """
    # A support that was set from outside comes without margins and inverse; a too large number of
    # flips says so.
    if hinge.state.flips_since_rebuild[0] > REBUILD_AFTER:
        rebuild(hinge, max_errors, n_steps=ZERO)
    if add >= 0:
        append_column(hinge, add)
    if drop >= 0:
        drop_column(hinge, drop)
    return minimize(hinge, max_errors=max_errors, trim_noise=trim_noise, max_newton=max_newton)


@inlined_kernel()
def minimize(  # noqa: C901, PLR0912
    hinge: Any, max_errors: int, trim_noise: float, max_newton: int
) -> bool:
    """Minimise the trimmed squared hinge on the support by Newton's method.

    The loss is E(w) = ½ Σ' max(0, 1 − a_μ·w)² + ½ ε|w|², where a_μ·w is the margin of sample μ, Σ'
    leaves out the `max_errors` samples of smallest margin ("trimmed"), and ε is the ridge. A sample
    is active if it is not trimmed and its margin is below 1. As long as the active samples stay the
    same, E is quadratic and one Newton step reaches its minimum.

    Each round updates the active samples, updates the inverse Hessian for those that changed, and
    takes a Newton step. The first round uses the active samples as they are.

    Parameters
    ----------
    hinge : the workspace, whose state is changed.
    trim_noise : random numbers of up to ± this are added to the margins when samples are trimmed
        before the first step; 0 for none.
    max_newton : largest number of steps.

    Returns
    -------
    True as soon as all samples but at most `max_errors` have a positive margin. False if the fit
    ends without that: it has converged, a step has hardly any length, or the steps are used up.
    """
    columns = hinge.data.columns
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    n_used = hinge.state.n_used
    damping = hinge.state.damping
    weight_step = hinge.scratch.weight_step
    margin_step = hinge.scratch.margin_step

    shortest = SHORTEST_STEP
    if max_errors > 0:
        shortest = SHORTEST_TRIMMED_STEP
    step = 1.0  # the fraction of the Newton step that was taken last
    # One round more than steps: the last round only updates the inverse.
    for n_steps in range(max_newton + 1):
        # Update the active samples; before the first step only where noise trims others.
        noise = 0.0
        if n_steps == 0:
            noise = trim_noise
        n_flips = ZERO
        if n_steps > 0 or noise > 0.0:
            n_flips = update_active(hinge, max_errors, noise)

        # A full step after which no sample flips has reached the minimum; with a damped Hessian
        # only nearly, and the fit goes on with a new one. Weights that are not finite come from an
        # inverse that rounding has spoilt: the fit starts again from weights of zero.
        has_converged = n_steps > 0 and n_flips == 0 and step == 1.0
        has_diverged = n_steps > 0 and not dot_first(weights, weights, n_used[0]) < np.inf
        if has_diverged:
            clear_weights(hinge)
        elif has_converged and damping[0] == 0.0:
            return False

        # Make the inverse Hessian that of the present active samples.
        must_rebuild = has_diverged or has_converged
        if must_rebuild or not follow_flips(hinge, n_flips):
            rebuild(hinge, max_errors, n_steps)
        is_stuck = max_errors > 0 and step <= shortest
        if n_steps == max_newton or is_stuck:
            return False

        # The full Newton step of the weights, and the change of the margins that it makes. (Written
        # out here: a function for all of the step would count references to its arrays every time,
        # and make searches slower by more than a tenth.)
        if damping[0] > 0.0:
            damped_step(hinge)
        else:
            newton_step(hinge)
        combine(columns, support, weight_step, n_used[0], margin_step)

        # Take it as far as nonnegative weights allow and, but for the first one, the loss falls.
        longest, zero_place = step_within_signs(hinge)
        step = longest
        if n_steps > 0 and longest > 0.0:
            step = line_search(hinge, longest=longest, shortest=shortest, max_errors=max_errors)
        move(hinge, step)

        # A nonnegative weight that has become zero leaves the support with its column.
        has_zero_weight = zero_place >= 0 and step == longest
        if has_zero_weight:
            retire(hinge, zero_place)
        if has_few_errors(margins, max_errors):
            return True
        if has_zero_weight:
            drop_column(hinge, zero_place)
            step = INTERRUPTED_STEP
    return False


@leaf_kernel()
def tabu_wait(least: int, random: NDArray) -> int:
    """Draw for how many swaps a column is tabu: `least`, plus a random number below TABU_SPREAD."""
    return least + int(TABU_SPREAD * next_random(random))


@leaf_kernel()
def retire(hinge: Any, place: int) -> None:
    """Set the weight at a place of the support to zero, and make its column tabu for a few swaps.

    A tabu column may not enter the support before the swap number `tabu_until`.
    """
    support = hinge.state.support
    weights = hinge.state.weights
    tabu_until = hinge.state.tabu_until
    random = hinge.state.random
    current_swap = hinge.state.iteration[0]
    weights[place] = 0.0
    tabu_until[support[place]] = current_swap + tabu_wait(TABU_AFTER_REMOVAL, random)


@leaf_kernel()
def clear_weights(hinge: Any) -> None:
    """Set the weights of all columns in the support to zero."""
    weights = hinge.state.weights
    size = hinge.state.n_used[0]
    for i in range(size):
        weights[i] = 0.0


@leaf_kernel()
def newton_step(hinge: Any) -> None:
    """Write the full Newton step of the weights into `scratch.weight_step`.

    On the active samples (rows A_act on the columns of the support) the loss is quadratic, with the
    Hessian H = A_actᵀA_act + εI and its minimum at H⁻¹A_actᵀ1. So the step from the weights w is
    H⁻¹A_actᵀ1 − w. `hinge.state` has H⁻¹ as `inverse` and A_actᵀ1 as `target`.
    """
    weights = hinge.state.weights
    inverse = hinge.state.inverse
    target = hinge.state.target
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    for i in range(size):
        weight_step[i] = dot_first(inverse[i], target, size) - weights[i]


@leaf_kernel()
def damped_step(hinge: Any) -> None:
    """Write the damped Newton step of the weights, (H + δI)⁻¹g, into `scratch.weight_step`.

    A_act are the rows of the active samples, on the columns of the support. H = A_actᵀA_act + εI is
    the Hessian of the loss, with the ridge ε, and δ > 0 is the damping; `hinge.state.inverse` is
    (H + δI)⁻¹. The negative gradient is g = A_actᵀ(1 − m) − εw, with weights w and margins m. As
    the step is a positive definite matrix times g, it leads downhill for every δ.
    """
    # Read.
    columns = hinge.data.columns
    ridge = hinge.data.ridge
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    active = hinge.state.active
    inverse = hinge.state.inverse
    size = hinge.state.n_used[0]
    # Written.
    weight_step = hinge.scratch.weight_step
    # Scratch.
    slack = hinge.scratch.slack
    negative_gradient = hinge.scratch.products  # g

    # The slack is 1 − m for active samples and 0 for the others; `active` holds ones and zeros.
    for sample in range(margins.size):
        slack[sample] = active[sample] * (1.0 - margins[sample])
    # The negative gradient g, one entry for each column of the support.
    for i in range(size):
        slack_product = dot_first(columns[support[i]], slack, slack.size)  # A_actᵀ(1 − m)
        negative_gradient[i] = slack_product - ridge * weights[i]
    # The step: the inverse times g.
    for i in range(size):
        weight_step[i] = dot_first(inverse[i], negative_gradient, size)


@leaf_kernel()
def step_within_signs(hinge: Any) -> tuple[float, int]:
    """Find how far the weights can move along the Newton step before one violates its sign.

    A fraction t of the step d (`scratch.weight_step`) moves the weights w to w + t·d. Some weights
    must not be negative, and are not negative before the step.

    Returns
    -------
    The largest t ≤ 1 for which these weights are still not negative, and the place in the support
    of the weight that becomes zero there; −1 if the whole step, t = 1, is allowed.
    """
    nonnegative = hinge.data.nonnegative
    support = hinge.state.support
    weights = hinge.state.weights
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step

    fraction = 1.0  # t, the largest that the weights looked at so far allow
    zero_place = NONE  # −1 as a 64-bit integer
    for i in range(size):
        # If this weight would be negative at t, shorten t so that the weight is zero there.
        if nonnegative[support[i]] and weights[i] + fraction * weight_step[i] < 0.0:
            fraction = weights[i] / -weight_step[i]  # solves w_i + t·d_i = 0
            zero_place = i
    return fraction, zero_place


@leaf_kernel(fastmath=REASSOCIATE)
def squared_hinge(margins: NDArray, margin_step: NDArray, step: float) -> float:
    """Return Σ_μ max(0, 1 − m_μ − step·s_μ)², with the margins m and their full step s, (samples,).

    A slack that is NaN counts as zero.
    """
    total = 0.0
    for sample in range(margins.size):
        slack = 1.0 - margins[sample] - step * margin_step[sample]
        if not slack > 0.0:
            slack = 0.0
        total += slack * slack
    return total


@leaf_kernel(fastmath=REASSOCIATE)
def subtract_trimmed_terms(  # noqa: PLR0913
    total: float,
    margins: NDArray,
    margin_step: NDArray,
    step: float,
    max_errors: int,
    partly_sorted: NDArray,
) -> float:
    """Subtract the terms of trimmed samples from a sum of squared hinges; return the difference.

    The sum is Σ_μ max(0, 1 − m_μ)² with the margins m_μ after a step. The `max_errors` samples of
    smallest margin are trimmed, that is, they are allowed to be errors: their terms do not count.

    total : the sum over all samples, from `squared_hinge`.
    margins, margin_step, step : m = margins + step · margin_step, arrays of shape (samples,).
    partly_sorted : (samples,) scratch, overwritten with m.
    """
    # Partial sort: the `max_errors` smallest margins come first, in any order.
    for sample in range(margins.size):
        partly_sorted[sample] = margins[sample] + step * margin_step[sample]
    smallest_first(partly_sorted, max_errors)

    for place in range(max_errors):
        slack = 1.0 - partly_sorted[place]
        # As in `squared_hinge`, a negative slack counts as zero. So does NaN, for which "not >" is
        # true.
        if not slack > 0.0:
            slack = 0.0
        total -= slack * slack
    return total


@leaf_kernel()
def line_search(hinge: Any, longest: float, shortest: float, max_errors: int) -> float:
    """Find a step along Newton's direction d that does not raise the loss E.

    The step starts at `longest` and is halved until E is not larger than before the step, or until
    the step is at most `shortest`. With weights w, ridge ε and step t, the loss is

        E(w + t·d) = ½ hinge(t) + ½ε|w|² + t·εwᵀd + t²·½ε|d|²,

    where hinge(t) is the squared hinge without the `max_errors` samples of smallest margin.
    `hinge` is the workspace of the fit: d is its `scratch.weight_step`, and the full step, t = 1,
    changes the margins by `scratch.margin_step`. Returns t; the weights and margins are not changed
    here.
    """
    ridge = hinge.data.ridge
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    margin_step = hinge.scratch.margin_step
    partly_sorted = hinge.scratch.partly_sorted

    # The coefficients of 1, t and t² in the ridge's part of E.
    constant = 0.5 * ridge * dot_first(weights, weights, size)
    linear = ridge * dot_first(weights, weight_step, size)
    quadratic = 0.5 * ridge * dot_first(weight_step, weight_step, size)

    # Every round evaluates E(w + t·d) at the present step t. The first round has t = 0, which gives
    # the loss before the step. (Evaluating it before the loop would need the code of the evaluation
    # twice, and this is large when compiled.)
    loss_before = np.inf
    step = 0.0
    while True:
        hinge_sum = squared_hinge(margins, margin_step, step)
        if max_errors > 0:
            hinge_sum = subtract_trimmed_terms(
                hinge_sum,
                margins,
                margin_step,
                step=step,
                max_errors=max_errors,
                partly_sorted=partly_sorted,
            )
        loss = 0.5 * hinge_sum + constant + step * (linear + step * quadratic)

        # Decide on the next step to try, or accept this one.
        is_first_round = step == 0.0
        if is_first_round:
            loss_before = loss
            step = longest
        elif loss > loss_before and step > shortest:
            step *= 0.5
        else:
            return step


@leaf_kernel()
def move(hinge: Any, step: float) -> None:
    """Move weights and margins by the fraction `step` of the Newton step."""
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    margin_step = hinge.scratch.margin_step
    add_scaled(weights, step, weight_step, size)
    add_scaled(margins, step, margin_step, margins.size)


@leaf_kernel()
def has_few_errors(margins: NDArray, max_errors: int) -> bool:
    """Whether all margins but at most `max_errors` are positive, by more than rounding."""
    n_positive = ZERO
    for sample in range(margins.size):
        if margins[sample] > SAFELY_POSITIVE:
            n_positive += 1
    return n_positive + max_errors >= margins.size
