"""The published tables are read from their CSV files and judged as docs/published-tables.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chanceline.significance import separation_test
from chanceline.tables import load_data

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "published-tables.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(\w+)\]\(#[\w-]+\) \| (\d+) × (\d+) \| \*\*([^*]+)\*\*", PAGE, re.MULTILINE)
# The others are judged in test_separation.py too, or take long.
QUICK = {"dlbcl_shipp", "lung_gordon"}
CASES = [pytest.param(*row, id=row[0], marks=[] if row[0] in QUICK else pytest.mark.slow) for row in ROWS]


def test_the_page_has_all_tables():
    assert len(ROWS) == 11


@pytest.mark.parametrize(("name", "samples", "features", "verdict"), CASES)
def test_verdict(real_data, name, samples, features, verdict):
    data = load_data(real_data(name), "label")
    assert data.X.shape == (int(samples), int(features))
    result = separation_test(data, permutations=99, expected_error=False)
    assert result.verdict == verdict
    labels = [data.classes[int(label > 0)] for label in data.y]
    assert result.score(data.X, labels) == pytest.approx(1 - result.errors / len(data.y))
