"""The numbers of cross-validation as rows: the same values as in the line about new samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chanceline.prediction.crossval import expected_error
from chanceline.significance.expected_numbers import expected_numbers


@pytest.fixture(scope="module")
def expected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    return expected_error(X, X[:, 0] + X[:, 1] > 0.3)


def values_of(expected) -> dict[str, str]:
    return {row.name: row.value for row in expected_numbers(expected, ("well", "ill"))}


def test_errors_are_those_of_the_summary(expected):
    values = values_of(expected)
    majority = values["error of the larger class"]
    assert f"CV error {values['error']}, majority class {majority}" == expected.summary()


def test_shares_speak_of_their_class(expected):
    meanings = {row.name: row.meaning for row in expected_numbers(expected, ("well", "ill"))}
    assert meanings["sensitivity"] == "share of ill found"
    assert meanings["specificity"] == "share of well found"


def test_other_rules_are_named_where_they_were_compared(expected):
    alone = replace(expected, few_rate=None, many_rate=None, covariates_rate=None)
    assert not {name for name in values_of(alone) if name.startswith("error with")}
    compared = replace(expected, few_rate=0.2, many_rate=0.25, covariates_rate=0.4)
    values = values_of(compared)
    assert values["error with few features"] == "20 %"
    assert values["error with many features"] == "25 %"
    assert values["error of covariates alone"] == "40 %"


def test_extreme_numbers_are_written(expected):
    comparison = replace(expected.against_majority, pvalue=0.0)
    without_area = replace(
        expected,
        auc=float("nan"),
        auc_interval=(float("nan"), float("nan")),
        against_majority=comparison,
    )
    assert values_of(without_area)["area under the curve"] == "none, as no fold has both classes"
    rows = {row.name: row.meaning for row in expected_numbers(without_area, ("well", "ill"))}
    assert "p = 2.2e-308" in rows["won and lost against it"]
