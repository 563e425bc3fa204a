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
    """Change the support and fit; whether at most `max_errors` margins are not positive.

    The fit minimises the squared hinge, from the weights that the workspace has.

    Parameters
    ----------
    hinge : the workspace, whose state is changed.
    add : a column of the table to take in, or −1.
    drop : a place in the support, not a column: the column there is taken out; or −1.
    max_errors : how many samples are trimmed.
    max_newton : Newton's steps at most.
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
    """Change the support and minimise E; whether at most `max_errors` margins are not positive.

    E is half the squared hinge of the untrimmed samples, plus the ridge. A kernel of its own, not
    part of those that swap: a first verdict needs no more, and it compiles once for all of them.

    Parameters
    ----------
    hinge : the workspace, whose state is changed.
    add : a column to take in, or −1.
    drop : the place in the support of a column to take out, or −1.
    max_errors : how many samples, those of smallest margin, are trimmed: left out of E.
    trim_noise : random numbers of up to ± this are added to the margins by which samples are
        trimmed first; 0 for none.
    max_newton : Newton's steps at most.
    """
    # After a new start the state has only support and weights; its count of flips says so.
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
    """Minimise E on the support by Newton's method, in at most `max_newton` steps.

    E(w) = ½ Σ' (1 − a_μ·w)₊² + ½ ε|w|², where a_μ·w is the margin of sample μ, Σ' leaves out the
    `max_errors` samples of smallest margin (they are trimmed), and ε is the ridge. A sample is
    active if it is not trimmed and its margin is below 1; A_act are the rows of the active samples
    on the support, and the inverse of the Hessian A_actᵀA_act + εI follows them as they flip.

    Every step solves (A_actᵀA_act + εI) w = A_actᵀ1, moves there by a halving line search, and lets
    samples flip. The first one trusts the active samples as they are and needs no line search; with
    noise, samples are trimmed anew before it. Returns True as soon as at most `max_errors` margins
    are not positive; False when the active samples repeat, or no step leads on.

    trim_noise : random numbers of up to ± this are added to the margins by which samples are
        trimmed before the first step.
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
    step = 1.0  # the share of Newton's step that was gone last
    # One round more than steps: the last one only brings the inverse in line.
    for n_steps in range(max_newton + 1):
        # Before the first step samples flip only where noise trims them anew.
        noise = 0.0
        if n_steps == 0:
            noise = trim_noise
        n_flips = ZERO
        if n_steps > 0 or noise > 0.0:
            n_flips = update_active(hinge, max_errors, noise)

        # Is the fit at rest, or the inverse worn out?
        must_rebuild = False
        if n_steps > 0:
            are_weights_finite = dot_first(weights, weights, n_used[0]) < np.inf
            if not are_weights_finite:
                # Too many updates have spoilt the inverse: once more from nothing.
                clear_weights(hinge)
                must_rebuild = True
            elif n_flips == 0 and step == 1.0:
                # At rest, unless the inverse was that of a damped Hessian.
                if damping[0] == 0.0:
                    return False
                must_rebuild = True

        # Bring the inverse in line with the active samples.
        if must_rebuild or not follow_flips(hinge, n_flips):
            rebuild(hinge, max_errors, n_steps)
        is_stuck = max_errors > 0 and step <= shortest
        if n_steps == max_newton or is_stuck:
            return False

        # Along Newton's step as far as E falls and weights keep their signs.
        if damping[0] > 0.0:
            damped_step(hinge)
        else:
            newton_step(hinge)
        combine(columns, support, weight_step, n_used[0], margin_step)
        longest, leaving = step_within_signs(hinge)
        step = longest
        if n_steps > 0 and longest > 0.0:
            step = line_search(hinge, longest=longest, shortest=shortest, max_errors=max_errors)
        move(hinge, step)

        # A nonnegative weight that has become zero leaves.
        has_left = leaving >= 0 and step == longest
        if has_left:
            retire(hinge, leaving)
        if has_few_errors(margins, max_errors):
            return True
        if has_left:
            drop_column(hinge, leaving)
            step = INTERRUPTED_STEP
    return False


@leaf_kernel()
def tabu_wait(least: int, random: NDArray) -> int:
    """For how many swaps a column is tabu: at least so many, and some more drawn by lot."""
    return least + int(TABU_SPREAD * next_random(random))


@leaf_kernel()
def retire(hinge: Any, place: int) -> None:
    """Set the weight at a place of the support to zero; its column is tabu for a while."""
    support = hinge.state.support
    weights = hinge.state.weights
    tabu_until = hinge.state.tabu_until
    random = hinge.state.random
    current_swap = hinge.state.iteration[0]
    weights[place] = 0.0
    tabu_until[support[place]] = current_swap + tabu_wait(TABU_AFTER_REMOVAL, random)


@leaf_kernel()
def clear_weights(hinge: Any) -> None:
    """Set the weights of all columns in use to zero."""
    weights = hinge.state.weights
    size = hinge.state.n_used[0]
    for i in range(size):
        weights[i] = 0.0


@leaf_kernel()
def newton_step(hinge: Any) -> None:
    """Write Newton's step of the weights, H⁻¹A_actᵀ1 − w, into `scratch.weight_step`.

    w are the weights of the columns in use, H⁻¹ is the `inverse` of the Hessian, and A_actᵀ1, the
    sum of the active samples' rows, is the `target`.
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
    """Write the damped step of the weights, (H + δI)⁻¹g, into `scratch.weight_step`.

    H = A_actᵀA_act + εI is the Hessian over the active samples, ε the ridge and δ the damping;
    `inverse` is that of H + δI. The step comes from the descent direction itself, g = A_actᵀ(1 −
    Aw) − εw, the negative gradient, and so leads down for every δ. The margins are Aw.
    """
    columns = hinge.data.columns
    ridge = hinge.data.ridge
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    active = hinge.state.active
    inverse = hinge.state.inverse
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    slack = hinge.scratch.slack
    descent = hinge.scratch.products  # g

    for sample in range(margins.size):
        slack[sample] = active[sample] * (1.0 - margins[sample])
    for i in range(size):
        slack_product = dot_first(columns[support[i]], slack, slack.size)  # A_actᵀ(1 − Aw)
        descent[i] = slack_product - ridge * weights[i]
    for i in range(size):
        weight_step[i] = dot_first(inverse[i], descent, size)


@leaf_kernel()
def step_within_signs(hinge: Any) -> tuple[float, int]:
    """The share of Newton's step that may be gone, and the place whose weight then is zero.

    The step d is in `scratch.weight_step`. A share t of it takes the weights w to w + t·d. Weights
    that must not be negative are ≥ 0 before it, and t ends where the first of them becomes zero. If
    none does before t = 1, the whole step, the place (in the support) is −1.
    """
    nonnegative = hinge.data.nonnegative
    support = hinge.state.support
    weights = hinge.state.weights
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step

    share = 1.0
    leaving = NONE
    for i in range(size):
        if nonnegative[support[i]] and weights[i] + share * weight_step[i] < 0.0:
            share = weights[i] / -weight_step[i]  # w_i + t·d_i = 0
            leaving = i
    return share, leaving


@leaf_kernel(fastmath=REASSOCIATE)
def squared_hinge(margins: NDArray, margin_step: NDArray, step: float) -> float:
    """Σ (1 − m_μ − step·s_μ)₊² over all samples, m the margins and s their step, shape (P,)."""
    total = 0.0
    for sample in range(margins.size):
        slack = 1.0 - margins[sample] - step * margin_step[sample]
        if not slack > 0.0:
            slack = 0.0
        total += slack * slack
    return total


@leaf_kernel(fastmath=REASSOCIATE)
def take_off_trimmed(  # noqa: PLR0913
    total: float,
    margins: NDArray,
    margin_step: NDArray,
    step: float,
    max_errors: int,
    partly_sorted: NDArray,
) -> float:
    """The `total` of `squared_hinge` without the `max_errors` samples of smallest margin.

    Margins are those after the step: margins + step · margin_step, of shape (P,) for P samples.
    `partly_sorted`, (P,), is overwritten. A sample with a margin above 1 has no part in the total.
    """
    for sample in range(margins.size):
        partly_sorted[sample] = margins[sample] + step * margin_step[sample]
    smallest_first(partly_sorted, max_errors)
    for place in range(max_errors):
        # As in `squared_hinge`: NaN, which weights that are not finite make, counts as no slack.
        slack = 1.0 - partly_sorted[place]
        if not slack > 0.0:
            slack = 0.0
        total -= slack * slack
    return total


@leaf_kernel()
def line_search(hinge: Any, longest: float, shortest: float, max_errors: int) -> float:
    """How far to go along Newton's step d: from `longest` halved until E falls, or to `shortest`.

    With weights w, ridge ε and t = `step`, E(w + t·d) is half the squared hinge without the
    `max_errors` samples of smallest margin, + ½ε|w|² + t·εwᵀd + t²·½ε|d|² (`constant`, `linear`,
    `quadratic`). The first turn of the loop evaluates E at t = 0, for comparison: what evaluates E
    is copied to where it is called, so there is one such place.

    d is in `scratch.weight_step`, the change of the margins that it makes in `scratch.margin_step`.
    """
    ridge = hinge.data.ridge
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    margin_step = hinge.scratch.margin_step
    partly_sorted = hinge.scratch.partly_sorted

    constant = 0.5 * ridge * dot_first(weights, weights, size)
    linear = ridge * dot_first(weights, weight_step, size)
    quadratic = 0.5 * ridge * dot_first(weight_step, weight_step, size)

    energy_before = np.inf
    step = 0.0
    while True:
        loss = squared_hinge(margins, margin_step, step)
        if max_errors > 0:
            loss = take_off_trimmed(
                loss,
                margins,
                margin_step,
                step=step,
                max_errors=max_errors,
                partly_sorted=partly_sorted,
            )
        energy = 0.5 * loss + constant + step * (linear + step * quadratic)
        if step == 0.0:
            # The energy to fall below; then the longest step.
            energy_before = energy
            step = longest
        elif energy > energy_before and step > shortest:
            step *= 0.5
        else:
            return step


@leaf_kernel()
def move(hinge: Any, step: float) -> None:
    """Go so far along Newton's step, with weights and margins."""
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    weight_step = hinge.scratch.weight_step
    margin_step = hinge.scratch.margin_step
    add_scaled(weights, step, weight_step, size)
    add_scaled(margins, step, margin_step, margins.size)


@leaf_kernel()
def has_few_errors(margins: NDArray, max_errors: int) -> bool:
    """Whether all margins but at most `max_errors` are safely positive."""
    n_positive = ZERO
    for sample in range(margins.size):
        if margins[sample] > SAFELY_POSITIVE:
            n_positive += 1
    return n_positive + max_errors >= margins.size
