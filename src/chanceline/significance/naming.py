"""Which features the first line names: those of the smallest set that convinces by itself.

The set with the smallest p-value is not named for being that: a larger set often has a smaller
p-value by features that fit the labels by chance. For the same reason features of a set of several
are named only if they add to each other (`additions`).
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
    point_evidence,
    rule_evidence,
    spread_evidence,
)
from chanceline.significance.plan import Plan
from chanceline.significance.readings import SizeReading, SpreadReading
from chanceline.significance.shuffle_stage import repeats_own_search
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import OverallP, Stage


def evidence_of(plan: Plan, results: StageResults, overall: OverallP) -> Evidence:
    """The features that the first line of the result names, and what other features add to them.

    Parameters
    ----------
    plan : of the test.
    results : of its stages.
    overall : the p-value, and the stage that gave it.
    """
    # The user's own search was repeated on shuffled labels: the set that it found.
    if repeats_own_search(plan):
        own_set = rule_evidence(plan, results, results.observed.rule)
        return replace(own_set, by=EvidenceSource.SEARCH)

    # The user named features after looking at the table: the features of the stage that gave the
    # p-value, which are those.
    if plan.named_after:
        return evidence_of_stage(plan, results, overall.stage)

    # By shuffles, all features together convince with a smaller p-value than any small set: no
    # features are named.
    if overall.stage is Stage.SHUFFLES:
        all_features_together = convincing_spread(plan, results)
        if all_features_together is not None:
            return spread_evidence(all_features_together)

    # Some sets convince by themselves: the smallest of them, and of its features those that add to
    # the others.
    sets = convincing_sets(plan, results)
    if sets:
        return settle_names(plan, results, smallest_set(sets, overall.stage))

    # No set convinces by itself. The one that the p-value is about is described: its features are
    # unsettled if the test is significant, which says that there is something somewhere.
    described = evidence_of_stage(plan, results, overall.stage)
    is_significant = overall.log10_p <= log10(plan.settings.level)
    if is_significant:
        return replace(described, features=(), unsettled=described.features)
    return described


def settle_names(plan: Plan, results: StageResults, evidence: Evidence) -> Evidence:
    """Which features of a set that convinces are named, and which others beside it.

    A feature that convinces alone is named. Of a larger set those are that add to the others: it
    may convince by one feature of the labels and another that chance put beside it. Features that
    add to the whole set are looked for where all of it is named. What the user chose is named as it
    is.
    """
    if plan.features_are_given:
        return evidence
    support = columns_named(plan, evidence.features)
    if len(support) > 1:
        evidence = _with_those_that_add(plan, results, evidence, support)
    if evidence.unsettled:
        return evidence
    return replace(evidence, additions=features_that_add(plan, results, support))


def _with_those_that_add(
    plan: Plan, results: StageResults, evidence: Evidence, support: Ints
) -> Evidence:
    """The evidence with only those features named that add enough to the others of the set.

    The other features of the set are unsettled.

    Parameters
    ----------
    support : columns of X of the set, ascending.
    """
    named = []
    unsettled = []
    pvalues = pvalues_of_adding(plan, results, support)
    for name, pvalue in zip(plan.names_of(support), pvalues, strict=True):
        if adds_enough(plan, pvalue):
            named.append(name)
        else:
            unsettled.append(name)
    return replace(evidence, features=tuple(named), unsettled=tuple(unsettled))


def columns_named(plan: Plan, names: tuple[str, ...]) -> Ints:
    """Columns of X by their names, ascending."""
    wanted = set(names)
    columns = [j for j, name in enumerate(plan.data.feature_names) if name in wanted]
    return np.array(columns, dtype=np.int64)


def evidence_of_stage(plan: Plan, results: StageResults, stage: Stage) -> Evidence:
    """The features that the p-value of a stage is about.

    If no stage gave the p-value, they are those of the rule that is shown beside it: the rule of
    stage 1, or the most surprising rule found if that one makes more errors than declared.
    """
    observed = results.observed
    if stage is Stage.ONE_FEATURE and observed.feature is not None:
        return feature_evidence(plan, results, observed.feature)
    if stage is Stage.COUNTED_ERRORS and observed.counted_rule is not None:
        return rule_evidence(plan, results, observed.counted_rule)
    if stage is Stage.SHUFFLES:
        return point_evidence(plan, results, surest_point(results))
    if stage is Stage.DECLARED_ERRORS:
        return rule_evidence(plan, results, observed.rule)
    # Nothing convinced and nothing was shuffled.
    return rule_evidence(plan, results, results.shown.rule)


def surest_point(results: StageResults) -> SizeReading:
    """The point of the front with the smallest p-value; of equal ones that of fewest features."""
    return min(results.front, key=lambda point: (point.pvalue, point.k))


def convincing_spread(plan: Plan, results: StageResults) -> SpreadReading | None:
    """All features together, if their p-value convinces and is below those of all small sets.

    If the p-values are equal, the small set counts, which says more.
    """
    spread = results.shuffles.spread
    if spread is None:
        return None
    largest_pvalue = min(surest_point(results).pvalue or 0.0, plan.settings.level)
    return spread if spread.pvalue < largest_pvalue else None
