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
    """What rules take in, as plain values with all digits."""
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
    """What `inputs_to_record` wrote."""
    means = record.record("means")
    ranges = record.record("ranges")
    ranked = record.record("ranked_values")
    return RuleInputs(
        recipe=_recipe(record),
        means={name: means.number(name) for name in means.names()},
        ranges={
            name: ColumnRange(*ranges.numbers(name, length=len(ColumnRange._fields)))
            for name in ranges.names()
        },
        ranked_values={name: np.array(ranked.numbers(name)) for name in ranked.names()},
        source=record.text("source"),
        row_digests=record.texts("row_digests"),
    )


def _recipe(record: FileRecord) -> TableRecipe:
    """How cells become numbers."""
    roles = record.record("roles")
    for role in roles.names():
        if role not in list(Role):
            record.refuse(f"there is no role {role!r}")
    return TableRecipe(
        columns=tuple(_column_from_record(column) for column in record.records("columns")),
        transform=record.choice("transform", TRANSFORMS),
        added=record.number("added"),
        below=record.optional_choice("below", ["half", "missing"]),
        na=record.texts("na"),
        label=record.text("label"),
        split_at=record.optional_number("split_at"),
        chosen_classes=record.truth("chosen_classes"),
        roles={role: roles.text(role) for role in roles.names()},
        independent=record.texts("independent"),
    )


def _column_to_record(column: RecipeColumn) -> dict[str, Any]:
    """A column as plain values."""
    kind = INDICATOR if isinstance(column, IndicatorColumn) else NUMBERS
    return {"kind": kind, **plain(column)}


def _column_from_record(record: FileRecord) -> RecipeColumn:
    """The column that `_column_to_record` wrote."""
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
    limits = record.record("limits")
    return NumberColumn(
        name=name,
        limits=ColumnLimits(
            lower=limits.optional_number("lower"),
            value_below=limits.optional_number("value_below"),
            upper=limits.optional_number("upper"),
        ),
        fill=fill,
    )
