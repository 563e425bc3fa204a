"""One protocol for every method: `search` gives the outcome, `iter_search` every improvement on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chanceline.errors import InputError
from chanceline.search.greedy import run_omp
from chanceline.search.local import run_tabu
from chanceline.search.outcome import Candidate, SearchOutcome
from chanceline.search.problem import Problem, make_problem

Method = Callable[..., Iterator[Candidate | int]]
METHODS: dict[str, Method] = {
    "omp": run_omp,
    "tabu": run_tabu,
    "auto": run_tabu,
}


def default_budget(problem: Problem) -> int:
    """Iterations that take about a second on gene-expression data, and a few on random problems of N = 256."""
    return 10_000


def iter_search(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "auto",
    budget: int | None = None,
    seed: int = 0,
    intercept: bool = False,
    *,
    target: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Iterator[SearchOutcome]:
    """Yield an outcome at every improvement; the last one is what `search` returns."""
    if method not in METHODS:
        raise InputError(f"There is no search method {method!r}; choose one of {', '.join(METHODS)}.")
    if budget is not None and budget < 0:
        raise InputError(f"The budget counts iterations and cannot be negative, but is {budget}.")
    problem = make_problem(X, y, intercept)
    history: list[tuple[int, int]] = []
    best: SearchOutcome | None = None
    for event in METHODS[method](problem, default_budget(problem) if budget is None else budget, seed, **options):
        if isinstance(event, Candidate):
            outcome = _outcome(problem, event, method, seed, history)
            if best is None or (outcome.errors, outcome.n_selected) < (best.errors, best.n_selected):
                history.append((event.iterations, outcome.n_selected))
                best = outcome
                yield outcome
        if progress is not None and best is not None:
            progress(event.iterations if isinstance(event, Candidate) else event, best.n_selected)
        if target is not None and best is not None and best.separates and best.n_selected <= target:
            return


def search(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "auto",
    budget: int | None = None,
    seed: int = 0,
    intercept: bool = False,
    **options: Any,
) -> SearchOutcome:
    best: SearchOutcome | None = None
    try:
        for outcome in iter_search(X, y, method, budget, seed, intercept, **options):
            best = outcome
    except KeyboardInterrupt:
        if best is None:
            raise
    assert best is not None
    return best


def _outcome(problem: Problem, found: Candidate, method: str, seed: int, history: list[tuple[int, int]]) -> SearchOutcome:
    weights, bias = problem.original(found.support, found.weights, found.constant)
    margins = problem.margins(found.support, weights, bias)
    return SearchOutcome(
        support=found.support,
        weights=weights,
        bias=bias,
        margin=float(margins.min()),
        errors=int(np.count_nonzero(margins <= 0)),
        iterations=found.iterations,
        history=[*history, (found.iterations, found.support.size)],
        seed=seed,
        method=method,
        n_samples=problem.n_samples,
        n_features=problem.n_features,
    )
