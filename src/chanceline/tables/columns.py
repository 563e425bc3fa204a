"""The columns of a table in their roles (the label and its two classes, blocks and groups, features as numbers), and what to
know about the data before believing a test on them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.chance.counts import log_binomial
from chanceline.errors import InputError
from chanceline.perceptron.problem import contradicting_rows, distinct_columns
from chanceline.tables.dataset import Finding, TableSettings, plural, quoted
from chanceline.tables.formats import is_number

# Cells that mean "missing" to pandas, for cells with spaces around them.
ABSENT = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "<NA>", "#N/A"})
# A number with something before or behind it: a limit of detection, a per cent sign, thousands, a decimal comma.
ALMOST_NUMBER = re.compile(r"[<>≤≥~=]*\s*[+-]?(?:\d[\d,]*\.?\d*|\.\d+|,\d+)(?:[eE][+-]?\d+)?\s*%?")
IDENTIFIER = re.compile(r"(^|[\s_.\-])(id|ids|index|idx|uuid|key|row|rownames?|row name|no|nr|number)$|^unnamed: \d+$", re.I)


@dataclass
class RawTable:
    """A file as it was read: samples in rows.

    Attributes
    ----------
    values : columns that may be features, the label, blocks or groups.
    about : columns that describe the samples and are never features, from a second file or a header.
    ids : names of the samples, where they are no column (in a transposed table).
    findings : what was noticed on the way.
    """

    values: pd.DataFrame
    about: pd.DataFrame = field(default_factory=pd.DataFrame)
    ids: list[str] | None = None
    findings: list[Finding] = field(default_factory=list)


def attach_labels(table: RawTable, second: RawTable, where: str, settings: TableSettings) -> None:
    """Put the columns of a second file beside the table, sample by sample; those of a CLS file in their order."""
    if second.values.shape[1] == 0:
        if len(second.about) != len(table.values):
            raise InputError(f"{where} holds classes of {len(second.about)} samples, but the table has {len(table.values)}.")
        table.about = second.about
        return
    ids = second.values.iloc[:, 0] if settings.id is None else find_column(RawTable(second.values), settings.id, "id")
    column = str(ids.name)
    rows = second.values.set_index(ids.map(plain_text)).drop(columns=column)
    if not rows.index.is_unique:
        repeated = rows.index[rows.index.duplicated()][0]
        raise InputError(f"{where} has two rows for {repeated!r} in column {column!r}; every sample needs one row.")
    own = _own_ids(table, column, set(rows.index), where)
    kept = [one for one in own if one in rows.index]
    table.about = rows.loc[kept].reset_index(drop=True)
    if len(kept) < len(own):
        absent = [one for one in own if one not in rows.index]
        what = f"{plural(len(absent), 'sample')} of the table not found in column {column!r} of {where} ({quoted(absent, 3)})"
        if settings.missing != "rows":
            raise InputError(f"{what}; add them there, or leave them out with missing='rows'.")
        table.findings.append(Finding("warning", f"{what}: left out."))
        table.values = table.values.loc[[one in rows.index for one in own]].reset_index(drop=True)


def _own_ids(table: RawTable, column: str, wanted: set[str], where: str) -> list[str]:
    """The samples' names: those of a transposed table, or the column that holds the same names as the second file."""
    names = [str(name) for name in table.values.columns]
    if table.ids is not None:
        ids = [plain_text(one) for one in table.ids]
        if not wanted.isdisjoint(ids):
            return ids
        raise InputError(
            f"no sample of the table ({quoted(ids, 3)}) is in column {column!r} of {where} ({quoted(sorted(wanted), 3)})."
        )
    for name in [column] * (column in names) + names[:1]:
        ids = [plain_text(one) for one in table.values[name]]
        if len(set(ids)) == len(ids) and not wanted.isdisjoint(ids):
            table.values = table.values.drop(columns=name)
            return ids
    if len(wanted & set(names)) > 1:
        raise InputError(f"the names in {where} are those of columns: the table has features in rows; set transpose=True.")
    raise InputError(f"no column of the table holds the names of column {column!r} of {where} ({quoted(sorted(wanted), 3)}).")


def find_column(table: RawTable, name: str, role: str) -> pd.Series:
    """The column meant, first among those about the samples: by name in any case, or by its number from 0 (also from the end)."""
    for part in (table.about, table.values):
        names = [str(column) for column in part.columns]
        alike = [one for one in names if one == name] or [one for one in names if one.lower() == name.strip().lower()]
        if len(alike) == 1:
            return part[alike[0]]
        if re.fullmatch(r"-?\d+", name) and -len(names) <= int(name) < len(names):
            return part.iloc[:, int(name)]
    names = [*map(str, table.about.columns), *map(str, table.values.columns)]
    near = difflib.get_close_matches(name, names, n=3)
    hint = (
        f"did you mean {' or '.join(map(repr, near))}?"
        if near
        else _where_else(table, name)
        if role == "label"
        else f"there are {quoted(names)}."
    )
    raise InputError(f"there is no {role} column {name!r}; {hint}")


def find_label(table: RawTable, name: str | None) -> pd.Series:
    """The column of the label, which needs no name where a second file (or y of an .npz) has one column."""
    if name is None and table.about.shape[1] != 1:
        raise InputError(f"say which column holds the classes (label=NAME); {_where_else(table, None)}")
    return without_empty(table.about.iloc[:, 0] if name is None else find_column(table, name, "label"), "label")


def _where_else(table: RawTable, name: str | None) -> str:
    """Where the label could be: a column with two values, or a row of a transposed table."""
    values = table.values
    first = values.iloc[:, 0].astype(str).str.strip() if values.shape[1] > 2 else pd.Series(dtype=str)
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes]
    # A first column of different names and numbers beside it: the label is in a row, or there are more rows than columns.
    long = len(values) > values.shape[1] and first.is_unique and sum(numeric[1:]) > 0.8 * len(numeric[1:])
    if len(first) and not numeric[0] and (long or (name is not None and name.strip().lower() in set(first.str.lower()))):
        return "the table seems to have features in rows; set transpose=True (and labels=FILE if another file has the classes)."
    two = [str(column) for part in (table.about, table.values) for column in part if part[column].nunique() == 2]
    if two:
        return f"columns with two values: {quoted(two)}."
    return "no column has exactly two values; if another file has the classes, say labels=FILE."


def without_empty(column: pd.Series, role: str) -> pd.Series:
    """The column, every cell of which must be filled."""
    if column.isna().any():
        row = int(np.argmax(column.isna())) + 1
        raise InputError(f"{role} column {str(column.name)!r} is empty (or NA) in row {row}; fill it in or remove that row.")
    return column


def read_labels(column: pd.Series, positive: str | None, findings: list[Finding]) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Labels ±1 and the names of the negative and the positive class."""
    name = str(column.name)
    texts = column.map(plain_text)
    values = sorted(texts.unique(), key=lambda text: (0, float(text), text) if is_number(text) else (1, 0.0, text))
    spellings: dict[str, str] = {}
    for value in values:
        other = spellings.setdefault(" ".join(value.casefold().split()), value)
        if other != value:
            raise InputError(f"label column {name!r} has {other!r} and {value!r}; write them alike if they are one class.")
    if len(values) < 2:
        raise InputError(f"label column {name!r} has one class only ({values[0]!r} in every row); two are needed.")
    if positive is None and len(values) > 2:
        no_classes = pd.api.types.is_float_dtype(column) or len(values) > 0.5 * len(column)
        raise InputError(
            f"label column {name!r} has {len(values)} different values, so it is no class label; name another column."
            if no_classes
            else f"label column {name!r} has {len(values)} classes ({quoted(values)}); "
            f"set one against the rest, as with positive={values[0]!r}."
        )
    # The classes are alike in no other way, so that case does not matter.
    wanted = values[1] if positive is None else spellings.get(" ".join(plain_text(positive).casefold().split()))
    if wanted is None:
        raise InputError(f"the positive class {positive!r} is not in label column {name!r}; it has {quoted(values)}.")
    others = [value for value in values if value != wanted]
    if len(others) > 1:
        findings.append(Finding("note", f"class {wanted!r} is set against all {len(others)} others."))
    return np.where(texts.to_numpy() == wanted, 1.0, -1.0), (others[0] if len(others) == 1 else "others", wanted)


def plain_text(value: Any) -> str:
    """One spelling for a class or a sample: `1`, `1.0` and ` 1 ` are the same."""
    text = str(value).strip()
    return str(int(float(text))) if is_number(text) and float(text).is_integer() else text


def numeric_features(table: pd.DataFrame, settings: TableSettings, findings: list[Finding]) -> pd.DataFrame:
    """Numeric columns, numbers written as text as numbers, and other text left out or made indicators."""
    numeric = np.array([pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes], dtype=bool)
    if numeric.all():
        return table.astype(np.float64)
    found = {name: _as_numbers(table[name], settings) for name in table.columns[~numeric]}
    converted = {name: numbers for name, numbers in found.items() if numbers is not None}
    text = [str(name) for name, numbers in found.items() if numbers is None]
    indicators = _indicators(table, text, findings) if text and settings.one_hot else pd.DataFrame(index=table.index)
    if text and not settings.one_hot:
        message = f"{plural(len(text), 'text column')} left out: {quoted(text)}; one_hot=True makes indicators of them."
        findings.append(Finding("note", message))
    plain = table.loc[:, numeric].astype(np.float64)
    joined = pd.concat([plain, pd.DataFrame(converted, index=table.index), indicators], axis=1)
    return joined[[name for name in table.columns if found.get(name, plain) is not None] + list(indicators)]


def _as_numbers(column: pd.Series, settings: TableSettings) -> pd.Series | None:
    """The column as numbers, or None for text; a few odd cells among numbers end in a sentence that names one."""
    cells = column.astype("string").str.strip()
    cells = cells.mask(cells.isin(ABSENT | set(settings.na)))
    numbers = pd.to_numeric(cells, errors="coerce").astype("Float64")
    present = cells.notna()
    odd = (present & numbers.isna()).to_numpy(dtype=bool)
    mostly_odd = 2 * odd.sum() > present.sum() and not cells[present].str.fullmatch(ALMOST_NUMBER.pattern).all()
    if mostly_odd or not present.any():
        return None
    if odd.any():
        cell, name = str(cells[odd].iloc[0]), str(column.name)
        where = f"row {int(np.argmax(odd)) + 1}" + (
            f" (and in {plural(int(odd.sum()) - 1, 'more row')})" if odd.sum() > 1 else ""
        )
        remedy = f"write plain numbers, set na={cell!r} if that means missing"
        if "," in cell and ALMOST_NUMBER.fullmatch(cell):
            remedy = "set decimal=',' if commas are decimal, or write numbers with a point and no comma"
        raise InputError(f"column {name!r} holds numbers, but {cell!r} in {where}; {remedy}, or leave it out with drop={name!r}.")
    return pd.Series(numbers.to_numpy(np.float64, na_value=np.nan), index=column.index)


def _indicators(table: pd.DataFrame, text: list[str], findings: list[Finding]) -> pd.DataFrame:
    many = [name for name in text if table[name].nunique() > 0.5 * len(table)]
    if many:
        findings.append(Finding("note", f"left out, as almost every row has a value of its own: {quoted(many)}."))
    chosen = table[[name for name in text if name not in many]]
    return pd.get_dummies(chosen.astype("string"), prefix_sep="=", dtype=float) if chosen.shape[1] else chosen


def without_identifiers(features: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    """The features that are no names of rows."""
    values = features.to_numpy()
    whole = np.flatnonzero(np.all(values == np.round(values), axis=0))
    found = [features.columns[j] for j in whole if looks_like_identifier(str(features.columns[j]), values[:, j])]
    if not found:
        return features
    findings.append(Finding("warning", f"left out as identifiers of rows: {quoted(found)}; keep_identifiers=True keeps them."))
    return features.drop(columns=found)


def without_gaps(features: pd.DataFrame, missing: str, findings: list[Finding]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Features without missing or infinite values, treated as `missing` says, and the rows that are left."""
    values = features.to_numpy()
    gaps = ~np.isfinite(values)
    columns, rows = gaps.any(axis=0), gaps.any(axis=1)
    everyone = np.ones(len(features), dtype=bool)
    if not columns.any():
        return features, everyone
    what = "missing or infinite values" if np.isinf(values).any() else "missing values"
    n_columns, n_rows = plural(int(columns.sum()), "column"), plural(int(rows.sum()), "row")
    if missing == "error" or (missing == "columns" and columns.all()) or (missing == "rows" and rows.all()):
        first = int(np.argmax(columns))
        where = f"column {str(features.columns[first])!r} first, in row {int(np.argmax(gaps[:, first])) + 1}"
        choices = " or ".join(f"missing={one!r}" for one in ("columns", "rows", "median") if one != missing)
        raise InputError(f"{n_columns} and {n_rows} have {what} ({where}); choose {choices}.")
    if missing == "columns":
        findings.append(Finding("note", f"{n_columns} with {what} left out: {quoted(features.columns[columns])}."))
        return features.loc[:, ~columns], everyone
    if missing == "rows":
        findings.append(Finding("note", f"{n_rows} with {what} left out."))
        return features.loc[~rows], ~rows
    findings.append(Finding("note", f"{what} in {n_columns} filled with the column's median."))
    features = features.mask(gaps).loc[:, ~gaps.all(axis=0)]
    return features.fillna(features.median()), everyone


# What to know about the data.


def looks_like_identifier(name: str, values: NDArray[np.float64]) -> bool:
    """A whole number for every row, all different, that counts the rows or is named as an identifier."""
    if len(values) < 4 or not np.all(values == np.round(values)) or len(np.unique(values)) < len(values):
        return False
    return bool(values.max() - values.min() == len(values) - 1 or IDENTIFIER.search(name.strip()))


def examine(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    names: Sequence[str],
    *,
    intercept: bool = True,
    level: float = 0.05,
) -> list[Finding]:
    """What is worth knowing about checked data (finite numbers, labels ±1)."""
    found: list[tuple[str, str]] = []
    n_samples, n_features = X.shape
    constant = np.flatnonzero(np.all(X[:1] == X, axis=0))
    if len(constant):
        found.append(("note", f"{_columns(constant, names)} constant and cannot help to separate."))
    repeated = n_features - len(constant) - len(distinct_columns(X, True))
    if repeated > 0:
        found.append(("note", f"{plural(repeated, 'duplicate column')}: the bound counts equal columns once."))
    sorted_columns = np.sort(X, axis=0)
    n_values = 1 + np.count_nonzero(sorted_columns[1:] > sorted_columns[:-1], axis=0)
    tied = np.flatnonzero((n_values > 1) & (n_values <= n_samples / 2))
    if len(tied):
        found.append(("note", f"{_columns(tied, names)} tied (at most half as many values as samples); the bound covers ties."))
    pairs = contradicting_rows(X, y)
    if pairs:
        shown = "; ".join(f"{i + 1} and {k + 1}" for i, k in pairs[:3]) + ("; …" if len(pairs) > 3 else "")
        found.append(("warning", f"rows {shown} are equal but have opposite labels, so no rule whatever separates these data."))
    copies = n_samples - len(np.unique(X, axis=0)) - len(pairs)
    if copies > 0:
        rows = "1 row repeats" if copies == 1 else f"{copies} rows repeat"
        found.append(("warning", f"{rows} an earlier row; rows of one subject should have a common group."))
    whole = np.all(np.round(X) == X, axis=0)
    for j in np.flatnonzero(whole | (n_values == 2)).tolist():
        if looks_like_identifier(str(names[j]), X[:, j]):
            found.append(("warning", f"column {names[j]!r} looks like an identifier of rows and should not be a feature."))
        elif n_values[j] == 2 and abs(np.sign(X[:, j] - X[:, j].mean()) @ y) == n_samples:
            found.append(
                ("warning", f"column {names[j]!r} is the label over again; leave it out unless it was measured independently.")
            )
    positives = int(np.sum(y > 0))
    smaller = min(positives, n_samples - positives)
    if smaller < 5 or smaller < 0.1 * n_samples:
        found.append(
            ("note", f"the smaller class has {smaller} of {n_samples} samples; class sizes are kept fixed for that reason.")
        )
    log_labellings = float(log_binomial(n_samples, positives))
    if log_labellings < log(1 / level):
        found.append(
            (
                "warning",
                f"only {round(exp(log_labellings))} labellings have these class sizes, so no test can reach level {level:g}.",
            )
        )
    return [Finding(*one) for one in found]


def _columns(indices: Sequence[int] | NDArray[np.int64], names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(names[j])) for j in indices[:3])
    if len(indices) == 1:
        return f"column {shown} is"
    return f"{len(indices)} columns ({shown}{', …' if len(indices) > 3 else ''}) are"
