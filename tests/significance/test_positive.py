"""One positive class for a table: the sentence, `predict`, sensitivity, AUC, weights, the picture and the page mean the same."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from written import apply_card, apply_sentence

from chanceline.errors import InputError
from chanceline.figures.significance import draw_samples
from chanceline.prediction.metrics import area_within_folds
from chanceline.prediction.rule import PredictionRule, fit_rule
from chanceline.significance import SeparationTest, separation_test
from chanceline.significance.sentences import rule_sentence
from chanceline.sklearn import SparseRule
from chanceline.tables import load_data
from chanceline.tables.classes import choose_positive, is_called_control

# Names of the class that the two shifted columns raise and of the other, the sizes of both, what is said about them, and the
# class that must be positive.
TABLES = [
    ("case", "control", 60, 30, {}, "case"),
    ("Control", "ill", 25, 50, {}, "ill"),
    ("0", "1", 30, 60, {}, "1"),
    ("alpha", "beta", 60, 30, {}, "beta"),
    ("alpha", "beta", 44, 44, {}, "beta"),
    ("case", "control", 30, 60, {"positive": "control"}, "control"),
    ("alpha", "beta", 30, 60, {"classes": "beta,alpha"}, "beta"),
]
MORE_TABLES = [
    ("case", "control", 40, 40, {}, "case"),
    ("control", "case", 30, 60, {}, "case"),
    ("healthy donor", "AML", 60, 30, {}, "AML"),
    ("Normal", "Adenoma", 30, 60, {}, "Adenoma"),
    ("1", "0", 60, 30, {}, "1"),
    ("yes", "no", 60, 30, {}, "yes"),
    ("no", "yes", 30, 60, {}, "yes"),
    ("recurrent", "not recurrent", 60, 30, {}, "recurrent"),
    ("alpha", "beta", 30, 60, {}, "alpha"),
    ("beta", "alpha", 60, 30, {}, "alpha"),
    ("1", "2", 30, 60, {}, "1"),
    ("alpha", "beta", 30, 60, {"positive": "Beta"}, "beta"),
]


def simulated(raised: str, other: str, n_raised: int, n_other: int) -> pd.DataFrame:
    """Two columns of twelve are larger in one class and smaller in the other, with much overlap."""
    rng = np.random.default_rng(n_raised)
    is_raised = rng.permutation(np.arange(n_raised + n_other) < n_raised)
    X = rng.normal(size=(len(is_raised), 12)).round(4)
    X[:, 2] += 1.5 * is_raised
    X[:, 7] += 1.1 * is_raised
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    return table.assign(outcome=np.where(is_raised, raised, other))


def check_meaning(result: SeparationTest, table: pd.DataFrame, positive: str) -> None:
    """Everything that a result says about its classes, recomputed from the table."""
    rule = result.rule
    assert rule is not None
    assert rule.expected_error is not None
    X, y = table.drop(columns="outcome"), table["outcome"].astype(str).to_numpy()
    is_positive = y == positive
    values = {name: X[name].to_numpy() for name in X}
    (negative,) = set(y) - {positive}
    assert result.class_names == (negative, positive)
    assert result.positive_class == result.to_dict()["positive_class"] == positive
    assert result.positives == is_positive.sum()

    # The rule to use: its sentence, `predict` and the errors it states.
    predicted = result.predict(X) == result.classes[1]
    about, called = apply_sentence(rule.text, values)
    assert about == positive
    assert np.array_equal(called, predicted)
    assert np.array_equal(np.flatnonzero(predicted != is_positive), rule.wrong)

    # The separating rule, and the scorecard.
    separating = result.separating
    about, called = apply_sentence(separating.text, values)
    assert about == positive
    assert np.sum(called != is_positive) == separating.errors
    about, called, stated = apply_card(rule.card_text, values)
    assert about == positive
    assert np.sum(called != is_positive) == rule.scorecard.errors == stated

    # What to expect on new samples.
    expected = rule.expected_error
    left_out = expected.predictions > 0
    assert expected.sensitivity == pytest.approx(left_out[:, is_positive].mean())
    assert expected.specificity == pytest.approx((~left_out)[:, ~is_positive].mean())
    one_fold = np.zeros(len(y), dtype=np.int64)
    mean_score = expected.predictions.mean(axis=0)
    assert area_within_folds(mean_score, is_positive, one_fold) == pytest.approx(
        expected.auc, abs=0.1
    )
    assert expected.auc > 0.7

    # Weights, differences and AUC of features.
    frame = result.to_frame().set_index("feature")
    assert "g2" in rule.features
    for name in {"g2", "g7"} & set(rule.features):
        row = frame.loc[name]
        inside, outside = values[name][is_positive], values[name][~is_positive]
        assert row["auc"] == pytest.approx(
            np.mean(inside[:, None] > outside) + np.mean(inside[:, None] == outside) / 2
        )
        assert (
            np.sign(row["weight"])
            == np.sign(row["difference"])
            == np.sign(inside.mean() - outside.mean())
        )

    # The picture and the page.
    axes = Figure().subplots()
    draw_samples(axes, result)
    assert axes.get_xlabel().endswith(f"right of it: {positive}")
    drawn = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert np.sum(drawn[positive] > 0) == np.sum((mean_score > 0) & is_positive)
    assert np.sum(drawn[negative] > 0) == np.sum((mean_score > 0) & ~is_positive)
    page = " ".join(unescape(result.to_html()).split())
    assert f"The positive class is {positive}:" in page
    shares = re.findall(r">(sensitivity|specificity)<.*?>(\d+) %<.*?>share of (.+?) found<", page)
    assert shares == [
        ("sensitivity", f"{100 * expected.sensitivity:.0f}", positive),
        ("specificity", f"{100 * expected.specificity:.0f}", negative),
    ]
    assert f"positive {positive} ({is_positive.sum()} of {len(y)} samples)" in " ".join(
        str(result).split()
    )


@pytest.mark.parametrize(
    ("raised", "other", "n_raised", "n_other", "said", "positive"),
    [*TABLES, *(pytest.param(*table, marks=pytest.mark.slow) for table in MORE_TABLES)],
)
def test_everything_speaks_of_the_same_class(raised, other, n_raised, n_other, said, positive):
    table = simulated(raised, other, n_raised, n_other)
    result = separation_test(table, label="outcome", permutations=0, integer=True, **said)
    check_meaning(result, table, positive)


@pytest.mark.parametrize(("y", "said", "positive"), [
    (["case", "control"], {}, "case"),
    ([0, 1], {}, 1),
    ([1.0, -1.0], {}, 1.0),
    pytest.param([True, False], {}, True, marks=pytest.mark.slow),
    pytest.param([1, 2], {}, 1, marks=pytest.mark.slow),
    pytest.param([2, 1], {}, 2, marks=pytest.mark.slow),
    (["no", "yes"], {"positive": "no"}, "no"),
    ([0, 1], {"positive": 0}, 0),
])  # fmt: skip
def test_arrays_follow_the_same_rule(y, said, positive):
    """The first class is rarer."""
    table = simulated("a", "b", 30, 60)
    labels = np.where(table["outcome"] == "a", *np.array(y))
    X = table.drop(columns="outcome")
    result = separation_test(X, labels, permutations=0, integer=True, **said)
    assert result.classes[1] == positive
    assert result.predict(X).dtype.kind == labels.dtype.kind
    named = {
        str(np.unique(labels)[k]): result.class_names[int(np.unique(labels)[k] == positive)]
        for k in (0, 1)
    }
    check_meaning(
        result, X.assign(outcome=[named[str(one)] for one in labels]), result.positive_class
    )


def test_a_positive_class_that_is_not_there():
    table = simulated("a", "b", 30, 60)
    with pytest.raises(InputError, match="positive class 'c' is not in y; it has 'a', 'b'"):
        separation_test(table.drop(columns="outcome"), table["outcome"], positive="c")
    with pytest.raises(InputError, match="of its own"):
        separation_test(load_data(table, "outcome"), positive="a")


def test_a_number_that_is_split_is_positive_at_or_above_the_limit():
    table = simulated("a", "b", 30, 60).drop(columns="outcome")
    table["age"] = np.arange(90) % 7 + 1
    data = load_data(table, "age", split_at=3)
    assert data.classes == ("<3", "≥3")
    assert np.array_equal(data.y > 0, table["age"] >= 3)
    assert load_data(table, "age", split_at=3, positive="<3").classes == ("≥3", "<3")


@pytest.mark.parametrize(("name", "control"), [
    ("control", True), ("CONTROLS", True), ("Healthy Control", True), ("normal_colon", True), ("ctrl-3", True), ("HC", True),
    ("wild type", True), ("wild-type", True), ("WT", True), ("no", True), ("None", True), ("FALSE", True), ("0", True),
    ("-1", True), ("neg", True), ("ER negative", True), ("absent", True), ("benign", True), ("reference", True),
    ("placebo", True), ("unaffected", True), ("non-case", True), ("nonresponder", True), ("not recurrent", True),
    ("no relapse", True), ("abnormal", False), ("non-control", False), ("not normal", False), ("case", False), ("1", False),
    ("yes", False), ("nonane", True), ("nodular", False), ("noise", False), ("wt1", False), ("10", False), ("", False),
    ("uncontrolled", False), ("ER positive", False),
])  # fmt: skip
def test_names_of_controls(name, control):
    assert is_called_control(name) == control


def test_the_choice_between_two_names():
    assert choose_positive(("case", "control"), (60, 30)) == 0
    assert choose_positive(("control", "ill"), (30, 60)) == 1
    assert choose_positive(("a", "b"), (30, 60)) == 0
    assert choose_positive(("a", "b"), (30, 30)) == 1
    # Both are called like a control, or neither is: the rarer.
    assert choose_positive(("negative", "normal"), (10, 60)) == 0
    assert choose_positive(("stage 1", "stage 2"), (60, 10)) == 1


def test_a_sample_on_the_threshold_is_negative_everywhere():
    """Equal classes and no feature that helps: every score is exactly 0, and half of the samples are wrong, not all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = np.array(["case", "control"])[rng.permutation(40) % 2]
    result = separation_test(X, y, permutations=0)
    assert result.rule.features == ()
    assert np.all(result.scores == 0)
    assert result.rule.text == "predict control always"
    assert set(result.predict(X)) == {"control"}
    assert result.rule.wrong == tuple(np.flatnonzero(y == "case"))
    axes = Figure().subplots()
    # The rule itself, not those of the folds.
    draw_samples(axes, replace(result, rule=replace(result.rule, expected_error=None)))
    ringed = [line for line in axes.lines if line.get_markersize() == 9]
    assert [len(line.get_xdata()) for line in ringed] == [0, 20]


def test_a_search_says_which_samples_lie_on_the_threshold(command, tmp_path):
    """Without a threshold that may move, a row of zeros lies on it: an error by definition, though predicted rightly."""
    table = pd.DataFrame({"a": [1.0, 2, 3, -1, -2, 0], "outcome": ["case"] * 3 + ["control"] * 3})
    table.to_csv(tmp_path / "table.csv", index=False)
    code, out, err = command(
        "search",
        tmp_path / "table.csv",
        "--label",
        "outcome",
        "--errors",
        1,
        "--no-intercept",
        "--keep-identifiers",
        "--quiet",
    )
    assert code == 0, err
    assert "predict case if a > 0 (1 sample exactly on the threshold, counted as errors)" in out


def test_sentences_of_rules_with_negative_weights():
    X = np.array([[1.0, 4.0], [2.0, 1.0], [3.0, 2.0], [4.0, 0.5]])
    both = np.array([0, 1])

    def sentence(weights: list[float], bias: float) -> str:
        rule = PredictionRule(
            both[: len(weights)], np.array(weights), bias, 1.0, "named beforehand"
        )
        return rule_sentence(rule, X, ["a", "b"], ("well", "ill"))

    assert sentence([-1.0], 2.5) == "predict ill if a < 2.5"
    assert sentence([-1.0, -0.5], 2.9) == "predict ill if a + 0.5·b < 2.9"
    assert sentence([-1.0, 0.5], 1.0) == "predict ill if −a + 0.5·b > −1"
    assert sentence([1.0, -0.5], 1.0) == "predict ill if a − 0.5·b > −1"


def test_the_estimators_keep_the_convention_of_scikit_learn():
    table = simulated("case", "control", 60, 30)
    X, y = table.drop(columns="outcome").to_numpy(), table["outcome"].to_numpy()
    assert separation_test(X, y, permutations=0).classes == ("control", "case")
    model = SparseRule().fit(X, y)
    assert model.classes_.tolist() == ["case", "control"]
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == "control")
    assert np.array_equal(fit_rule(X, y).scores(X) > 0, model.predict(X) == "control")
