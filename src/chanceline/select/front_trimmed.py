"""The trimmed squared hinge: E(w) = ½ Σ' (1 − a_μ·w)₊² + ½ ε|w|², where Σ' leaves out the patterns of largest slack.

With e patterns left out it can be made zero exactly where e errors suffice, so that swaps on it search for few errors as
swaps on the squared hinge do for none. Newton on the active patterns, with those forgiven chosen anew at every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inner_kernel, kernel
from chanceline.perceptron.linalg import combine, counter, dot_first, invert

RIDGE = 1e-6
SEPARATED = 1e-9
NEWTON = counter(12)  # steps of a fit


class Trimmed(NamedTuple):
    """State of one trimmed fit.

    Attributes
    ----------
    columns : a_j = y·x_j as (n, P), the kept one (the intercept) last.
    narrow : columns in single precision, for ranking only.
    kept : that many places at the head of the support stay for good.
    k : how many columns are in use, one number.
    support, weights : the columns in use and their weights, in the first k places.
    position : the place of every column in the support, or −1.
    margins : a_μ·w.
    active : 1 for patterns with a margin below 1 that are not forgiven.
    compact : the support's columns on the active patterns.
    inverse : (A_actᵀA_act + ε)⁻¹ in the leading k × k places.
    target : A_actᵀ1.
    trial, shift : the Newton step of the weights and of the margins.
    work : room for the margins to be sorted in.
    slack : r = 1 − a_μ·w of the active patterns, else 0, in single precision.
    pulls : a_jᵀr of every column j.
    """

    columns: NDArray[np.float64]
    narrow: NDArray[np.float32]
    kept: int
    k: NDArray[np.int64]
    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.int64]
    margins: NDArray[np.float64]
    active: NDArray[np.float64]
    compact: NDArray[np.float64]
    inverse: NDArray[np.float64]
    target: NDArray[np.float64]
    trial: NDArray[np.float64]
    shift: NDArray[np.float64]
    work: NDArray[np.float64]
    slack: NDArray[np.float32]
    pulls: NDArray[np.float64]


def make_trimmed(columns: NDArray[np.float64], kept: int, capacity: int) -> Trimmed:
    """Workspace for supports of up to `capacity` columns besides the kept ones."""
    n, patterns = columns.shape
    most = min(capacity + kept, n)
    state = Trimmed(
        columns=columns,
        narrow=columns.astype(np.float32),
        kept=int(kept),
        k=np.zeros(1, dtype=np.int64),
        support=np.zeros(most, dtype=np.int64),
        position=np.full(n, -1, dtype=np.int64),
        weights=np.zeros(most),
        margins=np.zeros(patterns),
        active=np.zeros(patterns),
        compact=np.zeros((most, patterns)),
        inverse=np.zeros((most, most)),
        target=np.zeros(most),
        trial=np.zeros(most),
        shift=np.zeros(patterns),
        work=np.zeros(patterns),
        slack=np.zeros(patterns, dtype=np.float32),
        pulls=np.zeros(n),
    )
    use(state, np.arange(n - kept, n), np.zeros(kept))
    return state


@kernel()
def use(state: Any, support: NDArray, weights: NDArray) -> None:
    """Start from a support (the kept columns first) and weights."""
    for i in range(state.k[0]):
        state.position[state.support[i]] = -1
    state.k[0] = support.size
    for i in range(support.size):
        state.support[i] = support[i]
        state.position[support[i]] = i
        state.weights[i] = weights[i]


@kernel()
def put_in(state: Any, column: int) -> None:
    k = state.k[0]
    state.support[k] = column
    state.position[column] = k
    state.weights[k] = 0.0
    state.k[0] = k + 1


@kernel()
def take_out(state: Any, place: int) -> None:
    last = state.k[0] - 1
    state.position[state.support[place]] = -1
    if place != last:
        state.support[place] = state.support[last]
        state.position[state.support[place]] = place
        state.weights[place] = state.weights[last]
    state.k[0] = last


@inner_kernel()
def smallest_first(values: NDArray, count: int) -> None:
    """Reorder values so that the `count` smallest come first (Hoare's selection)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            return


@inner_kernel()
def trimmed_energy(state: Any, step: float, allowed: int) -> float:
    """½ Σ' (1 − m_μ − step·s_μ)₊² without the `allowed` largest terms."""
    work = state.work
    for pattern in range(work.size):
        work[pattern] = state.margins[pattern] + step * state.shift[pattern]
    if allowed > 0:
        smallest_first(work, allowed)
    total = 0.0
    for place in range(allowed, work.size):
        slack = max(1.0 - work[place], 0.0)
        total += slack * slack
    return 0.5 * total


@inner_kernel()
def choose_active(state: Any, allowed: int) -> tuple[bool, float]:
    """Forgive the `allowed` patterns of smallest margin: (whether the active set changed, smallest margin of the others)."""
    level, quota = -np.inf, 0
    lowest = np.inf
    if allowed > 0:
        for pattern in range(state.work.size):
            state.work[pattern] = state.margins[pattern]
        smallest_first(state.work, allowed)
        for place in range(allowed):
            level = max(level, state.work[place])
        quota = allowed
        for place in range(allowed):
            quota -= state.work[place] < level
    changed = False
    for pattern in range(state.margins.size):
        margin = state.margins[pattern]
        forgiven = margin < level
        if margin == level and quota > 0:
            forgiven = True
            quota -= 1
        if not forgiven:
            lowest = min(lowest, margin)
        active = 1.0 if margin < 1.0 and not forgiven else 0.0
        changed = changed or active != state.active[pattern]
        state.active[pattern] = active
    return changed, lowest


@inner_kernel()
def solve_active(state: Any) -> None:
    """inverse and target on the active patterns; trial = the Newton step."""
    k = state.k[0]
    count = 0
    for pattern in range(state.active.size):
        if state.active[pattern] > 0.0:
            for i in range(k):
                state.compact[i, count] = state.columns[state.support[i], pattern]
            count += 1
    for i in range(k):
        for j in range(i + 1):
            state.inverse[i, j] = dot_first(state.compact[i], state.compact[j], count)
        state.inverse[i, i] += RIDGE
        total = 0.0
        for place in range(count):
            total += state.compact[i, place]
        state.target[i] = total
    invert(state.inverse, k)
    for i in range(k):
        state.trial[i] = dot_first(state.inverse[i], state.target, k) - state.weights[i]


@kernel()
def fit_trimmed(state: Any, allowed: int, most: int) -> bool:
    """Newton with a halving line search; True as soon as at most `allowed` margins are not positive."""
    k = state.k[0]
    combine(state.columns, state.support, state.weights, k, state.margins)
    choose_active(state, allowed)
    for _ in range(most):
        solve_active(state)
        combine(state.columns, state.support, state.trial, k, state.shift)
        ridge = 0.5 * RIDGE
        norm = ridge * dot_first(state.weights, state.weights, k)
        cross = 2.0 * ridge * dot_first(state.weights, state.trial, k)
        curve = ridge * dot_first(state.trial, state.trial, k)
        before = trimmed_energy(state, 0.0, allowed) + norm
        step = 1.0
        while step > 1e-3 and trimmed_energy(state, step, allowed) + norm + step * (cross + step * curve) > before:
            step *= 0.5
        for i in range(k):
            state.weights[i] += step * state.trial[i]
        for pattern in range(state.margins.size):
            state.margins[pattern] += step * state.shift[pattern]
        changed, lowest = choose_active(state, allowed)
        if lowest > SEPARATED:
            return True
        if not changed and step == 1.0:
            return False
        if step <= 1e-3:
            return False
    return False
