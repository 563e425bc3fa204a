"""Which inputs, and which weights on them, make the smallest local field as large as possible.

Rows a_μ = y_μ x_μ belong to one neuron. Its stability is Gardner's κ = min_μ a_μ·w / |w|. On given inputs the largest
κ is a quadratic programme; its multipliers λ also tell what other inputs are worth: κ² = min_λ Σ_j (λ·a_j)² over
λ ≥ 0, Σλ = 1, so to first order an input j adds (λ·a_j)², and dropping one loses w_j². Where weights must not be negative
(`signed`), only (λ·a_j)₊ counts, and an input whose weight is zero is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.margin import largest_margin
from chanceline.perceptron.rule import fit_hinge

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Local fields of this size are far above rounding (some 1e-13 with a thousand inputs) and count as positive.
SMALLEST_FIELD = 1e-9
NOISE = 0.2


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
    widest = largest_margin(part, start, signed=np.ones(inputs.size, dtype=np.bool_) if signed else None)
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
        fitted = fit(rows, np.delete(fitted.inputs, np.abs(fitted.weights).argmin()), fitted.multipliers, signed)
    return fitted


def _worth(rows: Floats, fitted: Fit, known: Indices, signed: bool) -> Floats:
    """λ·a_j of every input that is not known, its absolute value where weights have any sign; −1 for the others."""
    worth = fitted.multipliers @ rows
    worth = worth if signed else np.abs(worth)
    worth[known] = -1.0
    return worth


def swap(rows: Floats, fitted: Fit, steps: int, random: np.random.Generator, enough: float = np.inf, signed: bool = False) -> Fit:
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
        worth = _worth(rows, fitted, fitted.inputs, signed) * (1 + NOISE * random.uniform(-1, 1, n_inputs))
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


def shrink(rows: Floats, fitted: Fit, kappa: float, steps: int, random: np.random.Generator, signed: bool = False) -> Fit:
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
