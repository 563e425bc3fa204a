"""The most stable weights of one neuron, and searches for the inputs that make it more stable.

The rows a_μ = ξ_iμ ξ_μ of neuron i are the patterns times the neuron's own bit: it holds them all
if a_μ·w > 0. Its stability is Gardner's κ = min_μ a_μ·w / |w|. On given inputs the largest κ is a
quadratic programme, whose multipliers λ also tell what other inputs are worth:
κ² = min_λ Σ_j (λ·a_j)² over λ ≥ 0, Σλ = 1. To first order an input j adds (λ·a_j)², and dropping
one loses w_j². Where weights must not be negative only (λ·a_j)₊ counts, and an input whose weight
is zero is none.

Rows of ±1 make many exact ties: several λ of one optimum, inputs of equal worth, weights of equal
size, choices of equal κ. Between equals the last digit decides, which depends on the processor: on
another one a neuron may end with other inputs, as many and about as stable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.hinge_fit import fit_hinge
from chanceline.perceptron.margin import largest_margin

Indices = NDArray[np.int64]

# Local fields of this size are far above rounding (some 1e-13 with a thousand inputs).
SMALLEST_FIELD = 1e-9
# Random factors 1 ± GAIN_NOISE and 1 ± LOSS_NOISE keep swaps from running in circles, and so do
# the steps for which an input that was moved may not move back: at least so many, and up to
# TABU_SPREAD − 1 more by lot.
GAIN_NOISE = 0.2
LOSS_NOISE = 0.1
TABU_AFTER_ADDING = 2
TABU_AFTER_DROPPING = 4
TABU_SPREAD = 6


class NeuronProblem(NamedTuple):
    """What one neuron has to learn: weights w with a_μ·w > 0 for every row a_μ.

    `rows` has shape (patterns, possible inputs). With `nonnegative` no weight may be below zero.
    """

    rows: Floats
    nonnegative: bool = False


class StableFit(NamedTuple):
    """Weights of one neuron on the inputs it uses.

    Attributes
    ----------
    inputs : columns of the problem's rows, (inputs used,).
    weights : of these inputs, |w| = 1.
    stability : κ = min_μ a_μ·w.
    multipliers : λ of the patterns, (patterns,); zeros if the weights do not separate.
    """

    inputs: Indices
    weights: Floats
    stability: float
    multipliers: Floats

    @property
    def separates(self) -> bool:
        return self.stability > SMALLEST_FIELD


def fit_stable_weights(
    problem: NeuronProblem, inputs: Indices, start: Floats | None = None
) -> StableFit:
    """Find the most stable weights of a neuron on these inputs.

    The neuron holds its patterns if a_μ·w > 0 for every row a_μ of the problem. Its stability is
    κ = min_μ a_μ·w/|w|, and the weights of largest κ are returned. If κ is positive for no weights,
    the weights with the least sum of squared hinge errors are returned instead.

    Parameters
    ----------
    problem
        Rows, (patterns, possible inputs), and whether weights must not be negative.
    inputs : (inputs,)
        Columns of the rows that may be used. With nonnegative weights, columns whose weight is zero
        are left out of the result.
    start : (patterns,), optional
        Multipliers λ of a similar fit, from which the solver starts, to need fewer steps.
    """
    rows_on_inputs = problem.rows[:, inputs]  # (patterns, inputs)
    is_nonnegative = None
    if problem.nonnegative:
        is_nonnegative = np.ones(inputs.size, dtype=np.bool_)  # all of them
    margin = largest_margin(rows_on_inputs, start, nonnegative=is_nonnegative)
    fitted = _fit_of_weights(
        rows_on_inputs, inputs, weights=margin.weights, multipliers=margin.multipliers
    )

    if not fitted.separates:
        _, hinge_weights = fit_hinge(rows_on_inputs, problem.nonnegative)
        # The hinge fit has no multipliers: zeros say that there are none.
        no_multipliers = np.zeros(rows_on_inputs.shape[0])
        fitted = _fit_of_weights(
            rows_on_inputs, inputs, weights=hinge_weights, multipliers=no_multipliers
        )

    if problem.nonnegative:
        is_used = fitted.weights != 0
        fitted = fitted._replace(inputs=inputs[is_used], weights=fitted.weights[is_used])
    return fitted


def _fit_of_weights(
    rows_on_inputs: Floats, inputs: Indices, weights: Floats, multipliers: Floats
) -> StableFit:
    """Make a `StableFit` of weights: scale them to length 1, and compute their stability.

    The stability κ is the smallest margin a_μ·w of a row a_μ, for weights w of length 1.

    Parameters
    ----------
    rows_on_inputs : the rows a_μ, restricted to these inputs, (patterns, inputs).
    inputs : which of the neuron's possible inputs these are, (inputs,).
    weights : of these inputs, of any length, (inputs,).
    multipliers : λ of the patterns, (patterns,), stored in the fit as they are.
    """
    length = float(np.linalg.norm(weights))
    if length > 0:
        weights = weights / length
    margins = rows_on_inputs @ weights  # (patterns,)
    return StableFit(
        inputs=inputs,
        weights=weights,
        stability=float(margins.min()),
        multipliers=multipliers,
    )


def add_inputs(
    problem: NeuronProblem, fitted: StableFit, size: int, target: float = np.inf
) -> StableFit:
    """Add inputs to a fit that separates, one at a time, to increase the neuron's stability κ.

    Each time the input that promises the largest gain of κ is added. This ends when the fit uses
    `size` inputs, once κ is at least `target`, or when no input promises a larger κ. The gains are
    estimated from the multipliers of the fit.

    If weights must not be negative, a fit may give some inputs the weight zero. `fitted.inputs`
    then lacks these inputs, but later fits may use them again.
    """
    # The inputs that a fit may use: those that the given fit uses, and all that were added.
    allowed_inputs = fitted.inputs
    while fitted.inputs.size < size and fitted.stability < target:
        gains = _gains(problem, fitted, excluded=allowed_inputs)  # −1 for the excluded inputs
        if gains.max() <= 0:
            break
        most_promising_input = gains.argmax()
        allowed_inputs = np.append(allowed_inputs, most_promising_input)
        fitted = fit_stable_weights(problem, allowed_inputs, start=fitted.multipliers)

    # The last fit may use several inputs more than the fit before, if some of weight zero have come
    # into use again: drop the inputs of smallest |weight|.
    while fitted.inputs.size > size:
        fitted = _without_weakest(problem, fitted)
    return fitted


def _gains(problem: NeuronProblem, fitted: StableFit, excluded: Indices) -> Floats:
    """What each input promises, (possible inputs,): its square adds to κ² to first order.

    It is λ·a_j where weights must not be negative and |λ·a_j| where they have any sign; −1 for the
    `excluded` inputs.
    """
    gains = fitted.multipliers @ problem.rows
    if not problem.nonnegative:
        gains = np.abs(gains)
    gains[excluded] = -1.0
    return gains


def _without_weakest(problem: NeuronProblem, fitted: StableFit) -> StableFit:
    """The fit without its input of smallest |w_j|."""
    weakest = np.abs(fitted.weights).argmin()
    remaining = np.delete(fitted.inputs, weakest)
    return fit_stable_weights(problem, remaining, fitted.multipliers)


def swap_inputs(
    problem: NeuronProblem,
    fitted: StableFit,
    steps: int,
    generator: np.random.Generator,
    target: float = np.inf,
) -> StableFit:
    """Exchange inputs of a neuron for others that make it more stable, by tabu search.

    The search starts from a fit that separates. It ends after `steps` steps, or once the stability
    κ is at least `target`. Each step adds the input that promises the largest gain of κ, and drops
    the input that promises the smallest loss; random factors perturb both choices. An input that
    was added or dropped is tabu: it may not move for a few steps, so that the search does not run
    in circles. Returns the best fit seen.
    """
    n_possible_inputs = problem.rows.shape[1]
    size = fitted.inputs.size
    if size == n_possible_inputs:
        return fitted  # there are no other inputs

    best_fit = fitted
    fit = fitted
    # The step from which each input may move again.
    tabu_until = np.zeros(n_possible_inputs, dtype=np.int64)
    for step in range(1, steps + 1):
        if best_fit.stability >= target:
            break

        # Add an input.
        added_input = _input_to_add(problem, fit, is_tabu=tabu_until > step, generator=generator)
        tabu_until[added_input] = step + TABU_AFTER_ADDING + generator.integers(TABU_SPREAD)
        more_inputs = np.append(fit.inputs, added_input)
        enlarged_fit = fit_stable_weights(problem, more_inputs, start=fit.multipliers)

        # Drop an input, unless one has left by itself because its weight became zero.
        fit = enlarged_fit
        if enlarged_fit.inputs.size > size:
            position = _position_to_drop(enlarged_fit, tabu_until > step, generator)
            dropped_input = enlarged_fit.inputs[position]
            tabu_until[dropped_input] = step + TABU_AFTER_DROPPING + generator.integers(TABU_SPREAD)
            inputs_left = np.delete(enlarged_fit.inputs, position)
            fit = fit_stable_weights(problem, inputs_left, start=enlarged_fit.multipliers)

        if fit.stability > best_fit.stability:
            best_fit = fit
        elif not fit.separates:
            # Gains are estimated from multipliers, which only a fit that separates has: go back.
            fit = best_fit
    return best_fit


def _input_to_add(
    problem: NeuronProblem,
    fitted: StableFit,
    is_tabu: NDArray[np.bool_],
    generator: np.random.Generator,
) -> int:
    """The input outside the fit with the largest noisy gain; a tabu one only if there is no other.

    `is_tabu` says of each possible input whether it may not move yet.
    """
    factors = 1 + GAIN_NOISE * generator.uniform(-1, 1, is_tabu.size)
    gains = _gains(problem, fitted, excluded=fitted.inputs) * factors
    gains[is_tabu] = -1.0
    gains[fitted.inputs] = -2.0
    return int(gains.argmax())


def _position_to_drop(
    fitted: StableFit, is_tabu: NDArray[np.bool_], generator: np.random.Generator
) -> int:
    """The position in the fit of the input with the smallest noisy loss |w_j|, tabu ones left out.

    `is_tabu` says of each possible input whether it may not move yet.
    """
    factors = 1 + LOSS_NOISE * generator.uniform(-1, 1, fitted.inputs.size)
    losses = np.abs(fitted.weights) * factors
    losses[is_tabu[fitted.inputs]] = np.inf
    return int(losses.argmin())


def drop_inputs(
    problem: NeuronProblem,
    fitted: StableFit,
    kappa: float,
    steps: int,
    generator: np.random.Generator,
) -> StableFit:
    """Fewer and fewer inputs whose κ is at least `kappa`.

    After each drop of the weakest input at most `steps` swaps look for a κ that is large enough;
    the first number of inputs for which they fail ends the search.
    """
    while fitted.inputs.size > 1:
        fewer = _without_weakest(problem, fitted)
        if fewer.separates:
            fewer = swap_inputs(problem, fewer, steps=steps, generator=generator, target=kappa)
        if fewer.stability < kappa:
            break
        fitted = fewer
    return fitted
