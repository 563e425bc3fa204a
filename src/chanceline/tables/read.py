"""From a file to a `Dataset`; whatever is wrong is said in one sentence.

Rows are counted from 1 and are samples: "row 3" is the third sample, a header is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables import formats
from chanceline.tables.columns import (
    RawTable,
    attach_labels,
    find_column,
    find_label,
    numeric_features,
    read_labels,
    without_empty,
    without_gaps,
    without_identifiers,
)
from chanceline.tables.dataset import Dataset, Finding, TableSettings, quoted


def load_data(
    path: str | Path | pd.DataFrame, label: str | None = None, settings: TableSettings | None = None, **changes: Any
) -> Dataset:
    """Read a table and make it a `Dataset`.

    Parameters
    ----------
    path : text (CSV with any usual separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, or an `.npz` that
        holds `X`, `y` and perhaps `feature_names`; or a DataFrame.
    label : column with the two classes, by its name or its number from 0 (not needed for `.npz` files, nor if `labels` names a
        file with one column besides the id).
    settings : how to read the file and what to make of its columns.
    changes : single settings by name, such as `missing="median"` or `transpose=True`.
    """
    settings = replace(settings or TableSettings(), **changes)
    source = "DataFrame" if isinstance(path, pd.DataFrame) else Path(path).name
    if isinstance(path, pd.DataFrame):
        table = _from_grid([str(name) for name in path], path.reset_index(drop=True), source, replace(settings, header="first"))
    else:
        table = read_table(Path(path), settings)
    if settings.labels is not None:
        second = Path(settings.labels)
        attach_labels(table, read_table(second, TableSettings(na=settings.na)), second.name, settings)
    column = find_label(table, None if label is None else str(label))
    labels, classes = read_labels(column, settings.positive, table.findings)
    roles = {
        role: without_empty(find_column(table, name, role), role)
        for role, name in (("blocks", settings.blocks), ("groups", settings.groups), ("pairs", settings.pairs))
        if name is not None
    }
    adjust = [without_empty(find_column(table, name, "adjust"), "adjust") for name in settings.adjust]
    independent = [find_column(table, name, "independent") for name in settings.independent]
    dropped = [find_column(table, name, "dropped") for name in settings.drop]
    special = [column, *roles.values(), *adjust, *independent, *dropped]
    features = table.values.drop(columns=[one.name for one in special], errors="ignore")
    features = numeric_features(features, settings, table.findings)
    if not settings.keep_identifiers:
        features = without_identifiers(features, table.findings)
    if features.shape[1] == 0:
        raise InputError(f"{source} has no numeric feature column left besides the label {str(column.name)!r}.")
    features, kept = without_gaps(features, settings.missing, table.findings)
    return Dataset(
        X=np.ascontiguousarray(features.to_numpy(dtype=np.float64)),
        y=labels[kept],
        feature_names=tuple(map(str, features.columns)),
        classes=classes,
        source=source,
        findings=tuple(table.findings),
        covariates={str(one.name): one.to_numpy()[kept] for one in adjust} or None,
        **{role: found.to_numpy()[kept] for role, found in roles.items()},
    )


def read_table(path: Path, settings: TableSettings) -> RawTable:
    """The file as a table; one sentence if its content makes that impossible."""
    with path.open("rb") as file:
        try:
            table = _read(file, path, settings)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # whatever the readers of damaged files raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(f"{path.name} could not be read as a table ({reason}).") from error
    if len(table.values) == 0:
        raise InputError(f"{path.name} has a header but no rows.")
    return table


def _read(file: IO[bytes], path: Path, settings: TableSettings) -> RawTable:
    if path.suffix == ".npz":
        return RawTable(*formats.read_npz(file, path.name, settings.transpose))
    if path.suffix in (".parquet", ".pq"):
        table = formats.read_parquet(file)
        return _from_grid(list(table.columns), table, path.name, replace(settings, header="first"))
    raw = file.read()
    if raw.startswith(formats.ZIP) and b"xl/workbook.xml" in raw:
        return _from_grid(*formats.read_workbook(raw, path.name, settings), path.name, settings)
    text = formats.decoded(formats.decompressed(raw, path.name), path.name)
    if formats.CLS.match(text):
        classes = formats.read_cls(text, path.name)
        return RawTable(pd.DataFrame(index=range(len(classes))), pd.DataFrame({"class": classes}))
    if formats.GCT.match(text) or (text.startswith("!") and formats.TABLE_BEGIN in text):
        read = formats.read_series_matrix if text.startswith("!") else formats.read_gct
        values, about = read(text, path.name, settings.na)
        return replace(_transposed(values, path.name), about=about.reset_index(drop=True))
    return _from_grid(*formats.read_text(text, path.name, settings), path.name, settings)


def _from_grid(names: list[str] | None, body: pd.DataFrame, source: str, settings: TableSettings) -> RawTable:
    """Name the columns and put samples in rows; stop where the header seems to be a sample."""
    if names is None:
        names = [f"x{j}" for j in range(body.shape[1])]
    elif settings.header == "auto" and _is_sample(names, body):
        raise InputError(
            f"the first line of {source} looks like a sample, not like names ({quoted(names, 3)}); "
            "set header='none' if it is one, header='first' if these are names."
        )
    columns, findings = unique_names(names)
    # A last separator makes a column without a name and without values.
    empty = [j for j, name in enumerate(names) if not name.strip() and body.iloc[:, j].isna().all()]
    body.columns = columns
    body = body.drop(columns=[columns[j] for j in empty]) if empty else body
    table = _transposed(body, source) if settings.transpose else RawTable(body)
    return replace(table, findings=findings + table.findings)


def _is_sample(names: Sequence[str], body: pd.DataFrame) -> bool:
    """Whether a header is made of measured numbers; counted columns (0, 1, 2, …) and numbers of genes are names."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in body.dtypes]
    numbers = [float(name) for name, yes in zip(names, numeric, strict=True) if yes and formats.is_number(name)]
    if not numbers or 2 * len(numbers) < sum(numeric) or (len(numbers) > 1 and np.all(np.diff(numbers) == 1)):
        return False
    words = [(name.strip(), j) for j, name in enumerate(names) if name.strip() and not formats.is_number(name)]
    if not words or len(set(numbers)) < len(numbers) or not all(number.is_integer() for number in numbers):
        return True
    return any(name in set(body.iloc[:, j].dropna().astype(str).str.strip()) for name, j in words if not numeric[j])


def _transposed(table: pd.DataFrame, source: str) -> RawTable:
    """Samples in rows, from a table with the features' names in its first column and samples in the others."""
    samples = table.iloc[:, 1:]
    numbers = samples.apply(pd.to_numeric, errors="coerce")
    words = (numbers.isna() & samples.notna()).to_numpy()
    described = words.mean(axis=0) > 0.5
    if described.all():
        raise InputError(f"{source} has no numbers beside its first column, so there is nothing to transpose.")
    columns, findings = unique_names(["" if pd.isna(name) else str(name) for name in table.iloc[:, 0]])
    if described.any():
        findings.insert(0, Finding("note", f"text beside the names of features left out: {quoted(samples.columns[described])}."))
        samples, numbers, words = samples.loc[:, ~described], numbers.loc[:, ~described], words[:, ~described]
    values = pd.DataFrame(numbers.to_numpy(dtype=float, na_value=np.nan).T, columns=columns)
    for row in np.flatnonzero(words.any(axis=1)):
        values[columns[row]] = samples.iloc[row].to_numpy()
    return RawTable(values, ids=[str(name) for name in samples.columns], findings=findings)


def unique_names(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names stripped, blank ones numbered, later ones of equal names marked, and a word about those."""
    unique: dict[str, str] = {}
    for j, name in enumerate(names):
        new = plain = name.strip() or f"Unnamed: {j}"
        number = 1
        while new in unique:
            number += 1
            new = f"{plain} ({number})"
        unique[new] = plain
    repeated = list(dict.fromkeys(plain for new, plain in unique.items() if new != plain))
    if not repeated:
        return list(unique), []
    message = f"names that occur more than once ({quoted(repeated)}) are told apart: {repeated[0] + ' (2)'!r} and so on."
    return list(unique), [Finding("warning", message)]
