"""What rules take in, as plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline._results import plain
from chanceline.cohort.file_record import FileRecord
from chanceline.significance.rule_inputs import ColumnRange, RuleInputs
from chanceline.tables.recipe import (
    ColumnLimits,
    IndicatorColumn,
    NumberColumn,
    RecipeColumn,
    TableRecipe,
)
from chanceline.tables.roles import Role
from chanceline.tables.transforms import TRANSFORMS_IN_WORDS

TRANSFORMS = ("none", *TRANSFORMS_IN_WORDS)
# How columns are called in a file.
NUMBERS = "numbers"
INDICATOR = "indicator"


def inputs_to_record(inputs: RuleInputs) -> dict[str, Any]:
    """Write what rules need to know of a table's columns as plain values for JSON, with all digits.

    These are the recipe by which cells become numbers, and means, ranges and ranked values of the
    table that was tested. `inputs_from_record` reads them.
    """
    recipe = inputs.recipe
    return {
        "source": inputs.source,
        "label": recipe.label,
        "split_at": recipe.split_at,
        "chosen_classes": recipe.chosen_classes,
        "roles": plain(recipe.roles),
        "independent": list(recipe.independent),
        "na": list(recipe.na),
        "below": recipe.below,
        "transform": recipe.transform,
        "added": recipe.added,
        "columns": [_column_to_record(column) for column in recipe.columns],
        "means": plain(inputs.means),
        "ranges": plain(inputs.ranges),
        "ranked_values": plain(inputs.ranked_values),
        "row_digests": list(inputs.row_digests),
    }


def inputs_from_record(record: FileRecord) -> RuleInputs:
    """Read what `inputs_to_record` wrote; values of a wrong type or length are refused."""
    # Means, ranges and ranked values are records of their own, with the names of columns as keys.
    mean_record = record.record("means")
    range_record = record.record("ranges")
    ranked_record = record.record("ranked_values")
    recipe = _recipe_from_record(record)
    means = {name: mean_record.number(name) for name in mean_record.names()}

    # The range of a column is a list of numbers, in the order of the fields of `ColumnRange`.
    n_numbers = len(ColumnRange._fields)
    ranges = {}
    for name in range_record.names():
        numbers = range_record.numbers(name, length=n_numbers)
        ranges[name] = ColumnRange(*numbers)

    ranked_values = {name: np.array(ranked_record.numbers(name)) for name in ranked_record.names()}
    return RuleInputs(
        recipe=recipe,
        means=means,
        ranges=ranges,
        ranked_values=ranked_values,
        source=record.text("source"),
        row_digests=record.texts("row_digests"),
    )


def _recipe_from_record(record: FileRecord) -> TableRecipe:
    """Read the recipe by which cells become numbers, which `inputs_to_record` wrote."""
    # A role says what a column tells of the samples: blocks, groups or pairs.
    role_record = record.record("roles")
    for role in role_record.names():
        if role not in list(Role):
            record.refuse(f"there is no role {role!r}")
    columns = [_column_from_record(column) for column in record.records("columns")]
    return TableRecipe(
        columns=tuple(columns),
        transform=record.choice("transform", TRANSFORMS),
        added=record.number("added"),
        below=record.optional_choice("below", ["half", "missing"]),
        na=record.texts("na"),
        label=record.text("label"),
        split_at=record.optional_number("split_at"),
        chosen_classes=record.truth("chosen_classes"),
        roles={role: role_record.text(role) for role in role_record.names()},
        independent=record.texts("independent"),
    )


def _column_to_record(column: RecipeColumn) -> dict[str, Any]:
    """A column as plain values."""
    kind = INDICATOR if isinstance(column, IndicatorColumn) else NUMBERS
    return {"kind": kind, **plain(column)}


def _column_from_record(record: FileRecord) -> RecipeColumn:
    """Read how a column becomes a feature, as `_column_to_record` wrote it.

    A column of text becomes an indicator of one of its values; a column of numbers stays one,
    within limits of detection. Gaps are filled with the number `fill`, unless it is None.
    """
    kind = record.choice("kind", [NUMBERS, INDICATOR])
    name = record.text("name")
    fill = record.optional_number("fill")
    if kind == INDICATOR:
        return IndicatorColumn(
            name=name,
            source=record.text("source"),
            value=record.text("value"),
            levels=record.texts("levels"),
            fill=fill,
        )
    limit_record = record.record("limits")
    limits = ColumnLimits(
        lower=limit_record.optional_number("lower"),
        value_below=limit_record.optional_number("value_below"),
        upper=limit_record.optional_number("upper"),
    )
    return NumberColumn(name=name, limits=limits, fill=fill)
