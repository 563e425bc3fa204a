"""The whole test on data with known answers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from math import comb, log10
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from chanceline.chance import chance_bound
from chanceline.errors import InputError
from chanceline.significance import TestSettings, separation_test
from chanceline.significance.conclude import grounds_of_verdict
from chanceline.significance.plan import make_plan
from chanceline.significance.power import detectable_effect
from chanceline.significance.run import run_pvalue_stages
from chanceline.significance.stages import Stage
from chanceline.significance.verdict import Verdict, decide
from chanceline.tables import Dataset, load_data
from chanceline.tables.examples import load_example


def test_the_features_that_the_p_value_rests_on_are_named():
    """One true feature: six separate, but the evidence is in the one, and the first line says so."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((60, 200))
    y = np.where(X[:, 0] + generator.standard_normal(60) > 0, 1, -1)
    result = separation_test(X, y, permutations=99, expected_error=False)
    evidence = result.evidence
    assert (result.verdict, evidence.k, evidence.features, evidence.by) == (
        "structure",
        1,
        ("x0",),
        "shuffles",
    )
    assert result.separating.n_selected == 6
    # R² is that of the front, with the band of the same procedure; no rule on one feature makes fewer errors than the front says.
    assert (evidence.explained, evidence.shuffled) == (
        result.front[0].explained,
        result.front[0].shuffled,
    )
    assert evidence.errors >= result.front[0].errors
    first = str(result).splitlines()[0]
    band = evidence.shuffled
    words = f"K = 1 (x0): {evidence.errors} errors; R² {evidence.explained:.2f}, shuffled labels {band.median:.2f} "
    assert first.startswith(f"STRUCTURE, p = {result.pvalue:.2g}. {words}")
    assert "numbers of features together; x0 convinces alone." in result.reason
    assert (
        "Separation: 6 of 200 features separate all 60 samples; in pure noise of this size about"
        in str(result)
    )
    named = separation_test(
        X, y, features=result.separating.features, permutations=99, expected_error=False
    )
    assert named.evidence.features == result.separating.features
    assert named.evidence.by == "bound"


@pytest.mark.slow
def test_a_single_snp_is_the_headline():
    """One of 2000, 120 samples: many more separate everything, the first line names the one."""
    rng = np.random.default_rng(0)
    X = rng.binomial(2, rng.uniform(0.1, 0.5, size=2000), size=(120, 2000)).astype(float)
    y = np.where(
        2.0 * (X[:, 700] - X[:, 700].mean()) + rng.logistic(size=120) > 0, "case", "control"
    )
    result = separation_test(X, y, permutations=199)
    assert (result.verdict, result.evidence.features) == ("structure", ("x700",))
    assert "x700" in str(result).splitlines()[0]
    assert result.separating.n_selected > 4
    assert "x700" in result.rule.features


def test_where_only_the_separating_set_convinces_it_is_the_evidence():
    """Least squares on three features leaves errors; the search leaves none, and the bound is about its set."""
    X = np.random.default_rng(6).normal(size=(48, 120))
    y = np.where(X[:, :3].sum(axis=1) > 0, 1, -1)
    result = separation_test(X, y, permutations=0, expected_error=False)
    assert result.stage is Stage.DECLARED_ERRORS
    assert (
        (result.evidence.features, result.evidence.errors)
        == (result.separating.features, 0)
        == (("x0", "x1", "x2"), 0)
    )
    assert result.log10_pvalue == result.separating.bound.log10_p


@pytest.mark.parametrize("seed", [4, 6, 20, 34, 39])
def test_the_bound_of_what_decided_is_no_larger_than_its_pvalue(seed):
    """Swaps find better rules than the path; then the p-value is theirs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 20))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=80)
    y = np.where(
        X[:, 0] - X[:, 1] + 0.3 * (X[:, 2] + X[:, 3]) + 0.15 * rng.normal(size=80) > 0, 1, 0
    )
    flipped = rng.permutation(80)[:5]
    y[flipped] = 1 - y[flipped]
    result = separation_test(X, y, permutations=0, expected_error=False)
    assert (result.verdict, result.evidence.by) == ("structure", "bound")
    proof = next(proof for proof in result.proofs if proof.stage is result.stage)
    bound = chance_bound(80, 20, len(proof.features), positives=int(y.sum()), errors=proof.errors)
    # Errors counted after looking cost a factor 2 each.
    assert bound.log10_p + proof.errors * np.log10(2) <= result.log10_pvalue + 1e-9 < -1
    # A smaller set may be named, which convinces by itself.
    assert result.evidence.k <= len(proof.features)
    assert result.evidence.log10_p_alone <= np.log10(0.05)


def test_where_the_bound_decides_the_pvalue_is_that_of_its_set():
    data = load_example("breast-cancer")
    result = separation_test(data, permutations=99, expected_error=False)
    assert result.permutation is None
    assert result.stage is Stage.DECLARED_ERRORS
    proof = result.proofs[0]
    assert (proof.stage, proof.features, proof.errors) == (
        result.stage,
        result.separating.features,
        0,
    )
    plain = chance_bound(569, 30, len(proof.features), positives=212)
    assert result.log10_pvalue == pytest.approx(plain.log10_p)
    # One feature convinces by itself, and the first line says that the p-value is not its own.
    assert result.evidence.k == 1
    name = result.evidence.features[0]
    owner = f"that of {len(proof.features)} features with no error; {name} convinces alone."
    assert result.reason.endswith(owner)


@pytest.mark.parametrize(
    ("samples", "options", "floor"),
    [
        (6, {}, 2 / 20),
        (8, {"pairs": np.repeat(np.arange(4), 2)}, 2 / 16),
        (60, {"groups": np.repeat(np.arange(6), 10)}, 2 / 20),
    ],
)
def test_designs_that_cannot_reach_the_level_cannot_tell(samples, options, floor):
    """3 + 3 samples, four pairs, six subjects: even a perfect feature."""
    rng = np.random.default_rng(1)
    y = np.arange(samples) % 2 if "groups" not in options else np.repeat(np.arange(6) % 2, 10)
    X = rng.normal(size=(samples, 20))
    X[:, 0] = y
    result = separation_test(X, y, permutations=199, **options, expected_error=False)
    assert result.verdict == "cannot tell"
    stated = re.search(r"can give no p-value below ([\d.]+), whatever the data", result.reason)
    assert float(stated[1]) == pytest.approx(floor, abs=0.006)


def test_chance_is_said_only_where_a_large_effect_would_have_been_seen():
    rng = np.random.default_rng(2)
    large = separation_test(
        rng.normal(size=(80, 100)), np.arange(80) % 2, permutations=199, expected_error=False
    )
    small = separation_test(
        rng.normal(size=(16, 400)), np.arange(16) % 2, permutations=199, expected_error=False
    )
    assert (large.verdict, small.verdict) == ("chance allows this", "not shown")
    assert re.search(
        r"A feature whose class means lie 1\.\d SD apart would have been seen", large.reason
    )
    assert re.search(
        r"Only a feature whose class means lie [3-9]\.\d SD apart would have been seen",
        small.reason,
    )


def test_chance_is_not_said_of_a_rule_that_is_better_than_guessing():
    """The rule found here is no better; one that is changes the word, and not the reason."""
    X = np.random.default_rng(2).normal(size=(80, 100))
    y = np.where(np.arange(80) % 2 == 1, 1.0, -1.0)
    result = separation_test(X, y, permutations=199)
    assert result.verdict is Verdict.CHANCE
    assert not result.rule.expected_error.knows_something
    better = replace(
        result.rule, expected_error=replace(result.rule.expected_error, auc_interval=(0.6, 0.8))
    )
    assert better.expected_error.knows_something

    names = tuple(f"x{j}" for j in range(100))
    plan = make_plan(Dataset(X, y, names, ("-1", "1")), None, TestSettings(permutations=199))
    results = run_pvalue_stages(plan)
    as_it_is = decide(grounds_of_verdict(plan, results, result.rule))
    with_better_rule = decide(grounds_of_verdict(plan, results, better))
    assert (as_it_is.verdict, as_it_is.reason) == (result.verdict, result.reason)
    assert (with_better_rule.verdict, with_better_rule.reason) == (Verdict.NOT_SHOWN, result.reason)


@pytest.mark.slow
def test_the_effect_said_to_be_seen_is_seen():
    """Power at the distance stated, 60 tables: 0.8 within three standard errors."""
    n_samples, n_features, seen = 40, 100, 0
    y = np.repeat([-0.5, 0.5], n_samples // 2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples, n_features))
        plan = make_plan(
            Dataset(X, np.sign(y), tuple(map(str, range(n_features))), ("a", "b")),
            None,
            TestSettings(),
        )
        X[:, 3] += detectable_effect(plan) * y
        result = separation_test(
            X, y, permutations=199, expected_error=False, budget=20, restarts=0
        )
        seen += result.verdict == "structure"
    assert abs(seen / 60 - 0.8) <= 3 * np.sqrt(0.8 * 0.2 / 60)


def test_named_features_are_certified():
    data = load_example("planted")
    result = separation_test(data, features=["feature 2", "feature 1"], permutations=0)
    assert result.separating.separates
    assert result.separating.n_selected == 2
    # Errors counted after looking cost a factor 2 even when there are none.
    plain_bound = chance_bound(40, 500, 2, positives=20)
    assert result.log10_pvalue == pytest.approx(plain_bound.log10_p + log10(2))
    declared = separation_test(data, features=["feature 2", "feature 1"], permutations=0, errors=0)
    assert declared.log10_pvalue == pytest.approx(plain_bound.log10_p)


def test_named_features_that_do_not_separate_count_their_errors():
    data = load_example("planted")
    result = separation_test(data, features=["feature 1"], permutations=0)
    assert not result.separating.separates
    assert result.separating.errors > 0
    assert f"K = 1 (feature 1): {result.separating.errors} errors." in result.reason
    assert result.separating.bound.errors == result.separating.errors
    declared = separation_test(data, features=["feature 1"], permutations=0, errors=0)
    assert declared.log10_pvalue == 0
    assert declared.verdict == "cannot tell"


def test_preregistered_features_need_no_union():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 200))
    y = np.where(X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=60) > 0, 1, 0)
    first = separation_test(X, y, [0, 1], permutations=0, preregistered=True)
    looked = separation_test(X, y, [0, 1], permutations=0)
    assert 0 < first.separating.errors < 6
    assert first.separating.bound.supports == 1
    exact = chance_bound(
        60, 2, 2, positives=int(y.sum()), errors=first.separating.errors, preregistered=True
    )
    assert first.log10_pvalue == exact.log10_p < -5
    union = log10(comb(200, 2) * 2 ** (1 + first.separating.errors))
    assert looked.separating.bound.log10_union == pytest.approx(
        first.separating.bound.log10_union + log10(comb(200, 2))
    )
    assert looked.log10_pvalue == pytest.approx(first.log10_pvalue + union)
    permuted = separation_test(
        X, y, [0, 1], permutations=99, preregistered=True, always_permute=True, stop_after=None
    )
    assert permuted.permutation.pvalue == 0.01
    with pytest.raises(InputError, match="have to be named"):
        separation_test(X, y, preregistered=True)


def test_candidates_outside_the_table_silence_permutation():
    data = load_example("planted")
    table = separation_test(data.X[:, :20], data.y, candidates=500, errors=0)
    assert table.permutation is None
    assert table.separating.bound.n_features == 500
    assert table.settings.permutations == 0
    with pytest.raises(InputError, match="candidate features"):
        separation_test(data.X, data.y, candidates=3)


def test_duplicates_and_constants_are_counted_once():
    data = load_example("planted")
    X = np.column_stack([data.X, data.X[:, :50], np.ones((40, 7))])
    result = separation_test(X, data.y, expected_error=False)
    assert result.n_features == 557
    assert result.n_distinct == 500
    assert result.log10_pvalue == chance_bound(40, 500, 2, positives=20).log10_p


def test_blocks_and_groups():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(36, 40))
    subjects = np.repeat(np.arange(12), 3)
    labels = np.repeat([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0], 3)
    result = separation_test(
        X, labels, groups=subjects, permutations=19, budget=100, expected_error=False
    )
    assert result.separating.bound.n_samples == 12
    assert result.separating.bound.positives == 6
    # Rows of one subject are nearly one sample: 36 rows look like much more evidence than 12 subjects are.
    assert (
        result.separating.bound.log10_p
        >= separation_test(X, labels, permutations=0, expected_error=False).separating.bound.log10_p
    )
    blocked = separation_test(
        X,
        labels,
        groups=subjects,
        blocks=np.repeat([0, 1], 18),
        permutations=19,
        budget=100,
        expected_error=False,
    )
    assert blocked.separating.bound.blocks == ((6, 4), (6, 2))
    assert blocked.to_dict()["settings"]["blocks"] == 2


def test_equal_rows_with_opposite_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    y = np.repeat([1, 0], 10)
    X[19] = X[2]
    result = separation_test(X, y, permutations=0)
    assert result.verdict == "cannot tell"
    assert (
        "1 of which cannot be avoided (rows 3 and 20 are equal but have opposite labels)"
        in result.separating.summary()
    )
    assert not result.separating.separates
    # The rest is judged: noise is called chance by its shuffles, not because nothing separates.
    permuted = separation_test(X, y, permutations=199, expected_error=False)
    assert permuted.verdict == "chance allows this"
    assert 0.05 < permuted.pvalue < 1
    X[:, 0] += 2.5 * np.where(y == 1, 1.0, -1.0)
    X[19] = X[2]
    signal = separation_test(X, y, permutations=199, expected_error=False)
    assert signal.verdict == "structure"
    assert signal.separating.errors >= 1
    assert "1 of which cannot be avoided" in signal.separating.summary()


def test_coin_null_and_no_intercept():
    data = load_example("planted")
    result = separation_test(
        data.X,
        data.y,
        null="coin",
        intercept=False,
        permutations=9,
        budget=200,
        expected_error=False,
    )
    assert result.separating.bound.null == "coin"
    assert result.separating.bias == 0
    chance = separation_test(
        data.X[:12], data.y[:12], null="coin", permutations=9, budget=100, expected_error=False
    )
    assert chance.permutation.done > 0


@pytest.mark.parametrize("positives", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_bound_as_p_value_by_enumeration(positives):
    """Smallest separating sets of every labelling of 8 samples: P(bound(K) ≤ a) ≤ a for every attained a."""
    X = np.random.default_rng(14).normal(size=(8, 4))
    rows = np.column_stack([X, np.ones(8)])

    def separates(support, y):
        signed = rows[:, [*support, 4]] * y[:, None]
        return (
            linprog(
                np.zeros(len(support) + 1), A_ub=-signed, b_ub=-np.ones(8), bounds=(None, None)
            ).status
            == 0
        )

    pvalues = []
    for chosen in combinations(range(8), positives):
        y = np.where(np.isin(np.arange(8), chosen), 1.0, -1.0)
        smallest = next(
            (m for m in range(1, 5) for s in combinations(range(4), m) if separates(s, y)), None
        )
        bound = (
            1.0 if smallest is None else chance_bound(8, 4, smallest, positives=positives).pvalue
        )
        pvalues.append(bound)
        result = separation_test(X, y, permutations=0, restarts=0, expected_error=False)
        assert result.pvalue >= bound * (1 - 1e-12)
    pvalues = np.array(pvalues)
    assert len(pvalues) == comb(8, positives)
    for level in np.unique(pvalues):
        assert np.mean(pvalues <= level) <= level * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y": [0, 1, 2] * 4}, "outcome='classes' or outcome='number'"),
        ({"X": np.full((12, 2), np.nan)}, "row 1, column 'x0'"),
        ({"X": np.ones((12, 3))}, "every feature is constant"),
        ({"features": ["age"]}, "no feature 'age'"),
        ({"feature_names": ["a"]}, "feature names"),
    ],
)
def test_bad_input_gets_one_sentence(change, match):
    rng = np.random.default_rng(0)
    arguments = {"X": rng.normal(size=(12, 2)), "y": [0, 1] * 6, **change}
    X, y, features = arguments.pop("X"), arguments.pop("y"), arguments.pop("features", None)
    with pytest.raises(InputError, match=match):
        separation_test(X, y, features, **arguments)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tables" / "published-tables.md").read_text(
    encoding="utf-8"
)
ROWS = re.findall(
    r"^\| \[(\w+)\]\(#[\w-]+\) \| (\d+) × (\d+) \| \*\*([^*]+)\*\*", PAGE, re.MULTILINE
)
# The others take long.
QUICK = {"dlbcl_shipp", "golub38", "golub72", "lung_gordon"}
# Tables with options of their own are those of docs/lab-tables.md, whose test runs them.
OPTIONS = {"gastric_nmr", "microbiome_crc", "microbiome_ibd"}
CASES = [
    pytest.param(*row, id=row[0], marks=[] if row[0] in QUICK else pytest.mark.slow)
    for row in ROWS
    if row[0] not in OPTIONS
]


def test_the_page_has_all_tables():
    assert len(ROWS) == 14


@pytest.mark.slow
@pytest.mark.parametrize(("name", "samples", "features", "verdict"), CASES)
def test_verdict_of_published_tables(real_data, name, samples, features, verdict):
    data = load_data(real_data(name), "label")
    assert data.X.shape == (int(samples), int(features))
    result = separation_test(data, permutations=99, expected_error=False)
    assert result.verdict == verdict
    labels = [data.classes[int(label > 0)] for label in data.y]
    assert result.score(data.X, labels) == pytest.approx(1 - result.separating.errors / len(data.y))


@pytest.mark.slow
def test_a_very_wide_table_stays_in_single_precision():
    """The same p-value, features and weights as in double precision; the array given stays as it was."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal(size=(24, 40_100), dtype=np.float32) + np.float32(3)
    y = np.where(X[:, 7] > 3, 1, 0)
    single, double = (
        separation_test(table, y, permutations=19, budget=20) for table in (X, X.astype(float))
    )
    assert np.array_equal(single.columns["x7"], X[:, 7])
    assert single.pvalue == double.pvalue
    assert single.evidence.features == double.evidence.features == ("x7",)
    assert single.rule.features == double.rule.features
    np.testing.assert_allclose(single.rule.weights, double.rule.weights, rtol=1e-5)
    assert X.flags.writeable
