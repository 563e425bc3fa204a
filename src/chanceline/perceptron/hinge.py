"""The squared hinge that may forgive patterns, on a changing support: the one fit engine of all searches.

E(w) = ½ Σ' (1 − a_μ·w)₊² + ½ ε|w|², where Σ' leaves out the `allowed` patterns of largest slack. It can be made zero exactly
where so many errors suffice.

The inverse of the active Hessian, (A_actᵀA_act + εI)⁻¹, follows every change by an update of low rank: patterns that
become active or inactive, a variable that is added or dropped. A refit then costs a few matrix–vector products. Kernels are
loops over scalars: array expressions and slice assignments compile ten times slower.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import (
    NONE,
    REASSOCIATE,
    ZERO,
    counter,
    inlined_kernel,
    inner_kernel,
    kernel,
)
from chanceline.kernels.inverse import FOUR, border, four_products, next_pivot, rank_four, unborder
from chanceline.kernels.random import next_random, random_state
from chanceline.kernels.selection import smallest_first
from chanceline.kernels.vectors import add_scaled, combine, dot_first, dot_masked

RIDGE = 1e-6
SEPARATED = 1e-9  # all margins above this: separable
DAMPING = 1e-4  # δ for each active pattern where these are fewer than the columns
DAMPED_FROM = 8  # steps of a refit
UNSTABLE = 1e-5  # a smaller pivot: the inverse is computed anew
MAX_NEWTON = 200  # steps of a refit, which as a rule ends within a dozen
REBUILD_AFTER = 2000  # flips after which the inverse is computed anew, against drift
NEWTON = counter(30)


class Hinge(
    namedtuple(
        "Hinge",
        "columns rows narrow signed kept ridge k support weights position margins active inverse target damping "
        "flips_since_rebuild trial shift flipped images factors loose work pulls until clock random",
    )
):
    """State of one fit, and of a walk from support to support.

    Attributes
    ----------
    columns, rows : A = y·x as (n, P) and as (P, n).
    narrow : columns in single precision, for ranking only.
    signed : the columns whose weight must not be negative; one that would be leaves the support.
    kept : that many places at the head of the support stay for good (the intercept).
    ridge : ε.
    k : how many columns are in use, one number.
    support, weights : the columns in use and their weights, in the first k places.
    position : the place of every column in the support, or −1.
    margins : a_μ·w.
    active : 1 where a_μ·w < 1 and the pattern is not forgiven, else 0, as the inverse has it.
    inverse : (A_actᵀA_act + εI + δI)⁻¹ in the leading k × k places.
    damping : δ, one number: 0, except where fewer patterns are active than there are columns.
    target : A_actᵀ1.
    flips_since_rebuild : how many patterns the inverse was updated for, one number; many after a new start.
    trial, shift : the Newton step of the weights and of the margins.
    flipped, images, factors : work space for four patterns that flip, and what the inverse makes of them.
    loose, work : work space for patterns with slack, or that flip, and for margins to be sorted in.
    pulls : a_jᵀr of every column j, r = 1 − Aw the slack of the active patterns.
    until, clock : a column is tabu until the clock has reached its time.
    random : state of the generator.
    """

    @property
    def size(self) -> int:
        """How many columns are in use, the kept ones among them."""
        return int(self.k[0])

    @property
    def selected(self) -> int:
        """How many variables are in use."""
        return self.size - self.kept


def make_hinge(
    columns: NDArray[np.float64], capacity: int, kept: int = 0, ridge: float = RIDGE, seed: int = 0,
    signed: NDArray[np.bool_] | None = None,
) -> Hinge:  # fmt: skip
    """Workspace for supports of up to `capacity` columns; the last `kept` columns belong to every support."""
    n, patterns = columns.shape
    capacity = min(capacity, n)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    hinge = Hinge(
        columns=columns,
        rows=np.ascontiguousarray(columns.T),
        narrow=columns.astype(np.float32),
        signed=np.zeros(n, dtype=np.bool_) if signed is None else signed,
        kept=int(kept),
        ridge=float(ridge),
        k=np.zeros(1, dtype=np.int64),
        support=np.full(capacity, -1, dtype=np.int64),
        weights=np.zeros(capacity),
        position=np.full(n, -1, dtype=np.int64),
        margins=np.zeros(patterns),
        active=np.ones(patterns),
        inverse=np.zeros((capacity, capacity)),
        target=np.zeros(capacity),
        damping=np.zeros(1),
        flips_since_rebuild=np.zeros(1, dtype=np.int64),
        trial=np.zeros(capacity),
        shift=np.zeros(patterns),
        flipped=np.zeros((FOUR, capacity)),
        images=np.zeros((FOUR, capacity)),
        factors=np.zeros(FOUR),
        loose=np.zeros(patterns, dtype=np.int64),
        work=np.zeros(patterns),
        pulls=np.zeros(n),
        until=np.zeros(n, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        random=random_state(seed),
    )
    set_support(hinge, np.arange(n - kept, n), np.zeros(kept))
    return hinge


def set_support(
    hinge: Hinge, support: NDArray[np.int64], weights: NDArray[np.float64] | float = 0.0
) -> None:
    """Start from a given support (the kept columns first) and weights; the next refit computes margins and inverse."""
    hinge.position.fill(-1)
    hinge.k[0] = len(support)
    hinge.support[: len(support)] = support
    hinge.position[support] = np.arange(len(support))
    hinge.weights[: len(support)] = weights
    hinge.flips_since_rebuild[0] = REBUILD_AFTER + 1


def fit(
    hinge: Hinge, add: int = -1, drop: int = -1, allowed: int = 0, newton: int = MAX_NEWTON
) -> bool:
    """Take a column in, let the variable at a place go, refit; whether at most `allowed` margins are not positive."""
    return bool(refit(hinge, add, drop, allowed, 0.0, newton))


@inner_kernel()
def find_flips(
    margins: NDArray,
    active: NDArray,
    allowed: int,
    noise: float,
    random: NDArray,
    ranks: NDArray,
    work: NDArray,
    loose: NDArray,
) -> int:
    """Bring the active set in line with the margins; the patterns that flip are the first of `loose`, their number is returned.

    The `allowed` patterns of smallest margin are forgiven; with noise of smallest margin + noise·u, u ~ U(−1, 1).
    """
    level, quota, flips = -np.inf, ZERO, ZERO
    if allowed > 0:
        for pattern in range(ranks.size):
            ranks[pattern] = margins[pattern]
            if noise > 0.0:
                ranks[pattern] += noise * (2.0 * next_random(random) - 1.0)
            work[pattern] = ranks[pattern]
        smallest_first(work, allowed)
        for place in range(allowed):
            level = work[place] if work[place] > level else level
        for place in range(allowed):
            quota += work[place] == level
    for pattern in range(ranks.size):
        wanted = margins[pattern] < 1.0
        if quota > 0 and ranks[pattern] == level:
            wanted = False
            quota -= 1
        elif ranks[pattern] < level:
            wanted = False
        if wanted != (active[pattern] > 0.5):
            active[pattern] = 1.0 - active[pattern]
            loose[flips] = pattern
            flips += 1
    return flips


@inlined_kernel()
def border_inverse(
    columns: NDArray, support: NDArray, known: int, k: int, active: NDArray, ridge: float, damping: float,
    inverse: NDArray, target: NDArray, cross: NDArray, work: NDArray,
) -> None:  # fmt: skip
    """Let the inverse of the first `known` columns of the support, and the target, take in those after them."""
    for size in range(known, k):
        column = columns[support[size]]
        for i in range(size):
            cross[i] = dot_masked(columns[support[i]], column, active)
        diagonal = dot_masked(column, column, active) + ridge + damping
        pivot = next_pivot(inverse, size, cross, diagonal, work)
        border(inverse, size, pivot if pivot > ridge else ridge, work)
        target[size] = dot_first(column, active, column.size)


@inlined_kernel()
def flip_four(
    rows: NDArray, loose: NDArray, start: int, count: int, support: NDArray, k: int, active: NDArray,
    inverse: NDArray, target: NDArray, flipped: NDArray, images: NDArray, factors: NDArray,
) -> bool:  # fmt: skip
    """Update for up to four patterns r, loose ones from `start` on, that entered or left the active set (t = ±1).

    Sherman and Morrison: (H + t r rᵀ)⁻¹ = H⁻¹ − u uᵀ / (t + rᵀu), u = H⁻¹r. False if the update would be unstable.
    """
    for b in range(FOUR):
        factors[b] = 1.0
        if b < count:
            pattern = loose[start + b]
            factors[b] = 2.0 * active[pattern] - 1.0
            for i in range(k):
                flipped[b, i] = rows[pattern, support[i]]
            add_scaled(target, factors[b], flipped[b], k)
        else:
            for i in range(k):
                flipped[b, i] = 0.0
    four_products(inverse, flipped, k, images)
    for b in range(FOUR):
        turn = factors[b]
        pivot = turn + dot_first(flipped[b], images[b], k)
        if turn * pivot < UNSTABLE:
            return False
        factors[b] = -1.0 / pivot
        for later in range(b + 1, FOUR):
            add_scaled(
                images[later], factors[b] * dot_first(flipped[later], images[b], k), images[b], k
            )
    rank_four(inverse, factors, images, k)
    return True


@inlined_kernel()
def drop_column(
    columns: NDArray, support: NDArray, place: int, last: int, position: NDArray, weights: NDArray, margins: NDArray,
    inverse: NDArray, target: NDArray, work: NDArray,
) -> None:  # fmt: skip
    """Take the variable at this place of the support out (its part of the margins too); the last one takes its place."""
    add_scaled(margins, -weights[place], columns[support[place]], margins.size)
    position[support[last]] = place
    position[support[place]] = -1
    support[place] = support[last]
    weights[place] = weights[last]
    target[place] = target[last]
    unborder(inverse, last + 1, place, work)


@inner_kernel(fastmath=REASSOCIATE)
def energy_at(margins: NDArray, shift: NDArray, work: NDArray, step: float, allowed: int) -> float:
    """½ Σ' (1 − m_μ − step·s_μ)₊²."""
    total = 0.0
    for pattern in range(margins.size):
        slack = 1.0 - margins[pattern] - step * shift[pattern]
        total += slack * slack if slack > 0.0 else 0.0
    if allowed > 0:
        for pattern in range(margins.size):
            work[pattern] = margins[pattern] + step * shift[pattern]
        smallest_first(work, allowed)
        for place in range(allowed):
            slack = 1.0 - work[place]
            total -= slack * slack if slack > 0.0 else 0.0
    return 0.5 * total


@inlined_kernel()
def length_of_step(
    weights: NDArray, trial: NDArray, k: int, ridge: float, margins: NDArray, shift: NDArray, work: NDArray, allowed: int,
    shortest: float, longest: float,
) -> float:  # fmt: skip
    """How far to go along the Newton step, at most `longest`: halved until E falls."""
    norm = 0.5 * ridge * dot_first(weights, weights, k)
    cross = ridge * dot_first(weights, trial, k)
    curve = 0.5 * ridge * dot_first(trial, trial, k)
    step, before = 0.0, 0.0
    while True:
        energy = (
            energy_at(margins, shift, work, step, allowed) + norm + step * (cross + step * curve)
        )
        if step == 0.0:
            step, before = longest, energy
        elif energy > before and step > shortest:
            step *= 0.5
        else:
            return step


@inlined_kernel()
def find_step(
    columns: NDArray, support: NDArray, weights: NDArray, k: int, margins: NDArray, active: NDArray, ridge: float, damping: float,
    inverse: NDArray, target: NDArray, trial: NDArray, gradient: NDArray, work: NDArray,
) -> None:  # fmt: skip
    """The Newton step, H⁻¹A_actᵀ1 − w; with damping (H + δI)⁻¹g from the gradient g itself, which leads down for every δ."""
    if damping > 0.0:
        for pattern in range(margins.size):
            work[pattern] = active[pattern] * (1.0 - margins[pattern])
        for i in range(k):
            gradient[i] = dot_first(columns[support[i]], work, work.size) - ridge * weights[i]
        for i in range(k):
            trial[i] = dot_first(inverse[i], gradient, k)
    else:
        for i in range(k):
            trial[i] = dot_first(inverse[i], target, k) - weights[i]


@kernel()
def refit(hinge: Any, add: int, drop: int, allowed: int, noise: float, most: int) -> bool:
    """Take column `add` in and the variable at place `drop` out (−1: none), then Newton on the active set, up to `most` steps.

    Solves (A_actᵀA_act + εI) w = A_actᵀ1, moves there by a halving line search, lets patterns flip, and stops when the active
    set repeats; True as soon as at most `allowed` margins are not positive. The first step trusts the active set found.

    A kernel of its own, not part of those with swaps: a first verdict needs no more, and it compiles once for all of them.
    """
    # A tuple that is taken apart at once: a third less to compile than its arrays by name, here and there.
    (columns, rows, _, signed, _, ridge, in_use, support, weights, position, margins, active, inverse, target, damping,
     flipped_ago, trial, shift, flipped, images, factors, loose, work, _, until, clock, random) = hinge  # fmt: skip
    # Where patterns are forgiven E is not convex, and a step may lead nowhere.
    shortest, step, patterns = 1e-3 if allowed > 0 else 1e-4, 1.0, margins.size
    for turn in range(-1, most + 1):
        flips, k = ZERO, in_use[0]
        if turn > 0 or (turn == 0 and noise > 0.0):
            flips = find_flips(
                margins, active, allowed, noise if turn == 0 else 0.0, random, shift, work, loose
            )
        if turn > 0 and not dot_first(weights, weights, k) < np.inf:
            # Updates have worn the inverse out: once more from nothing.
            for i in range(k):
                weights[i] = 0.0
            flipped_ago[0] = REBUILD_AFTER
            flips += 1
        elif turn > 0 and flips == 0 and step == 1.0:
            if damping[0] == 0.0:
                return False
            flipped_ago[0] = REBUILD_AFTER + 1
        # Bring the inverse in line with the active set, by updates or, when there are many, anew.
        flipped_ago[0] += flips
        settled, known = flips <= 4 * k and flipped_ago[0] <= REBUILD_AFTER, k
        for start in range(0, flips, FOUR):
            settled = settled and flip_four(
                rows,
                loose,
                start,
                flips - start,
                support,
                k,
                active,
                inverse,
                target,
                flipped,
                images,
                factors,
            )
        if not settled:
            combine(columns, support, weights, k, margins)
            find_flips(margins, active, allowed, 0.0, random, shift, work, loose)
            # With fewer active patterns than columns, A_actᵀA_act + εI is singular but for ε, and soon worn out.
            count = dot_first(active, active, patterns)
            damping[0] = DAMPING * count if turn >= DAMPED_FROM and count < k else 0.0
            flipped_ago[0], known = 0, ZERO
        if turn < 0 and add >= 0:
            support[k], position[add], weights[k], in_use[0] = add, k, 0.0, k + 1
        border_inverse(
            columns,
            support,
            known,
            in_use[0],
            active,
            ridge,
            damping[0],
            inverse,
            target,
            flipped[0],
            trial,
        )
        if turn == most or (allowed > 0 and step <= shortest):
            return False
        if turn >= 0:
            # As far as the first signed weight that becomes zero.
            find_step(
                columns,
                support,
                weights,
                k,
                margins,
                active,
                ridge,
                damping[0],
                inverse,
                target,
                trial,
                flipped[0],
                work,
            )
            step, leaving = 1.0, NONE
            for i in range(k):
                if signed[support[i]] and weights[i] + step * trial[i] < 0.0:
                    step, leaving = weights[i] / -trial[i], i
            combine(columns, support, trial, k, shift)
            longest = step
            if turn > 0 and step > 0.0:
                step = length_of_step(
                    weights, trial, k, ridge, margins, shift, work, allowed, shortest, longest
                )
            add_scaled(weights, step, trial, k)
            add_scaled(margins, step, shift, patterns)
            above = ZERO
            for pattern in range(patterns):
                above += margins[pattern] > SEPARATED
            if leaving >= 0 and step == longest:
                # Neither at rest nor stuck: it is tabu, and the others go on.
                weights[leaving], drop, step = 0.0, leaving, 0.5
                until[support[leaving]] = clock[0] + 4 + int(6 * next_random(random))
            if above + allowed >= patterns:
                return True
        if drop >= 0:
            in_use[0] -= 1
            drop_column(
                columns,
                support,
                drop,
                in_use[0],
                position,
                weights,
                margins,
                inverse,
                target,
                trial,
            )
            drop = NONE
    return False
