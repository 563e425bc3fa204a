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
    """How many columns the pool gets, or None if all columns are to be searched.

    Parameters
    ----------
    pool : how many columns the user wants; None: there is a pool where `needs_pool` says so.
    max_variables : of a rule; a default pool has several columns for each.
    min_entries : X must have more entries than this for a default pool.
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
    """Whether X has so many entries, and so many more columns than a pool, that this must do."""
    return problem.X.size > min_entries and width < problem.n_features // 2


def default_pool_width(problem: Problem, max_variables: int) -> int:
    """Columns of a pool for rules of up to so many variables: several for each of them."""
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
        """Sorted indices of the first so many columns.

        The whole path is among them if it separates: then the pool does.
        """
        if self.separates:
            width = max(width, self.path_length)
        return np.sort(self.order[:width])


def rank_columns(problem: Problem, max_steps: int, errors_of_singles: NDArray[np.int64]) -> Ranking:
    """Rank columns: those of a greedy path, the best by themselves, then all by screening score.

    Columns that rank equal come in the order of the table.

    Parameters
    ----------
    max_steps : of the path.
    errors_of_singles : (features,) the fewest errors of a rule on each column by itself, from
        `single_errors`.
    """
    path = _greedy_path(problem, max_steps)
    best_singles = np.argsort(errors_of_singles, kind="stable")[:POOLED_SINGLES]
    by_score = np.argsort(-path.scores, kind="stable")
    with_repeats = np.concatenate([path.columns, best_singles, by_score])

    # Each column counts where it comes first.
    _, first_places = np.unique(with_repeats, return_index=True)
    return Ranking(
        order=with_repeats[np.sort(first_places)],
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
    """Add the column of largest product with the slack and refit, until all samples are right.

    The slack r, (samples,), is 1 − margin of the samples whose margin is below 1, and 0 of the
    others. Each step multiplies all columns with it, raises the `scores` to |a_jᵀ r| / |r| where
    that is larger, and adds the best column that was not chosen before.
    """
    max_steps = min(max_steps, problem.n_samples, problem.n_features)
    hinge = _empty_workspace(problem, max_steps)
    chosen: list[int] = []
    scores = np.zeros(problem.n_features)
    slack = np.ones(problem.n_samples)
    separates = False
    for step in range(max_steps):
        products = slack_products(problem, slack)
        slack_norm = max(float(np.linalg.norm(slack)), SMALLEST_NORM)
        np.maximum(scores, products / slack_norm, out=scores)
        products[chosen] = -1.0  # below all others, which are 0 or more: each is chosen once
        best = int(np.argmax(products))
        chosen.append(best)

        # Fill the workspace's column of this step, and take it into the support.
        values = problem.rows(np.array([best]))[:, 0]
        set_column(hinge, step, values, is_nonnegative=bool(problem.nonnegative[best]))
        separates = fit(hinge, add=step, max_newton=SWAP_FIT_STEPS)
        if separates:
            break
        slack = hinge.state.active * (1.0 - hinge.state.margins)
    return _GreedyPath(columns=np.array(chosen, dtype=np.int64), scores=scores, separates=separates)


def _empty_workspace(problem: Problem, max_steps: int) -> Hinge:
    """A workspace with a column of zeros for every step of a path, to be filled one by one.

    Column s is for step s. With an intercept there is one more, the last, which is in every
    support: as scaled columns are y·x, that of the constant 1 is y. No column is nonnegative yet:
    `set_column` says it of each when it is filled.
    """
    n_columns = max_steps + problem.n_unpenalized
    columns = np.zeros((n_columns, problem.n_samples))
    columns[max_steps:] = problem.y
    return make_hinge(
        columns,
        capacity=n_columns,
        n_unpenalized=problem.n_unpenalized,
        nonnegative=np.zeros(n_columns, dtype=np.bool_),
    )


def slack_products(problem: Problem, slack: Floats) -> Floats:
    """|a_jᵀ r| of every scaled column a_j with the slack r, (samples,); shape (features,).

    As a_j = y·(x_j − centre_j)/scale_j, the product is (Σ y r x_j − centre_j Σ y r)/scale_j, which
    needs no scaled copy of X. A negative product asks for a negative weight: where that is
    forbidden it is 0. (Columns that must have a negative weight are nonnegative too: a negative
    scale_j has turned them round.)
    """
    labelled_slack = problem.y * slack
    products = labelled_slack.astype(problem.X.dtype) @ problem.X

    # Single precision overflows where doubles do not.
    overflown = np.flatnonzero(~np.isfinite(products))
    products = products.astype(float)
    products[overflown] = labelled_slack @ problem.X[:, overflown].astype(float)

    products = (products - labelled_slack.sum() * problem.centre) / problem.scale
    has_wrong_sign = problem.nonnegative[: problem.n_features] & (products < 0)
    return np.where(has_wrong_sign, 0.0, np.abs(products))


def pooled_problem(problem: Problem, pool: NDArray[np.int64]) -> Problem:
    """The problem on the pool's columns alone."""
    signs = None
    if problem.signs is not None:
        signs = problem.signs[pool]
    return replace(problem, X=np.ascontiguousarray(problem.X[:, pool], dtype=float), signs=signs)


def events_of_pool(events: Iterator[Event], pool: NDArray[np.int64]) -> Iterator[Event]:
    """Events of a search in the pool, in the table's own columns.

    Lower bounds are left out: what was proven of the pool is not proven of the table.
    """
    for event in events:
        if isinstance(event, LowerBound):
            continue
        if isinstance(event, Candidate):
            yield _candidate_of_table(event, pool)
        else:
            yield event


def _candidate_of_table(candidate: Candidate, pool: NDArray[np.int64]) -> Candidate:
    """A candidate on columns of the pool as one on columns of the table."""
    rule = candidate.rule
    if rule is not None:
        rule = replace(rule, support=pool[rule.support])
    return candidate._replace(support=pool[candidate.support], rule=rule)
