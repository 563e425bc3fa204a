"""The Parisi recursion: Gaussian averages of exp(x·) nested k times, and the weights they induce.

Given the top function g_k(u), variances 0 < v₀ < … < v_k and break points 0 < x₁ < … < x_k < 1,

    g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u')],      i = k, …, 1.

Read upwards the same numbers are a Markov chain of fields: it starts from P₀ = N(0, v₀) and goes
from u to u' with probability

    T_i(u → u') = N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u') − x_i g_{i−1}(u)],    P_i = P_{i−1} T_i.

Every derivative of its bottom value is an average over one of the P_i.

Each level has its own grid, equally spaced or focused on the origin, on which the trapezoidal rule
converges exponentially for these analytic integrands: only the top needs to resolve the features of
g_k, the lower levels are as smooth as the Gaussians around them. The grids must reach as far as the
*tilted* weight P_k does. With k = 0 nothing is nested (replica symmetry).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline.theory.quadrature import Array

# A Gaussian of standard deviation a is summed on step δ with relative error 2 exp(−2π²a²/δ²): 1e-22
# at a = 1.6 δ. The rest of the margin is for the functions it multiplies.
POINTS_PER_GAUSSIAN = 2.0
# Grids reach this many standard deviations of the field.
FIELD_REACH = 9.0
# A uniform grid has at least this many points on either side of 0.
_FEWEST_POINTS = 8
# The width of the bend of a focused grid is this many times its focus: tanh²(1/3) = 0.10.
_WIDTHS_OF_FOCUS = 3
# Rows of a transition that are computed, and stored, together as one dense block.
_ROWS_PER_BLOCK = 24
# Terms smaller than the largest by this much in ln do not count: e^{−42} is 1e-18.
_NEGLIGIBLE_LOG = 42.0


@dataclass(frozen=True)
class Grid:
    """Nodes of a trapezoidal rule for ∫du and the spacing at each, both (nodes,)."""

    nodes: Array
    spacing: Array


def uniform_grid(reach: float, step: float) -> Grid:
    """Nodes at equal steps around 0: … −step, 0, step, … up to ±reach.

    They go further where that would be very few of them.
    """
    n_half = max(_FEWEST_POINTS, int(np.ceil(reach / step)))
    nodes = step * np.arange(-n_half, n_half + 1, dtype=float)
    return Grid(nodes=nodes, spacing=np.full(2 * n_half + 1, step))


def focused_grid(reach: float, fine: float, coarse: float, focus: float) -> Grid:
    """A grid from −reach to reach with `fine` steps up to |u| = `focus` and `coarse` ones beyond.

    The nodes are u(τ) at whole numbers τ. With an abrupt change of the step the trapezoidal rule
    would lose its exponential convergence: so the step rises smoothly, over a width w of τ,

        du/dτ = fine + (coarse − fine) tanh²(τ/w),
        u     = coarse·τ − (coarse − fine) w tanh(τ/w).
    """
    if coarse <= fine:
        return uniform_grid(reach, coarse)
    # Up to |u| = focus there are at most focus/fine steps. With w three times that number, τ/w is
    # at most 1/3 there, and tanh²(τ/w) at most 0.10: the step is still nearly `fine`.
    width = _WIDTHS_OF_FOCUS * focus / fine  # w

    # As tanh < 1, u(τ) is above coarse·τ − shortfall: the nodes pass `reach` where this does.
    shortfall = (coarse - fine) * width
    n_half = int(np.ceil((reach + shortfall) / coarse))  # nodes on either side of 0

    tau = np.arange(-n_half, n_half + 1, dtype=float)
    bend = np.tanh(tau / width)
    return Grid(
        nodes=coarse * tau - shortfall * bend,  # u
        spacing=fine + (coarse - fine) * bend**2,  # du/dτ
    )


def gaussian_steps(variances: Array) -> Array:
    """The largest step on the grid of each level that its Gaussians allow, (levels,).

    Two Gaussians are summed on the grid of level i: the one from the level below, of variance
    v_i − v_{i−1}, and the one to the level above, of variance v_{i+1} − v_i. The narrower one sets
    the step. `variances` are v₀ … v_k, (levels,); the first Gaussian has the variance v₀, and there
    is none above the top level.
    """
    steps_from_below = np.sqrt(np.diff(variances, prepend=0.0)) / POINTS_PER_GAUSSIAN
    steps_to_above = np.append(steps_from_below[1:], np.inf)
    return np.minimum(steps_from_below, steps_to_above)


def descending_scales(top: float, breaks: Array, conjugates: Array) -> Array:
    """The scales D₀ … D_k, (k + 1,): on level i a function g_i of the field u grows as u²/2D_i.

    g_k is given on the top level, with D_k = `top`. A step down averages e^{x_i g_i} over a
    Gaussian of variance G = G_i − G_{i−1}. For g_i = u²/2D_i the integral is Gaussian, and gives
    g_{i−1} = u²/2D_{i−1} up to a constant, with

        D_{i−1} = D_i − x_i(G_i − G_{i−1}).

    `breaks` are the break points x₁ … x_k, (k,), `conjugates` the variances G₀ … G_k of the field,
    (k + 1,), which are the conjugates (multipliers) of overlaps.
    """
    scales = [top]
    for i in range(len(breaks), 0, -1):
        fall = breaks[i - 1] * (conjugates[i] - conjugates[i - 1])
        scales.insert(0, scales[0] - fall)
    return np.array(scales)


class _Block(NamedTuple):
    """A dense piece of a transition; the rest of its rows is negligible."""

    rows: slice
    columns: slice
    values: Array  # T(u → u'), (rows, columns)


@dataclass(frozen=True)
class Transition:
    """T(u → u'), the probability of going from a field u to u' on the level above.

    It is stored as dense blocks along its diagonal: rows are the nodes u, columns the nodes u'.
    """

    n_rows: int
    n_columns: int
    blocks: list[_Block]

    def average(self, values: Array) -> Array:
        """The mean of a function one level up, given the field u: ∫du' T(u → u') values(u').

        One mean for each node u, (rows,); `values` are the function's at the nodes u', (columns,).
        """
        result = np.empty(self.n_rows)
        for rows, columns, block in self.blocks:
            result[rows] = block @ values[columns]
        return result

    def push(self, weights: Array) -> Array:
        """The weights of the nodes u' one level up: Σ_u weights(u) T(u → u'), (columns,).

        `weights` are those of the nodes u, (rows,).
        """
        result = np.zeros(self.n_columns)
        for rows, columns, block in self.blocks:
            result[columns] += weights[rows] @ block
        return result


@dataclass(frozen=True)
class Recursion:
    """g_i, its slopes and its weights P_i on the grid of each level, level 0 first.

    The weights of a level sum to one; T_i leads from level i − 1 to level i.
    """

    values: tuple[Array, ...]
    slopes: tuple[Array, ...]
    weights: tuple[Array, ...]
    transitions: tuple[Transition, ...]
    breaks: Array  # x₁ … x_k
    top_nodes: Array  # fields u on the grid of the top level

    def mean(self, level: int, values: Array) -> float:
        """E_i[values] = ∫du P_i(u) values(u), the average over the field u of level i, `level`.

        `values` are those on the grid of this level, (nodes,).
        """
        return float(self.weights[level] @ values)

    @property
    def mean_values(self) -> Array:
        """E_i[g_i] of each level, (levels,); the first is the bottom value ∫Dz g₀(√v₀ z)."""
        return np.array([self.mean(level, values) for level, values in enumerate(self.values)])

    @property
    def mean_square_slopes(self) -> Array:
        """E_i[g_i'²] of each level, (levels,)."""
        return np.array([self.mean(level, slopes**2) for level, slopes in enumerate(self.slopes)])

    def bottom_curvature(self, top_curvature: Array) -> Array:
        """g₀'' on the grid of the bottom level, from `top_curvature`, g_k'' on that of the top.

        It descends from level i to i − 1 by

            g_{i−1}'' = T_i[g_i'' + x_i g_i'²] − x_i g_{i−1}'²,

        the recursion of the module differentiated twice by the field. T_i[·] is the average over
        the field of level i, given that of level i − 1, x_i the break point between them and g_i'
        the slope of g_i.
        """
        curvature = top_curvature
        for i in range(len(self.breaks), 0, -1):
            x = self.breaks[i - 1]
            to_average = curvature + x * self.slopes[i] ** 2
            averaged = self.transitions[i - 1].average(to_average)
            curvature = averaged - x * self.slopes[i - 1] ** 2
        return curvature

    @property
    def edge_weight(self) -> float:
        """The largest weight at an end of a grid: what the finite reach cuts off."""
        return float(max(max(weight[0], weight[-1]) for weight in self.weights))


def recurse(  # noqa: PLR0913
    grids: list[Grid],
    top_values: Array,
    top_slopes: Array,
    variances: Array,
    breaks: Array,
    centre: float = 0.0,
) -> Recursion:
    """Parisi's recursion: functions g_i of a field u, and its weights P_i, on levels i = 0 … k.

    From g_k, which is given, the functions go down by averages over Gaussians N, and the weights go
    up from P₀, a Gaussian of variance v₀, by the probabilities T_i of going from u to u':

        g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u')],    P_i = P_{i−1}T_i.

    Parameters
    ----------
    grids
        The grid of each level, 0 … k.
    top_values, top_slopes : (nodes,)
        g_k and its slope on the last grid.
    variances : (k + 1,)
        v₀ … v_k of the field, ascending.
    breaks : (k,)
        Break points x₁ … x_k, ascending between 0 and 1.
    centre
        Mean of P₀.
    """
    levels = _descend(grids, top_values, top_slopes, variances, breaks)

    bottom_weight = _gaussian_weight(grids[0], centre, variance=variances[0])
    weights = [bottom_weight]
    for transition in levels.transitions:  # T₁ … T_k
        weights.append(transition.push(weights[-1]))
    return Recursion(
        values=tuple(levels.values),
        slopes=tuple(levels.slopes),
        weights=tuple(weights),
        transitions=tuple(levels.transitions),
        breaks=breaks,
        top_nodes=grids[-1].nodes,
    )


def _gaussian_weight(grid: Grid, centre: float, variance: float) -> Array:
    """The weight of each node of a grid under a Gaussian density, (nodes,); the sum is 1."""
    gaussian = np.exp(-((grid.nodes - centre) ** 2) / (2 * variance))
    weight = grid.spacing * gaussian
    return weight / weight.sum()


class _Levels(NamedTuple):
    """What `_descend` finds, in the order of the levels, the bottom one first."""

    values: list[Array]  # g₀ … g_k, each on the grid of its level
    slopes: list[Array]  # g₀' … g_k'
    transitions: list[Transition]  # T₁ … T_k, T_i from level i − 1 to level i


def _descend(
    grids: list[Grid], top_values: Array, top_slopes: Array, variances: Array, breaks: Array
) -> _Levels:
    """The way down of Parisi's recursion: from g_k and its slope to those of all levels.

    Each slope is the average of the slope above over the probabilities T_i of going up:
    g_{i−1}'(u) = ∫du' T_i(u → u') g_i'(u'). The parameters are those of `recurse`.
    """
    # Level i is put before the levels above it: so the first items are those of the level above.
    levels = _Levels(values=[top_values], slopes=[top_slopes], transitions=[])
    for i in range(len(breaks), 0, -1):
        values, transition = _step_down(
            lower_nodes=grids[i - 1].nodes,
            upper=grids[i],
            upper_values=levels.values[0],
            variance=float(variances[i] - variances[i - 1]),
            break_point=breaks[i - 1],  # x_i: the array begins with x₁
        )
        slopes = transition.average(levels.slopes[0])
        levels.values.insert(0, values)
        levels.slopes.insert(0, slopes)
        levels.transitions.insert(0, transition)
    return levels


def _step_down(
    lower_nodes: Array, upper: Grid, upper_values: Array, variance: float, break_point: float
) -> tuple[Array, Transition]:
    """The function on one level at its nodes u, from that on the level above, g at the nodes u':

        (1/x) ln ∫du' N(u' − u) exp[x g(u')],    x = `break_point`.

    N is the Gaussian of this variance. The second result is the integrand over the integral, the
    probabilities of going from u to u'.
    """
    # The integral is a sum over u': this is the logarithm of the spacing du' times the norm of N.
    log_measure = np.log(upper.spacing / np.sqrt(2 * np.pi * variance))
    log_integral, transition = _transition(
        lower_nodes=lower_nodes,
        upper_nodes=upper.nodes,
        variance=variance,
        exponent=break_point * upper_values + log_measure,
    )
    return log_integral / break_point, transition


def _transition(
    lower_nodes: Array, upper_nodes: Array, variance: float, exponent: Array
) -> tuple[Array, Transition]:
    """For each lower node u the logarithm of a Gaussian sum over the upper nodes u', (rows,):

        ln Σ_u' e^{exponent(u') − (u' − u)²/(2·variance)}.

    The terms over their sum are the probabilities of going from u to u', the second result. Far
    from its diagonal this matrix (lower nodes, upper nodes) is negligible: it is made in blocks of
    rows u, each with the columns u' that count. Nodes ascend; `exponent` is (columns,).
    """
    n_rows = len(lower_nodes)
    log_sums = np.empty(n_rows)
    blocks = []
    for begin in range(0, n_rows, _ROWS_PER_BLOCK):
        rows = slice(begin, min(begin + _ROWS_PER_BLOCK, n_rows))
        columns = _columns_that_count(lower_nodes[rows], upper_nodes, variance, exponent)
        distances = lower_nodes[rows, None] - upper_nodes[columns]  # (rows, columns)
        log_terms = exponent[columns] - distances**2 / (2 * variance)
        log_sums[rows], probabilities = _log_sums_and_shares(log_terms)
        blocks.append(_Block(rows=rows, columns=columns, values=probabilities))
    return log_sums, Transition(n_rows=n_rows, n_columns=len(upper_nodes), blocks=blocks)


def _log_sums_and_shares(log_terms: Array) -> tuple[Array, Array]:
    """The logarithm of the sum of each row of terms, (rows,), and the terms over their sum.

    `log_terms` are the logarithms of the terms, (rows, columns).
    """
    largest = log_terms.max(axis=1)  # factored out, as exp could overflow
    terms = np.exp(log_terms - largest[:, None])
    sums = terms.sum(axis=1)
    return largest + np.log(sums), terms / sums[:, None]


def _columns_that_count(
    lower_nodes: Array, upper_nodes: Array, variance: float, exponent: Array
) -> slice:
    """The columns whose terms e^{exponent(u') − (u' − u)²/(2·variance)} count in a block of rows.

    Rows are the nodes u of `lower_nodes`, columns the nodes u' of `upper_nodes`, both ascending;
    `exponent` has a value for each column. A term counts if it is not negligible beside the largest
    one of its row. When u grows, the Gaussian favours larger u' and the terms that count move up:
    so it is enough to look for the first that counts in the first row and the last that counts in
    the last row.
    """
    first_and_last_row = lower_nodes[[0, -1], None]
    log_terms = exponent - (first_and_last_row - upper_nodes) ** 2 / (2 * variance)  # (2, columns)
    counts = log_terms >= log_terms.max(axis=1, keepdims=True) - _NEGLIGIBLE_LOG

    # argmax of truth values is the position of the first True; from the end for the last row.
    first_column = int(counts[0].argmax())
    n_negligible_at_end = int(counts[1, ::-1].argmax())
    return slice(first_column, len(upper_nodes) - n_negligible_at_end)
