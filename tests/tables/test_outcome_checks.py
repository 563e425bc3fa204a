"""Checks of tables whose outcome is a number, several classes or a time: what they say, and when."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, f_oneway, linregress

import chanceline
from chanceline.errors import InputError
from chanceline.significance.outcomes.survival import log_rank_scores
from chanceline.tables.checks.outcome_association import (
    OutcomeAssociation,
    make_outcome_association,
)
from chanceline.tables.checks.outcome_batches import pvalue_of_outcome_in_column
from chanceline.tables.checks.outcome_order import like_neighbours_pvalue
from chanceline.tables.dataset import Severity

OUTCOMES = ("number", "classes", "survival")
ONE_BLOCK = np.zeros(80, dtype=np.int64)


def outcome_columns(kind: str, severity: np.ndarray, seed: int = 9) -> dict[str, object]:
    """An outcome of every sample that goes with its severity."""
    rng = np.random.default_rng(seed)
    if kind == "number":
        return {"dose": severity + 0.3 * rng.normal(size=len(severity))}
    if kind == "classes":
        stage = np.digitize(severity, [-0.5, 0.5])
        return {"stage": np.array(["none", "mild", "severe"])[stage]}
    times = np.exp(-severity) * rng.gamma(4, size=len(severity))
    return {"months": times, "relapse": (rng.random(len(severity)) < 0.8).astype(int)}


def warnings_of(kind: str, features: pd.DataFrame, severity: np.ndarray, **settings) -> str:
    """The warnings of a test without permutations and rules."""
    named = {"number": {"label": "dose"}, "classes": {"label": "stage"}}
    names = named.get(kind, {"time": "months", "event": "relapse"})
    table = features.assign(**outcome_columns(kind, severity))
    result = chanceline.separation_test(
        table, **names, permutations=0, expected_error=False, **settings
    )
    found = [item.message for item in result.findings if item.severity == Severity.WARNING]
    return "\n".join(found)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(17)


@pytest.fixture
def severity() -> np.ndarray:
    return np.random.default_rng(18).normal(size=80)


@pytest.fixture
def noise(rng) -> pd.DataFrame:
    return pd.DataFrame(rng.normal(size=(80, 60))).add_prefix("m")


@pytest.mark.parametrize("kind", OUTCOMES)
def test_noise_is_not_warned_of(kind, noise, severity):
    assert warnings_of(kind, noise, severity) == ""


@pytest.mark.parametrize("kind", OUTCOMES)
def test_nearly_equal_rows(kind, noise, severity):
    noise.iloc[70] = noise.iloc[3] + 0.01
    said = warnings_of(kind, noise, severity)
    assert "rows 3 and 70 are nearly equal (1 such pairs); if they are of one subject" in said


def test_rows_of_a_group_may_be_equal(noise, severity):
    noise.iloc[70] = noise.iloc[3] + 0.01
    severity[70] = severity[3]
    table = noise.assign(stage=outcome_columns("classes", severity)["stage"])
    group = np.arange(80)
    group[70] = 3
    result = chanceline.separation_test(
        table.assign(patient=group),
        label="stage",
        groups="patient",
        permutations=0,
        expected_error=False,
    )
    assert not any("nearly equal" in item.message for item in result.findings)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_gaps_that_follow_the_outcome(kind, noise, severity, rng):
    is_gap = rng.random(noise.shape) < np.where(severity > 0, 0.2, 0.02)[:, None]
    said = warnings_of(kind, noise.mask(is_gap), severity, missing="median")
    assert "gaps go with the outcome" in said


@pytest.mark.parametrize("kind", OUTCOMES)
def test_gaps_at_random_are_no_news(kind, noise, severity, rng):
    is_gap = rng.random(noise.shape) < 0.1
    assert warnings_of(kind, noise.mask(is_gap), severity, missing="median") == ""


@pytest.mark.parametrize("kind", OUTCOMES)
def test_dates_that_follow_the_outcome(kind, noise, severity, rng):
    days = 100 + 30 * (severity + rng.normal(size=80))
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(days.round(), unit="D")
    said = warnings_of(kind, noise.assign(day=day.strftime("%Y-%m-%d")), severity)
    assert "the dates in 'day' go with the outcome" in said


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("logarithms", [False, True])
def test_depth_that_follows_the_outcome(kind, severity, rng, logarithms):
    depth = np.exp(0.8 * severity + 0.3 * rng.normal(size=80))
    values = rng.poisson(depth[:, None] * rng.lognormal(4, 0.5, 60)).astype(float)
    expected = "the totals of its rows alone go with the outcome"
    if logarithms:
        values = np.log2(values + 1)
        expected = "the rows' means alone go with the outcome"
    table = pd.DataFrame(values).add_prefix("m")
    assert expected in warnings_of(kind, table, severity)
    assert expected not in warnings_of(kind, table, severity, transform="none")


@pytest.mark.parametrize("kind", OUTCOMES)
def test_batches_that_follow_the_outcome(kind, severity, rng):
    batch = (severity + rng.normal(size=80) > 0).astype(int)
    values = rng.normal(size=(80, 60)) + rng.normal(size=(2, 60))[batch]
    kit = np.array(["Qiagen", "Zymo"])[batch]
    table = pd.DataFrame(values).add_prefix("m").assign(kit=kit)
    assert "column 'kit' goes with the outcome" in warnings_of(kind, table, severity, drop=("m0",))
    allowed = warnings_of(kind, table, severity, blocks="kit")
    assert "column 'kit' goes" not in allowed


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_column_made_from_the_outcome(kind, noise, severity):
    outcome = outcome_columns(kind, severity)
    made = severity
    if kind == "classes":
        made = pd.factorize(outcome["stage"], sort=True)[0].astype(float) + 0.01 * severity
    if kind == "survival":
        made = np.argsort(np.argsort(outcome["months"])) + 0.1 * severity
    said = warnings_of(kind, noise.assign(made=made), severity)
    assert "column 'made' alone goes with the outcome" in said


@pytest.mark.parametrize("kind", OUTCOMES)
def test_features_chosen_by_the_outcome(kind, severity, rng):
    values = rng.normal(size=(80, 3000))
    table = pd.DataFrame(values).add_prefix("m")
    outcome = outcome_columns(kind, severity)
    if kind == "classes":
        groups = [values[outcome["stage"] == stage] for stage in np.unique(outcome["stage"])]
        strength = f_oneway(*groups).statistic
    elif kind == "number":
        strength = np.abs((outcome["dose"] - outcome["dose"].mean()) @ values)
    else:
        strength = np.abs(log_rank_scores(outcome["months"], outcome["relapse"] == 1) @ values)
    chosen = np.argsort(-strength)[:100]
    said = warnings_of(kind, table.iloc[:, np.sort(chosen)], severity)
    assert "hardly any of the 100 columns looks like noise" in said
    assert warnings_of(kind, table, severity) == ""


@pytest.mark.parametrize("kind", OUTCOMES)
def test_drift_along_the_rows(kind, rng):
    place = np.linspace(-1.5, 1.5, 80)
    severity = place + 0.6 * rng.normal(size=80)
    values = rng.normal(size=(80, 60)) + place[:, None] * rng.normal(0, 0.8, 60)
    said = warnings_of(kind, pd.DataFrame(values).add_prefix("m"), severity)
    assert "the features drift along the rows beyond the outcome" in said


def test_a_table_sorted_by_its_number_says_nothing(rng, noise):
    assert warnings_of("number", noise, np.sort(rng.normal(size=80))) == ""


def make_association(scores: np.ndarray, blocks: np.ndarray = ONE_BLOCK) -> OutcomeAssociation:
    association = make_outcome_association(scores, blocks)
    assert association is not None
    return association


def test_explained_and_pvalues_are_those_of_regression_and_f_test(rng, severity):
    column = rng.normal(size=80)
    fit = linregress(severity, column)
    association = make_association(severity[:, None])
    explained = association.r_squared(column[:, None])
    assert explained[0] == pytest.approx(fit.rvalue**2)
    assert association.normal_pvalues(explained)[0] == pytest.approx(fit.pvalue)

    codes = np.arange(80) % 4
    association = make_association(np.eye(4)[codes])
    expected = f_oneway(*[column[codes == code] for code in range(4)]).pvalue
    assert association.normal_pvalues(association.r_squared(column[:, None]))[0] == pytest.approx(
        expected
    )


def test_blocks_are_taken_out(rng, severity):
    block = np.arange(80) % 2
    column = rng.normal(size=80) + 5 * block
    association = make_association(severity[:, None] + 5 * block[:, None], block)
    design = np.column_stack([np.eye(2)[block], severity])
    coefficients = np.linalg.lstsq(design, column, rcond=None)[0]
    within = np.linalg.lstsq(design[:, :2], column, rcond=None)[0]
    left = np.sum((column - design @ coefficients) ** 2)
    left_within = np.sum((column - design[:, :2] @ within) ** 2)
    assert association.r_squared(column[:, None])[0] == pytest.approx(1 - left / left_within)
    shuffled = association.shuffled_scores(20)
    sums = [shuffled[:, block == number].sum(axis=1) for number in (0, 1)]
    np.testing.assert_allclose(sums, 0.0, atol=1e-12)


def test_outcome_in_column_is_pearsons_test_for_classes(rng):
    codes = rng.integers(0, 3, 80)
    kit = pd.Series(rng.integers(0, 4, 80)).astype(str)
    association = make_association(np.eye(3)[codes])
    expected = chi2_contingency(pd.crosstab(codes, kit), correction=False).pvalue
    assert pvalue_of_outcome_in_column(kit, association) == pytest.approx(expected)


def test_shuffles_hold_their_level(rng):
    n_small = 0
    for _ in range(60):
        association = make_association(rng.standard_t(2, size=(30, 1)), ONE_BLOCK[:30])
        n_small += association.pvalue(rng.random((30, 5)) < 0.1) <= 0.1
    # Six expected; twelve or more in two of a hundred.
    assert n_small < 13


def test_neighbours_alike(rng):
    assert like_neighbours_pvalue(make_association(np.sort(rng.normal(size=80))[:, None])) <= 0.002
    assert like_neighbours_pvalue(make_association(rng.normal(size=80)[:, None])) > 0.01


def test_constant_scores_link_to_nothing():
    assert make_outcome_association(np.ones((10, 1)), np.zeros(10, dtype=np.int64)) is None


@pytest.mark.parametrize("kind", OUTCOMES)
def test_subjects_with_one_outcome_are_asked_about(kind, noise, severity):
    # Both rows of a patient have one dose: that says nothing about who they are.
    noise["patient"] = [f"P{number:02d}" for number in np.repeat(np.arange(40), 2)]
    outcome = {
        name: np.repeat(values[:40], 2) for name, values in outcome_columns(kind, severity).items()
    }
    names = {"number": {"label": "dose"}, "classes": {"label": "stage"}}
    survival = {"time": "months", "event": "relapse"}
    with pytest.raises(InputError, match="'patient'"):
        chanceline.separation_test(noise.assign(**outcome), **names.get(kind, survival))


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_remedy_for_a_confounder_is_one_that_the_test_takes(kind, severity, noise):
    """Only of a number are there residuals to exchange; else an age has to be cut into categories."""
    table = noise.assign(age=np.round(60 + 9 * severity, 1))
    said = warnings_of(kind, table, severity)
    assert "column 'age' goes with the outcome" in said
    if kind == "number":
        assert "adjust='age' asks" in said
        warnings_of(kind, table, severity, adjust="age")
        return
    assert "adjust" not in said
    assert "few categories, with blocks=COLUMN, asks" in said
    with pytest.raises(InputError, match="residuals that can be exchanged"):
        warnings_of(kind, table, severity, adjust="age")
    cut = table.assign(decade=np.where(table["age"] < 60, "below", "above")).drop(columns="age")
    assert "'age'" not in warnings_of(kind, cut, severity, blocks="decade")
