"""The front: for every number of variables the fewest errors found of a linear rule on so many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import whole_number
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.validation import column_names
from chanceline.select.column_pool import pool_width, pooled_problem, rank_columns
from chanceline.select.front_proofs import prove_pairs, prove_singles
from chanceline.select.front_result import Front
from chanceline.select.front_search import FrontSearch, default_front_swaps
from chanceline.select.singles import single_errors


def front(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    *,
    intercept: bool = True,
    max_features: int = 10,
    budget: int | None = None,
    seed: int = 0,
    signs: ArrayLike | None = None,
    pool: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Front:
    """Find, for every number of variables up to `max_features`, the fewest errors of a linear rule.

    Parameters
    ----------
    X : (P, N) matrix of real numbers, or a DataFrame, whose names the front then has.
    y : P labels of at most two values, the larger of which is the positive class.
    intercept : whether the rule has a threshold; it does not count as a variable.
    max_features : largest number of variables K.
    budget : swaps in all; by default five to ten seconds' worth on tables like 60 × 7000 or
        168 × 2905.
    seed : same seed, same result.
    signs : of the weights, where they are known: +1, −1 or 0 (free) for every column, or one of
        them for all.
    pool : columns that stand for all where two and more variables are searched; by default at least
        a thousand in tables of more than six million entries, and otherwise all.
    progress : called with (swaps done, swaps in all).

    Returns
    -------
    Front
        Errors are counted exactly; a sample on the threshold is an error. One variable is searched
        exhaustively, two as well in small tables (points that are `proven`), more by a heuristic,
        so that fewer errors may be possible.
    """
    max_features = whole_number(max_features, "max_features")
    if budget is not None:
        budget = whole_number(budget, "The budget, a number of swaps,")
    seed = whole_number(seed, "The seed")
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    max_variables = min(max_features, problem.n_features)
    errors_of_singles = single_errors(problem)

    # Search the whole table, or a pool of its columns. A pool consists of promising columns, chosen
    # partly by `errors_of_singles`; `searched_columns` then says which columns of the table these
    # are. It is None if the whole table is searched.
    searched_problem, searched_columns = _table_to_search(
        problem, pool, max_variables, errors_of_singles
    )
    n_swaps_in_all = budget
    if n_swaps_in_all is None:
        n_swaps_in_all = default_front_swaps(searched_problem, max_variables)
    search = FrontSearch(searched_problem, max_variables, seed)
    for n_swaps in search.run(n_swaps_in_all):
        if progress is not None:
            progress(n_swaps, n_swaps_in_all)

    # The best rule found for each number of variables, as rules on columns of the whole table.
    points = search.points(problem, searched_columns)

    # Search supports of one variable exhaustively on the whole table, and those of two if that does
    # not take too long. This improves the points where it finds fewer errors, and marks them as
    # proven. All pairs are searched only with the default budget: a user who sets one does not want
    # to wait for them.
    points = prove_singles(problem, points, errors_of_singles)
    points = prove_pairs(problem, points, all_pairs=budget is None)
    return Front(
        points=tuple(points),
        n_samples=problem.n_samples,
        n_features=problem.n_features,
        intercept=problem.intercept,
        iterations=search.n_swaps,
        seed=seed,
        feature_names=column_names(X),
    )


def _table_to_search(
    problem: Problem, pool: int | None, max_variables: int, errors_of_singles: NDArray[np.int64]
) -> tuple[Problem, NDArray[np.int64] | None]:
    """Return the table in which rules of several variables are searched, and which columns it has.

    That is a pool of the problem's columns, if `pool` or the width of the problem asks for one.
    Otherwise it is the problem itself, and None stands for all columns.

    errors_of_singles : (features,) the fewest errors of a rule on each column by itself.
    """
    largest_support = max_variables + 1  # swaps add a variable before they drop one
    width = pool_width(problem, pool, largest_support)
    if width is None:
        return problem, None
    ranking = rank_columns(problem, largest_support, errors_of_singles)
    columns = ranking.pool(width)
    return pooled_problem(problem, columns), columns
