"""`test --save`, `predict` and `confirm` as people call them."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from cohorts import ABOUT, cohort


@pytest.fixture
def files(tmp_path, command):
    """A result, the table tested and a second one."""
    cohort().to_csv(tmp_path / "data.csv", index=False)
    cohort(seed=1).to_csv(tmp_path / "new.csv", index=False)
    result = tmp_path / "result.json"
    code, out, err = command(
        "test", tmp_path / "data.csv", "--label", "outcome", "--features", "g0,g1", "--drop", ",".join(ABOUT),
        "--permutations", 0, "--no-expected-error", "--json", "--quiet", "--save", result,
    )  # fmt: skip
    assert code == 0
    assert f"result written to {result}" in err
    return tmp_path, json.loads(out)


def test_predict_and_confirm(files, command):
    folder, tested = files
    code, out, err = command("predict", folder / "result.json", folder / "data.csv")
    assert (code, err) == (0, "")
    table = pd.read_csv(StringIO(out))
    assert list(table) == ["row", "score", "class"]
    wrong = int(np.sum(table["class"] != cohort()["outcome"]))
    assert wrong == tested["separating"]["errors"]

    out_file = folder / "predicted.csv"
    code, out, err = command(
        "predict", folder / "result.json", folder / "new.csv", "--out", out_file
    )
    assert (code, out) == (0, "")
    assert f"written to {out_file}" in err
    code, out, _ = command("predict", folder / "result.json", folder / "new.csv", "--json")
    rows = json.loads(out)["rows"]
    assert [row["class"] for row in rows] == pd.read_csv(out_file)["class"].tolist()

    code, out, err = command("confirm", folder / "result.json", folder / "new.csv")
    assert (code, err) == (0, "")
    assert out.startswith("CONFIRMED, p = ")
    code, out, _ = command(
        "confirm", folder / "result.json", folder / "new.csv", "--label", "outcome", "--json"
    )
    assert json.loads(out)["confirmed"] is True


def test_what_is_wrong_is_one_sentence(files, command):
    folder, _ = files
    (folder / "broken.json").write_text("{")
    cohort().drop(columns="g0").to_csv(folder / "without.csv", index=False)
    for words, said in (
        (("predict", "absent.json", "new.csv"), "absent.json: No such file"),
        (("predict", "broken.json", "new.csv"), "damaged"),
        (("predict", "result.json", "absent.csv"), "absent.csv: No such file"),
        (("predict", "result.json", "without.csv"), "without.csv lacks 1 column"),
        (("confirm", "result.json", "new.csv", "--label", "site"), "has no row of|but the rule"),
        (("confirm", "result.json", "new.csv", "--rule", "few"), "no rule 'few'"),
    ):
        name, first, second, *flags = words
        code, out, err = command(name, folder / first, folder / second, *flags)
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1
        assert any(part in err for part in said.split("|")), err


def test_no_class_becomes_a_formula(tmp_path, command):
    frame = cohort().replace({"outcome": {"ill": "=1+1", "well": "-1"}})
    frame.to_csv(tmp_path / "data.csv", index=False)
    options = ["--label", "outcome", "--features", "g0,g1", "--drop", ",".join(ABOUT), "--permutations", 0, "--quiet"]  # fmt: skip
    command("test", tmp_path / "data.csv", *options, "--no-expected-error", "--save", tmp_path / "result.json")  # fmt: skip
    _, out, _ = command("predict", tmp_path / "result.json", tmp_path / "data.csv")
    assert set(pd.read_csv(StringIO(out))["class"]) == {"'=1+1", "-1"}
