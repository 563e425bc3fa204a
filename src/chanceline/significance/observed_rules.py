"""Rules for the observed labels: on the smallest set, on the sets of the forward path, and with the
fewest errors at every number of features.

The bound covers all sets of features at once. So its p-value is valid for the result of any search,
however long.
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

# The largest number of swaps in the search for the fewest errors at every number of features: it
# takes some seconds at most.
FRONT_BUDGET = 4000


def first_rule(plan: Plan, searched_table: SearchedTable) -> Rule:
    """The rule on the features that the user named, else on the smallest set that a search finds.

    The search is that of the user if one was given, else a built-in one.

    Parameters
    ----------
    plan : of the test.
    searched_table : the columns in which a set is searched.
    """
    if plan.features is not None:
        return rule_on(plan.data.X, plan.data.y, plan.features, plan.settings.intercept)
    if plan.settings.search is not None:
        return make_search(plan).find(searched_table.X, plan.data.y)
    rule = smallest_rule(plan, searched_table.X)
    return searched_table.rule_of_table(rule)


def smallest_rule(plan: Plan, X: Floats) -> Rule:
    """Search the smallest set of features whose rule makes no more errors than allowed.

    The size of the set gives a bound, a rigorous upper limit of the p-value. If the bound does not
    convince, labels are shuffled.

    If the search fails, the rule returned makes more errors. If no errors are allowed and not even
    all features together separate the classes, nothing is searched, and the rule has no features.

    Parameters
    ----------
    plan : of the test; it has the labels and the errors allowed.
    X : (samples, features) the columns in which sets are searched.
    """
    y = plan.data.y
    if is_certainly_inseparable(plan):
        no_features = np.zeros(0, dtype=np.int64)
        return rule_on(X, y, no_features, plan.settings.intercept)

    search = make_search(plan)
    # The largest number of features with which the bound convinces.
    largest_convincing = plan.bounds.largest_convincing(plan.spending.stage1_level)
    no_shuffles_follow = plan.settings.permutations == 0
    if no_shuffles_follow:
        return smallest_rule_for_bound(plan, X, search, largest_convincing)
    # With shuffles to come, sets too large for the bound are of no use. `wanted` tells the search
    # to spend less time on such sets.
    search = replace(search, wanted=largest_convincing)
    return search.find(X, y)


def smallest_rule_for_bound(
    plan: Plan, X: Floats, search: SearchProcedure, largest_convincing: int
) -> Rule:
    """The rule on the smallest set found, for a test without shuffles, which the bound decides.

    If the set found has just one feature more than the bound convinces with, the search is repeated
    with other seeds.

    Parameters
    ----------
    plan : of the test.
    X : (samples, features) the columns in which sets are searched.
    search : the search for the smallest set.
    largest_convincing : the largest number of features with which the bound convinces.
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
    """A rule on at most `target` features, from searches with other seeds; None if they find none.

    Repeated searches do not make the p-value less valid, because the bound covers all sets at once.
    """
    for restart in range(1, plan.settings.restarts + 1):
        other_search = replace(search, seed=search.seed + restart, target=target)
        rule = other_search.find(X, plan.data.y)
        if rule.errors <= search.errors and rule.n_selected <= target:
            return rule
    return None


def is_certainly_inseparable(plan: Plan) -> bool:
    """Whether no errors are allowed, but no rule on any of the features is free of errors.

    A search for such a rule would be in vain. Equal rows with opposite labels, which no rule can
    separate, are left out first. The answer is False, too, if it is not known.
    """
    errors_are_allowed = bool(plan.settings.errors)  # None counts as 0 here
    X = plan.data.X
    is_too_wide = isinstance(X, ColumnTable)  # a table that is read in tiles of columns
    if errors_are_allowed or is_too_wide:
        return False

    rows = consistent_rows(X, plan.data.y)  # without equal rows of opposite labels
    if len(plan.distinct_features) >= len(rows):
        # With as many columns as rows, all labellings can be separated almost surely.
        return False
    y = plan.data.y[rows]
    return not all_separate(X[rows], y, plan.distinct_features, plan.settings.intercept)


def all_separate(X: Floats, y: Floats, distinct: Ints, intercept: bool) -> bool:
    """Whether the classes can be separated by all features together, or this remains unclear.

    Parameters
    ----------
    X : (samples, features)
    y : (samples,) labels ±1.
    distinct : columns of X without copies and constants.
    intercept : whether the rule has a threshold.
    """
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Rounding errors leave it unclear: let the search try.
        return True


def make_search(plan: Plan) -> SearchProcedure:
    """The search for the smallest set, by a built-in method or by the user's own."""
    settings = plan.settings
    return SearchProcedure(
        search=settings.method if settings.search is None else settings.search,
        budget=settings.budget,
        seed=settings.seed,
        intercept=settings.intercept,
        errors=settings.errors or 0,
    )


def path_rules(plan: Plan, path: ObservedPath) -> tuple[Rule, ...]:
    """The linear rules by least squares on the forward stepwise path's sets of 1, 2, … features.

    Each has the threshold with the fewest errors; without an intercept the threshold is 0.
    """
    X = plan.data.X
    y = plan.data.y
    rules = []
    for n_selected in range(1, path.n_steps + 1):
        support = path.support(n_selected)
        # Fitted as in the path: outliers clipped, blocks and covariates projected out.
        weights = least_squares_weights(path.columns, X, y, support)
        bias = 0.0  # the class is positive if weights·x + bias > 0
        if plan.settings.intercept:
            scores = X[:, support].astype(float) @ weights
            threshold = best_threshold(scores, y)
            bias = -threshold.value
        rules.append(make_rule(X, y, support, weights, bias))
    return tuple(rules)


def searched_rules(
    plan: Plan, searched_table: SearchedTable, path_errors: Ints, *, with_swaps: bool
) -> tuple[Rule, ...]:
    """Search the rules with the fewest errors on 1, 2, … features, one for each number of features.

    The search adds feature after feature. It may also swap a feature of a set for another one,
    which lowers the errors but takes long. Swaps are tried only if the caller asks for them, and if
    the bound (a p-value that does without shuffled labels) might convince with fewer errors than
    those of the path.

    Parameters
    ----------
    plan : of the test.
    searched_table : the columns in which rules are searched.
    path_errors : (steps,) errors of the rules on 1, 2, … features that forward stepwise least
        squares finds, the path. The search goes up to as many features.
    with_swaps : whether the caller asks for swaps.
    """
    settings = plan.settings
    swaps_are_tried = with_swaps and swaps_may_convince(plan, path_errors)
    if not swaps_are_tried:
        max_swaps = 0
    elif settings.budget is None:
        max_swaps = FRONT_BUDGET
    else:
        max_swaps = min(settings.budget, FRONT_BUDGET)

    # The search returns a front: the best rule found for each number of features from 0.
    front = search_front(
        searched_table.X,
        plan.data.y,
        intercept=settings.intercept,
        max_features=len(path_errors),
        budget=max_swaps,
        seed=settings.seed,
    )
    points_with_features = front.points[1:]
    # These rules count the columns of `searched_table.X`. `rule_of_table` turns these into columns
    # of the whole table.
    return tuple(searched_table.rule_of_table(point.rule) for point in points_with_features)


def swaps_may_convince(plan: Plan, path_errors: Ints) -> bool:
    """Whether the bound would convince at some K with half the errors of the path's K features.

    Half is a guess of how far swaps can lower the errors. It affects only the length of the search,
    not the validity of the bound, which holds for any set.

    Parameters
    ----------
    plan : of the test.
    path_errors : (steps,) errors of the path at K = 1, 2, …
    """
    log10_convincing = log10(plan.spending.stage1_level)
    half_the_errors = (path_errors // 2).tolist()
    return any(
        plan.bounds.log10_p_at(n_selected, errors) <= log10_convincing
        for n_selected, errors in enumerate(half_the_errors, start=1)
    )


def fewest_errors_on(features: Iterable[int], rules: Sequence[Rule]) -> int | None:
    """The fewest errors of the rules that use only these features (or some of them).

    None if there is no such rule.
    """
    allowed = set(features)
    errors = [rule.errors for rule in rules if allowed.issuperset(rule.support.tolist())]
    return min(errors, default=None)


def fewest_errors_known(plan: Plan, path: ObservedPath, rules: Sequence[Rule]) -> list[int]:
    """For K = 1, 2, …, the fewest errors of any known rule on at most K features.

    With blocks or covariates, a further rule counts: least squares on the path's K features with a
    threshold for every block and a weight for every covariate.

    Parameters
    ----------
    plan : of the test.
    path : the forward stepwise path of the observed labels.
    rules : the rules found, in any order.

    Returns
    -------
    One number for each step of the path; they never increase.
    """
    has_blocks = plan.design.sizes.blocks is not None
    has_covariates = plan.design.covariate_basis is not None
    fewest = len(plan.data.y)
    fewest_by_size = []
    for n_selected in range(1, path.n_steps + 1):
        errors_of_rules = [rule.errors for rule in rules if rule.n_selected <= n_selected]
        if has_blocks or has_covariates:
            support = path.support(n_selected)
            errors_of_rules.append(path.least_squares_errors(plan, support))
        fewest = min([fewest, *errors_of_rules])  # never more than on fewer features
        fewest_by_size.append(fewest)
    return fewest_by_size
