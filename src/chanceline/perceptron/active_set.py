"""The samples that take part in a fit, and the inverse of their Hessian.

The Hessian of the squared hinge is H = A_actᵀA_act + εI, over the active samples and the columns of
the support. Its inverse follows every change by an update of low rank: samples that become active
or inactive, a column that comes or goes. A fit then costs a few matrix–vector products.

Kernels are loops over scalars: array expressions and slice assignments compile ten times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline.kernels.compile import ZERO, inlined_kernel, inner_kernel
from chanceline.kernels.inverse import FOUR, border, four_products, next_pivot, rank_four, unborder
from chanceline.kernels.random import next_random
from chanceline.kernels.selection import smallest_first
from chanceline.kernels.vectors import add_scaled, combine, dot_first, dot_masked
from chanceline.perceptron.workspace import REBUILD_AFTER

DAMPING_PER_SAMPLE = 1e-4  # δ for each active sample, small against the Hessian of one (mean 1)
DAMPED_FROM = 8  # of Newton's steps: most fits are at rest before
UNSTABLE_PIVOT = 1e-5  # after a smaller one the inverse has lost half of its digits
MAX_FLIPS_PER_COLUMN = 4  # more flips cost more than an inverse computed anew


@inlined_kernel()
def trimming_level(hinge: Any, max_errors: int, trim_noise: float) -> tuple[float, int]:
    """The rank of the last sample that is trimmed, and how many samples of that rank are.

    The rank of a sample is its margin + trim_noise · u, u ~ U(−1, 1). The `max_errors` samples of
    smallest rank are trimmed: all below the level and, as ranks may be equal, so many at it.
    `scratch.ranks` is left with the ranks.
    """
    margins = hinge.state.margins
    random = hinge.state.random
    ranks = hinge.scratch.ranks
    partly_sorted = hinge.scratch.partly_sorted

    for sample in range(margins.size):
        ranks[sample] = margins[sample]
        if trim_noise > 0.0:
            ranks[sample] += trim_noise * (2.0 * next_random(random) - 1.0)
        partly_sorted[sample] = ranks[sample]
    smallest_first(partly_sorted, max_errors)

    level = -np.inf
    for place in range(max_errors):
        if partly_sorted[place] > level:
            level = partly_sorted[place]
    n_at_level = ZERO
    for place in range(max_errors):
        if partly_sorted[place] == level:
            n_at_level += 1
    return level, n_at_level


@inner_kernel()
def find_flips(hinge: Any, max_errors: int, trim_noise: float) -> int:
    """Bring the active samples in line with the margins; return how many flipped.

    A sample is active if its margin is below 1 and it is not among the `max_errors` that are
    trimmed. Those that flip are listed at the head of `scratch.samples`. The inverse still has to
    follow.
    """
    margins = hinge.state.margins
    active = hinge.state.active
    ranks = hinge.scratch.ranks
    flipping = hinge.scratch.samples

    level = -np.inf
    n_at_level = ZERO
    if max_errors > 0:
        level, n_at_level = trimming_level(hinge, max_errors, trim_noise)

    n_flips = ZERO
    for sample in range(margins.size):
        is_active = margins[sample] < 1.0
        if max_errors > 0:
            if ranks[sample] < level:
                is_active = False
            elif ranks[sample] == level and n_at_level > 0:
                is_active = False
                n_at_level -= 1
        if is_active != (active[sample] > 0.5):
            active[sample] = 1.0 - active[sample]
            flipping[n_flips] = sample
            n_flips += 1
    return n_flips


@inner_kernel()
def border_column(hinge: Any, place: int) -> None:
    """Let the inverse, and the target, of the columns before `place` take in the one there."""
    columns = hinge.data.columns
    ridge = hinge.data.ridge
    support = hinge.state.support
    active = hinge.state.active
    inverse = hinge.state.inverse
    cross = hinge.scratch.products
    solved = hinge.scratch.solved

    column = columns[support[place]]
    for i in range(place):
        cross[i] = dot_masked(columns[support[i]], column, active)
    diagonal = dot_masked(column, column, active) + ridge + hinge.state.damping[0]

    # The column may depend on those before it: then rounding alone decides the pivot.
    pivot = next_pivot(inverse, place, cross, diagonal, solved)
    if not pivot > ridge:
        pivot = ridge
    border(inverse, place, pivot, solved)
    hinge.state.target[place] = dot_first(column, active, column.size)


@inner_kernel()
def rebuild(hinge: Any, max_errors: int, n_steps: int) -> None:
    """Compute margins, active samples and the inverse anew from support and weights.

    With fewer active samples than columns, A_actᵀA_act + εI is singular but for ε, and its updates
    soon lose their digits: in a fit that has done many steps, `n_steps`, it gets a damping δI.
    """
    support = hinge.state.support
    active = hinge.state.active
    damping = hinge.state.damping
    size = hinge.state.n_used[0]

    combine(hinge.data.columns, support, hinge.state.weights, size, hinge.state.margins)
    find_flips(hinge, max_errors, 0.0)

    damping[0] = 0.0
    n_active = dot_first(active, active, active.size)
    if n_steps >= DAMPED_FROM and n_active < size:
        damping[0] = DAMPING_PER_SAMPLE * n_active

    hinge.state.flips_since_rebuild[0] = 0
    for place in range(size):
        border_column(hinge, place)


@inlined_kernel()
def flip_four(hinge: Any, start: int, count: int) -> bool:
    """Update inverse and target for up to four samples r that have flipped.

    They are the first four (or `count`, if that is less) from place `start` of `scratch.samples`.
    Each has t = 1 if it is active now, else −1, and by Sherman and Morrison

        (H + t r rᵀ)⁻¹ = H⁻¹ − u uᵀ / (t + rᵀu),   u = H⁻¹r.

    Returns False, with the inverse as it was, if the update would be unstable.
    """
    support = hinge.state.support
    active = hinge.state.active
    inverse = hinge.state.inverse
    size = hinge.state.n_used[0]
    rows = hinge.scratch.flipped_rows
    images = hinge.scratch.images
    factors = hinge.scratch.factors

    # The rows r on the support, zero where there are fewer than four, and their t.
    for b in range(FOUR):
        factors[b] = 1.0
        if b < count:
            sample = hinge.scratch.samples[start + b]
            factors[b] = 2.0 * active[sample] - 1.0
            for i in range(size):
                rows[b, i] = hinge.data.rows[sample, support[i]]
            add_scaled(hinge.state.target, factors[b], rows[b], size)
        else:
            for i in range(size):
                rows[b, i] = 0.0

    # Their u, each by the inverse that has taken in those before it; factors become −1/(t + rᵀu).
    four_products(inverse, rows, size, images)
    for b in range(FOUR):
        sign = factors[b]
        pivot = sign + dot_first(rows[b], images[b], size)
        if sign * pivot < UNSTABLE_PIVOT:
            return False
        factors[b] = -1.0 / pivot
        for later in range(b + 1, FOUR):
            overlap = dot_first(rows[later], images[b], size)
            add_scaled(images[later], factors[b] * overlap, images[b], size)

    rank_four(inverse, factors, images, size)
    return True


@inlined_kernel()
def follow_flips(
    hinge: Any, n_flips: int, must_rebuild: bool, max_errors: int, n_steps: int
) -> None:
    """Bring the inverse in line with the active samples, `n_flips` of which have flipped.

    By updates, or anew where it must be, where flips are many, or where an update is unstable.
    `max_errors` and `n_steps` are those of `rebuild`.
    """
    flips_since_rebuild = hinge.state.flips_since_rebuild
    flips_since_rebuild[0] += n_flips
    is_in_line = (
        not must_rebuild
        and n_flips <= MAX_FLIPS_PER_COLUMN * hinge.state.n_used[0]
        and flips_since_rebuild[0] <= REBUILD_AFTER
    )
    for start in range(0, n_flips, FOUR):
        is_in_line = is_in_line and flip_four(hinge, start, n_flips - start)
    if not is_in_line:
        rebuild(hinge, max_errors, n_steps)


@inner_kernel()
def append_column(hinge: Any, column: int) -> None:
    """Take a column into the support, at its end and with weight zero."""
    place = hinge.state.n_used[0]
    hinge.state.support[place] = column
    hinge.state.position[column] = place
    hinge.state.weights[place] = 0.0
    hinge.state.n_used[0] = place + 1
    border_column(hinge, place)


@inner_kernel()
def drop_column(hinge: Any, place: int) -> None:
    """Take the column at a place of the support out; the last one gets its place."""
    support = hinge.state.support
    weights = hinge.state.weights
    position = hinge.state.position
    margins = hinge.state.margins
    target = hinge.state.target
    size = hinge.state.n_used[0]
    last = size - 1

    add_scaled(margins, -weights[place], hinge.data.columns[support[place]], margins.size)
    position[support[last]] = place
    position[support[place]] = -1
    support[place] = support[last]
    weights[place] = weights[last]
    target[place] = target[last]
    unborder(hinge.state.inverse, size, place, hinge.scratch.solved)
    hinge.state.n_used[0] = last
