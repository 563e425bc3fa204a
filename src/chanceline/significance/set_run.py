"""`set_tests`: which sets of features go with the classes, more than chance allows?

One run for all sets: labels are shuffled once, every set has the statistic of the test of a whole
table on its own columns (`set_statistics`), and p-values are adjusted for all sets by the largest
score (`step_down`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from chanceline._parallel import Progress
from chanceline.errors import InputError
from chanceline.significance.adjustment_words import kind_of_pvalue
from chanceline.significance.config import TestSettings
from chanceline.significance.exchange import exchange_sentence
from chanceline.significance.outcome_column import warn_of_outcome_columns
from chanceline.significance.path_columns import columns_that_vary
from chanceline.significance.plan import (
    MAX_SECONDS,
    Plan,
    affordable_shuffles,
    make_plan,
    seconds_per_shuffle,
)
from chanceline.significance.run import with_table_findings
from chanceline.significance.set_columns import MatchedSet, MatchedSets, match_sets
from chanceline.significance.set_result import Carrier, SetReading, SetTests
from chanceline.significance.set_scores import comparable_scores
from chanceline.significance.set_statistics import SetStatistics, SharedLabels, set_statistics
from chanceline.significance.shuffles import ShuffleRunner, labelling
from chanceline.significance.step_down import step_down_pvalues
from chanceline.tables.dataset import Dataset
from chanceline.tables.feature_sets import read_feature_sets
from chanceline.tables.load import load_data
from chanceline.tables.settings import TableSettings

# The settings that tests of sets have a use for. The last two are for what is not done here: proofs
# before the shuffles, and rules for new samples.
SETTINGS_FOR_SETS = (
    "level",
    "permutations",
    "seed",
    "null",
    "intercept",
    "largest",
    "n_jobs",
    "time_limit",
    "always_permute",
    "expected_error",
)


def set_tests(
    table: Any,
    sets: str | Path | Mapping[str, Sequence[int | str]],
    label: str | None = None,
    *,
    settings: TestSettings | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> SetTests:
    """Test every set of features: does it go with the classes, more than chance allows?

    Parameters
    ----------
    table
        A DataFrame or a file, with the name of the column of classes as `label`; or a `Dataset`
        that `load_data` gave, which knows its classes.
    sets
        The features of every set by its name, ``{"heart": ["a", "b"], "liver": ["b", "c"]}``, or a
        file: GMT (`.gmt`), or a table with the columns `set` and `feature`. Sets may share
        features; features that the table does not have are named in the result.
    label
        Column with the two classes.
    settings
        How to test; `TestSettings` documents every field.
    progress
        Called with (sets done, sets in all).
    **changes
        Single settings by name: those of `load_data`, such as blocks, groups, pairs, adjust and
        missing, and those of `TestSettings` that sets have a use for: level, permutations, seed,
        null, intercept, largest, n_jobs, time_limit.

    Returns
    -------
    SetTests
        After Ctrl-C: the sets tested so far, adjusted for these alone, with `interrupted` set.
    """
    table_changes, test_changes = _split_changes(changes)
    dataset = _as_dataset(table, label, table_changes)
    settings = replace(settings or TestSettings(), **test_changes)
    _check_settings(settings)
    if isinstance(sets, str | Path):
        sets = read_feature_sets(sets)
    return run_set_tests(dataset, sets, settings, progress)


def run_set_tests(
    dataset: Dataset,
    sets: Mapping[str, Sequence[int | str]],
    settings: TestSettings,
    progress: Progress | None = None,
) -> SetTests:
    """The tests of all sets; parameters as in `set_tests`, checked."""
    plan = with_table_findings(make_plan(dataset, None, settings))
    varies = columns_that_vary(dataset.X, plan.design, settings.intercept)
    matched = match_sets(sets, dataset, varies, intercept=settings.intercept)
    n_shuffles = settings.permutations or default_shuffles(plan, matched.testable)
    plan = replace(plan, settings=replace(plan.settings, permutations=n_shuffles))

    runner = _make_runner(plan, matched.testable, progress)
    statistics, stopped_by = runner.collect(
        set_statistics,
        [item.columns for item in matched.testable],
        common=(_share_labels(plan),),
    )
    if not statistics:
        raise KeyboardInterrupt
    return SetTests(
        sets=_read_sets(plan, matched, statistics),
        untested={name: str(reason) for name, reason in matched.untested.items()},
        shuffles=n_shuffles,
        exchange=exchange_sentence(plan),
        pvalue_kind=_kind_of_pvalues(plan),
        n_samples=len(dataset.y),
        n_features=len(dataset.feature_names),
        positives=int(np.sum(dataset.y > 0)),
        classes=dataset.classes,
        findings=(*warn_of_outcome_columns(plan), *matched.findings(), *plan.findings),
        stopped_by=stopped_by,
        settings=plan.settings,
    )


def _split_changes(changes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings for `load_data`, and those of the test."""
    table_names = {field.name for field in fields(TableSettings)}
    for_table = {name: value for name, value in changes.items() if name in table_names}
    for_test = {name: value for name, value in changes.items() if name not in table_names}
    return for_table, for_test


def _as_dataset(table: Any, label: str | None, table_changes: Mapping[str, Any]) -> Dataset:
    """The table with its classes; a `Dataset` has them already."""
    if not isinstance(table, Dataset):
        return load_data(table, label, **table_changes)
    if label is not None or table_changes:
        raise InputError(
            "a Dataset has labels, blocks and groups of its own; pass nothing but the Dataset and "
            "the sets."
        )
    return table


def _check_settings(settings: TestSettings) -> None:
    """Refuse settings that would change nothing here."""
    if settings.permutations == 0:
        raise InputError("sets are tested by shuffles alone; leave out permutations=0.")
    for field in fields(TestSettings):
        value = getattr(settings, field.name)
        if field.name not in SETTINGS_FOR_SETS and value != field.default:
            raise InputError(
                f"sets are tested by shuffles alone; leave out {field.name}={value!r}."
            )


def default_shuffles(plan: Plan, sets: Sequence[MatchedSet]) -> int:
    """Shuffles by default: the most that take some seconds, fixed by the sizes of the sets."""
    return affordable_shuffles(_seconds_per_shuffle_of_sets(plan, sets))


def _seconds_per_shuffle_of_sets(plan: Plan, sets: Sequence[MatchedSet]) -> float:
    """What one shuffle of all sets costs on one core."""
    n_samples = len(plan.data.y)
    n_steps = plan.settings.largest
    return sum(seconds_per_shuffle(n_samples, len(item.columns), n_steps) for item in sets)


def _make_runner(
    plan: Plan, sets: Sequence[MatchedSet], progress: Progress | None
) -> ShuffleRunner:
    """How the sets are worked through; what takes a few seconds stays in this process."""
    settings = plan.settings
    n_shuffles = settings.permutations or 0
    n_jobs = settings.n_jobs
    if n_shuffles * _seconds_per_shuffle_of_sets(plan, sets) <= MAX_SECONDS:
        n_jobs = 1
    return ShuffleRunner(n_jobs, settings.time_limit, progress)


def _share_labels(plan: Plan) -> SharedLabels:
    """The table and all labellings, the observed one first."""
    settings = plan.settings
    n_shuffles = settings.permutations or 0
    labels = [labelling(plan.design, settings.seed, number) for number in range(1 + n_shuffles)]
    return SharedLabels(
        X=plan.data.X,
        design=plan.design,
        labels=np.array(labels),
        intercept=settings.intercept,
        largest=settings.largest,
    )


def _read_sets(
    plan: Plan, matched: MatchedSets, statistics: Sequence[SetStatistics]
) -> tuple[SetReading, ...]:
    """A reading of every set that was tested, the smallest adjusted p-value first.

    Parameters
    ----------
    matched : all sets.
    statistics : of the first of them, or of all.
    """
    adjusted_pvalues = step_down_pvalues(comparable_scores(statistics))
    readings = []
    tested = matched.testable[: len(statistics)]
    for item, found, adjusted in zip(tested, statistics, adjusted_pvalues.tolist(), strict=True):
        readings.append(_read_set(plan, item, found, adjusted))
    return tuple(sorted(readings, key=lambda item: (item.adjusted_pvalue, item.pvalue)))


def _read_set(
    plan: Plan, matched: MatchedSet, statistics: SetStatistics, adjusted_pvalue: float
) -> SetReading:
    """What is known about one set."""
    carriers = statistics.carriers
    names = plan.names_of(carriers.columns)
    return SetReading(
        name=matched.name,
        pvalue=statistics.pvalue,
        # Scores may order labellings otherwise than places: no adjusted p is below the set's own.
        adjusted_pvalue=max(adjusted_pvalue, statistics.pvalue),
        n_features=len(matched.columns),
        n_found=matched.n_found,
        n_named=matched.n_named,
        carriers=tuple(map(Carrier, names, carriers.correlations.tolist())),
        spread=carriers.spread,
        missing=matched.missing,
    )


def _kind_of_pvalues(plan: Plan) -> str:
    """What the p-values are."""
    if plan.design.adjustment is None:
        return "Monte Carlo"
    return kind_of_pvalue(plan.design.adjustment)
