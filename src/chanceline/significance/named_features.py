"""Every feature of the first line: what it adds to the others, and how often halves select it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chanceline._arrays import Ints
from chanceline.perceptron.few_errors import rule_on
from chanceline.perceptron.rule import Rule
from chanceline.prediction.candidates import Family
from chanceline.prediction.stability import selection_stability
from chanceline.significance.additions import pvalues_of_adding
from chanceline.significance.convincing_sets import counted_errors_proof
from chanceline.significance.evidence import Evidence
from chanceline.significance.naming import columns_named
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.plan import Plan
from chanceline.significance.rule_to_use import sample_roles
from chanceline.significance.span_of_set import span_of_set
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import Stage1Proof


@dataclass(frozen=True)
class NamedFeature:
    """A feature that the first line names.

    Attributes
    ----------
    feature : its name.
    adds : R² of the set that it is named for, less that of the others without this one.
    pvalue : that chance adds as much to the others (approximate).
    errors_without : the fewest errors known of a rule on the others.
    convinces_without : whether the others convince by themselves, by the stages that were run; None
        where the set does not.
    selected_in_halves : share of the halves of the samples that select it too, as many features
        forward stepwise; where one feature is proven alone, the one that goes best with the classes
        by its values or ranks. None where that was not looked at.
    """

    feature: str
    adds: float
    pvalue: float
    errors_without: int
    convinces_without: bool | None
    selected_in_halves: float | None = None


def named_features(
    plan: Plan, results: StageResults, evidence: Evidence
) -> tuple[NamedFeature, ...]:
    """For each feature that the first line names, what it adds to the others of its set.

    The others include features of the set that are not named because they are unsettled.
    """
    columns = results.path.columns
    set_columns = columns_named(plan, (*evidence.features, *evidence.unsettled))
    explained_by_set = span_of_set(plan, columns, set_columns).explained
    pvalues = pvalues_of_adding(plan, results, set_columns)
    named = []
    for column, pvalue in zip(set_columns.tolist(), pvalues, strict=True):
        name = plan.data.feature_names[column]
        if name not in evidence.features:
            continue

        # The same without this feature.
        others = set_columns[set_columns != column]
        explained_by_others = span_of_set(plan, columns, others).explained
        convinces_without = None
        if evidence.convinces:
            convinces_without = set_convinces(plan, results, others)
        named_feature = NamedFeature(
            feature=name,
            adds=explained_by_set - explained_by_others,
            pvalue=pvalue,
            errors_without=results.fewest_errors_on(plan, others),
            convinces_without=convinces_without,
        )
        named.append(named_feature)
    return tuple(named)


def set_convinces(plan: Plan, results: StageResults, support: Ints) -> bool:
    """Whether a part of the features named convinces by itself, by a stage that was run.

    A single feature is not asked for its bound: that of the best one was, and did not convince, or
    it would be named alone.

    Parameters
    ----------
    support : columns of X of the part, ascending; it may be empty.
    """
    if len(support) == 0:
        return False
    rule = rule_on(plan.data.X, plan.data.y, support, plan.settings.intercept)
    return rule_convinces(plan, rule) or fit_convinces(plan, results, support)


def rule_convinces(plan: Plan, rule: Rule) -> bool:
    """Whether one of the two proofs by the bound would convince, had this rule alone been found."""
    if plan.features_are_given:
        # The bound says nothing about parts of what the user chose.
        return False

    # Stage 1 bounds the chance of a rule with no more errors than were declared beforehand (none
    # unless said otherwise), and says nothing about a rule that makes more.
    if rule.errors <= (plan.declared_errors or 0):
        stage1 = Stage1Proof(plan.bounds.bound(rule).log10_p)
        if plan.spending.stage1_convinces(stage1):
            return True

    # Stage 2 counts the errors after looking, for which its p-value pays.
    stage2 = counted_errors_proof(plan, rule)
    return stage2 is not None and plan.spending.stage2_convinces(stage2)


def fit_convinces(plan: Plan, results: StageResults, support: Ints) -> bool:
    """Whether a set convinces by shuffles, had the path found it at its size."""
    losses = results.shuffles.losses
    if losses.done == 0:
        return False
    loss = 1 - span_of_set(plan, results.path.columns, support).explained
    pvalue = losses.adjusted_pvalue_of(len(support), loss)
    return pvalue + plan.spending.spent_before_shuffles <= plan.settings.level


def with_halves(
    plan: Plan, evidence: Evidence, named: tuple[NamedFeature, ...]
) -> tuple[NamedFeature, ...]:
    """The named features, with how often each is selected in random halves of the samples.

    Each half selects as the set was: forward stepwise, as many features as it has; or, where one
    feature is proven alone, the one that goes best with the classes by its values or ranks.
    """
    if not named:
        return named
    set_columns = columns_named(plan, (*evidence.features, *evidence.unsettled))
    family = Family.SINGLE if evidence.is_proven_alone else Family.STEPWISE
    stability = selection_stability(
        plan.data.X,
        plan.data.y,
        set_columns,
        **sample_roles(plan),
        family=family,
        prepare=clip_outliers if plan.settings.intercept else None,  # as the path does
    )

    share_of_halves = {}  # by the name of the feature
    for column_stability in stability.readings:
        name = plan.data.feature_names[column_stability.feature]
        share_of_halves[name] = column_stability.selected
    return tuple(
        replace(named_feature, selected_in_halves=share_of_halves[named_feature.feature])
        for named_feature in named
    )
