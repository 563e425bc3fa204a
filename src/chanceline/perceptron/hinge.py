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

from chanceline.perceptron.linalg import (
    FAST,
    FOUR,
    NONE,
    ZERO,
    add_scaled,
    border,
    combine,
    counter,
    dot_first,
    dot_masked,
    four_products,
    inlined_kernel,
    inner_kernel,
    kernel,
    next_pivot,
    next_random,
    rank_four,
    smallest_first,
    unborder,
)

RIDGE = 1e-6
SEPARATED = 1e-9  # all margins above this: separable
DAMPING = 1e-4  # δ for each active pattern where these are fewer than the columns
DAMPED_FROM = 8  # steps of a refit
UNSTABLE = 1e-5  # a smaller pivot: the inverse is computed anew
MAX_NEWTON = 200  # steps of a refit, which as a rule ends within a dozen
REBUILD_AFTER = 2000  # flips after which the inverse is computed anew, against drift
NOISE = 0.2  # of swaps, in what is added and dropped
NEWTON = counter(30)
# After an addition two Newton steps rank the removals as well as the exact minimum does, in half the time.
NEWTON_AFTER_ADDITION = counter(2)


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


def random_state(seed: int) -> NDArray[np.uint64]:
    """State of the kernels' generator."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64).astype(np.uint64)


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


def set_support(hinge: Hinge, support: NDArray[np.int64], weights: NDArray[np.float64] | float = 0.0) -> None:
    """Start from a given support (the kept columns first) and weights; the next refit computes margins and inverse."""
    hinge.position.fill(-1)
    hinge.k[0] = len(support)
    hinge.support[: len(support)] = support
    hinge.position[support] = np.arange(len(support))
    hinge.weights[: len(support)] = weights
    hinge.flips_since_rebuild[0] = REBUILD_AFTER + 1


def fit(hinge: Hinge, add: int = -1, drop: int = -1, allowed: int = 0, newton: int = MAX_NEWTON) -> bool:
    """Take a column in, let the variable at a place go, refit; whether at most `allowed` margins are not positive."""
    return bool(refit(hinge, add, drop, allowed, 0.0, newton))


@inner_kernel(allocates=False)
def find_flips(hinge: Any, allowed: int, noise: float) -> int:
    """Bring the active set in line with the margins; the patterns that flip are the first of `loose`, their number is returned.

    The `allowed` patterns of smallest margin are forgiven; with noise of smallest margin + noise·u, u ~ U(−1, 1).
    """
    ranks, level, quota, flips = hinge.shift, -np.inf, ZERO, ZERO
    if allowed > 0:
        for pattern in range(ranks.size):
            ranks[pattern] = hinge.margins[pattern]
            if noise > 0.0:
                ranks[pattern] += noise * (2.0 * next_random(hinge.random) - 1.0)
            hinge.work[pattern] = ranks[pattern]
        smallest_first(hinge.work, allowed)
        for place in range(allowed):
            level = hinge.work[place] if hinge.work[place] > level else level
        for place in range(allowed):
            quota += hinge.work[place] == level
    for pattern in range(ranks.size):
        wanted = hinge.margins[pattern] < 1.0
        if quota > 0 and ranks[pattern] == level:
            wanted = False
            quota -= 1
        elif ranks[pattern] < level:
            wanted = False
        if wanted != (hinge.active[pattern] > 0.5):
            hinge.active[pattern] = 1.0 - hinge.active[pattern]
            hinge.loose[flips] = pattern
            flips += 1
    return flips


@inlined_kernel()
def border_inverse(hinge: Any, known: int) -> None:
    """Let the inverse of the first `known` columns of the support, and the target, take in those after them."""
    cross = hinge.flipped[0]
    for size in range(known, hinge.k[0]):
        column = hinge.columns[hinge.support[size]]
        for i in range(size):
            cross[i] = dot_masked(hinge.columns[hinge.support[i]], column, hinge.active)
        diagonal = dot_masked(column, column, hinge.active) + hinge.ridge + hinge.damping[0]
        pivot = next_pivot(hinge.inverse, size, cross, diagonal, hinge.trial)
        border(hinge.inverse, size, pivot if pivot > hinge.ridge else hinge.ridge, hinge.trial)
        hinge.target[size] = dot_first(column, hinge.active, column.size)


@inlined_kernel()
def flip_four(hinge: Any, start: int, count: int) -> bool:
    """Update for up to four patterns r, loose ones from `start` on, that entered or left the active set (t = ±1).

    Sherman and Morrison: (H + t r rᵀ)⁻¹ = H⁻¹ − u uᵀ / (t + rᵀu), u = H⁻¹r. False if the update would be unstable.
    """
    k, rows, images, factors = hinge.k[0], hinge.flipped, hinge.images, hinge.factors
    for b in range(FOUR):
        factors[b] = 1.0
        if b < count:
            pattern = hinge.loose[start + b]
            factors[b] = 2.0 * hinge.active[pattern] - 1.0
            for i in range(k):
                rows[b, i] = hinge.rows[pattern, hinge.support[i]]
            add_scaled(hinge.target, factors[b], rows[b], k)
        else:
            for i in range(k):
                rows[b, i] = 0.0
    four_products(hinge.inverse, rows, k, images)
    for b in range(FOUR):
        turn = factors[b]
        pivot = turn + dot_first(rows[b], images[b], k)
        if turn * pivot < UNSTABLE:
            return False
        factors[b] = -1.0 / pivot
        for later in range(b + 1, FOUR):
            add_scaled(images[later], factors[b] * dot_first(rows[later], images[b], k), images[b], k)
    rank_four(hinge.inverse, factors, images, k)
    return True


@inlined_kernel()
def drop_column(hinge: Any, place: int) -> None:
    """Take the variable at this place of the support out (its part of the margins too); the last one takes its place."""
    last = hinge.k[0] - 1
    add_scaled(hinge.margins, -hinge.weights[place], hinge.columns[hinge.support[place]], hinge.margins.size)
    hinge.position[hinge.support[last]] = place
    hinge.position[hinge.support[place]] = -1
    hinge.support[place] = hinge.support[last]
    hinge.weights[place] = hinge.weights[last]
    hinge.target[place] = hinge.target[last]
    unborder(hinge.inverse, last + 1, place, hinge.trial)
    hinge.k[0] = last


@inner_kernel(allocates=False, fastmath=FAST)
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
def length_of_step(hinge: Any, allowed: int, shortest: float, longest: float) -> float:
    """How far to go along the Newton step, at most `longest`: halved until E falls."""
    k, weights, trial, ridge = hinge.k[0], hinge.weights, hinge.trial, 0.5 * hinge.ridge
    norm = ridge * dot_first(weights, weights, k)
    cross = 2.0 * ridge * dot_first(weights, trial, k)
    curve = ridge * dot_first(trial, trial, k)
    step, before = 0.0, 0.0
    while True:
        energy = energy_at(hinge.margins, hinge.shift, hinge.work, step, allowed) + norm + step * (cross + step * curve)
        if step == 0.0:
            step, before = longest, energy
        elif energy > before and step > shortest:
            step *= 0.5
        else:
            return step


@inlined_kernel()
def find_step(hinge: Any) -> None:
    """The Newton step, H⁻¹A_actᵀ1 − w; with damping (H + δI)⁻¹g from the gradient g itself, which leads down for every δ."""
    k, gradient = hinge.k[0], hinge.flipped[0]
    if hinge.damping[0] > 0.0:
        for pattern in range(hinge.margins.size):
            hinge.work[pattern] = hinge.active[pattern] * (1.0 - hinge.margins[pattern])
        for i in range(k):
            pull = dot_first(hinge.columns[hinge.support[i]], hinge.work, hinge.work.size)
            gradient[i] = pull - hinge.ridge * hinge.weights[i]
        for i in range(k):
            hinge.trial[i] = dot_first(hinge.inverse[i], gradient, k)
    else:
        for i in range(k):
            hinge.trial[i] = dot_first(hinge.inverse[i], hinge.target, k) - hinge.weights[i]


@kernel(allocates=False)
def refit(hinge: Any, add: int, drop: int, allowed: int, noise: float, most: int) -> bool:
    """Take column `add` in and the variable at place `drop` out (−1: none), then Newton on the active set, up to `most` steps.

    Solves (A_actᵀA_act + εI) w = A_actᵀ1, moves there by a halving line search, lets patterns flip, and stops when the active
    set repeats; True as soon as at most `allowed` margins are not positive. The first step trusts the active set found.

    A kernel of its own, not part of those with swaps: a first verdict needs no more, and it compiles once for all of them.
    """
    # Where patterns are forgiven E is not convex, and a step may lead nowhere.
    shortest, step = 1e-3 if allowed > 0 else 1e-4, 1.0
    patterns = hinge.margins.size
    for turn in range(-1, most + 1):
        flips, k = ZERO, hinge.k[0]
        if turn > 0 or (turn == 0 and noise > 0.0):
            flips = find_flips(hinge, allowed, noise if turn == 0 else 0.0)
        if turn > 0 and not dot_first(hinge.weights, hinge.weights, k) < np.inf:
            # Updates have worn the inverse out: once more from nothing.
            for i in range(k):
                hinge.weights[i] = 0.0
            hinge.flips_since_rebuild[0] = REBUILD_AFTER
            flips += 1
        elif turn > 0 and flips == 0 and step == 1.0:
            if hinge.damping[0] == 0.0:
                return False
            hinge.flips_since_rebuild[0] = REBUILD_AFTER + 1
        # Bring the inverse in line with the active set, by updates or, when there are many, anew.
        hinge.flips_since_rebuild[0] += flips
        settled = flips <= 4 * k and hinge.flips_since_rebuild[0] <= REBUILD_AFTER
        for start in range(0, flips, FOUR):
            settled = settled and flip_four(hinge, start, flips - start)
        known = k
        if not settled:
            combine(hinge.columns, hinge.support, hinge.weights, k, hinge.margins)
            find_flips(hinge, allowed, 0.0)
            hinge.flips_since_rebuild[0] = 0
            # With fewer active patterns than columns, A_actᵀA_act + εI is singular but for ε, and soon worn out.
            count = dot_first(hinge.active, hinge.active, patterns)
            hinge.damping[0] = DAMPING * count if turn >= DAMPED_FROM and count < k else 0.0
            known = ZERO
        if turn < 0 and add >= 0:
            hinge.support[k] = add
            hinge.position[add] = k
            hinge.weights[k] = 0.0
            hinge.k[0] = k + 1
        border_inverse(hinge, known)
        if turn == most or (allowed > 0 and step <= shortest):
            return False
        if turn >= 0:
            # As far as the first signed weight that becomes zero.
            find_step(hinge)
            step, leaving = 1.0, NONE
            for i in range(k):
                if hinge.signed[hinge.support[i]] and hinge.weights[i] + step * hinge.trial[i] < 0.0:
                    step, leaving = hinge.weights[i] / -hinge.trial[i], i
            combine(hinge.columns, hinge.support, hinge.trial, k, hinge.shift)
            longest = step
            if turn > 0 and step > 0.0:
                step = length_of_step(hinge, allowed, shortest, longest)
            add_scaled(hinge.weights, step, hinge.trial, k)
            add_scaled(hinge.margins, step, hinge.shift, patterns)
            above = ZERO
            for pattern in range(patterns):
                above += hinge.margins[pattern] > SEPARATED
            if leaving >= 0 and step == longest:
                # Neither at rest nor stuck: it is tabu, and the others go on.
                hinge.weights[leaving], drop, step = 0.0, leaving, 0.5
                hinge.until[hinge.support[leaving]] = hinge.clock[0] + 4 + int(6 * next_random(hinge.random))
            if above + allowed >= patterns:
                return True
        if drop >= 0:
            drop_column(hinge, drop)
            drop = NONE
    return False


@inlined_kernel()
def find_pulls(hinge: Any) -> None:
    """a_jᵀr for every column, the gradient of E, from the active rows alone."""
    count = ZERO
    for pattern in range(hinge.margins.size):
        if hinge.active[pattern] > 0.5:
            hinge.loose[count] = pattern
            hinge.shift[count] = 1.0 - hinge.margins[pattern]
            count += 1
    combine(hinge.rows, hinge.loose, hinge.shift, count, hinge.pulls)


@inlined_kernel()
def choose_addition(hinge: Any) -> int:
    """The non-tabu column with the largest |a_jᵀr| (1 + 0.2u), u ~ U(−1, 1), which is tabu from now on; −1 if there is none."""
    hinge.clock[0] += 1
    find_pulls(hinge)
    best, largest = NONE, -1.0
    for attempt in range(2):
        for j in range(hinge.position.size):
            if attempt > 0:
                # Everything else was tabu: few variables. Forget the tabus.
                hinge.until[j] = 0
            if hinge.position[j] < 0 and hinge.until[j] <= hinge.clock[0]:
                pull = -10.0 if hinge.signed[j] and hinge.pulls[j] <= 0.0 else abs(hinge.pulls[j])
                size = pull * (1.0 + NOISE * (2.0 * next_random(hinge.random) - 1.0))
                if size > largest:
                    best, largest = j, size
        if best >= 0:
            hinge.until[best] = hinge.clock[0] + 2 + int(6 * next_random(hinge.random))
            break
    return best


@inlined_kernel()
def choose_removal(hinge: Any) -> int:
    """Place of the non-tabu variable that costs least, w_i² / (2[H⁻¹]_ii) (1 + 0.2u), tabu from now on; else the last one in."""
    removal, least = hinge.k[0] - 1, np.inf
    for i in range(hinge.kept, hinge.k[0]):
        if hinge.until[hinge.support[i]] <= hinge.clock[0]:
            cost = hinge.weights[i] ** 2 / hinge.inverse[i, i] * (1.0 + NOISE * (2.0 * next_random(hinge.random) - 1.0))
            if cost < least:
                removal, least = i, cost
    if least < np.inf:
        hinge.until[hinge.support[removal]] = hinge.clock[0] + 4 + int(6 * next_random(hinge.random))
    return removal


@kernel(allocates=False)
def fit_and_swap(hinge: Any, add: int, drop: int, allowed: int, most: int, swaps: int, size: int) -> tuple[int, bool]:
    """Change the support and refit as `refit` does; then up to `swaps` tabu swaps until at most `allowed` are wrong.

    A swap adds the column of largest gradient, refits, drops the variable that costs least, and refits. A column is tabu for a
    few steps after it came or went. Noise keeps the walk from going in circles. The support keeps to `size` columns: where signed
    ones have left it, additions fill it up.
    """
    for half in range(2 * swaps + 1):
        enough = refit(hinge, add, drop, allowed, 0.0, most)
        if half == 2 * swaps or (enough and hinge.k[0] <= size):
            return half // 2, enough and (swaps == 0 or hinge.k[0] <= size)
        if hinge.k[0] > size:
            add, drop, most = NONE, choose_removal(hinge), NEWTON
        else:
            add, drop, most = choose_addition(hinge), NONE, NEWTON_AFTER_ADDITION
            if add < 0:
                break
    return swaps, False
