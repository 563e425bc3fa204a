"""Rules for the observed labels: the smallest set, the path's, and the fewest errors of any size.

The bound covers all sets of features at once, so that any search may be used, however long, and
its result taken for the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log10

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import ColumnTable
from chanceline.errors import ConvergenceError
from chanceline.perceptron.duplicates import consistent_rows
from chanceline.perceptron.few_errors import rule_on
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.perceptron.separate import separate
from chanceline.prediction.metrics import best_threshold
from chanceline.select.pareto import front as search_front
from chanceline.significance.least_squares import least_squares_weights
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.own_search import SearchProcedure
from chanceline.significance.plan import Plan
from chanceline.significance.search_pool import SearchedTable

# Swaps of the search for fewest errors at every number of features: some seconds at most.
FRONT_BUDGET = 4000


def first_rule(plan: Plan, searched: SearchedTable) -> Rule:
    """The rule on the features named, or on the smallest set found, by us or a search given.

    Parameters
    ----------
    searched : the columns in which a set is searched.
    """
    if plan.features is not None:
        return rule_on(plan.data.X, plan.data.y, plan.features, plan.settings.intercept)
    if plan.settings.search is not None:
        return make_search(plan).find(searched.X, plan.data.y)
    return searched.rule_of_table(smallest_rule(plan, searched.X))


def smallest_rule(plan: Plan, X: Floats) -> Rule:
    """The rule on the smallest set found with no more errors than allowed.

    The search may fail: then the rule makes more errors. If not even all features together can
    separate, nothing is searched, and the rule has no features.

    Parameters
    ----------
    X : (samples, features) the columns in which sets are searched.
    """
    y = plan.data.y
    if certainly_inseparable(plan):
        no_features = np.zeros(0, dtype=np.int64)
        return rule_on(X, y, no_features, plan.settings.intercept)

    search = make_search(plan)
    # The bound convinces with at most so many features.
    largest_convincing = plan.bounds.largest_convincing(plan.spending.stage1_level)
    if plan.settings.permutations == 0:
        return smallest_rule_for_bound(plan, X, search, largest_convincing)
    # If the bound does not convince, labels are shuffled. A larger set is of no use then, and the
    # search spends less time on it.
    return replace(search, wanted=largest_convincing).find(X, y)


def smallest_rule_for_bound(
    plan: Plan, X: Floats, search: SearchProcedure, largest_convincing: int
) -> Rule:
    """The rule on the smallest set found where the bound alone decides, without shuffles.

    If the bound would convince with one feature less, other seeds are tried.
    """
    rule = search.find(X, plan.data.y)
    is_within_errors = rule.errors <= search.errors
    has_one_too_many = rule.n_selected == largest_convincing + 1
    if is_within_errors and has_one_too_many and largest_convincing > 0:
        smaller_rule = search_again(plan, X, search, largest_convincing)
        if smaller_rule is not None:
            return smaller_rule
    return rule


def search_again(plan: Plan, X: Floats, search: SearchProcedure, target: int) -> Rule | None:
    """A rule on at most `target` features from other seeds; None if none of them finds one.

    The bound covers every set at once, so that searching the observed labels again costs nothing.
    """
    for restart in range(1, plan.settings.restarts + 1):
        other_search = replace(search, seed=search.seed + restart, target=target)
        rule = other_search.find(X, plan.data.y)
        if rule.errors <= search.errors and rule.n_selected <= target:
            return rule
    return None


def certainly_inseparable(plan: Plan) -> bool:
    """Whether a set without errors is wanted, but even all features together have none.

    Equal rows with opposite labels, which no rule can separate, do not count. False where it is not
    known, as then a search is not in vain.
    """
    errors_are_allowed = bool(plan.settings.errors)
    X = plan.data.X
    is_read_by_tiles = isinstance(X, ColumnTable)  # and is too wide to ask
    if errors_are_allowed or is_read_by_tiles:
        return False

    rows = consistent_rows(X, plan.data.y)  # without those that contradict equal rows
    if len(plan.distinct_features) >= len(rows):
        # As many columns as rows separate almost surely.
        return False
    y = plan.data.y[rows]
    return not all_separate(X[rows], y, plan.distinct_features, plan.settings.intercept)


def all_separate(X: Floats, y: Floats, distinct: Ints, intercept: bool) -> bool:
    """Whether all features together separate, as far as floating point can tell."""
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Not settled in floating point: the search may try.
        return True


def make_search(plan: Plan) -> SearchProcedure:
    """The search for the smallest set, by a method of ours or the user's own."""
    settings = plan.settings
    return SearchProcedure(
        search=settings.method if settings.search is None else settings.search,
        budget=settings.budget,
        seed=settings.seed,
        intercept=settings.intercept,
        errors=settings.errors or 0,
    )


def path_rules(plan: Plan, path: ObservedPath) -> tuple[Rule, ...]:
    """The linear rules by least squares on the path's sets of 1, 2, … features.

    Each has the threshold with the fewest errors, unless rules have none.
    """
    X = plan.data.X
    y = plan.data.y
    rules = []
    for n_selected in range(1, path.n_steps + 1):
        support = path.support(n_selected)
        # Fitted as the path does: outliers clipped, blocks and covariates taken out.
        weights = least_squares_weights(path.columns, X, y, support)
        bias = 0.0
        if plan.settings.intercept:
            scores = X[:, support].astype(float) @ weights
            bias = -best_threshold(scores, y).value
        rules.append(make_rule(X, y, support, weights, bias))
    return tuple(rules)


def searched_rules(
    plan: Plan, searched: SearchedTable, path_errors: Ints, *, with_swaps: bool
) -> tuple[Rule, ...]:
    """The best rules that a search finds on 1, 2, … features, as many as the path has steps.

    Parameters
    ----------
    searched
        The columns in which rules are searched.
    path_errors
        Errors of the path at K = 1, 2, …, of shape (steps,).
    with_swaps
        Whether the search may also swap features for others, which takes longer than to add them.
        Even then it swaps only if a better rule could convince.
    """
    settings = plan.settings
    max_swaps = 0
    if with_swaps and swaps_may_convince(plan, path_errors):
        max_swaps = FRONT_BUDGET
        if settings.budget is not None:
            max_swaps = min(settings.budget, FRONT_BUDGET)
    front = search_front(
        searched.X,
        plan.data.y,
        intercept=settings.intercept,
        max_features=len(path_errors),
        budget=max_swaps,
        seed=settings.seed,
    )
    # The first point of the front has no features.
    return tuple(searched.rule_of_table(point.rule) for point in front.points[1:])


def swaps_may_convince(plan: Plan, path_errors: Ints) -> bool:
    """Whether the bound would convince at some K with half the errors that the path makes there.

    Half is a guess of what swaps can save. It decides only how long is searched: the bound holds
    for any set, whatever found it.

    Parameters
    ----------
    path_errors : (steps,) errors of the path at K = 1, 2, …
    """
    log10_convincing = log10(plan.spending.stage1_level)
    half_the_errors = (path_errors // 2).tolist()
    return any(
        plan.bounds.log10_p_at(n_selected, errors) <= log10_convincing
        for n_selected, errors in enumerate(half_the_errors, start=1)
    )


def fewest_errors_on(features: Iterable[int], rules: Sequence[Rule]) -> int | None:
    """The fewest errors of the rules on these features and no others; None without such a rule."""
    allowed = set(features)
    errors = [rule.errors for rule in rules if allowed.issuperset(rule.support.tolist())]
    return min(errors, default=None)


def fewest_errors_known(plan: Plan, path: ObservedPath, rules: Sequence[Rule]) -> list[int]:
    """For K = 1, 2, … the fewest errors of any rule known on at most K features.

    With blocks or covariates, least squares on the path's features counts too, which has a
    threshold for every block and a weight for every covariate.
    """
    has_blocks = plan.design.sizes.blocks is not None
    has_covariates = plan.design.covariate_basis is not None
    fewest = len(plan.data.y)
    fewest_by_size = []
    for n_selected in range(1, path.n_steps + 1):
        errors_known = [rule.errors for rule in rules if rule.n_selected <= n_selected]
        if has_blocks or has_covariates:
            errors_known.append(path.least_squares_errors(plan, path.support(n_selected)))
        fewest = min([fewest, *errors_known])
        fewest_by_size.append(fewest)
    return fewest_by_size
