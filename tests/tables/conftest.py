"""Tables of tests: written to a file, then read."""

import numpy as np
import pandas as pd
import pytest

from chanceline.tables import load_data


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 3)).round(4), columns=["a", "b c", "d"])
    frame["outcome"] = ["ill", "well"] * 6
    return frame


@pytest.fixture
def read(tmp_path):
    def load(
        content: str | bytes | pd.DataFrame,
        label: str | None = "outcome",
        name: str = "table.csv",
        **settings,
    ):
        text = content.to_csv(index=False) if isinstance(content, pd.DataFrame) else content
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return load_data(tmp_path / name, label, **settings)

    return load
