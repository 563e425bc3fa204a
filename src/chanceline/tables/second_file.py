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
    """Add the columns of a second file to a table, as descriptions of its samples.

    A CLS file (classes of a genomics format) and a file with one column are taken to be in the
    order of the samples. Any other file is joined by the samples' names. Returns the table, and
    findings about the file.

    Parameters
    ----------
    table : the first table.
    path : the path of the second file.
    settings : `id` may name the column of the samples' names in the second file; `na` says which
        cells are gaps.
    """
    # Read the file to count its columns. With header="first" the first line is taken for the names
    # of the columns without a check, so that no file is refused yet.
    first_line_as_names = read_file(path, TableSettings(na=settings.na, header="first"))
    n_columns = first_line_as_names.values.shape[1]

    # The reader of CLS files puts the classes into `descriptions`, and leaves no other columns.
    is_cls = n_columns == 0
    if is_cls:
        classes = first_line_as_names.descriptions
        return _attach_classes(table, classes, path.name), []

    # One column holds no names of samples, unless the user names it as their column.
    if n_columns == 1 and settings.id is None:
        column = _only_column(path, first_line_as_names, settings)
        return _attach_in_order(table, column, path.name)

    # Read the file again with the usual check of its header: a first line that looks like a sample
    # is an error.
    second_table = read_file(path, TableSettings(na=settings.na))
    return _attach_by_name(table, second_table, path.name, settings)


def _attach_classes(table: RawTable, classes: pd.DataFrame, file: str) -> RawTable:
    """The table with the classes of a CLS file beside it."""
    if len(classes) != len(table.values):
        raise InputError(
            f"{file} holds classes of {len(classes)} samples, but the table has "
            f"{len(table.values)}."
        )
    return replace(table, descriptions=classes.set_index(table.values.index))


def _only_column(path: Path, first_line_as_names: RawTable, settings: TableSettings) -> pd.Series:
    """The one column of a second file, with its name or, if it has none, called `label`.

    Parameters
    ----------
    path : the path of the file.
    first_line_as_names : the file, read as if its first line were the column's name.
    settings : `na` says which cells are gaps.
    """
    named_column = first_line_as_names.values.iloc[:, 0]
    # Once more, with the first line as a value.
    first_line_as_value = read_file(path, TableSettings(na=settings.na, header="none"))
    all_lines = first_line_as_value.values.iloc[:, 0]
    if _first_line_is_value(all_lines, named_column):
        return _with_empty_lines(all_lines.rename("label"))
    return _with_empty_lines(named_column)


def _first_line_is_value(all_lines: pd.Series, named_column: pd.Series) -> bool:
    """Whether the first line of a file with one column is a value like those below it, and no name:
    it occurs again, or all lines are numbers.

    Parameters
    ----------
    all_lines : the column with the first line as a value.
    named_column : the column with the first line as its name. A format with names of its own, as
        Parquet, has as many rows either way; then its name is one for sure.
    """
    if len(all_lines) <= len(named_column):
        return False
    texts = [plain_text(cell) for cell in all_lines]
    occurs_again = texts[0] in texts[1:]
    return occurs_again or all(is_number(text) for text in texts)


def _with_empty_lines(column: pd.Series) -> pd.Series:
    """The column with gaps for the empty lines that reading left out, so that the lines below them
    keep their places; its index holds the numbers of lines in the file.
    """
    first_line = column.index[0]
    last_line = column.index[-1]
    return column.reindex(range(first_line, last_line + 1))


def _attach_in_order(
    table: RawTable, column: pd.Series, file: str
) -> tuple[RawTable, list[Finding]]:
    """Add the only column of a second file to a table, as a description of its samples.

    The rows of the column are taken to be the samples, in the same order. Returns the table, and a
    note about this.

    Parameters
    ----------
    table : the first table.
    column : the only column of the second file.
    file : the name of the second file, for messages.
    """
    n_samples = len(table.values)
    if len(column) != n_samples:
        raise InputError(
            f"{file} has one column with {plural(len(column), 'row')}, but the table has "
            f"{plural(n_samples, 'sample')}; write one row for every sample in the same order, or "
            "add a column with their names."
        )
    name = str(column.name)
    descriptions = pd.DataFrame({name: column.to_numpy()}, index=table.values.index)
    finding = Finding.note(
        f"{file} has one column, {name!r}, whose rows were taken to be the samples in the same "
        "order."
    )
    return replace(table, descriptions=descriptions), [finding]


def _attach_by_name(
    table: RawTable, second_table: RawTable, file: str, settings: TableSettings
) -> tuple[RawTable, list[Finding]]:
    """Add the columns of a second file to a table, as descriptions joined by the samples' names.

    Samples that the second file does not have are an error, or left out with missing='rows'.
    Returns the table, and findings about samples left out.

    Parameters
    ----------
    table, second_table : the two tables.
    file : the name of the second file, for messages.
    settings : `id` may name the column of the samples' names in the second file; `missing` says
        what to do about samples that are not there.
    """
    rows_by_name = _rows_by_name(second_table.values, file, settings)  # of the second file
    table, ids = _split_off_ids(table, rows_by_name, file)
    sample_names = pd.Index(ids)

    # Samples that the second file does not have.
    is_in_second_file = sample_names.isin(rows_by_name.index)  # (samples,)
    findings = []
    if not is_in_second_file.all():
        absent_names = sample_names[~is_in_second_file]
        problem = (
            f"{plural(len(absent_names), 'sample')} of the table not found in column "
            f"{rows_by_name.index.name!r} of {file} ({quoted(absent_names, 3)})"
        )
        if settings.missing != "rows":
            raise InputError(f"{problem}; add them there, or leave them out with missing='rows'.")
        findings.append(Finding.warning(f"{problem}: left out."))
        table = table.with_rows(is_in_second_file)
        sample_names = sample_names[is_in_second_file]

    # One row of the second file for each sample of the table, in the table's order.
    rows_of_samples = rows_by_name.loc[sample_names]
    return _with_more_descriptions(table, rows_of_samples), findings


def _with_more_descriptions(table: RawTable, rows_of_samples: pd.DataFrame) -> RawTable:
    """The table with more columns that describe its samples.

    Descriptions that the table had before (a file of genotypes has some) are kept, unless one of
    the new columns has the same name.

    Parameters
    ----------
    table : the table.
    rows_of_samples : the new columns, (samples, columns), in the order of the table's samples.
    """
    # pandas joins by index: give the new rows the index of the table.
    new_descriptions = rows_of_samples.set_index(table.values.index)
    new_names = new_descriptions.columns
    kept_names = [name for name in table.descriptions.columns if name not in new_names]
    kept_descriptions = table.descriptions[kept_names]
    descriptions = pd.concat([new_descriptions, kept_descriptions], axis=1)
    return replace(table, descriptions=descriptions)


def _rows_by_name(columns: pd.DataFrame, file: str, settings: TableSettings) -> pd.DataFrame:
    """The rows of the second file, with the samples' names as index.

    The names are the first column, or the one that the setting `id` names. The index has the name
    of that column, which is dropped. Two rows with the same name are an error.

    Parameters
    ----------
    columns : the table of the second file.
    file : the name of the second file, for messages.
    settings : `id` may name the column of the samples' names.
    """
    if settings.id is None:
        ids = columns.iloc[:, 0]
    else:
        ids = find_column(RawTable(columns), settings.id, "id")
    id_column = str(ids.name)
    sample_names = ids.map(plain_text)
    rows = columns.set_index(sample_names).drop(columns=id_column)
    if not rows.index.is_unique:
        repeated_name = rows.index[rows.index.duplicated()][0]
        raise InputError(
            f"{file} has two rows for {repeated_name!r} in column {id_column!r}; every sample "
            "needs one row."
        )
    return rows.rename_axis(index=id_column)


def _split_off_ids(
    table: RawTable, rows_by_name: pd.DataFrame, file: str
) -> tuple[RawTable, list[str]]:
    """The table without its column of samples' names, and these names, one for each row.

    The names of a transposed table stood in its header, and those of other tables stand in a
    column. It is an error if there is no such column, or if the second file has none of the names.

    Parameters
    ----------
    table : the first table.
    rows_by_name : the rows of the second file, with the samples' names as index.
    file : the name of the second file, for messages.
    """
    if table.header_ids is not None:
        ids = [plain_text(name) for name in table.header_ids]
        _require_described(ids, rows_by_name, file)
        return table, ids
    column = _find_id_column(table.values, rows_by_name)
    if column is None:
        raise InputError(_no_ids_sentence(table.values, rows_by_name, file))
    ids = [plain_text(cell) for cell in table.values[column]]
    return replace(table, values=table.values.drop(columns=column)), ids


def _require_described(ids: list[str], rows_by_name: pd.DataFrame, file: str) -> None:
    """Raise an `InputError` if the second file has none of the samples with the names `ids`."""
    described_names = set(rows_by_name.index)
    if described_names.isdisjoint(ids):
        raise InputError(
            f"no sample of the table ({quoted(ids, 3)}) is in column {rows_by_name.index.name!r} "
            f"of {file} ({quoted(sorted(described_names), 3)})."
        )


def _find_id_column(values: pd.DataFrame, rows_by_name: pd.DataFrame) -> str | None:
    """The name of the column that holds the samples' names; None if there is none.

    Candidates are the column with the same name as that in the second file, then the first column.
    No name may occur twice in it, and some of the names must be in the second file.

    Parameters
    ----------
    values : the columns of the first table.
    rows_by_name : the rows of the second file, with the samples' names as index; the index is
        called like the column of these names.
    """
    described_names = set(rows_by_name.index)
    id_column = str(rows_by_name.index.name)
    columns = [str(name) for name in values.columns]
    candidates = columns[:1]
    if id_column in columns:
        candidates = [id_column, *candidates]
    for column in candidates:
        ids = [plain_text(cell) for cell in values[column]]
        are_unique = len(set(ids)) == len(ids)
        if are_unique and not described_names.isdisjoint(ids):
            return column
    return None


def _no_ids_sentence(values: pd.DataFrame, rows_by_name: pd.DataFrame, file: str) -> str:
    """The error message if no column of the table holds the samples' names of the second file.

    Parameters
    ----------
    values : the columns of the first table.
    rows_by_name : the rows of the second file, with the samples' names as index.
    file : the name of the second file.
    """
    described_names = set(rows_by_name.index)
    columns = {str(name) for name in values.columns}
    samples_are_columns = len(described_names & columns) > 1
    if samples_are_columns:
        return (
            f"the names in {file} are those of columns: the table has features in "
            "rows; set transpose=True."
        )
    return (
        f"no column of the table holds the names of column {rows_by_name.index.name!r} of {file} "
        f"({quoted(sorted(described_names), 3)}); add them to the table, or give a file with one "
        "column, which is joined in the order of the rows."
    )
