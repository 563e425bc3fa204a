"""`set_tests`: which sets of features go with the outcome, more than chance allows?

One run for all sets: labels are shuffled once, every set has the statistic of the test of a whole
table on its own columns (`set_statistics`), and p-values are adjusted for all sets by the largest
score (`step_down`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from chanceline._parallel import Progress
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.outcomes.score_sets import question_of_outcome
from chanceline.significance.path_columns import columns_that_vary
from chanceline.significance.plan import (
    MAX_SECONDS,
    affordable_shuffles,
    seconds_per_shuffle,
)
from chanceline.significance.set_columns import MatchedSet, MatchedSets, match_sets
from chanceline.significance.set_question import SetQuestion, question_of_classes
from chanceline.significance.set_result import Carrier, SetReading, SetTests
from chanceline.significance.set_scores import comparable_scores
from chanceline.significance.set_statistics import SetStatistics, set_statistics
from chanceline.significance.shuffles import ShuffleRunner
from chanceline.significance.step_down import step_down_pvalues
from chanceline.tables.dataset import Dataset
from chanceline.tables.outcome_table import OutcomeNames, OutcomeTable, load_any_outcome
from chanceline.tables.settings import TableSettings
from chanceline.tables.table_sets import find_feature_sets

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


def set_tests(  # noqa: PLR0913
    table: Any,
    sets: str | Path | Mapping[str, Sequence[int | str]],
    label: str | None = None,
    *,
    time: str | None = None,
    event: str | None = None,
    outcome: str | None = None,
    settings: TestSettings | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> SetTests:
    """Test every set of features: does it go with the outcome, more than chance allows?

    Parameters
    ----------
    table
        A DataFrame or a file, with the name of the column of the outcome as `label`; or a table
        that was read, such as `load_data` gives, which knows its outcome.
    sets
        The features of every set by its name, ``{"heart": ["a", "b"], "liver": ["b", "c"]}``, or a
        file: GMT (`.gmt`), or a table with the columns `set` and `feature`; or "chromosome", for
        genotypes of PLINK. Sets may share features; features that the table does not have are
        named in the result.
    label
        Column of the outcome: two classes, several classes or a number.
    time, event
        Columns of survival instead: the time of every sample, and 1 where the event was seen then,
        0 where the time was cut off.
    outcome
        "number" or "classes", where a column of few whole numbers may be either.
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
    names = OutcomeNames(label=label, time=time, event=event, asked_kind=outcome)
    read_table = _as_read_table(table, names, table_changes)
    settings = replace(settings or TestSettings(), **test_changes)
    check_set_settings(settings)
    if isinstance(sets, str | Path):
        sets = find_feature_sets(sets, read_table)
    return run_set_tests(question_of_table(read_table, settings), sets, progress)


def run_set_tests(
    question: SetQuestion,
    sets: Mapping[str, Sequence[int | str]],
    progress: Progress | None = None,
) -> SetTests:
    """Test every set of features: does it go with the outcome, more than chance allows?

    Parameters
    ----------
    question : the table and its outcome.
    sets : by the name of a set, its features: their names or the numbers of their columns.
    progress : called with (sets done, sets in all).
    """
    # The number of shuffles: as the user asked, or as many as take a few seconds.
    matched = sets_of_table(question, sets)
    seconds_per_shuffle = _seconds_per_shuffle_of_sets(question, matched.testable)
    n_shuffles = question.settings.permutations or affordable_shuffles(seconds_per_shuffle)
    settings = replace(question.settings, permutations=n_shuffles)

    # The statistics of each set on the same shuffles. The runner calls
    # `set_statistics(columns, shuffles)` for each set; starting processes pays only for long work.
    is_short = n_shuffles * seconds_per_shuffle <= MAX_SECONDS
    n_jobs = 1 if is_short else settings.n_jobs
    runner = ShuffleRunner(n_jobs, settings.time_limit, progress)
    columns_of_sets = [matched_set.columns for matched_set in matched.testable]
    shuffles = question.draw_shuffles(n_shuffles)
    statistics, stopped_by = runner.collect(set_statistics, columns_of_sets, common=(shuffles,))
    if not statistics:
        # Stopped before the first set was done: there is no result.
        raise KeyboardInterrupt

    return SetTests(
        sets=_read_sets(matched, statistics, question.feature_names),
        untested={name: str(reason) for name, reason in matched.untested.items()},
        shuffles=n_shuffles,
        exchange=question.exchange,
        pvalue_kind=question.pvalue_kind,
        outcome=question.outcome,
        n_samples=len(question.X),
        n_features=len(question.feature_names),
        findings=(*question.findings, *matched.findings()),
        stopped_by=stopped_by,
        settings=settings,
    )


def sets_of_table(question: SetQuestion, sets: Mapping[str, Sequence[int | str]]) -> MatchedSets:
    """The sets as far as the table has their features.

    Parameters
    ----------
    question : the table and its outcome.
    sets : the features of every set, by name or by number.
    """
    intercept = question.settings.intercept
    return match_sets(
        sets,
        question.X,
        question.feature_names,
        varies=columns_that_vary(question.X, question.design, intercept),
        intercept=intercept,
    )


def _split_changes(changes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings for `load_data`, and those of the test."""
    table_names = {field.name for field in fields(TableSettings)}
    for_table = {name: value for name, value in changes.items() if name in table_names}
    for_test = {name: value for name, value in changes.items() if name not in table_names}
    return for_table, for_test


def _as_read_table(
    table: Any, names: OutcomeNames, table_changes: Mapping[str, Any]
) -> Dataset | OutcomeTable:
    """The table with its outcome; one that was read has it already."""
    if not isinstance(table, Dataset | OutcomeTable):
        return load_any_outcome(table, names, TableSettings(**table_changes))
    if names != OutcomeNames() or table_changes:
        raise InputError(
            "a Dataset has labels, blocks and groups of its own; pass nothing but the Dataset and "
            "the sets."
        )
    return table


def question_of_table(table: Dataset | OutcomeTable, settings: TestSettings) -> SetQuestion:
    """What is asked of every set, by the table's outcome."""
    if isinstance(table, OutcomeTable):
        return question_of_outcome(table, settings)
    return question_of_classes(table, settings)


def check_set_settings(settings: TestSettings) -> None:
    """Refuse settings that would change nothing here."""
    if settings.permutations == 0:
        raise InputError("sets are tested by shuffles alone; leave out permutations=0.")
    for field in fields(TestSettings):
        value = getattr(settings, field.name)
        if field.name not in SETTINGS_FOR_SETS and value != field.default:
            raise InputError(
                f"sets are tested by shuffles alone; leave out {field.name}={value!r}."
            )


def _seconds_per_shuffle_of_sets(question: SetQuestion, sets: Sequence[MatchedSet]) -> float:
    """What one shuffle of all sets costs on one core, roughly."""
    n_samples = len(question.X)
    n_steps = question.settings.largest
    return sum(seconds_per_shuffle(n_samples, len(item.columns), n_steps) for item in sets)


def _read_sets(
    matched: MatchedSets, statistics: Sequence[SetStatistics], feature_names: Sequence[str]
) -> tuple[SetReading, ...]:
    """A reading of every set that was tested, the smallest adjusted p-value first.

    Parameters
    ----------
    matched : all sets.
    statistics : of the first of them, or of all.
    feature_names : of the table.
    """
    adjusted_pvalues = step_down_pvalues(comparable_scores(statistics))
    readings = []
    tested = matched.testable[: len(statistics)]
    for item, found, adjusted in zip(tested, statistics, adjusted_pvalues.tolist(), strict=True):
        readings.append(_read_set(item, found, adjusted, feature_names=feature_names))
    return tuple(sorted(readings, key=lambda item: (item.adjusted_pvalue, item.pvalue)))


def _read_set(
    matched: MatchedSet,
    statistics: SetStatistics,
    adjusted_pvalue: float,
    *,
    feature_names: Sequence[str],
) -> SetReading:
    """Put together what the report says of one set: its p-values, and the features behind them.

    Parameters
    ----------
    matched : the set and its columns.
    statistics : what the observed and the shuffled outcomes do on these columns.
    adjusted_pvalue : the p-value adjusted for the number of sets.
    feature_names : names of all features of the table.
    """
    carriers = statistics.carriers  # the features in which the evidence lies
    names = [feature_names[column] for column in carriers.columns]
    return SetReading(
        name=matched.name,
        pvalue=statistics.pvalue,
        # The set's own p-value ranks labellings by one statistic, the adjusted one by another that
        # is comparable between sets: without the maximum it could be the smaller.
        adjusted_pvalue=max(adjusted_pvalue, statistics.pvalue),
        n_features=len(matched.columns),
        n_found=matched.n_found,
        n_named=matched.n_named,
        carriers=tuple(map(Carrier, names, carriers.correlations.tolist())),
        spread=carriers.spread,
        missing=matched.missing,
    )
