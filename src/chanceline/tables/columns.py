"""The columns of a table in their roles (the label and its two classes, blocks and groups, features as numbers), and what to
know about the data before believing a test on them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats, contradicting_rows
from chanceline.tables.classes import choose_positive
from chanceline.tables.dataset import Finding, TableSettings, plural, quoted, row_name
from chanceline.tables.formats import DATE, is_number
from chanceline.tables.subjects import subject_columns

IDENTIFIER = re.compile(
    r"(?i:(^|[\s_.\-])(ids?|index|idx|uuid|key|row|rownames?|row name|no|nr|number|code|barcode|accession|mrn|order|"
    r"(sample|subject|patient|participant|donor|specimen|case|record|run|injection)(id|no|nr|number)?)$|^unnamed: \d+$)"
    r"|[a-z]I[Dd]$"
)
DATE_NAME = re.compile(r"(?i:(^|[\s_.\-])(date|datum|datetime|timestamp)([\s_.\-]|$))|[a-z]Date$")
UNSEEN = re.compile("[\u200b\u2060\ufeff]")  # letters without width, which no program shows
WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:\.0*)?")
FEWEST_SORTED = 10  # rows whose order a column of measurements will not follow by chance
LEVEL = 0.05  # of diagnostics
# A table of counts has at least COUNTED_COLUMNS columns with at least LARGE_COUNTS different values
# from LARGE_COUNT on. Answers of a survey are small codes, perhaps with 77, 88 and 99 for none, and
# an age or two stands beside them.
COUNTED_COLUMNS = 10
LARGE_COUNT = 10
LARGE_COUNTS = 4
STEP = 5  # of scales from 0 to 100, which are no counts


@dataclass
class RawTable:
    """A file as it was read: samples in rows.

    Attributes
    ----------
    values : columns that may be features, the label, blocks or groups; its index is what the user's
        program calls the rows.
    about : columns that describe the samples and are never features, from a second file or a
        header.
    ids : names of the samples, where they are no column (in a transposed table).
    index_called : what to call the index of `values` where it holds names of samples that are no
        column; else empty.
    findings : what was noticed on the way.
    undeclared : why a test stops unless something is said about the design.
    """

    values: pd.DataFrame
    about: pd.DataFrame = field(default_factory=pd.DataFrame)
    ids: list[str] | None = None
    findings: list[Finding] = field(default_factory=list)
    undeclared: str = ""
    index_called: str = ""

    @property
    def sample_names(self) -> pd.Series | None:
        """The names of the samples that are no column: a header, or the index of a data frame."""
        if not self.index_called:
            return None
        index = self.values.index
        return pd.Series([str(name) for name in index], index=index, name=self.index_called)


def attach_labels(table: RawTable, second: RawTable, where: str, settings: TableSettings) -> None:
    """Put the columns of a second file beside the table, sample by sample; those of a CLS file in their order."""
    if second.values.shape[1] == 0:
        if len(second.about) != len(table.values):
            raise InputError(f"{where} holds classes of {len(second.about)} samples, but the table has {len(table.values)}.")
        table.about = second.about.set_index(table.values.index)
        return
    ids = second.values.iloc[:, 0] if settings.id is None else find_column(RawTable(second.values), settings.id, "id")
    column = str(ids.name)
    rows = second.values.set_index(ids.map(plain_text)).drop(columns=column)
    if not rows.index.is_unique:
        repeated = rows.index[rows.index.duplicated()][0]
        raise InputError(f"{where} has two rows for {repeated!r} in column {column!r}; every sample needs one row.")
    own = pd.Index(_own_ids(table, column, set(rows.index), where))
    known = own.isin(rows.index)
    if not known.all():
        absent = own[~known]
        what = f"{plural(len(absent), 'sample')} of the table not found in column {column!r} of {where} ({quoted(absent, 3)})"
        if settings.missing != "rows":
            raise InputError(f"{what}; add them there, or leave them out with missing='rows'.")
        table.findings.append(Finding("warning", f"{what}: left out."))
        table.values = table.values.loc[known]
    table.about = rows.loc[own[known]].set_index(table.values.index)


def attach_in_order(table: RawTable, column: pd.Series, where: str) -> None:
    """Put the one column of a second file beside the table, in the order of the rows."""
    if len(column) != len(table.values):
        sizes = f"one column with {plural(len(column), 'row')}, but the table has"
        remedy = "write one row for every sample in the same order, or add a column with their names"
        raise InputError(f"{where} has {sizes} {plural(len(table.values), 'sample')}; {remedy}.")
    table.about = pd.DataFrame({str(column.name): column.to_numpy()}, index=table.values.index)
    what = f"{where} has one column, {str(column.name)!r}, whose rows were taken to be"
    table.findings.append(Finding("note", f"{what} the samples in the same order."))


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
    what = f"no column of the table holds the names of column {column!r} of {where}"
    remedy = "add them to the table, or give a file with one column, which is joined in the order of the rows"
    raise InputError(f"{what} ({quoted(sorted(wanted), 3)}); {remedy}.")


def find_column(table: RawTable, name: str, role: str) -> pd.Series:
    """The column meant, first among those about the samples: by name in any case, or by its number from 0 (also from the end)."""
    for part in (table.about, table.values):
        names = [str(column) for column in part.columns]
        alike = [one for one in names if one == name] or [one for one in names if one.lower() == name.strip().lower()]
        if len(alike) == 1:
            return part[alike[0]]
        if re.fullmatch(r"-?\d+", name) and -len(names) <= int(name) < len(names):
            return part.iloc[:, int(name)]
    sample_names = table.sample_names
    if sample_names is not None and name.strip().lower() == str(sample_names.name).lower():
        return sample_names
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
    return table.about.iloc[:, 0] if name is None else find_column(table, name, "label")


def _where_else(table: RawTable, name: str | None) -> str:
    """Where the label could be: a column with two values, or a row of a transposed table."""
    values = table.values
    first = values.iloc[:, 0].astype(str).str.strip() if values.shape[1] > 2 else pd.Series(dtype=str)
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes]
    # A first column of different names and numbers beside it: the label is in a row, or there are more rows than columns.
    long = len(values) > values.shape[1] and first.is_unique and sum(numeric[1:]) > 0.8 * len(numeric[1:])
    in_a_row = name is not None and name.strip().lower() in set(first.str.lower())
    if table.ids is None and len(first) and not numeric[0] and (long or in_a_row):
        another = "" if table.about.shape[1] else " (and labels=FILE if another file has the classes)"
        return f"the table seems to have features in rows; set transpose=True{another}."
    two = [str(column) for part in (table.about, table.values) for column in part if part[column].nunique() == 2]
    if two:
        return f"columns with two values: {quoted(two)}."
    if table.about.shape[1]:
        return "no column has exactly two values."
    return "no column has exactly two values; if another file has the classes, say labels=FILE."


def without_empty(column: pd.Series, role: str, settings: TableSettings) -> pd.Series:
    """The column, every cell of which must be filled."""
    if column.isna().any():
        row = int(np.argmax(column.isna()))
        remedy = "leave such rows out with unlabelled='drop'" if role == "label" else "remove that row"
        if row == 0 and settings.header != "2":
            remedy = f"{remedy}, or set header='2' if the header has two lines"
        where = row_name(column.index, row)
        raise InputError(f"{role} column {str(column.name)!r} is empty (or NA) in {where}; fill it in or {remedy}.")
    return column


def labelled_rows(column: pd.Series, settings: TableSettings, findings: list[Finding]) -> NDArray[np.bool_]:
    """The rows to compare: those with a label, and of the classes asked for; the others are left out, which is said."""
    kept = column.notna().to_numpy() | (settings.unlabelled != "drop")
    if not kept.all():
        findings.append(Finding("note", f"{plural(int(np.sum(~kept)), 'row')} without a label left out."))
    # As objects: a column of categories would count those that no row has.
    texts = without_empty(column[kept], "label", settings).astype(object).map(plain_text)
    wanted, spelled = [*map(_spelling, settings.classes)], column.map(_spelling)
    absent = [one for one, spelling in zip(settings.classes, wanted, strict=True) if spelling not in set(spelled)]
    if absent or len(wanted) == 1:
        said = f"the class {absent[0]!r} is not in" if absent else "at least two classes are needed of"
        raise InputError(f"{said} label column {str(column.name)!r}; it has {quoted(sorted(set(texts)))}.")
    others = texts[~texts.map(_spelling).isin(wanted or spelled)].value_counts()
    if len(others):
        counts = ", ".join(f"{number} {name}" for name, number in others.items())
        findings.append(Finding("note", f"{plural(int(others.sum()), 'row')} of other classes left out ({counts})."))
    return kept & spelled.isin(wanted or spelled).to_numpy()


def read_labels(column: pd.Series, settings: TableSettings, findings: list[Finding]) -> tuple[Floats, tuple[str, str]]:
    """Labels ±1 and the names of the negative and the positive class (`chanceline.tables.classes` says which that is)."""
    name, positive = str(column.name), settings.positive or next(iter(settings.classes), None)
    if len(column) == 0:
        raise InputError(f"label column {name!r} is empty in every row; name another column.")
    texts = column.map(plain_text)
    if settings.split_at is not None:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.isna().any():
            raise InputError(f"split_at needs numbers, but label column {name!r} has {texts[numbers.isna()].iloc[0]!r}.")
        texts = (numbers < settings.split_at).map({True: f"<{settings.split_at:g}", False: f"≥{settings.split_at:g}"})
    values = sorted(texts.unique(), key=lambda text: (0, float(text), text) if is_number(text) else (1, 0.0, text))
    spellings: dict[str, str] = {}
    for value in values:
        other = spellings.setdefault(_spelling(value), value)
        if other != value:
            raise InputError(f"label column {name!r} has {other!r} and {value!r}; write them alike if they are one class.")
    if len(values) < 2:
        raise InputError(f"label column {name!r} has one class only ({values[0]!r} in every row); two are needed.")
    if settings.positive is None and len(values) > 2:
        many = f"label column {name!r} has {len(values)}"
        if pd.api.types.is_float_dtype(column) or len(values) > 0.5 * len(column):
            split = "split it at a value fixed beforehand with split_at=VALUE, or " * pd.api.types.is_numeric_dtype(column)
            raise InputError(f"{many} different values, and two classes are needed; {split}name another column.")
        raise InputError(
            f"{many} classes ({quoted(values)}); compare two, as with classes={','.join(values[:2])!r}, "
            f"or set one against the rest, as with positive={values[0]!r}."
        )
    if positive is not None:
        # The classes are alike in no other way, so that case does not matter.
        wanted = spellings.get(_spelling(positive))
    elif settings.split_at is not None:
        # The values at or above the limit.
        wanted = values[1]
    else:
        sizes = [int((texts == value).sum()) for value in values]
        wanted = values[choose_positive(values, sizes)]
    if wanted is None:
        raise InputError(f"the positive class {positive!r} is not in label column {name!r}; it has {quoted(values)}.")
    others = [value for value in values if value != wanted]
    if len(others) > 1:
        findings.append(Finding("note", f"class {wanted!r} is set against all {len(others)} others."))
    return np.where(texts.to_numpy() == wanted, 1.0, -1.0), (others[0] if len(others) == 1 else "others", wanted)


def classes_of_array(y: ArrayLike, labels: Floats, positive: Any = None) -> tuple[Floats, tuple[Any, Any]]:
    """Labels ±1, and the negative and the positive class as an array of labels has them.

    Parameters
    ----------
    y : two values, one for each sample.
    labels : ±1, the larger value positive.
    positive : the class to call positive; None chooses it (`chanceline.tables.classes`).
    """
    classes = np.unique(np.asarray(y)).tolist()
    if positive is None:
        n_larger = int(np.sum(labels > 0))
        names = [plain_text(one) for one in classes]
        place = choose_positive(names, (len(labels) - n_larger, n_larger))
    else:
        spellings = [_spelling(one) for one in classes]
        if _spelling(positive) not in spellings:
            raise InputError(f"the positive class {positive!r} is not in y; it has {quoted(classes)}.")
        place = spellings.index(_spelling(positive))
    if place == 1:
        return labels, (classes[0], classes[1])
    return -labels, (classes[1], classes[0])


def _spelling(value: Any) -> str:
    """What is the same for all ways to write a class."""
    return " ".join(plain_text(value).casefold().split())


def tidy_text(text: str) -> str:
    """The text without spaces of any kind around it, and with one plain space wherever there are
    some in it.
    """
    return " ".join(UNSEEN.sub("", text).split())


def plain_text(value: Any) -> str:
    """One spelling for a class or a sample: `1`, `1.0` and ` 1 ` are the same; every digit of a
    long number counts.
    """
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    text = tidy_text(str(value))
    whole = WHOLE_NUMBER.fullmatch(text)
    return text if whole is None else str(int(whole[1]))


def without_dates(
    table: pd.DataFrame,
    labels: Floats,
    findings: list[Finding],
    within: pd.Series | None = None,
) -> pd.DataFrame:
    """The columns that are no dates: these say when a sample was taken, and a warning follows if
    that tells the classes apart.

    `within`: blocks or pairs that the labels are exchanged in.
    """
    likely = [name for name, known in zip(table, numeric_columns(table), strict=True) if not known or DATE_NAME.search(str(name))]
    dates = {name: when for name in likely if (when := _dates(table[name])) is not None}
    if dates:
        are_numbers = [name for name in dates if pd.api.types.is_numeric_dtype(table[name])]
        remedy = f"; keep_identifiers=True keeps {quoted(are_numbers)}" if are_numbers else ""
        findings.append(Finding("note", f"left out as dates: {quoted([*dates])}{remedy}."))
    findings += [one for name, when in dates.items() for one in dates_follow_classes(name, when, labels, within)]
    return table.drop(columns=[*dates]) if dates else table


def numeric_columns(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Which columns hold numbers; a wide table has few types."""
    kinds = table.dtypes
    known = {kind: pd.api.types.is_numeric_dtype(kind) for kind in kinds.unique()}
    return np.array([known[kind] for kind in kinds], dtype=np.bool_)


def _dates(column: pd.Series) -> pd.Series | None:
    """The column as numbers in the order of time, None for text that is no date."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return column.rank()
    texts = column.astype("string").str.strip()
    if texts.isna().all() or not DATE.fullmatch(texts.dropna().iloc[0]) or not texts.dropna().str.fullmatch(DATE.pattern).all():
        return None
    first, second, third = (texts.str.extract(r"(\d+).(\d+).(\d+)")[place].astype(float) for place in range(3))
    in_order = (third, first, second) if second.max() > 12 else (third, second, first)
    year, month, day = (first, second, third) if first.max() > 31 else in_order
    return 10000 * year + 100 * month + day


def without_identifiers(
    features: pd.DataFrame, labels: Floats, findings: list[Finding], within: pd.Series | None = None
) -> pd.DataFrame:
    """The features that are no names of rows or subjects, and no days written as 20210304."""
    rows = features.columns[row_identifiers(features.to_numpy(), features.columns)]
    found = [*dict.fromkeys([*subject_columns(features), *rows])]
    if not found:
        return features
    findings.append(Finding("note", f"left out as identifiers or dates: {quoted(found)}; keep_identifiers=True keeps them."))
    days = (name for name in found if np.all(are_days(features[name])))
    findings += [one for name in days for one in dates_follow_classes(name, features[name], labels, within)]
    return features.drop(columns=found)


# What to know about the data: these look at the labels and change no number. Their p-values are asymptotic or Bonferroni's.


def area_under_curve(values: Floats, labels: Floats) -> tuple[float, float]:
    """How well a number tells the classes apart (the area under the ROC curve, positives high), and the two-sided p-value of
    Mann and Whitney with the variance for ties (asymptotic).
    """
    ranks = pd.Series(values).rank().to_numpy()
    n, positives = len(labels), int(np.sum(labels > 0))
    area = (ranks[labels > 0].mean() - (positives + 1) / 2) / (n - positives)
    spread = ranks.var(ddof=1) / (positives * (n - positives) * n) if n > 1 else 0.0
    return float(area), float(2 * ndtr(-abs(area - 0.5) / sqrt(spread))) if spread > 0 else 1.0


def rank_pvalue(values: Floats, labels: Floats, within: pd.Series) -> float:
    """Two-sided p-value of the sum of the positives' ranks, labels exchanged within blocks
    (asymptotic).

    T = Σ (r_i − r̄)(x_i − x̄) with the means of i's block, x_i = 1 for positives. Its variance over
    all exchanges is the sum over blocks of Σ(r_i − r̄)² Σ(x_i − x̄)²/(n − 1). With one block this
    is the test of Mann and Whitney.
    """
    ranks = pd.Series(values).rank()
    positive = pd.Series(np.where(labels > 0, 1.0, 0.0))
    block = pd.Series(within.to_numpy())
    ranks = ranks - ranks.groupby(block).transform("mean")
    positive = positive - positive.groupby(block).transform("mean")
    total = float((ranks * positive).sum())
    rank_squares = (ranks**2).groupby(block).sum()
    positive_squares = (positive**2).groupby(block).sum()
    freedom = (block.groupby(block).size() - 1).clip(lower=1)
    variance = float((rank_squares * positive_squares / freedom).sum())
    return float(2 * ndtr(-abs(total) / sqrt(variance))) if variance > 0 else 1.0


def _if_small(pvalue: float, message: str) -> list[Finding]:
    return [Finding("warning", message)] if pvalue <= LEVEL else []


def dates_follow_classes(
    name: Any,
    when: pd.Series,
    labels: Floats,
    within: pd.Series | None = None,
) -> list[Finding]:
    """Whether the time of sampling tells the classes apart, where there are blocks or pairs
    `within` these.
    """
    times = when.fillna(when.median()).to_numpy()
    if within is not None:
        pvalue = rank_pvalue(times, labels, within)
        within_what = f"within the {plural(within.nunique(), 'value')} of {str(within.name)!r} too"
        what = f"the dates in {str(name)!r} tell the classes apart {within_what} (p = {pvalue:.2g})"
        drift = "so does whatever drifts with time; smaller blocks keep it out"
        return _if_small(pvalue, f"{what}, and {drift}.")
    area, pvalue = area_under_curve(times, labels)
    return _if_small(
        pvalue,
        f"the dates in {str(name)!r} tell the classes apart (area under the curve {max(area, 1 - area):.2f}, p = {pvalue:.2g}), "
        "and so does whatever drifts with time; blocks=COLUMN of runs with both classes keeps it out.",
    )


def gaps_follow_classes(marks: NDArray[np.bool_], labels: Floats, what: str, remedy: str) -> list[Finding]:
    """Whether marked cells are more frequent in one class: in all (by rows), or in some column (Fisher's exact test)."""
    if not marks.any():
        return []
    from scipy.stats import hypergeom

    marked, positive = marks[:, marks.any(axis=0)], labels > 0
    inside = marked[positive].sum(axis=0)
    sizes = len(labels), int(positive.sum()), marked.sum(axis=0)
    tails = np.minimum(hypergeom.cdf(inside, *sizes), hypergeom.sf(inside - 1, *sizes))
    _, by_rows = area_under_curve(marked.sum(axis=1), labels)
    pvalue = min(1.0, 2 * by_rows, 4 * marked.shape[1] * float(tails.min()))
    shares = f"{marked[positive].mean():.0%} and {marked[~positive].mean():.0%} of the cells concerned"
    return _if_small(
        pvalue, f"{what} differ between the classes ({shares}, p = {pvalue:.2g}) and may be all the test sees; {remedy}."
    )


def gaps_follow_small_values(features: pd.DataFrame) -> list[Finding]:
    """Whether columns of small values have more gaps (Spearman's correlation, one-sided)."""
    ranks = pd.DataFrame({"value": features.median(), "gaps": features.isna().mean()}).rank()
    correlation = float(ranks["value"].corr(ranks["gaps"])) if len(ranks) > 2 else 0.0
    pvalue = float(ndtr(correlation * sqrt(max(len(ranks) - 1, 0))))
    return _if_small(
        pvalue,
        f"columns of small values have more gaps (Spearman {correlation:.2f}, p = {pvalue:.2g}), as values below a limit of "
        "detection do; the median hides that, missing='half-min' keeps it.",
    )


def totals_follow_classes(X: Floats, labels: Floats) -> list[Finding]:
    """Whether a table is one of counts, and its rows' totals tell the classes apart."""
    if not are_counts(X):
        return []
    area, pvalue = area_under_curve(X.sum(axis=1), labels)
    return _if_small(
        pvalue,
        f"the table holds counts, and the totals of its rows alone tell the classes apart (area under the curve "
        f"{max(area, 1 - area):.2f}, p = {pvalue:.2g}), so that depth looks like structure; transform='clr' or transform='cpm' "
        "takes it out, transform='none' says that totals are meant.",
    )


def are_counts(X: Floats) -> bool:
    """Whether the table holds counts: whole numbers from 0 on that take many values beyond those of
    codes and scales.
    """
    # One row tells most other tables from counts.
    for part in (X[0], X):
        if not np.all((part >= 0) & (np.round(part) == part)):
            return False
    counted = 0
    for column in X.T:
        large = np.unique(column[column >= LARGE_COUNT])
        if len(large) >= LARGE_COUNTS and np.any(large % STEP != 0):
            counted += 1
            if counted == COUNTED_COLUMNS:
                return True
    return False


def row_identifiers(X: Floats, names: Sequence[Any]) -> NDArray[np.int64]:
    """Columns of whole numbers that name the rows: all different, and they count the rows, follow their order or are called so;
    and days written as 20210304.
    """
    if len(X) < 4:
        return np.array([], dtype=np.int64)
    # Days, or different in the first rows at least: columns are copied only if they may be either.
    different = np.all(np.diff(np.sort(X[:20], axis=0), axis=0) > 0, axis=0)
    whole = np.flatnonzero((X[0] == np.round(X[0])) & (different | (X[0] > 19000000)))
    whole = whole[np.all(X[:, whole] == np.round(X[:, whole]), axis=0)]
    values = X[:, whole]
    ordered, steps = np.sort(values, axis=0), np.diff(values, axis=0)
    different = np.all(np.diff(ordered, axis=0) > 0, axis=0)
    counting = ordered[-1] - ordered[0] == len(X) - 1
    follows = (np.all(steps > 0, axis=0) | np.all(steps < 0, axis=0)) & (len(X) >= FEWEST_SORTED)
    called = np.array([bool(IDENTIFIER.search(str(names[j]).strip())) for j in whole.tolist()], dtype=np.bool_)
    return whole[(different & (counting | follows | called)) | np.all(are_days(values), axis=0)]


def about_identifiers(X: Floats, names: Sequence[Any]) -> list[str]:
    """One sentence about the columns that look like identifiers, if there are any."""
    found = [str(names[j]) for j in row_identifiers(X, names)]
    if not found:
        return []
    if len(found) == 1:
        return [f"column {found[0]!r} looks like an identifier of rows and should not be a feature."]
    return [f"columns {quoted(found)} look like identifiers of rows and should not be features."]


def are_days(values: Any) -> Any:
    """Whether numbers are days as 20210304."""
    month, day = values // 100 % 100, values % 100
    return (values >= 19000101) & (values < 21000101) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)


def examine(
    X: Floats,
    y: Floats,
    names: Sequence[str],
    rows: Sequence[Any] | None = None,
    *,
    identifiers: bool = True,
) -> list[Finding]:
    """What bears on a verdict about checked data (finite numbers, labels ±1); `rows` are called
    from 1 on by default.

    `identifiers` are looked for among values as they were measured: ranks of a column all look like
    them.
    """
    found = []
    called = rows or range(1, len(X) + 1)
    pairs = contradicting_rows(X, y)
    if pairs:
        shown = "; ".join(f"{called[i]} and {called[k]}" for i, k in pairs[:3]) + ("; …" if len(pairs) > 3 else "")
        found.append(f"rows {shown} are equal but have opposite labels, so no rule whatever separates these data.")
    found += about_identifiers(X, names) if identifiers else []
    # Columns that may be the label: alike in the first and last row of each class.
    positive = y > 0
    ends = [X[np.flatnonzero(members)[[0, -1]]] for members in (positive, ~positive)]
    likely = np.flatnonzero((ends[0][0] == ends[0][1]) & (ends[1][0] == ends[1][1]) & (ends[0][0] != ends[1][0]))
    same = likely[np.all(X[:, likely] == np.where(positive[:, None], ends[0][0, likely], ends[1][0, likely]), axis=0)]
    found += [f"column {names[j]!r} is the label over again; leave it out unless it was measured independently." for j in same]
    return [Finding("warning", one) for one in found]
