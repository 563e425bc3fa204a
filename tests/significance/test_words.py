"""Headlines and advice say what was shown, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.chance import chance_bound
from chanceline.errors import InputError
from chanceline.significance import TestSettings, separation_test
from chanceline.significance.noise_size import chance_size
from chanceline.significance.stages import Stage
from chanceline.tables.examples import load_example

QUICK = {"budget": 300, "expected_error": False}


def noise(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)), np.arange(n_samples) % 2


def test_the_replica_line_never_decides():
    """Noise far below the line: without shuffles and with a silent bound the word is "cannot tell"."""
    data = load_example("noise")
    result = separation_test(data.X, data.y, permutations=0, restarts=0, **QUICK)
    assert result.separating.replica is not None
    assert result.separating.replica.chance_reaches
    assert result.verdict == "cannot tell"
    assert "no labels were shuffled" in result.reason
    candidates = separation_test(data.X[:, :200], data.y, candidates=500, restarts=0, **QUICK)
    assert candidates.verdict == "cannot tell"
    assert any("full table" in sentence for sentence in candidates.advice)


def test_the_replica_line_does_not_speak_of_features_fixed_beforehand():
    """20 × 50, four features fixed beforehand that separate: chosen sets would at that size, these four were not chosen."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 50))
    y = np.where(X[:, :4].sum(axis=1) > 0, 1, 0)
    silent = separation_test(
        X, y, [0, 1, 2, 3], preregistered=True, permutations=0, level=1e-9, **QUICK
    )
    assert silent.separating.errors == 0
    assert silent.separating.replica is None
    assert silent.verdict == "cannot tell"
    shuffled = separation_test(
        X, y, [0, 1, 2, 3], preregistered=True, always_permute=True, permutations=199, **QUICK
    )
    assert shuffled.verdict == "structure"
    assert shuffled.permutation.pvalue <= 0.02


def test_tables_that_nothing_separates_get_their_errors():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 8))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=200) > 0, 1, 0)
    result = separation_test(X, y, always_permute=True, **QUICK)
    assert result.verdict == "structure"
    assert not result.separating.separates
    assert f"{result.separating.errors} errors among 200 samples" in str(result)
    # One feature alone is proven.
    assert (result.feature_bound.feature, result.evidence.by, result.evidence.features) == (
        0,
        "bound",
        ("x0",),
    )
    assert result.log10_pvalue == pytest.approx(
        result.feature_bound.log10_p + np.log10(2), abs=1e-3
    )
    unrelated = separation_test(X, rng.permutation(y), permutations=199, **QUICK)
    assert unrelated.verdict == "chance allows this"


def test_the_bound_speaks_about_points_of_the_front():
    """Strong signal with a few wrong labels: nothing separates, and the bound convinces with the price of counted errors."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] > 0, 1, 0)
    y[:3] = 1 - y[:3]
    result = separation_test(X, y, **QUICK)
    assert result.permutation is None
    assert result.verdict == "structure"
    assert str(result).startswith("Data checks that bear on the verdict:\n  - column 'x0' alone")
    assert "\nSTRUCTURE, p ≤ " in str(result)
    assert result.stage is Stage.COUNTED_ERRORS
    named = result.evidence
    bound = chance_bound(120, 6, named.k, positives=int(y.sum()), errors=named.errors)
    # Every error counted after looking costs a factor 2, and so does sharing the stage with the proof for one feature. A value
    # that the bound without errors could have taken is added.
    proof = 2.0 ** (named.errors + 1) * bound.pvalue
    assert proof <= result.pvalue <= 1.2 * proof < 1e-26


def test_named_features_are_not_credited_with_the_tables_structure():
    """Features 0 and 1 carry the signal, feature 29 is noise: nothing is shown about it, and the table holds structure."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 40))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, 0)
    result = separation_test(X, y, [29], permutations=199, **QUICK)
    assert result.verdict == "not shown"
    assert "x29" in result.reason
    assert "The table as a whole holds structure" in result.reason
    assert result.log10_pvalue == result.separating.bound.log10_p
    assert result.permutation.pvalue <= 0.05
    chance = separation_test(X, rng.permutation(y), [29], permutations=199, **QUICK)
    assert chance.verdict != "structure"
    assert "The table as a whole holds structure" not in chance.reason
    good = separation_test(X, y, [0, 1], **QUICK)
    assert good.verdict == "structure"


def same_for_all_labels(X, y):
    return [0, 1]


def nothing_on_some(X, y):
    return [0, 1] if y[0] > 0 else []


def nothing_at_all(X, y):
    return np.zeros(X.shape[1], dtype=bool)


def test_a_search_that_does_not_look_at_the_labels_is_noticed():
    """The set was chosen with the true labels in view; shuffles would all do worse, and that means nothing."""
    X, y = noise(30, 20, seed=5)
    X[:, 0] += 1.3 * np.where(y > 0, 1, -1)
    result = separation_test(X, y, search=same_for_all_labels, permutations=39, **QUICK)
    assert result.permutation.void
    assert result.verdict == "cannot tell"
    assert "the same features for every shuffled labelling" in result.reason
    assert result.log10_pvalue >= result.separating.bound.log10_p
    assert "void" in str(result)


def test_every_feature_for_all_labels_is_no_such_search():
    X, y = noise(20, 2, seed=6)
    result = separation_test(X, y, search=same_for_all_labels, permutations=19, **QUICK)
    assert not result.permutation.void


def test_a_search_that_finds_nothing_loses_the_draw():
    X, y = noise(20, 6, seed=7)
    X[:, 0] += 5 * np.where(y > 0, 1, -1)
    y = np.where(y > 0, 1, 0)
    signs = y if y[0] else 1 - y
    result = separation_test(
        X, signs, search=nothing_on_some, permutations=39, always_permute=True, **QUICK
    )
    assert result.permutation.done == 39
    assert None in result.permutation.null_sizes
    assert result.permutation.exceedances < 39
    with pytest.raises(InputError, match="selected no feature"):
        separation_test(X, y, search=nothing_at_all, permutations=19, **QUICK)


def test_settings_are_checked_and_travel_with_the_result():
    X, y = noise(16, 4)
    settings = TestSettings(permutations=19, expected_error=False, budget=50)
    result = separation_test(X, y, settings=settings, level=0.1)
    assert result.settings == settings.changed(level=0.1)
    assert result.to_dict()["settings"]["level"] == 0.1
    with pytest.raises(TypeError, match="permutation"):
        separation_test(X, y, permutation=3)
    for change, match in (
        ({"time_limit": 0}, "time limit"),
        ({"largest": 0}, "largest"),
        ({"seed": 1.5}, "whole number"),
    ):
        with pytest.raises(InputError, match=match):
            TestSettings(**change)


def test_former_names_work_with_a_warning():
    X, y = np.random.default_rng(0).normal(size=(30, 5)), np.tile([1, -1], 15)
    result = separation_test(X, y, permutations=19)
    for owner, old, new in (
        (result, "alone", "marginal_pvalues"),
        (result.rule, "along", "sample_scores"),
        (result.rule, "firmness", "stability"),
    ):
        with pytest.warns(DeprecationWarning, match=f"{old} is now .*{new}; .* in 0.5"):
            assert getattr(owner, old) is getattr(owner, new)
    with pytest.warns(DeprecationWarning, match="in_words"):
        assert chance_size(30, 100).needs() == chance_size(30, 100).in_words()


@pytest.mark.slow
def test_the_permutations_needed_are_needed_and_enough():
    """With one fewer than it asks for, no p-value of the shuffles reaches the level; with these one can."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 50))
    y = rng.permutation(40) % 2
    X[:, 0] += 1.2 * y
    sentence = "at least 21 permutations are needed"
    assert sentence in str(separation_test(X, y, permutations=5, seed=0))
    assert sentence in str(separation_test(X, y, permutations=20, seed=0))
    assert "are needed" not in str(separation_test(X, y, permutations=21, seed=0))
