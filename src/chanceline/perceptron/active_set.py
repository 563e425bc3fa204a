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
from chanceline.kernels.inverse import (
    FOUR,
    extend_inverse,
    next_pivot,
    shrink_inverse,
    update_inverse_by_four,
)
from chanceline.kernels.random import next_random
from chanceline.kernels.selection import smallest_first
from chanceline.kernels.vectors import add_scaled, combine, dot_first, dot_masked
from chanceline.perceptron.workspace import REBUILD_AFTER

DAMPING_PER_SAMPLE = 1e-4  # δ for each active sample, small against the Hessian of one (mean 1)
DAMPED_FROM = 8  # of Newton's steps: most fits are at rest before
MAX_FLIPS_PER_COLUMN = 4  # more flips cost more than an inverse computed anew


@leaf_kernel()
def trimming_level(hinge: Any, max_errors: int, trim_noise: float) -> tuple[float, int]:
    """Find the noisy margin up to which samples are trimmed, that is left out of the fit as errors.

    The noisy margin of a sample is its margin plus trim_noise · u, with u uniform on (−1, 1). The
    `max_errors` samples of smallest noisy margin are trimmed, and the level is the largest noisy
    margin among them. If other samples have exactly the same noisy margin, the level alone does not
    say which samples are trimmed. So the number of trimmed samples at the level is returned, too.

    Parameters
    ----------
    hinge : the workspace of the fit. Its `scratch.noisy_margins`, (samples,), is filled, because
        the caller compares the noisy margins with the level.
    max_errors : the number of samples to trim. If it is 0, the level is −∞ and nothing is filled.
    trim_noise : size of the noise; 0 for none.

    Returns
    -------
    The level, and the number of trimmed samples whose noisy margin equals it.
    """
    margins = hinge.state.margins
    random = hinge.state.random
    noisy_margins = hinge.scratch.noisy_margins
    partly_sorted = hinge.scratch.partly_sorted

    level = -np.inf
    n_at_level = ZERO  # 0 as a 64-bit integer
    if max_errors <= 0:
        return level, n_at_level

    for sample in range(margins.size):
        noisy_margins[sample] = margins[sample]
        if trim_noise > 0.0:
            noisy_margins[sample] += trim_noise * (2.0 * next_random(random) - 1.0)
        partly_sorted[sample] = noisy_margins[sample]
    # Partial sort: the `max_errors` smallest noisy margins come first, in any order.
    smallest_first(partly_sorted, max_errors)

    # The level is the largest of these; count how many of them are equal to it.
    for place in range(max_errors):
        if partly_sorted[place] > level:
            level = partly_sorted[place]
    for place in range(max_errors):
        if partly_sorted[place] == level:
            n_at_level += 1
    return level, n_at_level


@leaf_kernel()
def update_active(hinge: Any, max_errors: int, trim_noise: float) -> int:
    """Recompute which samples are active in the fit; return how many changed.

    A sample is active, and counts in the squared hinge loss, if its margin is below 1 and it is not
    trimmed. The `max_errors` samples of smallest margin are trimmed, after random numbers of up to
    ± `trim_noise` have been added to the margins.

    Two arrays of the workspace `hinge` are changed. `state.active`, (samples,), holds 1.0 for
    active samples and 0.0 for the others. The first places of `scratch.samples` list the samples
    that changed ("flipped"). The inverse Hessian is not updated here: `follow_flips` does that, for
    the samples in this list.
    """
    margins = hinge.state.margins
    active = hinge.state.active
    flipped_samples = hinge.scratch.samples

    # Samples are trimmed if their noisy margin is below the level, and `n_to_trim_at_level` more if
    # it is equal to the level. `trimming_level` computes both, and fills `noisy_margins` on the
    # way. If nothing is trimmed, it leaves `noisy_margins` as they are; they are not used then.
    level, n_to_trim_at_level = trimming_level(hinge, max_errors, trim_noise)
    noisy_margins = hinge.scratch.noisy_margins

    n_flips = ZERO  # 0 as a 64-bit integer
    for sample in range(margins.size):
        is_active = margins[sample] < 1.0
        if max_errors > 0:
            if noisy_margins[sample] < level:
                is_active = False
            elif noisy_margins[sample] == level and n_to_trim_at_level > 0:
                is_active = False
                n_to_trim_at_level -= 1
        was_active = active[sample] > 0.5  # the entry is 1.0 or 0.0
        if is_active != was_active:
            active[sample] = 1.0 - active[sample]
            flipped_samples[n_flips] = sample
            n_flips += 1
    return n_flips


@leaf_kernel()
def extend_inverse_and_target(hinge: Any, place: int) -> None:
    """Extend the inverse Hessian and the target by one more column of the support.

    The support is the list of columns that have weights in the fit, and active samples are those
    that count in the loss. The Hessian is A_actᵀA_act + (ε + δ)I, where A_act holds the active
    samples on the columns of the support, ε is the ridge and δ the damping. The target is A_actᵀ1.
    Both contain the columns at the places 0 … place − 1 of the support already.

    hinge : the workspace, whose `state.inverse` and `state.target` are extended.
    place : position of the new column in the support.
    """
    columns = hinge.data.columns  # (features, samples)
    ridge = hinge.data.ridge  # ε
    damping = hinge.state.damping[0]  # δ
    support = hinge.state.support
    active = hinge.state.active  # (samples,), 1.0 or 0.0
    inverse = hinge.state.inverse
    # Scratch arrays, filled here.
    products = hinge.scratch.products
    inverse_times_products = hinge.scratch.solved

    # The new row of the Hessian: the column's products with those before it, and with itself.
    column = columns[support[place]]
    for i in range(place):
        products[i] = dot_masked(columns[support[i]], column, active)
    diagonal = dot_masked(column, column, active) + ridge + damping

    # The pivot (Schur complement) is diagonal − productsᵀ·inverse·products. In exact arithmetic it
    # is at least ε + δ. If the column depends linearly on those before it, rounding can make the
    # pivot smaller, or NaN, for which "not >" is true as well: then ε is used instead.
    pivot = next_pivot(inverse, place, products, diagonal, inverse_times_products)
    if not pivot > ridge:
        pivot = ridge

    # Extend the inverse by a row and a column, which follow from the pivot and inverse·products.
    extend_inverse(inverse, place, pivot, inverse_times_products)
    # The new entry of the target: the sum of the column over the active samples.
    hinge.state.target[place] = dot_first(column, active, column.size)


@inner_kernel()
def rebuild(hinge: Any, max_errors: int, n_steps: int) -> None:
    """Compute margins, active samples, inverse Hessian and target anew from support and weights.

    The Hessian is A_actᵀA_act + (ε + δ)I, where A_act holds the active samples on the columns of
    the support and ε is the ridge; the target is A_actᵀ1. With fewer active samples than columns
    the Hessian would be singular without ε, and updates of its inverse soon lose precision. So a
    fit that has not converged after `DAMPED_FROM` Newton steps gets a damping δ > 0 in this case.

    hinge : the workspace. Of its state, `support` and `weights` are read, and `margins`, `active`,
        `damping`, `inverse`, `target` and `flips_since_rebuild` are written.
    max_errors : how many samples, those of smallest margin, are trimmed and so inactive.
    n_steps : Newton steps that the present fit has done so far.
    """
    columns = hinge.data.columns
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    active = hinge.state.active  # (samples,), 1.0 or 0.0
    n_columns = hinge.state.n_used[0]  # in the support

    # Fill the margins with A w, where A holds all samples on the columns of the support. Then
    # decide by the margins which samples are active.
    combine(columns, support, weights, n_columns, margins)
    update_active(hinge, max_errors, trim_noise=0.0)

    # Set the damping δ, which `extend_inverse_and_target` reads.
    n_active = dot_first(active, active, active.size)  # the sum of squares of zeros and ones
    hinge.state.damping[0] = 0.0
    if n_steps >= DAMPED_FROM and n_active < n_columns:
        hinge.state.damping[0] = DAMPING_PER_SAMPLE * n_active

    # Build inverse and target from nothing: each call adds one column of the support to both.
    for place in range(n_columns):
        extend_inverse_and_target(hinge, place)
    hinge.state.flips_since_rebuild[0] = 0


@leaf_kernel()
def follow_flips(hinge: Any, n_flips: int) -> bool:
    """Update the inverse Hessian and the target for samples that became active or inactive.

    Active samples are those that count in the loss. The Hessian is Σ r rᵀ over the active samples,
    plus a multiple of the unit matrix, where r is a sample's row on the columns in use (the
    support). The target is Σ r. The term of a sample is added to both sums if the sample became
    active, and subtracted if it became inactive. Four samples are processed at a time:
    `update_inverse_by_four` makes four rank-one updates of the inverse in one pass.

    hinge : the workspace; the first `n_flips` entries of `scratch.samples` are the samples that
        changed ("flipped").

    Returns
    -------
    Whether the update was made. False if the samples are too many or the update is numerically
    unstable. Inverse and target are then of no use, and the caller must `rebuild` them.
    """
    rows = hinge.data.rows  # (samples, features)
    support = hinge.state.support
    active = hinge.state.active  # (samples,), 1.0 or 0.0
    flipped_samples = hinge.scratch.samples
    n_columns = hinge.state.n_used[0]  # in the support
    # Scratch for four samples at a time.
    flipped_rows = hinge.scratch.flipped_rows  # (4, ≥ columns in the support)
    flip_signs = hinge.scratch.flip_signs  # (4,)

    # Rebuilding is cheaper than very many updates, and removes the rounding errors of earlier ones.
    # (`flips_since_rebuild` is an array of one entry, which compiled code can change.)
    hinge.state.flips_since_rebuild[0] += n_flips
    are_too_many = n_flips > MAX_FLIPS_PER_COLUMN * n_columns
    is_worn_out = hinge.state.flips_since_rebuild[0] > REBUILD_AFTER
    if are_too_many or is_worn_out:
        return False

    for start in range(0, n_flips, FOUR):
        # Gather the rows r of the next four samples, and their signs: +1 for a sample that became
        # active, −1 for one that became inactive.
        for slot in range(FOUR):
            if start + slot < n_flips:
                sample = flipped_samples[start + slot]
                flip_signs[slot] = 2.0 * active[sample] - 1.0  # `active` is 1 or 0
                for i in range(n_columns):
                    flipped_rows[slot, i] = rows[sample, support[i]]
            else:
                # Fewer than four samples are left: a row of zeros changes nothing.
                flip_signs[slot] = 1.0
                for i in range(n_columns):
                    flipped_rows[slot, i] = 0.0

        # Update the target, then the inverse.
        for slot in range(FOUR):
            add_scaled(hinge.state.target, flip_signs[slot], flipped_rows[slot], n_columns)
        is_stable = update_inverse_by_four(
            inverse=hinge.state.inverse,
            size=n_columns,
            vectors=flipped_rows,
            signs=flip_signs,
            images=hinge.scratch.images,  # scratch, as are the coefficients
            coefficients=hinge.scratch.coefficients,
        )
        if not is_stable:
            return False
    return True


@leaf_kernel()
def append_column(hinge: Any, column: int) -> None:
    """Add a column of the table at the end of the support, with weight zero.

    The inverse Hessian and the target are extended by it. `hinge.state.n_used[0]` is the number of
    columns in the support, stored in an array so that compiled functions can change it.
    """
    state = hinge.state
    place = state.n_used[0]
    state.support[place] = column
    state.position[column] = place
    state.weights[place] = 0.0
    state.n_used[0] = place + 1
    extend_inverse_and_target(hinge, place)


@leaf_kernel()
def drop_column(hinge: Any, place: int) -> None:
    """Remove the column at a place of the support; the last column of the support moves there.

    The support is the list of columns that have weights in the fit.

    The lists `support`, `weights` and `target` (the sum of the column over the active samples) and
    the rows and columns of `inverse`, the inverse Hessian, all have the same order, so that all of
    them are changed in the same way. `position` is the inverse of the support: it holds the place
    of every feature in the support, and −1 for features that are not in it. The contribution of the
    column is subtracted from the margins.
    """
    columns = hinge.data.columns  # (features, samples)
    margins = hinge.state.margins
    support = hinge.state.support
    position = hinge.state.position
    weights = hinge.state.weights
    target = hinge.state.target
    n_used = hinge.state.n_used  # (1,), the number of columns in the support

    size = n_used[0]
    last = size - 1
    removed_column = support[place]
    last_column = support[last]

    # Subtract the column's contribution to the margins.
    add_scaled(margins, -weights[place], columns[removed_column], margins.size)

    # Move the last column to `place`. The last column may be the one removed: then its position
    # must end as −1, so −1 is written second.
    position[last_column] = place
    position[removed_column] = -1
    support[place] = last_column
    weights[place] = weights[last]
    target[place] = target[last]

    # Remove the column from the matrix: `shrink_inverse`, too, moves the last row and column to
    # `place`. Its last argument is scratch.
    shrink_inverse(hinge.state.inverse, size, place, hinge.scratch.solved)
    n_used[0] = last
