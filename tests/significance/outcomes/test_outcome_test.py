"""`separation_test` of numbers, several classes and survival, from table to verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation, rank_correlation
from chanceline.significance.verdict import Verdict

QUICK = {"permutations": 99, "expected_error": False}
OUTCOMES = ["dose", "diagnosis", "stage", "months", "relapse"]


def make_frame(seed: int = 0, n_samples: int = 60, n_features: int = 20) -> pd.DataFrame:
    """g3 goes with the dose and with early relapse, g5 with diagnosis A."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_samples, n_features))).add_prefix("g")
    codes = np.arange(n_samples) % 3
    frame.loc[codes == 0, "g5"] += 2.0
    frame["dose"] = 2 + 1.5 * frame["g3"] + rng.normal(size=n_samples)
    frame["diagnosis"] = np.array(["A", "B", "C"])[codes]
    frame["stage"] = codes + 1
    times = rng.exponential(np.exp(-1.5 * frame["g3"]))
    censoring = rng.exponential(2.0, size=n_samples)
    frame["months"] = np.minimum(times, censoring)
    frame["relapse"] = (times <= censoring).astype(int)
    return frame


FRAME = make_frame()
FEATURES = FRAME.drop(columns=OUTCOMES)


def without(*names: str) -> list[str]:
    """The columns of other outcomes."""
    return [name for name in OUTCOMES if name not in names]


def test_a_rule_without_features_does_not_contradict_what_is_expected():
    table = FEATURES.assign(dose=FRAME["dose"])
    result = chanceline.separation_test(table, label="dose", permutations=99)
    assert result.expected.better_than_guessing
    assert "a close one" not in str(result)
    without_features = replace(
        result.rule, features=(), text="no feature: none clearly improves on guessing"
    )
    text = str(replace(result, rule=without_features))
    assert "none clearly improves on guessing; the numbers above" in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "kind", "feature"),
    [
        ({"label": "dose", "drop": without("dose")}, "number", "g3"),
        ({"label": "diagnosis", "drop": without("diagnosis")}, "classes", "g5"),
        ({"label": "stage", "outcome": "classes", "drop": without("stage")}, "classes", "g5"),
        (
            {"time": "months", "event": "relapse", "drop": without("months", "relapse")},
            "survival",
            "g3",
        ),
    ],
)
def test_every_outcome_from_a_table(arguments, kind, feature):
    result = chanceline.separation_test(FRAME, **arguments, **QUICK)
    assert result.outcome_kind == kind
    assert result.verdict is Verdict.STRUCTURE
    assert result.named == (feature,)
    assert result.pvalue == 0.01
    assert result.to_frame()["feature"][0] == feature
    assert str(result).startswith(result.taken_for)
    record = json.loads(json.dumps(result.to_dict()))
    assert record["pvalue"] == 0.01
    assert record["outcome_kind"] == kind
    assert record["features_alone"][0]["feature"] == feature


def test_arrays_are_taken_like_columns():
    of_column = chanceline.separation_test(FRAME, label="dose", drop=without("dose"), **QUICK)
    of_array = chanceline.separation_test(FEATURES, FRAME["dose"], **QUICK)
    assert of_array.to_dict()["front"] == of_column.to_dict()["front"]
    assert "'dose' is taken for a number" in of_array.taken_for
    survival = chanceline.separation_test(
        FEATURES.to_numpy(), time=FRAME["months"], event=FRAME["relapse"] == 1, **QUICK
    )
    assert survival.outcome_kind == "survival"
    assert survival.named == ("x3",)


def test_two_classes_are_tested_as_ever():
    y = np.where(FRAME["dose"] > 2, "high", "low")
    result = chanceline.separation_test(FEATURES, y, **QUICK)
    assert isinstance(result, chanceline.SeparationTest)
    named = chanceline.separation_test(FRAME.assign(level=y), label="level", drop=OUTCOMES, **QUICK)
    assert named.to_dict()["log10_pvalue"] == result.to_dict()["log10_pvalue"]
    asked = chanceline.separation_test(FEATURES, y, outcome="classes", **QUICK)
    assert isinstance(asked, chanceline.SeparationTest)


def test_noise_is_no_structure():
    rng = np.random.default_rng(3)
    result = chanceline.separation_test(FEATURES, rng.normal(size=60), permutations=99)
    assert result.verdict is Verdict.CHANCE
    assert result.named == ()
    assert not result.expected.better_than_guessing


def test_age_that_drives_both_is_adjusted_for():
    rng = np.random.default_rng(5)
    age = rng.normal(50, 10, size=80)
    X = rng.normal(size=(80, 15)) + 0.1 * age[:, None]
    y = age + 5 * rng.normal(size=80)
    plain = chanceline.separation_test(X, y, **QUICK)
    adjusted = chanceline.separation_test(X, y, adjust=pd.DataFrame({"age": age}), **QUICK)
    assert plain.verdict is Verdict.STRUCTURE
    assert adjusted.verdict is not Verdict.STRUCTURE
    assert "Freedman and Lane" in adjusted.kind
    assert "what is left of the values of 80 samples given age" in adjusted.exchange


@pytest.mark.parametrize("label", ["dose", "diagnosis"])
def test_a_batch_that_goes_with_the_outcome_is_warned_of(label):
    frame = FRAME.drop(columns=without(label))
    is_high = frame[label] > frame[label].median() if label == "dose" else frame[label] == "C"
    frame["batch"] = np.where(is_high, "first", "second")
    result = chanceline.separation_test(frame, label=label, **QUICK)
    assert "column 'batch' goes with the outcome" in result.checks()[0]
    frame["batch"] = np.where(np.arange(60) % 2 == 0, "first", "second")
    warnings = chanceline.separation_test(frame, label=label, **QUICK).checks()
    assert not any("'batch'" in warning for warning in warnings)


def test_categories_are_blocks_for_every_outcome():
    site = np.where(np.arange(60) % 4 < 2, "north", "south")
    result = chanceline.separation_test(
        FEATURES, FRAME["diagnosis"], adjust=pd.DataFrame({"site": site}), **QUICK
    )
    assert result.n_blocks == 2
    assert result.kind == "Monte Carlo"
    assert "within 2 blocks" in result.exchange


def test_classes_are_not_adjusted_for_numbers():
    age = np.random.default_rng(0).normal(size=60)
    with pytest.raises(InputError, match="cut it into few categories"):
        chanceline.separation_test(
            FEATURES, FRAME["diagnosis"], adjust=pd.DataFrame({"age": age}), **QUICK
        )


@pytest.mark.parametrize("role", ["blocks", "groups", "pairs"])
def test_blocks_groups_and_pairs(role):
    units = np.arange(60) // 2
    dose = FRAME["dose"].to_numpy()
    if role == "groups":
        dose = dose[::2][units]
    result = chanceline.separation_test(FEATURES, dose, **{role: units}, **QUICK)
    assert result.n_units == (30 if role == "groups" else 60)
    assert result.n_blocks == (1 if role == "groups" else 30)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label": "stage"}, "3 whole numbers .* outcome='classes' or outcome='number'"),
        ({"label": "dose", "outcome": "survival"}, "outcome must be 'number' or 'classes'"),
        ({"time": "months"}, "say event=COLUMN beside time=COLUMN"),
        ({"label": "dose", "time": "months", "event": "relapse"}, "not both"),
        ({"label": "dose", "errors": 2}, "errors speaks of two classes"),
        ({"label": "dose", "features": ["g3"]}, "preregistered=True"),
        ({"label": "dose", "groups": "diagnosis"}, "a group must have one value of 'dose'"),
        ({"label": "dose", "pairs": "diagnosis"}, "a pair must have two rows"),
        ({"time": "dose", "event": "relapse"}, "times are not negative"),
        ({"label": "diagnosis", "outcome": "number"}, "must hold numbers, but has 'A'"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        chanceline.separation_test(FRAME, **arguments, **QUICK)


def test_preregistered_features_alone_are_tested():
    result = chanceline.separation_test(
        FEATURES, FRAME["dose"], features=["g3", "g4"], preregistered=True, **QUICK
    )
    assert len(result.front) == 2
    assert set(result.to_frame()["feature"]) == {"g3", "g4"}


def test_missing_times_are_named_by_their_row():
    frame = FRAME.drop(columns=["dose", "diagnosis", "stage"])
    frame.loc[4, "months"] = np.nan
    with pytest.raises(InputError, match=r"time column 'months' is empty .* row 4"):
        chanceline.separation_test(frame, time="months", event="relapse", **QUICK)
    result = chanceline.separation_test(
        frame, time="months", event="relapse", unlabelled="drop", **QUICK
    )
    assert result.n_samples == 59
    assert "1 row without a time or an event left out." in result.checks("note")


def test_the_same_seed_gives_the_same_result():
    first = chanceline.separation_test(FEATURES, FRAME["dose"], seed=4, **QUICK)
    second = chanceline.separation_test(FEATURES, FRAME["dose"], seed=4, **QUICK)
    assert first.to_dict() == second.to_dict()


def test_interrupted_permutations_are_kept():
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    result = chanceline.separation_test(FEATURES, FRAME["dose"], permutations=999, progress=stop)
    assert result.interrupted
    assert 0 < result.permutation.done < 999
    assert result.rule is None


def test_pages_and_cards_speak_of_the_outcome(tmp_path):
    result = chanceline.separation_test(FEATURES, FRAME["diagnosis"], permutations=19)
    page = result.to_html(tmp_path / "page.html")
    assert "is taken for 3 classes" in page
    assert "A against the rest" in page
    assert "separates" not in page
    assert "is taken for 3 classes" in result._repr_html_()


class Ranked(chanceline.Outcome):
    """An outcome of the user's own: numbers by their ranks."""

    kind = "ranks"
    noun = "ranks"

    def __init__(self, name: str, numbers: np.ndarray) -> None:
        self.name = name
        self.numbers = numbers

    @property
    def scores(self) -> np.ndarray:
        ranks = pd.Series(self.numbers).rank().to_numpy() / len(self.numbers)
        return (ranks - ranks.mean())[:, None]

    @property
    def values(self) -> np.ndarray:
        return self.numbers

    def take(self, rows: np.ndarray) -> Ranked:
        return Ranked(self.name, self.numbers[rows])

    def taken_for(self) -> str:
        return f"{self.name!r} is taken for ranks"

    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        correlation = rank_correlation(self.scores[:, 0], held_out)
        return Expectation((correlation,), correlation.interval[0] > 0, n_folds=10, n_repeats=3)


def test_an_outcome_of_ones_own_goes_all_the_way():
    dose = FRAME["dose"].to_numpy()
    result = chanceline.separation_test(FEATURES, Ranked("dose", dose), permutations=99)
    assert result.named == ("g3",)
    assert result.expected.better_than_guessing
    page = result.to_html()
    assert "&#39;dose&#39; is taken for ranks" in page
    # Any transformation that keeps the order gives the same.
    stretched = chanceline.separation_test(FEATURES, Ranked("dose", np.exp(dose)), **QUICK)
    assert stretched.to_dict()["front"] == result.to_dict()["front"]
    blocks = np.arange(60) % 4
    within = chanceline.separation_test(FEATURES, Ranked("dose", dose), blocks=blocks, **QUICK)
    assert within.n_blocks == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "stage"], "--outcome classes"),
        (["--time", "months"], "--event"),
        (["--time", "dose", "--event", "relapse"], "not negative"),
        (["--time", "months", "--event", "dose"], "write 1 where it was seen"),
        (["--time", "months", "--event", "none"], "no event was seen"),
        (["--label", "lonely"], "has one sample"),
        (["--label", "same", "--outcome", "number"], "in every row"),
        (["--label", "dose", "--weights", "w.xlsx"], "written to a .csv file"),
    ],
)
def test_bad_input_on_the_command_line(command, tmp_path, options, words):
    frame = FRAME.assign(none=0, same=1.5, lonely=["x", *["y", "z"] * 29, "z"])
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    code, _, errors = command("test", path, *options, "--permutations", 19, "--quiet")
    assert code == 2
    assert words in errors
    assert len(errors.strip().splitlines()) == 1


def test_the_command_line_says_what_the_outcome_is_first(command, tmp_path):
    path = tmp_path / "table.csv"
    FRAME.drop(columns=without("months", "relapse")).to_csv(path, index=False)
    code, output, _ = command(
        "test", path, "--time", "months", "--event", "relapse", "--permutations", 99, "--quiet"
    )
    assert code == 0
    assert output.startswith("'months' is taken for the time to 'relapse'")
    assert "STRUCTURE, p = 0.01" in output
    assert "concordance" in output
    assert "table.csv: 60 samples, 20 features" in output


def test_a_verdict_and_an_expectation_that_seem_to_disagree_are_reconciled():
    """STRUCTURE stood beside "not clearly better than guessing" without a word."""
    result = chanceline.separation_test(
        FRAME, label="dose", drop=without("dose"), permutations=99, expected_error=True
    )
    assert result.verdict is Verdict.STRUCTURE
    assert result.expected.better_than_guessing
    assert "Both hold" not in str(result)
    vague = replace(result.expected, better_than_guessing=False)
    assert "Both hold: the test needs no rule." in str(replace(result, expected=vague))
    spread = replace(result, expected=vague, is_spread=True)
    assert "Both hold: the evidence is spread" in str(spread)
    promising = replace(result, verdict=Verdict.CHANCE)
    assert "Both hold: the rule promises something" in str(promising)
