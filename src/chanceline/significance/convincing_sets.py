"""Which of the sets that were found convince by themselves, and the smallest of them.

A set convinces if the test would say structure had it found nothing else:

* by the proof of stage 1, if its bound is within the share of that stage;
* by a proof of stage 2 (errors counted after looking, one feature alone), in the same way;
* by shuffles, if the adjusted p-value of its size, with what the proofs before may spend, is within
  the level.

The shares add up to the level, and adjusted p-values hold for all sizes together: in pure noise the
probability that any set convinces, whichever is named then, is at most the level.
"""

from __future__ import annotations

from dataclasses import replace
from math import log10
from typing import NamedTuple

from chanceline.perceptron.rule import Rule
from chanceline.significance.evidence import (
    Evidence,
    feature_evidence,
    point_evidence,
    rule_evidence,
)
from chanceline.significance.observed import best_feature, log10_with_counted_errors
from chanceline.significance.plan import Plan
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import LOG10_P_ONE, Stage, Stage2Proofs


class ConvincingSet(NamedTuple):
    """A set that convinces by itself, and the stage in which it does."""

    evidence: Evidence
    stage: Stage


def smallest_set(sets: list[ConvincingSet], stage: Stage) -> Evidence:
    """The set of fewest features; of equal ones that which gave the p-value, then the surest.

    Parameters
    ----------
    stage : that which gave the p-value.
    """

    def smallest_first(convincing: ConvincingSet) -> tuple[int, bool, float]:
        evidence = convincing.evidence
        is_of_other_stage = convincing.stage is not stage
        return evidence.k or 0, is_of_other_stage, evidence.log10_p_alone or LOG10_P_ONE

    return min(sets, key=smallest_first).evidence


def convincing_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """Every set found that convinces by itself, by any stage that was run."""
    return [
        *_declared_errors_sets(plan, results),
        *_counted_errors_sets(plan, results),
        *_one_feature_sets(plan, results),
        *_shuffled_sets(plan, results),
    ]


def _convincing(evidence: Evidence, log10_p: float, stage: Stage) -> ConvincingSet:
    """Mark a set as one that convinces with this p-value."""
    marked = replace(evidence, convinces=True, log10_p_alone=min(log10_p, LOG10_P_ONE))
    return ConvincingSet(marked, stage)


def _declared_errors_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The set of stage 1, if it convinces."""
    observed = results.observed
    if not plan.spending.stage1_convinces(observed.stage1):
        return []
    evidence = rule_evidence(plan, results, observed.rule)
    return [_convincing(evidence, observed.stage1.log10_p, Stage.DECLARED_ERRORS)]


def _counted_errors_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The rules that convince with errors counted after looking."""
    sets = []
    for rule in results.observed.rules:
        proof = counted_errors_proof(plan, rule)
        if proof is not None and plan.spending.stage2_convinces(proof):
            evidence = rule_evidence(plan, results, rule)
            sets.append(_convincing(evidence, proof.log10_p, Stage.COUNTED_ERRORS))
    return sets


def counted_errors_proof(plan: Plan, rule: Rule) -> Stage2Proofs | None:
    """Stage 2 by one rule alone, its errors counted after looking.

    None where that is no proof of this test: errors were declared, or the features given.
    """
    if plan.settings.errors is not None or plan.features_are_given:
        return None
    log10_counted = log10_with_counted_errors(plan, rule)
    return plan.bounds.second_stage(log10_counted, log10_feature=LOG10_P_ONE)


def _one_feature_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The one feature that goes best with the labels, if its proof convinces; else no set."""
    asks_stage2 = plan.spending.stage2_level > 0
    if not asks_stage2 or plan.features_are_given:
        return []
    bound_of_feature = results.observed.feature
    if bound_of_feature is None:
        # Stage 1 convinced, and the one feature was not looked for.
        bound_of_feature = best_feature(plan, results.path)
    # Stage 2 by this feature alone, without the proof that counts errors.
    proof = plan.bounds.second_stage(
        log10_counted=LOG10_P_ONE, log10_feature=bound_of_feature.log10_p
    )
    if not plan.spending.stage2_convinces(proof):
        return []
    evidence = feature_evidence(plan, results, bound_of_feature)
    return [_convincing(evidence, proof.log10_p, Stage.ONE_FEATURE)]


def _shuffled_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The sets of the front, one for each number of features, that convince by shuffled labels.

    If a proof decided, only the first batch of labels was shuffled, which is enough for this.
    """
    losses = results.shuffles.losses
    if losses.done == 0:
        return []
    sets = []
    pvalues_of_sizes = losses.adjusted_pvalues().path.tolist()
    for reading, pvalue in zip(results.front, pvalues_of_sizes, strict=True):
        # The shuffles pay for the proofs that were tried before.
        pvalue_alone = pvalue + plan.spending.spent_before_shuffles
        if pvalue_alone <= plan.settings.level:
            evidence = point_evidence(plan, results, reading)
            sets.append(_convincing(evidence, log10(pvalue_alone), Stage.SHUFFLES))
    return sets
