"""How a second table is read: settings that belong to the result cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from chanceline.cohort.fixed_settings import FIXED_SETTINGS
from chanceline.cohort.new_samples import NewTable, read_new_table
from chanceline.errors import InputError
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.tables.settings import TableSettings


def read_with_fixed_settings(
    data: Any,
    label: str | None,
    inputs: RuleInputs,
    settings: TableSettings | None,
    changes: Mapping[str, Any],
) -> NewTable:
    """Read a table of new samples; settings that belong to the saved result cannot be changed.

    Parameters
    ----------
    data : the path of a file, or a table in memory.
    label : the column of the outcome; None if it is not needed.
    inputs : what the rules of the result need to know of a table's columns.
    settings : how to read the table; None for the defaults.
    changes : single settings by name, which replace those of `settings`.
    """
    settings = replace(settings or TableSettings(), **changes)
    defaults = TableSettings()
    for field in fields(TableSettings):
        value = getattr(settings, field.name)
        default = getattr(defaults, field.name)
        if field.name in FIXED_SETTINGS and value != default:
            raise InputError(
                f"{field.name} is part of the result and cannot be set anew; leave it out."
            )
    return read_new_table(data, label, inputs, settings)
