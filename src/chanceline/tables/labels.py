"""The column of the label, the rows to compare, and their two classes as labels ±1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.classes import choose_positive
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable, numeric_columns
from chanceline.tables.roles import no_such_column, require_filled
from chanceline.tables.settings import TableSettings
from chanceline.tables.spelling import folded_name, is_number, plain_text
from chanceline.tables.wording import plural, quoted

# A table has features in rows if beside its first column a larger share of columns are numbers.
MOSTLY_NUMERIC = 0.8
# A label with more values than this share of the rows is a measurement, not a class.
LARGEST_SHARE_OF_CLASSES = 0.5


def find_label_column(table: RawTable, name: str | None) -> pd.Series:
    """Find the column of the label; if there is none, an error proposes columns.

    Parameters
    ----------
    table : the table as it was read. `table.descriptions` holds the columns that describe the
        samples, from a second file or an `.npz`.
    name : the name or the number of the column. None takes the only column of
        `table.descriptions`; any other number of columns there is an error.
    """
    if name is None:
        n_descriptions = table.descriptions.shape[1]
        if n_descriptions == 1:
            return table.descriptions.iloc[:, 0]
        hint = _hint_at_label(table, None)
        raise InputError(f"say which column holds the classes (label=NAME); {hint}")
    column = table.column(name)
    if column is None:
        hint = _hint_at_label(table, name)
        raise InputError(no_such_column(table, name, "label", hint))
    return column


def _hint_at_label(table: RawTable, name: str | None) -> str:
    """The end of an error message about a label's column that was not found.

    It proposes to transpose the table, or columns with two values, or a second file.

    Parameters
    ----------
    table : the table as it was read.
    name : the name that the user gave for the label's column; None if there was none.
    """
    # The columns of a second file are the descriptions of the samples.
    has_second_file = table.descriptions.shape[1] > 0
    two_value_columns = [
        *_columns_with_two_values(table.descriptions),
        *_columns_with_two_values(table.values),
    ]
    if _seems_to_have_features_in_rows(table, name):
        return _hint_to_transpose(two_value_columns, table.values.shape[1], has_second_file)
    if two_value_columns:
        return f"columns with two values: {quoted(two_value_columns)}."
    if has_second_file:
        return "no column has exactly two values."
    return "no column has exactly two values; if another file has the classes, say labels=FILE."


def _hint_to_transpose(two_value_columns: list[str], n_columns: int, has_second_file: bool) -> str:
    """The end of an error message about a table that seems to have features in rows.

    Parameters
    ----------
    two_value_columns : the names of the columns with two values.
    n_columns : the number of columns of the table.
    has_second_file : whether a second file was given already.
    """
    remedy = "set transpose=True"
    if not has_second_file:
        remedy += " (and labels=FILE if another file has the classes)"

    # If features are in rows, columns are samples. Then no column has just two values, or most have
    # (0 and 1, if the features are indicators). If only some have, they may be labels after all,
    # and are proposed too.
    some_but_not_most = 0 < 2 * len(two_value_columns) < n_columns
    if some_but_not_most:
        columns = quoted(two_value_columns)
        return f"columns with two values: {columns}; if features are in rows, {remedy}."
    return f"the table seems to have features in rows; {remedy}."


def _columns_with_two_values(frame: pd.DataFrame) -> list[str]:
    """Names of the columns with two values.

    Columns of words come before columns of numbers, as they are more often classes.
    """
    words = []
    numbers = []
    for name in frame:
        column = frame[name]
        if column.nunique() != 2:
            continue
        if pd.api.types.is_numeric_dtype(column):
            numbers.append(str(name))
        else:
            words.append(str(name))
    return [*words, *numbers]


def _seems_to_have_features_in_rows(table: RawTable, label: str | None) -> bool:
    """Whether a table seems to have features in rows, so that it should be transposed.

    Then its first column would hold the names of the features. It seems so if the first column
    holds words, and

    - one of the words is the name of the label;
    - or all words are different, most other columns are numbers, and there are more rows than
      columns.

    Parameters
    ----------
    table : the table as it was read.
    label : the name that the user gave for the label's column; None if there was none.
    """
    values = table.values
    has_names_from_header = table.header_ids is not None  # samples are in rows already
    has_several_samples = values.shape[1] > 2  # beside a column of names
    if has_names_from_header or not has_several_samples or len(values) == 0:
        return False
    is_numeric = numeric_columns(values)  # (columns,)
    if is_numeric[0]:
        return False

    first_column = values.iloc[:, 0].astype(str).str.strip()
    lowercase_words = set(first_column.str.lower())
    if label is not None and label.strip().lower() in lowercase_words:
        return True
    other_columns_are_numbers = is_numeric[1:].mean() > MOSTLY_NUMERIC
    has_more_rows = len(values) > values.shape[1]
    return bool(has_more_rows and first_column.is_unique and other_columns_are_numbers)


def rows_to_compare(
    column: pd.Series, settings: TableSettings
) -> tuple[NDArray[np.bool_], list[Finding]]:
    """Choose the rows that have a label, and one of the classes to compare.

    Parameters
    ----------
    column : the label of every row, as it is written.
    settings : `unlabelled` says whether rows without a label are an error or left out ("drop"),
        `classes` which classes to compare (all of them if it is empty).

    Returns
    -------
    A mask of shape (samples,), and findings about the rows that are left out.
    """
    if settings.unlabelled != "drop":
        require_filled(column, "label", settings)  # a row without a label is an error
    findings = []
    is_labelled = column.notna().to_numpy()
    if not is_labelled.all():
        n_unlabelled = int(np.sum(~is_labelled))
        findings.append(Finding.note(f"{plural(n_unlabelled, 'row')} without a label left out."))
    if not settings.classes:
        return is_labelled, findings

    # As objects, because a column of the type `category` may have categories without any row.
    labels = column[is_labelled].astype(object)
    is_wanted = _has_one_of(labels, settings.classes)  # (labelled rows,)
    if not is_wanted.all():
        other_labels = labels[~is_wanted]
        findings.append(_note_other_classes(other_labels))
    is_compared = is_labelled.copy()  # (samples,)
    is_compared[is_labelled] = is_wanted
    return is_compared, findings


def _has_one_of(labelled: pd.Series, classes: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows have one of the classes, in upper or lower case, of shape (labelled rows,).

    A class that no row has is an error, and so is a single class.
    """
    folded_names = labelled.map(folded_name)
    present = set(folded_names)
    for name in classes:
        if folded_name(name) not in present:
            raise InputError(f"the class {name!r} is not in {_column_and_its_classes(labelled)}.")
    if len(classes) == 1:
        raise InputError(f"at least two classes are needed of {_column_and_its_classes(labelled)}.")
    return folded_names.isin([folded_name(name) for name in classes]).to_numpy()


def _column_and_its_classes(labelled: pd.Series) -> str:
    """The part of an error message that names the label's column and the classes that it has."""
    present_classes = quoted(sorted(set(labelled.map(plain_text))))
    return f"label column {str(labelled.name)!r}; it has {present_classes}"


def _note_other_classes(others: pd.Series) -> Finding:
    """The note that rows of other classes are left out, with the number of rows of each class."""
    sizes = others.map(plain_text).value_counts()
    sizes_in_words = ", ".join(f"{size} {name}" for name, size in sizes.items())
    rows = plural(len(others), "row")
    return Finding.note(f"{rows} of other classes left out ({sizes_in_words}).")


@dataclass(frozen=True)
class Labels:
    """Two classes.

    Attributes
    ----------
    signs : ±1 of shape (samples,).
    classes : the names of the negative and the positive class.
    findings : what to know about them.
    """

    signs: Floats
    classes: tuple[str, str]
    findings: list[Finding]


def read_labels(column: pd.Series, settings: TableSettings) -> Labels:
    """Turn a column of classes, without gaps, into labels: +1 for the positive class, else −1.

    If the settings do not say which class is positive, `chanceline.tables.classes` decides by the
    names and sizes of the classes.

    Parameters
    ----------
    column : the class of every row, as it is written.
    settings : `positive` may name the positive class, which is then set against all others, and
        `split_at` a value at which numbers are split into two classes.
    """
    column_name = str(column.name)
    if len(column) == 0:
        raise InputError(
            f"label column {column_name!r} is empty in every row; name another column."
        )
    class_of_row = class_names_of_rows(column, settings)
    classes = sorted(class_of_row.unique(), key=class_order)
    # This raises an error if names differ only in case. It comes before the count of the classes,
    # because `Yes` and `yes` must not count as two.
    class_of_folded_name = _classes_by_folded_name(classes, column_name)
    _check_number_of_classes(classes, column, settings)

    positive_class = _positive_class(class_of_row, class_of_folded_name, column_name, settings)
    signs = np.where(class_of_row.to_numpy() == positive_class, 1.0, -1.0)
    other_classes = [name for name in classes if name != positive_class]
    if len(other_classes) == 1:
        return Labels(signs, (other_classes[0], positive_class), findings=[])
    note = f"class {positive_class!r} is set against all {len(other_classes)} others."
    return Labels(signs, ("others", positive_class), findings=[Finding.note(note)])


def class_names_of_rows(column: pd.Series, settings: TableSettings) -> pd.Series:
    """The name of every row's class, (samples,).

    It is the text of the cell or, with the setting `split_at`, the side of that number on which the
    cell lies: `<2.5` or `≥2.5`.
    """
    texts = column.map(plain_text)
    threshold = settings.split_at
    if threshold is None:
        return texts
    numbers = pd.to_numeric(column, errors="coerce")
    is_not_number = numbers.isna()
    if is_not_number.any():
        first_text = texts[is_not_number].iloc[0]
        raise InputError(
            f"split_at needs numbers, but label column {str(column.name)!r} has {first_text!r}."
        )
    is_below = numbers < threshold
    return is_below.map({True: f"<{threshold:g}", False: f"≥{threshold:g}"})


def class_order(name: str) -> tuple[int, float, str]:
    """The order of classes: numbers by their size, then words by the alphabet."""
    if is_number(name):
        return (0, float(name), name)
    return (1, 0.0, name)


def _classes_by_folded_name(classes: list[str], column: str) -> dict[str, str]:
    """The classes as they are written, by their names in small letters (`folded_name`).

    Two classes that differ only in case are an error.

    Parameters
    ----------
    classes : the names of the classes as they are written, each once, in order.
    column : the name of the label's column, for the error message.
    """
    class_of_folded_name: dict[str, str] = {}
    for name in classes:
        # The first class with this folded name: `name` itself unless there was one before.
        first_name = class_of_folded_name.setdefault(folded_name(name), name)
        if first_name != name:
            raise InputError(
                f"label column {column!r} has {first_name!r} and {name!r}; write them alike if "
                "they are one class."
            )
    return class_of_folded_name


def _check_number_of_classes(
    classes: list[str], column: pd.Series, settings: TableSettings
) -> None:
    """Raise an error unless there are two classes, or one class to set against several others.

    Parameters
    ----------
    classes : the names of the different classes, in order.
    column : the label of every row, as it is written.
    settings : `positive` names the class to set against all others, if there is one.
    """
    label = f"label column {str(column.name)!r}"
    if len(classes) < 2:
        raise InputError(
            f"{label} has one class only ({classes[0]!r} in every row); two are needed."
        )
    if len(classes) == 2 or settings.positive is not None:
        return

    # More than two classes and none to set against the others: say what to do.
    has_too_many = len(classes) > LARGEST_SHARE_OF_CLASSES * len(column)
    looks_measured = pd.api.types.is_float_dtype(column) or has_too_many
    if looks_measured:
        remedy = "name another column"
        if pd.api.types.is_numeric_dtype(column):
            remedy = f"split it at a value fixed beforehand with split_at=VALUE, or {remedy}"
        raise InputError(
            f"{label} has {len(classes)} different values, and two classes are needed; {remedy}."
        )
    raise InputError(
        f"{label} has {len(classes)} classes ({quoted(classes)}); compare two, as with "
        f"classes={','.join(classes[:2])!r}, "
        f"or set one against the rest, as with positive={classes[0]!r}."
    )


def _positive_class(
    class_of_row: pd.Series,
    class_of_folded_name: dict[str, str],
    column: str,
    settings: TableSettings,
) -> str:
    """The name of the positive class.

    It is the class that the settings name; or, if numbers are split at a value, the class of the
    values from there on; or else `choose_positive` chooses by the names and sizes of the classes.

    Parameters
    ----------
    class_of_row : the class of every row.
    class_of_folded_name : the classes in order, by their names in small letters.
    column : the name of the label's column, for an error message.
    settings : `positive`, or else the first of `classes`, may name the positive class.
    """
    named_class = settings.positive
    if not named_class:
        named_class = next(iter(settings.classes), None)
    if named_class is not None:
        return _class_asked_for(named_class, class_of_folded_name, column)

    classes = list(class_of_folded_name.values())
    if settings.split_at is not None:
        return classes[1]  # of `<2.5` and `≥2.5`, in this order
    sizes = [int((class_of_row == name).sum()) for name in classes]
    position = choose_positive(classes, sizes)
    return classes[position]


def _class_asked_for(asked_for: str, class_of_folded_name: dict[str, str], column: str) -> str:
    """The class that is asked for, as it is written in the column; upper and lower case are equal.

    A class that the column does not have is an error.
    """
    class_as_written = class_of_folded_name.get(folded_name(asked_for))
    if class_as_written is None:
        raise InputError(
            f"the positive class {asked_for!r} is not in label column {column!r}; it has "
            f"{quoted(list(class_of_folded_name.values()))}."
        )
    return class_as_written
