"""From a file to a `Dataset`; whatever is wrong is said in one sentence.

Cells as instruments write them become numbers: limits of detection, genotypes, gaps, transforms of counts. Nothing here that
changes a number looks at the labels, so that every shuffle of them stays valid. Limits may differ between the rows of a column,
and between the classes: everything below the largest lower limit is then read as that limit's half, so that a limit says nothing
about its row.

Rows are called as the user's program shows them: by their line in a text or a sheet, by the index of a data frame, or by the
names of samples that stand in columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats
from chanceline.tables import formats
from chanceline.tables.columns import (
    RawTable,
    about_identifiers,
    attach_in_order,
    attach_labels,
    find_column,
    find_label,
    gaps_follow_classes,
    gaps_follow_small_values,
    labelled_rows,
    numeric_columns,
    plain_text,
    read_labels,
    tidy_text,
    totals_follow_classes,
    without_dates,
    without_empty,
    without_identifiers,
)
from chanceline.tables.dataset import Dataset, Finding, TableSettings, plural, quoted, row_name
from chanceline.tables.stems import find_any_stems
from chanceline.tables.subjects import STEM, about_groups, check_declared, confounded_columns, named_index, undeclared_design

# What a cell is.
NUMBER, GAP, BELOW, ABOVE, ALMOST, WORD, TRUTH = range(7)
# Cells that mean "missing" to pandas, for cells with spaces around them, and in files of genotypes.
ABSENT = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "<NA>", "#N/A", "./.", ".|."})
UNDETECTED = frozenset(
    {"nd", "n.d.", "n.d", "bdl", "bld", "bql", "blq", "bloq", "lod", "loq", "lloq", "not detected", "undetected"}
)
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
LIMIT = re.compile(r"([<>≤≥])\s*=?\s*(?:([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|[A-Za-z]*LO[DQ])", re.IGNORECASE)
GENOTYPE = re.compile(r"[01][/|][01]")
# A number with something before or behind it: a per cent sign, thousands, a decimal comma.
ALMOST_NUMBER = re.compile(r"[~=<>≤≥]*\s*[+-]?(?:\d[\d,]*\.?\d*|\.\d+|,\d+)(?:[eE][+-]?\d+)?\s*%?")
FILLS = {"median": "the column's median", "min": "the column's smallest value", "half-min": "half the column's smallest value"}
TRANSFORMS = {
    "cpm": "counts per million: every row divided by its total",
    "log": "logarithms to base 2, 1 added first where the table has zeros",
    "clr": "centred log-ratios: logarithms (0.5 added first where the table has zeros) less their mean in the row",
    "rank": "ranks within the column",
}


def load_data(path: Any, label: str | None = None, settings: TableSettings | None = None, **changes: Any) -> Dataset:
    """Read a table and make it a `Dataset`.

    Parameters
    ----------
    path : text (CSV with any usual separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, AnnData, or an `.npz`
        that holds `X`, `y` and perhaps `feature_names`; or a table in memory: a DataFrame of pandas or polars, an Arrow table, or
        AnnData.
    label : column with the two classes, by its name or its number from 0 (not needed for `.npz` files, nor if `labels` names a
        file with one column besides the id).
    settings : how to read the file and what to make of its columns.
    changes : single settings by name, such as `missing="median"` or `transpose=True`.
    """
    settings = replace(settings or TableSettings(), **changes)
    is_file = isinstance(path, str | Path)
    source = Path(path).name if is_file else type(path).__name__
    if is_file:
        table = read_table(Path(path), settings, label)
    else:
        table = _from_object(path, label, settings)
        table.values = tidy_cells(table.values, settings.na)
        table.about = tidy_cells(table.about, settings.na)
    if settings.labels is not None:
        _attach_second_file(table, Path(settings.labels), settings)
    column = find_label(table, None if label is None else str(label))
    kept = labelled_rows(column, settings, table.findings)
    if not kept.all():
        table.values, table.about, column = table.values.loc[kept], table.about.loc[kept[: len(table.about)]], column.loc[kept]
    labels, classes = read_labels(column, settings, table.findings)
    roles = {}
    for role in ("blocks", "groups", "pairs"):
        name = getattr(settings, role)
        if name is not None:
            roles[role] = _find_role(table, name, role, settings)
            table.findings += check_declared(role, roles[role], labels, said=name)
    within = roles.get("blocks", roles.get("pairs"))
    adjust = [without_empty(find_column(table, name, "adjust"), "adjust", settings) for name in settings.adjust]
    independent = [find_column(table, name, "independent") for name in settings.independent]
    dropped = [find_column(table, name, "dropped") for name in settings.drop]
    special = [column, *roles.values(), *adjust, *independent, *dropped]
    features = table.values.drop(columns=[one.name for one in special], errors="ignore")
    beside = table.about.drop(columns=[one.name for one in special], errors="ignore")
    allowed_for = [*adjust, *([] if within is None else [within])]
    table.findings[:0] = [
        *confounded_columns(features, labels, allowed_for),
        *confounded_columns(beside, labels, allowed_for),
    ]
    features = features if settings.keep_identifiers else without_dates(features, labels, table.findings, within)
    text = features.select_dtypes(exclude="number")
    features = numeric_features(features, labels, settings, table.findings)
    groups = roles.get("groups")
    are_independent = [one.name for one in independent]
    if groups is not None and "pairs" not in roles and groups.name not in are_independent:
        table.undeclared = about_groups(groups, labels, settings.groups or "")
    if not table.undeclared and not roles.keys() & {"groups", "pairs"}:
        names = table.sample_names
        if names is not None and names.name in [one.name for one in special]:
            names = None
        table.undeclared = undeclared_design(
            pd.concat([beside, text], axis=1),
            features,
            labels,
            names=names,
            names_are="the header" if table.ids is not None else "the index",
            known=[column, *independent, *roles.values()],
        )
        # A subject that is to be no feature is a subject nevertheless.
        said_enough = [one.name for one in (*roles.values(), *adjust, *independent)]
        left_out = pd.DataFrame({one.name: one for one in dropped if one.name not in said_enough})
        if not table.undeclared and left_out.shape[1]:
            table.undeclared = undeclared_design(
                left_out.select_dtypes(exclude="number"),
                left_out.select_dtypes("number").astype(np.float64),
                labels,
                known=[column, *independent, *roles.values()],
            )
    features = features if settings.keep_identifiers else without_identifiers(features, labels, table.findings, within)
    if features.shape[1] == 0:
        raise InputError(f"{source} has no numeric feature column left besides the label {str(column.name)!r}.")
    features, kept = without_gaps(features, labels, settings.missing, table.findings)
    X = np.ascontiguousarray(features.to_numpy(dtype=np.float64))
    if not settings.keep_identifiers:
        # A gap may have hidden that a column counts the rows.
        table.findings += [Finding("warning", one) for one in about_identifiers(X, features.columns)]
    if settings.transform is None:
        table.findings[:0] = totals_follow_classes(X, labels[kept])
    elif settings.transform != "none":
        X = transformed(X, settings.transform, features.columns)
        table.findings.append(Finding("prepared", f"{TRANSFORMS[settings.transform]}."))
    return Dataset(
        X=X,
        y=labels[kept],
        feature_names=tuple(map(str, features.columns)),
        classes=classes,
        source=source,
        findings=tuple(dict.fromkeys(table.findings)),
        covariates={str(one.name): one.to_numpy()[kept] for one in adjust} or None,
        undeclared=table.undeclared,
        rows=features.index.tolist(),
        columns_checked=True,
        role_columns={role: str(found.name) for role, found in roles.items()},
        **{role: found.to_numpy()[kept] for role, found in roles.items()},
    )


def read_table(path: Path, settings: TableSettings, label: str | None = None) -> RawTable:
    """The file as a table; one sentence if its content makes that impossible."""
    with path.open("rb") as file:
        try:
            table = _read(file, path, settings, label)
        except (InputError, MemoryError):
            raise
        except ImportError:
            package, extra = formats.EXTRAS.get(path.suffix, ("openpyxl", "excel"))
            remedy = f"install chanceline[{extra}] or save the table as CSV"
            raise InputError(f"{path.name} cannot be read without {package}; {remedy}.") from None
        except Exception as error:  # whatever the readers of damaged files raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(f"{path.name} could not be read as a table ({reason}).") from error
    if len(table.values) == 0:
        raise InputError(f"{path.name} has a header but no rows.")
    table.values = tidy_cells(table.values, settings.na)
    table.about = tidy_cells(table.about, settings.na)
    return table


def _find_role(table: RawTable, name: str, role: str, settings: TableSettings) -> pd.Series:
    """The column of blocks, groups or pairs; with `stem:` before its name the stems of what stands
    in it, and so on.
    """
    columns = {str(column) for part in (table.about, table.values) for column in part}
    cuts = 0
    while name not in columns and name.startswith(STEM):
        name = name.removeprefix(STEM).strip()
        cuts += 1
    column = without_empty(find_column(table, name, role), role, settings)
    for _ in range(cuts):
        stems = find_any_stems([plain_text(value) for value in column])
        if stems is None:
            shown = quoted([*dict.fromkeys(map(plain_text, column))], 3)
            what = f"the names in {role} column {name!r} ({shown}) have no stems in common"
            raise InputError(f"{what}; say {role}={name!r}.")
        column = pd.Series(stems.stems, index=column.index, name=column.name)
    return column


def _attach_second_file(table: RawTable, path: Path, settings: TableSettings) -> None:
    """Put what a second file says about the samples beside the table: by their names, or in their
    order if it has one column.
    """
    second = read_table(path, TableSettings(na=settings.na, header="first"))
    if settings.id is None and second.values.shape[1] == 1:
        attach_in_order(table, _only_column(path, second, settings), path.name)
        return
    if second.values.shape[1] > 0:
        second = read_table(path, TableSettings(na=settings.na))  # which looks whether the header is a sample
    attach_labels(table, second, path.name, settings)


def _only_column(path: Path, named: RawTable, settings: TableSettings) -> pd.Series:
    """A column that may have a name in its first line; `named` was read as if it had.

    The first line is a value if it occurs again below, or if all lines are numbers; else it is a
    name. Lines without a value are gaps, so that the lines below them keep their places.
    """
    lines = read_table(path, TableSettings(na=settings.na, header="none")).values.iloc[:, 0]
    first, *below = [plain_text(cell) for cell in lines]
    all_numbers = all(formats.is_number(cell) for cell in (first, *below))
    has_no_name = len(lines) > len(named.values) and (first in below or all_numbers)
    column = lines.rename("label") if has_no_name else named.values.iloc[:, 0]
    return column.reindex(range(column.index[0], column.index[-1] + 1))


def tidy_cells(table: pd.DataFrame, na: Collection[str]) -> pd.DataFrame:
    """The table with its text tidied, so that `no` with a tab before it is `no`, and a cell of
    spaces is empty.
    """
    absent = ABSENT | set(na)
    tidied = table.copy(deep=False)
    for place in np.flatnonzero(~numeric_columns(table)):
        column = table.iloc[:, place]
        meant: dict[str, str | None] = {}  # of the cells that are not as they should be
        for cell in column.dropna().unique():
            if not isinstance(cell, str):
                continue
            text = tidy_text(cell)
            if text == "" or (text != cell and text in absent):
                meant[cell] = None
            elif text != cell:
                meant[cell] = text
        if meant:
            cells = [meant.get(cell, cell) if isinstance(cell, str) else cell for cell in column]
            tidied.isetitem(place, pd.Series(cells, index=column.index, dtype=object))
    return tidied


def _read(file: IO[bytes], path: Path, settings: TableSettings, label: str | None) -> RawTable:
    if path.suffix == ".h5ad":
        import anndata

        return _from_anndata(anndata.read_h5ad(path), label, settings)
    if path.suffix == ".npz":
        return RawTable(*formats.read_npz(file, path.name, settings.transpose))
    if path.suffix in (".parquet", ".pq"):
        frame = formats.read_parquet(file)
        return _from_grid(list(frame.columns), frame, path.name, replace(settings, header="first"))
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
        table = _transposed(values, path.name)
        return replace(table, about=about.set_index(table.values.index))
    return _from_grid(*formats.read_text(text, path.name, settings), path.name, settings)


def _from_object(data: Any, label: str | None, settings: TableSettings) -> RawTable:
    """A table in memory: AnnData, or what is or becomes a DataFrame."""
    if hasattr(data, "obs") and hasattr(data, "var_names"):
        return _from_anndata(data, label, settings)
    frame = data.to_pandas() if hasattr(data, "to_pandas") else pd.DataFrame(data).copy(deep=False)
    table = _from_grid([str(name) for name in frame], frame, type(data).__name__, replace(settings, header="first"))
    index = named_index(frame)
    if index is not None and not settings.transpose:
        table.index_called = str(index.name)
    return table


def _from_anndata(data: Any, label: str | None, settings: TableSettings) -> RawTable:
    """X or a layer, and `obs` beside it; with `pseudobulk` the sums over each donor's cells, and what these have in common."""
    if settings.layer is not None and settings.layer not in data.layers:
        raise InputError(f"there is no layer {settings.layer!r}; there are {quoted([*data.layers]) or 'none'}.")
    X, rows = data.X if settings.layer is None else data.layers[settings.layer], data.obs_names
    about, sentence = tidy_cells(data.obs, settings.na).assign(obs_names=rows), ""
    if settings.pseudobulk is not None:
        donors, rows = pd.factorize(find_column(RawTable(pd.DataFrame(), about), settings.pseudobulk, "pseudobulk").astype(str))
        alike = (about.groupby(donors).nunique(dropna=False) == 1).all()
        if not alike.get(label, True):
            raise InputError(f"cells of one {settings.pseudobulk!r} differ in {label!r}, so that their sum has no label.")
        X, about = (
            csr_array((np.ones(len(donors)), (donors, range(len(donors))))) @ X,
            about.loc[:, alike].groupby(donors).first(),
        )
    elif not (settings.groups or settings.pairs or settings.independent):
        sentence = (
            "the rows of AnnData are cells as a rule, and those of one donor are not independent; sum them with "
            "pseudobulk=COLUMN or name the donor with groups=COLUMN, or say independent='obs_names' if every row is a donor; "
            f"obs has {quoted([*data.obs])}."
        )
    index, dense = pd.Index([str(name) for name in rows]), X.toarray() if hasattr(X, "toarray") else X
    values = pd.DataFrame(dense, columns=[str(name) for name in data.var_names], index=index)
    return RawTable(values, about.set_index(index), undeclared=sentence)


def _from_grid(names: list[str] | None, body: pd.DataFrame, source: str, settings: TableSettings) -> RawTable:
    """Name the columns and put samples in rows; stop where the header seems to be a sample."""
    if names is None:
        names = [f"x{j}" for j in range(body.shape[1])]
    elif settings.header == "auto" and formats.is_sample(names, body):
        raise InputError(
            f"the first line of {source} looks like a sample, not like names ({quoted(names, 3)}); "
            "set header='none' if it is one, header='first' if these are names."
        )
    columns, findings = formats.unique_names(names)
    # A last separator makes a column without a name and without values.
    empty = [j for j, name in enumerate(names) if not name.strip() and body.iloc[:, j].isna().all()]
    body.columns = columns
    body = body.drop(columns=[columns[j] for j in empty]) if empty else body
    table = _transposed(body, source) if settings.transpose else RawTable(body)
    return replace(table, findings=findings + table.findings)


def _transposed(table: pd.DataFrame, source: str) -> RawTable:
    """Samples in rows, from a table with the features' names in its first column and samples in the others."""
    samples = table.iloc[:, 1:]
    numbers = samples.apply(pd.to_numeric, errors="coerce")
    words = (numbers.isna() & samples.notna()).to_numpy()
    described = words.mean(axis=0) > 0.5
    if described.all():
        raise InputError(f"{source} has no numbers beside its first column, so there is nothing to transpose.")
    columns, findings = formats.unique_names(["" if pd.isna(name) else str(name) for name in table.iloc[:, 0]])
    if described.any():
        findings.insert(0, Finding("note", f"text beside the names of features left out: {quoted(samples.columns[described])}."))
        samples, numbers, words = samples.loc[:, ~described], numbers.loc[:, ~described], words[:, ~described]
    ids = [str(name) for name in samples.columns]
    values = pd.DataFrame(numbers.to_numpy(dtype=float, na_value=np.nan).T, columns=columns, index=ids)
    # Rows of text, and of numbers too long for floats, stay as they are written.
    rounded = np.zeros(len(samples), dtype=bool)
    rounded[formats.inexact_columns(values)] = True
    for row in np.flatnonzero(words.any(axis=1) | rounded):
        values[columns[row]] = samples.iloc[row].to_numpy()
    return RawTable(values, ids=ids, findings=findings, index_called="samples")


def read_cells(cells: NDArray[Any], na: Collection[str]) -> tuple[NDArray[np.int64], Floats]:
    """What every cell is, and its number (of a censored value its limit); each different cell is read once."""
    codes, different = pd.factorize(cells.ravel())
    texts = [str(cell).strip() for cell in different]
    numbers = np.append(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=float), np.nan)
    kinds = np.where(np.isnan(numbers), GAP, NUMBER)  # the last stands for cells that pandas calls missing
    absent = ABSENT | set(na)
    for place, text in enumerate(texts):
        if text in absent:
            kinds[place], numbers[place] = GAP, np.nan
        elif kinds[place] == GAP:
            kinds[place], numbers[place] = _read_cell(text)
    return kinds[codes].reshape(cells.shape), numbers[codes].reshape(cells.shape)


def _read_cell(text: str) -> tuple[int, float]:
    limit = LIMIT.fullmatch(text)
    if limit:
        return ABOVE if limit[1] in ">≥" else BELOW, float(limit[2] or "nan")
    if text.casefold() in UNDETECTED:
        return BELOW, np.nan
    if GENOTYPE.fullmatch(text):
        return NUMBER, float(text.count("1"))
    if text.casefold() in TRUTH_VALUES:
        return TRUTH, TRUTH_VALUES[text.casefold()]
    return ALMOST if ALMOST_NUMBER.fullmatch(text) else WORD, np.nan


def numeric_features(table: pd.DataFrame, labels: Floats, settings: TableSettings, findings: list[Finding]) -> pd.DataFrame:
    """Numbers, also those written as text and censored ones as asked; other text is left out or made indicators."""
    numeric = numeric_columns(table)
    plain = (table if numeric.all() else table.loc[:, numeric]).astype(np.float64)
    if numeric.all():
        return plain
    others = table.loc[:, ~numeric]
    kinds, numbers = read_cells(others.to_numpy(dtype=object), settings.na)
    # TRUE and FALSE are 1 and 0 in a column of nothing else, as they are where no cell is empty;
    # elsewhere they are words.
    truth = kinds == TRUTH
    all_truth = np.all(truth | (kinds == GAP), axis=0)
    kinds[truth] = np.where(all_truth, NUMBER, WORD)[np.nonzero(truth)[1]]
    numbers[truth & ~all_truth] = np.nan
    odd, number = kinds >= ALMOST, (kinds == NUMBER) | (kinds == ALMOST) | np.isfinite(numbers)
    is_text = ~number.any(axis=0) | ((2 * odd.sum(axis=0) > (kinds != GAP).sum(axis=0)) & (kinds == WORD).any(axis=0))
    if odd[:, ~is_text].any():
        raise InputError(_about_odd_cell(others.loc[:, ~is_text], odd[:, ~is_text], settings))
    text = others.loc[:, is_text]
    indicators = _indicators(text, findings) if settings.one_hot and is_text.any() else pd.DataFrame(index=table.index)
    if is_text.any() and not settings.one_hot:
        left = f"{plural(text.shape[1], 'text column')} left out: {quoted(text.columns)}"
        categories = [name for name in text if not _differs_by_row(text[name])]
        which = "them" if len(categories) == text.shape[1] else quoted(categories)
        remedy = f"; one_hot=True makes indicators of {which}" if categories else ""
        findings.append(Finding("note", f"{left}{remedy}."))
    unknown = (kinds == BELOW) & np.isnan(numbers) & ~is_text & (settings.below == "half")
    remedy = "blocks=COLUMN if each run has its own limit"
    if settings.blocks is not None:
        remedy = "below='missing' with missing='columns' keeps that out"
    findings += gaps_follow_classes(unknown, labels, "values below a limit", remedy)
    numbers[:, ~is_text] = within_limits(others.loc[:, ~is_text], kinds[:, ~is_text], numbers[:, ~is_text], settings, findings)
    converted = pd.DataFrame(numbers[:, ~is_text], columns=others.columns[~is_text], index=table.index)
    joined = pd.concat([plain, converted, indicators], axis=1)
    return joined[[name for name in table.columns if name not in text] + list(indicators)]


def _about_odd_cell(table: pd.DataFrame, odd: NDArray[np.bool_], settings: TableSettings) -> str:
    """The sentence about the first cell that is no number in a column of numbers, with the remedy that works."""
    column = int(np.argmax(odd.any(axis=0)))
    count, row = int(odd[:, column].sum()), int(np.argmax(odd[:, column]))
    name, cell = str(table.columns[column]), str(table.iloc[row, column]).strip()
    remedy = f"write plain numbers, set na={cell!r} if that means missing"
    only_first_row = row == 0 and 2 * odd[0].sum() > odd.shape[1] and not odd[1:].any()
    if "," in cell and ALMOST_NUMBER.fullmatch(cell):
        remedy = "write numbers with a point and no comma"
        if settings.decimal != ",":
            remedy = f"set decimal=',' if commas are decimal, or {remedy}"
    elif only_first_row and settings.header == "none":
        remedy = "leave out header='none' if the first line holds names"
    elif only_first_row and settings.header != "2":
        remedy = "set header='2' if the header has two lines"
    where = row_name(table.index, row) + (f" (and in {plural(count - 1, 'more row')})" if count > 1 else "")
    return f"column {name!r} holds numbers, but {cell!r} in {where}; {remedy}, or leave it out with drop={name!r}."


def within_limits(
    table: pd.DataFrame, kinds: NDArray[np.int64], numbers: Floats, settings: TableSettings, findings: list[Finding]
) -> Floats:
    """Censored values as numbers. Below: half the largest lower limit of the column, or half its smallest value where no limit is
    written; or gaps. Above: the smallest upper limit. Whatever was measured beyond these limits is read alike.
    """
    censored = (kinds == BELOW) | (kinds == ABOVE)
    columns = np.flatnonzero(censored.any(axis=0))
    if not len(columns):
        return numbers
    what = f"{plural(int(censored.sum()), 'value')} beyond a limit of detection in {plural(len(columns), 'column')}"
    if settings.below is None:
        row = int(np.argmax(censored[:, columns[0]]))
        cell, name = str(table.iloc[row, columns[0]]).strip(), str(table.columns[columns[0]])
        raise InputError(
            f"{what} ({cell!r} in column {name!r}, {row_name(table.index, row)}); below='half' reads half the limit, "
            "below='missing' makes gaps of them."
        )
    low, high, measured = (np.where(kinds == kind, numbers, np.nan) for kind in (BELOW, ABOVE, NUMBER))
    lower, upper = np.fmax.reduce(low), np.fmin.reduce(high)
    differing = table.columns[(np.fmin.reduce(low) < lower) | (np.fmax.reduce(high) > upper)]
    # NaN where a column has none, and then nothing lies beyond.
    lower = np.where((kinds == BELOW).any(axis=0), np.where(np.isnan(lower), np.fmin.reduce(measured), lower), np.nan)
    upper = np.where((kinds == ABOVE).any(axis=0), np.where(np.isnan(upper), np.fmax.reduce(measured), upper), np.nan)
    if settings.below == "half" and (lower < 0).any():
        name = str(table.columns[np.argmax(lower < 0)])
        raise InputError(f"column {name!r} has a limit below 0, half of which lies above it; set below='missing'.")
    numbers = np.where((kinds == ABOVE) | (numbers > upper), upper, numbers)
    numbers = np.where((kinds == BELOW) | (numbers < lower), lower / 2 if settings.below == "half" else np.nan, numbers)
    read = "half the limit" if settings.below == "half" else "missing"
    strict = f"; limits differ within {quoted(differing)}, and the strictest holds for all rows" if len(differing) else ""
    findings.append(Finding("prepared", f"{what} read as {read} (those above an upper limit as that limit){strict}."))
    return numbers


def _indicators(table: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    """One column of 0 and 1 for every value of text, named `site=north`; of two values for the last
    in the alphabet only.

    The two halves of a column with two values say the same twice. A gap in such a column stays a
    gap; with more values it is 0 in all indicators.
    """
    many = [name for name in table if _differs_by_row(table[name])]
    if many:
        findings.append(Finding("note", f"left out, as almost every row has a value of its own: {quoted(many)}."))
    indicators: dict[str, pd.Series] = {}
    halves = []
    for name, column in table.drop(columns=many).astype("string").items():
        values = sorted(column.dropna().unique())
        if len(values) == 2:
            last = f"{name}={values[1]}"
            halves.append(last)
            indicators[last] = (column == values[1]).astype(float).mask(column.isna())
        else:
            for value in values:
                indicators[f"{name}={value}"] = (column == value).fillna(False).astype(float)
    if halves:
        what = "text of two values has one indicator, for the value that is last in the alphabet"
        findings.append(Finding("note", f"{what}: {quoted(halves)}."))
    return pd.DataFrame(indicators, index=table.index)


def _differs_by_row(column: pd.Series) -> bool:
    """Whether almost every row has a text of its own, so that indicators would say nothing."""
    return bool(column.nunique() > 0.5 * len(column))


def without_gaps(
    features: pd.DataFrame, labels: Floats, missing: str, findings: list[Finding]
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Features without missing or infinite values, treated as `missing` says, and the rows that are left."""
    values = features.to_numpy()
    gaps = ~np.isfinite(values)
    columns, rows = gaps.any(axis=0), gaps.any(axis=1)
    everyone = np.ones(len(features), dtype=bool)
    if not columns.any():
        return features, everyone
    what = "missing or infinite values" if np.isinf(values).any() else "missing values"
    n_columns, n_rows = plural(int(columns.sum()), "column"), plural(int(rows.sum()), "row")
    whole = {"columns": not columns.all(), "rows": not rows.all()}
    safe = [f"missing={one!r}" for one, some in whole.items() if some]
    uneven = gaps_follow_classes(gaps, labels, "gaps", f"{' or '.join(safe) or 'no fill'} keeps that out")
    if missing == "error" or not whole.get(missing, True):
        first = int(np.argmax(columns))
        where = f"column {str(features.columns[first])!r} first, in {row_name(features.index, int(np.argmax(gaps[:, first])))}"
        choices = f"choose {' or '.join([*safe, *(f'missing={one!r}' for one in FILLS)])}."
        raise InputError(f"{n_columns} and {n_rows} have {what} ({where}); {uneven[0].message if uneven and safe else choices}")
    if missing == "columns":
        findings.append(Finding("prepared", f"{n_columns} with {what} left out: {quoted(features.columns[columns])}."))
        return features.loc[:, ~columns], everyone
    if missing == "rows":
        findings.append(Finding("prepared", f"{n_rows} with {what} left out."))
        return features.loc[~rows], ~rows
    findings += uneven
    features = features.mask(gaps).loc[:, ~gaps.all(axis=0)]
    fill = features.median() if missing == "median" else features.min() / (2 if missing == "half-min" else 1)
    findings += gaps_follow_small_values(features) if missing == "median" else []
    filled = fill[columns[~gaps.all(axis=0)]]
    if missing == "half-min" and (filled < 0).any():
        name = str(filled.index[filled < 0][0])
        raise InputError(f"column {name!r} has values below 0, half of which is more; set missing='min'.")
    findings.append(Finding("prepared", f"{what} in {n_columns} filled with {FILLS[missing]}."))
    return features.fillna(fill), everyone


def transformed(X: Floats, kind: str, names: pd.Index) -> Floats:
    """The table in other units, row by row (cpm, clr), cell by cell (log) or column by column (rank)."""
    if kind == "rank":
        return pd.DataFrame(X).rank().to_numpy()
    if X.min() < 0:
        name = str(names[np.argmax(X.min(axis=0) < 0)])
        raise InputError(f"transform={kind!r} needs values from 0 on, but column {name!r} has some below.")
    zeros, totals = float((X == 0).any()), X.sum(axis=1, keepdims=True)
    if kind == "cpm" and not totals.all():
        raise InputError(
            f"transform='cpm' needs something in every row, but {plural(int(np.sum(totals == 0)), 'row')} have none."
        )
    if kind == "clr":
        logs = np.log(X + 0.5 * zeros)
        return logs - logs.mean(axis=1, keepdims=True)
    return 1e6 * X / totals if kind == "cpm" else np.log2(X + zeros)
