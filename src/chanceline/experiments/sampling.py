"""Monte Carlo count of separating supports where there are too many to enumerate.

Let Z_p be the number of supports of size M that separate the first p patterns. A ladder of nested
sets of supports leads from all of them to those that separate P patterns, and

    ln Z_P = ln C(N, M) + Σ over rungs of ln(share of the rung's supports that stand on the next).

The lowest rung is p₀ = 2M, where about half of all supports separate (Cover): it is drawn anew each
time. The next ones have more patterns. Where new patterns a are hard, rungs in between have
θa + (1 − θ)c in their place, c the sum of the old ones over √p: what separates the old patterns has
c·w > 0, so θ = 0 asks nothing new, θ = 1 everything, and the sets of supports are nested in θ. Each
rung has a walk by swaps of one variable; walks of neighbouring rungs exchange supports (replica
exchange), so that what the lowest draws climbs up and no walk sticks. One run gives the whole curve
in p.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.chance import log_binomial
from chanceline.errors import InputError
from chanceline.kernels.compile import NONE, ZERO, counter, kernel, leaf_kernel
from chanceline.kernels.random import next_random
from chanceline.perceptron.hinge import refit
from chanceline.perceptron.workspace import REBUILD_AFTER, Hinge, make_hinge

# Margins below about 1e-4 may be misjudged: some supports in 10⁴, within every error bar.
SAMPLING_RIDGE = 1e-8
SAMPLING_FIT_STEPS = counter(60)  # of Newton; a support that needs more is taken for inseparable
ERROR_BLOCKS = 10  # of sweeps, whose scatter gives the standard error
MAX_FIRST_DRAWS = 50_000  # random supports tried on the lowest rung before giving up
MAX_DRAWS = 2**40  # later on: one that separates is known to exist
EXPLORED_SUPPORTS = 40  # looked at to place the next rung
SHARE_ON_NEXT_RUNG = 0.25  # of them at least, so that the share is measured well
BISECTIONS = 7  # to find the next θ
MAX_RUNGS_BETWEEN = 12  # two numbers of patterns; more means that hardly any support is left


@leaf_kernel()
def enter_support(hinge: Any, support: NDArray) -> None:
    """Make `support`, (m,) indices of columns, the support of a workspace, and set weights to zero.

    The workspace `hinge` holds the columns of a problem, and a linear fit on some of them, which
    are its support. This changes the state of the workspace in place: the support, its weights and
    its size `n_used`; and `position`, which holds for every column of the problem its place in the
    support, or NONE. It does the same as `set_support`, for use inside kernels. Single numbers of
    the state (`n_used`, `flips_since_rebuild`) are arrays of one entry, so that kernels can change
    them.
    """
    used_support = hinge.state.support
    weights = hinge.state.weights
    position = hinge.state.position
    n_used = hinge.state.n_used
    flips_since_rebuild = hinge.state.flips_since_rebuild

    for column in range(position.size):
        position[column] = NONE
    n_used[0] = support.size
    for i in range(support.size):
        used_support[i] = support[i]
        position[support[i]] = i
        weights[i] = 0.0
    # A fit updates an inverse matrix, and counts the updates since it was last computed anew. The
    # present inverse belongs to another support. A count above the limit REBUILD_AFTER makes the
    # next fit compute the inverse anew.
    flips_since_rebuild[0] = REBUILD_AFTER + 1


@kernel()
def support_separates(hinge: Any, support: NDArray) -> bool:
    """Whether a linear rule on some columns of a problem classifies all its patterns correctly.

    The rule is found by minimising the squared hinge loss.

    Parameters
    ----------
    hinge : a workspace for such fits, which holds the columns of the problem. Its support, weights
        and margins are overwritten: afterwards they are those of this fit.
    support : (m,) indices of the columns to use.
    """
    # The fit starts at zero weights. Starting from those of a similar support takes twice as long.
    enter_support(hinge, support)
    # Fit the support as it is: no column is added or dropped. `refit` returns whether at most
    # `max_errors` patterns lack a positive margin; here none may, so it returns whether the rule
    # classifies all of them correctly.
    return refit(
        hinge,
        add=NONE,
        drop=NONE,
        max_errors=ZERO,
        trim_noise=0.0,
        max_newton=SAMPLING_FIT_STEPS,
    )


@kernel()
def draw_support(hinge: Any, order: NDArray, m: int, max_draws: int, random: NDArray) -> int:
    """Draw uniform supports order[:m] until one separates; return how many were drawn.

    Returns 0 if none of `max_draws` supports separates.

    Parameters
    ----------
    hinge : a workspace for the patterns.
    order : (N,) a permutation of the columns, shuffled in place.
    m : size of the supports.
    max_draws : supports tried at most.
    random : (1,) state of the random numbers.
    """
    for n_draws in range(1, max_draws + 1):
        for i in range(m):
            j = i + int(next_random(random) * (order.size - i))
            order[i], order[j] = order[j], order[i]
        if support_separates(hinge, order[:m]):
            return n_draws
    return 0


@kernel()
def walk_by_swaps(hinge: Any, order: NDArray, m: int, steps: int, random: NDArray) -> None:
    """Try to swap one column of the support order[:m] for one outside, `steps` times.

    A swap is undone if the new support does not separate. Proposals are symmetric, so the walk
    leaves the uniform measure on the separating supports as it is. The arguments are those of
    `draw_support`.
    """
    for _ in range(steps):
        i = int(next_random(random) * m)
        j = m + int(next_random(random) * (order.size - m))
        order[i], order[j] = order[j], order[i]
        if not support_separates(hinge, order[:m]):
            order[i], order[j] = order[j], order[i]


@dataclass
class _Rung:
    """A walk over the supports that separate so many patterns.

    Attributes
    ----------
    n_patterns : p; the newest of them are softened where θ < 1.
    theta : θ.
    hinge : the workspace for these patterns.
    column_order : (N,) a permutation of the columns; the first m are the present support.
    """

    n_patterns: int
    theta: float
    hinge: Hinge
    column_order: NDArray[np.int64]

    @property
    def is_softened(self) -> bool:
        return self.theta < 1.0


class _Ladder:
    """Random walks over the supports that separate more and more patterns: one rung for each walk.

    A rung stands for a number of patterns, and has a support (a set of columns) that separates
    them, which changes as the walk moves. The rungs go from 2m patterns up to all of them, or as
    far as supports are found; m is the number of columns in a support.
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        support_size: int,
        spacing: int,
        swaps_per_move: int,
        seed: int,
    ):
        """Make all rungs, `self.rungs`, from the lowest to the highest.

        Parameters
        ----------
        rows : (P, N) the patterns times their labels.
        support_size : m, the number of columns in a support.
        spacing : the number of patterns from one rung to the next.
        swaps_per_move : how many swaps of a column are tried when a walk moves.
        seed : of the random numbers.
        """
        self.rows = rows
        self.support_size = support_size
        self.swaps_per_move = swaps_per_move
        # The generator is splitmix64, which takes any number as its state.
        self.random = np.array([seed], dtype=np.uint64)
        self.rungs: list[_Rung] = []
        self._build_rungs(spacing)

    def _build_rungs(self, spacing: int) -> None:
        """Append the rungs to `self.rungs`, `spacing` patterns at a time.

        This ends at the last number of patterns for which a support is found that separates them.
        If there is none even for the lowest rung, `self.rungs` stays empty.
        """
        # The lowest rung has 2m patterns, which about half of all supports separate.
        n_patterns = len(self.rows)
        n_lowest = min(2 * self.support_size, n_patterns)
        lowest_rung = self._lowest_rung(n_lowest)
        if lowest_rung is None:
            return
        self.rungs.append(lowest_rung)

        # Each call of `_add_rungs` appends to `self.rungs` the rungs up to `n_next` patterns.
        for n_next in range(n_lowest + spacing, n_patterns + 1, spacing):
            has_reached_next = self._add_rungs(n_old=n_next - spacing, n_new=n_next)
            if not has_reached_next:
                return

    def _lowest_rung(self, n_patterns: int) -> _Rung | None:
        """Draw supports until one separates the first `n_patterns` patterns; return its rung.

        Returns None if no such support is found.
        """
        n_columns = self.rows.shape[1]
        rung = _Rung(
            n_patterns=n_patterns,
            theta=1.0,
            # Rungs further up may ask less of their new patterns (softened). Here none is new.
            hinge=self._softened_workspace(n_old=n_patterns, n_new=n_patterns, theta=1.0),
            column_order=np.arange(n_columns),
        )
        # `_draw` shuffles `column_order`: its first m columns are the support that was drawn last.
        n_draws = self._draw(rung, MAX_FIRST_DRAWS)
        if n_draws == 0:  # none of the drawn supports separates
            return None
        return rung

    def _softened_workspace(self, n_old: int, n_new: int, theta: float) -> Hinge:
        """A workspace for the first `n_old` patterns, and those up to `n_new` softened by θ.

        A new pattern a becomes θa + (1 − θ)c, c the sum of the old ones over √n_old. What separates
        the old patterns has c·w > 0: θ = 0 asks nothing new, and θ = 1 the pattern itself.
        """
        rows = self.rows[:n_new].copy()
        centre = rows[:n_old].sum(axis=0) / np.sqrt(n_old)
        rows[n_old:] = theta * rows[n_old:] + (1 - theta) * centre
        columns = np.ascontiguousarray(rows.T)
        return make_hinge(columns, self.support_size, ridge=SAMPLING_RIDGE)

    def _add_rungs(self, n_old: int, n_new: int) -> bool:
        """Append rungs to the ladder from `n_old` patterns up to `n_new`.

        Often few of the supports that separate `n_old` patterns also separate `n_new`. Then there
        are rungs in between, which ask only a part θ of the new patterns ("softened"): θ = 0 asks
        nothing of them, θ = 1 that they are separated, and θ rises from rung to rung.

        Returns whether the rung of `n_new` patterns (θ = 1) was reached. If not, hardly any support
        separates these.
        """
        theta_below = 0.0  # of the last rung that was appended here
        for _ in range(MAX_RUNGS_BETWEEN):
            # Let the walk of the top rung visit supports. A support is given by an order of all
            # columns, of which the first m are in it; `_move` changes the order in place.
            top_rung = self.rungs[-1]
            explored_orders = []
            for _ in range(EXPLORED_SUPPORTS):
                self._move(top_rung)
                explored_orders.append(top_rung.column_order.copy())

            # Place the next rung where enough of these supports separate its patterns.
            rung = self._find_next_rung(explored_orders, n_old, n_new, theta_below)
            if rung is None:
                return False
            self.rungs.append(rung)
            theta_below = rung.theta
            if theta_below == 1.0:
                return True
        return False

    def _find_next_rung(
        self, explored_orders: list[NDArray[np.int64]], n_old: int, n_new: int, theta_below: float
    ) -> _Rung | None:
        """The next rung: that of the largest θ at which enough explored supports still separate.

        θ says how much is asked of the new patterns, from nothing (0) to all (1): the larger it is,
        the fewer supports separate. θ = 1 is tried first; if too few supports separate there, the
        largest θ is found by bisection between θ of the rung below and 1.

        Parameters
        ----------
        explored_orders : permutations of the columns, (N,) each. The first m columns of each are a
            support from the rung below.
        n_old, n_new : the patterns from n_old to n_new are the new ones.
        theta_below : θ of the rung below.

        Returns
        -------
        The rung, or None if too few supports separate at every θ that was tried.
        """
        n_required = SHARE_ON_NEXT_RUNG * len(explored_orders)
        largest_good_theta = theta_below  # enough supports separate here
        smallest_bad_theta = 1.0  # too few do here; θ = 1 itself is tried first
        theta = 1.0
        best_rung = None
        for _ in range(BISECTIONS):
            # Find the explored supports that separate the patterns at this θ.
            workspace = self._softened_workspace(n_old, n_new, theta)
            separating_orders = []
            for order in explored_orders:
                support = order[: self.support_size]
                if support_separates(workspace, support):
                    separating_orders.append(order)

            if len(separating_orders) >= n_required:
                largest_good_theta = theta
                # The walk of the new rung may start at any of these supports. The last one is
                # furthest from where the walk of the rung below started.
                best_rung = _Rung(
                    n_patterns=n_new,
                    theta=theta,
                    hinge=workspace,
                    column_order=separating_orders[-1].copy(),
                )
                if theta == 1.0:
                    break
            else:
                smallest_bad_theta = theta
            theta = 0.5 * (largest_good_theta + smallest_bad_theta)
        return best_rung

    def _draw(self, rung: _Rung, max_draws: int) -> int:
        """Draw supports into the order of a rung until one separates its patterns.

        Returns how many were drawn, or 0 if none of them separates.
        """
        n_draws = draw_support(
            rung.hinge,
            rung.column_order,
            m=self.support_size,
            max_draws=max_draws,
            random=self.random,
        )
        return int(n_draws)

    def _move(self, rung: _Rung) -> int:
        """Give a rung a new support; how many supports were drawn for it (1 for a walk).

        On the lowest rung it is drawn, on the others a walk leads to it.
        """
        if rung is self.rungs[0]:
            return self._draw(rung, MAX_DRAWS)
        walk_by_swaps(
            rung.hinge,
            rung.column_order,
            m=self.support_size,
            steps=self.swaps_per_move,
            random=self.random,
        )
        return 1

    def sweep(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Move every walk, then offer each support to the rung above in exchange for its own.

        Returns, for each rung, how many supports separated its patterns and how many were tried:
        1 or 0 of the one offered from below; for the lowest, 1 of the draws that it took.
        """
        tried = np.array([self._move(rung) for rung in self.rungs], dtype=float)
        separated = np.ones(len(self.rungs))
        for place, (below, above) in enumerate(itertools.pairwise(self.rungs), 1):
            if support_separates(above.hinge, below.column_order[: self.support_size]):
                below.column_order, above.column_order = above.column_order, below.column_order
            else:
                separated[place] = 0
        return separated, tried


@dataclass(frozen=True, eq=False)
class CountCurve:
    """ln Z_p at p = `patterns`, from Monte Carlo.

    Attributes
    ----------
    patterns : int array
        p₀ and on, as far as supports were found; empty if none was.
    log_counts : float array
        Estimate of ln Z_p.
    errors : float array
        Its standard error, from blocks of sweeps; NaN where a block saw no support that reaches p.
    """

    patterns: NDArray[np.int64]
    log_counts: NDArray[np.float64]
    errors: NDArray[np.float64]


def sample_counts(  # noqa: PLR0913
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    m: int,
    *,
    sweeps: int = 1000,
    steps: int = 4,
    spacing: int = 1,
    seed: int = 0,
) -> CountCurve:
    """Estimate ln Z_p by Monte Carlo; Z_p is the number of supports that separate p patterns.

    A support is a set of m of the N variables. The patterns are the first p rows, and p takes the
    values 2m, 2m + spacing, … up to the number of rows.

    Fewer and fewer supports separate as p grows, so Z_p is estimated step by step. For each p there
    is a random walk over the supports that separate the first p patterns, called a rung; all rungs
    are the ladder. The share of a rung is that part of the supports on the rung below which also
    separates the patterns of this rung (on the lowest rung: that part of all C(N, m) supports).
    The product of C(N, m) and of all shares up to p is Z_p:

        ln Z_p = ln C(N, m) + Σ over rungs up to p of ln(share).

    A small share could not be measured well. There the ladder has further rungs between two p,
    which ask that the new patterns are separated only in part ("softened"). Their shares are terms
    of the sum, but they are no points of the curve that is returned.

    Parameters
    ----------
    X, y : (patterns, variables) and (patterns,)
        Patterns and labels ±1; patterns are added to the ladder in this order.
    m : int
        Size of the supports, 0 < m < N.
    sweeps : int
        Rounds in which every rung's walk moves, and neighbouring rungs may exchange supports. A
        fifth as many rounds precede them that are not counted.
    steps : int
        Swaps of one variable that a walk tries in a round.
    spacing : int
        Patterns from one point of the curve to the next.
    seed : int
        Of the random numbers.
    """
    n_variables = X.shape[1]
    if not 0 < m < n_variables:
        raise InputError(
            f"the size of the supports is {m}; it must lie between 1 and {n_variables - 1}"
        )
    if sweeps < ERROR_BLOCKS:
        raise InputError(f"the number of sweeps is {sweeps}; it must be at least {ERROR_BLOCKS}")

    # The first sweeps only let the walks forget where they started.
    labelled_rows = X * y[:, None]
    ladder = _Ladder(labelled_rows, m, spacing=spacing, swaps_per_move=steps, seed=seed)
    for _ in range(sweeps // 5):
        ladder.sweep()

    # Count, for each rung, the supports that were tried and those that separated: the share is
    # their ratio. The counts are kept apart in blocks of sweeps, (blocks, rungs), whose scatter
    # gives the standard errors.
    n_separated, n_tried = _counts_in_blocks(ladder, sweeps)
    sums_of_log_shares, errors = _cumulative_log_shares(n_separated, n_tried)  # up to each rung
    log_counts = float(log_binomial(n_variables, m)) + sums_of_log_shares  # (rungs,)

    # Softened rungs belong to no number of patterns, so they are no points of the curve.
    is_point = np.array([not rung.is_softened for rung in ladder.rungs], dtype=bool)
    n_patterns = np.array([rung.n_patterns for rung in ladder.rungs], dtype=np.int64)
    return CountCurve(
        patterns=n_patterns[is_point], log_counts=log_counts[is_point], errors=errors[is_point]
    )


def _counts_in_blocks(
    ladder: _Ladder, sweeps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the supports that separated on each rung, and those that were tried.

    The walks of the ladder move by `sweeps` sweeps. The counts are sums over `ERROR_BLOCKS` blocks
    of sweeps; both results are (blocks, rungs).
    """
    separated_in_sweeps = []  # (rungs,) for each sweep
    tried_in_sweeps = []
    for _ in range(sweeps):
        n_separated, n_tried = ladder.sweep()
        separated_in_sweeps.append(n_separated)
        tried_in_sweeps.append(n_tried)
    return _block_sums(separated_in_sweeps), _block_sums(tried_in_sweeps)


def _cumulative_log_shares(
    n_separated: NDArray[np.float64], n_tried: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up ln(share of supports that separated) from the lowest rung to each, with errors.

    `n_separated` and `n_tried` count supports in blocks of sweeps, (blocks, rungs). Both results
    are (rungs,): the sums, and their standard errors from the scatter of the blocks.
    """
    n_blocks = len(n_separated)
    # A rung that no support reached has the share 0, and ln 0 = −∞ without a warning.
    with np.errstate(divide="ignore", invalid="ignore"):
        # From the counts of all blocks together.
        shares = n_separated.sum(axis=0) / n_tried.sum(axis=0)
        sums = np.cumsum(np.log(shares))

        # From the counts of each block, (blocks, rungs).
        shares_in_blocks = n_separated / n_tried
        sums_in_blocks = np.cumsum(np.log(shares_in_blocks), axis=1)
        errors = sums_in_blocks.std(axis=0, ddof=1) / np.sqrt(n_blocks)
    return sums, errors


def _block_sums(sweeps: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sums over blocks of sweeps, (ERROR_BLOCKS, rungs); each sweep has shape (rungs,)."""
    blocks = np.array_split(np.array(sweeps), ERROR_BLOCKS)
    return np.stack([block.sum(axis=0) for block in blocks])
