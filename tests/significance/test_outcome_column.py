"""A column that is the outcome is asked about, with the verdict without it; an informative feature among others is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from chanceline.significance import separation_test
from chanceline.significance.outcome_column import outcome_columns
from chanceline.tables import load_data

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
PUBLISHED = [
    "breast_gravier",
    "breast_west",
    "cns_pomeroy",
    "colon_alon",
    "dlbcl_shipp",
    "golub38",
    "golub72",
    "lung_gordon",
    "prostate_singh",
    "sonar",
    "wdbc",
]


def cachexia(seed, signal=0.0):
    """77 patients, 60 metabolites; the label is muscle loss above a value, and muscle loss is a column."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(77, 60)))
    loss = rng.normal(size=77) + signal * np.log(X[:, 3])
    table = pd.DataFrame(X, columns=[f"metabolite {j}" for j in range(60)])
    table["Muscle loss per 100 days"] = loss
    table["diagnosis"] = np.where(loss > 0.2, "cachexic", "control")
    return table


def test_the_outcome_among_the_features_is_asked_about_first():
    result = separation_test(cachexia(0), label="diagnosis", permutations=199, expected_error=False)
    assert result.verdict == "structure"
    assert result.evidence.features == ("Muscle loss per 100 days",)
    first = result.findings[0]
    assert first.severity == "warning"
    assert "column 'Muscle loss per 100 days' alone tells the classes apart" in first.message
    assert "is it the outcome itself" in first.message
    dropped = separation_test(
        cachexia(0),
        label="diagnosis",
        drop="Muscle loss per 100 days",
        permutations=199,
        expected_error=False,
    )
    assert dropped.verdict != "structure"
    assert f"Without it: {dropped.verdict.upper()}, {dropped.in_p()}." in first.message
    assert not any("outcome itself" in finding.message for finding in dropped.findings)
    lines = str(result).splitlines()
    assert "Muscle loss per 100 days" in lines[1]


def test_structure_beside_the_outcome_is_told():
    result = separation_test(
        cachexia(1, signal=1.0), label="diagnosis", permutations=199, expected_error=False
    )
    assert "Without it: STRUCTURE, p" in result.findings[0].message


def test_a_table_of_the_outcome_alone():
    table = cachexia(2)[["Muscle loss per 100 days", "diagnosis"]]
    result = separation_test(
        table.assign(other=1.0), label="diagnosis", permutations=19, expected_error=False
    )
    # One column is no table to compare with.
    assert result.verdict == "structure"


def test_a_good_feature_among_good_ones_is_no_outcome():
    rng = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 30)
    X = rng.normal(size=(60, 50))
    X[:, 0] += 3.0 * y
    X[:, 1] += 1.3 * y
    suspects = outcome_columns(X, y)
    assert len(suspects.columns) == 0
    assert suspects.next_best > 0.95


def test_noise_has_no_outcome_column():
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(200):
        n_samples = int(rng.integers(8, 40))
        X = rng.normal(size=(n_samples, int(rng.integers(2, 300))))
        y = np.where(np.arange(n_samples) % 2 == 0, 1.0, -1.0)
        found += len(outcome_columns(X, y).columns)
    assert found == 0


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs tables that are not part of the repository")
@pytest.mark.parametrize("name", PUBLISHED)
def test_no_question_on_published_tables(name):
    data = load_data(DATA / f"{name}.csv.gz", "-1")
    assert len(outcome_columns(data.X, data.y).columns) == 0
