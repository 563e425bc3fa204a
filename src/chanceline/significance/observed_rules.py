"""Rules for the observed labels: the smallest set, the path's, and the fewest errors of any size.

The bound covers all sets of features at once, so that any search may be used, however long, and
its result taken for the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log10

import numpy as np

from chanceline.errors import ConvergenceError
from chanceline.perceptron.duplicates import consistent_rows
from chanceline.perceptron.few_errors import rule_on
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.perceptron.separate import separate
from chanceline.prediction.worth import cut
from chanceline.select.pareto import front as search_front
from chanceline.significance.design import Floats, Ints
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.permutation import Procedure
from chanceline.significance.plan import Plan
from chanceline.significance.stepwise import least_squares_weights

# Swaps of the search for fewest errors at every number of features: some seconds at most.
FRONT_BUDGET = 4000


def first_rule(plan: Plan) -> Rule:
    """The rule on the features named, or on the smallest set found, by us or a search given."""
    if plan.features is not None:
        return rule_on(plan.data.X, plan.data.y, plan.features, plan.settings.intercept)
    if plan.settings.search is not None:
        return procedure(plan).find(plan.data.X, plan.data.y)
    return smallest_rule(plan)


def smallest_rule(plan: Plan) -> Rule:
    """The smallest set found that makes no more errors than allowed.

    Where nothing separates, nothing is searched, and the rule has no features.
    """
    X = plan.data.X
    y = plan.data.y
    if nothing_separates(plan):
        no_features = np.zeros(0, dtype=np.int64)
        return rule_on(X, y, no_features, plan.settings.intercept)

    search = procedure(plan)
    rule = search.find(X, y)
    largest_convincing = plan.bounds.largest(plan.spending.stage1_level)
    has_one_feature_too_many = rule.n_selected == largest_convincing + 1 > 1
    # No shuffles will decide, and the bound would accept one feature less: it is worth while to
    # search once more.
    only_proofs = plan.settings.permutations == 0
    if only_proofs and has_one_feature_too_many and rule.errors <= search.errors:
        smaller = search_again(plan, search, largest_convincing)
        if smaller is not None:
            return smaller
    return rule


def search_again(plan: Plan, search: Procedure, target: int) -> Rule | None:
    """A rule on at most `target` features from other seeds; None if none of them finds one.

    The bound covers every set at once, so that searching the observed labels again costs nothing.
    """
    for restart in range(1, plan.settings.restarts + 1):
        other_search = replace(search, seed=search.seed + restart, target=target)
        rule = other_search.find(plan.data.X, plan.data.y)
        if rule.errors <= search.errors and rule.n_selected <= target:
            return rule
    return None


def nothing_separates(plan: Plan) -> bool:
    """Whether all features together certainly leave errors, though none are allowed.

    Rows that are equal but for their labels are not counted.
    """
    if plan.settings.errors:
        return False
    rows = consistent_rows(plan.data.X, plan.data.y)
    if len(plan.distinct) >= len(rows):
        # As many columns as rows separate almost surely; the search will see.
        return False
    X = plan.data.X[rows]
    y = plan.data.y[rows]
    return not all_separate(X, y, plan.distinct, plan.settings.intercept)


def all_separate(X: Floats, y: Floats, distinct: Ints, intercept: bool) -> bool:
    """Whether all features together separate, as far as floating point can tell."""
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Not settled in floating point: the search may try.
        return True


def procedure(plan: Plan) -> Procedure:
    """The search for the smallest set, by a method of ours or the user's own."""
    settings = plan.settings
    return Procedure(
        search=settings.method if settings.search is None else settings.search,
        budget=settings.budget,
        seed=settings.seed,
        intercept=settings.intercept,
        errors=settings.errors or 0,
    )


def path_rules(plan: Plan, path: ObservedPath) -> tuple[Rule, ...]:
    """The linear rules of least squares on the path's first 1, 2, … features.

    Each has its best threshold, and its errors are counted exactly.
    """
    X = plan.data.X
    y = plan.data.y
    rules = []
    for n_selected in range(1, path.n_steps + 1):
        support = path.support(n_selected)
        weights = least_squares_weights(path.columns, X, y, support)
        bias = 0.0
        if plan.settings.intercept:
            threshold, _ = cut(X[:, support].astype(float) @ weights, y)
            bias = -threshold
        rules.append(make_rule(X, y, support, weights, bias))
    return tuple(rules)


def searched_rules(plan: Plan, path_errors: Ints, *, without_swaps: bool) -> tuple[Rule, ...]:
    """The best rule that a search finds on 1, 2, … features.

    Parameters
    ----------
    path_errors
        Errors of the path at K = 1, 2, …, of shape (steps,).
    without_swaps
        Whether a quick search is enough. It is also taken where swaps are not worth while: they
        are if half the errors of the path would convince.
    """
    settings = plan.settings
    log10_convincing = log10(plan.spending.stage1_level)
    half_the_errors = (path_errors // 2).tolist()
    swaps_may_convince = any(
        plan.bounds.at_front(n_selected, errors) <= log10_convincing
        for n_selected, errors in enumerate(half_the_errors, start=1)
    )
    budget = 0
    if swaps_may_convince and not without_swaps:
        budget = FRONT_BUDGET
    if settings.budget is not None:
        budget = min(settings.budget, budget)
    front = search_front(
        plan.data.X,
        plan.data.y,
        intercept=settings.intercept,
        max_features=len(path_errors),
        budget=budget,
        seed=settings.seed,
    )
    # The first point has no features.
    return tuple(point.rule for point in front.points[1:])


def fewest_errors_on(features: Iterable[int], rules: Sequence[Rule]) -> int | None:
    """The fewest errors of the rules on these features and no others; None without such a rule."""
    allowed = set(features)
    errors = [rule.errors for rule in rules if allowed.issuperset(rule.support.tolist())]
    return min(errors, default=None)


def fewest_errors_known(plan: Plan, path: ObservedPath, rules: Sequence[Rule]) -> list[int]:
    """For K = 1, 2, … the fewest errors known of a rule on at most K features.

    It does not matter what found the rule. With blocks or covariates least squares may have them
    besides, which a plain rule is a case of.
    """
    with_design = plan.scheme.sizes.blocks is not None or plan.scheme.basis is not None
    fewest = len(plan.data.y)
    fewest_by_size = []
    for n_selected in range(1, path.n_steps + 1):
        candidates = [rule.errors for rule in rules if rule.n_selected <= n_selected]
        if with_design:
            candidates.append(path.least_squares_errors(plan, path.support(n_selected)))
        fewest = min(fewest, *candidates)
        fewest_by_size.append(fewest)
    return fewest_by_size
