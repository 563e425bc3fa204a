"""Covariates in the user's units: the encoder against columns made by hand; rules in any units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.prediction.covariates import (
    Category,
    CovariateEncoder,
    Number,
    QuadraticNumber,
    make_encoder,
)
from chanceline.prediction.crossval import expected_error
from chanceline.prediction.rule import fit_rule
from chanceline.prediction.stability import selection_stability


def study(seed=0, rows=100):
    """One feature and one covariate tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 12))
    dose = rng.normal(50, 8, size=rows)
    score = 1.5 * X[:, 0] + 2 * (dose - 50) / 8 + 0.5 * rng.normal(size=rows)
    return X, np.where(score > 0, 1, 0), dose


def errors(rule, X, y, **beside):
    return int(np.sum((rule.scores(X, **beside) > 0) != y))


def test_every_kind_of_covariate_becomes_the_columns_it_says():
    sex = np.array(["m", "f", " f", "m"])
    stage = np.array([3.0, 1.0, 2.0, 1.0])
    age = np.array([40.0, 50.0, 60.0, 900.0])
    encoder = CovariateEncoder(
        (
            Category("sex", ("f", "m")),
            Category("stage", ("1", "2", "3")),
            QuadraticNumber("age", 55.0, 10.0),
            Number("dose"),
        )
    )
    found = encoder.transform({"sex": sex, "age": age, "dose": age / 7, "stage": stage}, 4)
    z = np.array([-1.5, -0.5, 0.5, 3.0])
    by_hand = [[1, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], z, z**2, age / 7]
    assert np.array_equal(found, np.column_stack(by_hand))
    assert encoder.terms == ("sex = m", "stage = 2", "stage = 3", "z(age)", "z(age)²", "dose")


def test_an_encoder_learns_kinds_levels_means_and_spreads():
    rng = np.random.default_rng(1)
    age = rng.normal(60, 10, size=40)
    columns = {
        "age": age,
        "stage": np.tile([1.0, 2.0, 10.0, 3.0], 10),
        "sex": np.tile(["m", "f"], 20).astype(object),
    }
    adjusting = make_encoder(columns, adjusting=True)
    levels = Category("stage", ("1", "2", "3", "10"))
    assert adjusting.covariates == (
        QuadraticNumber("age", age.mean(), age.std()),
        levels,
        Category("sex", ("f", "m")),
    )
    assert make_encoder(columns).covariates == (
        Number("age"),
        Number("stage"),
        Category("sex", ("f", "m")),
    )
    # An array that holds numbers and text has its numbers as objects.
    mixed = np.array([columns["age"], columns["sex"]], dtype=object).T
    assert make_encoder({"age": mixed[:, 0]}, adjusting=True).covariates == adjusting.covariates[:1]


def test_a_frame_a_mapping_and_an_array_are_the_same():
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30.0, 41.0, 55.0]})
    encoder = CovariateEncoder((QuadraticNumber("age", 40.0, 10.0), Category("sex", ("f", "m"))))
    wanted = encoder.transform(frame, 3)
    assert np.array_equal(encoder.transform(dict(frame), 3), wanted)
    assert np.array_equal(encoder.transform(frame[["age", "sex"]].to_numpy(), 3), wanted)
    assert np.array_equal(encoder.transform([[30, "f"], [41, "m"], [55, "f"]], 3), wanted)
    as_it_is = CovariateEncoder((Number("age"),)).transform(frame["age"], 3)
    assert np.array_equal(as_it_is[:, 0], frame["age"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"age": [30, 40]}, "made with the covariate 'sex', which is not among the columns given"),
        (
            {"age": [30, 40], "sex": ["f", "x"]},
            "'sex' has the category 'x' in row 2, .* they had f, m",
        ),
        (
            {"age": [30, "old"], "sex": ["f", "m"]},
            "'age' must hold numbers, but has 'old' in row 2",
        ),
        ({"age": [30, np.nan], "sex": ["f", "m"]}, "'age' has missing or infinite values"),
        ({"age": [30, np.inf], "sex": ["f", "m"]}, "'age' has missing or infinite values"),
        ({"age": [30, 40], "sex": ["f", None]}, "'sex' has missing or infinite values"),
        ({"age": [30], "sex": ["f", "m"]}, "'age' must hold one value for each of the 2 samples"),
        ([30, 40], "1 columns where 2 are needed; give age, sex in this order"),
        (np.zeros((2, 2, 2)), "shape \\(2, 2, 2\\)"),
    ],
)
def test_covariates_that_cannot_be_encoded_get_a_sentence(given, sentence):
    encoder = CovariateEncoder((QuadraticNumber("age", 40.0, 10.0), Category("sex", ("f", "m"))))
    with pytest.raises(InputError, match=sentence):
        encoder.transform(given, 2)


@pytest.mark.parametrize(
    ("unit", "shift"), [(1e-6, -50.0), pytest.param(1e3, 0.0, marks=pytest.mark.slow)]
)
def test_the_units_of_a_covariate_do_not_matter(unit, shift):
    """Small units were shrunk by the trace of a ridge that only keeps weights finite."""
    X, y, dose = study()
    plain = fit_rule(X, y, covariates=dose)
    other = fit_rule(X, y, covariates=(dose + shift) * unit)
    assert errors(plain, X, y, covariates=dose) <= 12
    np.testing.assert_allclose(
        other.scores(X, covariates=(dose + shift) * unit),
        plain.scores(X, covariates=dose),
        atol=1e-6,
    )
    assert other.covariate_weights * unit == pytest.approx(plain.covariate_weights)
    one, two = (expected_error(X, y, covariates=values) for values in (dose, (dose + shift) * unit))
    assert one.covariates_rate == two.covariates_rate
    assert one.rate == two.rate


def test_weights_of_numbers_are_in_their_own_units():
    X, y, dose = study()
    rule = fit_rule(X, y, covariates={"dose": dose})
    by_hand = X[:, rule.support] @ rule.weights + dose * rule.covariate_weights[0] + rule.bias
    np.testing.assert_allclose(rule.scores(X, covariates={"dose": dose}), by_hand, atol=1e-9)
    assert rule.encoder.terms == ("dose",)
    assert len(rule.to_dict()["encoder"]["covariates"]) == 1


def test_text_is_a_category_wherever_covariates_go():
    X, y, dose = study()
    arm = np.where(dose > 50, "high", "low")
    rule = fit_rule(X, y, covariates=pd.DataFrame({"arm": arm, "dose": dose}))
    numbers = np.column_stack([arm == "low", dose]).astype(float)
    same = fit_rule(X, y, covariates=numbers)
    by_name = rule.scores(X, covariates={"arm": arm, "dose": dose})
    np.testing.assert_allclose(by_name, same.scores(X, covariates=numbers))
    beside = {"covariates": {"arm": arm}}
    assert expected_error(X, y, **beside).covariates_rate < 0.35
    without = selection_stability(X, y, [0])
    assert selection_stability(X, y, [0], **beside).errors < without.errors


def test_covariates_are_found_by_name_in_the_table_of_new_samples():
    X, y, dose = study()
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    rule = fit_rule(frame, y, covariates={"dose": dose}, features=[0, 3])
    wanted = rule.scores(X, covariates=dose)
    mixed = frame.assign(note="text", dose=dose).sample(frac=1, axis=1, random_state=0)
    assert rule.features == ("g0", "g3")
    assert np.array_equal(rule.scores(mixed), wanted)
    chances = rule.probabilities(X, covariates=dose[:, None])
    assert np.array_equal(rule.probabilities(mixed), chances)
    for wrong, sentence in [
        (mixed.drop(columns="g3"), "no column 'g3', which the rule uses"),
        (mixed.drop(columns="dose"), "made with the covariate 'dose'"),
        (mixed.assign(g3="much"), "column 'g3' must hold numbers, but has 'much' in row 1"),
        (mixed.assign(g3=np.nan), "missing or infinite value in row 1, column 'g3'"),
        (X, r"made with covariates \(dose\)"),
        (X[:, :2], "uses column 4, but X has shape"),
        (X[0], "samples as rows and features as columns"),
    ]:
        with pytest.raises(InputError, match=sentence):
            rule.scores(wrong)
