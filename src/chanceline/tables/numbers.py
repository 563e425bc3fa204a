"""Columns as numbers: text set apart, odd cells named, identifiers and gaps dealt with."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.tables.doctor import Finding, looks_like_identifier
from chanceline.tables.names import count, few
from chanceline.tables.settings import TableSettings
from chanceline.tables.text import THOUSANDS

# Cells that mean "missing" to pandas, for cells with spaces around them.
ABSENT = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "<NA>", "#N/A"})
# A number with something before or behind it: a limit of detection, a per cent sign, thousands, a decimal comma.
ALMOST_NUMBER = re.compile(r"[<>≤≥~=]*\s*[+-]?(?:\d[\d,]*\.?\d*|\.\d+|,\d+)(?:[eE][+-]?\d+)?\s*%?")


def numeric_features(table: pd.DataFrame, settings: TableSettings, findings: list[Finding]) -> pd.DataFrame:
    """Numeric columns, numbers in disguise as numbers, and text left out or turned into indicators."""
    numeric = [pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind) for kind in table.dtypes]
    if all(numeric):
        return table.astype(np.float64)
    converted: dict[str, pd.Series] = {}
    text: list[str] = []
    for name in table.columns[~np.array(numeric)]:
        numbers = _as_numbers(table[name], settings)
        if numbers is None:
            text.append(str(name))
        else:
            converted[name] = numbers
    indicators = _indicators(table, text, findings) if settings.one_hot else {}
    if text and not settings.one_hot:
        message = f"{count(len(text), 'text column')} left out: {few(text)}; one_hot=True makes indicators of them."
        findings.append(Finding("note", message))
    left = set(text)
    plain = table.loc[:, numeric].astype(np.float64)
    joined = pd.concat([plain, pd.DataFrame({**converted, **indicators}, index=table.index)], axis=1)
    return joined[[name for name in table.columns if name not in left] + list(indicators)]


def _as_numbers(column: pd.Series, settings: TableSettings) -> pd.Series | None:
    """The column as numbers, or None for text; a few odd cells among numbers end in a sentence that names one."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return None
    cells = column.astype("string").str.strip()
    cells = cells.mask(cells.isin(ABSENT | set(settings.na)))
    numbers = pd.to_numeric(cells, errors="coerce").astype("Float64")
    present = cells.notna()
    odd = (present & numbers.isna()).to_numpy(dtype=bool)
    if not present.any():
        return None
    if odd.any():
        almost = cells[present].str.fullmatch(ALMOST_NUMBER.pattern)
        if 2 * odd.sum() > present.sum() and not almost.all():
            return None
        raise _odd_cell(str(column.name), cells, odd)
    return pd.Series(numbers.to_numpy(np.float64, na_value=np.nan), index=column.index)


def _odd_cell(name: str, cells: pd.Series, odd: NDArray[np.bool_]) -> InputError:
    row = int(np.flatnonzero(odd)[0])
    cell = str(cells.iloc[row])
    more = f" (and in {count(int(odd.sum()) - 1, 'more row')})" if odd.sum() > 1 else ""
    if THOUSANDS.fullmatch(cell):
        remedy = f"write {cell.replace(',', '')!r} without the comma, or set decimal=',' if that is what the comma means"
    elif "," in cell and ALMOST_NUMBER.fullmatch(cell):
        remedy = "set decimal=',' if commas are decimal, or write numbers with a point"
    elif cell.endswith("%"):
        remedy = "write the column without per cent signs"
    else:
        remedy = f"set na={cell!r} if that means missing"
    return InputError(
        f"column {name!r} holds numbers, but {cell!r} in row {row + 1}{more}; {remedy}, or leave it out with drop={name!r}."
    )


def _indicators(table: pd.DataFrame, text: list[str], findings: list[Finding]) -> dict[str, Any]:
    indicators: dict[str, Any] = {}
    for name in text:
        cells = table[name]
        if cells.nunique() > 0.5 * len(table):
            findings.append(Finding("note", f"text column {name!r} has a value for almost every row: left out."))
            continue
        shown = cells.astype(str)
        for value in sorted(shown[cells.notna()].unique()):
            indicators[f"{name}={value}"] = (shown == value).astype(float)
    return indicators


def without_identifiers(features: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    """The features that are no names of rows."""
    values = features.to_numpy()
    whole = np.flatnonzero(np.all(values == np.round(values), axis=0))
    found = [features.columns[j] for j in whole if looks_like_identifier(str(features.columns[j]), values[:, j])]
    if not found:
        return features
    findings.append(Finding("warning", f"left out as identifiers of rows: {few(found)}; keep_identifiers=True keeps them."))
    return features.drop(columns=found)


def without_gaps(features: pd.DataFrame, missing: str, findings: list[Finding]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Features without missing or infinite values, treated as `missing` says, and the rows that are left."""
    values = features.to_numpy()
    gaps = ~np.isfinite(values)
    everyone = np.ones(len(features), dtype=bool)
    if not gaps.any():
        return features, everyone
    infinite = np.isinf(values)
    holed = gaps.any(axis=0)
    columns = [str(name) for name in features.columns[holed]]
    rows = int(gaps.any(axis=1).sum())
    if missing == "error":
        raise _gap_error(features, gaps, infinite)
    if infinite.any():
        findings.append(Finding("warning", f"{count(int(infinite.sum()), 'infinite value')} treated as missing."))
    if missing == "columns":
        findings.append(Finding("note", f"{count(len(columns), 'column')} with missing values left out: {few(columns)}."))
        if holed.all():
            raise InputError("every feature column has missing values; choose missing='rows' or missing='median'.")
        return features.loc[:, ~holed], everyone
    if missing == "median":
        findings.append(Finding("note", f"gaps in {count(len(columns), 'column')} filled with the column's median."))
        features = features.mask(gaps).loc[:, ~gaps.all(axis=0)]
        return features.fillna(features.median()), everyone
    kept = ~gaps.any(axis=1)
    if not kept.any():
        raise InputError("every row has a missing value; choose missing='columns' or missing='median'.")
    findings.append(Finding("note", f"{count(rows, 'row')} with missing values left out."))
    return features.loc[kept], kept


def _gap_error(features: pd.DataFrame, gaps: NDArray[np.bool_], infinite: NDArray[np.bool_]) -> InputError:
    choice = "choose missing='columns', missing='rows' or missing='median'."
    if infinite.any() and not (gaps & ~infinite).any():
        row, column = _first(infinite)
        such = count(int(infinite.sum()), "such value")
        return InputError(
            f"column {str(features.columns[column])!r} is infinite in row {row} ({such}, as a "
            f"division by zero leaves behind); mend it, or to treat it as missing {choice}"
        )
    row, column = _first(gaps & ~infinite)
    many = f"{count(int(gaps.any(axis=0).sum()), 'column')} and {count(int(gaps.any(axis=1).sum()), 'row')} have missing"
    also = " or infinite" if infinite.any() else ""
    return InputError(f"{many}{also} values (column {str(features.columns[column])!r} first, in row {row}); {choice}")


def _first(cells: NDArray[np.bool_]) -> tuple[int, int]:
    """Row (from 1) and column of the first cell, column by column."""
    column = int(np.flatnonzero(cells.any(axis=0))[0])
    return int(np.flatnonzero(cells[:, column])[0]) + 1, column
