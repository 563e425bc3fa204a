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
    """Return a grid from −reach to reach with short steps around 0 and longer steps further out.

    The step is `fine` up to about |u| = `focus` and `coarse` beyond. The nodes are u(τ) at all
    integers τ from −n to n. An abrupt change of the step would destroy the exponential convergence
    of the trapezoidal rule. The step du/dτ therefore rises smoothly from `fine` to `coarse`, over a
    width w of τ:

        du/dτ = fine + (coarse − fine) tanh²(τ/w),
        u     = coarse·τ − (coarse − fine) w tanh(τ/w).
    """
    if coarse <= fine:
        return uniform_grid(reach, coarse)
    # At most focus/fine steps lie between 0 and |u| = focus. With w three times this number,
    # |τ/w| ≤ 1/3 and tanh²(τ/w) ≤ 0.10 there: the step is still nearly `fine`.
    width = _WIDTHS_OF_FOCUS * focus / fine  # w, a number of steps

    # Because tanh < 1, u(τ) > coarse·τ − shortfall for τ > 0. The number n of nodes on each side is
    # chosen so that this lower bound reaches `reach`.
    shortfall = (coarse - fine) * width
    n_side = int(np.ceil((reach + shortfall) / coarse))  # n

    tau = np.arange(-n_side, n_side + 1, dtype=float)
    tanh_tau = np.tanh(tau / width)
    return Grid(
        nodes=coarse * tau - shortfall * tanh_tau,  # u
        spacing=fine + (coarse - fine) * tanh_tau**2,  # du/dτ
    )


def gaussian_steps(variances: Array) -> Array:
    """Return the largest step on the grid of each level that its Gaussians allow, (levels,).

    Two Gaussians are summed on the grid of level i: the one from the level below, of the variance
    v_i − v_{i−1}, and the one to the level above, of variance v_{i+1} − v_i. The narrower one
    limits the step. `variances` are v₀ … v_k, (levels,). The Gaussian of the lowest level has the
    variance v₀, and there is none above the top level.
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

    def weights_above(self, weights: Array) -> Array:
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
    """Evaluate nested Gaussian averages of exponentials (Parisi's recursion), on a grid per level.

    u is a number, called the field, that becomes known in steps: level i = 0 … k adds a Gaussian
    part, so that its variance grows from v₀ to v_k. A function g_k(u) is given on the top level.
    The functions on the levels below follow from the top down, by averages over the Gaussian part
    N that is not known there:

        g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; v_i − v_{i−1}) exp[x_i g_i(u')].

    The integrand divided by the integral is a transition probability T_i(u → u'). It gives two more
    results on each level:

        the slope g_{i−1}'(u) = ∫du' T_i(u → u') g_i'(u'), from the top down,
        the distribution of the field P_i(u') = ∫du P_{i−1}(u) T_i(u → u'), from the bottom up.

    P₀ is a Gaussian of variance v₀.

    Parameters
    ----------
    grids
        The grid of each level, k + 1 of them, level 0 first.
    top_values, top_slopes : (nodes,)
        g_k and its derivative, at the nodes of the last grid.
    variances : (k + 1,)
        v₀ < … < v_k, the variance of the field on each level.
    breaks : (k,)
        Break points x₁ < … < x_k, between 0 and 1.
    centre
        Mean of the Gaussian P₀.

    Returns
    -------
    Recursion
        g_i, its slope and the weights P_i of the nodes, each a tuple with level 0 first.
    """
    # From the top down: the functions, their slopes, and the transitions T₁ … T_k.
    levels = _descend(
        grids, top_values=top_values, top_slopes=top_slopes, variances=variances, breaks=breaks
    )

    # From the bottom up: the weights P_i of the nodes. T_i takes those of level i − 1 to level i.
    level_weights = _gaussian_weight(grids[0], centre, variance=variances[0])  # P₀, (nodes,)
    weights_by_level = [level_weights]
    for transition in levels.transitions:
        level_weights = transition.weights_above(level_weights)
        weights_by_level.append(level_weights)
    return Recursion(
        values=tuple(levels.values),
        slopes=tuple(levels.slopes),
        weights=tuple(weights_by_level),
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
    """Compute the functions g_i(u) and their slopes on all levels, from the top level k down to 0.

    u is a number, the field, which gains a Gaussian part on each level. g_k is given. A step from
    level i down to i − 1 averages e^{x_i g_i} over the Gaussian part of level i, with the break
    point x_i (`_step_down` has the formula), and gives g_{i−1}. It also gives the probabilities
    T_i(u → u') of going from a field u on level i − 1 to u' on level i. The slope on the lower
    level is the mean of the slope on the upper one: g_{i−1}'(u) = ∫du' T_i(u → u') g_i'(u').

    `grids` and `variances` (of the field) have an entry for each level, level 0 first. `breaks` has
    one for each step, x₁ first. `top_values` and `top_slopes` are g_k and g_k' on the last grid.
    """
    # Every new level is inserted at the front of the lists, so index 0 is the lowest level so far.
    levels = _Levels(values=[top_values], slopes=[top_slopes], transitions=[])
    n_steps = len(breaks)
    for lower in reversed(range(n_steps)):
        upper = lower + 1  # the step goes from level i = upper to i − 1 = lower
        upper_values = levels.values[0]  # g_i
        upper_slopes = levels.slopes[0]  # g_i'
        lower_values, transition = _step_down(
            lower_nodes=grids[lower].nodes,
            upper=grids[upper],
            upper_values=upper_values,
            variance=float(variances[upper] - variances[lower]),
            break_point=breaks[lower],  # x_i, because the array begins with x₁
        )
        lower_slopes = transition.average(upper_slopes)
        levels.values.insert(0, lower_values)
        levels.slopes.insert(0, lower_slopes)
        levels.transitions.insert(0, transition)
    return levels


def _step_down(
    lower_nodes: Array, upper: Grid, upper_values: Array, variance: float, break_point: float
) -> tuple[Array, Transition]:
    """Compute the function on one level from the function g on the level above, at the nodes u:

        (1/x) ln ∫du' N(u' − u) exp[x g(u')],    x = `break_point`.

    N is the Gaussian density of this variance, and g is given at the nodes u' of `upper`. The
    second result is the integrand divided by the integral: the probabilities of going from u to u'.
    """
    # The integral becomes a sum over the nodes u'. Each term has the factor du' times the prefactor
    # of the Gaussian N; this is the logarithm of that factor, (columns,).
    log_measure = np.log(upper.spacing / np.sqrt(2 * np.pi * variance))
    log_integral, transition = _log_sums_and_transition(
        lower_nodes=lower_nodes,
        upper_nodes=upper.nodes,
        variance=variance,
        exponents=break_point * upper_values + log_measure,
    )
    return log_integral / break_point, transition


def _log_sums_and_transition(
    lower_nodes: Array, upper_nodes: Array, variance: float, exponents: Array
) -> tuple[Array, Transition]:
    """Sum Gaussian terms over the upper nodes u', for each lower node u, in logarithms:

        ln Σ_u' e^{exponent(u') − (u' − u)²/(2·variance)}.

    The nodes are grid points on two neighbouring levels of `recurse`, both ascending. `exponents`
    has the exponent at each upper node, (columns,).

    The first result has the logarithms, (rows,): one for each lower node. The second result has
    the terms divided by their sum, which are the probabilities of going from u to u'. They form a
    matrix with a row for each u and a column for each u'. Its entries are negligible far from the
    diagonal. It is therefore computed and stored in blocks of a few rows, each with only the
    columns that matter.
    """
    n_rows = len(lower_nodes)
    log_sums = np.empty(n_rows)
    blocks = []
    for begin in range(0, n_rows, _ROWS_PER_BLOCK):
        end = min(begin + _ROWS_PER_BLOCK, n_rows)
        rows = slice(begin, end)
        nodes_of_rows = lower_nodes[rows]  # u
        columns = _columns_that_matter(nodes_of_rows, upper_nodes, variance, exponents)

        distances = nodes_of_rows[:, None] - upper_nodes[columns]  # (rows, columns)
        log_terms = exponents[columns] - distances**2 / (2 * variance)
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


def _columns_that_matter(
    lower_nodes: Array, upper_nodes: Array, variance: float, exponents: Array
) -> slice:
    """Return the columns whose terms are not negligible in a block of rows, as a slice.

    The terms are e^{exponent(u') − (u' − u)²/(2·variance)}. Rows are the nodes u of `lower_nodes`,
    columns the nodes u' of `upper_nodes`, both ascending; `exponents` is (columns,). A term is
    negligible if it is much smaller than the largest term of its row. As u grows, the Gaussian
    favours larger u', and the terms that matter move up. Therefore the slice begins at the
    first term that matters in the first row and ends at the last one that matters in the last row.
    """
    first_and_last_node = lower_nodes[[0, -1], None]  # of the block of rows, (2, 1)
    distances = first_and_last_node - upper_nodes  # (2, columns)
    log_terms = exponents - distances**2 / (2 * variance)
    log_of_largest = log_terms.max(axis=1, keepdims=True)
    matters = log_terms >= log_of_largest - _NEGLIGIBLE_LOG  # whether a term is not negligible
    matters_in_first_row, matters_in_last_row = matters

    # argmax of a Boolean array is the position of its first True. The last row is read backwards,
    # and the position is the number of negligible columns at its end.
    first_column = int(matters_in_first_row.argmax())
    n_negligible_at_end = int(matters_in_last_row[::-1].argmax())
    return slice(first_column, len(upper_nodes) - n_negligible_at_end)
