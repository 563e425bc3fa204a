"""For every feature that the first line of the result names: what it adds to the other features of
its set, and how often random halves of the samples select it.
"""

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
    """A feature that the first line of the result names, as one of a set of features.

    Attributes
    ----------
    feature : its name.
    adds : R² of the set, minus R² of the set without this feature.
    pvalue : the probability that a feature adds as much by chance (approximate).
    errors_without : the fewest errors of any known rule on the set without this feature.
    convinces_without : whether the set without this feature convinces by itself, by the stages that
        were run; None if the whole set does not convince.
    selected_in_halves : share of random halves of the samples in which this feature is selected
        too, among as many features as the set has, forward stepwise. If one feature is proven
        alone, each half selects the feature most related to the classes by its values or ranks.
        None if halves were not made.
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
    """For each feature that the first line of the result names, what it adds to its set.

    The set also has unsettled features, which are not named because chance may explain them. What
    a named feature adds is measured against all other features of the set, the unsettled included.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    evidence : the set, with the features named and the unsettled ones.

    Returns
    -------
    One entry for each named feature, in the order of the table's columns.
    """
    path_columns = results.path.columns  # of the table, prepared for least squares
    set_columns = columns_named(plan, (*evidence.features, *evidence.unsettled))
    explained_by_set = span_of_set(plan, path_columns, set_columns).explained  # R²
    pvalues = pvalues_of_adding(plan, results, set_columns)
    entries = []
    for column, pvalue in zip(set_columns.tolist(), pvalues, strict=True):
        name = plan.data.feature_names[column]
        is_named = name in evidence.features
        if not is_named:
            continue

        # The set without this feature.
        other_columns = set_columns[set_columns != column]
        explained_by_others = span_of_set(plan, path_columns, other_columns).explained  # R²
        convinces_without = None
        if evidence.convinces:
            convinces_without = set_convinces(plan, results, other_columns)
        entry = NamedFeature(
            feature=name,
            adds=explained_by_set - explained_by_others,
            pvalue=pvalue,
            errors_without=results.fewest_errors_on(plan, other_columns),
            convinces_without=convinces_without,
        )
        entries.append(entry)
    return tuple(entries)


def set_convinces(plan: Plan, results: StageResults, support: Ints) -> bool:
    """Whether a subset of the named features convinces by itself, by a stage that was run.

    The proof for one feature by its values or ranks is not tried here. It did not convince for the
    best single feature, as that would be named alone otherwise.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    support : columns of X of the subset, ascending; it may be empty.
    """
    if len(support) == 0:
        return False
    rule = rule_on(plan.data.X, plan.data.y, support, plan.settings.intercept)
    return rule_convinces(plan, rule) or fit_convinces(plan, results, support)


def rule_convinces(plan: Plan, rule: Rule) -> bool:
    """Whether the test would be significant without shuffles, had it found this rule alone.

    The test has two stages of proofs by a bound on the probability that chance gives such a rule.
    Each stage convinces if its p-value is at most the part of the level that it may spend.

    Parameters
    ----------
    plan : of the test; its `bounds` give the p-values, its `spending` divides the level.
    rule : a linear rule on some features, with its number of errors.
    """
    if plan.features_are_given:
        # The bound is not valid for a subset of features that the user chose.
        return False

    # Stage 1 is about rules with no more errors than were declared beforehand (0 by default).
    declared_errors = plan.declared_errors or 0
    if rule.errors <= declared_errors:
        stage1 = Stage1Proof(plan.bounds.bound(rule).log10_p)
        if plan.spending.stage1_convinces(stage1):
            return True

    # Stage 2 counts the errors after looking, and its p-value is adjusted for this. The proof is
    # None if the test does not use it.
    stage2 = counted_errors_proof(plan, rule)
    return stage2 is not None and plan.spending.stage2_convinces(stage2)


def fit_convinces(plan: Plan, results: StageResults, support: Ints) -> bool:
    """Whether a set would convince by shuffles if the forward path had found it."""
    losses = results.shuffles.losses
    if losses.done == 0:
        return False
    loss = 1 - span_of_set(plan, results.path.columns, support).explained
    pvalue = losses.adjusted_pvalue_of(len(support), loss)
    return pvalue + plan.spending.spent_before_shuffles <= plan.settings.level


def with_halves(
    plan: Plan, evidence: Evidence, entries: tuple[NamedFeature, ...]
) -> tuple[NamedFeature, ...]:
    """The named features, with `selected_in_halves` filled in.

    Features are selected again in random halves of the samples, in the same way as the set was:
    forward stepwise, as many features as the set has. If one feature is proven alone, each half
    selects the feature most related to the classes by its values or ranks.

    Parameters
    ----------
    plan : of the test.
    evidence : the set, with the features named and the unsettled ones.
    entries : the named features, as `named_features` returns them; they are not changed.
    """
    if not entries:
        return entries
    set_columns = columns_named(plan, (*evidence.features, *evidence.unsettled))
    family = Family.SINGLE if evidence.is_proven_alone else Family.STEPWISE
    # Outliers are clipped as in the forward path: only if the rule has a threshold.
    prepare = clip_outliers if plan.settings.intercept else None
    stability = selection_stability(
        plan.data.X,
        plan.data.y,
        set_columns,
        **sample_roles(plan),
        family=family,
        prepare=prepare,
    )

    # Fill in the shares by the names of the features.
    share_of_halves = {}  # name → share of the halves that select the feature
    for reading in stability.readings:
        name = plan.data.feature_names[reading.feature]
        share_of_halves[name] = reading.selected
    return tuple(
        replace(entry, selected_in_halves=share_of_halves[entry.feature]) for entry in entries
    )
