"""The weights as files: every rule with all its weights, a workbook that says what `predict` says, names that never run."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook
from sheet import NotAvailable, Sheet

from chanceline.errors import InputError
from chanceline.report import write_weights
from chanceline.report.weights import weights_csv
from chanceline.significance import separation_test
from chanceline.significance.spreadsheet import quoted_text
from chanceline.tables import load_data

NAMES = ["=SUM(A1:A9)", "+g1", "-g2", "@g3", "g,4", 'a "quoted" one']


@pytest.fixture(scope="module")
def table():
    """Two batches, age as a number, sex as a category, and features with names that look like formulas."""
    rng = np.random.default_rng(21)
    y = rng.permutation(90) < 45
    X = rng.normal(size=(90, 6))
    X[:, 0] += 1.1 * y
    X[:, 1] -= 0.8 * y
    frame = pd.DataFrame(X, columns=NAMES)
    frame["age"] = rng.normal(50, 9, size=90).round(1)
    frame["sex"] = rng.choice(["f", "m"], size=90)
    frame["batch"] = rng.choice(["A", "=B"], size=90)
    frame["outcome"] = np.where(y, "=ill()", "well")
    return frame


@pytest.fixture(scope="module")
def result(table):
    roles = {"blocks": "batch", "adjust": ("age", "sex"), "positive": "=ill()"}
    result = separation_test(load_data(table, "outcome", **roles), permutations=0)
    # A rule on few features beside it, whether or not this table calls for one.
    few = separation_test(
        load_data(table, "outcome", **roles), features=NAMES[:2], permutations=0
    ).rule
    return replace(result, rule=replace(result.rule, few=few))


def rows_of(result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(weights_csv(result))))


def test_every_weight_of_every_rule_is_in_the_csv(result):
    rows = rows_of(result)
    rules = {"rule to use": result.rule, "few features": result.rule.few}
    assert {row["rule"] for row in rows} == {*rules, "separating"}
    for name, rule in rules.items():
        own = [row for row in rows if row["rule"] == name]
        weights = {
            kind: [float(row["weight"]) for row in own if row["kind"] == kind]
            for kind in ("feature", "covariate", "bias", "bias of a block")
        }
        assert weights["feature"] == rule.weights.tolist()
        assert weights["covariate"] == rule.covariate_weights.tolist()
        assert weights["bias"] == [rule.bias]
        assert weights["bias of a block"] == list(rule.block_biases.values())
    separating = [row for row in rows if row["rule"] == "separating"]
    expected = [*result.separating.weights, result.separating.bias]
    assert [float(row["weight"]) for row in separating] == expected


def test_the_meaning_is_enough_to_compute_the_score(result, table):
    """A reader who follows the column `meaning` finds the scores of the rule."""
    rows = [row for row in rows_of(result) if row["rule"] == "rule to use"]
    total = np.zeros(len(table))
    ages = table["age"].to_numpy()
    for row in rows:
        weight = float(row["weight"])
        if row["kind"] == "feature":
            total += weight * table[row["term"].removeprefix("'")]
        elif row["term"].startswith("sex"):
            assert row["meaning"] == "1 where sex is m, else 0"
            total += weight * (table["sex"] == "m")
        elif row["term"] == "z(age)":
            formula, limits = row["meaning"].split(", ")
            assert limits == "between -3 and 3"
            mean, spread = formula.removeprefix("(age - ").split(")/")
            z = np.clip((ages - float(mean)) / float(spread), -3, 3)
            total += weight * z
        elif row["term"] == "z(age)²":
            assert row["meaning"] == "the square of z(age)"
            total += weight * z**2
        elif row["kind"] == "bias of a block":
            total += weight * (table["batch"] == row["term"].removeprefix("'"))
    np.testing.assert_allclose(total, result.rule.sample_scores, rtol=1e-9, atol=1e-12)


def test_names_that_look_like_formulas_never_run(result, tmp_path):
    for row in csv.reader(io.StringIO(weights_csv(result))):
        rule, kind, term, _, meaning = row
        assert all(cell[0] not in "=+-@" for cell in (rule, kind, term, meaning))
    path = write_weights(result, tmp_path / "weights.xlsx")
    for sheet in load_workbook(path):
        for row in sheet.iter_rows():
            for cell in row:
                # Formulas are in the column of the sample alone.
                assert (cell.data_type == "f") == (cell.column_letter == "E" and bool(cell.value) and cell.row > 1)  # fmt: skip
                if cell.data_type == "s":
                    assert cell.quotePrefix
    terms = [cell.value for cell in load_workbook(path)["rule to use"]["A"]]
    assert set(result.rule.features) <= set(terms)
    assert "=B" in terms


def typed_in(sheet, values) -> dict[str, object]:
    """Cells of the column `sample` whose term has a value, features and covariates and blocks alike."""
    typed: dict[str, object] = {}
    for row in sheet.iter_rows(min_row=4):
        term, kind = row[0].value, row[1].value
        if kind in ("feature", "covariate", "block") and term in values and row[4].value is None:
            typed[row[4].coordinate] = values[term]
    return typed


@pytest.mark.parametrize("name", ["rule to use", "few features"])
def test_the_workbook_says_what_predict_says(result, table, tmp_path, name):
    rule = result.rule if name == "rule to use" else result.rule.few
    sheet = load_workbook(write_weights(result, tmp_path / "weights.xlsx"))[name]
    scores = rule.scores(table[NAMES], blocks=table["batch"], covariates=table[["age", "sex"]])
    for row in range(0, len(table), 6):
        shown = Sheet(sheet, typed_in(sheet, table.iloc[row].to_dict()))
        assert shown["E3"] == pytest.approx(scores[row], rel=1e-9)
        assert shown["E2"] == ("=ill()" if scores[row] > 0 else "well")


def test_without_a_block_the_average_one_counts_and_without_a_value_nothing_is_said(
    result, table, tmp_path
):
    sheet = load_workbook(write_weights(result, tmp_path / "weights.xlsx"))["rule to use"]
    values = table.iloc[3].to_dict()
    del values["batch"]
    average = result.rule.scores(
        table[NAMES].to_numpy()[3:4], covariates=table[["age", "sex"]].iloc[3:4]
    )
    assert Sheet(sheet, typed_in(sheet, values))["E3"] == pytest.approx(average[0], rel=1e-9)
    for wrong in ({"age": None}, {"sex": "x"}, {"batch": "C"}, {result.rule.features[0]: None}):
        shown = Sheet(sheet, typed_in(sheet, values | wrong))
        with pytest.raises(NotAvailable):
            _ = shown["E2"]


def test_the_separating_rule_and_tables_without_a_rule(result, table, tmp_path):
    without_rule = replace(result, rule=None)
    assert {row["rule"] for row in rows_of(without_rule)} == {"separating"}
    book = load_workbook(write_weights(without_rule, tmp_path / "weights.xlsx"))
    assert book.sheetnames == ["read me", "separating"]
    assert book["read me"]["A1"].value == without_rule.plain_sentence
    support = list(result.separating.support)
    scores = table[NAMES].to_numpy()[:, support] @ result.separating.weights
    scores += result.separating.bias
    sheet = book["separating"]
    for row in (0, 1, 2):
        shown = Sheet(sheet, typed_in(sheet, table.iloc[row].to_dict()))
        assert shown["E3"] == pytest.approx(scores[row], rel=1e-9)


def test_a_rule_without_features_has_its_bias_alone(result, tmp_path):
    bare = replace(
        result.rule,
        features=(),
        weights=np.zeros(0),
        support=np.zeros(0, dtype=int),
        encoder=type(result.rule.encoder)(),
        covariate_weights=np.zeros(0),
        block_biases={},
        bias=-0.25,
        few=None,
    )
    path = write_weights(replace(result, rule=bare), tmp_path / "weights.xlsx")
    shown = Sheet(load_workbook(path)["rule to use"], {})
    assert (shown["E3"], shown["E2"]) == (-0.25, "well")


def test_long_texts_of_formulas_are_joined():
    text = 'a"' * 300
    joined = quoted_text(text)
    pieces = joined[1:-1].split('"&"')
    assert max(len(piece.replace('""', '"')) for piece in pieces) <= 255
    assert "".join(pieces).replace('""', '"') == text


def test_the_command_writes_them_and_refuses_other_endings_first(command, tmp_path):
    options = (
        "test",
        "--example",
        "planted",
        "--permutations",
        "0",
        "--quiet",
        "--no-expected-error",
    )
    code, _, err = command(*options, "--weights", tmp_path / "weights.csv")
    assert code == 0
    assert "weights written to" in err
    rows = pd.read_csv(tmp_path / "weights.csv")
    assert set(rows["rule"]) == {"separating"}
    code, out, err = command(*options, "--weights", tmp_path / "weights.txt")
    assert (code, out) == (2, "")
    assert "must end in .csv or .xlsx" in err


def test_other_endings_are_refused(result, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"must end in \.csv or \.xlsx, not 'weights\.txt'"):
        write_weights(result, tmp_path / "weights.txt")
    monkeypatch.setattr("chanceline.report.weights.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"install chanceline\[excel\]"):
        write_weights(result, tmp_path / "weights.xlsx")
    assert list(tmp_path.iterdir()) == []
    write_weights(result, tmp_path / "weights.CSV")
