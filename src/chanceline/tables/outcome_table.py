"""A table whose outcome is not two classes: a number, several classes, or a time to an event.

Columns become features as for two classes (`load`). What a check says about two classes is left
out; where one is needed to see how rows belong together, the outcome is cut in two halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Bools, Floats
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import in_memory
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_matrix
from chanceline.tables.array_input import covariate_columns
from chanceline.tables.checks.declared import check_values_repeat
from chanceline.tables.checks.outcome_confounders import (
    one_against_others,
    warn_of_outcome_confounders,
)
from chanceline.tables.dataset import Dataset, Declaration, Finding, Severity
from chanceline.tables.dates import date_columns
from chanceline.tables.gaps import CompleteFeatures, without_gaps
from chanceline.tables.labelled import label_samples, read_table
from chanceline.tables.labels import find_label_column, rows_to_compare
from chanceline.tables.learn_recipe import learn_recipe
from chanceline.tables.load import dataset_of_samples
from chanceline.tables.outcome_kind import OutcomeKind, check_asked_kind, kind_of_label
from chanceline.tables.raw_table import RawTable
from chanceline.tables.read_features import read_features
from chanceline.tables.readers.source import source_name
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.recipe import TableRecipe
from chanceline.tables.roles import (
    NamedColumns,
    Role,
    find_column,
    find_named_columns,
    find_role,
    require_filled,
)
from chanceline.tables.settings import TableSettings
from chanceline.tables.transforms import transform_table
from chanceline.tables.variants import VariantPlaces
from chanceline.tables.wording import plural


class ReadingTraces(NamedTuple):
    """What was read beside the features, and may go with the outcome.

    Attributes
    ----------
    gaps : (samples, features) which cells were filled in; None in arrays, which have no gaps.
    times : (samples, columns) of dates, numbers in the order of time; None without any.
    text : (samples, columns) of words; None in arrays.
    units_were_chosen : whether the user said in which units rows are compared, so that depth is no
        question.
    """

    gaps: Bools | None = None
    times: pd.DataFrame | None = None
    text: pd.DataFrame | None = None
    units_were_chosen: bool = False


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Numbers, an outcome as it is written, and what is declared about the samples.

    Attributes
    ----------
    X : (samples, features).
    feature_names : one for each column of X.
    kind : what the outcome is taken for.
    outcome : the column of the outcome; of survival the times, then the events. (samples,) each. Of
        an outcome of the user's own, that object.
    blocks, groups, pairs : what was declared, one value for each sample.
    covariates : the columns to adjust for, by name.
    undeclared : the sentence with which a test stops; else empty.
    proposed : what that sentence proposes to declare; None if it proposes nothing.
    source : the name of the file, or the type of the table in memory.
    findings : what is worth knowing about the table.
    traces : what was read beside the features.
    recipe : how cells became numbers; None for numbers taken as they are.
    variants : where the variants of a file of genotypes stand; None for other tables.
    """

    X: Floats
    feature_names: tuple[str, ...]
    kind: OutcomeKind
    outcome: tuple[Any, ...]
    blocks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    pairs: NDArray[Any] | None = None
    covariates: dict[str, NDArray[Any]] | None = None
    undeclared: str = ""
    proposed: Declaration | None = None
    source: str = "arrays"
    findings: tuple[Finding, ...] = field(default=())
    role_columns: dict[str, str] = field(default_factory=dict)
    traces: ReadingTraces = field(default_factory=ReadingTraces)
    recipe: TableRecipe | None = None
    variants: VariantPlaces | None = None


@dataclass(frozen=True)
class OutcomeNames:
    """The columns that hold the outcome, and what the user says it is.

    Attributes
    ----------
    label : a class or a number; None for survival.
    time, event : the columns of survival times and events; None for other outcomes.
    asked_kind : "number" or "classes"; None if it is to be found out.
    """

    label: str | None = None
    time: str | None = None
    event: str | None = None
    asked_kind: str | None = None

    def __post_init__(self) -> None:
        check_asked_kind(self.asked_kind)
        check_survival_names(self.label, self.time, self.event)

    @property
    def first(self) -> str | None:
        """The first column of the outcome; None if none is named."""
        if self.time is not None:
            return self.time
        return self.label


def check_survival_names(label: Any, time: Any, event: Any) -> None:
    """Raise an `InputError` unless time and event come together, and without a label."""
    has_one_of_two = (time is None) != (event is None)
    if has_one_of_two:
        given, missing = ("time", "event") if event is None else ("event", "time")
        raise InputError(
            f"survival needs a time and an event; say {missing}=COLUMN beside {given}=COLUMN."
        )
    if time is not None and label is not None:
        raise InputError("give a label, or a time and an event, not both.")


def load_any_outcome(
    source: Any, names: OutcomeNames, settings: TableSettings
) -> Dataset | OutcomeTable:
    """Read a table; a `Dataset` if its outcome is one of two classes.

    Parameters
    ----------
    source : the path of a file, or a table in memory.
    names : the columns of the outcome.
    settings : how to read the table.
    """
    table = read_table(source, names.first, settings)
    return outcome_of_raw_table(table, names, settings, source_name(source))


def outcome_of_raw_table(
    table: RawTable, names: OutcomeNames, settings: TableSettings, source: str
) -> Dataset | OutcomeTable:
    """Make features and an outcome of a table; a `Dataset` if the outcome is one of two classes.

    Parameters
    ----------
    table : the table as `read_table` returns it.
    names : the names of the outcome's columns: a label, or a time and an event.
    settings : how its columns are to be read.
    source : the name of the table, for messages.
    """
    # Survival. (`at_step` marks errors as errors about the label.)
    if names.time is not None and names.event is not None:
        with at_step(ReadingStep.LABEL):
            rows = _survival_rows(table, names.time, names.event, settings)
        return _make_outcome_table(rows, source, settings)

    # A label. Two classes become another kind of table, `Dataset`, whose functions read the label
    # again and check it as two classes.
    with at_step(ReadingStep.LABEL):
        rows = _rows_of_label(table, names, settings)
    if rows.kind is OutcomeKind.TWO_CLASSES:
        samples = label_samples(table, names.label, settings)
        return dataset_of_samples(samples, settings, source)
    return _make_outcome_table(rows, source, settings)


def kind_of_outcome(table: RawTable, names: OutcomeNames, settings: TableSettings) -> OutcomeKind:
    """The kind of a table's outcome; the parameters are those of `outcome_of_raw_table`."""
    if names.time is not None:
        return OutcomeKind.SURVIVAL
    with at_step(ReadingStep.LABEL):
        return _rows_of_label(table, names, settings).kind


def _rows_of_label(table: RawTable, names: OutcomeNames, settings: TableSettings) -> _OutcomeRows:
    """Keep the rows that have a label, and decide its kind: two classes, several, or a number.

    Parameters
    ----------
    table : the table as `read_table` returns it.
    names : the name of the label's column, and the kind that the user says it is.
    settings : which rows to compare, and whether two classes are asked for.
    """
    label_name = None if names.label is None else str(names.label)
    column = find_label_column(table, label_name)
    is_compared, row_findings = rows_to_compare(column, settings)
    compared_labels = column.loc[is_compared]
    # If no row has a label, its kind cannot be seen. Then the reader of two classes is to raise the
    # error.
    kind = OutcomeKind.TWO_CLASSES
    if len(compared_labels) > 0:
        kind = kind_of_label(compared_labels, names.asked_kind, settings)
    return _OutcomeRows(
        table=table.with_rows(is_compared),
        columns=(compared_labels,),
        kind=kind,
        findings=[*table.findings, *row_findings],
    )


def _survival_rows(table: RawTable, time: str, event: str, settings: TableSettings) -> _OutcomeRows:
    """Keep the rows with a time and an event. Rows without them are an error, or left out.

    Parameters
    ----------
    table : the table as it was read.
    time, event : the names of the two columns.
    settings : with unlabelled="drop", rows without a time or an event are left out; otherwise they
        are an error.
    """
    times = find_column(table, str(time), "time")
    events = find_column(table, str(event), "event")
    findings = list(table.findings)
    is_filled = (times.notna() & events.notna()).to_numpy()  # (samples,)
    if settings.unlabelled != "drop":
        require_filled(times, "time", settings)
        require_filled(events, "event", settings)
    elif not is_filled.all():
        n_dropped = int(np.count_nonzero(~is_filled))
        findings.append(
            Finding.note(f"{plural(n_dropped, 'row')} without a time or an event left out.")
        )

    filled_times = times.loc[is_filled]
    filled_events = events.loc[is_filled]
    return _OutcomeRows(
        table=table.with_rows(is_filled),
        columns=(filled_times, filled_events),
        kind=OutcomeKind.SURVIVAL,
        findings=findings,
    )


@dataclass(frozen=True, eq=False)
class _OutcomeRows:
    """The rows to compare, before their columns become features.

    Attributes
    ----------
    table : these rows.
    columns : the columns of the outcome, as they are written.
    kind : what it is taken for.
    findings : what was noticed up to now.
    """

    table: RawTable
    columns: tuple[pd.Series, ...]
    kind: OutcomeKind
    findings: list[Finding]


def _make_outcome_table(rows: _OutcomeRows, source: str, settings: TableSettings) -> OutcomeTable:
    """Make numbers of the columns, without gaps and in the units asked for.

    Parameters
    ----------
    rows : the rows to compare, with their outcome.
    source : the name of the table.
    settings : how its columns are to be read.
    """
    halves = two_halves(rows.columns[0])
    with at_step(ReadingStep.COLUMNS):
        named_columns = _named_columns(rows, halves, settings)
    # A very wide table of another outcome than two classes is read whole.
    table = rows.table.in_memory()
    outcome_names = [column.name for column in rows.columns]
    other_columns = table.without_columns([*named_columns.names, *outcome_names])
    two_class_labels = [halves]
    if rows.kind is OutcomeKind.CLASSES:
        two_class_labels = one_against_others(rows.columns[0])
    confounders = []
    for columns in (other_columns.descriptions, other_columns.values):
        confounders += warn_of_outcome_confounders(
            columns,
            two_class_labels,
            named_columns.controlled_columns,
            groups=named_columns.groups,
            # Residuals of classes, and of times with their events, cannot be exchanged.
            adjusts_for_numbers=rows.kind is OutcomeKind.NUMBER,
        )
    reading = read_features(
        other_columns, halves, _with_known_rows(named_columns, rows.kind, halves), settings
    )
    if reading.features.shape[1] == 0:
        error = InputError(f"{source} has no numeric feature column left besides the outcome.")
        error.step = ReadingStep.COLUMNS
        raise error
    with at_step(ReadingStep.GAPS):
        complete = without_gaps(reading.features, halves, settings.missing, named_columns.groups)
    findings = [*rows.findings, *reading.findings, *complete.findings]
    X = np.ascontiguousarray(complete.features.to_numpy(dtype=np.float64))
    recipe = learn_recipe(
        written_columns=reading.written_columns,
        features=reading.features,
        complete_features=complete.features,
        label=str(rows.columns[0].name),
        settings=settings,
    )
    if settings.transform is not None:
        with at_step(ReadingStep.UNITS):
            X, transform_findings = transform_table(
                X, settings.transform, complete.features.columns
            )
        findings += transform_findings
    return OutcomeTable(
        X=X,
        feature_names=tuple(str(name) for name in complete.features.columns),
        kind=rows.kind,
        outcome=tuple(column.loc[complete.kept_rows] for column in rows.columns),
        **named_columns.arrays(complete.kept_rows),
        undeclared=reading.undeclared,
        proposed=reading.proposed,
        source=source,
        variants=rows.table.variants,
        findings=(*confounders, *_without_words_on_classes(findings)),
        traces=_traces_of_reading(other_columns, reading.features, complete, settings),
        recipe=recipe,
    )


def _traces_of_reading(
    other_columns: RawTable,
    features: pd.DataFrame,
    complete: CompleteFeatures,
    settings: TableSettings,
) -> ReadingTraces:
    """Traces of how the table was made: gaps of the features, dates and words, in the kept rows.

    Checks ask later whether any of these are associated with the outcome.

    Parameters
    ----------
    other_columns : the table without the columns that the settings name (label, groups, …).
    features : the features with their gaps, (samples, features).
    complete : the features without gaps, of the kept rows alone.
    settings : with a `transform`, the user has chosen the units of the features, and no check asks
        whether totals of rows are associated with the outcome.
    """
    kept_rows = complete.kept_rows  # (samples,)

    # The gaps, before they were filled. They are gaps of the features that are kept.
    features_with_gaps = features.loc[kept_rows, complete.features.columns].to_numpy()

    # The dates, as numbers in the order of time.
    values = other_columns.values
    dates = pd.DataFrame(date_columns(values), index=values.index)

    # All text but dates: descriptions of the samples (from a second file or a header), and words
    # among the columns of the table.
    words = values.drop(columns=dates.columns).select_dtypes(exclude="number")
    text = pd.concat([other_columns.descriptions, words], axis=1)
    return ReadingTraces(
        gaps=~np.isfinite(features_with_gaps),
        times=dates.loc[kept_rows],
        text=text.loc[kept_rows],
        units_were_chosen=settings.transform is not None,
    )


def _named_columns(rows: _OutcomeRows, halves: Floats, settings: TableSettings) -> NamedColumns:
    """Find the columns that the settings name, and check that blocks, groups and pairs have values
    that several rows share.

    Parameters
    ----------
    rows : the rows to compare, with their outcome.
    halves : ±1 of shape (samples,), the outcome divided into two halves for this check.
    settings : name the columns.
    """
    roles = {}
    for role in Role:
        column = find_role(rows.table, role, settings)
        if column is None:
            continue
        roles[role] = column
        check_values_repeat(role, column, halves, setting=getattr(settings, role))
    return find_named_columns(rows.table, rows.columns[0], roles, settings)


def _with_known_rows(
    named_columns: NamedColumns, kind: OutcomeKind, halves: Floats
) -> NamedColumns:
    """The columns that the settings name, with a label for the search for undeclared subjects.

    That search ignores columns that divide the rows as the label does. This is right for classes.
    But rows with the same number, or the same time, may be those of one subject: then the two
    halves of the outcome replace the label.

    Parameters
    ----------
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    kind : what the outcome is taken for.
    halves : ±1 of shape (samples,).
    """
    if kind is OutcomeKind.CLASSES:
        return named_columns
    label = named_columns.label
    half_label = pd.Series(halves, index=label.index, name=label.name)
    return replace(named_columns, label=half_label)


def two_halves(outcome: pd.Series) -> Floats:
    """−1 for the lower half of an outcome and 1 for the upper half: (samples,).

    Numbers are ordered by size, also those written as text; words by the alphabet.
    """
    sizes = pd.to_numeric(outcome, errors="coerce")
    if sizes.isna().any():
        sizes = outcome.rank(method="dense")
    is_upper: Bools = (sizes > sizes.median()).to_numpy(dtype=bool)
    if not is_upper.any():
        # The largest value is the median: at least half of the rows have it.
        is_upper = (sizes == sizes.max()).to_numpy(dtype=bool)
    return np.where(is_upper, 1.0, -1.0)


def _without_words_on_classes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings without warnings, which speak of two classes; each once."""
    kept = [finding for finding in findings if finding.severity != Severity.WARNING]
    return tuple(dict.fromkeys(kept))


def outcome_table_of_arrays(
    X: Any,
    columns: Sequence[Any],
    kind: OutcomeKind,
    roles: Mapping[str, Any],
    feature_names: Sequence[str] | None = None,
) -> OutcomeTable:
    """Check arrays given in Python, and make them a table with an outcome.

    Parameters
    ----------
    X : array or DataFrame of numbers, of shape (samples, features).
    columns : the columns of the outcome, (samples,) each: one, or times and events of survival. For
        `OutcomeKind.OWN` the user's own object, in a sequence of length one.
    kind : the kind of the outcome.
    roles : what was given of "blocks", "groups" and "pairs", (samples,) each, and of "adjust"
        (covariates), by these names.
    feature_names : names for the columns of an array; None to number them.
    """
    if isinstance(X, ColumnTable):
        X = in_memory(X)
    values, names = check_matrix(X, feature_names)
    declared = {role: np.asarray(roles[role]) for role in Role if role in roles}
    return OutcomeTable(
        X=values,
        feature_names=names,
        kind=kind,
        outcome=_named_outcome(columns, kind, len(values)),
        blocks=declared.get(Role.BLOCKS),
        groups=declared.get(Role.GROUPS),
        pairs=declared.get(Role.PAIRS),
        covariates=covariate_columns(roles.get("adjust")),
        source=type(X).__name__,
    )


def _named_outcome(columns: Sequence[Any], kind: OutcomeKind, n_samples: int) -> tuple[Any, ...]:
    """The columns of the outcome as series with names; an object of the user's own as it is.

    Parameters
    ----------
    columns : the columns of the outcome, (samples,) each; or one object of the user's own.
    kind : the kind of the outcome.
    n_samples : the number of values that each column must have.
    """
    if kind is OutcomeKind.OWN:
        return tuple(columns)
    default_names = ["y"]
    if kind is OutcomeKind.SURVIVAL:
        default_names = ["time", "event"]
    return tuple(
        _outcome_series(column, name, n_samples)
        for column, name in zip(columns, default_names, strict=True)
    )


def _outcome_series(column: ArrayLike, default_name: str, n_samples: int) -> pd.Series:
    """A column of the outcome as a series with a name; a gap or a wrong shape is an error.

    Parameters
    ----------
    column : array or series of shape (samples,).
    default_name : the name of a column that has none.
    n_samples : the number of values that the column must have.
    """
    array = np.asarray(column)
    if array.shape != (n_samples,):
        raise InputError(
            f"{default_name} must hold one value for each of the {n_samples} rows of X, but has "
            f"shape {array.shape}."
        )
    name = getattr(column, "name", None) or default_name
    rows = pd.RangeIndex(1, n_samples + 1)  # messages number rows from 1
    return require_filled(pd.Series(array, index=rows, name=name), default_name, TableSettings())
