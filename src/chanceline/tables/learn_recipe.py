"""What has to be known of a table that was read, to treat new samples in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.cells import read_cells
from chanceline.tables.gaps import FILLED_WITH, values_to_fill
from chanceline.tables.limits import strictest_limits
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.recipe import (
    ColumnLimits,
    IndicatorColumn,
    NumberColumn,
    NumberColumns,
    RecipeColumn,
    TableRecipe,
)
from chanceline.tables.settings import TableSettings
from chanceline.tables.transforms import added_to_values
from chanceline.tables.wide_features import WideFeatures


def learn_recipe(
    written_columns: pd.DataFrame,
    features: pd.DataFrame,
    complete_features: pd.DataFrame,
    label: str,
    settings: TableSettings,
) -> TableRecipe:
    """Learn from a table how to treat new samples in the same way.

    A recipe holds what was taken from the table itself, such as values that fill gaps. Nothing in
    it depends on the labels.

    Parameters
    ----------
    written_columns : the columns as they are in the file, (samples, columns).
    features : the same columns as numbers, with gaps, (samples, features).
    complete_features : the features without gaps, before the transform, (kept rows, features).
    label : the name of the label's column.
    settings : how the table was read.
    """
    # With a transform the recipe needs two things more: the number that is added to every value
    # before logarithms (0 if none is), and the values before the transform.
    transform = settings.transform or "none"
    values_before_transform = None
    added = 0.0
    if transform != "none":
        values_before_transform = complete_features.to_numpy(dtype=np.float64)
        added = added_to_values(values_before_transform, transform)
    return TableRecipe(
        columns=_learn_columns(written_columns, features, complete_features.columns, settings),
        transform=transform,
        added=added,
        below=settings.below,
        na=settings.na,
        label=label,
        split_at=settings.split_at,
        chosen_classes=bool(settings.classes),
        roles=_declared_roles(settings),
        independent=settings.independent,
        values_before_transform=values_before_transform,
    )


def learn_wide_recipe(
    complete_features: WideFeatures,
    *,
    added: float,
    fill_values: Floats | None,
    label: str,
    settings: TableSettings,
) -> TableRecipe:
    """Learn from a table that is not in memory how to treat new samples in the same way.

    A recipe holds what was taken from the table itself, such as values that fill gaps. Nothing in
    it depends on the labels.

    Parameters
    ----------
    complete_features : the features without gaps, before the transform, read when they are needed.
    added : the number that the transform adds to every value before it takes logarithms; 0 if it
        takes none.
    fill_values : (features,) the value that fills gaps of each feature; None if gaps are not
        filled.
    label : the name of the label's column.
    settings : how the table was read. `below` says how values below a limit of detection (`<0.5`)
        are read.
    """
    # The values before the transform are kept with the recipe, as the ranges of features are taken
    # from them. They are not copied: `complete_features.table` reads them when they are needed.
    transform = settings.transform or "none"
    values_before_transform = None
    if transform != "none":
        values_before_transform = complete_features.table
    return TableRecipe(
        columns=NumberColumns(complete_features.names, fill_values),
        transform=transform,
        added=added,
        below=settings.below,
        na=settings.na,
        label=label,
        split_at=settings.split_at,
        chosen_classes=bool(settings.classes),
        roles=_declared_roles(settings),
        independent=settings.independent,
        values_before_transform=values_before_transform,
    )


def _declared_roles(settings: TableSettings) -> dict[str, str]:
    """The settings that declare blocks, groups and pairs, by role; only those that are set."""
    declared = {"blocks": settings.blocks, "groups": settings.groups, "pairs": settings.pairs}
    return {role: column for role, column in declared.items() if column is not None}


def _learn_columns(
    written_columns: pd.DataFrame,
    features: pd.DataFrame,
    feature_names: Sequence[str],
    settings: TableSettings,
) -> tuple[RecipeColumn, ...]:
    """How each feature is made from a column of the file, in the order of the features.

    A feature is a column of numbers under its own name, or an indicator such as `site=north`, which
    is 1 where the column `site` is `north`.

    Parameters
    ----------
    written_columns : the columns that may be features as they are in the file, (samples, columns).
    features : the same columns as numbers, with gaps, (samples, features).
    feature_names : the names of the features that are kept.
    settings : how the table was read.
    """
    limits_of_column = _learn_limits(written_columns, settings)
    fill_of_feature = _learn_fills(features, settings)
    written_names = set(written_columns.columns)
    indicator_of_name: dict[str, IndicatorColumn] = {}
    if settings.one_hot:
        indicator_of_name = _possible_indicators(written_columns)

    columns: list[RecipeColumn] = []
    for name in feature_names:
        fill = fill_of_feature.get(name)
        if name in written_names:
            limits = limits_of_column.get(name, ColumnLimits())
            columns.append(NumberColumn(str(name), limits=limits, fill=fill))
        else:
            columns.append(replace(indicator_of_name[name], fill=fill))
    return tuple(columns)


def _learn_limits(
    written_columns: pd.DataFrame, settings: TableSettings
) -> dict[str, ColumnLimits]:
    """The limits of detection of columns with text such as `<0.5`, by the column's name.

    A limit is None where a column has none. There are no limits at all if the setting `below` is
    None, as values beyond a limit are then an error.

    Parameters
    ----------
    written_columns : the columns as they are in the file, (samples, columns).
    settings : `below` says what replaces a value below a limit: half the limit ("half") or a gap
        ("missing").
    """
    if settings.below is None:
        return {}
    text_columns = written_columns.loc[:, ~numeric_columns(written_columns)]
    cells = read_cells(text_columns.to_numpy(dtype=object), settings.na)
    limits = strictest_limits(cells)  # NaN where a column has no limit
    limits_of_column = {}
    for name, lower, upper in zip(text_columns.columns, limits.lower, limits.upper, strict=True):
        value_below_limit = None  # None stands for a gap
        if settings.below == "half":
            value_below_limit = _none_if_nan(lower / 2)
        limits_of_column[name] = ColumnLimits(
            lower=_none_if_nan(lower),
            value_below=value_below_limit,
            upper=_none_if_nan(upper),
        )
    return limits_of_column


def _none_if_nan(number: float) -> float | None:
    """The number, or None in place of NaN."""
    return None if np.isnan(number) else float(number)


def _learn_fills(features: pd.DataFrame, settings: TableSettings) -> dict[str, float]:
    """The value that fills the gaps of each feature, by name; empty if gaps are not filled."""
    if settings.missing not in FILLED_WITH:
        return {}
    finite_values = features.where(np.isfinite(features))
    fills = values_to_fill(finite_values, settings.missing).dropna()
    return {name: float(value) for name, value in fills.items()}


def _possible_indicators(written_columns: pd.DataFrame) -> dict[str, IndicatorColumn]:
    """An indicator for every value of every column that is no number, by its name."""
    indicator_of_name = {}
    text = written_columns.loc[:, ~numeric_columns(written_columns)].astype("string")
    for source, column in text.items():
        levels = tuple(sorted(column.dropna().unique()))
        for value in levels:
            name = f"{source}={value}"
            indicator_of_name[name] = IndicatorColumn(name, str(source), value, levels)
    return indicator_of_name
