"""The paper's greedy-BIHT (Algorithm 1) as it must have been meant, its plain transcription, and BIHT at fixed K.

w ← η_K(w + (τ/2) Xᵀ(y − sign(Xw))), with τ = 0.002/P, ε = 1e-8, L = 1000 and a Gaussian start divided by √N.

Working reading: the counter l and the change `err` start anew for every K. As printed they do not, so the inner loop
never runs again after K = 1: K climbs to N while w keeps its single entry and the errors stay.

Weights are counted in units of τ (the update is the same, err is τ|Δw|/N): on ±1 data every sum is then an exact
multiple of ½, so ties and zeros are decided by the algorithm and not by rounding.

Up to a hundred patterns flip at every iteration, but most of them flip back at the next: the weights swing with period two
and drift slowly. So the jitted loop brings the pull of the wrong patterns, and the velocity of the margins, up to date from
those of two iterations ago.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import whole_number
from chanceline.kernels.compile import inner_kernel, kernel
from chanceline.kernels.vectors import add_scaled
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate

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


def plain_loop(
    columns: NDArray,
    rows: NDArray,
    w: NDArray,
    count: int,
    fixed: NDArray,
    l: int,
    err: float,
    most: int,
) -> tuple[NDArray, int, float]:
    """The inner loop of Algorithm 1, transcribed line by line (y = 1 since the columns carry the labels)."""
    n, patterns = columns.shape
    tau = STEP / patterns
    while err > TOLERANCE and l <= most:
        l += 1
        a = w + 0.5 * (columns @ (1.0 - np.sign(rows @ w)))
        before, w = w, threshold(a, count, fixed)
        err = tau * float(np.linalg.norm(w - before)) / n
    return w, l, err


def greedy_biht_plain(
    columns: NDArray, start: NDArray, kept: int = 0, anew: bool = True, most: int = MOST
) -> tuple[NDArray, int]:
    """Algorithm 1: w/τ and the last K.

    `anew` resets l and err for every K (the working reading); without it the algorithm is as printed.
    """
    n, patterns = columns.shape
    rows = np.ascontiguousarray(columns.T)
    w = start * patterns / STEP
    fixed = np.arange(n) >= n - kept
    count, l, err = 1 + kept, 0, np.inf
    while True:
        w, l, err = plain_loop(columns, rows, w, count, fixed, l, err, most)
        fixed |= w != 0.0
        if not np.any(rows @ w < 0.0) or count >= n:
            return w, count
        count += 1
        if anew:
            l, err = 0, np.inf


@inner_kernel()
def set_margins(columns: NDArray, w: NDArray, margins: NDArray) -> None:
    margins[:] = 0.0
    for j in range(w.size):
        if w[j] != 0.0:
            add_scaled(margins, w[j], columns[j], margins.size)


@inner_kernel()
def recount(
    rows: NDArray, gram: NDArray, margins: NDArray, wrong: NDArray, pull: NDArray, drift: NDArray
) -> None:
    """Bring c = Σ ½(1 − sign m_μ) a_μ and the margins' drift A_F c_F up to date with the signs that differ."""
    for pattern in range(margins.size):
        share = 0.5 * (1.0 - np.sign(margins[pattern]))
        if share != wrong[pattern]:
            change = share - wrong[pattern]
            wrong[pattern] = share
            add_scaled(pull, change, rows[pattern], pull.size)
            add_scaled(drift, change, gram[pattern], drift.size)


@kernel()
def biht_steps(
    columns: NDArray,
    rows: NDArray,
    gram: NDArray,
    w: NDArray,
    is_fixed: NDArray,
    free: int,
    done: int,
    most: int,
    settled: float,
) -> int:
    """The inner loop at one K; the iterations done.

    gram = A_F A_Fᵀ on the fixed places F; w is zero off F and the free place (−1: none yet); it ends when |Δw|² ≤ `settled`.
    """
    n, patterns = columns.shape
    margins, wrong = np.zeros(patterns), np.zeros((2, patterns))
    drifts, pulls = np.zeros((2, patterns)), np.zeros((2, n))
    holds_start = free >= 0
    set_margins(columns, w, margins)
    while done <= most:
        pull, drift = pulls[done & 1], drifts[done & 1]
        recount(rows, gram, margins, wrong[done & 1], pull, drift)
        best, largest = -1, -1.0
        for j in range(n):
            if not is_fixed[j] and abs(w[j] + pull[j]) > largest:
                best, largest = j, abs(w[j] + pull[j])
        moved = 0.0
        if best != free and free >= 0:
            moved, leaving, w[free] = w[free] ** 2, w[free], 0.0
            if holds_start:
                # It is no multiple of ½: taken off, it would leave its rounding behind in margins that are.
                set_margins(columns, w, margins)
            else:
                add_scaled(margins, -leaving, columns[free], patterns)
        holds_start &= best == free
        free = best
        for j in range(n):
            if is_fixed[j] or j == free:
                moved += pull[j] ** 2
                w[j] += pull[j]
        add_scaled(margins, 1.0, drift, patterns)
        add_scaled(margins, pull[free], columns[free], patterns)
        done += 1
        if moved <= settled:
            break
    return done


def greedy_biht(
    columns: NDArray, start: NDArray, kept: int = 0, most: int = MOST
) -> Iterator[tuple[NDArray, int, int]]:
    """The working reading, jitted; (w/τ, K, iterations) at the end of every K."""
    n, patterns = columns.shape
    rows = np.ascontiguousarray(columns.T)
    gram = np.zeros((patterns, patterns))
    settled = (TOLERANCE * n * patterns / STEP) ** 2
    is_fixed = np.zeros(n, dtype=bool)

    def fix(places: NDArray) -> None:
        is_fixed[places] = True
        gram[:] += columns[places].T @ columns[places]

    fix(np.arange(n - kept, n))
    w = start * patterns / STEP
    # The first iteration starts from a dense w.
    w = threshold(w + 0.5 * (columns @ (1.0 - np.sign(rows @ w))), 1 + kept, is_fixed)
    count = 1 + kept
    free = int(np.argmax(np.abs(w[: n - kept])))
    iterations = biht_steps(columns, rows, gram, w, is_fixed, free, 1, most, settled)
    while True:
        yield w, count, iterations
        if not np.any(rows @ w < 0.0) or count >= n:
            return
        fix(np.flatnonzero((w != 0.0) & ~is_fixed))
        count += 1
        if count - np.count_nonzero(is_fixed) == 1:
            iterations += biht_steps(columns, rows, gram, w, is_fixed, -1, 0, most, settled)
        else:
            # A free place that ended at zero was not fixed, so there is more than one now.
            w, done, _ = plain_loop(columns, rows, w, count, is_fixed, 0, np.inf, most)
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


def run_biht(
    problem: Problem, budget: int | None, seed: int, size: int | None = None
) -> Iterator[Candidate | int]:
    """Method `biht`: K = `size` variables (P/2 if not given) from w = 0, until consistent or the budget is spent."""
    n, kept = problem.columns.shape[0], problem.kept
    wanted = max(1, min(problem.n_features, problem.n_samples // 2)) if size is None else size
    count = whole_number(
        wanted, "The size, a number of variables,", at_least=1, at_most=problem.n_features
    )
    columns, rows = problem.columns, np.ascontiguousarray(problem.columns.T)
    fixed = np.arange(n) >= n - kept
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
