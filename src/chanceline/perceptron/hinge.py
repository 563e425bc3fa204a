"""Jitted loops on the squared hinge E(w) = ½ Σ_μ (1 − a_μ·w)₊² + ½ ε|w|² over a changing support.

The inverse of the active Hessian, (A_actᵀA_act + εI)⁻¹, follows every change by an update of low rank: patterns that
become active or inactive, a variable that is added or dropped. A refit then costs a few matrix–vector products.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from chanceline.perceptron.bits import pack_signs, popcount
from chanceline.perceptron.fourfold import FOUR, add_products, invert_four, overlaps, room_for, times_four, whole_tiles
from chanceline.perceptron.linalg import (
    FAST,
    ZERO,
    add_four,
    add_scaled,
    combine,
    dot,
    dot_first,
    dot_masked,
    invert,
    rank_one,
)

RIDGE = 1e-6
SEPARATED = 1e-9  # all margins above this: separable
UNSTABLE = 1e-5  # a smaller pivot: the inverse is computed anew
REBUILD_AFTER = 1000  # flips after which the inverse is computed anew, against drift

Hinge = namedtuple(
    "Hinge",
    "columns narrow rows bits support position weights margins active packed inverse target trial shift work "
    "size stamp scalars batch flipped images turns coupling",
)
Hinge.__doc__ = """Arrays of one squared-hinge fit.

columns (n, P) and rows (P, n) hold A = y·x twice, narrow is columns in single precision for ranking only, bits the
signs of the columns packed in words when every entry is ±1 (else width 0). support[:k] are the columns in use, the first
`size[1]` of which stay for good (the intercept); position[j] is j's place in support or −1. target = A_actᵀ1.
size = [k, kept, patterns active]; stamp counts the changes since the last rebuild; scalars = [ridge]. batch holds
patterns about to flip; flipped are their rows, images what the inverse makes of them, turns is 1 for a pattern that enters
and −1 for one that leaves, coupling the 4 × 4 matrix of the update.
"""


def make_hinge(columns: NDArray[np.float64], capacity: int, kept: int = 0, ridge: float = RIDGE) -> Hinge:
    """Workspace for supports of up to `capacity` columns; the last `kept` columns belong to every support."""
    n, patterns = columns.shape
    capacity = min(capacity, n)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    bits = pack_signs(columns)
    hinge = Hinge(
        columns=columns,
        narrow=columns.astype(np.float32),
        rows=np.ascontiguousarray(columns.T),
        bits=bits,
        support=np.full(capacity, -1, dtype=np.int64),
        position=np.full(n, -1, dtype=np.int64),
        weights=np.zeros(capacity),
        margins=np.zeros(patterns),
        active=np.ones(patterns),
        packed=np.zeros(bits.shape[1], dtype=np.uint64),
        inverse=np.zeros((capacity, room_for(capacity))),
        target=np.zeros(capacity),
        trial=np.zeros(capacity),
        shift=np.zeros(patterns),
        work=np.zeros(max(capacity, patterns)),
        size=np.array([0, kept, patterns], dtype=np.int64),
        stamp=np.zeros(1, dtype=np.int64),
        scalars=np.array([ridge]),
        batch=np.zeros(FOUR, dtype=np.int64),
        flipped=np.zeros((FOUR, room_for(capacity))),
        images=np.zeros((FOUR, room_for(capacity))),
        turns=np.zeros(FOUR),
        coupling=np.zeros((FOUR, FOUR)),
    )
    set_support(hinge, np.arange(n - kept, n), np.zeros(kept))
    return hinge


# These two get arrays and not the hinge: a call that passes all of its arrays takes longer than they do.


@njit(cache=True)
def toggle(packed: NDArray, pattern: int) -> None:
    if packed.size:
        packed[pattern >> 6] ^= np.uint64(1) << np.uint64(pattern & 63)


@njit(cache=True)
def gram_entry(
    columns: NDArray, active: NDArray, bits: NDArray, packed: NDArray, n_active: int, i: int, j: int
) -> float:
    """Σ over active patterns of a_μi a_μj; n_act − 2·popcount((b_i ^ b_j) & mask) for ±1 columns."""
    if packed.size:
        differ = 0
        for word in range(packed.size):
            differ += popcount((bits[i, word] ^ bits[j, word]) & packed[word])
        return float(n_active - 2 * np.int64(differ))
    return dot_masked(columns[i], columns[j], active)


@njit(cache=True)
def rebuild(hinge: Any) -> None:
    """Margins, active set and inverse Hessian from support and weights, without updates."""
    k = hinge.size[0]
    combine(hinge.columns, hinge.support, hinge.weights, k, hinge.margins)
    hinge.packed[:] = 0
    hinge.size[2] = 0
    for pattern in range(hinge.margins.size):
        if hinge.margins[pattern] < 1.0:
            hinge.active[pattern] = 1.0
            hinge.size[2] += 1
            toggle(hinge.packed, pattern)
        else:
            hinge.active[pattern] = 0.0
    columns, active, bits, packed, n_active = hinge.columns, hinge.active, hinge.bits, hinge.packed, hinge.size[2]
    for i in range(k):
        for j in range(i + 1):
            hinge.inverse[i, j] = gram_entry(columns, active, bits, packed, n_active, hinge.support[i], hinge.support[j])
        hinge.inverse[i, i] += hinge.scalars[0]
        hinge.target[i] = dot(hinge.columns[hinge.support[i]], hinge.active)
    invert(hinge.inverse, k)
    hinge.stamp[0] = 0


@njit(cache=True)
def set_support(hinge: Any, support: NDArray, weights: NDArray) -> None:
    """Start from a given support and weights (the kept columns first)."""
    hinge.position[:] = -1
    hinge.size[0] = support.size
    for i in range(support.size):
        hinge.support[i] = support[i]
        hinge.position[support[i]] = i
        hinge.weights[i] = weights[i]
    rebuild(hinge)


@njit(cache=True)
def flip(hinge: Any, patterns: NDArray, count: int) -> bool:
    """Up to four patterns R enter or leave the active set (T = ±1); False if the update would be unstable.

    Woodbury: (H + RᵀTR)⁻¹ = H⁻¹ − (RH⁻¹)ᵀ (T + RH⁻¹Rᵀ)⁻¹ RH⁻¹.
    """
    k = hinge.size[0]
    hinge.flipped[count:, :k] = 0.0
    hinge.turns[:] = 1.0
    for b in range(count):
        pattern = patterns[b]
        hinge.turns[b] = 1.0 if hinge.active[pattern] == 0.0 else -1.0
        hinge.active[pattern] = 1.0 - hinge.active[pattern]
        hinge.size[2] += int(hinge.turns[b])
        toggle(hinge.packed, pattern)
        row = hinge.rows[pattern]
        for i in range(k):
            hinge.flipped[b, i] = row[hinge.support[i]]
    add_four(hinge.target, hinge.turns, hinge.flipped, k)
    times_four(hinge.inverse, hinge.flipped, hinge.images, k)
    # So that what lies beyond k in the inverse is left alone, and stays finite.
    hinge.images[:, k : whole_tiles(k)] = 0.0
    overlaps(hinge.flipped, hinge.images, hinge.coupling, k)
    for b in range(FOUR):
        hinge.coupling[b, b] += hinge.turns[b]
    if not invert_four(hinge.coupling, hinge.turns, UNSTABLE):
        return False
    for b in range(FOUR):
        for c in range(FOUR):
            hinge.coupling[b, c] = -hinge.coupling[b, c]
    add_products(hinge.inverse, hinge.coupling, hinge.images, k)
    return True


@njit(cache=True)
def add_column(hinge: Any, j: int) -> None:
    """Put column j into the support with weight 0 (bordered inverse)."""
    k = hinge.size[0]
    columns, active, bits, packed, n_active = hinge.columns, hinge.active, hinge.bits, hinge.packed, hinge.size[2]
    for i in range(k):
        hinge.work[i] = gram_entry(columns, active, bits, packed, n_active, hinge.support[i], j)
    diagonal = gram_entry(columns, active, bits, packed, n_active, j, j) + hinge.scalars[0]
    for i in range(k):
        hinge.trial[i] = dot_first(hinge.inverse[i], hinge.work, k)
    schur = max(diagonal - dot_first(hinge.work, hinge.trial, k), hinge.scalars[0])
    rank_one(hinge.inverse, 1.0 / schur, hinge.trial, k)
    for i in range(k):
        hinge.inverse[i, k] = -hinge.trial[i] / schur
        hinge.inverse[k, i] = hinge.inverse[i, k]
    hinge.inverse[k, k] = 1.0 / schur
    hinge.target[k] = dot(hinge.columns[j], hinge.active)
    hinge.support[k] = j
    hinge.position[j] = k
    hinge.weights[k] = 0.0
    hinge.size[0] = k + 1


@njit(cache=True)
def drop_column(hinge: Any, place: int) -> None:
    """Take the variable at this place of the support out (its part of the margins too)."""
    last = hinge.size[0] - 1
    add_scaled(hinge.margins, -hinge.weights[place], hinge.columns[hinge.support[place]], hinge.margins.size)
    hinge.position[hinge.support[place]] = -1
    if place != last:
        hinge.support[place] = hinge.support[last]
        hinge.position[hinge.support[place]] = place
        hinge.weights[place] = hinge.weights[last]
        hinge.target[place] = hinge.target[last]
        for i in range(last + 1):
            hinge.inverse[place, i], hinge.inverse[last, i] = hinge.inverse[last, i], hinge.inverse[place, i]
        for i in range(last + 1):
            hinge.inverse[i, place], hinge.inverse[i, last] = hinge.inverse[i, last], hinge.inverse[i, place]
    for i in range(last):
        hinge.trial[i] = hinge.inverse[last, i]
    rank_one(hinge.inverse, -1.0 / hinge.inverse[last, last], hinge.trial, last)
    hinge.size[0] = last


@njit(cache=True, fastmath=FAST)
def energy_at(margins: NDArray, shift: NDArray, step: float) -> float:
    total = 0.0
    for pattern in range(margins.size):
        slack = max(1.0 - margins[pattern] - step * shift[pattern], 0.0)
        total += slack * slack
    return 0.5 * total


@njit(cache=True)
def refit(hinge: Any, max_newton: int) -> bool:
    """Newton on the active set with a halving line search; True as soon as every margin is positive.

    Solves (A_actᵀA_act + εI) w = A_actᵀ1, moves there, lets patterns flip, and stops when the active set repeats.
    The first step trusts the active set found, which after one variable came or went is nearly right.
    """
    patterns = hinge.margins.size
    for newton in range(max_newton):
        k = hinge.size[0]
        for i in range(k):
            hinge.trial[i] = dot_first(hinge.inverse[i], hinge.target, k) - hinge.weights[i]
        combine(hinge.columns, hinge.support, hinge.trial, k, hinge.shift)
        step = 1.0
        if newton > 0:
            ridge = 0.5 * hinge.scalars[0]
            norm = ridge * dot_first(hinge.weights, hinge.weights, k)
            cross = 2.0 * ridge * dot_first(hinge.weights, hinge.trial, k)
            curve = ridge * dot_first(hinge.trial, hinge.trial, k)
            before = energy_at(hinge.margins, hinge.shift, 0.0) + norm
            while (
                energy_at(hinge.margins, hinge.shift, step) + norm + step * (cross + step * curve) > before
                and step > 1e-4
            ):
                step *= 0.5
        add_scaled(hinge.weights, step, hinge.trial, k)
        add_scaled(hinge.margins, step, hinge.shift, patterns)
        lowest = np.inf
        flips = ZERO
        for pattern in range(patterns):
            margin = hinge.margins[pattern]
            lowest = min(lowest, margin)
            if (margin < 1.0) != (hinge.active[pattern] > 0.5):
                flips += 1
        if lowest > SEPARATED:
            return True
        if flips == 0 and step == 1.0:
            return False
        settle_active(hinge, flips)
    return False


@njit(cache=True)
def settle_active(hinge: Any, flips: int) -> None:
    """Bring the active set and its inverse in line with the margins, by updates or, when there are many, anew."""
    hinge.stamp[0] += flips
    if flips > 4 * hinge.size[0] or hinge.stamp[0] > REBUILD_AFTER:
        rebuild(hinge)
        return
    count = ZERO
    for pattern in range(hinge.margins.size):
        if (hinge.margins[pattern] < 1.0) != (hinge.active[pattern] > 0.5):
            hinge.batch[count] = pattern
            count += 1
            if count == FOUR:
                if not flip(hinge, hinge.batch, count):
                    rebuild(hinge)
                    return
                count = ZERO
    if count > 0 and not flip(hinge, hinge.batch, count):
        rebuild(hinge)


@njit(cache=True)
def slacks(hinge: Any, out: NDArray) -> None:
    """r = (1 − Aw)₊, the residual whose correlations with the columns are the gradient."""
    for pattern in range(out.size):
        out[pattern] = max(1.0 - hinge.margins[pattern], 0.0)


@njit(cache=True)
def next_random(state: NDArray) -> float:
    """Uniform on [0, 1) from a splitmix64 counter: the same on every platform and library version."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
