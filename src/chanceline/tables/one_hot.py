"""Text columns: left out, or made indicators of their values."""

from __future__ import annotations

import pandas as pd

from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural, quoted

# With more different values than this share of the rows, indicators would say nothing.
TOO_MANY_VALUES = 0.5


def note_left_out_text(text: pd.DataFrame) -> list[Finding]:
    """A note that text columns (samples, columns) are left out, if there are any.

    It names those that the setting `one_hot` could turn into indicators.
    """
    n_columns = text.shape[1]
    if n_columns == 0:
        return []
    category_columns = [name for name in text if not _has_too_many_values(text[name])]
    remedy = ""
    if category_columns:
        columns_in_words = quoted(category_columns)
        all_are_categories = len(category_columns) == n_columns
        if all_are_categories and n_columns > 1:
            columns_in_words = "them"
        remedy = f"; one_hot=True makes indicators of {columns_in_words}"
    left_out = f"{plural(n_columns, 'text column')} left out: {quoted(text.columns)}"
    return [Finding.note(f"{left_out}{remedy}.")]


def make_indicators(text: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """Indicators (0 or 1) of the values of text columns (samples, columns), and notes about them.

    The indicators have the shape (samples, indicators) and names such as `site=north`. A column of
    two values gives one indicator, a column of more values one for each. Columns in which almost
    every row has a value of its own are left out.
    """
    findings = []
    left_out = [name for name in text if _has_too_many_values(text[name])]
    if left_out:
        note = f"left out, as almost every row has a value of its own: {quoted(left_out)}."
        findings.append(Finding.note(note))
    categories = text.drop(columns=left_out).astype("string")

    indicators: dict[str, pd.Series] = {}
    indicators_of_two_values = []  # names of the indicators of columns with two values
    for name, column in categories.items():
        values = sorted(column.dropna().unique())
        if len(values) == 2:
            # One indicator, as the other one would say the same. A gap stays a gap.
            indicator_name = f"{name}={values[1]}"
            indicators[indicator_name] = _is_value(column, values[1]).mask(column.isna())
            indicators_of_two_values.append(indicator_name)
        else:
            # One indicator for each value. A gap has none of the values, and is 0 in all of them.
            for value in values:
                indicators[f"{name}={value}"] = _is_value(column, value)
    if indicators_of_two_values:
        note = (
            "text of two values has one indicator, for the value that is last in the alphabet: "
            f"{quoted(indicators_of_two_values)}."
        )
        findings.append(Finding.note(note))
    return pd.DataFrame(indicators, index=text.index), findings


def _is_value(column: pd.Series, value: str) -> pd.Series:
    """1.0 in the rows with this value, 0.0 in others and in gaps."""
    return (column == value).fillna(False).astype(float)


def _has_too_many_values(column: pd.Series) -> bool:
    """Whether almost every row has a text of its own, so that indicators would say nothing."""
    return bool(column.nunique() > TOO_MANY_VALUES * len(column))
