"""What a second file says about the samples, put beside the table: by their names, or in their
order.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import read_file
from chanceline.tables.roles import find_column
from chanceline.tables.settings import TableSettings
from chanceline.tables.spelling import is_number, plain_text
from chanceline.tables.wording import plural, quoted


def attach_second_file(
    table: RawTable, path: Path, settings: TableSettings
) -> tuple[RawTable, list[Finding]]:
    """The table with the columns of a second file beside it, and what to know about that.

    Classes of a CLS file and a file with one column are taken in the order of the samples; any
    other file is joined by the samples' names.
    """
    with_names = read_file(path, TableSettings(na=settings.na, header="first"))
    n_columns = with_names.values.shape[1]
    if n_columns == 0:
        return _attach_classes(table, with_names.about, path.name), []
    if n_columns == 1 and settings.id is None:
        column = _only_column(path, with_names, settings)
        return _attach_in_order(table, column, path.name)
    # Read again so that a header that seems to be a sample is refused.
    second = read_file(path, TableSettings(na=settings.na))
    return _attach_by_name(table, second, path.name, settings)


def _attach_classes(table: RawTable, classes: pd.DataFrame, file: str) -> RawTable:
    """The table with the classes of a CLS file beside it."""
    if len(classes) != len(table.values):
        raise InputError(
            f"{file} holds classes of {len(classes)} samples, but the table has "
            f"{len(table.values)}."
        )
    return replace(table, about=classes.set_index(table.values.index))


def _only_column(path: Path, with_names: RawTable, settings: TableSettings) -> pd.Series:
    """The one column of a second file, with its name or called `label`.

    Lines without a value, which reading leaves out, come back as gaps, so that the lines below them
    keep their places.

    Parameters
    ----------
    path : of the file.
    with_names : the file, read as if its first line were a name.
    settings : `na` says which cells are gaps.
    """
    # Read once more, with the first line as a value. A format with names of its own, as Parquet,
    # has as many rows either way; then its name is one for sure.
    without_names = read_file(path, TableSettings(na=settings.na, header="none"))
    lines = without_names.values.iloc[:, 0]
    first_line_may_be_value = len(lines) > len(with_names.values)
    if first_line_may_be_value and _begins_with_value(lines):
        column = lines.rename("label")
    else:
        column = with_names.values.iloc[:, 0]

    # The index holds the numbers of lines in the file.
    first_line = column.index[0]
    last_line = column.index[-1]
    return column.reindex(range(first_line, last_line + 1))


def _begins_with_value(lines: pd.Series) -> bool:
    """Whether the first line is a value like those below it, and no name: it occurs again, or all
    lines are numbers.
    """
    texts = [plain_text(cell) for cell in lines]
    occurs_again = texts[0] in texts[1:]
    return occurs_again or all(is_number(text) for text in texts)


def _attach_in_order(
    table: RawTable, column: pd.Series, file: str
) -> tuple[RawTable, list[Finding]]:
    """The table with the one column of a second file beside it, in the order of the rows."""
    n_samples = len(table.values)
    if len(column) != n_samples:
        raise InputError(
            f"{file} has one column with {plural(len(column), 'row')}, but the table has "
            f"{plural(n_samples, 'sample')}; write one row for every sample in the same order, or "
            "add a column with their names."
        )
    name = str(column.name)
    about = pd.DataFrame({name: column.to_numpy()}, index=table.values.index)
    finding = Finding.note(
        f"{file} has one column, {name!r}, whose rows were taken to be the samples in the same "
        "order."
    )
    return replace(table, about=about), [finding]


def _attach_by_name(
    table: RawTable, second: RawTable, file: str, settings: TableSettings
) -> tuple[RawTable, list[Finding]]:
    """The table with the columns of a second file beside it, joined by the samples' names.

    Samples that the second file does not have are an error, or left out with missing='rows'.

    Parameters
    ----------
    table, second : the two tables.
    file : the name of the second file.
    settings : `id` and `missing`.
    """
    descriptions = _rows_by_name(second, file, settings)
    table, ids = _split_off_ids(table, descriptions, file)
    samples = pd.Index(ids)
    is_described = samples.isin(descriptions.index)  # (samples,)
    findings = []
    if not is_described.all():
        absent = samples[~is_described]
        problem = (
            f"{plural(len(absent), 'sample')} of the table not found in column "
            f"{descriptions.index.name!r} of {file} ({quoted(absent, 3)})"
        )
        if settings.missing != "rows":
            raise InputError(f"{problem}; add them there, or leave them out with missing='rows'.")
        findings.append(Finding.warning(f"{problem}: left out."))
        table = table.with_rows(is_described)

    # The rows of the second file in the order of the samples, called as the table's rows.
    about = descriptions.loc[samples[is_described]].set_index(table.values.index)
    return replace(table, about=about), findings


def _rows_by_name(second: RawTable, file: str, settings: TableSettings) -> pd.DataFrame:
    """The rows of the second file by the samples' names, which are its first column, or the one
    that the setting `id` names. The index is called as that column.
    """
    if settings.id is None:
        ids = second.values.iloc[:, 0]
    else:
        ids = find_column(RawTable(second.values), settings.id, "id")
    id_column = str(ids.name)
    rows = second.values.set_index(ids.map(plain_text)).drop(columns=id_column)
    if not rows.index.is_unique:
        repeated = rows.index[rows.index.duplicated()][0]
        raise InputError(
            f"{file} has two rows for {repeated!r} in column {id_column!r}; every sample needs one "
            "row."
        )
    return rows.rename_axis(index=id_column)


def _split_off_ids(
    table: RawTable, descriptions: pd.DataFrame, file: str
) -> tuple[RawTable, list[str]]:
    """The table without its column of samples' names, and these names, one for each row.

    Names stand in the header of a transposed table. Else they are the column that is called as in
    the second file, or the first one: it must have no name twice, and some that are in the second
    file.

    Parameters
    ----------
    table : the first table.
    descriptions : the rows of the second file, by the samples' names.
    file : the name of the second file.
    """
    described = set(descriptions.index)
    id_column = str(descriptions.index.name)
    of_second_file = f"column {id_column!r} of {file}"
    if table.header_ids is not None:
        ids = [plain_text(name) for name in table.header_ids]
        if described.isdisjoint(ids):
            raise InputError(
                f"no sample of the table ({quoted(ids, 3)}) is in {of_second_file} "
                f"({quoted(sorted(described), 3)})."
            )
        return table, ids

    columns = [str(name) for name in table.values.columns]
    candidates = columns[:1]
    if id_column in columns:
        candidates = [id_column, *candidates]
    for column in candidates:
        ids = [plain_text(cell) for cell in table.values[column]]
        are_unique = len(set(ids)) == len(ids)
        if are_unique and not described.isdisjoint(ids):
            return replace(table, values=table.values.drop(columns=column)), ids

    names_are_columns = len(described & set(columns)) > 1
    if names_are_columns:
        raise InputError(
            f"the names in {file} are those of columns: the table has features in "
            "rows; set transpose=True."
        )
    raise InputError(
        f"no column of the table holds the names of {of_second_file} "
        f"({quoted(sorted(described), 3)}); add them to the table, or give a file with one column, "
        "which is joined in the order of the rows."
    )
