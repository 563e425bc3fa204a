"""The Parisi recursion: Gaussian averages of exp(x·) nested k times, and the weights they induce.

Given the top function g_k(u), variances 0 < v₀ < … < v_k and break points 0 < x₁ < … < x_k < 1,

    g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u')],      i = k, …, 1.

Read upwards the same numbers are a Markov chain of fields: it starts from P₀ = N(0, v₀) and goes from u to u' with probability

    T_i(u → u') = N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u') − x_i g_{i−1}(u)],      P_i = P_{i−1} T_i.

Every derivative of its bottom value is an average over one of the P_i.

Each level has its own grid, equally spaced or focused on the origin, on which the trapezoidal rule converges exponentially
for these analytic integrands: only the top needs to resolve the features of g_k, the lower levels are as smooth as the
Gaussians around them. The grids must reach as far as the *tilted* weight P_k does. With k = 0 nothing is nested (replica
symmetry).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline.theory.numerics import Array

# A Gaussian of standard deviation a is summed on step δ with relative error 2 exp(−2π²a²/δ²): 1e-22 at a = 1.6 δ. The rest
# of the margin is for the functions it multiplies.
POINTS_PER_GAUSSIAN = 2.0


@dataclass(frozen=True)
class Transition:
    """T(u → u') as blocks along its diagonal; the rest is negligible."""

    rows: int
    columns: int
    blocks: list[tuple[slice, slice, Array]]

    def average(self, values: Array) -> Array:
        """∫du' T(u → u') values(u'), for each u."""
        result = np.empty(self.rows)
        for rows, columns, block in self.blocks:
            result[rows] = block @ values[columns]
        return result

    def push(self, weights: Array) -> Array:
        """The weights of the upper level, Σ_u weights(u) T(u → u')."""
        result = np.zeros(self.columns)
        for rows, columns, block in self.blocks:
            result[columns] += weights[rows] @ block
        return result


class LevelMeans(NamedTuple):
    """Averages over the weights P_i."""

    top: Array  # E_k of what was asked for
    squares: Array  # E_i[g_i'²]
    values: Array  # E_i[g_i]
    squared_curvature: Array  # E_k[g_k''²] and E₀[g₀''²]
    edge_weight: float


@dataclass(frozen=True)
class Recursion:
    """Values and slopes of g_i, the weights P_i (each sums to one) and the transitions T_i, on the grid of each level."""

    values: tuple[Array, ...]
    slopes: tuple[Array, ...]
    weights: tuple[Array, ...]
    transitions: tuple[Transition, ...]
    breaks: Array

    def mean(self, level: int, values: Array) -> float:
        """E_i[values] = ∫du P_i(u) values(u)."""
        return float(self.weights[level] @ values)

    @property
    def mean_values(self) -> Array:
        """E_i[g_i] of each level; the first is the bottom value ∫Dz g₀(√v₀ z)."""
        return np.array([self.mean(level, values) for level, values in enumerate(self.values)])

    @property
    def mean_square_slopes(self) -> Array:
        """E_i[g_i'²] of each level."""
        return np.array([self.mean(level, slopes**2) for level, slopes in enumerate(self.slopes)])

    def means(self, curvature: Array, *top: Array) -> LevelMeans:
        """The averages that saddle equations need, given g_k'' and other values on the grid of the top level."""
        k = len(self.breaks)
        squared = [self.mean(k, curvature**2), self.mean(0, self.bottom_curvature(curvature) ** 2)]
        averages = np.array([self.mean(k, values) for values in top])
        return LevelMeans(averages, self.mean_square_slopes, self.mean_values, np.array(squared), self.edge_weight)

    def bottom_curvature(self, top: Array) -> Array:
        """g₀'' from g_k'', by g_{i−1}'' = T_i(g_i'' + x_i g_i'²) − x_i g_{i−1}'²."""
        curvature = top
        for i in range(len(self.breaks), 0, -1):
            x = self.breaks[i - 1]
            carried = curvature + x * self.slopes[i] ** 2
            curvature = self.transitions[i - 1].average(carried) - x * self.slopes[i - 1] ** 2
        return curvature

    @property
    def edge_weight(self) -> float:
        """The largest weight at an end of a grid: what the finite reach cuts off."""
        return float(max(max(weight[0], weight[-1]) for weight in self.weights))


@dataclass(frozen=True)
class Grid:
    """Nodes of a trapezoidal rule for ∫du and the spacing at each."""

    nodes: Array
    spacing: Array


def uniform_grid(reach: float, step: float) -> Grid:
    """… −step, 0, step, … up to ±reach."""
    half = max(8, int(np.ceil(reach / step)))
    return Grid(step * np.arange(-half, half + 1, dtype=float), np.full(2 * half + 1, step))


def focused_grid(reach: float, fine: float, coarse: float, focus: float) -> Grid:
    """Step near `fine` for |u| up to `focus` and `coarse` far away: u(τ) = coarse·τ − (coarse − fine) w tanh(τ/w), τ integer.

    The map is analytic far beyond the unit step in τ, so the rule keeps its exponential convergence.
    """
    if coarse <= fine:
        return uniform_grid(reach, coarse)
    width = 3 * focus / fine
    excess = (coarse - fine) * width
    half = int(np.ceil((reach + excess) / coarse))
    tau = np.arange(-half, half + 1, dtype=float)
    bend = np.tanh(tau / width)
    return Grid(coarse * tau - excess * bend, coarse - (coarse - fine) * (1 - bend**2))


def gaussian_steps(variances: Array) -> Array:
    """The widest step for each level that the Gaussians which meet there allow."""
    widths = np.sqrt(np.diff(variances, prepend=0.0)) / POINTS_PER_GAUSSIAN
    return np.minimum(widths, np.append(widths[1:], np.inf))


def recurse(grids: list[Grid], top: Array, top_slope: Array, variances: Array, breaks: Array, centre: float = 0.0) -> Recursion:
    """Descend from g_k (values and slopes on the last grid) to g₀, and carry the weights back up from P₀ = N(centre, v₀)."""
    values, slopes = [top], [top_slope]
    transitions: list[Transition] = []
    for i in range(len(breaks), 0, -1):
        x, variance = breaks[i - 1], float(variances[i] - variances[i - 1])
        exponent = x * values[0] + np.log(grids[i].spacing / np.sqrt(2 * np.pi * variance))
        log_total, transition = _transition(grids[i - 1].nodes, grids[i].nodes, variance, exponent)
        values.insert(0, log_total / x)
        slopes.insert(0, transition.average(slopes[0]))
        transitions.insert(0, transition)
    weight = grids[0].spacing * np.exp(-((grids[0].nodes - centre) ** 2) / (2 * variances[0]))
    weights = [weight / weight.sum()]
    for transition in transitions:
        weights.append(transition.push(weights[-1]))
    return Recursion(tuple(values), tuple(slopes), tuple(weights), tuple(transitions), breaks)


_BLOCK = 24
_NEGLIGIBLE = 42.0  # e^{−42} is 1e-18


def _transition(low: Array, high: Array, variance: float, exponent: Array) -> tuple[Array, Transition]:
    """ln Σ_u' e^{exponent(u') − (u' − u)²/2·variance} for u in `low` and u' in `high`, and the normalised terms of that sum.

    The Gaussian is totally positive, so the terms that count move with u: a block of rows needs no columns but those
    between the first that counts in its first row and the last that counts in its last.
    """
    log_total, blocks = np.empty(len(low)), []
    for begin in range(0, len(low), _BLOCK):
        rows = slice(begin, min(begin + _BLOCK, len(low)))
        ends = exponent - (low[rows][[0, -1], None] - high) ** 2 / (2 * variance)
        counts = ends >= ends.max(axis=1, keepdims=True) - _NEGLIGIBLE
        columns = slice(int(counts[0].argmax()), len(high) - int(counts[1, ::-1].argmax()))
        terms = exponent[columns] - (low[rows, None] - high[columns]) ** 2 / (2 * variance)
        largest = terms.max(axis=1)
        part = np.exp(terms - largest[:, None])
        total = part.sum(axis=1)
        blocks.append((rows, columns, part / total[:, None]))
        log_total[rows] = largest + np.log(total)
    return log_total, Transition(len(low), len(high), blocks)
