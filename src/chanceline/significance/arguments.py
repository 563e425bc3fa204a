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
    changes : keyword arguments that it does not list, by name: settings of the test, and options of
        reading (those of `load_data`).
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
        """Whether some arguments name columns of the table, instead of giving their values."""
        if self.independent:
            return True
        return any(isinstance(values, str) for values in self.roles.values())


class TableAndTestSettings(NamedTuple):
    """The table to test, and the keyword arguments that are settings of the test, by name."""

    table: Dataset | OutcomeTable
    test_settings: Mapping[str, Any]


def table_from_arguments(arguments: TestArguments) -> TableAndTestSettings:
    """Make the table to test from the form in which the caller gave it.

    There are four forms: X with an array y, where other arguments name columns of X; a table with
    the outcome in its columns; a table that was read before (`Dataset`); and arrays alone.
    Arguments that do not go with the form are refused with `InputError`.

    Returns
    -------
    The table, and those of `arguments.changes` that are settings of the test.
    """
    check_survival_names(arguments.label, arguments.time, arguments.event)

    # 1. An array y beside X, while blocks, groups, pairs or covariates are names of columns of X:
    # y becomes a column of the table too. (An `Outcome`, which the user defined, is not an array.)
    y_is_array = arguments.y is not None and not isinstance(arguments.y, Outcome)
    if y_is_array and arguments.names_columns:
        _refuse_if_given(arguments.feature_names)
        table = table_with_labels(arguments.X, arguments.y)
        return _read_table_with_outcome(table, arguments, label=LABEL_COLUMN)

    # 2. A DataFrame or a file whose columns hold the outcome: a label, or times of survival.
    time_is_column_name = isinstance(arguments.time, str)
    if arguments.label is not None or time_is_column_name:
        _refuse_if_given(arguments.y, arguments.feature_names)
        return _read_table_with_outcome(arguments.X, arguments, label=arguments.label)

    # 3. A table that was read before. It has the outcome and all roles (blocks, groups, pairs,
    # covariates) itself: none may be given beside it.
    if isinstance(arguments.X, Dataset | OutcomeTable):
        _refuse_if_given(
            arguments.y,
            arguments.time,
            arguments.asked_kind,
            arguments.feature_names,
            arguments.positive,
            *arguments.roles.values(),
        )
        return TableAndTestSettings(arguments.X, arguments.changes)

    # 4. Arrays alone.
    return TableAndTestSettings(_table_of_arrays(arguments), arguments.changes)


def _read_table_with_outcome(
    source: Any, arguments: TestArguments, label: str | None
) -> TableAndTestSettings:
    """Read a table in which the outcome is one of the columns (two columns for survival).

    Keyword arguments that `separation_test` does not list (`arguments.changes`) are either
    options of reading or settings of the test. The options are used here. The settings are only
    returned with the table.

    Parameters
    ----------
    source : a DataFrame or a file.
    arguments : all arguments of the test.
    label : name of the column of the outcome; None for survival, whose columns are
        `arguments.time` and `arguments.event`.
    """
    options_and_settings = arguments.changes
    reading_options, test_settings = _split_options(
        options_and_settings,
        independent=arguments.independent,
        positive=arguments.positive,
    )
    outcome_columns = OutcomeNames(
        label=label,
        time=arguments.time,
        event=arguments.event,
        asked_kind=arguments.asked_kind,
    )
    # `arguments.roles` names the columns of blocks, groups, pairs and covariates.
    table_settings = TableSettings(**arguments.roles, **reading_options)
    table = load_any_outcome(source, outcome_columns, table_settings)
    return TableAndTestSettings(table, test_settings)


def _table_of_arrays(arguments: TestArguments) -> Dataset | OutcomeTable:
    """The table of an array X with the outcome in arrays beside it.

    Two classes make a `Dataset`; any other outcome (numbers, several classes, survival times, or
    one that the user defined) makes an `OutcomeTable`.
    """
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
    """The arrays that hold the outcome, and its kind: (y,), or (time, event) for survival."""
    if isinstance(arguments.y, Outcome):
        return (arguments.y,), OutcomeKind.OWN
    if arguments.time is not None:
        _refuse_if_given(arguments.y)
        return (arguments.time, arguments.event), OutcomeKind.SURVIVAL

    return (arguments.y,), _kind_of_labels(arguments)


def _kind_of_labels(arguments: TestArguments) -> OutcomeKind:
    """Whether `y` holds two classes, several classes or numbers.

    A `y` that is not a complete list of labels counts as two classes. The checks of two classes
    then raise the error that says what is wrong.
    """
    labels = _complete_labels(arguments.y)
    if labels is None:
        return OutcomeKind.TWO_CLASSES
    positive = None if arguments.positive is None else str(arguments.positive)
    return kind_of_label(labels, arguments.asked_kind, TableSettings(positive=positive))


def _complete_labels(y: Any) -> pd.Series | None:
    """The labels as a series; None if `y` is not a list, is empty, or has gaps or columns."""
    n_dimensions = getattr(y, "ndim", 1)  # lists have no attribute `ndim`
    if n_dimensions != 1 or not pd.api.types.is_list_like(y):
        return None
    labels = pd.Series(list(y), name=getattr(y, "name", None) or "y")
    has_gaps = labels.isna().any()
    if len(labels) == 0 or has_gaps:
        return None
    return labels


def _refuse_if_given(*arguments: Any) -> None:
    """Raise `InputError` if any argument is given (not None) that the table already contains."""
    if any(argument is not None for argument in arguments):
        raise InputError(
            "a Dataset has labels, names, blocks and groups of its own; pass nothing but the "
            "Dataset."
        )


def _split_options(
    options_and_settings: Mapping[str, Any], *, independent: Sequence[str], positive: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keyword arguments into options of `load_data` and settings of the test.

    Parameters
    ----------
    options_and_settings : options and settings together, by name.
    independent, positive : further options of `load_data`; `positive` is None if the positive class
        is to be chosen as usual.

    Returns
    -------
    (options of `load_data`, settings of the test)
    """
    option_names = {field.name for field in fields(TableSettings)}
    reading_options = {}
    test_settings = {}
    for name, value in options_and_settings.items():
        if name in option_names:
            reading_options[name] = value
        else:
            test_settings[name] = value
    reading_options["independent"] = independent
    if positive is not None:
        reading_options["positive"] = str(positive)
    return reading_options, test_settings
