"""How one neuron learns: its inputs (searched, by lot or by correlation) and its weights."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.memory.choices import Wiring
from chanceline.memory.patterns import Patterns
from chanceline.memory.stability import (
    Indices,
    NeuronProblem,
    StableFit,
    add_inputs,
    drop_inputs,
    fit_stable_weights,
    swap_inputs,
)
from chanceline.select.api import search

# A swap that looks for a larger κ costs about as much as so many swaps of the search.
SWAP_COST = 20


@dataclass(frozen=True)
class LearningRule:
    """How every neuron of a network learns.

    Attributes
    ----------
    wiring : which inputs a neuron keeps.
    fan_in : how many; None means as few as are found to hold the patterns.
    kappa : stability asked of every neuron.
    budget : effort of the search for inputs, in swaps.
    seed : of the network; every neuron derives its own, see `neuron_seed`.
    signs : +1 or −1, the sign of each neuron's outgoing couplings, (neurons,); None for any sign.
    """

    wiring: Wiring
    fan_in: int | None
    kappa: float
    budget: int
    seed: int
    signs: NDArray[np.int8] | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class LearnedNeuron:
    """What one neuron learned.

    Attributes
    ----------
    inputs : numbers of other neurons, ascending.
    weights : of these inputs, |w| = 1.
    stability : κ, the smallest local field in the direction of the pattern.
    solved : whether κ meets what was asked.
    impossible : not solved, and proven so for this wiring (if selected: for any choice of inputs).
    """

    inputs: Indices
    weights: Floats
    stability: float
    solved: bool
    impossible: bool


def learn_neuron(neuron: int, patterns: Patterns, rule: LearningRule) -> LearnedNeuron:
    """Choose inputs and weights for one neuron, so that it holds its bit of every pattern.

    Neuron i holds a pattern ξ if its own bit ξ_i has the sign of Σ_j w_ij ξ_j over its inputs j.
    Its stability κ is the smallest ξ_i Σ_j w_ij ξ_j of a pattern, for weights of length 1.
    Depending on the wiring the inputs are selected by a search, or taken in a given order.

    Parameters
    ----------
    neuron
        Its number i.
    patterns : (patterns, neurons)
        Bits ±1.
    rule
        Wiring, number of inputs, required stability `kappa`, budget and seed.
    """
    problem = neuron_problem(neuron, patterns, rule)
    seed = neuron_seed(neuron, rule)
    if rule.wiring is Wiring.SELECTED:
        fitted = _select_inputs(problem, rule, seed)
    else:
        fitted = _take_inputs_in_order(problem, rule, seed)

    # Solved: all patterns are held with the required stability. Impossible: this is proven to be
    # out of reach with this wiring.
    is_solved = _reaches_stability(fitted, rule.kappa)
    is_impossible = not is_solved and _is_impossible(problem, rule)

    # Convert columns of the problem, which lacks the neuron itself, into numbers of neurons, and
    # sort them.
    ascending = np.argsort(fitted.inputs)
    inputs = _neurons_of_columns(fitted.inputs[ascending], neuron)
    weights = fitted.weights[ascending]
    if rule.signs is not None:
        # Under Dale's law only the sizes of the weights were fitted. Each weight gets the sign of
        # its input neuron.
        weights = weights * rule.signs[inputs]
    return LearnedNeuron(
        inputs=inputs,
        weights=weights,
        stability=fitted.stability,
        solved=is_solved,
        impossible=is_impossible,
    )


def _neurons_of_columns(columns: Indices, neuron: int) -> Indices:
    """Numbers of the neurons behind columns of a problem, which lacks the neuron itself."""
    return np.where(columns >= neuron, columns + 1, columns)


def can_learn(neuron: int, patterns: Patterns, rule: LearningRule) -> bool:
    """Whether inputs of the rule's fan-in are found that hold all patterns, however weakly."""
    problem = neuron_problem(neuron, patterns, rule)
    seed = neuron_seed(neuron, rule)
    if rule.wiring is Wiring.SELECTED:
        return _separate_with_few(problem, rule, seed).separates
    inputs = _order_of_inputs(problem, rule, seed)[: rule.fan_in]
    return fit_stable_weights(problem, inputs).separates


def neuron_problem(neuron: int, patterns: Patterns, rule: LearningRule) -> NeuronProblem:
    """The rows a_μ = ξ_iμ ξ_μ without neuron i itself, (patterns, neurons − 1).

    Inputs of given sign are multiplied by it; then no weight may be negative.
    """
    inputs = patterns
    if rule.signs is not None:
        inputs = patterns * rule.signs
    others = np.delete(inputs, neuron, axis=1).astype(np.float64)
    own_bits = patterns[:, neuron, None]
    return NeuronProblem(rows=others * own_bits, nonnegative=rule.signs is not None)


def neuron_seed(neuron: int, rule: LearningRule) -> int:
    """A seed of the neuron's own: its result does not depend on who computes it, nor when."""
    sequence = np.random.SeedSequence(rule.seed, spawn_key=(neuron,))
    return int(sequence.generate_state(1)[0])


def _reaches_stability(fitted: StableFit, kappa: float) -> bool:
    """Whether the fit holds all patterns with at least the stability `kappa`."""
    return fitted.separates and fitted.stability >= kappa


def _is_impossible(problem: NeuronProblem, rule: LearningRule) -> bool:
    """Whether a neuron that is not solved never can be, with this wiring.

    Inputs taken in order are given, and their best weights known. Where inputs are searched, there
    may be a better choice unless even all inputs do not suffice.
    """
    if rule.wiring is not Wiring.SELECTED:
        return True
    all_inputs = np.arange(problem.rows.shape[1])
    return not _reaches_stability(fit_stable_weights(problem, all_inputs), rule.kappa)


def _order_of_inputs(problem: NeuronProblem, rule: LearningRule, seed: int) -> Indices:
    """All inputs in the order in which they are taken: by lot, or largest Hebbian coupling first.

    The coupling is Σ_μ a_μj; its size counts, or its value where weights must not be negative.
    """
    rows = problem.rows
    if rule.wiring is Wiring.RANDOM:
        return np.random.default_rng(seed).permutation(rows.shape[1])
    couplings = rows.sum(axis=0)
    if not problem.nonnegative:
        couplings = np.abs(couplings)
    return np.argsort(-couplings, kind="stable")


def _take_inputs_in_order(problem: NeuronProblem, rule: LearningRule, seed: int) -> StableFit:
    """The first inputs of the wiring's order: `fan_in` of them, or the fewest that suffice."""
    order = _order_of_inputs(problem, rule, seed)
    size = rule.fan_in
    if size is None:
        size = _fewest_sufficient(problem, order, rule.kappa)
    return fit_stable_weights(problem, order[:size])


def _fewest_sufficient(problem: NeuronProblem, order: Indices, kappa: float) -> int:
    """How many of the first inputs in `order` reach the stability `kappa`; all, if fewer do not.

    κ never falls when inputs are added, so the number is found by halving.
    """

    def suffices(size: int) -> bool:
        return _reaches_stability(fit_stable_weights(problem, order[:size]), kappa)

    sizes = range(1, order.size)
    index = bisect_left(sizes, True, key=suffices)  # len(sizes) if none of these suffices
    return index + 1


def _select_inputs(problem: NeuronProblem, rule: LearningRule, seed: int) -> StableFit:
    """Search for the inputs and weights of a neuron: few inputs first, then a larger stability κ.

    κ is the smallest field of a pattern, for weights of length 1. The number of inputs is the
    rule's `fan_in`; if that is None, as few are kept as reach the rule's `kappa`.
    """
    generator = np.random.default_rng(seed)
    fitted = _separate_with_few(problem, rule, seed)
    if not fitted.separates:
        return fitted

    # The budget counts swaps of the first search. A swap that looks for a larger κ costs SWAP_COST
    # times as much, so there are fewer of them.
    steps = rule.budget // SWAP_COST
    if rule.fan_in is not None:
        # Add inputs until the neuron has `fan_in` of them.
        fitted = add_inputs(problem, fitted, size=rule.fan_in)
    elif rule.kappa > 0:
        # Add inputs until κ is reached; then drop as many as possible without falling below κ.
        n_inputs = problem.rows.shape[1]
        fitted = add_inputs(problem, fitted, size=n_inputs, target=rule.kappa)
        fitted = drop_inputs(problem, fitted, kappa=rule.kappa, steps=steps, generator=generator)
    # Exchange inputs for others, in the same number, that make κ larger.
    return swap_inputs(problem, fitted, steps=steps, generator=generator)


def _separate_with_few(problem: NeuronProblem, rule: LearningRule, seed: int) -> StableFit:
    """Search for few inputs with which a neuron separates its patterns, and fit their weights.

    The search looks for as few inputs as possible; if the rule has a `fan_in`, it stops as soon as
    that many suffice. If it ends with more inputs than `fan_in`, only those of largest weight are
    kept, and these may not separate the patterns.
    """
    # The rows are multiplied by the neuron's bits already, so every label is +1. Under Dale's law
    # they are also multiplied by the signs of the inputs: then all weights must be nonnegative.
    labels = np.ones(problem.rows.shape[0])
    sign_of_weights = None  # any sign
    if problem.nonnegative:
        sign_of_weights = 1
    outcome = search(
        problem.rows,
        labels,
        budget=rule.budget,
        seed=seed,
        target=rule.fan_in,
        signs=sign_of_weights,
    )
    # outcome.weights[i] is the weight of the input outcome.support[i].
    by_size_of_weight = np.argsort(-np.abs(outcome.weights), kind="stable")
    strongest_first = outcome.support[by_size_of_weight]
    return fit_stable_weights(problem, strongest_first[: rule.fan_in])  # None keeps all
