"""Rules of numbers, classes and times: saved, read, predicting and confirmed by new samples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import balanced_accuracy_score, r2_score
from sksurv.metrics import concordance_index_censored

import chanceline
from chanceline.cohort import outcome_confirmation
from chanceline.cohort.outcome_confirmation import (
    OutcomeUnits,
    make_outcome_units,
    measures_of_units,
    permutation_pvalue,
    pvalue_of_products,
)
from chanceline.errors import InputError
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.significance.outcomes.survival import SurvivalOutcome

KINDS = ("number", "classes", "survival")
NAMES = {
    "number": {"label": "dose"},
    "classes": {"label": "stage"},
    "survival": {"time": "months", "event": "relapse"},
}


def draw_cohort(kind: str, count: int, seed: int) -> pd.DataFrame:
    """Samples whose outcome goes with two of eight features."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, 8))).add_prefix("g")
    if kind == "number":
        return table.assign(dose=5 + table.g3 - table.g7 + 0.7 * rng.normal(size=count))
    if kind == "classes":
        logits = np.column_stack([2 * table.g3, 2 * table.g7, np.zeros(count)])
        stage = np.argmax(logits + rng.gumbel(size=(count, 3)), axis=1)
        return table.assign(stage=np.array(["none", "mild", "severe"])[stage])
    times = rng.exponential(12 * np.exp(-1.2 * table.g3))
    followed = rng.uniform(5, 30, size=count)
    return table.assign(months=np.minimum(times, followed), relapse=(times <= followed).astype(int))


@pytest.fixture(scope="module")
def results() -> dict[str, chanceline.OutcomeTest]:
    return {
        kind: chanceline.separation_test(draw_cohort(kind, 60, 1), permutations=19, **NAMES[kind])
        for kind in KINDS
    }


def features_of(table: pd.DataFrame) -> pd.DataFrame:
    return table.filter(regex="^g")


@pytest.mark.parametrize("kind", KINDS)
def test_saved_rule_predicts_as_the_result_does(kind, results, tmp_path):
    fresh = draw_cohort(kind, 20, 2)
    results[kind].save(tmp_path / "result.json")
    saved = chanceline.load_result(tmp_path / "result.json")
    # Columns are found by name, in any order.
    predictions = saved.predict(features_of(fresh).iloc[:, ::-1])
    expected = results[kind].predict(features_of(fresh))
    if kind == "classes":
        assert predictions.predicted.tolist() == expected.tolist()
        np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1.0)
    else:
        np.testing.assert_allclose(predictions.predicted.astype(float), expected, rtol=1e-10)
        assert predictions.probabilities is None
    assert saved.expected == results[kind].expected.measures
    assert len(predictions.to_frame()) == 20


@pytest.mark.parametrize("kind", KINDS)
def test_confirmation_has_the_measures_of_others(kind, results):
    fresh = draw_cohort(kind, 50, 3)
    confirmation = results[kind].confirm(fresh)
    predicted = results[kind].predict(features_of(fresh))
    values = {measure.name: measure.value for measure in confirmation.measures}
    if kind == "number":
        assert values["rank correlation"] == pytest.approx(spearmanr(fresh.dose, predicted)[0])
        mean = draw_cohort(kind, 60, 1).dose.mean()
        explained = 1 - np.sum((fresh.dose - predicted) ** 2) / np.sum((fresh.dose - mean) ** 2)
        assert values["R²"] == pytest.approx(explained)
        # Guessing is the mean of the table tested, which is hardly that of the new samples.
        assert values["R²"] == pytest.approx(r2_score(fresh.dose, predicted), abs=0.05)
    elif kind == "classes":
        balanced = 1 - balanced_accuracy_score(fresh.stage, predicted)
        assert values["balanced error"] == pytest.approx(balanced)
        assert values["error"] == pytest.approx(np.mean(fresh.stage != predicted))
    else:
        reference = concordance_index_censored(fresh.relapse == 1, fresh.months, predicted)[0]
        assert values["concordance"] == pytest.approx(reference)
    assert confirmation.confirmed
    assert str(confirmation).startswith("CONFIRMED, p = 1.0e-4: the rule predicts the 50 new")


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_the_other_way_round_confirm_nothing(kind, results):
    fresh = draw_cohort(kind, 40, 4)
    if kind == "number":
        fresh["dose"] = -fresh["dose"]
    elif kind == "classes":
        fresh["stage"] = fresh["stage"].map({"none": "mild", "mild": "severe", "severe": "none"})
    else:
        fresh["months"] = 1 / fresh["months"]
    confirmation = results[kind].confirm(fresh)
    assert not confirmation.confirmed
    assert "chance may predict" in str(confirmation)


@pytest.mark.parametrize("kind", KINDS)
def test_permutation_test_holds_its_level(kind, monkeypatch):
    monkeypatch.setattr(outcome_confirmation, "N_PERMUTATIONS", 39)
    rng = np.random.default_rng(21)
    n_sets = 200
    n_small = 0
    for _ in range(n_sets):
        units = draw_units(kind, rng, 30)
        shuffled = units._replace(outcome=units.outcome.take(rng.permutation(30)))
        n_small += permutation_pvalue(shuffled) <= 0.05
    # 5 % plus three standard errors.
    assert n_small <= n_sets * (0.05 + 3 * np.sqrt(0.05 * 0.95 / n_sets))


def test_groups_count_once(results):
    fresh = draw_cohort("number", 20, 6)
    twice = pd.concat([fresh, fresh], ignore_index=True)
    twice["patient"] = np.tile(np.arange(20), 2)
    once = results["number"].confirm(fresh)
    grouped = results["number"].confirm(twice, groups="patient")
    assert (grouped.n_rows, grouped.n_units) == (40, 20)
    assert grouped.measures == once.measures


@pytest.mark.parametrize("kind", KINDS)
def test_undeclared_subjects_are_asked_about(kind, results):
    fresh = draw_cohort(kind, 20, 6)
    twice = pd.concat([fresh, fresh + 0.0 if kind != "classes" else fresh], ignore_index=True)
    twice["patient"] = [f"P{number:02d}" for number in np.tile(np.arange(20), 2)]
    with pytest.raises(InputError, match="patient"):
        results[kind].confirm(twice)


def test_gaps_leave_a_prediction_open(results):
    fresh = draw_cohort("classes", 5, 7)
    fresh.loc[2, "g3"] = np.nan
    saved_frame = chanceline.cohort.saved_outcome.saved_outcome(results["classes"])
    predictions = saved_frame.predict(fresh)
    assert predictions.predicted[2] is None
    assert np.isnan(predictions.probabilities[2]).all()
    assert predictions.is_told.sum() == 4


def test_the_table_tested_confirms_nothing(results):
    with pytest.raises(InputError, match="cannot confirm it"):
        results["number"].confirm(draw_cohort("number", 60, 1))


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("classes", {"stage": "odd"}, "none of the classes of the rule"),
        ("classes", {"stage": "mild"}, "has one class only"),
        ("survival", {"months": -1.0}, "times are not negative"),
        ("number", {"dose": np.nan}, "dose"),
        ("number", {"patient": [*"aabbcddeeffgghhiijjk"]}, "pair 'c' has 1"),
    ],
)
def test_bad_tables_are_refused(kind, change, sentence, results):
    fresh = draw_cohort(kind, 20, 8).assign(**change)
    settings = {"pairs": "patient"} if "patient" in change else {}
    with pytest.raises(InputError, match=sentence):
        results[kind].confirm(fresh, **settings)


def test_columns_of_another_outcome_are_refused(results):
    with pytest.raises(InputError, match="say time and event, no label"):
        results["survival"].confirm(draw_cohort("survival", 20, 9), label="months")
    with pytest.raises(InputError, match="neither time nor event"):
        results["number"].confirm(draw_cohort("number", 20, 9), time="dose", event="dose")


def test_rule_without_features_is_not_saved(tmp_path):
    table = draw_cohort("number", 40, 10)
    noise = table.assign(dose=np.random.default_rng(11).normal(size=40))
    without = chanceline.separation_test(noise, label="dose", permutations=0)
    with pytest.raises(InputError, match="no rule to save"):
        without.save(tmp_path / "result.json")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda record: record["rule"]["weights"].pop(), "weights must have"),
        (lambda record: record["rule"].update(classes=None), "another outcome"),
        (lambda record: record["rule"]["features"].append("odd"), "weights must have"),
        (lambda record: record.update(outcome="colour"), "must be one of"),
        (lambda record: record.update(format="chanceline outcome, format 9"), "format 9"),
    ],
)
def test_damaged_files_are_refused(results, tmp_path, damage, reason):
    path = tmp_path / "result.json"
    results["classes"].save(path)
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=reason):
        chanceline.load_result(path)


def test_command_line(tmp_path, command):
    draw_cohort("survival", 60, 1).to_csv(tmp_path / "first.csv", index=False)
    draw_cohort("survival", 40, 12).to_csv(tmp_path / "second.csv", index=False)
    result = tmp_path / "result.json"
    second = tmp_path / "second.csv"
    code, _, err = command(
        "test", tmp_path / "first.csv", "--time", "months", "--event", "relapse",
        "--permutations", 19, "--quiet", "--save", result,
    )  # fmt: skip
    assert code == 0
    assert f"result written to {result}" in err

    code, out, _ = command("confirm", result, second)
    assert code == 0
    assert "CONFIRMED" in out
    assert "concordance" in out

    code, out, _ = command("predict", result, second)
    assert code == 0
    assert out.splitlines()[0] == "row,risk of relapse"
    assert len(out.splitlines()) == 41
    code, out, _ = command("predict", result, second, "--json")
    assert json.loads(out)["predicted"] == "risk of relapse"

    for refused in (("--rule", "few"), ("--label", "months")):
        code, _, err = command("confirm", result, second, *refused)
        assert code == 2
        assert len(err.strip().splitlines()) <= 2


def draw_units(kind: str, rng: np.random.Generator, count: int) -> OutcomeUnits:
    """Samples of a rule that was fixed beforehand."""
    score = rng.normal(size=count)
    outcome: Outcome
    predictions = score[:, None]
    if kind == "number":
        outcome = NumberOutcome(name="dose", numbers=score + rng.normal(size=count))
    elif kind == "classes":
        codes = np.argmax(np.outer(score, [2, 0, -2]) + rng.gumbel(size=(count, 3)), axis=1)
        outcome = ClassesOutcome(name="stage", class_names=("a", "b", "c"), codes=codes)
        predictions = np.exp(np.outer(score, [2.0, 0.0, -2.0]))
    else:
        times = rng.exponential(np.exp(-score))
        outcome = SurvivalOutcome(
            name="months", event_name="relapse", times=times, events=rng.random(count) < 0.7
        )
    guesses = np.zeros((count, outcome.targets.shape[1]))
    return make_outcome_units(outcome, predictions, guesses, make_score_design(outcome))


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_a_fixed_rule_contain_the_truth(kind):
    rng = np.random.default_rng(20)
    truth = measures_of_units(draw_units(kind, rng, 3000))
    n_sets = 150
    n_covered = np.zeros(len(truth))
    for _ in range(n_sets):
        found = measures_of_units(draw_units(kind, rng, 60))
        for place, (measure, true) in enumerate(zip(found, truth, strict=True)):
            n_covered[place] += measure.interval[0] <= true.value <= measure.interval[1]
    # 95 % less three standard errors.
    assert n_covered.min() >= n_sets * (0.95 - 3 * np.sqrt(0.95 * 0.05 / n_sets))


def test_permutation_pvalue_by_enumeration(monkeypatch):
    # With four units there are 24 orders, of which the observed one alone gives the largest sum.
    monkeypatch.setattr(outcome_confirmation, "N_PERMUTATIONS", 4000)
    ranks = np.arange(4.0)[:, None]
    expected = 1 / 24
    slack = 3 * np.sqrt(expected * (1 - expected) / 4000)
    one_block = np.zeros(4, dtype=np.int64)
    assert pvalue_of_products(ranks, ranks, one_block) == pytest.approx(expected, abs=slack)
    assert pvalue_of_products(ranks, -ranks, one_block) == 1.0


def test_few_units_are_refused():
    with pytest.raises(InputError, match="at least 5 are needed"):
        draw_units("number", np.random.default_rng(0), 4)
