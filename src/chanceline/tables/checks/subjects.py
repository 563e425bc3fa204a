"""Rows of one subject, pairs and matched samples that nothing was said about.

A column (text or whole numbers) looks like *subjects* if its values repeat in most rows and the
label is constant within every value, and like *pairs* (or matched sets) if every value that repeats
has the same number of rows of each class (see `designs`). A test stops if shuffled labels would
hardly look like that and the values look like identifiers: the column is called so, or it has at
least `FEWEST_SUBJECTS` values that are codes (P07) or have equally many rows. A coarse measurement,
a stage or a diagnosis that is constant within the label is none of that.

Names that are different in every row may hold the subjects in their stems (`309_1 … 309_15`, see
`stems`), and these are looked at in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.tables.checks.designs import (
    Design,
    design_of_stems,
    find_design,
    tails_tell_class,
)
from chanceline.tables.column_names import is_called_subject
from chanceline.tables.identifiers import possibly_whole_columns, subject_columns
from chanceline.tables.partitions import same_partition
from chanceline.tables.roles import STEM_PREFIX, Role
from chanceline.tables.stems import Stems, are_names, cut_repeatedly

FEWEST_SUBJECTS = 6  # fewer values may be stages or kinds of samples, unless they are called so
FEWEST_VALUES = 3  # two values are no subjects
SUBJECT_CODE = re.compile(r"[A-Za-z]{1,12}[-_ ./]?\d+[A-Za-z]?")
# Probability under shuffled labels below which a design is seen: where the column's name says it, …
CHANCE_IF_NAMED = 0.1
# … and where the values alone do.
CHANCE_IF_UNNAMED = 0.01
MOST_COLUMNS_EXAMINED = 1000  # of text, and of whole numbers that are not called like subjects


@dataclass(frozen=True)
class Suspect:
    """A column whose values, or whose names' stems, look like subjects or pairs.

    Attributes
    ----------
    name : the name of the column.
    setting : how to declare it: its name, or with `stem:` before it for the stems.
    observed : what was seen, as the sentence begins: `column 'mouse' has 12 values`.
    design : what the values or stems look like.
    """

    name: str
    setting: str
    observed: str
    design: Design

    @property
    def sentence(self) -> str:
        """Why a test stops, and which settings let it go on."""
        pronoun = "it"  # the column
        if self.setting != self.name:
            pronoun = "them"  # the names whose stems look like subjects
        return (
            f"{self.observed}, and {self.design.in_words}; declare {pronoun} with "
            f"{self.design.role}={self.setting!r}, or say independent={self.name!r} if the rows "
            "are independent nevertheless."
        )


@dataclass(frozen=True)
class SampleColumns:
    """What is known about the samples, one value for each of them in every column.

    Attributes
    ----------
    text, numbers : columns.
    names : the names of the samples, if they stand in no column; else None.
    names_place : where these names stand, for messages: "the index", "the header".
    """

    text: pd.DataFrame
    numbers: pd.DataFrame
    names: pd.Series | None = None
    names_place: str = ""

    def candidate_columns(self) -> Iterator[pd.Series]:
        """The columns whose values may be subjects: text, and whole numbers.

        If very many columns hold whole numbers, only those named like subjects are examined.
        """
        yield from self.text_columns()
        names = possibly_whole_columns(self.numbers)
        if len(names) > MOST_COLUMNS_EXAMINED:
            names = subject_columns(self.numbers)
        for name in names:
            yield self.numbers[name]

    def text_columns(self) -> Iterator[pd.Series]:
        """The first columns of text."""
        for position in range(min(self.text.shape[1], MOST_COLUMNS_EXAMINED)):
            yield self.text.iloc[:, position]


def find_suspect(
    columns: SampleColumns, labels: Floats, explained_columns: Sequence[pd.Series] = ()
) -> Suspect | None:
    """The first column that looks like subjects or pairs; None if none does.

    Parameters
    ----------
    columns : what is known about the samples.
    labels : ±1 of shape (samples,).
    explained_columns : columns that the user has explained: the classes, blocks, columns declared
        as independent. A column that divides the rows into the same groups as one of these is no
        suspect.
    """
    # First the values of columns, such as `mouse`.
    for column in columns.candidate_columns():
        suspect = find_suspect_values(column, labels)
        # Comparing with the explained columns is slow: it is done for suspects alone.
        if suspect is not None and not _divides_rows_like_any(column, explained_columns):
            return suspect

    # Then names of the samples that stand in no column (an index, a header), and their stems.
    if columns.names is not None:
        suspect = _find_suspect_names(columns.names, columns.names_place, labels, explained_columns)
        if suspect is not None:
            return suspect

    # Last the stems of names in columns of text: `P07` is the stem of `P07_V1`.
    for column in columns.text_columns():
        if not are_names(column.tolist()):
            continue
        suspect = find_suspect_stems(column, labels, explained_columns=explained_columns)
        if suspect is not None:
            return suspect
    return None


def _divides_rows_like_any(column: Sequence[Any], explained_columns: Sequence[pd.Series]) -> bool:
    """Whether the column divides the rows into the same groups as one of the explained columns."""
    return any(same_partition(column, explained) for explained in explained_columns)


def _find_suspect_names(
    names: pd.Series, place: str, labels: Floats, explained_columns: Sequence[pd.Series]
) -> Suspect | None:
    """The names of the samples, if they or their stems look like subjects or pairs; else None.

    Parameters
    ----------
    names : names that stand in no column, (samples,).
    place : where the names stand, for the message.
    labels : ±1 of shape (samples,).
    explained_columns : columns that the user has explained. Names or stems that divide the rows
        into the same groups as one of these are no suspects.
    """
    suspect_values = find_suspect_values(names, labels, place)
    if suspect_values is not None and not _divides_rows_like_any(names, explained_columns):
        return suspect_values
    if not are_names(names.tolist(), numbers_too=True):
        return None
    return find_suspect_stems(names, labels, place=place, explained_columns=explained_columns)


def find_suspect_values(column: pd.Series, labels: Floats, place: str = "") -> Suspect | None:
    """The column as a `Suspect`, if its values look like subjects or pairs; else None.

    Parameters
    ----------
    column, labels : a value and ±1 for each sample, of shape (samples,).
    place : where the values were found, for the message; empty if they are a column.
    """
    # There must be at least three different values and no gaps.
    value_of_row, different_values = pd.factorize(column)
    has_gaps = value_of_row.min() < 0  # pandas numbers the values 0, 1, …, and a gap −1
    if has_gaps or len(different_values) < FEWEST_VALUES:
        return None

    # Most rows must share their value with another row.
    n_rows_of_value = np.bincount(value_of_row)  # (different values,)
    n_rows_sharing = n_rows_of_value[n_rows_of_value > 1].sum()
    if 2 * n_rows_sharing <= len(labels):
        return None

    # The labels must show a design. In groups, all rows of a value have one label; in pairs or
    # blocks, all values that repeat have the same number of rows of each class.
    design = find_design(value_of_row, labels)
    if design is None:
        return None

    # Shuffled labels must hardly ever show that design: the log of this probability is
    # `design.log_chance`. How rarely depends on whether the name or the values look like subjects;
    # if neither do, the column is no suspect.
    name = str(column.name)
    largest_chance = _largest_chance_of_values(name, different_values, n_rows_of_value)
    if largest_chance is None or design.log_chance > np.log(largest_chance):
        return None
    place_in_words = place or f"column {name!r}"
    return Suspect(
        name=name,
        setting=name,  # how to declare the column: by its name
        observed=f"{place_in_words} has {len(different_values)} values",
        design=design,
    )


def _largest_chance_of_values(
    name: str, values: Sequence[Any], sizes: NDArray[np.int64]
) -> float | None:
    """The largest probability under shuffled labels with which a column is still a suspect.

    It is None if neither the column's name nor its values look like subjects. `sizes` holds the
    number of rows of each of the values.
    """
    if is_called_subject(name):
        return CHANCE_IF_NAMED
    if _look_like_identifiers(values, sizes):
        return CHANCE_IF_UNNAMED
    return None


def _look_like_identifiers(values: Sequence[Any], sizes: NDArray[np.int64]) -> bool:
    """Whether values look like identifiers of subjects.

    There are at least `FEWEST_SUBJECTS` values, and either all are codes (P07) or those that repeat
    have the same number of rows. `sizes` holds the number of rows of each value.
    """
    if len(sizes) < FEWEST_SUBJECTS:
        return False
    repeated_sizes = sizes[sizes > 1]
    if repeated_sizes.min() == repeated_sizes.max():
        return True
    return all(SUBJECT_CODE.fullmatch(str(value)) for value in values)


def find_suspect_stems(  # noqa: PLR0913
    names: pd.Series,
    labels: Floats,
    *,
    place: str = "",
    explained_columns: Sequence[pd.Series] = (),
    setting: str = "",
    units: str = "rows",
) -> Suspect | None:
    """The column of names as a `Suspect`, if their stems look like subjects or pairs; else None.

    A stem is what is left of a name when its last part is cut off. Names are cut once, twice and so
    on, and the stems of every cut are judged: `P07_V1` first, then `P07`, for names such as
    `P07_V1_R2`. The last convincing stems, which are the shortest, are reported. The loop ends
    early at stems that show no design, or that only join subjects found before.

    Parameters
    ----------
    names, labels : a name and ±1 for each row (or for each group, if `units` is "groups").
    place : where the names were found, for the message; empty if they are a column.
    explained_columns : columns that the user has explained. Stems that divide the rows into the
        same groups as one of these are no suspects.
    setting : the value of the setting that declared the names; empty if they were not declared.
    units : what each name stands for, for the message: "rows" or "groups".
    """
    name = str(names.name)
    place = place or f"column {name!r}"
    names_setting = setting or name
    suspect: Suspect | None = None  # with the shortest convincing stems so far
    for n_cuts, stems in enumerate(cut_repeatedly(names.tolist()), start=1):
        # How the labels are arranged by these stems: as in groups (subjects), pairs or blocks. If
        # they are not, shorter stems, which only join these, are not looked at.
        design = design_of_stems(stems, labels)
        if design is None:
            break
        # Pairs and blocks may be made of several subjects. If the longer stems of an earlier cut
        # were convincing, they stay the answer.
        if suspect is not None and design.role != Role.GROUPS:
            break

        # Stems that are not convincing, or that divide the rows like an explained column, are
        # passed over: shorter ones may still be subjects.
        is_convincing = _is_convincing(stems, design, name, labels)
        if not is_convincing or _divides_rows_like_any(stems.stems, explained_columns):
            continue
        stems_in_words = f"{stems.described(units)} ({stems.example()})"
        suspect = Suspect(
            name=name,
            setting=f"{n_cuts * STEM_PREFIX}{names_setting}",  # one "stem:" for each cut
            observed=f"the names in {place} have {stems_in_words}",
            design=design,
        )
    return suspect


def _is_convincing(stems: Stems, design: Design, name: str, labels: Floats) -> bool:
    """Whether the stems may be subjects, and shuffled labels would hardly show their design.

    A name is cut into a stem and a tail: `P01_T` into `P01` and `T`.

    Parameters
    ----------
    stems : the stems and tails of the names.
    design : how the labels are arranged by stems: as in groups, pairs or blocks.
    name : the name of the column.
    labels : ±1 for each name.
    """
    if not _may_name_subjects(stems, name):
        return False

    # If the tails tell the class, as in pairs such as P01_T and P01_N, a larger probability of the
    # design is allowed: tails hardly ever tell the class by chance.
    largest_chance = CHANCE_IF_UNNAMED
    if design.role == Role.PAIRS and tails_tell_class(stems, labels):
        largest_chance = CHANCE_IF_NAMED
    return bool(design.log_chance <= np.log(largest_chance))


def _may_name_subjects(stems: Stems, name: str) -> bool:
    """Whether stems may be subjects, and not kinds of samples (`brain`, `day7`).

    A stem is what is left of a sample's name when its last part is cut off. `name` is the name of
    the column of names.
    """
    different_stems = list(stems.sizes)
    are_codes = all(_has_digit(stem) for stem in different_stems)  # P07, or plain numbers

    # A few stems may be kinds of samples even if they have digits (`T1`, `day7`). They are taken
    # for subjects only if they are plain numbers, or if the column is named like subjects.
    if len(different_stems) < FEWEST_SUBJECTS:
        are_numbers = all(stem.isdecimal() for stem in different_stems)
        return are_numbers or (are_codes and is_called_subject(name))

    # Words may be kinds of samples (`brain`), unless all have the same number of rows, as subjects
    # do in a planned study.
    have_equal_sizes = len(set(stems.sizes.values())) == 1
    return are_codes or have_equal_sizes


def _has_digit(text: str) -> bool:
    return any(letter.isdecimal() for letter in text)


def find_suspect_groups(groups: pd.Series, labels: Floats, setting: str) -> Suspect | None:
    """The column of groups, if these seem to be visits of fewer subjects (P07_V1, P07_V2); else
    None.

    Parameters
    ----------
    groups, labels : a declared group and ±1 for each sample, of shape (samples,).
    setting : the value of the setting that declared the groups.
    """
    # The test itself refuses groups with several labels: then (group, label) divides the rows
    # further than the group alone.
    have_one_label = same_partition(groups, list(zip(groups, labels, strict=True)))
    is_first_row = ~groups.duplicated().to_numpy()  # the first row of each group
    different_groups = groups[is_first_row]
    if not have_one_label or not are_names(different_groups.tolist(), numbers_too=True):
        return None
    return find_suspect_stems(
        different_groups, labels[is_first_row], setting=setting, units="groups"
    )
