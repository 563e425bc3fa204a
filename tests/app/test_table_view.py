"""What the page shows of a table: columns that may be the label, and lists of wide tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pages_client import small_table

from chanceline.app.choices import Choices, ColumnChoice
from chanceline.app.table_view import MOST_CLASSES, MOST_COLUMNS_LISTED, look_at


def test_possible_labels_are_the_columns_of_few_values(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"whole{n}": rng.integers(0, n, 60) for n in (1, 2, 5, 20, 60)})
    frame["with gaps"] = np.where(rng.random(60) < 0.2, np.nan, rng.integers(0, 3, 60))
    frame["words"] = rng.choice(["a", "b"], 60)
    frame["names"] = [f"n{row}" for row in range(60)]
    frame["fractions"] = rng.normal(size=60)
    frame.to_csv(tmp_path / "table.csv", index=False)
    n_values = frame.drop(columns="fractions").nunique()
    expected = [name for name, number in n_values.items() if 2 <= number <= MOST_CLASSES]
    view = look_at(tmp_path / "table.csv", None, Choices(), 1)
    assert sorted(view.label_names) == sorted(expected)
    # Those with two values come first.
    n_first = sum(n_values[name] == 2 for name in expected)
    assert all(n_values[name] == 2 for name in view.label_names[:n_first])
    assert set(view.label_positions().values()) == set(expected)


def test_a_wide_table_lists_what_is_special(tmp_path):
    frame = pd.read_csv(small_table(tmp_path / "wide.csv"))
    extra = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 400)))
    frame = pd.concat([extra.add_prefix("g"), frame], axis=1)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    choices = Choices(label="outcome", columns={"gene7": ColumnChoice.COVARIATE})
    view = look_at(tmp_path / "wide.csv", None, choices, 1)
    assert len(view.names) == 422
    assert len(view.columns) == MOST_COLUMNS_LISTED
    assert {column.name for column in view.columns[:3]} == {"sample_id", "gene7", "outcome"}
    assert view.refusal is None
    first = view.first_rows[0]
    assert first[0] == "2"  # the line of the file
    assert float(first[1]) == frame["g0"][0]
