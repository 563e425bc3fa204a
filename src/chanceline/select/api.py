"""One protocol for every method of search.

`search` gives the outcome, `iter_search` every improvement on the way.
"""

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
from chanceline.perceptron.rule import Rule
from chanceline.perceptron.separate import widest_rule
from chanceline.perceptron.validation import column_names
from chanceline.select.outcome import (
    NO_CANDIDATE,
    Candidate,
    Event,
    LowerBound,
    SearchOutcome,
    candidate_rule,
    max_margin_candidate,
)

# A generator function: (problem, budget, seed, **options) → events.
Method = Callable[..., Iterator[Event]]
N_COMMON_ARGUMENTS = 3  # problem, budget and seed, which every method takes

# Loaded on use. A method of your own need not be entered here: "module:function" names it, in
# worker processes too.
METHODS: dict[str, Method | str] = {
    "auto": "chanceline.select.auto:run_auto",
    "tabu": "chanceline.select.tabu:run_tabu",
    "amp": "chanceline.select.amp:run_amp",
    "omp": "chanceline.select.greedy:run_omp",
    "greedy-biht": "chanceline.select.biht:run_greedy_biht",
    "biht": "chanceline.select.biht:run_biht",
    "l1": "chanceline.select.l1:run_l1",
    "reweighted-l1": "chanceline.select.l1:run_reweighted_l1",
    "exact": "chanceline.select.exact:run_exact",
}
FORGIVING = ("auto", "exact")  # methods that can allow errors
WITHOUT_SIGNS = ("greedy-biht", "biht")  # methods of the paper, whose weights have any sign


def find_method(name: str) -> Method:
    """Return the search method of that name, a generator function.

    The name is a key of `METHODS`, or "module:function". Methods that are given as text are
    imported here, on use.
    """
    entry = METHODS.get(name, name)  # a function, or the text "module:function"
    if callable(entry):
        return entry

    module_name, colon, function_name = str(entry).partition(":")
    if not colon:
        raise InputError(
            f"There is no search method {name!r}; choose one of {', '.join(METHODS)}, or name a "
            "function of your own as module:function."
        )
    try:
        method = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"The search method {name!r} could not be imported ({error}); check the names."
        ) from None
    if not callable(method):
        raise InputError(f"The search method {name!r} is no function; name a generator function.")
    return cast(Method, method)


def search(  # noqa: PLR0913
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
    """Find as few variables as possible whose perceptron classifies every pattern, or most.

    Parameters
    ----------
    X : (P, N) matrix of real numbers, samples in rows, or a DataFrame, whose names the outcome then
        has; columns are scaled internally, and the weights given in the units of X.
    y : P labels of at most two values, the larger of which is the positive class.
    method : `auto`, in general the best choice; `tabu`, `amp`, `omp`, `greedy-biht`, `biht`, `l1`,
        `reweighted-l1`, `exact`; or a function of your own as "module:function" (see
        docs/extending.md).
    budget : iterations (swaps for `auto` and `tabu`, nodes for `exact`); results do not depend on
        the machine's speed.
    seed : same seed, same result, bit for bit.
    intercept : add a constant to the perceptron; it does not count as a variable.
    errors : patterns that may be wrong, for `auto` and `exact`; `chanceline.front` gives the fewest
        errors for every size.
    signs : of the weights, where they are known: +1, −1 or 0 (free) for every column, or one of
        them for all. A weight never has the other sign; one that ends at zero leaves the support.
    target : stop as soon as at most this many variables suffice.
    progress : called with (iterations, best outcome) as the search goes.

    Returns
    -------
    SearchOutcome
        The fewest variables found whose rule makes at most `errors` errors. If no rule does, that
        with the fewest errors found.

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt. To have the best outcome so far, iterate over `iter_search`.
    """
    outcomes = iter_search(
        X,
        y,
        method=method,
        budget=budget,
        seed=seed,
        intercept=intercept,
        errors=errors,
        signs=signs,
        target=target,
        progress=progress,
        **options,
    )
    # Run the search to its end; only the last outcome counts.
    *_, final = outcomes
    return final


def iter_search(  # noqa: PLR0913
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
    """Yield an outcome at every improvement of a search, and in the end the final one.

    An improvement is a better rule or a new proof of how many variables are needed. Better means
    fewer errors beyond those allowed, then fewer variables, then fewer errors; so the first
    outcomes may have more errors than allowed.

    On the way outcomes have the weights that the method has found; the final outcome, which is what
    `search` returns, has those of the largest margin. Parameters are those of `search`.

    Ctrl-C is not caught: KeyboardInterrupt is raised by the iteration.
    """
    # Check the arguments before the data, which may be large.
    run = find_method(method)
    if budget is not None:
        budget = whole_number(budget, "The budget, a number of iterations,")
    if target is not None:
        target = whole_number(target, "The target, a number of variables,")
    seed = whole_number(seed, "The seed")
    max_errors = whole_number(errors, "The number of errors allowed")
    allows_errors = max_errors > 0
    _check_abilities(method, max_errors=max_errors, has_signs=signs is not None)
    if allows_errors:
        options["errors"] = max_errors  # methods that allow no errors do not have this option
    _check_options(method, run, options)

    # Equal samples with opposite labels are accepted only if errors are.
    problem = make_problem(X, y, intercept, allow_contradictions=allows_errors, signs=signs)

    # Run the method until it ends or the target is reached. It yields events of three kinds: a
    # candidate (a rule), a lower bound (a proof of how many variables are needed), or the number of
    # iterations so far, as a chance to interrupt. `record` keeps the best outcome so far;
    # `record.update` returns whether an event has changed it.
    record = _SearchRecord(
        problem, method=method, seed=seed, max_errors=max_errors, names=column_names(X)
    )
    for event in run(problem, budget, seed, **options):
        best_has_changed = record.update(event)
        best = record.best
        if best is None:
            continue  # there was no candidate yet
        if best_has_changed:
            yield best

        if progress is not None:
            progress(_iterations_so_far(event, best), best)

        has_few_errors = best.errors <= max_errors
        has_few_variables = target is not None and best.n_selected <= target
        if has_few_errors and has_few_variables:
            break  # the target is reached
    yield record.final()


def _check_abilities(method: str, *, max_errors: int, has_signs: bool) -> None:
    """Refuse errors or prescribed signs if the method does not support them."""
    if max_errors > 0 and method not in FORGIVING:
        raise InputError(
            f"The method {method!r} allows no errors; choose one of {', '.join(FORGIVING)}."
        )
    if has_signs and method in WITHOUT_SIGNS:
        raise InputError(f"The method {method!r} knows no signs; choose auto, tabu, omp or exact.")


def _check_options(method: str, run: Method, options: dict[str, Any]) -> None:
    """Raise InputError for options that the search method does not have.

    The options of a method are its arguments after `problem`, `budget` and `seed`, which every
    method has.

    method : name of the method, for the message.
    run : the method, a generator function.
    options : name → value, as the user gave them.
    """
    parameters = inspect.signature(run).parameters.values()
    accepts_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    if accepts_any:
        return  # the method has **options

    all_names = [parameter.name for parameter in parameters]
    option_names = all_names[N_COMMON_ARGUMENTS:]
    for name in options:
        if name not in option_names:
            listed_names = ", ".join(option_names) or "none"
            raise InputError(
                f"The method {method!r} has no option {name!r}; it takes {listed_names}."
            )


def _iterations_so_far(event: Event, best: SearchOutcome) -> int:
    """Return the iterations spent when a method yielded this event.

    A candidate holds them, and a plain number is the iterations. A lower bound does not say; then
    those of the best outcome so far are returned.
    """
    if isinstance(event, Candidate):
        return event.iterations
    if isinstance(event, LowerBound):
        return best.iterations
    return event  # the number itself


class _SearchRecord:
    """The best outcome of a running search, and what was proven meanwhile.

    Attributes
    ----------
    problem, method, seed, max_errors : the task.
    names : of the columns of X, if it has names.
    best : the best outcome so far; None until the first candidate.
    best_candidate : the candidate that it was made of.
    bound : the last proof; at first that one variable is needed, which is no proof.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        method: str,
        seed: int,
        max_errors: int,
        names: tuple[str, ...] | None,
    ) -> None:
        """Start the record of a search: no outcome yet, and nothing proven.

        The arguments are the attributes of the same names.
        """
        self.problem = problem
        self.method = method
        self.seed = seed
        self.max_errors = max_errors
        self.names = names
        self.best: SearchOutcome | None = None
        self.best_candidate = NO_CANDIDATE
        self.bound = LowerBound(smallest=1, nodes=0)

    @property
    def history(self) -> list[tuple[int, int]]:
        """(iterations, number of variables) of every improvement so far; the last one is `best`."""
        if self.best is None:
            return []
        return self.best.history

    def update(self, event: Event) -> bool:
        """Process an event of the method; return whether `best` has changed.

        An event is a candidate, a proof, or the number of iterations, which changes nothing.
        """
        if isinstance(event, Candidate):
            return self._take_candidate(event)
        if isinstance(event, LowerBound):
            self.bound = event
            if self.best is not None:
                self.best = self._with_proof(self.best)
                return True
        return False

    def _take_candidate(self, candidate: Candidate) -> bool:
        """Make a candidate the best one if it is better (its `_cost` is less); whether it is."""
        rule = _own_rule(self.problem, candidate)
        outcome = self._outcome(rule, candidate.iterations, self.history)
        if self.best is not None and _cost(outcome) >= _cost(self.best):
            return False
        self.best_candidate = candidate
        self.best = outcome
        return True

    def final(self) -> SearchOutcome:
        """Return the best outcome, with the weights of largest margin on its support.

        The last entry of the history belongs to the same outcome, and is written again.
        """
        rule = _max_margin_rule(self.problem, self.best_candidate)
        return self._outcome(rule, self.best_candidate.iterations, self.history[:-1])

    def _outcome(
        self, rule: Rule, iterations: int, earlier_history: list[tuple[int, int]]
    ) -> SearchOutcome:
        """Make the outcome of a rule, with the task and what is proven by now.

        iterations : the effort after which the rule was found.
        earlier_history : (iterations, number of variables) of every improvement before this one.
        """
        features: tuple[str, ...] = ()
        if self.names is not None:
            features = tuple(self.names[j] for j in rule.support)
        outcome = SearchOutcome(
            support=rule.support,
            weights=rule.weights,
            bias=rule.bias,
            wrong=rule.wrong,
            margin=rule.margin,
            multipliers=rule.multipliers,
            iterations=iterations,
            history=[*earlier_history, (iterations, rule.n_selected)],
            seed=self.seed,
            method=self.method,
            n_samples=self.problem.n_samples,
            n_features=self.problem.n_features,
            max_errors=self.max_errors,
            features=features,
        )
        return self._with_proof(outcome)

    def _with_proof(self, outcome: SearchOutcome) -> SearchOutcome:
        """Return the outcome together with what is proven by now."""
        return replace(
            outcome,
            lower_bound=self.bound.smallest,
            proof_size=self.bound.nodes,
            proven_gap=self.bound.gap,
        )


def _cost(outcome: SearchOutcome) -> tuple[int, int, int]:
    """Return what a search minimises, in order of importance.

    These are the errors beyond those allowed, the number of variables, and the errors.
    """
    excess = max(outcome.errors - outcome.max_errors, 0)
    return excess, outcome.n_selected, outcome.errors


def _own_rule(problem: Problem, candidate: Candidate) -> Rule:
    """Return the rule of the candidate's own weights if it separates, else of largest margin."""
    rule = candidate_rule(problem, candidate)
    if rule.separates:
        return rule
    return _max_margin_rule(problem, candidate)


def _max_margin_rule(problem: Problem, candidate: Candidate) -> Rule:
    """Return the rule of largest margin on a candidate's support.

    The margin of a rule is the smallest margin of all samples. If no weights separate all samples,
    it is the smallest margin of those that the candidate's own weights classify correctly. If the
    search method has found a rule in exact arithmetic (`candidate.rule`) that makes fewer errors,
    that rule is returned instead.

    candidate : its `support` are indices of features, (k,); its `weights`, (k,), and its
        `constant`, the weight of the intercept, are those that the search has found.
    """
    support = candidate.support.astype(np.int64)
    n_weights = support.size + problem.n_unpenalized
    if n_weights == 0:
        return candidate_rule(problem, candidate)  # without weights there is only one rule

    # The largest margin of all samples.
    refitted_candidate = max_margin_candidate(problem, support, iterations=candidate.iterations)
    max_margin_rule = candidate_rule(problem, refitted_candidate)

    # If that fails: the largest margin of the samples that the candidate's own weights have right.
    if not max_margin_rule.separates:
        max_margin_rule = widest_rule(problem, support, candidate.weights, candidate.constant)

    rule_from_search = candidate.rule  # found in exact arithmetic; in general None
    if rule_from_search is not None and rule_from_search.errors < max_margin_rule.errors:
        return rule_from_search
    return max_margin_rule
