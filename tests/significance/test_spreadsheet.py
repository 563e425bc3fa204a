"""The rule as a formula for a spreadsheet: on the samples it says what `predict` says, whatever the names."""

from __future__ import annotations

import shutil
import subprocess
from html import unescape

import numpy as np
import pandas as pd
import pytest
from written import NotThere, apply_formula

from chanceline.prediction.rule import PredictionRule
from chanceline.significance import separation_test
from chanceline.significance.spreadsheet import spreadsheet_formula
from chanceline.tables.examples import load_example

# Names as files have them, and as somebody would write them who wants a formula of their own to run.
NAMES = [
    "gene 1",
    "g7",
    'a "quoted" one',
    "=SUM(A1:A9)",
    "+1",
    "-x",
    "@now",
    "a*",
    "a~?",
    "1007",
    "104.05",
    "β-HB",
    "two\nlines",
]
CLASSES = ['=HYPERLINK("http://x","case")', '"&A1&"']


def simulated(
    names: list[str], seed: int = 0, classes: tuple[str, str] = ("control", "case")
) -> tuple[pd.DataFrame, np.ndarray]:
    """Every column is a little larger in the second class, in units of its own."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(80) % 2)
    units = 10.0 ** rng.integers(-4, 5, size=len(names))
    X = (
        rng.normal(size=(80, len(names))) + 0.9 * y[:, None] * rng.choice([-1, 1], size=len(names))
    ) * units
    return pd.DataFrame(X, columns=names), np.array(classes)[y]


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_the_formula_says_what_predict_says(seed):
    X, y = simulated([f"g{j}" for j in range(12)], seed)
    result = separation_test(X, y, permutations=0)
    formula = result.rule.formula
    assert formula.isascii()
    assert formula.startswith("=IF(")
    assert apply_formula(formula, dict(X.items())) == result.predict(X).tolist()
    assert result.to_dict()["rule"]["formula"] == formula
    assert formula in unescape(result.to_html())
    # Columns are found by name, wherever they stand.
    turned = X[list(reversed(X.columns))].assign(more=0.0)
    assert apply_formula(formula, dict(turned.items())) == result.predict(X).tolist()
    with pytest.raises(NotThere):
        apply_formula(formula, dict(X.rename(columns=str.upper).add_prefix("other ").items()))


def test_names_cannot_end_a_text_or_begin_a_formula():
    X, y = simulated(NAMES, classes=(CLASSES[0], CLASSES[1]))
    result = separation_test(X, y, NAMES, permutations=0)
    assert set(result.rule.features) == set(NAMES)
    formula = result.rule.formula
    # One formula, in one line: a sign that begins one stands only at its head.
    assert "\n" not in formula
    outside = "".join(formula.split('"')[::2])
    assert outside.count("=") == 1
    assert "@" not in outside
    assert "HYPERLINK" not in outside
    assert apply_formula(formula, dict(X.items())) == result.predict(X).tolist()


@pytest.mark.slow
def test_a_formula_with_many_features_and_one_without_any():
    rng = np.random.default_rng(6)
    y = np.arange(100) % 2
    X = pd.DataFrame(rng.normal(size=(100, 60)) + 0.4 * y[:, None]).add_prefix("g")
    result = separation_test(X, y, permutations=0)
    assert result.rule.dense
    assert len(result.rule.features) > 30
    assert (
        apply_formula(result.rule.formula, dict(X.items()))
        == result.predict(X).astype(str).tolist()
    )
    nothing = separation_test(rng.normal(size=(40, 5)), np.arange(40) % 2, permutations=0).rule
    assert nothing.features == ()
    assert nothing.formula == '="0"'


def test_digits_are_enough():
    """A threshold that needs eight digits, and one that needs more than a spreadsheet keeps."""
    support = np.array([0])

    def formula(light: float, heavy: float) -> str:
        rule = PredictionRule(support, np.array([1.0]), -light, 1.0, "named beforehand")
        return spreadsheet_formula(rule, np.array([[light], [heavy]]), ["mass"], ("light", "heavy"))

    masses = np.array([1e7 + 1, 1e7 + 2])
    assert apply_formula(formula(*masses), {"mass": masses}) == ["light", "heavy"]
    light = 1.2345678901234567
    assert formula(light, np.nextafter(light, 2.0)) == ""


def test_where_no_formula_says_the_same_there_is_none():
    X, y = simulated([f"g{j}" for j in range(6)])
    blocks = separation_test(X, y, blocks=np.arange(80) // 20, permutations=0)
    assert blocks.rule.features
    assert blocks.rule.formula == ""
    assert (
        "There is no formula to paste into a spreadsheet: the rule has blocks besides."
        in blocks.to_html()
    )
    adjusted = separation_test(
        X, y, adjust=np.random.default_rng(0).normal(size=80), permutations=99
    )
    assert adjusted.rule.features
    assert adjusted.rule.formula == ""
    # Spreadsheets take "g0" and "G0" for the same name.
    alike = separation_test(X.rename(columns={"g1": "G0"}), y, ["g0", "g2"], permutations=0)
    assert alike.rule.formula == ""
    apart = separation_test(X.rename(columns={"g1": "G0"}), y, ["g2", "g3"], permutations=0)
    assert apart.rule.formula != ""
    long = separation_test(
        X.rename(columns={"g1": "g" * 256}), y, permutations=0, features=["g" * 256]
    )
    assert long.rule.formula == ""


def test_a_short_formula_is_printed_in_one_line():
    X, y = simulated(["hdl"])
    short = separation_test(X, y, permutations=0)
    assert f"\n  formula    {short.rule.formula}\n" in str(short)
    assert max(map(len, str(short).splitlines())) <= 98
    long = separation_test(load_example("planted"), permutations=0)
    assert long.rule.formula
    assert "formula" not in str(long)


def test_a_real_spreadsheet_agrees(tmp_path):
    program = shutil.which("soffice")
    if program is None:
        pytest.skip("no LibreOffice is installed (Debian: apt-get install libreoffice-calc)")
    openpyxl = pytest.importorskip("openpyxl")
    X, y = simulated(NAMES, classes=(CLASSES[0], CLASSES[1]))
    result = separation_test(X, y, NAMES, permutations=0)
    sheet = openpyxl.Workbook()
    sheet.active.append([None] * len(NAMES))
    for column, name in enumerate(NAMES, 1):
        cell = sheet.active.cell(1, column)
        cell.value = float(name) if name.replace(".", "").isdigit() else name
        cell.data_type = "n" if name.replace(".", "").isdigit() else "s"
    for row in X.to_numpy().tolist():
        sheet.active.append([*row, None, result.rule.formula])
    sheet.save(tmp_path / "table.xlsx")
    profile = f"-env:UserInstallation=file://{tmp_path / 'profile'}"
    convert = [
        program,
        profile,
        "--headless",
        "--convert-to",
        "csv",
        "--outdir",
        str(tmp_path),
        str(tmp_path / "table.xlsx"),
    ]
    subprocess.run(convert, check=True, capture_output=True, timeout=180)
    shown = pd.read_csv(tmp_path / "table.csv", keep_default_na=False).iloc[:, -1]
    assert shown.tolist() == result.predict(X).tolist()
