"""Text columns: left out, or made indicators of their values."""

from __future__ import annotations

import pandas as pd

from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural, quoted

# With more different values than this share of the rows, indicators would say nothing.
TOO_MANY_VALUES = 0.5


def note_left_out_text(text: pd.DataFrame) -> list[Finding]:
    """A note about text columns that are left out, and of which of them there may be indicators."""
    n_columns = text.shape[1]
    if n_columns == 0:
        return []
    categories = [name for name in text if not _differs_by_row(text[name])]
    remedy = ""
    if categories:
        which = "them" if len(categories) == n_columns else quoted(categories)
        remedy = f"; one_hot=True makes indicators of {which}"
    left_out = f"{plural(n_columns, 'text column')} left out: {quoted(text.columns)}"
    return [Finding.note(f"{left_out}{remedy}.")]


def make_indicators(text: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """One column of 0 and 1 for every value of text, named `site=north`; of two values for the last
    in the alphabet only.

    The two halves of a column with two values say the same twice. A gap in such a column stays a
    gap; with more values it is 0 in all indicators.
    """
    findings = []
    too_many_values = [name for name in text if _differs_by_row(text[name])]
    if too_many_values:
        names = quoted(too_many_values)
        findings.append(
            Finding.note(f"left out, as almost every row has a value of its own: {names}.")
        )
    indicators: dict[str, pd.Series] = {}
    of_two_values = []
    for name, column in text.drop(columns=too_many_values).astype("string").items():
        values = sorted(column.dropna().unique())
        if len(values) == 2:
            indicator = f"{name}={values[1]}"
            of_two_values.append(indicator)
            indicators[indicator] = (column == values[1]).astype(float).mask(column.isna())
        else:
            for value in values:
                is_value = (column == value).fillna(False)
                indicators[f"{name}={value}"] = is_value.astype(float)
    if of_two_values:
        findings.append(
            Finding.note(
                "text of two values has one indicator, for the value that is last in the alphabet: "
                f"{quoted(of_two_values)}."
            )
        )
    return pd.DataFrame(indicators, index=text.index), findings


def _differs_by_row(column: pd.Series) -> bool:
    """Whether almost every row has a text of its own, so that indicators would say nothing."""
    return bool(column.nunique() > TOO_MANY_VALUES * len(column))
