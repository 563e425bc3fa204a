"""The classes of new samples, by the names that the table tested had for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats
from chanceline.cohort.new_samples import NO_COLUMN, NewTable
from chanceline.errors import InputError
from chanceline.tables.checks.subjects import SampleColumns, find_suspect
from chanceline.tables.dataset import Finding
from chanceline.tables.labels import class_names_of_rows, find_label_column
from chanceline.tables.raw_table import RawTable
from chanceline.tables.recipe import TableRecipe
from chanceline.tables.roles import Role, find_column, require_filled
from chanceline.tables.settings import TableSettings
from chanceline.tables.spelling import folded_name
from chanceline.tables.wording import plural, row_name

# What all classes but the positive one are called together.
ALL_OTHERS = "others"


@dataclass(frozen=True, eq=False)
class NewLabels:
    """The classes of the rows of a new table.

    Attributes
    ----------
    column : as they are written, (rows,).
    is_compared : which rows are of one of the two classes, (rows,).
    is_positive : which rows are of the positive class, (rows,).
    findings : which rows are left out.
    """

    column: pd.Series
    is_compared: Bools
    is_positive: Bools
    findings: tuple[Finding, ...]

    @property
    def signs(self) -> Floats:
        """±1 for every row, (rows,)."""
        return np.where(self.is_positive, 1.0, -1.0)

    def of_compared_rows(self) -> NewLabels:
        """Only the rows of one of the two classes."""
        kept = self.is_compared
        return replace(
            self,
            column=self.column[kept],
            is_compared=self.is_compared[kept],
            is_positive=self.is_positive[kept],
        )


def read_new_labels(
    table: NewTable, label: str | None, classes: tuple[str, str], recipe: TableRecipe
) -> NewLabels:
    """Find the rows of a new table that are of the two classes of the table tested.

    Rows of other classes are an error, unless the user had chosen two of several classes for the
    test. So are rows without a label, unless the settings say to drop these.

    Parameters
    ----------
    table : the new samples.
    label : the name of the column of the classes; None for the name in the table tested.
    classes : the negative and the positive class of the table tested.
    recipe : how the classes were made from the column of the table tested.
    """
    column = find_label_column(table.raw, label or recipe.label or None)
    if table.settings.unlabelled != "drop":
        require_filled(column, "label", table.settings)
    is_labelled = column.notna().to_numpy()  # (rows,)
    # Names are compared in folded form, without regard to case and spaces.
    folded_names = _folded_class_names(column[is_labelled], recipe)  # (labelled rows,)

    # Which rows are of which class, (rows,).
    negative_class, positive_class = classes
    has_positive_name = folded_names == folded_name(positive_class)  # (labelled rows,)
    is_positive = _for_all_rows(has_positive_name, is_labelled)
    if negative_class == ALL_OTHERS:  # the test set one class against all others together
        is_negative = is_labelled & ~is_positive
    else:
        has_negative_name = folded_names == folded_name(negative_class)
        is_negative = _for_all_rows(has_negative_name, is_labelled)
    is_other = is_labelled & ~is_positive & ~is_negative

    # Refuse rows of other classes where they are not expected, and a class without rows.
    if not recipe.chosen_classes:
        _refuse_other_classes(column, is_other, classes)
    _require_class(column, is_negative, negative_class)
    _require_class(column, is_positive, positive_class)
    return NewLabels(
        column=column,
        is_compared=is_positive | is_negative,
        is_positive=is_positive,
        findings=tuple(_note_rows_left_out(is_labelled, is_other)),
    )


def _for_all_rows(mask_of_labelled: Bools, is_labelled: Bools) -> Bools:
    """Extend a mask of the labelled rows to all rows, (rows,): False for those without a label."""
    mask = np.zeros(len(is_labelled), dtype=bool)
    mask[is_labelled] = mask_of_labelled
    return mask


def _refuse_other_classes(column: pd.Series, is_other: Bools, classes: tuple[str, str]) -> None:
    """Stop at the first row that has another class than the two of the rule."""
    if not is_other.any():
        return
    row = int(np.argmax(is_other))
    raise InputError(
        f"label column {str(column.name)!r} has {str(column.iloc[row])!r} in "
        f"{row_name(column.index, row)}, but the rule tells {classes[0]!r} from "
        f"{classes[1]!r}; write the classes alike, or leave that row out."
    )


def _require_class(column: pd.Series, is_class: Bools, name: str) -> None:
    """Stop if no row is of this class."""
    if not is_class.any():
        raise InputError(
            f"label column {str(column.name)!r} has no row of class {name!r}; "
            "samples of both classes are needed."
        )


def _note_rows_left_out(is_labelled: Bools, is_other: Bools) -> list[Finding]:
    """Notes about rows without a label, and of other classes."""
    findings = []
    n_unlabelled = int(np.count_nonzero(~is_labelled))
    if n_unlabelled:
        findings.append(Finding.note(f"{plural(n_unlabelled, 'row')} without a label left out."))
    n_other = int(np.count_nonzero(is_other))
    if n_other:
        findings.append(Finding.note(f"{plural(n_other, 'row')} of other classes left out."))
    return findings


def _folded_class_names(labels: pd.Series, recipe: TableRecipe) -> NDArray[np.str_]:
    """The class of every row, whatever its case and spaces; `labels` have no gaps."""
    settings_of_test = TableSettings(split_at=recipe.split_at)
    names = class_names_of_rows(labels, settings_of_test)
    return np.array([folded_name(name) for name in names])


def refuse_undeclared(
    table: NewTable,
    outcome_columns: Sequence[pd.Series],
    signs: Floats,
    recipe: TableRecipe,
    covariates: Sequence[str] = (),
) -> None:
    """Stop if a column looks like groups (subjects, say) or pairs that the user did not declare.

    Samples of one subject are not independent, and would make a rule look better confirmed than it
    is. Nothing is looked for if the user declared groups or pairs, or said that there are none.

    Parameters
    ----------
    table : the rows that are compared.
    outcome_columns : the label, or the time and the event, of these rows.
    signs : (rows,) 1 for the positive class and −1 for the negative one. For an outcome that is not
        two classes, 1 for its upper half and −1 for its lower half.
    recipe : what the user said about the table that the rule was made from.
    covariates : names of columns that do not tell subjects.
    """
    settings = table.settings
    is_declared = Role.GROUPS in table.roles or Role.PAIRS in table.roles
    is_denied = NO_COLUMN in (settings.groups, settings.pairs)
    if is_declared or is_denied:
        return

    # Look for a suspect, a column that seems to tell subjects, among all columns but the outcome
    # and the covariates. A column is no suspect if it divides the rows as an explained column does.
    outcome_names = [column.name for column in outcome_columns]
    other_columns = table.raw.without_columns([*outcome_names, *covariates])
    examined_columns = _columns_about_samples(other_columns)
    explained_columns = _explained_columns(table, outcome_columns, signs, recipe)
    suspect = find_suspect(examined_columns, signs, explained_columns)
    if suspect is not None:
        raise InputError(suspect.sentence)


def _explained_columns(
    table: NewTable,
    outcome_columns: Sequence[pd.Series],
    signs: Floats,
    recipe: TableRecipe,
) -> list[pd.Series]:
    """Columns that the user has explained, so that they cannot be undeclared names of subjects.

    They are the outcome; the columns that were declared as blocks, groups or pairs (`table.roles`);
    and those that the user called independent, which only look like subjects. The latter were named
    in the settings of the new table, or when the table was tested that the rule was made from
    (`recipe`). A column that groups the rows as one of all these is not suspected, either.

    Parameters
    ----------
    table : the new table, with its settings.
    outcome_columns : the label, or the time and the event, of the rows.
    signs : (rows,) 1 for the positive class and −1 for the negative one. For an outcome that is not
        two classes, 1 for its upper half and −1 for its lower half.
    recipe : what the user said about the table that the rule was made from.
    """
    # The classes, and an outcome of text. A numeric outcome is not included: rows with the same
    # number may well be of one subject.
    explained_columns = [pd.Series(signs)]
    for column in outcome_columns:
        if not pd.api.types.is_numeric_dtype(column):
            explained_columns.append(column)

    # Columns called independent in the settings of the new table. They must exist.
    for name in table.settings.independent:
        explained_columns.append(find_column(table.raw, name, "independent"))

    # Columns that the first table had as independent, and those of roles. The new table may lack
    # them.
    for name in (*recipe.independent, *table.roles.values()):
        found_column = table.raw.column(name)
        if found_column is not None:
            explained_columns.append(found_column)
    return explained_columns


def _columns_about_samples(raw: RawTable) -> SampleColumns:
    """What may say which rows are of one subject."""
    text = raw.values.select_dtypes(exclude="number")
    return SampleColumns(
        text=pd.concat([raw.descriptions, text], axis=1),
        numbers=raw.values.select_dtypes("number").astype(np.float64),
        names=raw.sample_names,
        names_place=raw.names_place,
    )
