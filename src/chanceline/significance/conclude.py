"""From the results of the stages to the result of the test: p-value, verdict and explanations."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.perceptron.rule import Rule
from chanceline.significance.advice import advise
from chanceline.significance.evidence import Evidence
from chanceline.significance.exchange import exchange_sentence
from chanceline.significance.expectation import reconciliation
from chanceline.significance.named_features import NamedFeature, named_features
from chanceline.significance.naming import evidence_of
from chanceline.significance.plan import Plan
from chanceline.significance.proofs import proofs_of
from chanceline.significance.readings import PermutationReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_inputs import rule_inputs
from chanceline.significance.rule_to_use import RuleToUse
from chanceline.significance.separating import separating_set
from chanceline.significance.stage_results import StageResults, with_errors_known
from chanceline.significance.stages import OverallP
from chanceline.significance.verdict import Grounds, Verdict, decide
from chanceline.tables.wording import plural


def conclude(
    plan: Plan,
    results: StageResults,
    rule: RuleToUse | None,
    *,
    interrupted: bool,
) -> SeparationTest:
    """Decide on the verdict, give advice, and collect everything in the result.

    Parameters
    ----------
    plan : of the test.
    results : of the stages of the test (two kinds of proofs, then shuffles).
    rule : the rule for new samples; None if it was not asked for.
    interrupted : whether Ctrl-C ended the shuffles or the cross-validation.
    """
    data = plan.data
    sizes = plan.design.sizes
    grounds = grounds_of_verdict(plan, results, rule)
    decision = decide(grounds)
    named = named_features(plan, results, grounds.evidence)
    samples_needed = plan.bounds.samples_needed(results.shown.rule, plan.settings.level)
    log10_p = grounds.overall.log10_p
    smallest_float = np.finfo(float).tiny  # in place of a p-value too small to be written

    columns_shown = columns_to_show(plan, grounds, rule)
    values_shown = {name: data.X[:, j].astype(float) for name, j in columns_shown.items()}
    pvalues = results.shuffles.marginal_pvalues  # by column of X, for those that shuffles tested
    pvalues_shown = {name: pvalues[j] for name, j in columns_shown.items() if j in pvalues}

    return SeparationTest(
        # The verdict.
        verdict=decision.verdict,
        reason=decision.reason,
        pvalue=float(max(10.0**log10_p, smallest_float)),
        log10_pvalue=log10_p,
        stage=grounds.overall.stage,
        # What it rests on.
        evidence=grounds.evidence,
        named=named,
        proofs=grounds.proofs,
        feature_bound=results.observed.feature,
        permutation=grounds.permutation,
        spread=grounds.spread,
        exchange=exchange_sentence(plan),
        interrupted=interrupted,
        # The rule for new samples, and what explains the verdict.
        rule=rule,
        reconciliation=_reconciliation(grounds, decision.verdict, rule),
        separating=grounds.separating,
        front=with_errors_known(results.front, errors_of_related_sets(grounds.evidence, named)),
        scores=scores_to_show(plan, results.shown.rule, rule),
        columns=values_shown,
        marginal_pvalues=pvalues_shown,
        largest_convincing=plan.bounds.largest_convincing(plan.spending.stage1_level),
        samples_needed=samples_needed,
        advice=advise(grounds, decision.verdict, samples_needed),
        # The table.
        n_samples=len(data.y),
        n_features=len(data.feature_names),
        n_distinct=len(plan.distinct_features),
        positives=int(np.sum(data.y > 0)),
        classes=data.classes,
        labels=data.y,
        findings=plan.findings,
        # The settings and the design.
        settings=plan.settings,
        spending=plan.spending,
        errors_declared=plan.declared_errors,
        n_units=sizes.n_units,
        n_blocks=len(sizes.every_block),
        labels_from_model=plan.design.covariate_model is not None,
        n_named=None if plan.features is None else len(plan.features),
        covariates=tuple(data.covariates or ()),
        inputs=rule_inputs(
            data,
            features=features_of_rules(plan, grounds, rule),
            of_first_rule=grounds.separating.features if rule is None else rule.features,
        ),
    )


def grounds_of_verdict(plan: Plan, results: StageResults, rule: RuleToUse | None) -> Grounds:
    """Collect everything that the verdict and its explanation are based on, in one object.

    The test has three stages. Stages 1 and 2 are proofs: p-values that are bounded from the
    observed labels, without shuffling labels. Stage 3 shuffles labels. `overall_p` combines the
    three to the p-value of the test.

    Parameters
    ----------
    plan : of the test.
    results : of the three stages. `results.observed` has the rules found for the observed labels,
        and the proofs; `results.shuffles` is stage 3; `results.shown` is the rule that texts and
        figures show.
    rule : the rule for new samples; None if it was not asked for.
    """
    overall = overall_p(plan, results)
    # The features that the first line of the result names.
    evidence = evidence_of(plan, results, overall)
    # The set of features that texts and figures show. The p-value does not depend on it.
    separating = separating_set(plan, results.shown)
    # Every proof by itself, for the list of proofs in the result.
    proofs = proofs_of(plan, results.observed, overall)
    return Grounds(
        plan=plan,
        overall=overall,
        evidence=evidence,
        separating=separating,
        permutation=results.shuffles.permutation,  # the p-value of the shuffles alone
        spread=results.shuffles.spread,  # the evidence of all features together
        proofs=proofs,
        rule_helps=rule_helps(rule),
    )


def _reconciliation(grounds: Grounds, verdict: Verdict, rule: RuleToUse | None) -> str:
    """Why the verdict and cross-validation seem to contradict each other; empty if they do not."""
    if rule is None:
        return ""
    design = grounds.plan.design
    # If samples come in groups, only the groups are independent.
    unit_word = "group" if design.has_groups else "sample"
    sample_count = plural(design.sizes.n_units, unit_word)
    return reconciliation(verdict, grounds.evidence, rule.expected_error, sample_count)


def rule_helps(rule: RuleToUse | None) -> bool:
    """Whether in cross-validation the rule for new samples is clearly better than guessing."""
    if rule is None or rule.expected_error is None:
        return False
    return rule.expected_error.knows_something


def errors_of_related_sets(
    evidence: Evidence, entries: tuple[NamedFeature, ...]
) -> list[tuple[int, int]]:
    """(number of features, fewest errors) of the set of the evidence and of related sets.

    The related sets have some features more, or one feature less. The front, a table of the fewest
    errors at every number of features, is lowered to these errors, so that the result does not
    contradict itself.

    Parameters
    ----------
    evidence : the set that the first line of the result names.
    entries : one for every named feature, with the errors of the set without this feature.
    """
    sizes_and_errors: list[tuple[int, int]] = []
    if evidence.k is None:  # the evidence is spread over many features: there is no set
        return sizes_and_errors
    # The set itself.
    if evidence.errors is not None:
        sizes_and_errors.append((evidence.k, evidence.errors))
    # The set extended by further features, one more each time.
    for n_added, addition in enumerate(evidence.additions, start=1):
        sizes_and_errors.append((evidence.k + n_added, addition.errors))
    # The set without one of its features.
    for entry in entries:
        sizes_and_errors.append((evidence.k - 1, entry.errors_without))
    return sizes_and_errors


def overall_p(plan: Plan, results: StageResults) -> OverallP:
    """The p-value of the whole test, combined from its three stages: two proofs, then shuffles."""
    observed = results.observed
    permutation_p = None
    permutation = results.shuffles.permutation
    if permutation is not None and counts_for_p(plan, permutation):
        permutation_p = permutation.pvalue
    return plan.spending.overall(observed.stage1, observed.stage2, permutation_p)


def counts_for_p(plan: Plan, permutation: PermutationReading) -> bool:
    """Whether the shuffles count for the p-value of the test.

    They are not valid if features were named after looking at the table, or if they are void (the
    user's search does not look at the labels).
    """
    return permutation.done > 0 and not permutation.void and not plan.named_after


def columns_to_show(plan: Plan, grounds: Grounds, rule: RuleToUse | None) -> dict[str, int]:
    """Every feature that the result mentions: its name → its column of X, in the table's order."""
    names = {*grounds.evidence.names_in_line, *grounds.evidence.unsettled}
    names.update(grounds.separating.features)
    if rule is not None:
        names.update(rule.surrogates)
    return {name: j for j, name in enumerate(plan.data.feature_names) if name in names}


def features_of_rules(plan: Plan, grounds: Grounds, rule: RuleToUse | None) -> list[str]:
    """The features of all rules of the result, in the table's order."""
    names = set(grounds.separating.features)
    if rule is not None:
        names.update(rule.features)
    if rule is not None and rule.few is not None:
        names.update(rule.few.features)
    return [name for name in plan.data.feature_names if name in names]


def scores_to_show(plan: Plan, shown_rule: Rule, rule: RuleToUse | None) -> Floats:
    """(samples,) the scores of the rule for new samples, else of the separating rule."""
    if rule is not None:
        return rule.sample_scores
    return plan.data.X[:, shown_rule.support] @ shown_rule.weights + shown_rule.bias
