"""The weights of a number, several classes and survival as a file, applied by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import chanceline
from chanceline.errors import InputError
from chanceline.report import write_outcome_weights

RNG = np.random.default_rng(31)
FEATURES = pd.DataFrame(RNG.normal(size=(60, 6))).add_prefix("g")
DOSE = 3 + FEATURES.g1 - FEATURES.g4 + 0.5 * RNG.normal(size=60)
STAGE = pd.Series(
    np.array(["none", "mild", "severe"])[np.argmax(FEATURES.to_numpy()[:, :3], axis=1)]
)
TIMES = RNG.exponential(np.exp(-1.5 * FEATURES.g2))


def sums_of_file(path) -> np.ndarray:
    """What the file says of every sample: intercept + Σ weight·value, (samples, outputs)."""
    weights = pd.read_csv(path, index_col="term")
    intercepts = weights.loc["(intercept)"].to_numpy()
    of_features = weights.drop(index="(intercept)")
    return intercepts + FEATURES[of_features.index].to_numpy() @ of_features.to_numpy()


def test_a_number_is_the_sum(tmp_path):
    result = chanceline.separation_test(FEATURES, DOSE.rename("dose"), permutations=0)
    path = write_outcome_weights(result, tmp_path / "weights.csv")
    np.testing.assert_allclose(sums_of_file(path)[:, 0], result.predict(FEATURES), rtol=1e-9)


def test_a_risk_is_the_sum(tmp_path):
    table = FEATURES.assign(months=TIMES, relapse=1)
    result = chanceline.separation_test(table, time="months", event="relapse", permutations=0)
    path = write_outcome_weights(result, tmp_path / "weights.csv")
    assert path.read_text().startswith("term,risk of relapse\n")
    np.testing.assert_allclose(sums_of_file(path)[:, 0], result.predict(FEATURES), rtol=1e-9)


def test_probabilities_of_classes_are_those_of_the_sums(tmp_path):
    result = chanceline.separation_test(FEATURES, STAGE.rename("stage"), permutations=0)
    path = write_outcome_weights(result, tmp_path / "weights.csv")
    result.save(tmp_path / "result.json")
    predictions = chanceline.load_result(tmp_path / "result.json").predict(FEATURES)
    probabilities = softmax(sums_of_file(path), axis=1)
    np.testing.assert_allclose(probabilities, predictions.probabilities, rtol=1e-8)
    header = path.read_text().splitlines()[0]
    assert header == "term," + ",".join(predictions.class_names)


def test_other_files_are_refused(tmp_path, command):
    table = FEATURES.assign(dose=DOSE)
    table.to_csv(tmp_path / "data.csv", index=False)
    arguments = ["test", tmp_path / "data.csv", "--label", "dose", "--permutations", 9, "--quiet"]
    code, _, err = command(*arguments, "--weights", tmp_path / "weights.xlsx")
    assert code == 2
    assert "written to a .csv file" in err
    code, _, err = command(*arguments, "--weights", tmp_path / "weights.csv")
    assert code == 0
    assert (tmp_path / "weights.csv").exists()
    untested = chanceline.separation_test(table, label="dose", permutations=0, expected_error=False)
    with pytest.raises(InputError, match="no rule"):
        write_outcome_weights(untested, tmp_path / "weights.csv")
