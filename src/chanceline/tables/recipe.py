"""How the cells of a table became the numbers of a test, so that new samples go the same way.

A recipe is learnt while a table is read (`learn_recipe`). It holds what was taken from the table
itself: limits of detection, values that fill gaps, levels of text, what was added before
logarithms. Nothing in it comes from the labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable

# Transforms for which a number depends on its whole row, so that every column of the table counts.
ROW_TRANSFORMS = frozenset({"cpm", "clr", "centre"})


@dataclass(frozen=True)
class ColumnLimits:
    """Limits of detection of one column; None where there is no such limit.

    Attributes
    ----------
    lower, upper : numbers beyond them were replaced.
    value_below : what replaced those below the lower limit; None made gaps of them.
    """

    lower: float | None = None
    value_below: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers.

    Attributes
    ----------
    name : the name of the column, which is that of the feature.
    limits : the limits of detection.
    fill : what fills a gap; None if nothing does.
    """

    name: str
    limits: ColumnLimits = ColumnLimits()
    fill: float | None = None

    @property
    def source(self) -> str:
        """The column of the file."""
        return self.name


@dataclass(frozen=True)
class IndicatorColumn:
    """1 where a column of text has one of its values, else 0.

    Attributes
    ----------
    name : the name of the feature, such as `site=north`.
    source : the column of the file.
    value : the text that counts as 1.
    levels : all texts that the column had. Of two levels a gap is a gap; of more it is 0.
    fill : what fills a gap; None if nothing does.
    """

    name: str
    source: str
    value: str
    levels: tuple[str, ...]
    fill: float | None = None


RecipeColumn = NumberColumn | IndicatorColumn


class NumberColumns(Sequence[NumberColumn]):
    """Very many columns of numbers without limits, each made when it is asked for.

    Parameters
    ----------
    names : the names of the features.
    fill_values : (features,) what fills a gap of each; None if nothing does.
    """

    def __init__(self, names: Sequence[str], fill_values: Floats | None = None) -> None:
        self._names = names
        self._fill_values = fill_values

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> NumberColumn: ...

    @overload
    def __getitem__(self, index: slice) -> list[NumberColumn]: ...

    def __getitem__(self, index: int | slice) -> NumberColumn | list[NumberColumn]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._column(number) for number in numbers]
        return self._column(numbers)

    def __iter__(self) -> Iterator[NumberColumn]:
        return map(self._column, range(len(self)))

    def _column(self, number: int) -> NumberColumn:
        fill = None
        if self._fill_values is not None:
            fill = float(self._fill_values[number])
        return NumberColumn(self._names[number], fill=fill)


@dataclass(frozen=True, eq=False)
class TableRecipe:
    """From the cells of a table to the numbers that a test sees.

    Attributes
    ----------
    columns : one for each feature, in their order.
    transform : the units, as `TableSettings.transform` names them.
    added : to every value before logarithms.
    below : what is done with cells beyond a limit of detection, as `TableSettings.below` says.
    na : cells that mean missing besides the usual ones.
    label : the column of the classes; empty where it had no name.
    split_at : where a number was split into two classes; None for classes as they are written.
    chosen_classes : whether two classes were chosen from several, so that others are left out.
    roles : how blocks, groups and pairs were declared, by role.
    independent : columns that look like subjects though rows are independent.
    values_before_transform : the numbers before the transform, (samples, features); None without a
        transform.
    """

    columns: Sequence[RecipeColumn]
    transform: str = "none"
    added: float = 0.0
    below: str | None = None
    na: tuple[str, ...] = ()
    label: str = ""
    split_at: float | None = None
    chosen_classes: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
    values_before_transform: AnyTable | None = None

    @property
    def looks_at_rows(self) -> bool:
        """Whether a number depends on all columns of its row."""
        return self.transform in ROW_TRANSFORMS

    def column_numbers(self, names: Sequence[str]) -> list[int]:
        """Where the features with these names stand among all."""
        wanted = set(names)
        number_of_name = {
            column.name: number
            for number, column in enumerate(self.columns)
            if column.name in wanted
        }
        return [number_of_name[name] for name in names]

    def for_features(self, names: Sequence[str]) -> TableRecipe:
        """The recipe of these features alone, in this order, without the table's numbers.

        Where numbers depend on their whole row, all columns stay, in the order of the table.
        """
        columns = self.columns
        if not self.looks_at_rows:
            columns = tuple(self.columns[number] for number in self.column_numbers(names))
        return replace(self, columns=columns, values_before_transform=None)


def plain_recipe(feature_names: Sequence[str]) -> TableRecipe:
    """The recipe of arrays and data frames whose numbers were taken as they are."""
    return TableRecipe(NumberColumns(feature_names))
