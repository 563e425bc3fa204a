"""The samples that take part in a fit, and the inverse of their Hessian.

The Hessian of the squared hinge is H = A_actᵀA_act + εI, over the active samples and the columns of
the support. Its inverse follows every change by an update of low rank: samples that become active
or inactive, a column that comes or goes. A fit then costs a few matrix–vector products.

Kernels are loops over scalars: array expressions and slice assignments compile ten times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline.kernels.compile import ZERO, inner_kernel, leaf_kernel
from chanceline.kernels.inverse import FOUR, border, next_pivot, unborder, update_by_four
from chanceline.kernels.random import next_random
from chanceline.kernels.selection import smallest_first
from chanceline.kernels.vectors import add_scaled, combine, dot_first, dot_masked
from chanceline.perceptron.workspace import REBUILD_AFTER

DAMPING_PER_SAMPLE = 1e-4  # δ for each active sample, small against the Hessian of one (mean 1)
DAMPED_FROM = 8  # of Newton's steps: most fits are at rest before
MAX_FLIPS_PER_COLUMN = 4  # more flips cost more than an inverse computed anew


@leaf_kernel()
def trimming_level(hinge: Any, max_errors: int, trim_noise: float) -> tuple[float, int]:
    """The largest noisy margin of a trimmed sample, and how many samples of that level are trimmed.

    Trimmed samples, the errors that are allowed, have no part in the fit. They are the `max_errors`
    samples of smallest noisy margin, margin + trim_noise · u with u ~ U(−1, 1): all below the level
    and, as some may be equal, so many at it. `hinge.scratch.noisy_margins` is left filled. Where no
    sample is trimmed the level is −∞, and nothing is filled.
    """
    margins = hinge.state.margins
    random = hinge.state.random
    noisy_margins = hinge.scratch.noisy_margins
    partly_sorted = hinge.scratch.partly_sorted

    level = -np.inf
    n_at_level = ZERO
    if max_errors <= 0:
        return level, n_at_level

    for sample in range(margins.size):
        noisy_margins[sample] = margins[sample]
        if trim_noise > 0.0:
            noisy_margins[sample] += trim_noise * (2.0 * next_random(random) - 1.0)
        partly_sorted[sample] = noisy_margins[sample]
    # The smallest come first, in any order.
    smallest_first(partly_sorted, max_errors)

    for place in range(max_errors):
        if partly_sorted[place] > level:
            level = partly_sorted[place]
    for place in range(max_errors):
        if partly_sorted[place] == level:
            n_at_level += 1
    return level, n_at_level


@leaf_kernel()
def update_active(hinge: Any, max_errors: int, trim_noise: float) -> int:
    """Bring the active samples in line with the margins; return how many flipped.

    A sample is active if its margin is below 1 and it is not among the `max_errors` that are
    trimmed, those of smallest margin; random numbers of up to ± `trim_noise` are added to the
    margins for that. Samples that flip, from active to inactive or back, are listed at the head of
    `hinge.scratch.samples`. The inverse of the Hessian still has to follow.
    `hinge.state.active` holds 1.0 or 0.0 for every sample.
    """
    margins = hinge.state.margins
    active = hinge.state.active
    noisy_margins = hinge.scratch.noisy_margins
    flipping = hinge.scratch.samples
    level, n_left_at_level = trimming_level(hinge, max_errors, trim_noise)

    n_flips = ZERO
    for sample in range(margins.size):
        is_active = margins[sample] < 1.0
        if max_errors > 0:
            # Trimmed: all below the level, and the first ones at it.
            if noisy_margins[sample] < level:
                is_active = False
            elif noisy_margins[sample] == level and n_left_at_level > 0:
                is_active = False
                n_left_at_level -= 1
        was_active = active[sample] > 0.5
        if is_active != was_active:
            active[sample] = 1.0 - active[sample]
            flipping[n_flips] = sample
            n_flips += 1
    return n_flips


@leaf_kernel()
def border_column(hinge: Any, place: int) -> None:
    """Let the column at a place of the support enter inverse and target, behind those before it.

    The Hessian A_actᵀA_act + (ε + δ)I, over the active samples, gets one more row: the new column's
    products with the columns before it (`cross`), and with itself plus ridge ε and damping δ
    (`diagonal`). The target A_actᵀ1 gets the column's sum over the active samples.
    """
    columns = hinge.data.columns
    ridge = hinge.data.ridge
    support = hinge.state.support
    active = hinge.state.active
    inverse = hinge.state.inverse
    target = hinge.state.target
    damping = hinge.state.damping[0]
    cross = hinge.scratch.products
    solved = hinge.scratch.solved

    column = columns[support[place]]
    for i in range(place):
        cross[i] = dot_masked(columns[support[i]], column, active)
    diagonal = dot_masked(column, column, active) + ridge + damping

    # Without rounding the pivot is at least ε + δ, what the column has of its own on the diagonal.
    # A column that depends on those before it leaves rounding to decide: a pivot below ε, or NaN,
    # is wrong, and ε the smallest that can be right.
    pivot = next_pivot(inverse, place, cross, diagonal, solved)
    if not pivot > ridge:
        pivot = ridge
    border(inverse, place, pivot, solved)
    target[place] = dot_first(column, active, column.size)


@inner_kernel()
def rebuild(hinge: Any, max_errors: int, n_steps: int) -> None:
    """Compute margins, active samples, inverse and target anew from support and weights.

    The inverse is that of the Hessian A_actᵀA_act + εI, over the active samples and the columns of
    the support, ε the ridge; the target is A_actᵀ1. With fewer active samples than columns the
    Hessian is singular but for ε, and updates of the inverse soon lose their digits: in a fit that
    has done many of Newton's steps (`n_steps`) the Hessian gets a damping δI.

    max_errors : the samples of smallest margin that are trimmed, and so inactive.
    """
    support = hinge.state.support
    active = hinge.state.active
    damping = hinge.state.damping
    size = hinge.state.n_used[0]

    # Margins are A w, and `active` follows them. How many samples flip does not matter here.
    combine(hinge.data.columns, support, hinge.state.weights, size, hinge.state.margins)
    update_active(hinge, max_errors, trim_noise=0.0)

    # δ, which `border_column` adds to the diagonal of the Hessian.
    damping[0] = 0.0
    n_active = dot_first(active, active, active.size)  # `active` holds zeros and ones
    if n_steps >= DAMPED_FROM and n_active < size:
        damping[0] = DAMPING_PER_SAMPLE * n_active

    # Inverse and target grow from nothing, column by column.
    hinge.state.flips_since_rebuild[0] = 0
    for place in range(size):
        border_column(hinge, place)


@leaf_kernel()
def follow_flips(hinge: Any, n_flips: int) -> bool:
    """Update inverse and target for the first `n_flips` of `scratch.samples`, which have flipped.

    The inverse is that of the Hessian, Σ rrᵀ over the active samples plus a multiple of the unit
    matrix, where r is a sample's row on the support; the target is Σ r. So a sample that flips
    changes the Hessian by t·rrᵀ and the target by t·r, where t = 1 if it is active now, else −1.
    Four are taken in at a time, their r in `flipped_rows`, their t in `flip_signs`.

    Returns False where the inverse has to be computed anew instead: flips are many, or an update
    would be unstable. Inverse and target are then out of line with the active samples, and the
    caller must `rebuild` both.
    """
    rows = hinge.data.rows
    support = hinge.state.support
    active = hinge.state.active
    flipping = hinge.scratch.samples
    inverse = hinge.state.inverse
    target = hinge.state.target
    flips_since_rebuild = hinge.state.flips_since_rebuild
    size = hinge.state.n_used[0]
    flipped_rows = hinge.scratch.flipped_rows
    flip_signs = hinge.scratch.flip_signs
    images = hinge.scratch.images
    coefficients = hinge.scratch.coefficients

    flips_since_rebuild[0] += n_flips
    are_too_many = n_flips > MAX_FLIPS_PER_COLUMN * size
    is_worn_out = flips_since_rebuild[0] > REBUILD_AFTER
    if are_too_many or is_worn_out:
        return False

    for start in range(0, n_flips, FOUR):
        # Gather r and t of the next four.
        for b in range(FOUR):
            if start + b < n_flips:
                sample = flipping[start + b]
                flip_signs[b] = 2.0 * active[sample] - 1.0  # `active` is 1 or 0
                for i in range(size):
                    flipped_rows[b, i] = rows[sample, support[i]]
            else:
                # Fewer than four are left: a row of zeros changes nothing.
                flip_signs[b] = 1.0
                for i in range(size):
                    flipped_rows[b, i] = 0.0

        for b in range(FOUR):
            add_scaled(target, flip_signs[b], flipped_rows[b], size)
        is_stable = update_by_four(inverse, size, flipped_rows, flip_signs, images, coefficients)
        if not is_stable:
            return False
    return True


@leaf_kernel()
def append_column(hinge: Any, column: int) -> None:
    """Take a column into the support, at its end and with weight zero; inverse and target follow.

    `hinge.state.n_used[0]`, a number that kernels can change, is the size of the support.
    """
    state = hinge.state
    place = state.n_used[0]
    state.support[place] = column
    state.position[column] = place
    state.weights[place] = 0.0
    state.n_used[0] = place + 1
    border_column(hinge, place)


@leaf_kernel()
def drop_column(hinge: Any, place: int) -> None:
    """Take the column at a place of the support out; the last one gets its place.

    Margins lose what the column contributed. Inverse and target (A_actᵀ1, one entry for each column
    of the support) lose its place. A column off the support has position −1.
    """
    columns = hinge.data.columns
    support = hinge.state.support
    weights = hinge.state.weights
    position = hinge.state.position
    margins = hinge.state.margins
    inverse = hinge.state.inverse
    target = hinge.state.target
    n_used = hinge.state.n_used
    solved = hinge.scratch.solved
    size = n_used[0]
    last = size - 1

    leaving = support[place]
    add_scaled(margins, -weights[place], columns[leaving], margins.size)

    # If the last column itself leaves, its position must end as −1: that is written second.
    position[support[last]] = place
    position[leaving] = -1
    support[place] = support[last]
    weights[place] = weights[last]
    target[place] = target[last]
    unborder(inverse, size, place, solved)  # here too the last place becomes `place`
    n_used[0] = last
