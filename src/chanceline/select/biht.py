"""The paper's greedy-BIHT (Algorithm 1), and binary iterative hard thresholding at fixed K.

w ← η_K(w + (τ/2) Xᵀ(y − sign(Xw))), with τ = 0.002/P, ε = 1e-8, L = 1000 and a Gaussian start
divided by √N. The hard threshold η_K keeps the K largest entries.

Working reading: the counter l and the change `err` start anew for every K. As printed they do not,
so the inner loop never runs again after K = 1: K climbs to N while w keeps its single entry and the
errors stay.

Weights are counted in units of τ (the update is the same, err is τ|Δw|/N): on ±1 data every sum is
then an exact multiple of ½, so ties and zeros are decided by the algorithm and not by rounding.

Up to a hundred patterns flip at every iteration, but most of them flip back at the next: the
weights swing with period two and drift slowly. So the compiled loop brings the gradient of the
wrong patterns, and the velocity of the margins, up to date from those of two iterations ago.

All arrays `columns` have the shape (features, samples) and carry the labels, so that y = 1; the
last `n_unpenalized` of them (the intercept) always have a weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import whole_number
from chanceline.kernels.compile import inlined_kernel, inner_kernel, kernel
from chanceline.kernels.vectors import add_scaled
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate

STEP_TIMES_SAMPLES = 0.002  # τ P
MIN_CHANGE = 1e-8  # ε
MAX_ITERATIONS = 1000  # L, for every K
ITERATIONS_A_REPORT = 100  # of `biht`, between two chances to interrupt


def in_units_of_tau(weights: Floats, n_samples: int) -> Floats:
    """w/τ, with the step size τ = STEP_TIMES_SAMPLES / P for P = `n_samples`."""
    return weights * n_samples / STEP_TIMES_SAMPLES


def hard_threshold(values: Floats, n_nonzero: int, is_fixed: NDArray[np.bool_]) -> Floats:
    """η_K(v | I_f): `values` v, (features,), with all but K = `n_nonzero` entries set to zero.

    The entries kept are the fixed ones, I_f, and the largest of the others; of equals the first.
    """
    sizes = np.abs(np.where(is_fixed, 0.0, values))
    order = np.argsort(-sizes, kind="stable")
    n_free = n_nonzero - int(is_fixed.sum())
    free_places = order[~is_fixed[order]]  # the largest first

    is_nonzero = is_fixed.copy()
    is_nonzero[free_places[:n_free]] = True
    return np.where(is_nonzero, values, 0.0)


def gradient_step(columns: Floats, rows: Floats, weights: Floats) -> Floats:
    """w + ½ Xᵀ(1 − sign(Xw)), (features,): what the threshold is applied to; `rows` = columnsᵀ."""
    return weights + 0.5 * (columns @ (1.0 - np.sign(rows @ weights)))


class LoopState(NamedTuple):
    """Where the inner loop of Algorithm 1 stands.

    Attributes
    ----------
    weights : (features,) w/τ.
    iterations : the paper's l.
    change : the paper's err, τ|Δw|/N of the last iteration.
    """

    weights: Floats
    iterations: int
    change: float


def start_of_loop(weights: Floats) -> LoopState:
    """The state with which the inner loop begins."""
    return LoopState(weights=weights, iterations=0, change=np.inf)


def plain_loop(
    columns: Floats,
    state: LoopState,
    n_nonzero: int,
    is_fixed: NDArray[np.bool_],
    max_iterations: int,
) -> LoopState:
    """The inner loop of Algorithm 1 at K = `n_nonzero`, transcribed line by line.

    Every iteration is a gradient step and a threshold that leaves K weights, those at the places
    `is_fixed`, (features,), among them. It ends when the change is at most ε (MIN_CHANGE), or when
    iterations exceed L = `max_iterations`.

    `columns`, (features, samples), carry the labels. Weights are w/τ, so the change of w itself is
    τ times theirs.
    """
    n_features, n_samples = columns.shape
    rows = np.ascontiguousarray(columns.T)
    tau = STEP_TIMES_SAMPLES / n_samples

    weights, iterations, change = state
    while change > MIN_CHANGE and iterations <= max_iterations:
        iterations += 1
        before = weights
        weights = hard_threshold(gradient_step(columns, rows, before), n_nonzero, is_fixed)
        change = tau * float(np.linalg.norm(weights - before)) / n_features
    return LoopState(weights, iterations, change)


def greedy_biht_plain(
    columns: Floats,
    start: Floats,
    n_unpenalized: int = 0,
    *,
    resets: bool = True,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Floats, int]:
    """Algorithm 1 of the paper, greedy-BIHT, transcribed: the last weights, and the last K.

    K, the number of weights that are not zero, grows by one until no pattern is wrong; at every K
    the inner loop runs (`plain_loop`), and the places that are not zero then are fixed.

    All weights but `start` are kept, and returned, divided by the paper's step size τ: a step of
    the loop then adds the wrong patterns to them, without a factor (½ of one on the threshold).

    Parameters
    ----------
    columns : (features, samples), with the labels: y·x.
    start : (features,) weights to begin with, as in the paper, not divided by τ.
    n_unpenalized : so many of the last columns (the intercept) are fixed from the beginning; K
        counts them.
    resets : whether the inner loop's count of iterations (the paper's l) and last change (its err)
        start anew for every K, the working reading; without it the algorithm is as printed, and
        the inner loop never runs again after the first K.
    max_iterations : of the inner loop, the paper's L.
    """
    n_features, n_samples = columns.shape
    rows = np.ascontiguousarray(columns.T)
    is_fixed = np.arange(n_features) >= n_features - n_unpenalized
    n_nonzero = 1 + n_unpenalized  # K
    state = start_of_loop(in_units_of_tau(start, n_samples))
    while True:
        state = plain_loop(columns, state, n_nonzero, is_fixed, max_iterations)
        is_fixed |= state.weights != 0.0
        has_wrong_pattern = np.any(rows @ state.weights < 0.0)
        if not has_wrong_pattern or n_nonzero >= n_features:
            return state.weights, n_nonzero

        n_nonzero += 1
        if resets:
            state = start_of_loop(state.weights)


@inner_kernel()
def compute_margins(columns: NDArray, weights: NDArray, margins: NDArray) -> None:
    """margins = Σ_j w_j a_j, from nothing."""
    margins[:] = 0.0
    for j in range(weights.size):
        if weights[j] != 0.0:
            add_scaled(margins, weights[j], columns[j], margins.size)


@inner_kernel()
def update_sums(  # noqa: PLR0913
    rows: NDArray,
    gram: NDArray,
    margins: NDArray,
    wrong: NDArray,
    gradient: NDArray,
    velocity: NDArray,
) -> None:
    """Bring `wrong`, and the two sums over wrong patterns, from former margins to the present ones.

    Only patterns where `wrong` differs from before cost anything. If wrong_μ rises by δ, the
    gradient rises by δ a_μ, and the velocity A_F A_Fᵀ wrong by δ times row μ of A_F A_Fᵀ.

    Parameters
    ----------
    rows : (samples, features) the a_μ.
    gram : (samples, samples) A_F A_Fᵀ, the products of patterns on the fixed places F.
    margins : (samples,) m = A w.
    wrong : (samples,) ½ (1 − sign m_μ): 1 if wrong, 0 if right, ½ on the threshold; changed.
    gradient : (features,) c = Σ_μ wrong_μ a_μ, the step of the weights; changed.
    velocity : (samples,) A_F c_F, the step that F makes in the margins; changed.
    """
    for pattern in range(margins.size):
        wrong_now = 0.5 * (1.0 - np.sign(margins[pattern]))
        if wrong_now != wrong[pattern]:
            change = wrong_now - wrong[pattern]
            wrong[pattern] = wrong_now
            add_scaled(gradient, change, rows[pattern], gradient.size)
            add_scaled(velocity, change, gram[pattern], velocity.size)


@inlined_kernel()
def largest_free(weights: NDArray, gradient: NDArray, is_fixed: NDArray) -> int:
    """The place, among those not fixed, of the largest |w_j + c_j|; of equals the first.

    `weights` w, `gradient` c and `is_fixed` have shape (features,). −1 if all places are fixed.
    """
    best = -1
    largest = -1.0
    for j in range(weights.size):
        if not is_fixed[j] and abs(weights[j] + gradient[j]) > largest:
            best = j
            largest = abs(weights[j] + gradient[j])
    return best


@inlined_kernel()
def clear_weight(
    columns: NDArray, weights: NDArray, margins: NDArray, place: int, is_from_start: bool
) -> None:
    """Set w_j at the place j to zero, and take w_j a_j off the margins (samples,).

    On ±1 data a weight that has grown from zero is a multiple of ½, and taking it off is exact. One
    that still has the Gaussian start in it (`is_from_start`) would leave its rounding in the
    margins: they are computed anew.
    """
    leaving = weights[place]
    weights[place] = 0.0
    if is_from_start:
        compute_margins(columns, weights, margins)
    else:
        add_scaled(margins, -leaving, columns[place], margins.size)


@kernel()
def biht_steps(  # noqa: PLR0913
    columns: NDArray,
    rows: NDArray,
    gram: NDArray,
    weights: NDArray,
    is_fixed: NDArray,
    free_place: int,
    iterations: int,
    max_iterations: int,
    min_squared_change: float,
) -> int:
    """The inner loop at one K, where all places with a weight but one are fixed; the iterations.

    One iteration is w ← η_K(w + c), where c, the gradient, is the sum of the wrong patterns a_μ.
    With a single free place that is

    - sums: c, and the velocity A_F c_F by which the fixed places F move the margins m = A w;
    - threshold: the free place is the one of largest |w_j + c_j| outside F. If it was another
      before, that one's weight is set to zero;
    - step: w_j += c_j on F and on the free place j, and m += A_F c_F + c_j a_j.

    Signs swing with period two, so that few patterns have changed since the iteration before the
    last. So even and odd iterations have sums of their own, each brought up to date from two
    iterations ago; at first no pattern is wrong in them and both sums are zero.

    Parameters
    ----------
    columns, rows : A as (features, samples) and as (samples, features).
    gram : A_F A_Fᵀ on the fixed places F, (samples, samples).
    weights : (features,) w/τ, changed in place; zero but for F and the free place.
    is_fixed : (features,) F. At least one place is not fixed.
    free_place : the free place if it has a weight, that of the Gaussian start; else −1, and the
        first iteration chooses a place.
    iterations : done before; even and odd ones go on from there.
    max_iterations : it ends when the iterations exceed this, the paper's L.
    min_squared_change : it ends when |Δw|² is no more than this.
    """
    n_features, n_samples = columns.shape
    margins = np.zeros(n_samples)
    compute_margins(columns, weights, margins)

    # Row 0 belongs to even iterations, row 1 to odd ones.
    wrong_by_parity = np.zeros((2, n_samples))
    gradient_by_parity = np.zeros((2, n_features))
    velocity_by_parity = np.zeros((2, n_samples))

    # Whether the free weight has the Gaussian start in it. Later ones grow from zero, which makes
    # them exact on ±1 data, and cheap to clear.
    is_from_start = free_place >= 0
    while iterations <= max_iterations:
        parity = iterations & 1
        gradient = gradient_by_parity[parity]
        velocity = velocity_by_parity[parity]
        update_sums(rows, gram, margins, wrong_by_parity[parity], gradient, velocity)

        # The threshold: another place may be the free one now, and the weight of the former goes.
        squared_change = 0.0
        best_place = largest_free(weights, gradient, is_fixed)
        if best_place != free_place:
            if free_place >= 0:
                squared_change = weights[free_place] ** 2
                clear_weight(columns, weights, margins, free_place, is_from_start)
            free_place = best_place
            is_from_start = False

        # The step, on the fixed places and the free one, which there is now.
        for j in range(n_features):
            if is_fixed[j] or j == free_place:
                squared_change += gradient[j] ** 2
                weights[j] += gradient[j]
        add_scaled(margins, 1.0, velocity, n_samples)
        add_scaled(margins, gradient[free_place], columns[free_place], n_samples)

        iterations += 1
        if squared_change <= min_squared_change:
            break
    return iterations


class GreedyStep(NamedTuple):
    """Greedy-BIHT at the end of one K: w/τ, (features,); K; and the iterations done in all."""

    weights: Floats
    n_nonzero: int
    iterations: int


def greedy_biht(
    columns: Floats, start: Floats, n_unpenalized: int = 0, max_iterations: int = MAX_ITERATIONS
) -> Iterator[GreedyStep]:
    """Algorithm 1 in the working reading, compiled; yields at the end of every K.

    K, the number of weights that are not zero, grows until no pattern is wrong. At every K one
    place is free and all others that have a weight are fixed, so that the compiled loop,
    `biht_steps`, does; in the rare other case the plain one.

    `columns`, (features, samples), carry the labels; the last `n_unpenalized` (the intercept)
    always have a weight. `start`, (features,), is in the paper's units, the weights yielded are in
    those of the step τ. `max_iterations` are those at one K.
    """
    n_features, n_samples = columns.shape
    rows = np.ascontiguousarray(columns.T)
    # err = τ|Δw|/N ≤ ε as a condition on |Δw|² in units of τ.
    min_squared_change = (MIN_CHANGE * n_features * n_samples / STEP_TIMES_SAMPLES) ** 2

    # The fixed places F, and A_F A_Fᵀ.
    unpenalized = np.arange(n_features - n_unpenalized, n_features)
    is_fixed = np.zeros(n_features, dtype=bool)
    is_fixed[unpenalized] = True
    gram = columns[unpenalized].T @ columns[unpenalized]

    # The first iteration starts from a dense w; the threshold leaves one free place.
    n_nonzero = 1 + n_unpenalized  # K
    weights = in_units_of_tau(start, n_samples)
    weights = hard_threshold(gradient_step(columns, rows, weights), n_nonzero, is_fixed)
    iterations = biht_steps(
        columns=columns,
        rows=rows,
        gram=gram,
        weights=weights,
        is_fixed=is_fixed,
        free_place=int(np.argmax(np.abs(weights[: n_features - n_unpenalized]))),
        iterations=1,
        max_iterations=max_iterations,
        min_squared_change=min_squared_change,
    )
    while True:
        yield GreedyStep(weights, n_nonzero, iterations)
        has_wrong_pattern = np.any(rows @ weights < 0.0)
        if not has_wrong_pattern or n_nonzero >= n_features:
            return

        # Fix what is not zero, and go on with one place more.
        newly_fixed = np.flatnonzero((weights != 0.0) & ~is_fixed)
        is_fixed[newly_fixed] = True
        gram += columns[newly_fixed].T @ columns[newly_fixed]
        n_nonzero += 1

        n_free = n_nonzero - np.count_nonzero(is_fixed)
        if n_free == 1:
            iterations += biht_steps(
                columns=columns,
                rows=rows,
                gram=gram,
                weights=weights,
                is_fixed=is_fixed,
                free_place=-1,  # none has a weight yet
                iterations=0,
                max_iterations=max_iterations,
                min_squared_change=min_squared_change,
            )
        else:
            # A free place that ended at zero was not fixed, so there is more than one now.
            state = plain_loop(columns, start_of_loop(weights), n_nonzero, is_fixed, max_iterations)
            weights = state.weights
            iterations += state.iterations


def gaussian_start(n_features: int, seed: int) -> Floats:
    """i.i.d. Gaussian entries divided by √N (multiplied, the algorithm does worse than K = P/2)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.standard_normal(n_features) / np.sqrt(n_features)


def _candidate(problem: Problem, weights: Floats, iterations: int) -> Candidate:
    """The candidate of weights (features [+ 1],) on all columns: those that are zero stay out."""
    support = np.flatnonzero(weights[: problem.n_features])
    constant = 0.0
    if problem.intercept:
        constant = float(weights[-1])
    return Candidate(
        support=support, weights=weights[support], constant=constant, iterations=iterations
    )


def run_greedy_biht(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `greedy-biht`: the working reading; it ends by itself, whatever the budget."""
    start = gaussian_start(problem.columns.shape[0], seed)
    last = GreedyStep(weights=start, n_nonzero=0, iterations=0)
    for step in greedy_biht(problem.columns, start, problem.n_unpenalized):
        last = step
        yield step.iterations
    yield _candidate(problem, last.weights, last.iterations)


def run_biht(
    problem: Problem, budget: int | None, seed: int, size: int | None = None
) -> Iterator[Candidate | int]:
    """Method `biht`: K = `size` variables (by default P/2) from w = 0.

    Every iteration is a gradient step and a threshold to the K largest weights, besides that of
    the intercept. It goes on until no pattern is wrong or the budget of iterations is spent (None:
    a thousand), and yields the weights of fewest errors.
    """
    if size is None:
        size = max(1, min(problem.n_features, problem.n_samples // 2))
    size = whole_number(
        size, "The size, a number of variables,", at_least=1, at_most=problem.n_features
    )
    n_nonzero = size + problem.n_unpenalized
    max_iterations = MAX_ITERATIONS
    if budget is not None:
        max_iterations = max(budget, 1)  # from w = 0 one iteration is needed to have any weights

    columns = problem.columns
    rows = np.ascontiguousarray(columns.T)
    n_columns = columns.shape[0]
    is_fixed = np.arange(n_columns) >= problem.n_features  # the intercept
    weights = np.zeros(n_columns)
    best_weights = weights
    fewest_errors = problem.n_samples + 1  # more than any weights make
    iterations = 0
    for iterations in range(1, max_iterations + 1):
        weights = hard_threshold(gradient_step(columns, rows, weights), n_nonzero, is_fixed)
        errors = int(np.count_nonzero(rows @ weights <= 0.0))
        if errors < fewest_errors:
            best_weights = weights
            fewest_errors = errors
        if errors == 0:
            break
        if iterations % ITERATIONS_A_REPORT == 0:
            yield iterations
    yield _candidate(problem, best_weights, iterations)
