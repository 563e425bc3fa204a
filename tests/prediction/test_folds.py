"""Samples that belong together stay together, wherever samples are dealt to folds."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.prediction.choose import choose_candidates
from chanceline.prediction.crossval import expected_error
from chanceline.prediction.folds import join_units
from chanceline.prediction.rule import fit_rule
from chanceline.prediction.samples import Samples, make_samples
from chanceline.prediction.stability import selection_stability

# Each has 160 rows: for every row its group and its block.
PATIENT = np.repeat(np.arange(40), 4)
DESIGNS = {
    "groups alone": (PATIENT, None),
    "patients in two large blocks": (PATIENT, PATIENT // 20),
    "patients in ten sites": (PATIENT, PATIENT // 4),
    "patients in pairs of patients": (PATIENT, PATIENT // 2),
    "visits, each with a row of every patient": (PATIENT, np.tile(np.arange(4), 40)),
    "twenty days, on which patients come and go": (PATIENT, np.arange(160) % 20),
    "small runs, some patients in two of them": (PATIENT, np.arange(160) // 5),
    "one large site and crumbs": (PATIENT, np.r_[np.zeros(150, int), 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),
}


def study(groups):
    """One label for each group, and the number of the group in the first column."""
    rng = np.random.default_rng(5)
    y = (groups % 2).astype(float)
    X = rng.normal(size=(len(groups), 12)) + np.repeat(rng.normal(size=(40, 12)), 4, axis=0)
    X[:, 1] += 2 * y
    X[:, 0] = groups
    return X, y


@pytest.fixture
def dealt(monkeypatch):
    """How often samples are dealt to each number of folds; every time no group may be split."""
    plain = Samples.assign_folds
    counts = {}

    def checked(samples, n_folds, seed):
        fold_of = plain(samples, n_folds, seed)
        for group in np.unique(samples.X[:, 0]):
            assert np.ptp(fold_of[samples.X[:, 0] == group]) == 0, f"group {group} is split"
        counts[n_folds] = counts.get(n_folds, 0) + 1
        return fold_of

    monkeypatch.setattr(Samples, "assign_folds", checked)
    return counts


@pytest.mark.parametrize("name", DESIGNS)
def test_no_group_is_split_in_any_folds(name, dealt):
    """Outer folds (10), inner folds (5) and halves (2)."""
    groups, blocks = DESIGNS[name]
    X, y = study(groups)
    found = expected_error(X, y, groups=groups, blocks=blocks)
    assert found is not None
    assert found.n_folds >= 5
    fit_rule(X, y, groups=groups, blocks=blocks)
    selection_stability(X, y, [1], groups=groups, blocks=blocks)
    assert found.n_repeats == 3
    assert dealt[10] == 3
    # Three times for each outer fold, ten times for the rule made of all samples.
    assert dealt[5] == 3 * 3 * found.n_folds + 10
    assert dealt[2] == 25


@pytest.mark.parametrize("name", DESIGNS)
def test_a_share_of_many_samples_is_drawn_by_whole_groups(name, dealt):
    groups, blocks = DESIGNS[name]
    X, y = study(groups)
    samples = make_samples(X, y, groups=groups, blocks=blocks)
    share = samples.subsample(80, [1])
    assert 40 <= len(share.y) <= 120
    whole = np.bincount(samples.X[:, 0].astype(int))
    assert all(np.sum(share.X[:, 0] == group) == whole[int(group)] for group in share.X[:, 0])
    assert samples.subsample(160, [1]) is samples
    choose_candidates(samples, None, [0], n_repeats=2, max_samples=80)
    assert dealt == {5: 2}


def test_small_blocks_are_left_out_whole():
    """Pairs and small runs are units; so are the crumbs beside a large site, whose rows are dealt."""
    rows = np.arange(160)
    assert np.array_equal(join_units(rows, rows // 2), rows // 2)
    crumbs = DESIGNS["one large site and crumbs"][1]
    units = join_units(rows, crumbs)
    assert len(np.unique(units)) == 150 + 3
    assert all(np.ptp(units[crumbs == block]) == 0 for block in (1, 2, 3))
    # Few large blocks are dealt row by row, many are left out whole.
    assert len(np.unique(join_units(rows, rows // 40))) == 160
    assert len(np.unique(join_units(rows, rows // 16))) == 10
    # Two pairs that share a patient are one unit.
    shared = rows.copy()
    shared[2] = shared[1]
    joined = join_units(np.unique(shared, return_inverse=True)[1], rows // 2)
    assert len(np.unique(joined)) == 79
    assert np.ptp(joined[:4]) == 0


def test_units_of_both_classes_fill_the_folds():
    """Pairs were dealt by the class of the row that comes first, so that some folds were empty."""
    pairs = np.repeat(np.arange(12), 2)
    y = np.tile([1.0, 0.0], 12)
    for pair in range(5):
        y[2 * pair : 2 * pair + 2] = (0.0, 1.0)
    samples = make_samples(np.random.default_rng(0).normal(size=(24, 3)), y, blocks=pairs)
    assert sorted(np.bincount(samples.assign_folds(10, [0])).tolist()) == [2] * 8 + [4] * 2


def sites(sizes, seed=0, columns=13):
    """Three columns tell the class; each site has a level of its own in every column."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(site), columns))
    y = np.where(X[:, :3].sum(axis=1) + 1.2 * rng.normal(size=len(site)) > 0, 1.0, 0.0)
    y[:2] = (0.0, 1.0)
    return X + rng.normal(size=(len(sizes), columns))[site], y, site


@pytest.mark.slow
def test_one_large_site_and_crumbs_are_cross_validated():
    """Whole sites were left out, three of which have 2 to 5 rows: 50 % (1–99), and warnings."""
    X, y, site = sites([889, 2, 4, 5])
    found = expected_error(X, y, blocks=site)
    alone = expected_error(X[:889], y[:889])
    assert found.n_folds == 10
    assert found.rate == pytest.approx(alone.rate, abs=0.02)
    assert found.interval[1] - found.interval[0] < 0.1
    assert found.interval[0] < found.rate < found.interval[1] < found.majority_error
    assert found.better_than_majority


SIZES = {
    "four sites of one row": [1, 1, 1, 1],
    "every row a site": [1] * 30,
    "three small sites": [7, 7, 7],
    "two small sites": [6, 6],
    "two pairs": [2, 2],
    "a site and a row": [40, 1],
    "a site and four crumbs": [40, 2, 3, 1, 1],
    "large, middle and small": [60, 12, 9, 8, 7, 3, 2, 1],
    "many of very different size": [50, *[10] * 12, *[2] * 12],
}


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
@pytest.mark.parametrize("name", SIZES)
def test_sites_of_any_sizes_give_numbers_or_none_without_a_warning(name, seed):
    """Every warning is an error in these tests."""
    X, y, site = sites(SIZES[name], seed, columns=6)
    rule = fit_rule(X, y, blocks=site)
    assert np.isfinite(rule.scores(X, site)).all()
    assert np.isfinite(rule.bias)
    selection_stability(X, y, rule.support, blocks=site)
    found = expected_error(X, y, blocks=site)
    if name in ("two small sites", "two pairs"):
        assert found is None
        return
    if found is not None:
        low, high = found.interval
        assert 0 <= low <= found.rate <= high <= 1
        assert np.isfinite(found.predictions).all()


def test_one_group_of_all_samples_is_not_tuned():
    X, y, _ = sites([30])
    everyone = np.zeros(30)
    rule = fit_rule(X, y, groups=everyone)
    assert len(rule.support) == 0
    assert rule.kind.endswith("not tuned, as all samples belong together")
    assert expected_error(X, y, groups=everyone) is None
    named = fit_rule(X, y, groups=everyone, features=[0, 1])
    assert named.support.tolist() == [0, 1]
    assert np.isfinite(named.weights).all()
