"""Rules of numbers, classes and times that know blocks, pairs or covariates, on new samples."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import rankdata

import chanceline
from chanceline.cohort import outcome_confirmation
from chanceline.cohort.outcome_confirmation import make_outcome_units, permutation_pvalue
from chanceline.errors import InputError
from chanceline.report import write_outcome_weights
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.outcomes.cross_validate import predict_samples
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.rule_sums import sums_of_guesses, sums_of_rule
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.score_rule import train_score_rule

NAMES = {
    "number": {"label": "dose"},
    "classes": {"label": "stage"},
    "survival": {"time": "months", "event": "relapse"},
}
# What is declared, by the kind of the outcome: numbers alone are adjusted for age.
DECLARED = [
    ("number", {"blocks": "site"}),
    ("number", {"pairs": "pair"}),
    ("number", {"adjust": ("age",)}),
    ("number", {"adjust": ("age", "sex"), "blocks": "site"}),
    ("classes", {"blocks": "site"}),
    ("classes", {"adjust": ("sex",), "blocks": "site"}),
    ("classes", {"pairs": "pair"}),
    ("survival", {"blocks": "site"}),
    ("survival", {"adjust": ("sex",)}),
    ("survival", {"pairs": "pair"}),
]


def draw_cohort(kind: str, seed: int, count: int = 80, sites: str = "ab") -> pd.DataFrame:
    """Two of six features, the site, age and sex go with the outcome; sites shift all features."""
    rng = np.random.default_rng(seed)
    site = rng.choice([*sites], size=count)
    sex = rng.choice(["f", "m"], size=count)
    age = rng.normal(60, 12, size=count).round()
    level = (site == sites[0]).astype(float)
    values = rng.normal(size=(count, 6))
    signal = 1.6 * (values[:, 3] - values[:, 5])
    table = pd.DataFrame(values + 3 * level[:, None], columns=[f"g{j}" for j in range(6)])
    # Ages and sexes are not shuffled between rows that are a pair, which share neither.
    pair = [f"p{seed}-{number}" for number in np.arange(count) // 2]
    table = table.assign(site=site, sex=sex, age=age, pair=pair)
    score = signal + level + 0.8 * (sex == "m") + ((age - 60) / 12) ** 2
    if kind == "number":
        return table.assign(dose=20 + score + 0.5 * rng.normal(size=count))
    if kind == "classes":
        logits = np.column_stack([2 * signal, -2 * signal, level])
        stage = np.argmax(logits + rng.gumbel(size=(count, 3)), axis=1)
        return table.assign(stage=np.array(["none", "mild", "severe"])[stage])
    times = rng.exponential(12 * np.exp(-signal - level))
    followed = rng.uniform(5, 60, size=count)
    return table.assign(
        months=np.minimum(times, followed).round(3), relapse=(times <= followed).astype(int)
    )


def run_test(kind: str, declared: dict[str, Any], frame: pd.DataFrame) -> chanceline.OutcomeTest:
    about = {"site", "sex", "age", "pair"}
    used = {declared.get("blocks"), declared.get("pairs"), *declared.get("adjust", ())}
    return chanceline.separation_test(
        frame.drop(columns=sorted(about - used)), permutations=0, **NAMES[kind], **declared
    )


@pytest.fixture(scope="module")
def results() -> Callable[[str, dict[str, Any]], chanceline.OutcomeTest]:
    """The result of the first cohort of a kind; each is made once."""
    known: dict[str, chanceline.OutcomeTest] = {}

    def result_of(kind: str, declared: dict[str, Any]) -> chanceline.OutcomeTest:
        key = f"{kind} {declared}"
        if key not in known:
            known[key] = run_test(kind, declared, draw_cohort(kind, seed=1))
        return known[key]

    return result_of


def as_written(predictions: np.ndarray) -> list[object]:
    """Names of classes as they are, numbers to ten digits."""
    return [name if isinstance(name, str) else float(f"{name:.10g}") for name in predictions]


@pytest.mark.parametrize(("kind", "declared"), DECLARED)
def test_saved_rule_says_of_the_table_tested_what_the_test_said(kind, declared, tmp_path, results):
    frame = draw_cohort(kind, seed=1)
    result = results(kind, declared)
    rule = result.rule
    assert rule.features
    # By the rule itself, which takes blocks and covariates out of features and targets.
    fitted = predict_samples(rule.score_rule, rule.training, rule.training)
    expected = as_written(rule.training.outcome.named(fitted))
    assert as_written(result.predict(frame)) == expected

    frame.to_csv(tmp_path / "data.csv", index=False)
    result.save(tmp_path / "result.json")
    saved = chanceline.load_result(tmp_path / "result.json")
    predictions = saved.predict(tmp_path / "data.csv")
    assert as_written(predictions.predicted) == expected
    assert predictions.findings == ()
    # What is said without features is written, too.
    columns = rule.training.X[:, rule.support]
    guesses = rule.score_rule.guesses(rule.training)
    told = saved.rule.guess_sums.fits(
        columns[:, :0],
        rule.training.terms,
        saved.rule.roles.strata(
            frame[declared.get("blocks", "pair")].to_numpy(), frame, len(frame)
        ),
        np.zeros(0),
    )
    np.testing.assert_allclose(told, guesses, atol=1e-10)


@pytest.mark.parametrize(("kind", "declared"), DECLARED)
def test_weights_predict_as_the_rule_does(kind, declared, tmp_path, results):
    frame = draw_cohort(kind, seed=1)
    result = results(kind, declared)
    write_outcome_weights(result, tmp_path / "weights.csv")
    with (tmp_path / "weights.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    weights = {term: np.array(values, dtype=float) for term, *values in lines}

    sums = np.zeros((len(frame), len(header) - 1))
    for feature in result.rule.features:
        sums += frame[[feature]].to_numpy() * weights[feature]
    for term, of_term in weights.items():
        if term.startswith("z(age): "):
            formula = term.removeprefix("z(age): ").partition(",")[0]
            z = np.clip(frame["age"].map(lambda age, f=formula: eval_formula(f, age)), -3, 3)
            sums += np.outer(z, of_term)
            square = next(name for name in weights if name.startswith("z(age)²: "))
            sums += np.outer(z**2, weights[square])
    columns = list(result.rule.roles.stratum_columns)
    for row, values in enumerate(frame[columns].itertuples(index=False)):
        block = ", ".join(f"{name} = {value}" for name, value in zip(columns, values, strict=True))
        sums[row] += weights[f"(intercept) {block}" if columns else "(intercept)"]

    predicted = result.predict(frame)
    if kind == "classes":
        classes = np.array(header[1:])
        assert classes[softmax(sums, axis=1).argmax(axis=1)].tolist() == predicted.tolist()
    else:
        np.testing.assert_allclose(sums[:, 0], predicted, rtol=1e-9)


def eval_formula(formula: str, age: float) -> float:
    """The value of `(age - 60.1)/11.9`."""
    mean, spread = formula.removeprefix("(age - ").split(")/")
    return (age - float(mean)) / float(spread)


def test_samples_of_a_new_block_are_predicted_as_in_the_cross_validation():
    frame = draw_cohort("number", seed=3, count=90, sites="abc")
    blocks = np.unique(frame["site"], return_inverse=True)[1]
    age = frame["age"].to_numpy(dtype=float)
    samples = RuleSamples(
        X=frame.filter(regex="^g").to_numpy(),
        outcome=NumberOutcome(name="dose", numbers=frame["dose"].to_numpy()),
        terms=np.column_stack([age / 10, (age / 10) ** 2]),
        unit_of_sample=np.arange(90),
        block_of_sample=blocks,
    )
    is_training = blocks < 2
    rule = train_score_rule(samples, is_training, [0])
    held_out = samples.take(~is_training)
    training = samples.take(is_training)

    strata = [("a",), ("b",), ("held out",)]
    columns = held_out.X[:, rule.support]
    new = [("c",)] * len(columns)
    sums = sums_of_rule(rule, training, strata)
    means = training.X[:, rule.support].mean(axis=0)
    fitted = sums.fits(columns, held_out.terms, new, means)
    np.testing.assert_allclose(fitted, rule.fits(held_out), rtol=1e-9)
    guessed = sums_of_guesses(rule.target_background, training, strata)
    np.testing.assert_allclose(
        guessed.fits(columns[:, :0], held_out.terms, new, means[:0]), rule.guesses(held_out)
    )
    # A single sample has no mean of its own block.
    alone = sums.fits(columns[:1], held_out.terms[:1], new[:1], means)
    average = columns[:1] @ sums.weights + held_out.terms[:1] @ sums.term_weights + sums.intercepts
    np.testing.assert_allclose(alone, average)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("declared", [{"blocks": "site"}, {"pairs": "pair"}])
def test_second_cohorts_confirm(kind, declared, results):
    result = results(kind, declared)
    fresh = draw_cohort(kind, seed=2)
    confirmation = result.confirm(fresh)
    assert confirmation.confirmed
    assert confirmation.n_blocks == (2 if "blocks" in declared else 40)
    assert f"within {confirmation.n_blocks} blocks" in " ".join(str(confirmation).split())
    # Outcomes of other samples of the same block confirm nothing.
    column = declared.get("blocks", "pair") if "blocks" in declared else "pair"
    rng = np.random.default_rng(5)
    shuffled = fresh.copy()
    outcome = [name for name in ("dose", "stage", "months", "relapse") if name in fresh]
    for rows in fresh.groupby(column).indices.values():
        shuffled.loc[rows, outcome] = fresh.loc[rng.permutation(rows), outcome].to_numpy()
    assert result.confirm(shuffled).pvalue > confirmation.pvalue


def test_pvalue_within_blocks_by_enumeration(monkeypatch):
    monkeypatch.setattr(outcome_confirmation, "N_PERMUTATIONS", 4000)
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=8)
    predictions = numbers + rng.normal(size=8)
    site = np.array(["a", "b"])[[0, 0, 0, 0, 0, 1, 1, 1]]
    outcome = NumberOutcome(name="dose", numbers=numbers)
    design = make_score_design(outcome, DeclaredRoles(blocks=site))
    units = make_outcome_units(outcome, predictions[:, None], np.zeros((8, 1)), design)
    found = permutation_pvalue(units)

    # All 5!·3! orders within the sites, each site's ranks divided by its size plus one.
    def sums_of_orders(rows: slice) -> list[float]:
        ranks = rankdata(predictions[rows]) / (len(predictions[rows]) + 1)
        scores = rankdata(numbers[rows]) / (len(numbers[rows]) + 1)
        return [float(np.dot(ranks, order)) for order in permutations(scores)]

    first = sums_of_orders(slice(0, 5))
    second = sums_of_orders(slice(5, 8))
    # The first order is the observed one.
    totals = np.array([sum(pair) for pair in product(first, second)])
    exact = np.mean(totals >= totals[0] - 1e-12)
    assert found == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4001)


def test_guessing_knows_the_block(results):
    result = results("number", {"blocks": "site"})
    fresh = draw_cohort("number", seed=2)
    values = {measure.name: measure.value for measure in result.confirm(fresh).measures}
    first = draw_cohort("number", seed=1)
    guesses = fresh["site"].map(first.groupby("site")["dose"].mean())
    left = np.sum((fresh["dose"] - result.predict(fresh)) ** 2)
    expected = 1 - left / np.sum((fresh["dose"] - guesses) ** 2)
    assert values["R²"] == pytest.approx(expected)


def test_new_blocks_and_combinations_are_told(results):
    declared = {"adjust": ("sex",), "blocks": "site"}
    frame = draw_cohort("classes", seed=1)
    result = results("classes", declared)
    saved = chanceline.cohort.saved_outcome.saved_outcome(result)
    fresh = draw_cohort("classes", seed=2, count=20)

    new_site = fresh.assign(site=["a", "north"] * 10)
    (note,) = saved.predict(new_site).findings
    assert note.message.startswith(
        "1 of 2 blocks not in the table tested: their samples are measured"
    )
    with pytest.raises(InputError, match="the rule knows no site = north, sex = "):
        result.predict(new_site)

    (warning,) = saved.predict(fresh.drop(columns="site")).findings
    assert (
        "the rule has an intercept for every one of its blocks (column 'site')" in warning.message
    )
    # Without a block all are average, in Python as well.
    expected = result.predict(fresh.drop(columns="site"))
    assert saved.predict(fresh.drop(columns="site")).predicted.tolist() == expected.tolist()

    is_known = ~((frame["site"] == "b") & (frame["sex"] == "m"))
    part = run_test("classes", declared, frame[is_known].reset_index(drop=True))
    (note,) = chanceline.cohort.saved_outcome.saved_outcome(part).predict(frame).findings
    assert note.message.startswith("1 combination of site and sex not in the table tested")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="age"), "'age'"),
        (lambda frame: frame.assign(age="old"), "covariate 'age' must hold numbers"),
        (lambda frame: frame.assign(sex="x"), "covariate 'sex' has the category 'x' in row 1"),
    ],
)
def test_covariates_that_are_not_there_are_one_sentence(change, sentence, results):
    declared = {"adjust": ("age", "sex")}
    result = results("number", declared)
    fresh = change(draw_cohort("number", seed=2))
    with pytest.raises(InputError, match=sentence):
        chanceline.cohort.saved_outcome.saved_outcome(result).predict(fresh)
    with pytest.raises(InputError, match=sentence):
        result.predict(fresh)


def test_arrays_are_given_their_blocks_and_covariates():
    frame = draw_cohort("number", seed=1)
    X = frame.filter(regex="^g").to_numpy()
    ages = frame[["age"]].to_numpy()
    result = chanceline.separation_test(
        X, frame["dose"].to_numpy(), blocks=frame["site"], adjust=ages, permutations=0
    )
    rule = result.rule
    expected = predict_samples(rule.score_rule, rule.training, rule.training)[:, 0]
    predicted = result.predict(X, blocks=frame["site"], covariates=ages)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)
    with pytest.raises(InputError, match="was made with covariates"):
        result.predict(X, blocks=frame["site"])


def test_covariates_that_differ_within_a_group_are_refused():
    frame = draw_cohort("number", seed=1)
    frame["dose"] = frame.groupby("pair")["dose"].transform("mean")
    with pytest.raises(InputError, match="covariate 'age' must be the same in all rows of a group"):
        chanceline.separation_test(
            frame.drop(columns=["site", "sex"]),
            label="dose", groups="pair", adjust=("age",), permutations=0,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda rule: rule["strata"][0]["names"].pop(), "a name for every block"),
        (lambda rule: rule["strata"][0].pop("guesses"), "guesses is missing"),
        (lambda rule: rule.update(block_categories=["odd"]), "must name categories"),
        (lambda rule: rule["covariate_weights"].pop(), "covariate_weights must have"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, reason, results):
    path = tmp_path / "result.json"
    declared = {"adjust": ("age", "sex"), "blocks": "site"}
    results("number", declared).save(path)
    record = json.loads(path.read_text())
    damage(record["rule"])
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=reason):
        chanceline.load_result(path)


def test_command_line(tmp_path, command):
    for number in (1, 2):
        frame = draw_cohort("number", seed=number).drop(columns=["pair", "sex"])
        frame.to_csv(tmp_path / f"{number}.csv", index=False)
    result = tmp_path / "result.json"
    code, _, _ = command(
        "test", tmp_path / "1.csv", "--label", "dose", "--blocks", "site", "--adjust", "age",
        "--permutations", 19, "--quiet", "--save", result, "--weights", tmp_path / "weights.csv",
    )  # fmt: skip
    assert code == 0
    weights = (tmp_path / "weights.csv").read_text()
    assert "(intercept) site = a," in weights
    assert "z(age): (age - " in weights

    code, out, _ = command("predict", result, tmp_path / "2.csv")
    assert code == 0
    assert out.splitlines()[0] == "row,dose"
    code, out, _ = command("confirm", result, tmp_path / "2.csv")
    assert code == 0
    assert "CONFIRMED" in out
    assert "within 2 blocks" in " ".join(out.split())

    frame.rename(columns={"site": "clinic"}).to_csv(tmp_path / "3.csv", index=False)
    code, _, err = command("confirm", result, tmp_path / "3.csv")
    assert code == 2
    assert "had blocks in column 'site'" in err
    code, out, _ = command("confirm", result, tmp_path / "3.csv", "--blocks", "clinic")
    assert code == 0
