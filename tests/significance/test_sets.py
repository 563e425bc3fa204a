"""Sets of features: each has the p-value of its own table, all together the error rate that is promised."""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from chanceline import load_data, separation_test, set_tests
from chanceline.errors import InputError
from chanceline.report import read_report
from chanceline.significance import set_run
from chanceline.significance.members import MemberArrays
from chanceline.significance.set_scores import comparable_scores
from chanceline.significance.set_statistics import Carriers, SetStatistics
from chanceline.significance.step_down import step_down_pvalues
from chanceline.significance.tail_distance import (
    log_evidence,
    log_tail_by_others,
    log_tails_of_losses,
    standardize_by_others,
)


def make_table(rng, n_samples=40, n_features=24, effect=0.0):
    """Normal features g0, g1, …; g0 differs between the classes."""
    y = rng.permutation(np.repeat([1.0, -1.0], n_samples // 2))
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += effect * y
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(n_features)])
    frame["status"] = np.where(y > 0, "ill", "well")
    return frame


def names(*columns):
    return [f"g{column}" for column in columns]


SETS = {
    "first": names(*range(6)),
    "one": names(7),
    "wide": names(*range(4, 24)),
    "pair": names(8, 9),
}


def design_columns(frame, rng):
    """Columns that declare blocks, groups or pairs, for forty samples."""
    order = np.argsort(frame["status"], kind="stable").to_numpy()
    place = np.empty(len(frame), dtype=int)
    place[order] = np.arange(len(frame))  # 0 … 19 ill, 20 … 39 well
    return {
        "blocks": [f"site {k}" for k in place % 4],
        "groups": [f"patient {k}" for k in place // 2],
        "pairs": [f"pair {k}" for k in place % 20],
    }


@pytest.mark.parametrize("role", [None, "blocks", "groups", "pairs"])
def test_p_of_a_set_is_that_of_its_columns_alone(role):
    rng = np.random.default_rng(1)
    frame = make_table(rng, effect=0.5)
    options = {"label": "status", "permutations": 199, "seed": 3}
    design = []
    if role is not None:
        frame["role"] = design_columns(frame, rng)[role]
        options[role] = "role"
        design = ["role"]
    result = set_tests(frame, SETS, **options)
    for name, features in SETS.items():
        alone = separation_test(
            frame[[*features, *design, "status"]],
            always_permute=True,
            expected_error=False,
            **options,
        )
        assert alone.permutation.done == 199
        assert result[name].pvalue == alone.permutation.pvalue


def test_covariates_are_taken_out_of_every_set():
    rng = np.random.default_rng(2)
    frame = make_table(rng, n_samples=80)
    # Age makes both the labels and the features of one set.
    age = np.where(frame["status"] == "ill", 1.0, -1.0) + rng.standard_normal(80)
    frame[names(0, 1, 2)] += age[:, None]
    frame["age"] = 50 + 10 * age
    sets = {"aged": names(0, 1, 2), "other": names(5, 6)}
    plain = set_tests(frame.drop(columns="age"), sets, label="status", permutations=199)
    adjusted = set_tests(frame, sets, label="status", permutations=199, adjust="age")
    assert plain["aged"].adjusted_pvalue == 1 / 200
    assert adjusted["aged"].adjusted_pvalue > 0.05
    assert "age" in adjusted.pvalue_kind


def brute_force_step_down(scores):
    """By the definition: hypotheses from the largest score on, each against all that are left."""
    n_hypotheses, n_labellings = scores.shape
    left = list(range(n_hypotheses))
    pvalues = {}
    smallest_allowed = 0.0
    while left:
        best = max(left, key=lambda k: scores[k, 0])
        reaching = [
            b for b in range(n_labellings) if max(scores[k, b] for k in left) >= scores[best, 0]
        ]
        smallest_allowed = max(smallest_allowed, len(reaching) / n_labellings)
        pvalues[best] = smallest_allowed
        left.remove(best)
    return [pvalues[k] for k in range(n_hypotheses)]


def test_step_down_by_its_definition():
    rng = np.random.default_rng(0)
    for n_hypotheses in (1, 2, 7):
        scores = rng.standard_normal((n_hypotheses, 30))
        scores[0, 0] += 2
        np.testing.assert_allclose(step_down_pvalues(scores), brute_force_step_down(scores))
    # With one hypothesis it is the plain p-value; copies of a hypothesis cost nothing.
    one = rng.standard_normal((1, 30))
    assert step_down_pvalues(one)[0] == np.mean(one[0] >= one[0, 0])
    np.testing.assert_array_equal(
        step_down_pvalues(np.repeat(one, 5, axis=0)), step_down_pvalues(one)[0]
    )


def test_tail_by_others_is_pearsons_type_3_without_the_labelling_itself():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.chisquare(3, size=60), rng.standard_normal(60), -rng.chisquare(2, size=60)]
    )
    standardized = standardize_by_others(values)
    tails = log_tail_by_others(values)
    for b in (0, 7, 59):
        others = np.delete(values, b, axis=0)
        deviations = (values[b] - others.mean(axis=0)) / others.std(axis=0)
        skewness = stats.skew(others, axis=0)
        np.testing.assert_allclose(standardized.deviations[b], deviations)
        np.testing.assert_allclose(standardized.skewness[b], skewness)
        # A skewness below zero would end the tail: the normal one is taken.
        expected = stats.pearson3.logsf(deviations, np.maximum(skewness, 0.0))
        np.testing.assert_allclose(tails[b], expected, rtol=1e-6)


def test_a_value_far_out_does_not_widen_its_own_scale():
    rng = np.random.default_rng(0)
    values = rng.chisquare(3, size=(100, 1))
    tails = []
    for far in (20, 40, 80):
        values[0] = far
        tails.append(log_tail_by_others(values)[0, 0])
    assert tails[0] > tails[1] > tails[2]
    assert tails[2] < np.log(1e-12)
    constant = log_tail_by_others(np.ones((5, 1)))
    assert np.ptp(constant) == 0


def test_evidence_is_the_sum_over_members_of_the_best_column():
    rng = np.random.default_rng(0)
    losses = MemberArrays(*(rng.standard_normal((50, n)) for n in (3, 2, 1)))
    probabilities = [np.exp(log_tail_by_others(-member)).min(axis=1) for member in losses]
    evidence = log_evidence(log_tails_of_losses(losses))
    np.testing.assert_allclose(np.exp(evidence), sum(1 / p for p in probabilities))


def test_scores_agree_with_places_where_these_are_good():
    rng = np.random.default_rng(0)
    nobody = Carriers(np.zeros(0, dtype=np.int64), np.zeros(0), False)
    evidence = rng.exponential(size=200)
    places = 200 - stats.rankdata(evidence, method="min") + 1
    scores = comparable_scores(
        [SetStatistics(places, evidence + shift, nobody) for shift in (0.0, 3.0)]
    )
    # Sets that differ by a constant have the same scores.
    np.testing.assert_allclose(scores[0], scores[1])
    best_tenth = places <= 20
    assert abs(np.median(scores[0][best_tenth] + np.log(places[best_tenth] / 200))) < 1e-12
    # Where all labellings have one place, the score is that of p = 1.
    equal = SetStatistics(np.full(200, 200), np.ones(200), nobody)
    np.testing.assert_allclose(comparable_scores([equal]), 0.0, atol=1e-12)


def null_rate(n_tables, overlap):
    """The share of noise tables in which any of eight sets has an adjusted p of at most 0.1."""
    n_wrong = 0
    for number in range(n_tables):
        rng = np.random.default_rng([overlap, number])
        frame = make_table(rng, n_samples=20, n_features=20)
        sets = {}
        for k, size in enumerate((1, 1, 2, 2, 4, 4, 8, 8)):
            n_columns = 8 if overlap else 20
            sets[str(k)] = names(*rng.choice(n_columns, size=size, replace=False))
        result = set_tests(frame, sets, label="status", permutations=39, seed=number, level=0.1)
        n_wrong += len(result.convincing) > 0
    return n_wrong


@pytest.mark.parametrize("overlap", [False, True])
def test_any_false_set_is_as_rare_as_promised(overlap):
    n_tables = 40
    assert null_rate(n_tables, overlap) <= stats.binom.ppf(0.999, n_tables, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_any_false_set_is_as_rare_as_promised_in_many_tables(overlap):
    n_tables = 800
    n_wrong = null_rate(n_tables, overlap)
    low, high = stats.binom.ppf([0.001, 0.999], n_tables, 0.1)
    assert low <= n_wrong <= high


def test_a_strong_set_is_found_where_places_alone_could_not():
    rng = np.random.default_rng(5)
    frame = make_table(rng, n_samples=40, n_features=120, effect=1.5)
    sets = {f"set {k}": names(2 * k, 2 * k + 1) for k in range(60)}
    result = set_tests(frame, sets, label="status", permutations=99)
    assert result.convincing == ("set 0",)
    assert result["set 0"].adjusted_pvalue == 1 / 100
    # The smallest p times the number of sets, as Bonferroni has it, says nothing.
    assert 60 * result["set 0"].pvalue > 0.5


def test_order_and_copies_of_sets_change_nothing():
    frame = make_table(np.random.default_rng(6), effect=0.6)
    options = {"label": "status", "permutations": 99}
    result = set_tests(frame, SETS, **options)
    turned = set_tests(frame, dict(reversed(SETS.items())), **options)
    copied = set_tests(frame, {**SETS, "again": SETS["first"]}, **options)
    for name in SETS:
        assert turned[name] == result[name]
        assert copied[name].adjusted_pvalue == result[name].adjusted_pvalue
    assert copied["again"].adjusted_pvalue == copied["first"].adjusted_pvalue
    adjusted = [item.adjusted_pvalue for item in result.sets]
    assert adjusted == sorted(adjusted)
    assert all(item.adjusted_pvalue >= item.pvalue for item in result.sets)


@pytest.mark.slow
def test_processes_give_the_same_digits(monkeypatch):
    frame = make_table(np.random.default_rng(6), effect=0.6)
    monkeypatch.setattr(set_run, "MAX_SECONDS", 0.0)
    alone, shared = (
        set_tests(frame, SETS, label="status", permutations=199, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert alone.sets == shared.sets


def test_carriers():
    rng = np.random.default_rng(7)
    y = np.repeat([1.0, -1.0], 30)
    X = rng.uniform(-1, 1, size=(60, 60))
    X[:, 0] -= y
    X[:, 20:60] += 0.25 * y[:, None]
    frame = pd.DataFrame(X, columns=names(*range(60)))
    frame["status"] = np.where(y > 0, "yes", "no")
    sets = {"one": names(0, 1, 2), "many": names(*range(20, 60))}
    result = set_tests(frame.sample(frac=1, random_state=0), sets, label="status", permutations=199)
    assert result.outcome.correlation.startswith("correlation with yes")
    (carrier,) = result["one"].carriers
    assert carrier.feature == "g0"
    assert carrier.correlation == pytest.approx(np.corrcoef(X[:, 0], y)[0, 1])
    assert not result["one"].spread
    many = result["many"]
    assert many.spread
    sizes = [abs(item.correlation) for item in many.carriers]
    largest = np.sort(np.abs(np.corrcoef(X[:, 20:60].T, y)[-1, :-1]))[::-1]
    np.testing.assert_allclose(sizes, largest[: len(sizes)])


def test_sets_that_lose_columns_are_named():
    rng = np.random.default_rng(8)
    frame = make_table(rng)
    frame["site"] = rng.permutation(np.repeat(["a", "b"], 20))
    frame["g3"] = np.where(frame["site"] == "a", 1.0, 2.0)
    frame["g5"] = frame["g4"]
    sets = {
        "whole": names(0, 1),
        "part": ["g0", "gone", "lost"],
        "twice": names(4, 5),
        "nothing": ["gone"],
        "of site": ["g3"],
    }
    data = load_data(frame, "status", blocks="site")
    result = set_tests(data, sets, permutations=19)
    assert result.untested == {
        "nothing": "no column of the table",
        "of site": "nothing but columns that do not vary",
    }
    assert result["part"].missing == ("gone", "lost")
    assert (result["part"].n_features, result["part"].n_found, result["part"].n_named) == (1, 1, 3)
    assert (result["twice"].n_features, result["twice"].n_found) == (1, 2)
    notes = " ".join(result.checks("note"))
    assert "1 set has no column of the table and cannot be tested: 'nothing'" in notes
    assert "left out of 1 set: 'part' 2 of 3 (such as 'gone', 'lost')" in notes


def test_a_column_that_is_the_outcome_is_asked_about():
    frame = make_table(np.random.default_rng(8))
    frame["g2"] = np.where(frame["status"] == "ill", 1.0, 2.0) + frame["g3"] / 100
    result = set_tests(frame, SETS, label="status", permutations=19)
    (warning,) = [message for message in result.checks() if "is it the outcome itself" in message]
    assert warning.endswith("If so, leave it out (drop='g2').")


def test_columns_by_number():
    frame = make_table(np.random.default_rng(9))
    by_name = set_tests(frame, {"a": names(2, 3)}, label="status", permutations=19)
    by_number = set_tests(frame, {"a": [3, 2, 2]}, label="status", permutations=19)
    assert by_name.sets == by_number.sets


@pytest.mark.parametrize(
    ("sets", "options", "sentence"),
    [
        ({}, {}, "at least one set"),
        ({"a": []}, {}, "the set 'a' must be a list"),
        ({"a": "g1"}, {}, "the set 'a' must be a list"),
        ({"a": None}, {}, "the set 'a' must be a list"),
        ([["g1"]], {}, "sets must be a file .* or a mapping from names"),
        ({1: ["g1"]}, {}, "name of a set must be a text"),
        ({"a": [99]}, {}, "number in the set 'a' must be between 0 and 23"),
        ({"a": ["x"], "b": ["y"]}, {}, "no set has a column of the table: the sets name 'x', 'y'"),
        (SETS, {"permutations": 0}, "leave out permutations=0"),
        (SETS, {"errors": 2}, "leave out errors=2"),
        (SETS, {"search": "omp"}, "leave out search='omp'"),
    ],
)
def test_what_is_wrong_is_said(sets, options, sentence):
    frame = make_table(np.random.default_rng(0))
    with pytest.raises(InputError, match=sentence):
        set_tests(frame, sets, label="status", **options)


def test_sets_of_constants_alone_are_refused():
    frame = make_table(np.random.default_rng(0))
    frame["g1"] = 1.0
    with pytest.raises(InputError, match="no column of the sets varies"):
        set_tests(frame, {"a": [1], "b": ["gone"]}, label="status")


def test_a_dataset_is_complete():
    data = load_data(make_table(np.random.default_rng(0)), "status")
    with pytest.raises(InputError, match="a Dataset has labels"):
        set_tests(data, SETS, label="status")


def test_a_time_limit_keeps_the_sets_done():
    frame = make_table(np.random.default_rng(0))
    result = set_tests(frame, SETS, label="status", permutations=19, time_limit=1e-9)
    assert [item.name for item in result.sets] == ["first"]
    assert result.stopped_by == "time limit"
    assert "before all sets were tested" in str(result)


def test_shuffles_by_default_follow_from_the_sizes():
    frame = make_table(np.random.default_rng(0))
    assert set_tests(frame, {"a": names(1)}, label="status").shuffles == 9999


def test_the_picture_has_a_line_for_every_set_that_fits():
    sets = {f"set {k}": names(k) for k in range(24)}
    frame = make_table(np.random.default_rng(0), effect=2.0)
    result = set_tests(frame, sets, label="status", permutations=39)
    ax = result.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"{item.name} (1)" for item in result.sets[:20]]
    assert ax.get_title() == "the best 20 of 24 sets"
    small = plt.figure(figsize=(3.7, 3.7))
    result.plot(small.subplots())
    assert small.axes[0].get_title() == "the best 10 of 24 sets"
    plt.close("all")


def test_as_many_carriers_as_fit_into_a_line():
    frame = make_table(np.random.default_rng(0))
    frame[names(*range(24))] += 0.5 * (frame["status"] == "ill").to_numpy()[:, None]
    long_names = {name: f"{name} {'x' * 24}" for name in names(*range(24))}
    sets = {"all of them": list(long_names.values())}
    result = set_tests(frame.rename(columns=long_names), sets, label="status", permutations=39)
    assert len(result["all of them"].carriers) == 2
    (line,) = [line for line in str(result).split("\n") if line.startswith("  all of them")]
    assert len(line) <= 98
    assert line.count("xxx (") == 1
    assert line.endswith(", …")


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_metabolites_of_the_docs(real_data):
    page = (ROOT / "docs" / "lab-tables.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^\| ([a-z ]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) of (\d+) \|", page, re.MULTILINE
    )
    assert len(shown) >= 3
    result = set_tests(
        real_data("golub38").parent / "gastric_nmr.xlsx",
        ROOT / "docs" / "tables" / "gastric-sets.csv",
        label="Class",
        classes=("GC", "HE"),
        missing="columns",
    )
    for name, adjusted, p, n_found, n_named in shown:
        item = result[name]
        numbers = (f"{item.adjusted_pvalue:.2g}", f"{item.pvalue:.2g}", item.n_found, item.n_named)
        assert numbers == (adjusted, p, int(n_found), int(n_named))


@pytest.fixture
def files(tmp_path):
    frame = make_table(np.random.default_rng(10), effect=0.7).rename(
        columns={"g0": "=HYPERLINK(0)"}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    lines = [
        "@evil<b>\t\t=HYPERLINK(0)\tg1",
        "wide\t\t" + "\t".join(names(*range(2, 24))),
        "gone\t\tx",
    ]
    (tmp_path / "sets.gmt").write_text("\n".join(lines))
    return tmp_path


def test_command(command, files):
    words = [
        "test",
        files / "data.csv",
        "--label",
        "status",
        "--sets",
        files / "sets.gmt",
        "--quiet",
    ]
    outputs = [
        "--table",
        files / "t.csv",
        "--report",
        files / "r.html",
        "--figure",
        files / "f.svg",
    ]
    code, out, _ = command(*words, "--permutations", 199, *outputs)
    assert code == 0
    assert out.startswith("1 of 2 sets goes with the classes (adjusted p ≤ 0.05): '@evil<b>'.")
    assert "'gone'" in out
    table = pd.read_csv(files / "t.csv")
    assert table["set"][0] == "'@evil<b>"
    assert table["carriers"][0].startswith("'=HYPERLINK(0) (−")
    assert "<svg" in (files / "f.svg").read_text()
    page = (files / "r.html").read_text()
    assert "<b>\t" not in page
    assert "@evil&lt;b&gt;" in page
    assert "Westfall" in page

    code, out, _ = command(*words, "--permutations", 199, "--json")
    assert code == 0
    record = json.loads(out)
    assert record["convincing"] == ["@evil<b>"]
    assert record["untested"] == {"gone": "no column of the table"}
    assert read_report(files / "r.html")["sets"] == record["sets"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sets", "nowhere.gmt"], "nowhere.gmt"),
        (["--sets", "{sets}", "--features", "g1"], "--features does not go with --sets"),
        (["--sets", "{sets}", "--weights", "w.csv"], "--weights does not go with --sets"),
        (["--sets", "{sets}", "--errors", "1"], "leave out --errors 1"),
        (["--sets", "{sets}", "--integer"], "leave out --integer"),
    ],
)
def test_mistakes_on_the_command_line(command, files, words, sentence):
    words = [word.replace("{sets}", str(files / "sets.gmt")) for word in words]
    code, out, err = command("test", files / "data.csv", "--label", "status", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
