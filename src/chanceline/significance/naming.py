"""Which features the first line of the result names: those of the smallest set that convinces by
itself.

It is not the set with the smallest p-value, because a larger set often has a smaller p-value thanks
to features that fit the labels by chance. For the same reason, a feature of a set of several is
named only if it adds to the other features of the set (`additions`).
"""

from __future__ import annotations

from dataclasses import replace
from math import log10

import numpy as np

from chanceline._arrays import Ints
from chanceline.significance.additions import (
    adds_enough,
    features_that_add,
    pvalues_of_adding,
)
from chanceline.significance.convincing_sets import convincing_sets, smallest_set
from chanceline.significance.evidence import (
    Evidence,
    EvidenceSource,
    feature_evidence,
    path_set_evidence,
    rule_evidence,
    spread_evidence,
)
from chanceline.significance.plan import Plan
from chanceline.significance.readings import SizeReading, SpreadReading
from chanceline.significance.shuffle_stage import repeats_own_search
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import OverallP, Stage


def evidence_of(plan: Plan, results: StageResults, overall: OverallP) -> Evidence:
    """Choose the features that the first line of the result names.

    A set of features convinces by itself if the test would be significant had it found only this
    set. The first case that applies:

    1. The user gave a search, and it was repeated on shuffled labels: the set that it found.
    2. The user named features after looking at the table: these features.
    3. The shuffles gave the p-value, and all features together convince with a smaller p-value than
       any small set: the evidence is spread, and no feature is named.
    4. Some sets convince by themselves: the smallest of them. Of its features only those are named
       that add to the other features of the set; further features that add to it may be named too.
    5. No set convinces by itself: the set that the p-value is about. If the test is significant all
       the same, there is structure somewhere, but none of these features need belong to it: all of
       them move from `features` (named) to `unsettled` (only counted).

    Parameters
    ----------
    plan : of the test.
    results : of its stages.
    overall : the p-value of the test, and the stage that gave it.
    """
    # Case 1.
    if repeats_own_search(plan):
        set_of_own_search = rule_evidence(plan, results, results.observed.rule)
        return replace(set_of_own_search, by=EvidenceSource.SEARCH)

    # Case 2.
    features_named_after_looking = plan.named_after
    if features_named_after_looking:
        return evidence_of_stage(plan, results, overall.stage)

    # Case 3.
    if overall.stage is Stage.SHUFFLES:
        spread = convincing_spread(plan, results)
        if spread is not None:
            return spread_evidence(spread)

    # Case 4.
    sets = convincing_sets(plan, results)
    if sets:
        smallest = smallest_set(sets, overall.stage)
        return name_features_that_add(plan, results, smallest)

    # Case 5.
    evidence = evidence_of_stage(plan, results, overall.stage)
    is_significant = overall.log10_p <= log10(plan.settings.level)
    if is_significant:
        return replace(evidence, features=(), unsettled=evidence.features)
    return evidence


def name_features_that_add(plan: Plan, results: StageResults, evidence: Evidence) -> Evidence:
    """Choose which features of a convincing set are named, and which further features add to it.

    A set may convince because of one feature, while another is in it by chance. So a feature of a
    set of several is named only if it adds to the others. If all features of the set are named,
    further features that add to the set are searched. Features that the user chose are all named,
    and none is added.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    evidence : the convincing set; it is not changed.
    """
    if plan.features_are_given:
        return evidence
    support = columns_named(plan, evidence.features)
    if len(support) > 1:
        evidence = _name_only_those_that_add(plan, results, evidence, support)
    if evidence.unsettled:
        return evidence
    return replace(evidence, additions=features_that_add(plan, results, support))


def _name_only_those_that_add(
    plan: Plan, results: StageResults, evidence: Evidence, support: Ints
) -> Evidence:
    """The evidence with only those features named that add enough to the other features of the set.

    The remaining features of the set become unsettled: any of them may be there by chance.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    evidence : of the whole set; it is not changed.
    support : (features,) columns of X of the set, ascending.
    """
    settled_names = []
    unsettled_names = []
    names = plan.names_of(support)
    pvalues = pvalues_of_adding(plan, results, support)
    for name, pvalue in zip(names, pvalues, strict=True):
        if adds_enough(plan, pvalue):
            settled_names.append(name)
        else:
            unsettled_names.append(name)
    return replace(evidence, features=tuple(settled_names), unsettled=tuple(unsettled_names))


def columns_named(plan: Plan, names: tuple[str, ...]) -> Ints:
    """The columns of X with these names, ascending."""
    wanted = set(names)
    columns = [j for j, name in enumerate(plan.data.feature_names) if name in wanted]
    return np.array(columns, dtype=np.int64)


def evidence_of_stage(plan: Plan, results: StageResults, stage: Stage) -> Evidence:
    """The set of features that the p-value of a stage is about.

    * ONE_FEATURE: the single feature whose relation to the labels is proven by a bound.
    * COUNTED_ERRORS: the features of the rule with the smallest bound when errors are counted after
      looking.
    * SHUFFLES: the forward stepwise path's set with the smallest p-value.
    * DECLARED_ERRORS: the features of the rule with no more errors than declared beforehand.
    * NOTHING (no proof convinced, and no labels were shuffled): the features of the rule that the
      result shows.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    stage : the stage that gave the p-value of the test.
    """
    observed = results.observed
    if stage is Stage.ONE_FEATURE and observed.feature is not None:
        return feature_evidence(plan, results, observed.feature)
    if stage is Stage.COUNTED_ERRORS and observed.counted_rule is not None:
        return rule_evidence(plan, results, observed.counted_rule)
    if stage is Stage.SHUFFLES:
        return path_set_evidence(plan, results, path_set_with_smallest_pvalue(results))
    if stage is Stage.DECLARED_ERRORS:
        return rule_evidence(plan, results, observed.rule)
    # NOTHING
    return rule_evidence(plan, results, results.shown.rule)


def path_set_with_smallest_pvalue(results: StageResults) -> SizeReading:
    """The forward path's set with the smallest p-value; of equal ones that of fewest features."""
    return min(results.front, key=lambda path_set: (path_set.pvalue, path_set.k))


def convincing_spread(plan: Plan, results: StageResults) -> SpreadReading | None:
    """The evidence of all features together, if they convince more than any small set.

    Their p-value must be below the level and below the p-value of every set of the forward path.
    Of equal p-values the small set wins, because it says more. None if there is no such evidence.
    """
    spread = results.shuffles.spread
    if spread is None:
        return None
    # Without a p-value of any set the limit is 0, and nothing is below it.
    smallest_pvalue_of_sets = path_set_with_smallest_pvalue(results).pvalue or 0.0
    limit = min(smallest_pvalue_of_sets, plan.settings.level)
    return spread if spread.pvalue < limit else None
