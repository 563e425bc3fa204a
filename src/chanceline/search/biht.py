"""The paper's greedy-BIHT (Algorithm 1), as it must have been meant and as it is printed, and BIHT at fixed K.

w ← η_K(w + (τ/2) Xᵀ(y − sign(Xw))), with τ = 0.002/P, ε = 1e-8, L = 1000 and a Gaussian start divided by √N.

Working reading: the counter l and the change `err` start anew for every K. As printed they do not, so the inner loop
never runs again after K = 1: K climbs to N while w keeps its single entry and the errors stay.

Weights are counted in units of τ (the update is the same, err is τ|Δw|/N): on ±1 data every sum is then an exact
multiple of ½, so ties and zeros are decided by the algorithm and not by rounding.

Between two sign flips w moves by the same c_S at every iteration, c = Σ a_μ over the wrong patterns, so margins are
linear in time: the jitted version jumps to the next flip and updates c and the velocity of the margins from there.
On ±1 data, where a hundred patterns may flip at every iteration, c is counted from packed signs instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.search.bits import gather_bits, pack_signs, popcount
from chanceline.search.linalg import add_scaled
from chanceline.search.outcome import Candidate
from chanceline.search.problem import Problem

STEP = 0.002  # τ P
TOLERANCE = 1e-8  # ε
MOST = 1000  # L


def threshold(values: NDArray, count: int, fixed: NDArray) -> NDArray:
    """η_K(v | I_f): keep the fixed entries and the largest others, K in all; of equals the first."""
    order = np.argsort(-np.abs(np.where(fixed, 0.0, values)), kind="stable")
    free = order[~fixed[order]][: count - int(fixed.sum())]
    kept = fixed.copy()
    kept[free] = True
    return np.where(kept, values, 0.0)


def greedy_biht_plain(
    columns: NDArray, start: NDArray, kept: int = 0, anew: bool = True, most: int = MOST
) -> tuple[NDArray, int]:
    """Algorithm 1 transcribed line by line (y = 1 since the columns carry the labels): w/τ and the last K.

    `anew` resets l and err for every K (the working reading); without it the algorithm is as printed.
    """
    n, patterns = columns.shape
    tau = STEP / patterns
    rows = np.ascontiguousarray(columns.T)
    w = start / tau
    fixed = np.zeros(n, dtype=bool)
    fixed[n - kept :] = True
    count, l, err = 1 + kept, 0, np.inf
    while True:
        while err > TOLERANCE and l <= most:
            l += 1
            a = w + 0.5 * (columns @ (1.0 - np.sign(rows @ w)))
            before, w = w, threshold(a, count, fixed)
            err = tau * float(np.linalg.norm(w - before)) / n
        fixed |= w != 0.0
        if not np.any(rows @ w < 0.0) or count >= n:
            return w, count
        count += 1
        if anew:
            l, err = 0, np.inf


@njit(cache=True)
def time_to_cross(margin: float, velocity: float, most: int) -> int:
    """Iterations until margin + t·velocity has another sign (t ≥ 1), at most `most`."""
    if margin < 0.0 and velocity > 0.0:
        steps = np.ceil(-margin / velocity)
    elif margin > 0.0 and velocity < 0.0:
        # Zero is a sign of its own, so arriving there is a flip too.
        steps = np.ceil(margin / -velocity)
    elif margin == 0.0 and velocity != 0.0:
        return 1
    else:
        return most
    return most if steps >= most else max(1, int(steps))


@njit(cache=True)
def recount(
    rows: NDArray, gram: NDArray, margins: NDArray, wrong: NDArray, pull: NDArray, drift: NDArray
) -> None:
    """Bring c = Σ ½(1 − sign m_μ) a_μ and the margins' drift A_F c_F up to date with the flips that happened."""
    for pattern in range(margins.size):
        share = 0.5 * (1.0 - np.sign(margins[pattern]))
        if share != wrong[pattern]:
            change = share - wrong[pattern]
            wrong[pattern] = share
            add_scaled(pull, change, rows[pattern], pull.size)
            add_scaled(drift, change, gram[pattern], drift.size)


@njit(cache=True)
def best_free(w: NDArray, pull: NDArray, is_fixed: NDArray) -> tuple[int, float]:
    """Where the largest |w_j + c_j| is off the fixed places (of equals the first), and the largest other |c_j|."""
    best, largest = -1, -1.0
    for j in range(w.size):
        if not is_fixed[j]:
            size = abs(w[j] + pull[j])
            if size > largest:
                best, largest = j, size
    rival = 0.0
    for j in range(w.size):
        if not is_fixed[j] and j != best:
            rival = max(rival, abs(pull[j]))
    return best, rival


@njit(cache=True)
def biht_jumps(
    columns: NDArray, rows: NDArray, gram: NDArray, w: NDArray, is_fixed: NDArray, free: int, done: int, most: int
) -> tuple[int, int]:
    """The inner loop at one K by jumps from flip to flip: (iterations it stands for, the free place at its end).

    gram = A_F A_Fᵀ on the fixed places F; w is zero off F and the free place (−1: none yet).
    """
    n, patterns = columns.shape
    margins, wrong, drift = np.zeros(patterns), np.zeros(patterns), np.zeros(patterns)
    velocity, pull = np.zeros(patterns), np.zeros(n)
    for j in range(n):
        if w[j] != 0.0:
            add_scaled(margins, w[j], columns[j], patterns)
    while done <= most:
        recount(rows, gram, margins, wrong, pull, drift)
        best, rival = best_free(w, pull, is_fixed)
        moved, swapped = 0.0, best != free
        if swapped:
            if free >= 0:
                moved = w[free] ** 2
                add_scaled(margins, -w[free], columns[free], patterns)
                w[free] = 0.0
            free = best
        for j in range(n):
            if is_fixed[j] or j == free:
                moved += pull[j] ** 2
        velocity[:] = drift
        add_scaled(velocity, pull[free], columns[free], patterns)
        settled = moved <= (TOLERANCE * n * patterns / STEP) ** 2
        jump = 1 if settled or swapped else most + 1 - done
        for pattern in range(patterns):
            jump = min(jump, time_to_cross(margins[pattern], velocity[pattern], jump))
        if w[free] * pull[free] < 0.0:
            # The free entry shrinks: stop before another one overtakes it.
            jump = min(jump, max(1, int((abs(w[free]) - rival) / abs(pull[free])) - 1))
        for j in range(n):
            if is_fixed[j] or j == free:
                w[j] += jump * pull[j]
        add_scaled(margins, float(jump), velocity, patterns)
        done += jump
        if settled:
            break
    return done, free


@njit(cache=True)
def count_bits(words: NDArray, mask: NDArray, ones: NDArray, pull: NDArray) -> None:
    """pull_j = 2 Σ a_μj over the patterns in the mask, for ±1 columns: the sum is n − 2·popcount."""
    total = np.int64(0)
    ones[:] = 0
    for word in range(mask.size):
        part, row = mask[word], words[word]
        total += np.int64(popcount(part))
        for j in range(ones.size):
            ones[j] += popcount(row[j] & part)
    for j in range(ones.size):
        pull[j] = 2 * (total - 2 * np.int32(ones[j]))


@njit(cache=True)
def double_pull(
    words: NDArray, signs: NDArray, margins: NDArray, flags: NDArray, wrong: NDArray, ones: NDArray, pull: NDArray
) -> None:
    """pull = 2c = 2Σ_{m<0} a_μ + Σ_{m=0} a_μ; the wrong patterns from packed signs, the few at zero one by one."""
    zeros = 0
    for pattern in range(margins.size):
        flags[pattern] = margins[pattern] < 0.0
        zeros += margins[pattern] == 0.0
    gather_bits(flags, wrong)
    count_bits(words, wrong, ones, pull)
    if zeros:
        for pattern in range(margins.size):
            if margins[pattern] == 0.0:
                for j in range(pull.size):
                    pull[j] += signs[pattern, j]


@njit(cache=True)
def free_place(weight: float, pull: NDArray, unfixed: NDArray, free: int) -> int:
    """The first of the largest |w_j + c_j| off the fixed places, where w is zero but at `free`; pull = 2c."""
    largest = 0
    for j in range(pull.size):
        largest = max(largest, abs(pull[j] * unfixed[j]))
    own = abs(2.0 * weight + pull[free]) if free >= 0 else -1.0
    if own > largest:
        return free
    for j in range(pull.size):
        if unfixed[j] and ((j == free and own == largest) or (j != free and abs(pull[j]) == largest)):
            return j
    # The largest pull was the free place's own, which counts with its weight.
    best, second = free, own
    for j in range(pull.size):
        if unfixed[j] and j != free and (abs(pull[j]) > second or (abs(pull[j]) == second and j < best)):
            best, second = j, float(abs(pull[j]))
    return best


@njit(cache=True)
def move_margins(signs: NDArray, support: NDArray, size: int, step: NDArray, work: NDArray, margins: NDArray) -> None:
    """margins += A_S c_S, step = 2c_S; in 16-bit integers unless the sums might not fit."""
    most = np.int64(0)
    for i in range(size):
        most += abs(step[i])
    if most > 32767:
        for i in range(size):
            add_scaled(margins, 0.5 * step[i], signs[support[i]], margins.size)
        return
    work[:] = 0
    # Four columns at a time: fewer passes over the sums.
    whole = size - size % 4
    for i in range(0, whole, 4):
        a, b, c, d = signs[support[i]], signs[support[i + 1]], signs[support[i + 2]], signs[support[i + 3]]
        p, q, r, t = np.int16(step[i]), np.int16(step[i + 1]), np.int16(step[i + 2]), np.int16(step[i + 3])
        for pattern in range(work.size):
            work[pattern] += p * a[pattern] + q * b[pattern] + r * c[pattern] + t * d[pattern]
    for i in range(whole, size):
        p, a = np.int16(step[i]), signs[support[i]]
        for pattern in range(work.size):
            work[pattern] += p * a[pattern]
    for pattern in range(work.size):
        margins[pattern] += 0.5 * work[pattern]


@njit(cache=True)
def same_entries(first: NDArray, second: NDArray, size: int) -> bool:
    """Whether the leading entries agree; they are compared from the last, which changes soonest."""
    same = 0
    while same < size and first[size - 1 - same] == second[size - 1 - same]:
        same += 1
    return same == size


@njit(cache=True)
def biht_bits(
    signs: NDArray, by_row: NDArray, words: NDArray, w: NDArray, is_fixed: NDArray, free: int, done: int, most: int
) -> tuple[int, int]:
    """The inner loop at one K for ±1 columns on packed signs; as `biht_jumps`.

    A state that returns exactly closes a cycle (Brent's test), and whole turns of it are skipped.
    """
    n, patterns = signs.shape
    margins, work = np.zeros(patterns), np.zeros(patterns, dtype=np.int16)
    flags = np.zeros(64 * words.shape[0], dtype=np.uint8)
    wrong = np.zeros(words.shape[0], dtype=np.uint64)
    pull, ones = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.uint64)
    unfixed = np.ones(n, dtype=np.int32)
    support, step = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32)
    weights, mark = np.zeros(n), np.zeros(n)
    size, mark_free, marked, next_mark = 1, -1, 0, 2
    for j in range(n):
        if w[j] != 0.0:
            add_scaled(margins, w[j], signs[j], patterns)
        if is_fixed[j]:
            support[size - 1], weights[size - 1] = j, w[j]
            unfixed[j] = 0
            size += 1
    # The free place comes last; its weight is zero until it has one.
    last = size - 1
    weights[last] = w[free] if free >= 0 else 0.0
    while done <= most:
        double_pull(words, by_row, margins, flags, wrong, ones, pull)
        best = free_place(weights[last], pull, unfixed, free)
        moved = 0.0
        if best != free:
            moved = weights[last] ** 2
            if free >= 0:
                add_scaled(margins, -weights[last], signs[free], patterns)
            weights[last] = 0.0
            free = best
        support[last] = free
        for i in range(size):
            step[i] = pull[support[i]]
        for i in range(size):
            half = 0.5 * step[i]
            moved += half * half
            weights[i] += half
        move_margins(signs, support, size, step, work, margins)
        done += 1
        if moved <= (TOLERANCE * n * patterns / STEP) ** 2:
            break
        if mark_free == free and same_entries(weights, mark, size):
            done += (done - marked) * ((most + 1 - done) // (done - marked))
            mark_free = -1
        elif done >= next_mark:
            next_mark, marked, mark_free = 2 * done, done, free
            mark[:size] = weights[:size]
    w[:] = 0.0
    for i in range(size):
        w[support[i]] = weights[i]
    return done, free


def greedy_biht(
    columns: NDArray, start: NDArray, kept: int = 0, most: int = MOST, packed: bool = True
) -> Iterator[tuple[NDArray, int, int]]:
    """The working reading, jitted; (w/τ, K, iterations) at the end of every K. `packed` allows the ±1 path."""
    n, patterns = columns.shape
    rows = np.ascontiguousarray(columns.T)
    words = np.ascontiguousarray(pack_signs(columns).T)
    by_bits = packed and words.shape[0] > 0
    signs = columns.astype(np.int8) if by_bits else np.zeros((0, 0), dtype=np.int8)
    by_row = np.ascontiguousarray(signs.T)
    gram = np.zeros((0, 0) if by_bits else (patterns, patterns))
    is_fixed = np.zeros(n, dtype=bool)

    def fix(place: int) -> None:
        is_fixed[place] = True
        if not by_bits:
            gram[:] += np.outer(columns[place], columns[place])

    def inner_loop(free: int, done: int) -> tuple[int, int]:
        if by_bits:
            return biht_bits(signs, by_row, words, w, is_fixed, free, done, most)
        return biht_jumps(columns, rows, gram, w, is_fixed, free, done, most)

    for place in range(n - kept, n):
        fix(place)
    w = start * patterns / STEP
    # The first iteration starts from a dense w.
    w = threshold(w + 0.5 * (columns @ (1.0 - np.sign(rows @ w))), 1 + kept, is_fixed)
    count, free = 1 + kept, int(np.argmax(np.abs(w[: n - kept])))
    iterations, free = inner_loop(free, 1)
    while True:
        yield w, count, iterations
        if not np.any(rows @ w < 0.0) or count >= n:
            return
        if w[free] != 0.0:
            fix(free)
        count += 1
        done, free = inner_loop(-1, 0)
        iterations += done


def gaussian_start(n: int, seed: int) -> NDArray[np.float64]:
    """i.i.d. Gaussian entries divided by √N (multiplied, the algorithm does worse than K = P/2)."""
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(n) / np.sqrt(n)


def _candidate(problem: Problem, w: NDArray, iterations: int) -> Candidate:
    support = np.flatnonzero(w[: problem.n_features])
    return Candidate(support, w[support], float(w[-1]) if problem.intercept else 0.0, iterations)


def run_greedy_biht(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `greedy-biht`: the working reading; it ends by itself, whatever the budget."""
    start = gaussian_start(problem.columns.shape[0], seed)
    last, iterations = start, 0
    for last, _, iterations in greedy_biht(problem.columns, start, problem.kept):  # noqa: B007
        yield iterations
    yield _candidate(problem, last, iterations)


def run_greedy_biht_literal(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `greedy-biht-literal`: Algorithm 1 as printed, which ends with one nonzero weight."""
    start = gaussian_start(problem.columns.shape[0], seed)
    w, count = greedy_biht_plain(problem.columns, start, problem.kept, anew=False)
    yield _candidate(problem, w, count)


def run_biht(problem: Problem, budget: int | None, seed: int, size: int | None = None) -> Iterator[Candidate | int]:
    """Method `biht`: K = `size` variables (P/2 if not given) from w = 0, until consistent or the budget is spent."""
    n, kept = problem.columns.shape[0], problem.kept
    count = min(problem.n_features, max(1, problem.n_samples // 2)) if size is None else size
    if not 1 <= count <= problem.n_features:
        raise InputError(f"BIHT needs a size between 1 and {problem.n_features} variables, but got {count}.")
    columns, rows = problem.columns, np.ascontiguousarray(problem.columns.T)
    fixed = np.zeros(n, dtype=bool)
    fixed[n - kept :] = True
    w = np.zeros(n)
    best, fewest, done = w, problem.n_samples + 1, 0
    for done in range(1, max(MOST if budget is None else budget, 1) + 1):
        w = threshold(w + 0.5 * (columns @ (1.0 - np.sign(rows @ w))), count + kept, fixed)
        errors = int(np.count_nonzero(rows @ w <= 0.0))
        if errors < fewest:
            best, fewest = w, errors
        if errors == 0:
            break
        if done % 100 == 0:
            yield done
    yield _candidate(problem, best, done)
