"""The table to test, from the arguments of `separation_test`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from chanceline.errors import InputError
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.tables.array_input import LABEL_COLUMN, dataset_of_arrays, table_with_labels
from chanceline.tables.dataset import Dataset
from chanceline.tables.outcome_kind import OutcomeKind, kind_of_label
from chanceline.tables.outcome_table import (
    OutcomeNames,
    OutcomeTable,
    check_survival_names,
    load_any_outcome,
    outcome_table_of_arrays,
)
from chanceline.tables.settings import TableSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class TestArguments:
    """Arguments of `separation_test` about the table.

    Attributes
    ----------
    X, y : the table, and the outcome beside it.
    label, time, event : the outcome by the names of columns; times and events may be arrays.
    asked_kind : "number" or "classes"; None if it is to be found out.
    roles : those of blocks, groups, pairs and adjust that were given, by name.
    independent, positive, feature_names : as in `separation_test`.
    changes : keyword arguments that it does not list: settings of the test, and options of
        `load_data`.
    """

    # Not a test class, whatever pytest makes of the name.
    __test__: ClassVar[bool] = False

    X: Any
    y: Any
    label: str | None
    time: Any
    event: Any
    asked_kind: str | None
    roles: Mapping[str, Any]
    independent: Sequence[str]
    positive: Any
    feature_names: Sequence[str] | None
    changes: Mapping[str, Any]

    @property
    def names_columns(self) -> bool:
        """Whether columns of the table are given by name."""
        if self.independent:
            return True
        return any(isinstance(values, str) for values in self.roles.values())


class TableAndChanges(NamedTuple):
    """The table, and the changes that are left for the settings of the test."""

    table: Dataset | OutcomeTable
    changes: Mapping[str, Any]


def table_from_arguments(arguments: TestArguments) -> TableAndChanges:
    """The table to test, from whichever form the caller gave it in.

    Arguments that a form has no use for are refused.
    """
    check_survival_names(arguments.label, arguments.time, arguments.event)

    # X with an outcome y beside it, and blocks, groups, pairs or covariates that are named as
    # columns of X: y becomes a column too.
    has_own_outcome = isinstance(arguments.y, Outcome)
    if arguments.y is not None and arguments.names_columns and not has_own_outcome:
        _refuse_beside_table(arguments.feature_names)
        table = table_with_labels(arguments.X, arguments.y)
        return _loaded(table, arguments, label=LABEL_COLUMN)

    # A DataFrame or a file whose columns hold the outcome.
    if arguments.label is not None or isinstance(arguments.time, str):
        _refuse_beside_table(arguments.y, arguments.feature_names)
        return _loaded(arguments.X, arguments, label=arguments.label)

    # A table that was read before, which is complete.
    if isinstance(arguments.X, Dataset | OutcomeTable):
        _refuse_beside_table(
            arguments.y,
            arguments.time,
            arguments.asked_kind,
            arguments.feature_names,
            arguments.positive,
            *arguments.roles.values(),
        )
        return TableAndChanges(arguments.X, arguments.changes)

    # Arrays alone.
    return TableAndChanges(_table_of_arrays(arguments), arguments.changes)


def _loaded(source: Any, arguments: TestArguments, label: str | None) -> TableAndChanges:
    """Read a table that has its outcome in a column or two.

    The arguments may change options of reading and settings of the test. The former are used here,
    and the latter returned with the table.

    Parameters
    ----------
    source : a DataFrame or a file.
    arguments : all arguments of the test.
    label : the column of the outcome; None for survival.
    """
    reading_options, test_changes = _split_options(
        arguments.changes, independent=arguments.independent, positive=arguments.positive
    )
    names = OutcomeNames(
        label=label,
        time=arguments.time,
        event=arguments.event,
        asked_kind=arguments.asked_kind,
    )
    settings = TableSettings(**arguments.roles, **reading_options)
    return TableAndChanges(load_any_outcome(source, names, settings), test_changes)


def _table_of_arrays(arguments: TestArguments) -> Dataset | OutcomeTable:
    """The table of an array X with the outcome in arrays beside it."""
    outcome_arrays, kind = _outcome_arrays(arguments)
    if kind is OutcomeKind.TWO_CLASSES:
        return dataset_of_arrays(
            arguments.X,
            arguments.y,
            arguments.roles,
            feature_names=arguments.feature_names,
            positive=arguments.positive,
        )
    return outcome_table_of_arrays(
        arguments.X,
        outcome_arrays,
        kind,
        arguments.roles,
        feature_names=arguments.feature_names,
    )


def _outcome_arrays(arguments: TestArguments) -> tuple[tuple[Any, ...], OutcomeKind]:
    """The arrays that hold the outcome, and the kind of outcome that they hold."""
    if isinstance(arguments.y, Outcome):
        return (arguments.y,), OutcomeKind.OWN
    if arguments.time is not None:
        _refuse_beside_table(arguments.y)
        return (arguments.time, arguments.event), OutcomeKind.SURVIVAL

    return (arguments.y,), _kind_of_labels(arguments)


def _kind_of_labels(arguments: TestArguments) -> OutcomeKind:
    """Whether `y` holds two classes, several classes or numbers.

    If it is no complete list of labels, it is taken for two classes, whose checks then say what is
    wrong with it.
    """
    labels = _complete_labels(arguments.y)
    if labels is None:
        return OutcomeKind.TWO_CLASSES
    positive = None if arguments.positive is None else str(arguments.positive)
    return kind_of_label(labels, arguments.asked_kind, TableSettings(positive=positive))


def _complete_labels(y: Any) -> pd.Series | None:
    """The labels as a column; None if they are no list, are empty, or have gaps or columns."""
    n_dimensions = getattr(y, "ndim", 1)  # lists have no attribute `ndim`
    if n_dimensions != 1 or not pd.api.types.is_list_like(y):
        return None
    labels = pd.Series(list(y), name=getattr(y, "name", None) or "y")
    has_gaps = labels.isna().any()
    if len(labels) == 0 or has_gaps:
        return None
    return labels


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
