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
    p-value is at most this part.

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

    # Stage 2 is used only if it has a part of the level. Begin with the best single feature.
    bound_of_feature = None
    feature_convinces = False
    uses_stage2 = plan.spending.stage2_level > 0
    if uses_stage2:
        bound_of_feature = best_feature(plan, path)
        feature_convinces = one_feature_convinces(plan, bound_of_feature)

    # For every number of features, search a rule with few errors. The result shows these rules in
    # any case. If the single feature convinces, the verdict is settled, so that a quick search,
    # which does not swap features, is enough.
    verdict_is_open = not feature_convinces
    rules += searched_rules(plan, searched_table, path.errors, with_swaps=verdict_is_open)

    # Stage 1 again, as the search may have found a smaller set. The p-value need not pay for the
    # second look, because the bound covers all sets at once.
    fit = fit_with_stage1(plan, rules)
    if bound_of_feature is None:
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
    the feature among all features.

    Parameters
    ----------
    plan : of the test.
    path : its columns are the candidates.

    Returns
    -------
    The bound. Its `feature` is a column of X, and `name` the feature's name.
    """
    design = plan.design
    candidates = columns_for_bound(plan, path.columns)
    # Labels belong to units: groups of samples that share their label, or single samples. The value
    # of a group is the sum of its samples' values.
    if design.has_groups:
        values_of_units = block_sums(candidates.values, block_of_row=design.unit_of_sample)
    else:
        values_of_units = candidates.values  # (units, candidates)
    bound = feature_bound(
        values_of_units,
        design.unit_labels,
        design.block_of_unit,
        among=plan.bounds.n_features,
    )
    # So far `bound.feature` is a position among the candidates: turn it into a column of X.
    column_of_X = int(candidates.features[bound.feature])
    name = plan.data.feature_names[column_of_X]
    return replace(bound, feature=column_of_X, name=name)


class BoundCandidates(NamedTuple):
    """The candidates for the best single feature.

    Attributes
    ----------
    values : (samples, columns) columns that are clipped, centred and of length 1.
    features : (columns,) the indices of these columns in X.
    """

    values: Floats
    features: Ints


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
