"""The same search from several seeds, in parallel: the best of what they find.

Which seed finds it does not depend on the number of jobs, and of equally good outcomes that of the
first seed is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from chanceline._parallel import Progress, run_ordered
from chanceline.errors import whole_number
from chanceline.select.api import search
from chanceline.select.front_result import Front, FrontPoint
from chanceline.select.outcome import SearchOutcome
from chanceline.select.pareto import front


def search_from_seeds(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
    **options: Any,
) -> SearchOutcome:
    """Run `search` with several seeds, in parallel, and return the best outcome.

    Parameters
    ----------
    X, y, options : as `search` takes them.
    restarts : number of seeds: `seed`, `seed` + 1, ….
    seed : the first of them.
    n_jobs : number of processes, as in joblib.
    progress : called with (searches done, searches in all).
    """
    seeds = _seeds(seed, restarts)
    outcomes = run_ordered(
        _search_from_seed, seeds, common=(X, y, options), n_jobs=n_jobs, progress=progress
    )
    return min(outcomes, key=_rank)


def front_from_seeds(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Front:
    """Run `front` with several seeds, and take the best point for every number of variables.

    Parameters are those of `search_from_seeds`, with the options of `front`.
    """
    seeds = _seeds(seed, restarts)
    fronts = run_ordered(
        _front_from_seed, seeds, common=(X, y, options), n_jobs=n_jobs, progress=progress
    )
    return best_front(list(fronts))


def best_front(fronts: Sequence[Front]) -> Front:
    """Combine several fronts of the same table into the best one.

    For every number of variables k the point with the fewest errors is taken, up to the first point
    without errors. A point counts as proven (no rule on k variables makes fewer errors) if the
    point of any of the fronts is proven.
    """
    points: list[FrontPoint] = []
    # All fronts end at the same number of variables, unless they reach zero errors earlier. After
    # that `at(k)` returns their last point.
    n_points = max(len(one_front.points) for one_front in fronts)
    for k in range(n_points):
        points_at_k = [one_front.at(k) for one_front in fronts]
        best = min(points_at_k, key=lambda point: point.errors)
        is_proven = any(point.proven for point in points_at_k)
        points.append(replace(best, k=k, proven=is_proven))
        if best.errors == 0:
            break

    iterations = sum(one_front.iterations for one_front in fronts)
    return replace(fronts[0], points=tuple(points), iterations=iterations)


def _seeds(seed: int, restarts: int) -> range:
    first = whole_number(seed, "The seed")
    n_seeds = whole_number(restarts, "The number of restarts", at_least=1)
    return range(first, first + n_seeds)


def _search_from_seed(
    seed: int, X: ArrayLike, y: ArrayLike, options: Mapping[str, Any]
) -> SearchOutcome:
    return search(X, y, seed=seed, **options)


def _front_from_seed(seed: int, X: ArrayLike, y: ArrayLike, options: Mapping[str, Any]) -> Front:
    return front(X, y, seed=seed, **options)


def _rank(outcome: SearchOutcome) -> tuple[int, int]:
    """Return what ranks outcomes: errors beyond those allowed, then the number of variables."""
    n_errors_too_many = max(outcome.errors - outcome.max_errors, 0)
    return n_errors_too_many, outcome.n_selected
