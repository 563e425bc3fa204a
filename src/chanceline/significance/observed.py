"""The rules found for the observed labels, and the two stages of the p-value that are proofs.

Both stages bound p-values rigorously. Stage 1 is about the smallest set of features whose rule
makes no more errors than declared. Stage 2 is about rules whose errors are counted after looking,
and about the single feature that is most related to the labels. How rules are found:
`observed_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.chance.bound import Bound
from chanceline.perceptron.rule import Rule
from chanceline.significance.arrays import block_sums
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.observed_rules import first_rule, path_rules, searched_rules
from chanceline.significance.path_columns import ForwardColumns, PathColumns
from chanceline.significance.plan import Plan
from chanceline.significance.search_pool import table_to_search
from chanceline.significance.single_feature import MAX_CANDIDATES, FeatureBound, feature_bound
from chanceline.significance.stages import LOG10_P_ONE, Stage1Proof, Stage2Proofs


@dataclass(frozen=True, eq=False, kw_only=True)
class ObservedFit:
    """The rules found for the observed labels, and the proofs that they give.

    Attributes
    ----------
    rules : every rule found, on one feature up to as many as the forward path has steps.
    rule : the rule of stage 1: on the features named, else on the smallest set found whose rule
        makes no more errors than declared.
    bound : the bound of stage 1 for that rule.
    stage1, stage2 : the proofs; `stage2` is None if it was not asked for or is not needed.
    counted_rule : the rule with the smallest p-value when errors are counted after looking; None
        without that proof.
    feature : the bound for the best single feature; None if it was not computed.
    """

    rules: tuple[Rule, ...]
    rule: Rule
    bound: Bound
    stage1: Stage1Proof
    stage2: Stage2Proofs | None = None
    counted_rule: Rule | None = None
    feature: FeatureBound | None = None


def fit_observed(plan: Plan, path: ObservedPath) -> ObservedFit:
    """Find rules for the observed labels, and bound their p-values without shuffling labels.

    An upper bound of a p-value is called a proof here. There are two stages of proofs:

    * Stage 1 is about the smallest set of features whose rule makes no more errors than declared.
    * Stage 2 is about rules whose errors are counted after looking, and about the best single
      feature. It is left out if features were named beforehand, or if stage 1 convinces.

    Each stage has a part of the test's significance level (in `plan.spending`). It convinces if its
    p-value is at most this part. Without convincing proofs the labels are shuffled later.

    Stage 1 is computed twice, before and after a longer search for rules. Its p-value need not pay
    for the second look, because the bound covers all sets of features at once: it is valid for any
    set, however many were tried.

    Parameters
    ----------
    plan : of the test.
    path : the forward stepwise path of the observed labels.
    """
    # Stage 1. The first rule is on the features that were named, else on the smallest set found.
    searched_table = table_to_search(plan, path)  # the columns in which sets are searched
    rules = (first_rule(plan, searched_table), *path_rules(plan, path))
    fit = fit_with_stage1(plan, rules)
    features_are_named = plan.features is not None
    if features_are_named or plan.spending.stage1_convinces(fit.stage1):
        return fit

    # The best single feature, if stage 2 has a part of the level.
    bound_of_feature = None
    feature_convinces = False
    has_stage2 = plan.spending.stage2_level > 0
    if has_stage2:
        bound_of_feature = best_feature(plan, path)
        feature_convinces = one_feature_convinces(plan, bound_of_feature)

    # A rule with few errors for every number of features. The result shows these rules in any case.
    # If the single feature convinces, the verdict is settled, so that a quick search, which does
    # not swap features, is enough.
    needs_thorough_search = not feature_convinces
    rules += searched_rules(plan, searched_table, path.errors, with_swaps=needs_thorough_search)

    # Stage 1 again with the new rules, as one of them may be on a smaller set; then stage 2.
    fit = fit_with_stage1(plan, rules)
    if bound_of_feature is None:  # there is no stage 2
        return fit
    return with_stage2(plan, fit, bound_of_feature)


def fit_with_stage1(plan: Plan, rules: tuple[Rule, ...]) -> ObservedFit:
    """The rules found so far, and the proof of stage 1 from them."""
    rule = smallest_within_declared_errors(plan, rules)
    bound = plan.bounds.bound(rule)
    return ObservedFit(rules=rules, rule=rule, bound=bound, stage1=Stage1Proof(bound.log10_p))


def with_stage2(plan: Plan, fit: ObservedFit, feature: FeatureBound) -> ObservedFit:
    """The fit with the proofs of stage 2 added.

    One proof is about a single feature. The other is about rules whose errors are counted after
    looking, and is left out (p = 1) if errors were declared beforehand.
    """
    counted_rule = None
    log10_counted = LOG10_P_ONE
    if plan.settings.errors is None:
        counted_rule = best_with_counted_errors(plan, fit.rules)
        log10_counted = log10_with_counted_errors(plan, counted_rule)
    stage2 = plan.bounds.second_stage(log10_counted, feature.log10_p)
    return replace(fit, stage2=stage2, counted_rule=counted_rule, feature=feature)


def best_with_counted_errors(plan: Plan, rules: Sequence[Rule]) -> Rule:
    """The rule with the smallest bound 2^e·bound(K, e); of ties that with the fewest errors."""
    return min(rules, key=lambda rule: (log10_with_counted_errors(plan, rule), rule.errors))


def log10_with_counted_errors(plan: Plan, rule: Rule) -> float:
    """log₁₀ of 2^e·bound(K, e) for a rule on K features with e errors, counted after looking."""
    return plan.bounds.log10_p_counted(rule.n_selected, rule.errors)


def one_feature_convinces(plan: Plan, feature: FeatureBound) -> bool:
    """Whether stage 2 convinces by this feature alone, without the proof that counts errors."""
    stage2 = plan.bounds.second_stage(LOG10_P_ONE, feature.log10_p)
    return plan.spending.stage2_convinces(stage2)


def smallest_within_declared_errors(plan: Plan, rules: Sequence[Rule]) -> Rule:
    """The rule with the fewest features among those that make no more errors than declared.

    It is the first rule if no rule makes so few errors, or if the features were named or come from
    the user's own search.
    """
    if plan.features_are_given:
        return rules[0]
    acceptable = [rule for rule in rules if rule.errors <= (plan.declared_errors or 0)]
    return min(acceptable, key=lambda rule: rule.n_selected, default=rules[0])


def best_feature(plan: Plan, path: ObservedPath) -> FeatureBound:
    """Find the single feature that is most related to the labels, and bound its p-value.

    The bound is on the p-value of the feature's values or ranks. It is adjusted for the choice of
    the feature among all features of the table, whether they are candidates here or not.

    Parameters
    ----------
    plan : of the test.
    path : its columns are the candidates (in a very wide table only the best of them).

    Returns
    -------
    The bound. Its `feature` is a column of X, and `name` the feature's name.
    """
    design = plan.design
    candidates = columns_for_bound(plan, path.columns)  # (samples, candidates), and columns of X
    # Labels belong to units: groups of samples that share their label, or single samples. The value
    # of a group is the sum of its samples' values.
    if design.has_groups:
        values_of_units = block_sums(candidates.values, block_of_row=design.unit_of_sample)
    else:
        values_of_units = candidates.values  # (units, candidates)

    bound_among_candidates = feature_bound(
        values_of_units,
        design.unit_labels,
        design.block_of_unit,
        among=plan.bounds.n_features,  # the number of features that could have been chosen
    )

    # The bound names the best feature by its position among the candidates. The caller needs its
    # column of X.
    position_in_candidates = bound_among_candidates.feature
    column_of_X = int(candidates.column_of_X[position_in_candidates])
    name = plan.data.feature_names[column_of_X]
    return replace(bound_among_candidates, feature=column_of_X, name=name)


class BoundCandidates(NamedTuple):
    """The candidates for the best single feature.

    Attributes
    ----------
    values : (samples, columns) columns that are clipped, centred and of length 1.
    column_of_X : (columns,) the indices of these columns in X.
    """

    values: Floats
    column_of_X: Ints


def columns_for_bound(plan: Plan, columns: ForwardColumns) -> BoundCandidates:
    """The candidates: all columns of the path, or of a very wide table those most correlated with
    the labels.

    The bound is valid for any choice of candidates, because it pays for all columns of the table.
    """
    if isinstance(columns, PathColumns):
        return BoundCandidates(columns.normalized, columns.feature_of_column)
    labels = columns.residuals(plan.data.y[None])[0]
    correlations = np.abs(columns.products(labels))
    best = np.argsort(-correlations, kind="stable")[:MAX_CANDIDATES]
    return BoundCandidates(columns.columns_at(best), columns.feature_of_column[best])
