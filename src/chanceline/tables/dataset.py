"""From a table to numbers, labels and names; whatever is wrong is said in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.tables.doctor import Finding, looks_like_identifier
from chanceline.tables.read import read_table

MISSING = ("error", "rows", "columns", "median")


@dataclass(frozen=True, eq=False)
class Dataset:
    """P × N numbers, labels ±1 and names; what was left out on the way stands in `findings`."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    feature_names: tuple[str, ...]
    classes: tuple[str, str]
    blocks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    source: str = "arrays"
    findings: tuple[Finding, ...] = field(default=())


def load_data(
    path: str | Path,
    label: str | None = None,
    *,
    positive: str | None = None,
    one_hot: bool = False,
    missing: str = "error",
    keep_identifiers: bool = False,
    drop: Sequence[str] = (),
    blocks: str | None = None,
    groups: str | None = None,
) -> Dataset:
    """Read CSV (any usual separator, compressed or not), Parquet or `.npz` and make it a `Dataset`.

    Parameters
    ----------
    path : file; an `.npz` holds `X`, `y` and perhaps `feature_names`.
    label : column with the two classes (not for `.npz` files with `y`).
    positive : class to set against all others; needed with more than two classes.
    one_hot : turn text columns into indicators instead of leaving them out.
    missing : "error", or drop "rows" or "columns" with gaps, or fill with the column's "median".
    keep_identifiers : keep columns that look like row numbers or identifiers.
    drop, blocks, groups : names of columns to leave out, and that hold blocks or groups.
    """
    path = Path(path)
    if missing not in MISSING:
        raise InputError(f"missing values are treated by one of {', '.join(MISSING)}, not {missing!r}.")
    table = read_table(path)
    if label is None:
        label = str(table.columns[-1]) if path.suffix == ".npz" else _guess_label(table)
    label = find_column(table, label, "label")
    special = {label}
    columns: dict[str, NDArray[Any] | None] = {"blocks": None, "groups": None}
    for role, name in (("blocks", blocks), ("groups", groups)):
        if name is not None:
            found = find_column(table, name, role)
            special.add(found)
            columns[role] = table[found].to_numpy()
            if table[found].isna().any():
                raise InputError(f"column {found!r} given for {role} has missing values.")
    special.update(find_column(table, name, "dropped") for name in drop)
    findings: list[Finding] = []
    labels, classes = read_labels(table[label], positive, findings)
    features = _numbers(table.drop(columns=list(special)), one_hot, findings)
    if not keep_identifiers:
        features = _without_identifiers(features, findings)
    if features.shape[1] == 0:
        raise InputError(f"{path.name} has no numeric feature column left besides the label {label!r}.")
    features, kept = _without_gaps(features, missing, findings)
    return Dataset(
        X=np.ascontiguousarray(features.to_numpy(dtype=np.float64)),
        y=labels[kept],
        feature_names=tuple(map(str, features.columns)),
        classes=classes,
        blocks=columns["blocks"][kept] if columns["blocks"] is not None else None,
        groups=columns["groups"][kept] if columns["groups"] is not None else None,
        source=path.name,
        findings=tuple(findings),
    )


def find_column(table: pd.DataFrame, name: str, role: str) -> str:
    """The column meant: by its name, by its name without regard to case, or by its number (also from the
    end).
    """
    names = [str(column) for column in table.columns]
    if name in names:
        return name
    alike = [column for column in names if column.lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    try:
        return names[int(name)]
    except (ValueError, IndexError):
        pass
    near = difflib.get_close_matches(name, names, n=3)
    if role == "label" and not near:
        two = [column for column in names if table[column].nunique() == 2]
        if two:
            raise InputError(f"there is no label column {name!r}; columns with two values: {_few(two)}.")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {_few(names)}."
    raise InputError(f"there is no {role} column {name!r}; {hint}")


def _guess_label(table: pd.DataFrame) -> str:
    two = [name for name in table.columns if table[name].nunique(dropna=True) == 2]
    if not two:
        raise InputError("say which column holds the classes with --label; no column has exactly two values.")
    raise InputError(f"say which column holds the classes with --label; columns with two values: {_few(two)}.")


def read_labels(column: pd.Series, positive: str | None, findings: list[Finding]) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Labels ±1 and the names of the negative and the positive class."""
    name = column.name
    if column.isna().any():
        row = int(np.flatnonzero(column.isna().to_numpy())[0])
        raise InputError(f"label column {name!r} is empty in row {row + 1}; remove that row or fill the label in.")
    shown = column.map(_plain_text)
    counts = shown.value_counts()
    values = sorted(counts.index, key=_by_number)
    if len(values) < 2:
        raise InputError(f"label column {name!r} has one class only ({values[0]!r} in every row); two are needed.")
    if positive is not None:
        wanted = _plain_text(positive)
        if wanted not in values:
            raise InputError(f"the positive class {positive!r} is not in label column {name!r}; it has {_few(values)}.")
        others = [value for value in values if value != wanted]
        if len(others) > 1:
            findings.append(Finding("note", f"class {wanted!r} is set against all {len(others)} others."))
        return np.where(shown == wanted, 1.0, -1.0), (others[0] if len(others) == 1 else "others", wanted)
    if len(values) > 2:
        if pd.api.types.is_float_dtype(column) or len(values) > 0.5 * len(column):
            raise InputError(
                f"label column {name!r} has {len(values)} different values, so it is no class label; name another column."
            )
        raise InputError(
            f"label column {name!r} has {len(values)} classes ({_few(values)}); name one with --positive "
            "to set it "
            "against the rest."
        )
    return np.where(shown == values[1], 1.0, -1.0), (values[0], values[1])


def _plain_text(value: Any) -> str:
    """One spelling a class: `1`, `1.0` and ` 1 ` are the same label."""
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


def _numbers(table: pd.DataFrame, one_hot: bool, findings: list[Finding]) -> pd.DataFrame:
    """Numeric columns, numbers in disguise as numbers, and text left out or turned into indicators."""
    numeric: dict[str, pd.Series] = {}
    text: list[str] = []
    for name in table.columns:
        column = table[name]
        if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
            numeric[name] = pd.to_numeric(column).astype(float)
            continue
        if not pd.api.types.is_datetime64_any_dtype(column):
            converted = pd.to_numeric(column.astype("string").str.strip().replace("", pd.NA), errors="coerce")
            if converted.notna().sum() == column.notna().sum() and converted.notna().any():
                numeric[name] = converted.astype(float)
                continue
        text.append(str(name))
    if one_hot:
        for name in text:
            if table[name].nunique() > 0.5 * len(table):
                findings.append(Finding("note", f"text column {name!r} has a value for almost every row: left out."))
                continue
            for value in sorted(table[name].dropna().astype(str).unique()):
                numeric[f"{name}={value}"] = (table[name].astype(str) == value).astype(float)
    elif text:
        findings.append(
            Finding(
                "note",
                f"{_count(text, 'text column')} left out: {_few(text)}; --one-hot makes indicators of them.",
            )
        )
    return pd.DataFrame(numeric, index=table.index)


def _without_identifiers(features: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    found = [name for name in features if looks_like_identifier(str(name), features[name].to_numpy())]
    if found:
        findings.append(Finding("warning", f"left out as identifiers of rows: {_few(found)}; --keep-identifiers keeps them."))
    return features.drop(columns=found)


def _without_gaps(features: pd.DataFrame, missing: str, findings: list[Finding]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    features = features.replace([np.inf, -np.inf], np.nan)
    gaps = features.isna()
    everyone = np.ones(len(features), dtype=bool)
    if not gaps.to_numpy().any():
        return features, everyone
    columns = [str(name) for name in features.columns[gaps.any()]]
    rows = int(gaps.any(axis=1).sum())
    if missing == "error":
        row = int(np.flatnonzero(gaps[columns[0]].to_numpy())[0]) + 1
        raise InputError(
            f"{_count(columns, 'column')} and {rows} rows have missing values (column {columns[0]!r} "
            f"first, in row {row}); "
            "choose --missing columns, rows or median."
        )
    if missing == "columns":
        findings.append(Finding("note", f"{_count(columns, 'column')} with missing values left out: {_few(columns)}."))
        features = features.drop(columns=columns)
        if features.shape[1] == 0:
            raise InputError("every feature column has missing values; choose --missing rows or median.")
        return features, everyone
    if missing == "median":
        findings.append(Finding("note", f"gaps in {_count(columns, 'column')} filled with the column's median."))
        empty = [name for name in columns if features[name].isna().all()]
        return features.drop(columns=empty).fillna(features.median()), everyone
    kept = ~gaps.any(axis=1).to_numpy()
    if not kept.any():
        raise InputError("every row has a missing value; choose --missing columns or median.")
    findings.append(Finding("note", f"{rows} rows with missing values left out."))
    return features.loc[kept], kept


def _few(names: Sequence[Any], at_most: int = 4) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:at_most])
    return shown + (f" and {len(names) - at_most} more" if len(names) > at_most else "")


def _count(names: Sequence[Any], noun: str) -> str:
    return f"1 {noun}" if len(names) == 1 else f"{len(names)} {noun}s"
