"""`separation_test`: is this classification structure, or would noise allow it?

The steps, from a plan to its result. What is fixed beforehand: `plan`; the stages: `stages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from numpy.typing import ArrayLike

from chanceline._parallel import Progress
from chanceline.errors import InputError
from chanceline.significance.conclude import conclude
from chanceline.significance.config import TestSettings
from chanceline.significance.named_features import with_halves
from chanceline.significance.observed import fit_observed
from chanceline.significance.outcome_column import (
    ask_about_outcome,
    outcome_columns,
    plan_without,
)
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import usable_rule
from chanceline.significance.separating import rule_to_show
from chanceline.significance.shuffle_stage import (
    ShuffleResults,
    first_batch,
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
from chanceline.tables.array_input import LABEL_COLUMN, dataset_of_arrays, table_with_labels
from chanceline.tables.checks.advice import examine_dataset
from chanceline.tables.dataset import Dataset
from chanceline.tables.load import load_data
from chanceline.tables.settings import TableSettings


def separation_test(  # noqa: PLR0913
    X: Any,
    y: ArrayLike | None = None,
    features: Sequence[int | str] | None = None,
    *,
    label: str | None = None,
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
) -> SeparationTest:
    """Test whether a few features that classify the samples linearly are more than chance allows.

    Parameters
    ----------
    X
        Array or DataFrame, samples × features, finite numbers; or a `Dataset` that `load_data` or
        `load_example` gave, which has labels, names, blocks and groups of its own; with `label` a
        DataFrame or a file.
    y
        Two classes, one value for each sample.
    features
        Names or indices of the features in question; by default the smallest set is searched.
    label
        Column of the classes, by name, instead of `y`. Then blocks, groups and pairs are names of
        columns too, and everything that `load_data` knows may be said:
        ``separation_test(df, label="outcome", groups="patient", missing="median")``.
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
        After Ctrl-C during the shuffles, or when workers died again and again: what the shuffles
        done so far say, with `permutation.interrupted` set.
    """
    given_roles = {"blocks": blocks, "groups": groups, "pairs": pairs, "adjust": adjust}
    dataset, setting_changes = _dataset_from_arguments(
        X,
        y,
        label=label,
        roles={role: values for role, values in given_roles.items() if values is not None},
        independent=independent,
        positive=positive,
        feature_names=feature_names,
        changes=changes,
    )
    settings = replace(settings or TestSettings(), **setting_changes)
    plan = make_plan(dataset, features, settings)
    return run_test(with_table_findings(plan), progress)


def _dataset_from_arguments(  # noqa: PLR0913
    X: Any,
    y: ArrayLike | None,
    *,
    label: str | None,
    roles: Mapping[str, Any],
    independent: Sequence[str],
    positive: Any,
    feature_names: Sequence[str] | None,
    changes: Mapping[str, Any],
) -> tuple[Dataset, Mapping[str, Any]]:
    """The table, from the arguments of `separation_test`, in one of four forms.

    1. Arrays, with blocks, groups, pairs or covariates named as columns: y becomes a column too.
    2. A DataFrame or a file, with the name of the column of labels.
    3. A `Dataset`, which is complete.
    4. Arrays alone.

    Parameters
    ----------
    roles : those of blocks, groups, pairs and adjust that were given, by name.
    changes : keyword arguments of `separation_test` that it does not list. In the first two forms
        some are options of `load_data`.

    Returns
    -------
    The table, and the changes that are left for the settings of the test.
    """
    if y is not None and _names_columns(roles, independent):
        _refuse_beside_table(feature_names)
        table = table_with_labels(X, y)
        options, changes = _split_options(changes, independent=independent, positive=positive)
        return load_data(table, LABEL_COLUMN, **roles, **options), changes
    if label is not None:
        _refuse_beside_table(y, feature_names)
        options, changes = _split_options(changes, independent=independent, positive=positive)
        return load_data(X, label, **roles, **options), changes
    if isinstance(X, Dataset):
        _refuse_beside_table(y, feature_names, positive, *roles.values())
        return X, changes
    dataset = dataset_of_arrays(X, y, roles, feature_names=feature_names, positive=positive)
    return dataset, changes


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


def _names_columns(roles: Mapping[str, Any], independent: Sequence[str]) -> bool:
    """Whether columns of the table are given by name."""
    return bool(independent) or any(isinstance(values, str) for values in roles.values())


def _refuse_beside_table(*arguments: Any) -> None:
    """Refuse arguments (those that are not None) about what the table says itself."""
    if any(argument is not None for argument in arguments):
        raise InputError(
            "a Dataset has labels, names, blocks and groups of its own; pass nothing but the "
            "Dataset."
        )


def _split_options(
    changes: Mapping[str, Any], *, independent: Sequence[str], positive: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of `load_data`, and the changes of the test's settings.

    Parameters
    ----------
    changes : both, by name.
    independent, positive : further options of `load_data`; `positive` None for the usual class.
    """
    table_names = {field.name for field in fields(TableSettings)}
    for_table = {name: value for name, value in changes.items() if name in table_names}
    for_test = {name: value for name, value in changes.items() if name not in table_names}
    for_table["independent"] = independent
    if positive is not None:
        for_table["positive"] = str(positive)
    return for_table, for_test


def judge(
    dataset: Dataset, features: Sequence[int | str] | None = None, **options: Any
) -> SeparationTest:
    """`separation_test` of a table that `load_data` read, with all that it knows."""
    return separation_test(dataset, features=features, **options)


def run_test(plan: Plan, progress: Progress | None = None) -> SeparationTest:
    """The test; and where a column looks like the outcome itself, the verdict without it."""
    result = run_stages(plan, progress)
    if plan.features_are_given or result.interrupted:
        return result
    suspected_outcomes = outcome_columns(plan.data.X, plan.data.y)
    if len(suspected_outcomes.columns) == 0:
        return result
    result_without = None
    smaller_plan = plan_without(plan, suspected_outcomes.columns)
    if smaller_plan is not None:
        result_without = run_stages(smaller_plan, progress)
    question = ask_about_outcome(plan, suspected_outcomes, result_without)
    return replace(result, findings=(question, *result.findings))


def run_stages(plan: Plan, progress: Progress | None = None) -> SeparationTest:
    """The stages of the p-value, and the rule to use; then the verdict.

    What the stages gave is not lost by what happens later: after Ctrl-C, or where the machine can
    do no more, the result comes without a rule.
    """
    results = results_of_stages(plan, progress)
    unfinished = Unfinished.LOST_WORKERS if results.shuffles.lost_workers else None
    rule = None
    interrupted = results.shuffles.interrupted
    # A search of one's own has its own rule.
    wants_rule = plan.settings.expected_error and plan.settings.search is None
    if wants_rule and not interrupted:
        try:
            rule = usable_rule(plan)
        except KeyboardInterrupt:
            interrupted = True
        except LATE_FAILURES as error:
            unfinished = cause_of(error)
            plan = replace(plan, findings=(*plan.findings, missing_rule_finding(unfinished)))
    result = conclude(plan, results, rule, interrupted=interrupted)
    result = replace(result, unfinished=unfinished)
    if rule is None or result.verdict is not Verdict.STRUCTURE:
        return result
    try:
        return replace(result, named=with_halves(plan, result.evidence, result.named))
    except KeyboardInterrupt:
        return replace(result, interrupted=True)
    except LATE_FAILURES as error:
        return replace(result, unfinished=cause_of(error))


def results_of_stages(plan: Plan, progress: Progress | None = None) -> StageResults:
    """The path and the proofs of the observed labels, and the shuffles if they are needed."""
    path, first_losses = first_batch(plan)
    observed = fit_observed(plan, path)
    if shuffles_are_needed(plan, observed):
        shuffles = shuffle_labels(plan, path, first_losses, progress)
    else:
        shuffles = ShuffleResults(losses=first_losses)
    return StageResults(
        path=path,
        observed=observed,
        shuffles=shuffles,
        # What 1, 2, … features do.
        front=size_readings(plan, observed, path, shuffles),
        shown=rule_to_show(plan, observed),
    )
