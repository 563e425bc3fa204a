"""The label: its column, found; its two classes, told apart; a second file that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.tables.doctor import Finding
from chanceline.tables.genomics import is_cls, read_cls
from chanceline.tables.names import count, few, find_name, no_such_column
from chanceline.tables.read import RawTable, read_table
from chanceline.tables.settings import TableSettings
from chanceline.tables.text import decoded, decompressed


def attach_labels(table: RawTable, settings: TableSettings) -> None:
    """Put the columns of `settings.labels` beside the table, sample by sample."""
    if settings.labels is None:
        return
    path = Path(settings.labels)
    classes = _classes_in_order(path)
    if classes is not None:
        if len(classes) != len(table.values):
            raise InputError(f"{path.name} holds classes of {len(classes)} samples, but the table has {len(table.values)}.")
        table.about = pd.DataFrame({"class": classes})
        return
    second = read_table(path, TableSettings(na=settings.na))
    names = [str(name) for name in second.values.columns]
    column = names[0] if settings.id is None else find_name(settings.id, names)
    if column is None:
        raise no_such_column(str(settings.id), names, "id")
    ids = [plain_text(one) for one in second.values[column]]
    repeated = next((one for one in ids if ids.count(one) > 1), None)
    if repeated is not None:
        raise InputError(f"{path.name} has two rows for {repeated!r} in column {column!r}; every sample needs one row.")
    own = _own_ids(table, column, set(ids), path.name)
    places = {one: i for i, one in enumerate(ids)}
    absent = [one for one in own if one not in places]
    if absent and settings.missing != "rows":
        raise InputError(
            f"{count(len(absent), 'sample')} of the table not found in column {column!r} of {path.name} ({few(absent, 3)}); "
            "add them there, or leave them out with missing='rows'."
        )
    if absent:
        message = f"{count(len(absent), 'sample')} without a row in {path.name} left out: {few(absent)}."
        table.findings.append(Finding("warning", message))
    kept = [i for i, one in enumerate(own) if one in places]
    table.about = second.values.drop(columns=column).iloc[[places[own[i]] for i in kept]].reset_index(drop=True)
    if absent:
        table.values = table.values.iloc[kept].reset_index(drop=True)
        table.ids = None if table.ids is None else [table.ids[i] for i in kept]


def _classes_in_order(path: Path) -> list[str] | None:
    if not path.is_file() or path.suffix in (".npz", ".parquet", ".pq", ".xlsx"):
        return None
    text = decoded(decompressed(path.read_bytes(), path.name), path.name)
    return read_cls(text, path.name) if is_cls(text) else None


def _own_ids(table: RawTable, column: str, wanted: set[str], where: str) -> list[str]:
    """The names of the table's samples: those of a turned table, or the column that holds the same names as the second file."""
    if table.ids is not None:
        ids = [plain_text(one) for one in table.ids]
        if wanted.isdisjoint(ids):
            theirs = few(sorted(wanted), 3)
            raise InputError(f"no sample of the table ({few(ids, 3)}) is in column {column!r} of {where} ({theirs}).")
        return ids
    names = [str(name) for name in table.values.columns]
    for name in [column] * (column in names) + names[:1]:
        ids = [plain_text(one) for one in table.values[name]]
        if len(set(ids)) == len(ids) and not wanted.isdisjoint(ids):
            table.values = table.values.drop(columns=name)
            return ids
    if len(wanted & set(names)) > 1:
        raise InputError(f"the names in {where} are those of columns: the table has features in rows; set transpose=True.")
    raise InputError(f"no column of the table holds the names of column {column!r} of {where} ({few(sorted(wanted), 3)}).")


def find_column(table: RawTable, name: str, role: str) -> pd.Series:
    """The column meant, first among those about the samples."""
    for part in (table.about, table.values):
        found = find_name(name, [str(column) for column in part.columns])
        if found is not None:
            return part[found]
    names = [*map(str, table.about.columns), *map(str, table.values.columns)]
    error = no_such_column(name, names, role)
    if role != "label" or "did you mean" in str(error):
        raise error
    raise InputError(f"there is no label column {name!r}; {_where_else(table, name)}")


def guess_label(table: RawTable, settings: TableSettings, is_npz: bool) -> str:
    """The label where only one column can be it; otherwise which columns could be."""
    if is_npz:
        return str(table.values.columns[-1])
    if settings.labels is not None and table.about.shape[1] == 1:
        return str(table.about.columns[0])
    raise InputError(f"say which column holds the classes (label=NAME); {_where_else(table, None)}")


def _where_else(table: RawTable, name: str | None) -> str:
    """Where the label could be: a column with two values, or a row of a turned table."""
    if looks_turned(table.values, name):
        return "the table seems to have features in rows; set transpose=True (and labels=FILE if another file has the classes)."
    two = [str(column) for part in (table.about, table.values) for column in part if part[column].nunique() == 2]
    if two:
        return f"columns with two values: {few(two)}."
    second = "" if len(table.about.columns) else "; if another file has the classes, say labels=FILE"
    return f"no column has exactly two values{second}."


def looks_turned(values: pd.DataFrame, label: str | None) -> bool:
    """A first column of different names and numbers beside it: the label in a row, or far more rows than columns."""
    if values.shape[1] < 3 or pd.api.types.is_numeric_dtype(values.iloc[:, 0]):
        return False
    first = values.iloc[:, 0].dropna().astype(str).str.strip()
    if label is not None and label.strip().lower() in set(first.str.lower()):
        return True
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes[1:]]
    return bool(len(values) > values.shape[1] and first.is_unique and len(first) == len(values) and np.mean(numeric) > 0.8)


def read_labels(column: pd.Series, positive: str | None, findings: list[Finding]) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Labels ±1 and the names of the negative and the positive class."""
    name = str(column.name)
    if column.isna().any():
        row = int(np.flatnonzero(column.isna().to_numpy())[0])
        raise InputError(f"label column {name!r} is empty (or NA) in row {row + 1}; remove that row or fill the label in.")
    shown = column.map(plain_text)
    spaced = int((column.astype(str) != column.astype(str).str.strip()).sum())
    if spaced:
        findings.append(Finding("note", f"spaces around the label were ignored in {count(spaced, 'row')}."))
    values = sorted(shown.unique(), key=_by_number)
    _check_spelling(name, values)
    if len(values) < 2:
        raise InputError(f"label column {name!r} has one class only ({values[0]!r} in every row); two are needed.")
    if positive is not None:
        wanted = find_class(positive, values)
        if wanted is None:
            raise InputError(f"the positive class {positive!r} is not in label column {name!r}; it has {few(values)}.")
        others = [value for value in values if value != wanted]
        if len(others) > 1:
            findings.append(Finding("note", f"class {wanted!r} is set against all {len(others)} others."))
        return _signs(shown, wanted), (others[0] if len(others) == 1 else "others", wanted)
    if len(values) > 2:
        if pd.api.types.is_float_dtype(column) or len(values) > 0.5 * len(column):
            raise InputError(
                f"label column {name!r} has {len(values)} different values, so it is no class label; name another column."
            )
        raise InputError(
            f"label column {name!r} has {len(values)} classes ({few(values)}); "
            f"set one against the rest, as with positive={values[0]!r}."
        )
    return _signs(shown, values[1]), (values[0], values[1])


def _signs(shown: pd.Series, positive: str) -> NDArray[np.float64]:
    return np.where(shown.to_numpy() == positive, 1.0, -1.0)


def _check_spelling(name: str, values: Sequence[str]) -> None:
    spelling: dict[str, str] = {}
    for value in values:
        other = spelling.setdefault(" ".join(value.casefold().split()), value)
        if other != value:
            raise InputError(f"label column {name!r} has {other!r} and {value!r}; write them alike if they are one class.")


def find_class(name: str, values: Sequence[str]) -> str | None:
    """The class meant, without regard to case if that is unmistakable."""
    wanted = plain_text(name)
    if wanted in values:
        return wanted
    alike = [value for value in values if value.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def plain_text(value: Any) -> str:
    """One spelling for a class or a sample: `1`, `1.0` and ` 1 ` are the same."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def _by_number(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
