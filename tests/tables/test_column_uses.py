"""What columns are taken for agrees with what `load_data` makes of them, and errors know their step."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import TableSettings, load_data
from chanceline.tables.column_uses import ColumnUse, column_uses
from chanceline.tables.labelled import read_table
from chanceline.tables.reading_steps import ReadingStep

N_ROWS = 24


@pytest.fixture
def mixed(tmp_path):
    """A file with columns of every kind."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "sample_id": [f"S{row // 2}_{row % 2}" for row in range(N_ROWS)],
            "run": np.arange(100, 100 + N_ROWS),
            "visit date": [f"2024-03-{row + 1:02d}" for row in range(N_ROWS)],
            "tissue": np.where(rng.random(N_ROWS) < 0.5, "liver", "kidney"),
            "hospital": np.arange(N_ROWS) % 4 + 1,
            "age": rng.integers(20, 80, N_ROWS) + 0.5,
            "crp": ["<0.5", *[f"{value:.3f}" for value in rng.random(N_ROWS - 1)]],
            "gene": rng.normal(size=N_ROWS),
            "outcome": np.arange(N_ROWS) % 2,
        }
    )
    path = tmp_path / "mixed.csv"
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"one_hot": True},
        {"keep_identifiers": True},
        {"drop": ("age",), "blocks": "hospital"},
        {"adjust": ("age",), "independent": ("hospital",)},
    ],
)
def test_uses_are_those_of_load_data(mixed, changes):
    settings = TableSettings(below="half", **changes)
    uses = column_uses(read_table(mixed, "outcome", settings), "outcome", settings)
    features = {name for name, use in uses.items() if use is ColumnUse.FEATURE}
    indicators = [name for name, use in uses.items() if use is ColumnUse.INDICATORS]
    loaded = load_data(mixed, "outcome", settings).feature_names
    # An indicator is called `tissue=liver`; text with too many values makes none.
    assert {name for name in loaded if "=" not in name} == features
    assert {name.partition("=")[0] for name in loaded if "=" in name} <= set(indicators)


def test_every_kind_has_its_word(mixed):
    settings = TableSettings(groups="stem:sample_id", adjust=("age",), drop=("gene",))
    # Nothing stops at cells or gaps: a page shows what columns are before these are settled.
    uses = column_uses(read_table(mixed, "outcome", settings), "outcome", settings)
    assert uses == {
        "sample_id": ColumnUse.GROUPS,
        "run": ColumnUse.IDENTIFIER,
        "visit date": ColumnUse.DATE,
        "tissue": ColumnUse.TEXT,
        "hospital": ColumnUse.IDENTIFIER,
        "age": ColumnUse.COVARIATE,
        "crp": ColumnUse.FEATURE,
        "gene": ColumnUse.LEFT_OUT,
        "outcome": ColumnUse.LABEL,
    }


@pytest.mark.parametrize(
    ("label", "changes", "step"),
    [
        ("nothing", {}, ReadingStep.LABEL),
        ("outcome", {"blocks": "nothing"}, ReadingStep.COLUMNS),
        ("outcome", {}, ReadingStep.CELLS),
        ("outcome", {"below": "missing"}, ReadingStep.GAPS),
        ("outcome", {"below": "half", "transform": "log"}, ReadingStep.UNITS),
    ],
)
def test_an_error_knows_its_step(mixed, label, changes, step):
    with pytest.raises(InputError) as stop:
        load_data(mixed, label, **changes)
    assert stop.value.step is step


def test_a_file_that_is_none_is_an_error_of_its_step(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_bytes(b"\x00\x01\x02" * 40)
    with pytest.raises(InputError) as stop:
        load_data(path, "outcome")
    assert stop.value.step is ReadingStep.FILE
