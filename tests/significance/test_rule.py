"""The rule in words, `predict` and `score`, and what to expect on new samples."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.significance import separation_test
from chanceline.significance.design import make_scheme
from chanceline.significance.stepwise import best_thresholds, choose_size, expected_error, make_columns, wilson
from chanceline.significance.text import rule_sentence
from chanceline.tables.examples import load_example

FAST = {"permutations": 0, "expected_error": False}


def apply_sentence(sentence: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """Read the printed rule as a person would: which rows are called positive."""
    found = re.fullmatch(r"predict (?P<name>.+?) if (?P<sum>.+) > (?P<limit>\S+)", sentence)
    assert found is not None, sentence
    total = 0.0
    signed = re.split(r" (?=[+−] )", found["sum"])
    for term in signed:
        sign = -1.0 if term.startswith("−") else 1.0
        weight, _, name = term.lstrip("+− ").rpartition("·")
        total = total + sign * float(weight.replace("−", "-") or 1.0) * values[name]
    return total > float(found["limit"].replace("−", "-"))


@pytest.mark.parametrize("seed", range(50))
def test_the_printed_rule_classifies_the_table_as_predict_does(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(12, 40)), int(rng.integers(2, 7))
    offset = rng.normal(size=n_features) * 10 ** rng.uniform(0, 5, size=n_features)
    X = rng.normal(size=(n_samples, n_features)) * 10 ** rng.uniform(-2, 2, size=n_features) + offset
    y = np.where(rng.random(n_samples) < 0.5, "case", "control")
    y[:2] = ["case", "control"]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(n_features)])
    named = list(rng.permutation(n_features)[: int(rng.integers(1, n_features + 1))])
    result = separation_test(frame, y, [f"g{j}" for j in named], permutations=0, expected_error=False, budget=50)
    assert result.classes == ("case", "control")
    predicted = result.predict(X)
    assert np.sum(predicted != y) == result.errors
    assert result.score(frame, y) == pytest.approx(1 - result.errors / n_samples)
    if result.rule_text.endswith(("always", "never")):
        assert len(set(predicted)) == 1
        return
    called = apply_sentence(result.rule_text, {name: frame[name].to_numpy() for name in frame})
    assert np.array_equal(np.where(called, "control", "case"), predicted)


def test_digits_grow_until_the_rule_is_right():
    X = np.array([[1e6 + 1], [1e6 + 2], [1e6 + 3], [1e6 + 4]])
    y = np.array([-1.0, -1, 1, 1])
    rule = make_rule(X, y, np.array([0]), np.array([2.0]), -2 * (1e6 + 2.5))
    assert rule.errors == 0
    sentence = rule_sentence(rule, X, ["mass"], "heavy")
    assert sentence == "predict heavy if mass > 1000002"
    assert np.array_equal(apply_sentence(sentence, {"mass": X[:, 0]}), y > 0)


def test_a_data_set_brings_its_classes_names_and_blocks():
    data = load_example("planted")
    result = separation_test(data, **FAST)
    assert result.classes == ("control", "case")
    assert result.rule_text.startswith("predict case if feature 1 +")
    with pytest.raises(InputError, match="labels, names, blocks and groups of its own"):
        separation_test(data, data.y)
    with pytest.raises(InputError, match="y is needed"):
        separation_test(data.X)


def test_rules_without_weights():
    nothing = np.zeros(0, dtype=np.int64)
    X = np.ones((3, 1))
    assert rule_sentence(Rule(nothing, np.zeros(0), 1.0, nothing), X, ["a"], "yes") == "predict yes always"
    assert rule_sentence(Rule(nothing, np.zeros(0), -1.0, nothing), X, ["a"], "yes") == "predict yes never"


def test_predict_wants_the_same_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    y = np.where(X[:, 2] > 0, 7, 3)
    result = separation_test(X, y, permutations=0, expected_error=False)
    assert result.classes == (3, 7)
    assert result.predict(X).tolist() == y.tolist()
    wider = pd.DataFrame(np.column_stack([np.zeros(20), X]), columns=["new", "x0", "x1", "x2", "x3"])
    assert result.predict(wider).tolist() == y.tolist()
    with pytest.raises(InputError, match="the same columns"):
        result.predict(X[:, :3])


def test_expected_error_of_noise_is_that_of_guessing():
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 60)), np.repeat([1.0, -1.0], 20)
        scheme = make_scheme(y)
        found = expected_error(make_columns(X, scheme, True), scheme, 4, seed)
        shares.append(found.error)
        assert found.interval[0] < found.error < found.interval[1]
        assert found.spread[0] <= found.error <= found.spread[1]
    assert 0.42 < np.mean(shares) < 0.62


def test_expected_error_of_a_clear_rule_is_small():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 100))
    y = np.where(X[:, 7] > 0, 1.0, -1.0)
    scheme = make_scheme(y)
    found = expected_error(make_columns(X, scheme, True), scheme, 4, 0)
    assert found.error < 0.1
    assert found.features == 1
    assert found.guess == min(np.mean(y > 0), np.mean(y < 0))


def test_rows_of_one_group_stay_in_one_fold():
    """Copies of a row in training and in test would make noise predictable."""
    rng = np.random.default_rng(2)
    subject = np.repeat(np.arange(20), 4)
    X = rng.normal(size=(20, 200))[subject] + 1e-3 * rng.normal(size=(80, 200))
    y = rng.permutation(np.repeat([1.0, -1.0], 10))[subject]
    together = make_scheme(y, groups=subject)
    apart = make_scheme(y)
    columns = make_columns(X, together, True)
    assert expected_error(columns, together, 6, 0).error > 0.3
    assert expected_error(columns, apart, 6, 0).error < 0.2


def test_expected_error_needs_two_of_each_class():
    X = np.random.default_rng(3).normal(size=(12, 4))
    scheme = make_scheme(np.array([1.0] + [-1.0] * 11))
    assert expected_error(make_columns(X, scheme, True), scheme, 2, 0) is None


def test_wilson_inverts_the_normal_test():
    """Its ends are the shares that the observed one is 1.96 of their own standard errors away from."""
    for share, count in ((0.2, 50), (0.5, 12), (0.0, 30)):
        for end in wilson(share, count):
            if 0 < end < 1:
                assert abs(share - end) == pytest.approx(1.959963984540054 * np.sqrt(end * (1 - end) / count), rel=1e-9)


def test_threshold_parts_with_fewest_errors():
    scores, labels = np.array([0.0, 1.0, 2.0, 3.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0, 1.0])
    thresholds, errors = best_thresholds(np.array([scores, scores]), np.array([labels, -np.ones(5)]))
    assert thresholds.tolist() == [0.5, np.inf]
    assert errors.tolist() == [1, 0]


def test_more_features_are_chosen_only_where_they_pay():
    assert choose_size(np.array([0.5, 0.49, 0.48]), 60, 500) == 1
    assert choose_size(np.array([0.5, 0.1, 0.09]), 60, 500) == 2
