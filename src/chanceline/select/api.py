"""One protocol for every method: `search` gives the outcome, `iter_search` every improvement on the way."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from chanceline.errors import InputError, whole_number
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rule import scaled_rule
from chanceline.perceptron.separate import widest_rule
from chanceline.perceptron.validation import column_names
from chanceline.select.outcome import (
    NOTHING,
    Candidate,
    LowerBound,
    SearchOutcome,
    candidate_rule,
    fitted,
)

Method = Callable[..., Iterator[Candidate | LowerBound | int]]
# Loaded on use. A method of your own need not be entered here: "module:function" names it, in worker processes too.
METHODS: dict[str, Method | str] = {
    "auto": "chanceline.select.auto:run_auto",
    "tabu": "chanceline.select.swaps:run_tabu",
    "amp": "chanceline.select.amp:run_amp",
    "omp": "chanceline.select.swaps:run_omp",
    "greedy-biht": "chanceline.select.biht:run_greedy_biht",
    "biht": "chanceline.select.biht:run_biht",
    "l1": "chanceline.select.l1:run_l1",
    "reweighted-l1": "chanceline.select.l1:run_reweighted_l1",
    "exact": "chanceline.select.exact:run_exact",
}
FORGIVING = ("auto", "exact")  # methods that can allow errors
WITHOUT_SIGNS = ("greedy-biht", "biht")  # methods of the paper, whose weights have any sign


def find_method(name: str) -> Method:
    """The method of that name: one of `METHODS`, or a function of a module that can be imported, "module:function"."""
    known = METHODS.get(name, name)
    if callable(known):
        return known
    module, colon, function = str(known).partition(":")
    if not colon:
        raise InputError(
            f"There is no search method {name!r}; choose one of {', '.join(METHODS)}, or name a function of your own as "
            "module:function."
        )
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"The search method {name!r} could not be imported ({error}); check the names."
        ) from None
    if not callable(found):
        raise InputError(f"The search method {name!r} is no function; name a generator function.")
    return cast(Method, found)


def iter_search(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "auto",
    budget: int | None = None,
    seed: int = 0,
    intercept: bool = False,
    *,
    errors: int = 0,
    signs: ArrayLike | None = None,
    target: int | None = None,
    progress: Callable[[int, SearchOutcome], None] | None = None,
    **options: Any,
) -> Iterator[SearchOutcome]:
    """Yield an outcome at every improvement, with the method's own weights; then once more the best, with the largest margin.

    That last one is what `search` returns. Parameters as there.

    Ctrl-C is not caught: KeyboardInterrupt comes out of the iteration.
    """
    run = find_method(method)
    budget = None if budget is None else whole_number(budget, "The budget, a number of iterations,")
    target = None if target is None else whole_number(target, "The target, a number of variables,")
    seed = whole_number(seed, "The seed")
    errors = whole_number(errors, "The number of errors allowed")
    if errors and method not in FORGIVING:
        raise InputError(
            f"The method {method!r} allows no errors; choose one of {', '.join(FORGIVING)}."
        )
    if signs is not None and method in WITHOUT_SIGNS:
        raise InputError(f"The method {method!r} knows no signs; choose auto, tabu, omp or exact.")
    if errors:
        options["errors"] = errors
    _check_options(method, run, options)
    problem = make_problem(X, y, intercept, contradictions=errors > 0, signs=signs)
    names = column_names(X)
    history: list[tuple[int, int]] = []
    best: SearchOutcome | None = None
    bound = LowerBound(1, 0)
    last = NOTHING
    for event in run(problem, budget, seed, **options):
        before = best
        if isinstance(event, Candidate):
            outcome = _outcome(problem, event, method, seed, history, errors, names)
            if best is None or _cost(outcome) < _cost(best):
                history.append((event.iterations, outcome.n_selected))
                last = event
                best = _with_proof(outcome, bound)
        elif isinstance(event, LowerBound):
            bound = event
            best = None if best is None else _with_proof(best, bound)
        if best is not None and best is not before:
            yield best
        if progress is not None and best is not None:
            progress(
                event if isinstance(event, int) else getattr(event, "iterations", best.iterations),
                best,
            )
        if (
            target is not None
            and best is not None
            and best.errors <= errors
            and best.n_selected <= target
        ):
            break
    final = _outcome(problem, last, method, seed, history[:-1], errors, names, wide=True)
    yield _with_proof(final, bound)


def _with_proof(outcome: SearchOutcome, bound: LowerBound) -> SearchOutcome:
    """The outcome with what is proven."""
    return replace(
        outcome, lower_bound=bound.smallest, proof_size=bound.nodes, proven_gap=bound.gap
    )


def _check_options(method: str, run: Method, options: dict[str, Any]) -> None:
    """Refuse options that the method does not take."""
    taken = inspect.signature(run).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken):
        return
    names = [parameter.name for parameter in taken][3:]
    for name in options:
        if name not in names:
            known = f"it takes {', '.join(names)}" if names else "it takes none"
            raise InputError(f"The method {method!r} has no option {name!r}; {known}.")


def search(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "auto",
    budget: int | None = None,
    seed: int = 0,
    intercept: bool = False,
    *,
    errors: int = 0,
    signs: ArrayLike | None = None,
    target: int | None = None,
    progress: Callable[[int, SearchOutcome], None] | None = None,
    **options: Any,
) -> SearchOutcome:
    """Find as few variables as possible whose perceptron classifies every pattern, or all but a few.

    Parameters
    ----------
    X : (P, N) matrix of real numbers, samples in rows, or a DataFrame, whose names the outcome then has; columns are scaled
        internally, and the weights given in the units of X.
    y : P labels of at most two values, the larger of which is the positive class.
    method : `auto` unless you know better: `tabu`, `amp`, `omp`, `greedy-biht`, `biht`, `l1`,
        `reweighted-l1`, `exact`; or a function of your own as "module:function" (see docs/extending.md).
    budget : iterations (swaps for `auto` and `tabu`, nodes for `exact`); results do not depend on the machine's speed.
    seed : same seed, same result, bit for bit.
    intercept : add a constant to the perceptron; it does not count as a variable.
    errors : patterns that may be wrong, for `auto` and `exact`; `chanceline.front` gives the fewest errors for every size.
    signs : of the weights, where they are known: +1, −1 or 0 (free) for every column, or one of them for all. A weight never
        has the other sign; one that ends at zero leaves the support.
    target : stop as soon as at most this many variables suffice.
    progress : called with (iterations, best outcome) as the search goes.

    Returns
    -------
    SearchOutcome
        If nothing makes so few errors, the fewest found.

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt; whoever wants the best so far takes it from `iter_search`.
    """
    return list(
        iter_search(
            X,
            y,
            method,
            budget,
            seed,
            intercept,
            errors=errors,
            signs=signs,
            target=target,
            progress=progress,
            **options,
        )
    )[-1]


def _cost(outcome: SearchOutcome) -> tuple[int, int, int]:
    """What is to be small: errors beyond those allowed, then variables, then errors."""
    return max(outcome.errors - outcome.allowed, 0), outcome.n_selected, outcome.errors


def _outcome(
    problem: Problem,
    found: Candidate,
    method: str,
    seed: int,
    history: list[tuple[int, int]],
    allowed: int,
    names: tuple[str, ...] | None,
    wide: bool = False,
) -> SearchOutcome:
    """The method's own rule; if it does not separate, or `wide`, the rule of largest margin where there is one."""
    support = found.support.astype(np.int64)
    rule = candidate_rule(problem, found)
    if (wide or rule.errors) and support.size + problem.kept:
        rule = scaled_rule(problem, *fitted(problem, support, found.iterations)[:3])
    if rule.errors:
        rule = widest_rule(problem, support, found.weights, found.constant)
    if found.rule is not None and found.rule.errors < rule.errors:
        rule = found.rule
    return SearchOutcome(
        **vars(rule),
        iterations=found.iterations,
        history=[*history, (found.iterations, rule.n_selected)],
        seed=seed,
        method=method,
        n_samples=problem.n_samples,
        n_features=problem.n_features,
        allowed=allowed,
        features=() if names is None else tuple(names[j] for j in rule.support),
    )
