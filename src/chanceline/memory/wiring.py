"""How one neuron gets its inputs: chosen for the patterns, by chance, or by correlation."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chanceline.memory.stability import Fit, Floats, Indices, fit, grow, shrink, swap
from chanceline.select.api import search

Patterns = NDArray[np.int8]
WIRINGS = ("selected", "random", "hebbian-selected")
# A swap of the margin search costs about as much as so many swaps of the separation search.
SWAP_COST = 20


@dataclass(frozen=True)
class Rule:
    """How every neuron of a network learns; `fan_in` None means as few inputs as possible.

    `signs` has the sign of every neuron's outgoing couplings, +1 or −1; None where a neuron may have both.
    """

    wiring: str
    fan_in: int | None
    kappa: float
    budget: int
    seed: int
    signs: NDArray[np.int8] | None = field(default=None, compare=False)

    @property
    def signed(self) -> bool:
        return self.signs is not None


@dataclass(frozen=True, eq=False)
class Neuron:
    """What one neuron learned: its inputs (numbers of other neurons), unit weights and stability κ.

    `solved` says that κ meets what was asked; if not, `impossible` says that this is proven for the wiring
    (for selected inputs: that no choice at all would do), rather than merely not found.
    """

    inputs: Indices
    weights: Floats
    stability: float
    solved: bool
    impossible: bool


def problem_of(neuron: int, patterns: Patterns, rule: Rule) -> tuple[Floats, int]:
    """a_μ = ξ_iμ ξ_μ without neuron i itself, (P, N), and a seed of its own: results do not depend on who computes it when.

    Where signs are given the inputs are multiplied by them, and the weights must not be negative.
    """
    seen = patterns if rule.signs is None else patterns * rule.signs
    rows = np.delete(seen, neuron, axis=1).astype(np.float64) * patterns[:, neuron, None]
    return rows, int(np.random.SeedSequence(rule.seed, spawn_key=(neuron,)).generate_state(1)[0])


def order_of_inputs(rows: Floats, rule: Rule, seed: int) -> Indices:
    """All inputs in the order in which they are taken: by chance, or by |Σ_μ y_μ x_μj|, the Hebbian coupling (of its sign)."""
    if rule.wiring == "random":
        return np.random.default_rng(seed).permutation(rows.shape[1])
    coupling = rows.sum(axis=0)
    return np.argsort(-coupling if rule.signed else -np.abs(coupling), kind="stable")


def learn(neuron: int, patterns: Patterns, rule: Rule) -> Neuron:
    """Choose inputs and weights for one neuron."""
    rows, seed = problem_of(neuron, patterns, rule)
    fitted, impossible = (_select if rule.wiring == "selected" else _take_in_order)(rows, rule, seed)
    order = np.argsort(fitted.inputs)
    inputs = fitted.inputs[order]
    inputs += inputs >= neuron
    solved = _meets(fitted, rule.kappa)
    return Neuron(
        inputs=inputs,
        weights=fitted.weights[order] * (1 if rule.signs is None else rule.signs[inputs]),
        stability=fitted.stability,
        solved=solved,
        impossible=impossible and not solved,
    )


def can_learn(neuron: int, patterns: Patterns, rule: Rule) -> bool:
    """Whether inputs are found that separate, without making them any more stable; for a given fan-in."""
    rows, seed = problem_of(neuron, patterns, rule)
    if rule.wiring == "selected":
        return _separating(rows, rule, seed).separates
    return fit(rows, order_of_inputs(rows, rule, seed)[: rule.fan_in], signed=rule.signed).separates


def _meets(fitted: Fit, kappa: float) -> bool:
    return fitted.separates and fitted.stability >= kappa


def _take_in_order(rows: Floats, rule: Rule, seed: int) -> tuple[Fit, bool]:
    order, size = order_of_inputs(rows, rule, seed), rule.fan_in
    if size is None:
        # κ never falls when inputs are added, so the first sufficient number is found by halving.
        sizes = range(1, order.size + 1)
        size = 1 + bisect_left(sizes, True, key=lambda size: _meets(fit(rows, order[:size], signed=rule.signed), rule.kappa))
    return fit(rows, order[:size], signed=rule.signed), True


def _select(rows: Floats, rule: Rule, seed: int) -> tuple[Fit, bool]:
    """The search gives inputs that separate; then κ is raised, by more inputs up to the fan-in and by swaps."""
    random, steps = np.random.default_rng(seed), rule.budget // SWAP_COST
    chosen = _separating(rows, rule, seed)
    if chosen.separates:
        if rule.fan_in is not None:
            chosen = grow(rows, chosen, rule.fan_in, signed=rule.signed)
        elif rule.kappa > 0:
            chosen = grow(rows, chosen, rows.shape[1], rule.kappa, rule.signed)
            chosen = shrink(rows, chosen, rule.kappa, steps, random, rule.signed)
        chosen = swap(rows, chosen, steps, random, signed=rule.signed)
    if _meets(chosen, rule.kappa):
        return chosen, False
    return chosen, not _meets(fit(rows, np.arange(rows.shape[1]), signed=rule.signed), rule.kappa)


def _separating(rows: Floats, rule: Rule, seed: int) -> Fit:
    """Few inputs that separate, or the `fan_in` most important ones where no so few are found."""
    # The rows carry the labels already, so that the label of every row is +1, and the signs.
    signs = 1 if rule.signed else None
    found = search(rows, np.ones(rows.shape[0]), budget=rule.budget, seed=seed, target=rule.fan_in, signs=signs)
    chosen = found.support[np.argsort(-np.abs(found.weights), kind="stable")][: rule.fan_in]
    return fit(rows, chosen, signed=rule.signed)
