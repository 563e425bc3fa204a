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
    """The best outcome of `search` with the seeds `seed`, `seed` + 1, …

    Parameters
    ----------
    X, y, options : as `search` takes them.
    restarts : number of seeds.
    seed : the first of them.
    n_jobs : as in joblib.
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
    """For every number of variables the best point of the fronts of several seeds.

    Parameters are those of `search_from_seeds`, with the options of `front`.
    """
    seeds = _seeds(seed, restarts)
    fronts = run_ordered(
        _front_from_seed, seeds, common=(X, y, options), n_jobs=n_jobs, progress=progress
    )
    return best_front(list(fronts))


def best_front(fronts: Sequence[Front]) -> Front:
    """The fewest errors at every number of variables, up to the first point without errors."""
    points: list[FrontPoint] = []
    # All end at the same number of variables, but for those that end earlier without errors.
    n_points = max(len(found.points) for found in fronts)
    for k in range(n_points):
        best = min((found.at(k) for found in fronts), key=lambda point: point.errors)
        is_proven = any(found.at(k).proven for found in fronts)
        points.append(replace(best, k=k, proven=is_proven))
        if best.errors == 0:
            break
    return replace(
        fronts[0], points=tuple(points), iterations=sum(found.iterations for found in fronts)
    )


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
    """Small for a good outcome: first come errors beyond those allowed, then variables."""
    n_errors_too_many = max(outcome.errors - outcome.max_errors, 0)
    return n_errors_too_many, outcome.n_selected
