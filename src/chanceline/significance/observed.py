"""What the observed labels allow, and the two stages of the p-value that are proofs.

Stage 1 is about the smallest set of features that makes no more errors than declared, stage 2
about errors that are counted after looking and about the one feature that goes best with the
labels. The rules themselves: `observed_rules`.
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
    """What the observed labels allow.

    Attributes
    ----------
    rules : every rule that was found on the way, from one feature to as many as the front has.
    rule : for the features named, or the smallest set found that makes no more errors than
        declared.
    bound : the bound of stage 1 for that rule.
    stage1, stage2 : the proofs; `stage2` None where it was not asked for or is not needed.
    counted_rule : the rule about which the bound says most when its errors are counted after
        looking; None without that proof.
    feature : the bound for one feature, where it was looked at.
    """

    rules: tuple[Rule, ...]
    rule: Rule
    bound: Bound
    stage1: Stage1Proof
    stage2: Stage2Proofs | None = None
    counted_rule: Rule | None = None
    feature: FeatureBound | None = None


def fit_observed(plan: Plan, path: ObservedPath) -> ObservedFit:
    """The rules found for the observed labels, and the proofs of both stages that they give.

    Stage 2 is left out if features were named, or if stage 1 convinces.
    """
    # Stage 1: the rule on the features named, or on the smallest set found. Rules of the path are
    # there already.
    searched = table_to_search(plan, path)
    rules = (first_rule(plan, searched), *path_rules(plan, path))
    fit = fit_of_rules(plan, rules)
    if plan.features is not None or plan.spending.stage1_convinces(fit.stage1):
        return fit

    # Stage 2 looks at the one feature that goes best with the labels, if it is asked for.
    feature = None
    feature_convinces = False
    asks_stage2 = plan.spending.stage2_level > 0
    if asks_stage2:
        feature = best_feature(plan, path)
        feature_convinces = one_feature_convinces(plan, feature)

    # The rules with the fewest errors for every number of features are told in any case, and stage
    # 2 counts their errors. A quick search is enough if the one feature convinces, which settles
    # the verdict.
    rules += searched_rules(plan, searched, path.errors, with_swaps=not feature_convinces)
    # Stage 1 is asked again: its bound covers every set, and there may be a smaller one by now.
    fit = fit_of_rules(plan, rules)
    if feature is None:
        return fit
    return with_stage2(plan, fit, feature)


def fit_of_rules(plan: Plan, rules: tuple[Rule, ...]) -> ObservedFit:
    """Stage 1 for the rules found so far."""
    rule = smallest_within_declared_errors(plan, rules)
    bound = plan.bounds.bound(rule)
    return ObservedFit(rules=rules, rule=rule, bound=bound, stage1=Stage1Proof(bound.log10_p))


def with_stage2(plan: Plan, fit: ObservedFit, feature: FeatureBound) -> ObservedFit:
    """The same with stage 2: one feature, and (unless they were declared) errors counted later."""
    counted_rule = None
    log10_counted = LOG10_P_ONE
    if plan.settings.errors is None:
        counted_rule = best_with_counted_errors(plan, fit.rules)
        log10_counted = log10_with_counted_errors(plan, counted_rule)
    stage2 = plan.bounds.second_stage(log10_counted, feature.log10_p)
    return replace(fit, stage2=stage2, counted_rule=counted_rule, feature=feature)


def best_with_counted_errors(plan: Plan, rules: Sequence[Rule]) -> Rule:
    """The rule about which the bound says most; of equal ones that with the fewest errors."""
    return min(rules, key=lambda rule: (log10_with_counted_errors(plan, rule), rule.errors))


def log10_with_counted_errors(plan: Plan, rule: Rule) -> float:
    """log₁₀ of 2^e·bound(K, e) at the size and the errors of a rule."""
    return plan.bounds.log10_p_counted(rule.n_selected, rule.errors)


def one_feature_convinces(plan: Plan, feature: FeatureBound) -> bool:
    """Whether stage 2 convinces by this feature alone, whatever else is found."""
    stage2 = plan.bounds.second_stage(LOG10_P_ONE, feature.log10_p)
    return plan.spending.stage2_convinces(stage2)


def smallest_within_declared_errors(plan: Plan, rules: Sequence[Rule]) -> Rule:
    """The rule with the fewest features among those that make no more errors than declared.

    It is the first rule if there is none, or if the features were named or come from the user's
    own search.
    """
    if plan.features_are_given:
        return rules[0]
    acceptable = [rule for rule in rules if rule.errors <= (plan.declared_errors or 0)]
    return min(acceptable, key=lambda rule: rule.n_selected, default=rules[0])


def best_feature(plan: Plan, path: ObservedPath) -> FeatureBound:
    """The bound for the one feature that goes best with the labels, among the path's columns."""
    design = plan.design
    candidates = columns_for_bound(plan, path.columns)
    if design.has_groups:
        # Samples of a group share their label: their values are summed.
        values_of_unit = block_sums(candidates.values, block_of_row=design.unit_of_sample)
    else:
        values_of_unit = candidates.values  # (units, columns): every sample is a unit
    column_bound = feature_bound(
        values_of_unit,
        design.unit_labels,
        design.block_of_unit,
        among=plan.bounds.n_features,
    )
    # The bound names the column by its position among the candidates; here it is a column of X.
    feature = int(candidates.features[column_bound.feature])
    return replace(column_bound, feature=feature, name=plan.data.feature_names[feature])


class BoundCandidates(NamedTuple):
    """Columns among which the bound for one feature chooses.

    Attributes
    ----------
    values : (samples, columns) clipped, centred and of length 1.
    features : (columns,) their numbers in X.
    """

    values: Floats
    features: Ints


def columns_for_bound(plan: Plan, columns: ForwardColumns) -> BoundCandidates:
    """All columns of the path; of a very wide table those that go best with the labels.

    The bound holds for any choice, and pays for all columns.
    """
    if isinstance(columns, PathColumns):
        return BoundCandidates(columns.normalized, columns.feature_of_column)
    labels = columns.residuals(plan.data.y[None])[0]
    correlations = np.abs(columns.products(labels))
    best = np.argsort(-correlations, kind="stable")[:MAX_CANDIDATES]
    return BoundCandidates(columns.columns_at(best), columns.feature_of_column[best])
