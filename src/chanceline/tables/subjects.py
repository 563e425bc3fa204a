"""Old paths, until the callers follow."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from chanceline.perceptron.problem import Floats
from chanceline.tables.checks.declared import check_declared
from chanceline.tables.checks.near_rows import near_rows
from chanceline.tables.checks.subjects import SampleColumns, find_suspect
from chanceline.tables.raw_table import named_index

__all__ = ["check_declared", "named_index", "near_rows", "undeclared_design"]


def undeclared_design(
    text: pd.DataFrame,
    numbers: pd.DataFrame,
    labels: Floats,
    *,
    names: pd.Series | None = None,
    names_are: str = "",
    known: Sequence[pd.Series] = (),
) -> str:
    """The sentence of `find_suspect`, empty if nothing looks like subjects."""
    columns = SampleColumns(text=text, numbers=numbers, names=names, names_place=names_are)
    suspect = find_suspect(columns, labels, known)
    if suspect is None:
        return ""
    return suspect.sentence
