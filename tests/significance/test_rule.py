"""Rules in words, `predict` and `score`."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from written import apply_sentence

from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.significance import separation_test
from chanceline.significance.sentences import rule_sentence
from chanceline.tables.examples import load_example

FAST = {"permutations": 0, "expected_error": False}


@pytest.mark.parametrize("seed", range(50))
def test_the_printed_rule_classifies_the_table_as_predict_does(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(12, 40)), int(rng.integers(2, 7))
    offset = rng.normal(size=n_features) * 10 ** rng.uniform(0, 5, size=n_features)
    X = (
        rng.normal(size=(n_samples, n_features)) * 10 ** rng.uniform(-2, 2, size=n_features)
        + offset
    )
    y = np.where(rng.random(n_samples) < 0.5, "case", "control")
    y[:2] = ["case", "control"]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(n_features)])
    named = list(rng.permutation(n_features)[: int(rng.integers(1, n_features + 1))])
    result = separation_test(
        frame, y, [f"g{j}" for j in named], permutations=0, expected_error=False, budget=50
    )
    assert result.classes == ("control", "case")
    predicted = result.predict(X)
    assert np.sum(predicted != y) == result.separating.errors
    assert result.score(frame, y) == pytest.approx(1 - result.separating.errors / n_samples)
    name, called = apply_sentence(
        result.separating.text, {name: frame[name].to_numpy() for name in frame}
    )
    assert name == "case" or result.separating.text == "predict control always"
    assert np.array_equal(called, predicted == name)


def test_digits_grow_until_the_rule_is_right():
    X = np.array([[1e6 + 1], [1e6 + 2], [1e6 + 3], [1e6 + 4]])
    y = np.array([-1.0, -1, 1, 1])
    rule = make_rule(X, y, np.array([0]), np.array([2.0]), -2 * (1e6 + 2.5))
    assert rule.errors == 0
    sentence = rule_sentence(rule, X, ["mass"], ("light", "heavy"))
    assert sentence == "predict heavy if mass > 1000002"
    assert np.array_equal(apply_sentence(sentence, {"mass": X[:, 0]})[1], y > 0)


def test_a_data_set_brings_its_classes_names_and_blocks():
    data = load_example("planted")
    result = separation_test(data, **FAST)
    assert result.classes == ("control", "case")
    assert result.separating.text.startswith("predict case if feature 1 +")
    with pytest.raises(InputError, match="labels, names, blocks and groups of its own"):
        separation_test(data, data.y)
    with pytest.raises(InputError, match="y is needed"):
        separation_test(data.X)


def test_rules_without_weights():
    nothing = np.zeros(0, dtype=np.int64)
    X = np.ones((3, 1))
    for bias, name in ((1.0, "yes"), (-1.0, "no")):
        assert (
            rule_sentence(Rule(nothing, np.zeros(0), bias, nothing), X, ["a"], ("no", "yes"))
            == f"predict {name} always"
        )


def test_predict_wants_the_same_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    y = np.where(X[:, 2] > 0, 7, 3)
    result = separation_test(X, y, permutations=0, expected_error=False)
    assert sorted(result.classes) == [3, 7]
    assert result.predict(X).tolist() == y.tolist()
    wider = pd.DataFrame(
        np.column_stack([np.zeros(20), X]), columns=["new", "x0", "x1", "x2", "x3"]
    )
    assert result.predict(wider).tolist() == y.tolist()
    with pytest.raises(InputError, match="the same columns"):
        result.predict(X[:, :3])


def test_the_table_of_features():
    """Two true features of 60: weights, effects and p-values by another route; other sets make no more errors."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 60))
    y = np.where(X[:, 4] - X[:, 9] + 0.7 * rng.normal(size=100) > 0, "ill", "well")
    result = separation_test(X, y, permutations=99, always_permute=True)
    table = result.to_frame().set_index("feature")
    assert {"x4", "x9"} <= set(table.index[table["rule"]])
    assert table["weight"].abs().is_monotonic_decreasing
    added = [addition.feature for addition in result.evidence.additions]
    named = {*result.evidence.features, *added}
    assert {"x4", "x9"} == named == set(table.index[table["evidence"]])
    assert set(table.index[table["separating"]]) == set(result.separating.features)
    well = y == "well"
    for name, row in table.iterrows():
        values = X[:, int(name[1:])]
        above = values[well][:, None] > values[~well]
        assert row["auc"] == pytest.approx(above.mean())
        spread = np.sqrt((values[well].var() + values[~well].var()) / 2)
        assert row["difference"] == pytest.approx(
            (values[well].mean() - values[~well].mean()) / spread
        )
    assert table.loc[["x4", "x9"], "adjusted_p"].max() <= 0.05
    assert table.loc[["x4", "x9"], "selected"].min() >= 0.9
    assert table["selected"].isna().equals(~table["rule"])
    assert all(len(other) == len(result.rule.features) for other in result.alternatives)
    record = result.to_dict()
    assert record["n_alternatives"] == len(result.alternatives)
    assert record["rule"]["features"] == list(result.rule.features)


def test_the_scorecard_in_words_counts_the_errors_it_states():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 5)) * [1, 10, 0.2, 3, 1]
    y = np.where(X[:, 0] - 0.15 * X[:, 1] + 0.5 * rng.normal(size=80) > 0, "well", "ill")
    rule = separation_test(X, y, permutations=0, integer=True).rule
    assert rule.scorecard is not None
    terms = re.findall(r"(−?\d+) points? for every ([\d.e-]+) of x(\d)", rule.card_text)
    limit, errors = re.search(
        r"well above (−?[\d.]+) points \((\d+) error", rule.card_text.replace("-", "−")
    ).groups()
    total = sum(
        int(points.replace("−", "-")) * X[:, int(j)] / float(step) for points, step, j in terms
    )
    counted = np.sum((total > rule.scorecard.threshold) != (y == "well"))
    assert counted == rule.scorecard.errors == int(errors)
    assert float(limit.replace("−", "-")) == pytest.approx(rule.scorecard.threshold, rel=5e-3)
    assert rule.scorecard.loss == rule.scorecard.errors - len(rule.wrong)


def test_a_scorecard_is_refused_where_the_rule_has_more_than_features():
    X, y = np.random.default_rng(5).normal(size=(24, 4)), np.tile([1.0, -1.0], 12)
    with pytest.raises(InputError, match="scorecard needs a rule on features alone"):
        separation_test(X, y, permutations=0, integer=True, blocks=np.repeat([0, 1], 12))
