"""A pool of columns that stands for all in very wide tables: a search keeps copies of these alone.

Columns are ranked by their product with the slack, |a_jᵀ r| / |r|, along a greedy path: all columns
at every step, from X itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import whole_number
from chanceline.perceptron.hinge import SWAP_FIT_STEPS, fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, make_hinge, set_column
from chanceline.select.outcome import Candidate, Event, LowerBound

MIN_POOLED_ENTRIES = 6_000_000  # of X: in a smaller table all columns are searched
POOL_ENTRIES = 500_000  # in a smaller pool more swaps are affordable (`benchmarks/pool.py`)
MIN_POOL_WIDTH = 1000  # columns
POOLED_SINGLES = 100  # columns of fewest errors by themselves that belong to a pool
COLUMNS_PER_VARIABLE = 4  # of a pool, for every variable that a rule may need
SMALLEST_NORM = 1e-300  # of the slack: keeps zero from a division


def pool_width(
    problem: Problem,
    pool: int | None,
    max_variables: int,
    min_entries: int = MIN_POOLED_ENTRIES,
) -> int | None:
    """Decide how many columns the pool gets; None if all columns are to be searched.

    The pool is a selection of columns that is searched in place of a very wide table.

    Parameters
    ----------
    pool : number of columns that the user wants; None to decide by the size of the table.
    max_variables : largest number of variables of a rule; a default pool has several columns for
        each.
    min_entries : by default there is a pool only if X has more entries than this.
    """
    if pool is not None:
        width = whole_number(pool, "The pool, a number of columns,", at_least=1)
        if width < problem.n_features:
            return width
        return None
    width = default_pool_width(problem, max_variables)
    if needs_pool(problem, width, min_entries):
        return width
    return None


def needs_pool(problem: Problem, width: int, min_entries: int = MIN_POOLED_ENTRIES) -> bool:
    """Whether X is so large, and so much wider than a pool, that a pool should stand for it."""
    return problem.X.size > min_entries and width < problem.n_features // 2


def default_pool_width(problem: Problem, max_variables: int) -> int:
    """Return the default number of columns of a pool, for rules of so many variables."""
    affordable = POOL_ENTRIES // problem.n_samples
    return max(MIN_POOL_WIDTH, affordable, COLUMNS_PER_VARIABLE * max_variables)


class Ranking(NamedTuple):
    """All columns of a table, the most promising first.

    Attributes
    ----------
    order : (features,) indices.
    path_length : so many of the first are a greedy path.
    separates : whether the columns of the path do.
    """

    order: NDArray[np.int64]
    path_length: int
    separates: bool

    def pool(self, width: int) -> NDArray[np.int64]:
        """Return the sorted indices of the first `width` columns.

        If the greedy path separates, all its columns are included, so that the pool separates too.
        """
        if self.separates:
            width = max(width, self.path_length)
        return np.sort(self.order[:width])


def rank_columns(problem: Problem, max_steps: int, errors_of_singles: NDArray[np.int64]) -> Ranking:
    """Rank all columns: those of a greedy path, then the best single ones, then all others.

    A greedy path adds one column after the other, until they separate. It also gives each column a
    score, by which the other columns are ranked. Columns that rank equal keep the order of the
    table.

    Parameters
    ----------
    max_steps : largest length of the path.
    errors_of_singles : (features,) the fewest errors of a rule on each single column, from
        `single_errors`.
    """
    path = _greedy_path(problem, max_steps)
    best_singles = np.argsort(errors_of_singles, kind="stable")[:POOLED_SINGLES]
    columns_by_score = np.argsort(-path.scores, kind="stable")
    order_with_repeats = np.concatenate([path.columns, best_singles, columns_by_score])

    # Keep only the first occurrence of each column.
    _, first_places = np.unique(order_with_repeats, return_index=True)
    order = order_with_repeats[np.sort(first_places)]
    return Ranking(
        order=order,
        path_length=path.columns.size,
        separates=path.separates,
    )


class _GreedyPath(NamedTuple):
    """Columns that were added one by one.

    Attributes
    ----------
    columns : (steps,) indices.
    scores : (features,) the largest |a_jᵀ r| / |r| of every column on the way.
    separates : whether these columns do.
    """

    columns: NDArray[np.int64]
    scores: Floats
    separates: bool


def _greedy_path(problem: Problem, max_steps: int) -> _GreedyPath:
    """Add columns one by one until they separate all samples, or `max_steps` columns are added.

    The slack r, (samples,), is 1 − margin where that is positive, else 0. A step computes the
    absolute products |a_j·r| for all columns a_j, adds the column with the largest product, and
    fits the weights of all columns added so far. The score of a column is its largest |a_j·r| / |r|
    of all steps.

    The fits use a workspace with one column for each step of the path, which is filled when the
    step is made. So no scaled copy of the whole table is needed.
    """
    max_steps = min(max_steps, problem.n_samples, problem.n_features)
    workspace = _empty_workspace(problem, max_steps)
    path_columns: list[int] = []
    scores = np.zeros(problem.n_features)
    slack = np.ones(problem.n_samples)  # without a column all margins are 0
    separates = False
    for step in range(max_steps):
        # Score all columns.
        absolute_products = slack_products(problem, slack)
        slack_norm = max(float(np.linalg.norm(slack)), SMALLEST_NORM)
        scores_of_step = absolute_products / slack_norm
        scores = np.maximum(scores, scores_of_step)

        # Add the best column that is not on the path yet.
        absolute_products[path_columns] = -1.0  # below all others
        best_column = int(np.argmax(absolute_products))
        path_columns.append(best_column)

        # Write this column into the workspace, as its column number `step`. (The table of one
        # column, as `rows` returns it, has the intercept, if there is one, as a second column.)
        rows = problem.rows(np.array([best_column]))  # (samples, 1 or 2), scaled, times the labels
        values = rows[:, 0]
        is_nonnegative = bool(problem.nonnegative[best_column])
        set_column(workspace, step, values, is_nonnegative=is_nonnegative)

        # Fit the weights with this column added to the support of the workspace, in a limited
        # number of Newton steps. The fit updates weights and margins in `workspace.state`.
        separates = fit(workspace, add=step, max_newton=SWAP_FIT_STEPS)
        if separates:
            break

        # The slack after the fit: `active` is 1.0 for samples of margin below 1, else 0.0.
        state = workspace.state
        slack = state.active * (1.0 - state.margins)
    columns = np.array(path_columns, dtype=np.int64)
    return _GreedyPath(columns=columns, scores=scores, separates=separates)


def _empty_workspace(problem: Problem, max_steps: int) -> Hinge:
    """Make a workspace with a column of zeros for each step of a path, to be filled step by step.

    With an intercept there is one more column, the last, which belongs to every support. The
    columns of a workspace are y·x, the feature x times the labels y = ±1. The intercept is the
    feature x = 1, so its column is y.
    """
    n_columns = max_steps + problem.n_unpenalized  # one more with an intercept
    columns = np.zeros((n_columns, problem.n_samples))
    columns[max_steps:] = problem.y
    return make_hinge(
        columns,
        capacity=n_columns,
        n_unpenalized=problem.n_unpenalized,
        # `set_column`, which fills a column, also says whether its weight must not be negative.
        nonnegative=np.zeros(n_columns, dtype=np.bool_),
    )


def slack_products(problem: Problem, slack: Floats) -> Floats:
    """Return |a_j·r| for every scaled column a_j, (features,), with the slack r, (samples,).

    The scaled columns are a_j = y (x_j − centre_j) / scale_j, with the labels y = ±1. So

        a_j·r = (Σ y r x_j − centre_j Σ y r) / scale_j,

    where the sums are over samples: no scaled copy of X is needed.

    A negative product asks for a negative weight on the scaled column. Where this is forbidden,
    which `problem.nonnegative` says, 0 is returned. (It says so for both prescribed signs: if the
    weight of x_j must not be positive, the column is scaled with a negative scale_j, so that the
    weight on the scaled column must not be negative.)

    problem : X, (samples, features), the labels, and centre and scale of every column.
    """
    # Σ y r x_j for all columns j, in the precision of X.
    labelled_slack = problem.y * slack  # y r
    sums_in_precision_of_X = labelled_slack.astype(problem.X.dtype) @ problem.X

    # If X is in single precision, sums may overflow. Compute these again in doubles.
    overflown_columns = np.flatnonzero(~np.isfinite(sums_in_precision_of_X))
    sums_with_x = sums_in_precision_of_X.astype(float)
    values_in_doubles = problem.X[:, overflown_columns].astype(float)
    sums_with_x[overflown_columns] = labelled_slack @ values_in_doubles

    # a_j·r
    centred_sums = sums_with_x - labelled_slack.sum() * problem.centre
    products = centred_sums / problem.scale

    # The columns that ask for a forbidden sign. (`nonnegative` has the intercept as a last entry.)
    must_not_be_negative = problem.nonnegative[: problem.n_features]
    asks_for_forbidden_sign = must_not_be_negative & (products < 0)
    return np.where(asks_for_forbidden_sign, 0.0, np.abs(products))


def pooled_problem(problem: Problem, pool: NDArray[np.int64]) -> Problem:
    """Return the problem restricted to the columns of the pool."""
    signs = None
    if problem.signs is not None:
        signs = problem.signs[pool]
    return replace(problem, X=np.ascontiguousarray(problem.X[:, pool], dtype=float), signs=signs)


def events_of_pool(events: Iterator[Event], pool: NDArray[np.int64]) -> Iterator[Event]:
    """Translate the events of a search in a pool into the table's own columns.

    Lower bounds are left out: what is proven for the pool is not proven for the whole table.
    """
    for event in events:
        if isinstance(event, LowerBound):
            continue
        if isinstance(event, Candidate):
            yield _candidate_of_table(event, pool)
        else:
            yield event


def _candidate_of_table(candidate: Candidate, pool: NDArray[np.int64]) -> Candidate:
    """Translate a candidate on columns of the pool into one on columns of the table."""
    rule = candidate.rule
    if rule is not None:
        rule = replace(rule, support=pool[rule.support])
    return candidate._replace(support=pool[candidate.support], rule=rule)
