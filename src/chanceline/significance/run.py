"""`separation_test`: is this classification structure, or would noise allow it?

The steps, from a plan to its result. What is fixed beforehand: `plan`; the stages: `stages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

from numpy.typing import ArrayLike

from chanceline._parallel import Progress
from chanceline.significance.arguments import TestArguments, table_from_arguments
from chanceline.significance.conclude import conclude
from chanceline.significance.config import TestSettings
from chanceline.significance.named_features import with_halves
from chanceline.significance.observed import fit_observed
from chanceline.significance.outcome_column import (
    ask_about_outcome,
    outcome_columns,
    plan_without,
)
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.outcomes.run import run_outcome_test
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import usable_rule
from chanceline.significance.separating import rule_to_show
from chanceline.significance.shuffle_stage import (
    ShuffleResults,
    follow_first_batch,
    shuffle_labels,
    shuffles_are_needed,
)
from chanceline.significance.stage_results import StageResults, size_readings
from chanceline.significance.unfinished import (
    LATE_FAILURES,
    Unfinished,
    cause_of,
    missing_rule_finding,
)
from chanceline.significance.verdict import Verdict
from chanceline.tables.checks.advice import examine_dataset
from chanceline.tables.dataset import Dataset
from chanceline.tables.outcome_table import OutcomeTable


def separation_test(  # noqa: PLR0913
    X: Any,
    y: ArrayLike | None = None,
    features: Sequence[int | str] | None = None,
    *,
    label: str | None = None,
    time: ArrayLike | str | None = None,
    event: ArrayLike | str | None = None,
    outcome: str | None = None,
    blocks: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    pairs: ArrayLike | str | None = None,
    adjust: Any = None,
    independent: Sequence[str] = (),
    positive: Any = None,
    feature_names: Sequence[str] | None = None,
    settings: TestSettings | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> SeparationTest | OutcomeTest:
    """Test whether a few features that tell the outcome are more than chance allows.

    The outcome is two classes, several classes, a number, or the time to an event.

    Parameters
    ----------
    X
        Array or DataFrame, samples × features, finite numbers; or a `Dataset` that `load_data` or
        `load_example` gave, which has labels, names, blocks and groups of its own; with `label` a
        DataFrame or a file.
    y
        Classes or a number, one value for each sample; or an `Outcome` of one's own.
    features
        Names or indices of the features in question; by default the smallest set is searched.
    label
        Column of the outcome, by name, instead of `y`. Then blocks, groups and pairs are names of
        columns too, and everything that `load_data` knows may be said:
        ``separation_test(df, label="outcome", groups="patient", missing="median")``.
    time, event
        Survival: the time of every sample, and 1 where the event was seen then, 0 where the time
        was cut off. Columns by name, or arrays.
    outcome
        "number" or "classes", where a column of few whole numbers may be either.
    blocks, groups, pairs
        One value for each sample; labels are exchanged within blocks only, move with whole groups,
        and swap within pairs.
    adjust
        Covariates, a DataFrame (or an array, samples × covariates): is there structure beyond what
        they explain?
    independent
        Columns that look like subjects or pairs though rows are independent.
    positive
        The positive class: rules predict it, and signs of weights, AUC and sensitivity speak of
        it. By default the class that is not called like a control (control, normal, healthy, no,
        0, negative and alike); if both or neither are, the rarer one; if they are equally
        frequent, the last in order.
    feature_names
        Names of the columns.
    settings
        How to test; `TestSettings` documents every field.
    progress
        Called with (shuffles done, shuffles at most).
    **changes
        Those of `TestSettings` by name: level, permutations, seed, null, intercept, errors,
        method, budget, restarts, search, stop_after, n_jobs, largest, preregistered, candidates,
        always_permute, expected_error, integer, time_limit.

    Returns
    -------
    SeparationTest
        Of two classes; other outcomes have an `OutcomeTest`. After Ctrl-C during the shuffles, or
        when workers died again and again: what the shuffles done so far say, with
        `permutation.interrupted` (or `interrupted`) set.
    """
    # The arguments can describe a table in several ways: as arrays, as a file or DataFrame with
    # names of columns, or as a table that was read before. `TestArguments` holds the arguments as
    # they are, and `table_from_arguments` makes a table of them. It also says which of `changes`
    # are settings of the test; others can be options for reading the table.
    given_roles = {"blocks": blocks, "groups": groups, "pairs": pairs, "adjust": adjust}
    declared_roles = {role: values for role, values in given_roles.items() if values is not None}
    arguments = TestArguments(
        X=X,
        y=y,
        label=label,
        time=time,
        event=event,
        asked_kind=outcome,
        roles=declared_roles,
        independent=independent,
        positive=positive,
        feature_names=feature_names,
        changes=changes,
    )
    table, setting_changes = table_from_arguments(arguments)
    settings = replace(settings or TestSettings(), **setting_changes)

    # An `OutcomeTable` has an outcome other than two classes.
    if isinstance(table, OutcomeTable):
        return run_outcome_test(table, features, settings, progress)
    plan = make_plan(table, features, settings)
    return run_test(with_table_findings(plan), progress)


def with_table_findings(plan: Plan) -> Plan:
    """The plan with what the table's numbers and labels show, behind what reading it found."""
    # Rows of a group, or of a pair, may be nearly equal.
    related_rows = plan.design.unit_of_sample
    if plan.data.pairs is not None:
        related_rows = plan.design.block_of_sample
    about_table = examine_dataset(
        plan.data, related_rows, has_all_candidates=plan.settings.candidates is None
    )
    return replace(plan, findings=(*plan.findings, *about_table))


@overload
def judge(
    dataset: Dataset, features: Sequence[int | str] | None = None, **options: Any
) -> SeparationTest: ...


@overload
def judge(
    dataset: OutcomeTable, features: Sequence[int | str] | None = None, **options: Any
) -> OutcomeTest: ...


def judge(
    dataset: Dataset | OutcomeTable, features: Sequence[int | str] | None = None, **options: Any
) -> SeparationTest | OutcomeTest:
    """`separation_test` of a table that was read, with all that it knows."""
    return separation_test(dataset, features=features, **options)


def run_test(plan: Plan, progress: Progress | None = None) -> SeparationTest:
    """Run the test; if a column looks like the outcome itself, run it without that column, too.

    The result is that of the whole table. Its first finding is then a question about the suspected
    columns, which tells the verdict without them.

    Parameters
    ----------
    plan : the checked table, and everything that was fixed beforehand.
    progress : called with (shuffles done, shuffles at most).
    """
    result = run_stages(plan, progress)
    if plan.features_are_given or result.interrupted:
        # The user chose the features, or does not want to wait for a second test.
        return result
    suspected_outcomes = outcome_columns(plan.data.X, plan.data.y)
    if len(suspected_outcomes.columns) == 0:
        return result

    # The test without the suspected columns; None if no other columns are left to test.
    result_without = None
    smaller_plan = plan_without(plan, suspected_outcomes.columns)
    if smaller_plan is not None:
        result_without = run_stages(smaller_plan, progress)
    question = ask_about_outcome(plan, suspected_outcomes, result_without)
    return replace(result, findings=(question, *result.findings))


def run_stages(plan: Plan, progress: Progress | None = None) -> SeparationTest:
    """Run a test: compute the p-value, make the rule for new samples, and decide the verdict.

    Each step may be ended early: by Ctrl-C (then `interrupted` is set in the result), or because
    memory or worker processes are lost (then `unfinished` tells which). The result still has
    everything that the steps before gave.

    Parameters
    ----------
    plan : the checked table, and everything that was fixed beforehand.
    progress : called with (shuffles done, shuffles at most).
    """
    # The p-value, by proofs and shuffles.
    results = run_pvalue_stages(plan, progress)
    unfinished = Unfinished.LOST_WORKERS if results.shuffles.lost_workers else None
    interrupted = results.shuffles.interrupted

    # The rule for new samples. A user's own search function brings a rule of its own.
    rule = None
    wants_rule = plan.settings.expected_error and plan.settings.search is None
    if wants_rule and not interrupted:
        try:
            rule = usable_rule(plan)
        except KeyboardInterrupt:
            interrupted = True
        except LATE_FAILURES as error:
            # Memory or workers were lost: the result goes without a rule, and a finding tells why.
            unfinished = cause_of(error)
            plan = replace(plan, findings=(*plan.findings, missing_rule_finding(unfinished)))

    # The verdict.
    result = conclude(plan, results, rule, interrupted=interrupted)
    result = replace(result, unfinished=unfinished)

    # If there is structure, see how stable the choice of the features is.
    if rule is None or result.verdict is not Verdict.STRUCTURE:
        return result
    return _with_selection_in_halves(plan, result)


def _with_selection_in_halves(plan: Plan, result: SeparationTest) -> SeparationTest:
    """Add to the named features how often random halves of the samples select them.

    If Ctrl-C, lack of memory or lost workers end this step, the result goes without these numbers,
    and says what ended it.
    """
    try:
        named_features = with_halves(plan, result.evidence, result.named)
    except KeyboardInterrupt:
        return replace(result, interrupted=True)
    except LATE_FAILURES as error:  # memory or workers were lost
        return replace(result, unfinished=cause_of(error))
    return replace(result, named=named_features)


def run_pvalue_stages(plan: Plan, progress: Progress | None = None) -> StageResults:
    """Run the stages of the p-value: proofs, and then shuffles if no proof convinces.

    A proof is a p-value bounded without shuffles.

    Parameters
    ----------
    plan : the checked table, and everything that was fixed beforehand.
    progress : called with (shuffles done, shuffles at most).
    """
    # The stepwise path of the observed labels. It comes with a first batch of shuffles, which are
    # made in any case.
    path, first_losses = follow_first_batch(plan)

    # The proofs, from rules that fit the observed labels.
    observed = fit_observed(plan, path)

    # More shuffles, if they are needed.
    if shuffles_are_needed(plan, observed):
        shuffles = shuffle_labels(plan, path, first_losses, progress)
    else:
        shuffles = ShuffleResults(losses=first_losses)

    # For each number of features: the fewest errors known, and R² beside that on shuffled labels.
    readings_by_size = size_readings(plan, observed, path, shuffles)
    return StageResults(
        path=path,
        observed=observed,
        shuffles=shuffles,
        front=readings_by_size,
        shown=rule_to_show(plan, observed),
    )
