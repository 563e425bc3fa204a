"""The columns of a new table by the names that a rule knows, and their cells as its numbers.

Everything that depends on a whole table (limits of detection, what fills gaps, levels of text,
ranks) is taken from the table that was tested, so that one new sample is enough.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from chanceline._arrays import Bools, Floats
from chanceline.errors import InputError
from chanceline.tables.cells import CellKind, Cells, read_cells
from chanceline.tables.raw_table import RawTable
from chanceline.tables.recipe import ColumnLimits, IndicatorColumn, NumberColumn, TableRecipe
from chanceline.tables.spelling import folded_name
from chanceline.tables.transforms import apply_transform
from chanceline.tables.wording import plural, quoted, row_name


class _ColumnPlace(NamedTuple):
    """Where a column stands: in one of the two parts of a table, and at which position."""

    part: pd.DataFrame
    position: int


class ColumnFinder:
    """Finds the columns of a table by name: as it is written, or else by the only one that differs
    in case and spaces alone.
    """

    def __init__(self, table: RawTable) -> None:
        self._places: dict[str, _ColumnPlace] = {}
        self._names_by_spelling: dict[str, list[str]] = {}
        for part in (table.values, table.descriptions):
            for position, column in enumerate(part.columns):
                name = str(column)
                self._places.setdefault(name, _ColumnPlace(part, position))
                self._names_by_spelling.setdefault(folded_name(name), []).append(name)

    def find(self, name: str) -> pd.Series | None:
        """The column, None if there is no such column."""
        similar = self._names_by_spelling.get(folded_name(name), [])
        if name not in self._places and len(similar) == 1:
            name = similar[0]
        place = self._places.get(name)
        if place is None:
            return None
        return place.part.iloc[:, place.position]

    def find_all(self, names: Sequence[str], source: str) -> dict[str, pd.Series]:
        """The columns by the names asked for; an error if some are missing.

        The error lists the missing columns, with columns of similar names.

        Parameters
        ----------
        names : the names of all columns that are needed.
        source : what the table is called in the error.
        """
        columns: dict[str, pd.Series] = {}
        missing_names = []
        for name in names:
            column = self.find(name)
            if column is None:
                missing_names.append(name)
            else:
                columns[name] = column
        if missing_names:
            n_missing = plural(len(missing_names), "column")
            remedy = self._remedy(missing_names[0])
            raise InputError(
                f"{source} lacks {n_missing} of the {len(names)} that the rule needs: "
                f"{quoted(missing_names, 6)}; {remedy}."
            )
        return columns

    def _remedy(self, name: str) -> str:
        """What to do about a column that is missing, with those that are spelled much like it."""
        remedy = "add what is missing, or rename what holds it"
        close_names = difflib.get_close_matches(name, list(self._places), n=2)
        if close_names:
            remedy += f" (is {name!r} the column {quoted(close_names)}?)"
        return remedy


def untransformed_features(
    columns: Mapping[str, pd.Series], recipe: TableRecipe, n_rows: int
) -> Floats:
    """The features of a new table before any transform (such as logarithms), (rows, features).

    Every feature is an indicator of one value of a text column, or the numbers of a column. Gaps
    are filled with a number from the table tested, if the recipe has one; else they are NaN.

    Parameters
    ----------
    columns : the columns of the new table, by their names in the recipe (`source`).
    recipe : how the cells of the table tested became numbers.
    n_rows : the number of rows of the new table.
    """
    # Begin with an array without columns, so that the shape is right even without features.
    features = [np.zeros((n_rows, 0))]
    for recipe_column in recipe.columns:
        cells = columns[recipe_column.source]
        if isinstance(recipe_column, IndicatorColumn):
            numbers = _indicator(cells, recipe_column)
        else:
            numbers = _numbers(cells, recipe_column, recipe)
        if recipe_column.fill is not None:
            numbers = np.where(np.isfinite(numbers), numbers, recipe_column.fill)
        features.append(numbers[:, None])
    feature_table = np.hstack(features)
    # Gaps that are not filled become NaN. Infinite values are gaps, as in the table tested.
    return np.where(np.isfinite(feature_table), feature_table, np.nan)


def transformed_features(
    X: Floats, recipe: TableRecipe, ranked_values: Mapping[str, Floats]
) -> Floats:
    """The features in the units of the rule, (samples, features).

    Parameters
    ----------
    X : features without gaps before the transform, in the order of the recipe.
    recipe : its transform.
    ranked_values : the values of the table tested in order, by feature, if features are ranks.
    """
    names = [column.name for column in recipe.columns]
    if recipe.transform == "none" or not names:
        return X
    if recipe.transform == "rank":
        ranks = [ranks_among(X[:, j], ranked_values[name]) for j, name in enumerate(names)]
        return np.column_stack(ranks)
    return apply_transform(X, recipe.transform, names, recipe.added)


def ranks_among(values: Floats, ordered: Floats) -> Floats:
    """The rank that every value has among others; equal ones share the mean of their ranks.

    A value that is itself among the others has its rank there. Between the values of rank k and
    k + 1 lies rank k + ½.

    Parameters
    ----------
    values : (samples,)
    ordered : the others in ascending order, (others,)
    """
    n_below = np.searchsorted(ordered, values, side="left")
    n_not_above = np.searchsorted(ordered, values, side="right")
    return (n_below + n_not_above + 1) / 2


def _indicator(column: pd.Series, indicator: IndicatorColumn) -> Floats:
    """The values of an indicator: 1 where a column has the indicator's value, else 0, (rows,).

    Gaps become NaN or 0 (see below). A text that the table tested did not have is an error.

    Parameters
    ----------
    column : a column of the new table.
    indicator : the value, and all values (levels) of the column in the table tested.
    """
    text = column.astype("string")
    is_gap = text.isna().to_numpy()
    is_unknown = ~text.isin(indicator.levels).to_numpy() & ~is_gap
    if is_unknown.any():
        row = int(np.argmax(is_unknown))
        raise InputError(
            f"column {indicator.source!r} has {str(text.iloc[row])!r} in "
            f"{row_name(column.index, row)}, which the table tested did not have; it had "
            f"{quoted(indicator.levels)}."
        )
    numbers = (text == indicator.value).fillna(False).to_numpy(dtype=float)
    if len(indicator.levels) == 2:
        # Two levels have one indicator together: 0 means the other level, so a gap must be NaN.
        # With more levels each has an indicator of its own, and a gap is 0 in all of them.
        numbers[is_gap] = np.nan
    return numbers


def _numbers(column: pd.Series, recipe_column: NumberColumn, recipe: TableRecipe) -> Floats:
    """The numbers of a column, (rows,), with NaN in gaps.

    Numbers beyond a limit of detection are replaced as in the table tested. A cell such as `<0.5`
    is below a limit, and one such as `>100` above.

    Parameters
    ----------
    column : a column of the new table.
    recipe_column : the limits of this column in the table tested.
    recipe : `na` are the texts that mean a gap; `below` says what became of values below a limit of
        detection, and is None if the table tested had no such limits.
    """
    # A numeric column: every cell is a number or a gap.
    if pd.api.types.is_numeric_dtype(column):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        return _replace_measured_beyond(numbers, recipe_column.limits)

    # A column with text: refuse words, and limits of detection if the table tested had none.
    written_cells = column.to_numpy(dtype=object)[:, None]  # (rows, 1)
    cells = read_cells(written_cells, recipe.na)
    kinds = cells.kinds[:, 0]
    is_word = (kinds == CellKind.WORD) | (kinds == CellKind.ALMOST_NUMBER)
    if is_word.any():
        remedy = "write plain numbers, or leave that row out"
        raise InputError(f"{_place_of_cell(column, is_word)}, which is no number; {remedy}.")
    is_beyond = (kinds == CellKind.BELOW_LIMIT) | (kinds == CellKind.ABOVE_LIMIT)
    if is_beyond.any() and recipe.below is None:
        raise InputError(
            f"{_place_of_cell(column, is_beyond)}, a value beyond a limit of detection; the table "
            "tested had none, so that the rule cannot use it: write a number."
        )
    return _replace_beyond_limits(cells, recipe_column.limits, recipe.below)


def _place_of_cell(column: pd.Series, is_refused: Bools) -> str:
    """`column 'crp' has '<0.5' in row 3`, of the first cell that is refused."""
    row = int(np.argmax(is_refused))
    cell = str(column.iloc[row]).strip()
    return f"column {str(column.name)!r} has {cell!r} in {row_name(column.index, row)}"


def _replace_beyond_limits(cells: Cells, limits: ColumnLimits, below: str | None) -> Floats:
    """The numbers of one column of cells, (rows,), with those beyond a limit of detection replaced.

    A cell such as `<0.5` becomes half of the lower limit, or a gap (NaN); a cell such as `>100`
    becomes the upper limit. If the cell and the table tested have different limits, the stricter
    one counts: the larger lower limit, and the smaller upper limit.

    Parameters
    ----------
    cells : the cells of the column, of shape (rows, 1).
    limits : the limits of the column in the table tested.
    below : what becomes of a cell below a limit: "half" for half of the limit; "missing" or None
        for a gap.
    """
    kinds = cells.kinds[:, 0]
    # The number in each cell, (rows,): a measured one, or the limit after < or >; else NaN.
    written_numbers = cells.numbers[:, 0]

    # What each cell becomes if it is below a limit, above a limit, or measured, (rows,).
    if below == "half":
        if_below = _larger_limit(written_numbers, limits.lower) / 2
    else:
        if_below = np.full(len(written_numbers), np.nan)
    if_above = _smaller_limit(written_numbers, limits.upper)
    if_measured = _replace_measured_beyond(written_numbers, limits)

    numbers = np.where(kinds == CellKind.BELOW_LIMIT, if_below, if_measured)
    return np.where(kinds == CellKind.ABOVE_LIMIT, if_above, numbers)


def _larger_limit(own_limits: Floats, tested: float | None) -> Floats:
    """The larger one of a cell's own lower limit and that of the table tested; of one alone, that.

    Where both are unknown, it is NaN.

    Parameters
    ----------
    own_limits : (samples,) NaN where the cell has none.
    tested : None if the table tested had none.
    """
    if tested is None:
        return own_limits
    return np.fmax(own_limits, tested)  # of a number and NaN the number


def _smaller_limit(own_limits: Floats, tested: float | None) -> Floats:
    """The smaller one of a cell's own upper limit and that of the table tested; of one alone, that.

    Parameters as in `_larger_limit`.
    """
    if tested is None:
        return own_limits
    return np.fmin(own_limits, tested)


def _replace_measured_beyond(numbers: Floats, limits: ColumnLimits) -> Floats:
    """Numbers that were measured beyond the limits of the table tested, replaced as there."""
    if limits.lower is not None:
        value_below = np.nan if limits.value_below is None else limits.value_below
        numbers = np.where(numbers < limits.lower, value_below, numbers)
    if limits.upper is not None:
        numbers = np.where(numbers > limits.upper, limits.upper, numbers)
    return numbers
