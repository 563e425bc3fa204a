"""What the page shows of a table: columns that may be the label, and lists of wide tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pages_client import small_table

from chanceline.app.choices import Choices
from chanceline.app.column_choice import ColumnChoice
from chanceline.app.column_list import MOST_COLUMNS_LISTED
from chanceline.app.outcome_choices import OutcomeChoices
from chanceline.app.outcome_columns import MOST_CLASSES, MOST_LISTED_OF_A_KIND, ValueKind
from chanceline.app.table_view import TableFiles, look_at


def test_columns_are_offered_by_what_their_values_look_like(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"whole{n}": rng.integers(0, n, 60) for n in (1, 2, 5, 20, 60)})
    frame["with gaps"] = np.where(rng.random(60) < 0.2, np.nan, rng.integers(0, 3, 60))
    frame["words"] = rng.choice(["a", "b"], 60)
    frame["names"] = [f"n{row}" for row in range(60)]
    frame["fractions"] = rng.normal(size=60)
    frame["empty"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    view = look_at(TableFiles(tmp_path / "table.csv"), Choices(), 1)
    kinds = {name: kind for kind, names in view.outcome_columns.items() for name in names}
    n_values = frame.nunique()
    assert set(kinds) == {name for name in frame if n_values[name] >= 2} - {"names"}
    for name, kind in kinds.items():
        is_few = n_values[name] <= MOST_CLASSES and name != "fractions"
        assert (kind is ValueKind.NUMBERS) == (not is_few)
        assert (kind is ValueKind.TWO_NUMBERS) == (name != "words" and n_values[name] == 2)
    labels = [name for group in view.offered_labels() for name in group.names]
    assert labels[0] == "words"
    assert sorted(labels) == sorted(kinds)
    assert "words" not in [name for group in view.offered_times("") for name in group.names]
    assert "fractions" not in [name for group in view.offered_events("") for name in group.names]


def test_of_many_columns_both_ends_and_the_chosen_one_are_offered(tmp_path):
    numbers = np.random.default_rng(2).normal(size=(12, 300))
    pd.DataFrame(numbers).add_prefix("x").to_csv(tmp_path / "wide.csv", index=False)
    choices = Choices(outcome=OutcomeChoices(label="x150"))
    view = look_at(TableFiles(tmp_path / "wide.csv"), choices, 1)
    chosen, numbers_offered = view.offered_labels()
    assert chosen.names == ("x150",)
    assert len(numbers_offered.names) == MOST_LISTED_OF_A_KIND
    assert {"x0", "x49", "x250", "x299"} <= set(numbers_offered.names)
    assert "x50" not in numbers_offered.names


def test_a_wide_table_lists_what_is_special(tmp_path):
    frame = pd.read_csv(small_table(tmp_path / "wide.csv"))
    extra = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 400)))
    frame = pd.concat([extra.add_prefix("g"), frame], axis=1)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    choices = Choices(
        outcome=OutcomeChoices(label="outcome"), columns={"gene7": ColumnChoice.COVARIATE}
    )
    view = look_at(TableFiles(tmp_path / "wide.csv"), choices, 1)
    assert len(view.names) == 422
    assert len(view.columns) == MOST_COLUMNS_LISTED
    assert {column.name for column in view.columns[:3]} == {"sample_id", "gene7", "outcome"}
    assert view.refusal is None
    first = view.first_rows[0]
    assert first[0] == "2"  # the line of the file
    assert float(first[1]) == frame["g0"][0]
    # Any other one is found by its name, in any case.
    assert "g399" not in [column.name for column in view.columns]
    assert [column.name for column in view.column_list.containing(" G399")] == ["g399"]
    assert view.column_list.n_containing("g1") == sum("g1" in name for name in frame.columns)
