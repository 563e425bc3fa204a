"""Jitted loops on the squared hinge E(w) = ½ Σ_μ (1 − a_μ·w)₊² + ½ ε|w|² over a changing support.

The inverse of the active Hessian, (A_actᵀA_act + εI)⁻¹, follows every change by an update of low rank: patterns that
become active or inactive, a variable that is added or dropped. A refit then costs a few matrix–vector products.

Kernels are loops over scalars: array expressions and slice assignments compile ten times slower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inner_kernel, kernel
from chanceline.perceptron.linalg import (
    FAST,
    FOUR,
    ZERO,
    add_scaled,
    border,
    combine,
    dot_first,
    dot_masked,
    four_products,
    next_pivot,
    rank_four,
    unborder,
)

RIDGE = 1e-6
SEPARATED = 1e-9  # all margins above this: separable
UNSTABLE = 1e-5  # a smaller pivot: the inverse is computed anew
MAX_NEWTON = 200  # steps of a refit, which as a rule ends within a dozen
REBUILD_AFTER = 2000  # flips after which the inverse is computed anew, against drift


class Hinge(NamedTuple):
    """State of one squared-hinge fit.

    Attributes
    ----------
    columns, rows : A = y·x as (n, P) and as (P, n).
    narrow : columns in single precision, for ranking only.
    kept : that many places at the head of the support stay for good (the intercept).
    ridge : ε.
    k : how many columns are in use, one number.
    support, weights : the columns in use and their weights, in the first k places.
    position : the place of every column in the support, or −1.
    margins : a_μ·w.
    active : 1 where a_μ·w < 1, else 0, as the inverse has it.
    inverse : (A_actᵀA_act + εI)⁻¹ in the leading k × k places.
    target : A_actᵀ1.
    flips_since_rebuild : how many patterns the inverse was updated for, one number.
    trial, shift : the Newton step of the weights and of the margins.
    flipped, images, factors : work space for four patterns that flip, and what the inverse makes of them.
    loose : work space for patterns with slack, or about to flip.
    pulls : a_jᵀr of every column j, r = (1 − Aw)₊ the slack.
    """

    columns: NDArray[np.float64]
    rows: NDArray[np.float64]
    narrow: NDArray[np.float32]
    kept: int
    ridge: float
    k: NDArray[np.int64]
    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.int64]
    margins: NDArray[np.float64]
    active: NDArray[np.float64]
    inverse: NDArray[np.float64]
    target: NDArray[np.float64]
    flips_since_rebuild: NDArray[np.int64]
    trial: NDArray[np.float64]
    shift: NDArray[np.float64]
    flipped: NDArray[np.float64]
    images: NDArray[np.float64]
    factors: NDArray[np.float64]
    loose: NDArray[np.int64]
    pulls: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many columns are in use, the kept ones among them."""
        return int(self.k[0])


def make_hinge(columns: NDArray[np.float64], capacity: int, kept: int = 0, ridge: float = RIDGE) -> Hinge:
    """Workspace for supports of up to `capacity` columns; the last `kept` columns belong to every support."""
    n, patterns = columns.shape
    capacity = min(capacity, n)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    hinge = Hinge(
        columns=columns,
        rows=np.ascontiguousarray(columns.T),
        narrow=columns.astype(np.float32),
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
        flips_since_rebuild=np.zeros(1, dtype=np.int64),
        trial=np.zeros(capacity),
        shift=np.zeros(patterns),
        flipped=np.zeros((FOUR, capacity)),
        images=np.zeros((FOUR, capacity)),
        factors=np.zeros(FOUR),
        loose=np.zeros(patterns, dtype=np.int64),
        pulls=np.zeros(n),
    )
    set_support(hinge, np.arange(n - kept, n), np.zeros(kept))
    return hinge


@inner_kernel()
def border_inverse(hinge: Any, size: int) -> None:
    """Let the inverse of the first `size` columns of the support, and the target, take in the next one."""
    column, cross, patterns = hinge.columns[hinge.support[size]], hinge.flipped[0], hinge.margins.size
    for i in range(size):
        cross[i] = dot_masked(hinge.columns[hinge.support[i]], column, hinge.active)
    diagonal = dot_masked(column, column, hinge.active) + hinge.ridge
    pivot = next_pivot(hinge.inverse, size, cross, diagonal, hinge.trial)
    border(hinge.inverse, size, max(pivot, hinge.ridge), hinge.trial)
    hinge.target[size] = dot_first(column, hinge.active, patterns)


@kernel()
def rebuild(hinge: Any) -> None:
    """Margins, active set and inverse Hessian from support and weights, without updates."""
    k = hinge.k[0]
    combine(hinge.columns, hinge.support, hinge.weights, k, hinge.margins)
    for pattern in range(hinge.margins.size):
        hinge.active[pattern] = 1.0 if hinge.margins[pattern] < 1.0 else 0.0
    for size in range(k):
        border_inverse(hinge, size)
    hinge.flips_since_rebuild[0] = 0


def set_support(hinge: Hinge, support: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Start from a given support and weights (the kept columns first)."""
    hinge.position.fill(-1)
    hinge.k[0] = len(support)
    hinge.support[: len(support)] = support
    hinge.position[support] = np.arange(len(support))
    hinge.weights[: len(support)] = weights
    rebuild(hinge)


@inner_kernel()
def enter_support(hinge: Any, support: NDArray) -> None:
    """`set_support` with weights of zero, for kernels."""
    hinge.position[:] = -1
    hinge.k[0] = support.size
    for i in range(support.size):
        hinge.support[i] = support[i]
        hinge.position[support[i]] = i
        hinge.weights[i] = 0.0
    rebuild(hinge)


@inner_kernel()
def flip_four(hinge: Any, count: int) -> bool:
    """Up to four loose patterns r enter or leave the active set (t = ±1); False if the update would be unstable.

    Sherman and Morrison, one after another: (H + t r rᵀ)⁻¹ = H⁻¹ − u uᵀ / (t + rᵀu), u = H⁻¹r. The inverse is read and
    written once for all four.
    """
    k, rows, images, factors = hinge.k[0], hinge.flipped, hinge.images, hinge.factors
    for b in range(FOUR):
        if b < count:
            pattern = hinge.loose[b]
            factors[b] = 1.0 - 2.0 * hinge.active[pattern]
            hinge.active[pattern] += factors[b]
            for i in range(k):
                rows[b, i] = hinge.rows[pattern, hinge.support[i]]
            add_scaled(hinge.target, factors[b], rows[b], k)
        else:
            factors[b] = 1.0
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


@kernel()
def add_column(hinge: Any, j: int) -> None:
    """Put column j into the support with weight 0."""
    k = hinge.k[0]
    hinge.support[k] = j
    hinge.position[j] = k
    hinge.weights[k] = 0.0
    border_inverse(hinge, k)
    hinge.k[0] = k + 1


@kernel()
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


@inner_kernel(fastmath=FAST)
def energy_at(margins: NDArray, shift: NDArray, step: float) -> float:
    total = 0.0
    for pattern in range(margins.size):
        slack = max(1.0 - margins[pattern] - step * shift[pattern], 0.0)
        total += slack * slack
    return 0.5 * total


@kernel()
def refit(hinge: Any, max_newton: int) -> bool:
    """Newton on the active set with a halving line search; True as soon as every margin is positive.

    Solves (A_actᵀA_act + εI) w = A_actᵀ1, moves there, lets patterns flip, and stops when the active set repeats.
    The first step trusts the active set found, which after one variable came or went is nearly right.
    """
    patterns = hinge.margins.size
    for newton in range(max_newton):
        k = hinge.k[0]
        for i in range(k):
            hinge.trial[i] = dot_first(hinge.inverse[i], hinge.target, k) - hinge.weights[i]
        combine(hinge.columns, hinge.support, hinge.trial, k, hinge.shift)
        step = 1.0
        if newton > 0:
            ridge = 0.5 * hinge.ridge
            norm = ridge * dot_first(hinge.weights, hinge.weights, k)
            cross = 2.0 * ridge * dot_first(hinge.weights, hinge.trial, k)
            curve = ridge * dot_first(hinge.trial, hinge.trial, k)
            before = energy_at(hinge.margins, hinge.shift, 0.0) + norm
            while energy_at(hinge.margins, hinge.shift, step) + norm + step * (cross + step * curve) > before and step > 1e-4:
                step *= 0.5
        add_scaled(hinge.weights, step, hinge.trial, k)
        add_scaled(hinge.margins, step, hinge.shift, patterns)
        above = ZERO
        flips = ZERO
        for pattern in range(patterns):
            margin = hinge.margins[pattern]
            above += margin > SEPARATED
            if (margin < 1.0) != (hinge.active[pattern] > 0.5):
                flips += 1
        if above == patterns:
            return True
        worn = not dot_first(hinge.weights, hinge.weights, k) < np.inf
        if worn:
            # Updates have worn the inverse out: once more from nothing.
            for i in range(k):
                hinge.weights[i] = 0.0
        elif flips == 0 and step == 1.0:
            return False
        # Bring the inverse in line with the margins, by updates or, when there are many, anew.
        hinge.flips_since_rebuild[0] += flips
        settled = not worn and flips <= 4 * k and hinge.flips_since_rebuild[0] <= REBUILD_AFTER
        waiting = ZERO
        for pattern in range(patterns):
            if settled:
                if (hinge.margins[pattern] < 1.0) != (hinge.active[pattern] > 0.5):
                    hinge.loose[waiting] = pattern
                    waiting += 1
                if waiting == FOUR or (waiting > 0 and pattern == patterns - 1):
                    settled = flip_four(hinge, waiting)
                    waiting = ZERO
        if not settled:
            rebuild(hinge)
    return False


@kernel()
def find_pulls(hinge: Any) -> None:
    """a_jᵀr for every column, the gradient of E, from the rows with slack alone: most have none."""
    count = ZERO
    for pattern in range(hinge.margins.size):
        if hinge.margins[pattern] < 1.0:
            hinge.loose[count] = pattern
            hinge.shift[count] = 1.0 - hinge.margins[pattern]
            count += 1
    combine(hinge.rows, hinge.loose, hinge.shift, count, hinge.pulls)


@kernel()
def next_random(state: NDArray) -> float:
    """Uniform on [0, 1) from a splitmix64 counter: the same on every platform and library version."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
