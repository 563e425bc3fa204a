"""Which of the sets of features that were found convince by themselves, and the smallest of them.

The level of the test is divided between its stages. A set convinces if the test would say
"structure" had it found this set alone:

* by the proof of stage 1, if the bound is at most the share of that stage;
* by a proof of stage 2 (errors counted after looking, one feature alone), in the same way;
* by shuffles, if the adjusted p-value of its size, plus what the proofs may have spent before, is
  at most the level.

The shares add up to the level, and adjusted p-values hold for all sizes together. So in pure noise
the probability that any set convinces is at most the level, whichever set is then named.
"""

from __future__ import annotations

from dataclasses import replace
from math import log10
from typing import NamedTuple

from chanceline.perceptron.rule import Rule
from chanceline.significance.evidence import (
    Evidence,
    feature_evidence,
    path_set_evidence,
    rule_evidence,
)
from chanceline.significance.observed import best_feature, log10_with_counted_errors
from chanceline.significance.plan import Plan
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import LOG10_P_ONE, Stage, Stage2Proofs


class ConvincingSet(NamedTuple):
    """A set of features that convinces by itself, and the stage in which it does."""

    evidence: Evidence
    stage: Stage


def smallest_set(sets: list[ConvincingSet], stage: Stage) -> Evidence:
    """The convincing set with the fewest features.

    Of sets of equal size, one from the stage that gave the p-value of the test comes first, then
    the one with the smallest p-value of its own.

    Parameters
    ----------
    sets : at least one.
    stage : the stage that gave the p-value of the test.
    """

    def smallest_first(convincing: ConvincingSet) -> tuple[int, bool, float]:
        evidence = convincing.evidence
        is_of_other_stage = convincing.stage is not stage  # False sorts first
        return evidence.k or 0, is_of_other_stage, evidence.log10_p_alone or LOG10_P_ONE

    return min(sets, key=smallest_first).evidence


def convincing_sets(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """Every set found that convinces by itself in a stage that was run.

    A set is listed once for each stage in which it convinces.
    """
    return [
        *_declared_errors_sets(plan, results),
        *_counted_errors_sets(plan, results),
        *_best_feature_set(plan, results),
        *_sets_convincing_by_shuffles(plan, results),
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
    """The sets of stage 2 whose rules convince with errors that are counted after looking."""
    sets = []
    for rule in results.observed.rules:
        proof = counted_errors_proof(plan, rule)
        if proof is not None and plan.spending.stage2_convinces(proof):
            evidence = rule_evidence(plan, results, rule)
            sets.append(_convincing(evidence, proof.log10_p, Stage.COUNTED_ERRORS))
    return sets


def counted_errors_proof(plan: Plan, rule: Rule) -> Stage2Proofs | None:
    """The proof of stage 2 had this rule alone been found, its errors counted after looking.

    None if the test does not use this proof, because errors were declared beforehand, or because
    the features were given by the user.
    """
    if plan.settings.errors is not None or plan.features_are_given:
        return None
    log10_counted = log10_with_counted_errors(plan, rule)
    return plan.bounds.second_stage(log10_counted, log10_feature=LOG10_P_ONE)


def _best_feature_set(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The set of the best single feature, if its proof in stage 2 of the test convinces.

    A proof is a p-value that is bounded without shuffling labels. It convinces if it is at most the
    part of the test's level that its stage has (`plan.spending`). Stage 2 has two proofs: one
    counts the errors of rules, the other is about the single feature that is most related to the
    labels. Here the second is judged as if there were no rule for the first.

    Returns
    -------
    A list of one set, or an empty list.
    """
    has_stage2 = plan.spending.stage2_level > 0
    if not has_stage2 or plan.features_are_given:
        return []

    # An upper bound of the p-value of the best feature alone.
    bound_of_feature = results.observed.feature
    if bound_of_feature is None:
        # Stage 1 convinced, so that the test did not look for this feature.
        bound_of_feature = best_feature(plan, results.path)

    # The p-value that stage 2 has with this feature alone: log₁₀ p = 0 (p = 1) stands for the other
    # proof. `second_stage` corrects for two proofs, and for stage 1.
    proof = plan.bounds.second_stage(
        log10_counted=LOG10_P_ONE, log10_feature=bound_of_feature.log10_p
    )
    if not plan.spending.stage2_convinces(proof):
        return []
    evidence = feature_evidence(plan, results, bound_of_feature)
    return [_convincing(evidence, proof.log10_p, Stage.ONE_FEATURE)]


def _sets_convincing_by_shuffles(plan: Plan, results: StageResults) -> list[ConvincingSet]:
    """The sets of the forward stepwise path that convince by shuffled labels.

    The path has one set for each number of features. Each set has a p-value by shuffles, adjusted
    for the number of sets. Before the shuffles, the test tries proofs, which spend a part of the
    level. A set convinces if its p-value plus this part is at most the level.

    If a proof decided the test, only a first batch of labels was shuffled, which is enough here.
    """
    losses = results.shuffles.losses
    no_labels_were_shuffled = losses.done == 0
    if no_labels_were_shuffled:
        return []

    # For 1, 2, … features: the set of the path (with its R² and errors), and its p-value. (The
    # p-value is taken from the shuffles, because `path_set.pvalue` is None if a proof decided.)
    path_sets = results.front
    shuffle_pvalues = losses.adjusted_pvalues().path.tolist()
    convincing = []
    for path_set, shuffle_pvalue in zip(path_sets, shuffle_pvalues, strict=True):
        pvalue = shuffle_pvalue + plan.spending.spent_before_shuffles
        if pvalue <= plan.settings.level:
            evidence = path_set_evidence(plan, results, path_set)
            convincing.append(_convincing(evidence, log10(pvalue), Stage.SHUFFLES))
    return convincing
