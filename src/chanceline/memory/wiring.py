"""How one neuron gets its inputs (chosen for the patterns, by chance, or by correlation) and the most stable weights on them.

Rows a_μ = y_μ x_μ belong to one neuron. Its stability is Gardner's κ = min_μ a_μ·w / |w|. On given inputs the largest
κ is a quadratic programme; its multipliers λ also tell what other inputs are worth: κ² = min_λ Σ_j (λ·a_j)² over
λ ≥ 0, Σλ = 1, so to first order an input j adds (λ·a_j)², and dropping one loses w_j². Where weights must not be negative
(`signed`), only (λ·a_j)₊ counts, and an input whose weight is zero is none.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge_fit import fit_hinge
from chanceline.perceptron.margin import largest_margin
from chanceline.perceptron.problem import Floats
from chanceline.select.api import search

Patterns = NDArray[np.int8]
Indices = NDArray[np.int64]
WIRINGS = ("selected", "random", "hebbian-selected")
# A swap of the margin search costs about as much as so many swaps of the separation search.
SWAP_COST = 20
# Local fields of this size are far above rounding (some 1e-13 with a thousand inputs) and count as positive.
SMALLEST_FIELD = 1e-9
NOISE = 0.2


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
    fitted, impossible = (_select if rule.wiring == "selected" else _take_in_order)(
        rows, rule, seed
    )
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
        size = 1 + bisect_left(
            sizes,
            True,
            key=lambda size: _meets(fit(rows, order[:size], signed=rule.signed), rule.kappa),
        )
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
    found = search(
        rows, np.ones(rows.shape[0]), budget=rule.budget, seed=seed, target=rule.fan_in, signs=signs
    )
    chosen = found.support[np.argsort(-np.abs(found.weights), kind="stable")][: rule.fan_in]
    return fit(rows, chosen, signed=rule.signed)


class Fit(NamedTuple):
    """Inputs, their weights (|w| = 1), the stability κ, and the multipliers λ of the patterns (zeros if κ ≤ 0)."""

    inputs: Indices
    weights: Floats
    stability: float
    multipliers: Floats

    @property
    def separates(self) -> bool:
        return self.stability > SMALLEST_FIELD


def fit(rows: Floats, inputs: Indices, start: Floats | None = None, signed: bool = False) -> Fit:
    """The most stable weights on given inputs; if none separates, those of the least squared hinge."""
    part = rows[:, inputs]
    widest = largest_margin(
        part, start, nonnegative=np.ones(inputs.size, dtype=np.bool_) if signed else None
    )
    found = _normalised(part, inputs, widest.weights, widest.multipliers)
    if not found.separates:
        found = _normalised(part, inputs, fit_hinge(part, signed)[1], np.zeros(rows.shape[0]))
    used = (found.weights != 0) | (not signed)
    return found._replace(inputs=inputs[used], weights=found.weights[used])


def _normalised(part: Floats, inputs: Indices, weights: Floats, multipliers: Floats) -> Fit:
    length = float(np.linalg.norm(weights))
    weights = weights / length if length > 0 else weights
    return Fit(inputs, weights, float((part @ weights).min()), multipliers)


def grow(rows: Floats, fitted: Fit, size: int, enough: float = np.inf, signed: bool = False) -> Fit:
    """Add the input that raises κ most to first order, until there are `size` of them, κ is `enough` or none raises it."""
    tried = fitted.inputs
    while fitted.inputs.size < size and fitted.stability < enough:
        worth = _worth(rows, fitted, tried, signed)
        if worth.max() <= 0:
            break
        tried = np.append(tried, worth.argmax())
        fitted = fit(rows, tried, fitted.multipliers, signed)
    # An input may bring in others that were of no use before it.
    while fitted.inputs.size > size:
        fitted = fit(
            rows,
            np.delete(fitted.inputs, np.abs(fitted.weights).argmin()),
            fitted.multipliers,
            signed,
        )
    return fitted


def _worth(rows: Floats, fitted: Fit, known: Indices, signed: bool) -> Floats:
    """λ·a_j of every input that is not known, its absolute value where weights have any sign; −1 for the others."""
    worth = fitted.multipliers @ rows
    worth = worth if signed else np.abs(worth)
    worth[known] = -1.0
    return worth


def swap(
    rows: Floats,
    fitted: Fit,
    steps: int,
    random: np.random.Generator,
    enough: float = np.inf,
    signed: bool = False,
) -> Fit:
    """Tabu search for a larger κ at the same number of inputs: add the best input, drop the least useful one.

    Starts from inputs that separate. Stops early once κ is `enough`. Signed inputs leave by themselves.
    """
    n_inputs = rows.shape[1]
    size = fitted.inputs.size
    best, until = fitted, np.zeros(n_inputs, dtype=np.int64)
    if size == n_inputs:
        return best
    for step in range(1, steps + 1):
        if best.stability >= enough:
            break
        worth = _worth(rows, fitted, fitted.inputs, signed) * (
            1 + NOISE * random.uniform(-1, 1, n_inputs)
        )
        worth[until > step] = -1.0
        worth[fitted.inputs] = -2.0
        added = int(worth.argmax())
        until[added] = step + 2 + random.integers(6)
        fitted = fit(rows, np.append(fitted.inputs, added), fitted.multipliers, signed)
        if fitted.inputs.size > size:
            loss = np.abs(fitted.weights) * (1 + NOISE / 2 * random.uniform(-1, 1, size + 1))
            loss[until[fitted.inputs] > step] = np.inf
            dropped = int(loss.argmin())
            until[fitted.inputs[dropped]] = step + 4 + random.integers(6)
            fitted = fit(rows, np.delete(fitted.inputs, dropped), fitted.multipliers, signed)
        if fitted.stability > best.stability:
            best = fitted
        elif not fitted.separates:
            fitted = best  # without a separating λ there is no gradient to follow
    return best


def shrink(
    rows: Floats,
    fitted: Fit,
    kappa: float,
    steps: int,
    random: np.random.Generator,
    signed: bool = False,
) -> Fit:
    """Fewer and fewer inputs whose κ is at least `kappa`; gives up after `steps` swaps without success."""
    while fitted.inputs.size > 1:
        rest = np.delete(fitted.inputs, np.abs(fitted.weights).argmin())
        fewer = fit(rows, rest, fitted.multipliers, signed)
        if fewer.separates:
            fewer = swap(rows, fewer, steps, random, kappa, signed)
        if fewer.stability < kappa:
            break
        fitted = fewer
    return fitted
