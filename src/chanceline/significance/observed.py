"""What the observed labels allow: the smallest set of features, the fewest errors for every number of them, one feature alone;
and the two stages of the p-value that are proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log10

import numpy as np

from chanceline.chance.bound import Bound
from chanceline.errors import ConvergenceError
from chanceline.perceptron.rule import Rule, consistent_rows, make_rule, rule_on, separate
from chanceline.prediction.worth import cut
from chanceline.select.pareto import front as search_front
from chanceline.significance.design import Floats, Ints
from chanceline.significance.permutation import Procedure
from chanceline.significance.plan import FeatureBound, Plan, feature_bound
from chanceline.significance.stages import CountedLater, DeclaredErrors
from chanceline.significance.stepwise import Columns, Paths, errors_with_design, least_squares_weights

# Swaps of the search for fewest errors at every number of features: some seconds at most.
FRONT_BUDGET = 4000


@dataclass(frozen=True, eq=False)
class ObservedFit:
    """What the observed labels allow.

    Attributes
    ----------
    rule : for the features named, or the smallest set found that makes no more errors than declared.
    bound : the bound of the first stage for that rule.
    first, second : the stages that are proofs; the second None where it was not asked for or is not needed.
    rules : every rule that was found on the way, from one feature to as many as the front has.
    counted : the rule about which the bound says most when its errors are counted; None without a second stage.
    feature : the bound for one feature, where it was looked at.
    """

    rule: Rule
    bound: Bound
    first: DeclaredErrors
    rules: tuple[Rule, ...]
    second: CountedLater | None = None
    counted: Rule | None = None
    feature: FeatureBound | None = None


def fit_observed(plan: Plan, columns: Columns, paths: Paths) -> ObservedFit:
    """The rule for the features named, or the smallest set; and where that does not convince one feature alone, and the fewest
    errors for every number of features.

    Parameters
    ----------
    plan : what is asked.
    columns : the columns of the path.
    paths : the path of the observed labels in row 0.
    """
    bounds = plan.bounds
    spending = plan.spending
    rules = (first_rule(plan), *path_rules(plan, columns, paths))
    rule = smallest_within(plan, rules)
    bound = bounds.bound(rule)
    first = bounds.first_stage(bound)
    if plan.features is not None or spending.first_convinces(first):
        return ObservedFit(rule, bound, first, rules)

    feature = None
    log10_feature = 0.0
    if spending.stage2_level > 0:
        feature = best_feature(plan, columns)
        log10_feature = feature.log10_p
    one_feature_convinces = spending.second_convinces(bounds.second_stage(0.0, log10_feature))
    rules += searched_rules(plan, paths.errors[0], quick=one_feature_convinces)
    # The search may have found a smaller set. The bound covers every set, whatever found it.
    rule = smallest_within(plan, rules)
    bound = bounds.bound(rule)
    first = bounds.first_stage(bound)
    if spending.stage2_level == 0:
        return ObservedFit(rule, bound, first, rules)

    # Errors counted after looking, unless they were declared.
    counted = None
    log10_counted = 0.0
    if plan.settings.errors is None:
        counted = min(rules, key=lambda other: (bounds.counted_errors(other.n_selected, other.errors), other.errors))
        log10_counted = bounds.counted_errors(counted.n_selected, counted.errors)
    second = bounds.second_stage(log10_counted, log10_feature)
    return ObservedFit(rule, bound, first, rules, second, counted, feature)


def first_rule(plan: Plan) -> Rule:
    """The rule on the features named, or on the smallest set found, by our search or the user's own."""
    if plan.features is not None:
        return rule_on(plan.data.X, plan.data.y, plan.features, plan.settings.intercept)
    if plan.settings.search is not None:
        return procedure(plan).find(plan.data.X, plan.data.y)
    return smallest_rule(plan)


def smallest_within(plan: Plan, rules: Sequence[Rule]) -> Rule:
    """Of the rules that make no more errors than declared the one with the fewest features; the first rule if there is none, or
    if the features were named or come from the user's own search.
    """
    if plan.features is not None or plan.settings.search is not None:
        return rules[0]
    enough = [rule for rule in rules if rule.errors <= (plan.declared or 0)]
    return min(enough, key=lambda rule: rule.n_selected, default=rules[0])


def path_rules(plan: Plan, columns: Columns, paths: Paths) -> tuple[Rule, ...]:
    """The linear rules of least squares on the path's features, each at its best threshold; their errors are counted exactly."""
    X, y = plan.data.X, plan.data.y
    rules = []
    for k in range(1, paths.losses.shape[1] + 1):
        support = paths.support(0, k)
        weights = least_squares_weights(columns, X, y, support)
        bias = 0.0
        if plan.settings.intercept:
            threshold, _ = cut(X[:, support].astype(float) @ weights, y)
            bias = -threshold
        rules.append(make_rule(X, y, support, weights, bias))
    return tuple(rules)


def searched_rules(plan: Plan, path_errors: Ints, *, quick: bool) -> tuple[Rule, ...]:
    """The best rule that a search finds on 1, 2, … features; without swaps if `quick`, or if they are not worth while.

    Swaps are worth while if half the errors of the path would convince.
    """
    settings = plan.settings
    halves = [(k, errors // 2) for k, errors in enumerate(path_errors.tolist(), 1)]
    hopeful = any(plan.bounds.at_front(k, errors) <= log10(plan.spending.stage1_level) for k, errors in halves)
    budget = FRONT_BUDGET if hopeful and not quick else 0
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
    return tuple(point.rule for point in front.points[1:])


def fewest_errors_on(features: Iterable[int], rules: Sequence[Rule]) -> int | None:
    """The fewest errors of the rules that use these features and no others; None if there is no such rule."""
    allowed = set(features)
    errors = [rule.errors for rule in rules if allowed.issuperset(rule.support.tolist())]
    return min(errors, default=None)


def fewest_errors_known(plan: Plan, columns: Columns, paths: Paths, rules: Sequence[Rule]) -> list[int]:
    """For K = 1, 2, … the fewest errors known of a rule on at most K features, whatever found it.

    With blocks or covariates least squares may have them besides, which a plain rule is a case of.
    """
    with_design = plan.scheme.sizes.blocks is not None or plan.scheme.basis is not None
    fewest = len(plan.data.y)
    known = []
    for k in range(1, paths.losses.shape[1] + 1):
        candidates = [rule.errors for rule in rules if rule.n_selected <= k]
        if with_design:
            candidates.append(errors_with_design(columns, plan.data.X, plan.data.y, paths.support(0, k)))
        fewest = min(fewest, *candidates)
        known.append(fewest)
    return known


def best_feature(plan: Plan, columns: Columns) -> FeatureBound:
    """The bound for one feature, on the columns that the path is made of, summed over groups."""
    scheme, values = plan.scheme, columns.fitted
    if len(scheme.unit_labels) < len(values):
        order = np.argsort(scheme.unit_of, kind="stable")
        values = np.add.reduceat(values[order], np.flatnonzero(np.diff(scheme.unit_of[order], prepend=-1)), axis=0)
    found = feature_bound(values, scheme.unit_labels, scheme.block_of, among=plan.bounds.n_features)
    feature = int(columns.index[found.feature])
    return replace(found, feature=feature, name=plan.data.feature_names[feature])


def procedure(plan: Plan) -> Procedure:
    """The search for the smallest set, by a method of ours or the user's own."""
    settings = plan.settings
    search = settings.method if settings.search is None else settings.search
    return Procedure(search, settings.budget, settings.seed, settings.intercept, settings.errors or 0)


def smallest_rule(plan: Plan) -> Rule:
    """The smallest set found that makes no more errors than allowed; where nothing separates, nothing is searched."""
    X, y, settings = plan.data.X, plan.data.y, plan.settings
    rows = consistent_rows(X, y)
    few = not settings.errors and len(plan.distinct) < len(rows)
    if few and not all_separate(X[rows], y[rows], plan.distinct, settings.intercept):
        return rule_on(X, y, np.zeros(0, dtype=np.int64), settings.intercept)
    search = procedure(plan)
    found, largest = search.find(X, y), plan.bounds.largest(plan.spending.stage1_level)
    if settings.permutations == 0 and found.errors <= search.errors and found.n_selected == largest + 1 > 1:
        # The bound would accept one feature less. It covers every set at once, so that searching the observed labels again from
        # other seeds costs nothing.
        for number in range(1, settings.restarts + 1):
            again = replace(search, seed=search.seed + number, target=largest).find(X, y)
            if again.errors <= search.errors and again.n_selected <= largest:
                return again
    return found


def all_separate(X: Floats, y: Floats, distinct: Ints, intercept: bool) -> bool:
    """Whether all features together separate."""
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Not settled in floating point: the search may try.
        return True
