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
from typing import Any, NamedTuple

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
    """Return w/τ, where the step size of the paper is τ = STEP_TIMES_SAMPLES / `n_samples`."""
    return weights * n_samples / STEP_TIMES_SAMPLES


def hard_threshold(values: Floats, n_nonzero: int, is_fixed: NDArray[np.bool_]) -> Floats:
    """Set all but K = `n_nonzero` entries of a vector to zero; keep the fixed and the largest ones.

    values : (features,) the vector.
    n_nonzero : K, including the fixed entries.
    is_fixed : (features,) entries that are kept in any case. Of the others the largest in absolute
        value are kept; of equal ones the first.
    """
    sizes = np.abs(np.where(is_fixed, 0.0, values))
    order = np.argsort(-sizes, kind="stable")
    n_free = n_nonzero - int(is_fixed.sum())  # entries to keep besides the fixed ones
    free_places = order[~is_fixed[order]]  # the largest entries first

    is_nonzero = is_fixed.copy()
    is_nonzero[free_places[:n_free]] = True
    return np.where(is_nonzero, values, 0.0)


def gradient_step(columns: Floats, rows: Floats, weights: Floats) -> Floats:
    """Return w + ½ Xᵀ(1 − sign(Xw)), (features,): the weights plus the sum of the wrong patterns.

    columns : (features, samples) Xᵀ, with the labels, so that Xw > 0 is correct.
    rows : (samples, features) X, the transpose of `columns`.
    weights : (features,) w, in units of the step size τ.
    """
    margins = rows @ weights
    twice_wrong = 1.0 - np.sign(margins)  # 2 for a wrong pattern, 1 on the threshold, else 0
    return weights + 0.5 * (columns @ twice_wrong)


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
    """Return the state with which the inner loop begins."""
    return LoopState(weights=weights, iterations=0, change=np.inf)


def plain_loop(
    columns: Floats,
    state: LoopState,
    n_nonzero: int,
    is_fixed: NDArray[np.bool_],
    max_iterations: int,
) -> LoopState:
    """Run the inner loop of Algorithm 1 (greedy-BIHT) at K = `n_nonzero`, as the paper prints it.

    Every iteration takes a gradient step, and then sets all but K weights to zero
    (`hard_threshold`). The loop ends when the change of the weights is at most ε (MIN_CHANGE), or
    when the number of iterations exceeds `max_iterations` (the paper's L).

    columns : (features, samples) the features times the labels ±1.
    state : where the loop starts: the weights, divided by the step size τ; the number of iterations
        so far; and the change of the last iteration.
    is_fixed : (features,) weights that are kept in any case.
    """
    n_features, n_samples = columns.shape
    rows = np.ascontiguousarray(columns.T)
    tau = STEP_TIMES_SAMPLES / n_samples

    scaled_weights = state.weights
    iterations = state.iterations
    # The change of an iteration is |Δw|/N. As `scaled_weights` is w/τ, a factor τ comes in.
    change = state.change
    while change > MIN_CHANGE and iterations <= max_iterations:
        iterations += 1
        scaled_weights_before = scaled_weights
        scaled_weights_after_step = gradient_step(columns, rows, scaled_weights_before)
        scaled_weights = hard_threshold(scaled_weights_after_step, n_nonzero, is_fixed)
        change = tau * float(np.linalg.norm(scaled_weights - scaled_weights_before)) / n_features
    return LoopState(scaled_weights, iterations, change)


def greedy_biht_plain(
    columns: Floats,
    start: Floats,
    n_unpenalized: int = 0,
    *,
    resets: bool = True,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Floats, int]:
    """Run Algorithm 1 of the paper, greedy-BIHT, transcribed; return the weights and K at its end.

    K is the number of weights that may differ from zero. At every K the inner loop (`plain_loop`)
    runs, and all weights that are not zero afterwards are fixed: from then on they are kept. K
    grows by one until no pattern (sample times its label) is wrong.

    Parameters
    ----------
    columns : (features, samples) the features times the labels ±1.
    start : (features,) weights to begin with, as in the paper. The weights returned are divided by
        the paper's step size τ.
    n_unpenalized : so many of the last columns (the intercept) are fixed from the beginning; they
        are included in K.
    resets : whether the number of iterations (the paper's l) and the last change (its err) start
        anew for every K. This is the reading that works. Without it the algorithm is as printed:
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
    """Fill `margins`, (samples,), with Σ_j w_j a_j, where the a_j are the rows of `columns`."""
    margins[:] = 0.0
    for j in range(weights.size):
        if weights[j] != 0.0:
            add_scaled(margins, weights[j], columns[j], margins.size)


class WrongSums(NamedTuple):
    """Which patterns a_μ were wrong when last looked at, and two sums over them.

    Attributes
    ----------
    wrong : (samples,) 1 for a wrong pattern, 0 for a correct one, ½ on the threshold.
    gradient : (features,) Σ_μ wrong_μ a_μ, which an iteration adds to the weights.
    velocity : (samples,) Σ_μ wrong_μ gram_μ, with the products gram of the patterns on the fixed
        places: how much the margins change if the gradient is added at the fixed places.
    """

    wrong: NDArray[np.float64]
    gradient: NDArray[np.float64]
    velocity: NDArray[np.float64]


@inner_kernel()
def no_wrong_pattern(n_samples: int, n_features: int) -> WrongSums:
    """Return the sums for no wrong pattern: zeros."""
    return WrongSums(
        wrong=np.zeros(n_samples), gradient=np.zeros(n_features), velocity=np.zeros(n_samples)
    )


@inner_kernel()
def update_sums(sums: Any, rows: NDArray, gram: NDArray, margins: NDArray) -> None:
    """Update which patterns are wrong, and two sums over the wrong patterns, for new margins.

    A pattern is a sample times its label; it is wrong if its margin is negative. It counts 1 if it
    is wrong, ½ if its margin is zero, and 0 if it is correct. The two sums over patterns are

        gradient = Σ count · rows[pattern]    (features,) what an iteration adds to the weights
        velocity = Σ count · gram[pattern]    (samples,) how much this changes the margins

    The margins are the products of the weights with the patterns. So if a pattern is added to the
    weights, the margins change by its dot products with all patterns. (In the velocity only the
    weights at the fixed places change.) Both sums are kept from the last update: only patterns that
    have become wrong or correct since are added or subtracted.

    sums : the `WrongSums`; all its arrays are changed.
    rows : (samples, features) the patterns.
    gram : (samples, samples) dot products of the patterns over the fixed places only.
    margins : (samples,) the present margins.
    """
    counts = sums.wrong  # (samples,) 1, ½ or 0, at the last update
    gradient = sums.gradient
    velocity = sums.velocity
    for pattern in range(margins.size):
        new_count = 0.5 * (1.0 - np.sign(margins[pattern]))  # 1, ½ or 0
        if new_count != counts[pattern]:
            change_of_count = new_count - counts[pattern]
            counts[pattern] = new_count
            # Add change_of_count · row to each sum.
            add_scaled(gradient, change_of_count, rows[pattern], gradient.size)
            add_scaled(velocity, change_of_count, gram[pattern], velocity.size)


@inlined_kernel()
def largest_free(weights: NDArray, gradient: NDArray, is_fixed: NDArray) -> int:
    """Find the place of the largest |w_j + c_j| among those that are not fixed.

    weights, gradient, is_fixed : (features,) w, c, and whether a place is fixed.

    Returns
    -------
    The place, the first one of equals; −1 if all places are fixed.
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
    """Set the weight at one place to zero, and subtract its part from the margins.

    On ±1 data a weight that has grown from zero is a multiple of ½, and the subtraction is exact. A
    weight that still contains the Gaussian start (`is_from_start`) would leave a rounding error:
    then the margins are computed anew.

    columns : (features, samples) the features times the labels.
    weights, margins : (features,) and (samples,), changed.
    place : index of the weight.
    """
    old_weight = weights[place]
    weights[place] = 0.0
    if is_from_start:
        compute_margins(columns, weights, margins)
    else:
        add_scaled(margins, -old_weight, columns[place], margins.size)


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
    """Run the inner loop of greedy-BIHT with one free place; return the number of iterations done.

    A pattern a_μ is a sample times its label; it is wrong if its margin w·a_μ is negative. Only the
    weights at the fixed places and at one free place j differ from zero. An iteration has the steps

        1.  gradient = Σ_wrong a_μ  (patterns of margin zero count half)
        2.  j = the place that is not fixed with the largest |w_j + gradient_j|; the weight at the
            former free place becomes zero
        3.  w_i += gradient_i at every fixed place i, and at i = j
        4.  margins += velocity + gradient_j · (column j)

    The velocity is the change of the margins by all fixed places together. With the dot products of
    the patterns over these places, gram_μν = Σ_fixed i a_μi a_νi, it is Σ_wrong gram_μ.

    Gradient and velocity are not summed anew in every iteration. They are kept from an earlier one,
    and updated for the patterns that have become wrong or correct since.

    Parameters
    ----------
    columns, rows : the features times the labels ±1, as (features, samples) and as (samples,
        features).
    gram : (samples, samples).
    weights : (features,) in units of τ, changed in place; zero outside the fixed and free places.
    is_fixed : (features,) the fixed places. At least one place is not fixed.
    free_place : the place j at the beginning, if it has a weight already (from the Gaussian start).
        Otherwise −1: then the first iteration chooses it.
    iterations : number done before, which the number returned includes.
    max_iterations : the loop ends when `iterations` exceeds this, the paper's L.
    min_squared_change : the loop ends when |Δw|² of an iteration is at most this.
    """
    n_features, n_samples = columns.shape
    margins = np.zeros(n_samples)  # always those of the present weights
    compute_margins(columns, weights, margins)

    # The weights swing with period two: nearly the same patterns are wrong as two iterations ago.
    # So even and odd iterations keep separate sums (gradient and velocity), which change little.
    even_sums = no_wrong_pattern(n_samples, n_features)
    odd_sums = no_wrong_pattern(n_samples, n_features)

    # Whether the free weight still contains the Gaussian start. Later free weights grow from zero.
    is_from_start = free_place >= 0
    while iterations <= max_iterations:
        # Step 1. Bring the gradient and the velocity of two iterations ago up to date.
        sums = even_sums
        if iterations % 2 == 1:
            sums = odd_sums
        update_sums(sums, rows, gram, margins)
        gradient = sums.gradient
        velocity = sums.velocity

        # Step 2. Move the free place. Its former weight becomes zero, which changes the margins. On
        # ±1 data they are updated without rounding error, unless the weight contains the Gaussian
        # start: then `clear_weight` computes them anew.
        squared_change = 0.0  # |Δw|² of this iteration
        new_free_place = largest_free(weights, gradient, is_fixed)
        if new_free_place != free_place:
            if free_place >= 0:
                squared_change = weights[free_place] ** 2
                clear_weight(columns, weights, margins, free_place, is_from_start)
            free_place = new_free_place
            is_from_start = False

        # Step 3.
        for j in range(n_features):
            if is_fixed[j] or j == free_place:
                squared_change += gradient[j] ** 2
                weights[j] += gradient[j]

        # Step 4.
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
    """Run greedy-BIHT in the reading that works, compiled; yield the weights at the end of every K.

    K, the number of weights that are not zero, grows until no pattern is wrong. At every K all
    places that have a weight become fixed, and one new place is free, for which the compiled loop
    `biht_steps` is made. In the rare case of more than one free place the plain loop runs.

    columns : (features, samples) the features times the labels ±1.
    start : (features,) weights to begin with, in the units of the paper; the weights yielded are in
        units of the step size τ.
    n_unpenalized : so many of the last columns (the intercept) always have a weight.
    max_iterations : at one K, the paper's L.
    """
    n_features, n_samples = columns.shape
    rows = np.ascontiguousarray(columns.T)
    # The paper's condition τ|Δw|/N ≤ ε, as one on |Δw|² with w in units of τ.
    min_squared_change = (MIN_CHANGE * n_features * n_samples / STEP_TIMES_SAMPLES) ** 2

    # The fixed places, and the products of the patterns with each other on these places.
    unpenalized = np.arange(n_features - n_unpenalized, n_features)
    is_fixed = np.zeros(n_features, dtype=bool)
    is_fixed[unpenalized] = True
    gram = columns[unpenalized].T @ columns[unpenalized]

    # The first iteration starts from weights at all places; the threshold leaves one free place.
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

        # Fix the places that are not zero, and continue with one place more.
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
                free_place=-1,  # no free place has a weight yet
                iterations=0,
                max_iterations=max_iterations,
                min_squared_change=min_squared_change,
            )
        else:
            # The free place has ended at weight zero and was not fixed: now more than one is free.
            state = plain_loop(columns, start_of_loop(weights), n_nonzero, is_fixed, max_iterations)
            weights = state.weights
            iterations += state.iterations


def gaussian_start(n_features: int, seed: int) -> Floats:
    """Draw i.i.d. Gaussian weights divided by √N.

    (Multiplied by √N, the algorithm does worse than K = P/2.)
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.standard_normal(n_features) / np.sqrt(n_features)


def _candidate(problem: Problem, weights: Floats, iterations: int) -> Candidate:
    """Make a candidate of weights on all columns, (features [+ 1],): zeros are left out."""
    support = np.flatnonzero(weights[: problem.n_features])
    constant = 0.0
    if problem.intercept:
        constant = float(weights[-1])
    return Candidate(
        support=support, weights=weights[support], constant=constant, iterations=iterations
    )


def run_greedy_biht(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `greedy-biht`, in the reading that works; it ends by itself, whatever the budget."""
    start = gaussian_start(problem.columns.shape[0], seed)
    last = GreedyStep(weights=start, n_nonzero=0, iterations=0)
    for step in greedy_biht(problem.columns, start, problem.n_unpenalized):
        last = step
        yield step.iterations
    yield _candidate(problem, last.weights, last.iterations)


def run_biht(
    problem: Problem, budget: int | None, seed: int, size: int | None = None
) -> Iterator[Candidate | int]:
    """Method `biht`: binary iterative hard thresholding at a fixed number of variables, from w = 0.

    Every iteration takes a gradient step, and then sets all weights to zero except the `size`
    largest ones and that of the intercept. The search ends when no sample is misclassified, or
    after `budget` iterations.

    It yields two kinds of things: now and then the number of iterations so far, as a chance to
    interrupt; and in the end a candidate, the weights with the fewest errors of all iterations.

    budget : largest number of iterations; None for MAX_ITERATIONS.
    seed : not used, as nothing is random.
    size : number of variables; by default half the number of samples.
    """
    size = _checked_size(problem, size)
    max_iterations = MAX_ITERATIONS
    if budget is not None:
        max_iterations = max(budget, 1)  # at least one: the weights start at zero

    # The table times the labels, so that a margin is the product of a row with the weights, and a
    # positive margin is correct. The intercept, if there is one, is the last column.
    columns = problem.columns  # (columns, samples)
    rows = np.ascontiguousarray(columns.T)  # (samples, columns)
    n_columns = problem.n_features + problem.n_unpenalized
    is_intercept = np.arange(n_columns) >= problem.n_features
    n_nonzero = size + problem.n_unpenalized

    weights = np.zeros(n_columns)
    best_weights = weights
    fewest_errors = problem.n_samples + 1  # more than any weights make
    iterations = 0
    for iterations in range(1, max_iterations + 1):
        weights_after_step = gradient_step(columns, rows, weights)
        weights = hard_threshold(weights_after_step, n_nonzero, is_fixed=is_intercept)

        # Keep the best weights so far; no weights are better than those without errors.
        margins = rows @ weights
        errors = int(np.count_nonzero(margins <= 0.0))
        if errors < fewest_errors:
            best_weights = weights
            fewest_errors = errors
        if errors == 0:
            break
        if iterations % ITERATIONS_A_REPORT == 0:
            yield iterations
    yield _candidate(problem, best_weights, iterations)


def _checked_size(problem: Problem, size: int | None) -> int:
    """Return the number of variables, checked; by default half the number of samples."""
    if size is None:
        size = max(1, min(problem.n_features, problem.n_samples // 2))
    return whole_number(
        size, "The size, a number of variables,", at_least=1, at_most=problem.n_features
    )
