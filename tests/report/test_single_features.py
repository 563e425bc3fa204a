"""All features one by one: p-values against other routes, and the picture on the page."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import pearsonr, t as student, ttest_ind, ttest_rel

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.figures.single_features import (
    N_STRIPS,
    POINTS_OF_STRIP,
    draw_single_features,
    feature_axis,
)
from chanceline.report.separation import separation_page
from chanceline.significance.run import separation_test
from chanceline.significance.single_pvalues import single_pvalues
from chanceline.tables.dataset import Dataset
from chanceline.tables.variants import VariantPlaces, read_positions

N_SAMPLES, N_COLUMNS = 40, 25
Y = np.repeat([1.0, -1.0], N_SAMPLES // 2)


def table(X, y=Y, **roles):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(X=X, y=y, feature_names=names, classes=("a", "b"), **roles)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).normal(size=(N_SAMPLES, N_COLUMNS)) + 0.3 * Y[:, None]


def test_pvalues_are_those_of_t_tests(X):
    expected = ttest_ind(X[Y > 0], X[Y < 0]).pvalue
    np.testing.assert_allclose(single_pvalues(table(X)), expected, rtol=1e-9)
    tiles = ColumnTable(SlicedColumns(X), tile_width=7)
    np.testing.assert_allclose(single_pvalues(table(tiles)), expected, rtol=1e-9)


def test_pairs_give_paired_t_tests(X):
    pairs = np.tile(np.arange(N_SAMPLES // 2), 2)
    expected = ttest_rel(X[Y > 0], X[Y < 0]).pvalue
    np.testing.assert_allclose(single_pvalues(table(X, pairs=pairs)), expected, rtol=1e-9)


def test_groups_count_once_and_constants_have_no_pvalue(X):
    groups = np.repeat(np.arange(N_SAMPLES // 2), 2)
    means = X.reshape(N_SAMPLES // 2, 2, N_COLUMNS).mean(axis=1)
    expected = ttest_ind(means[:10], means[10:]).pvalue
    np.testing.assert_allclose(single_pvalues(table(X, groups=groups)), expected, rtol=1e-9)
    with_constant = X.copy()
    with_constant[:, 3] = 7.3
    assert np.isnan(single_pvalues(table(with_constant))[3])


def test_a_covariate_and_blocks_are_taken_out_of_both(X):
    rng = np.random.default_rng(2)
    age = rng.normal(50, 10, N_SAMPLES)
    centre = np.array(["n", "s"])[rng.integers(0, 2, N_SAMPLES)]
    design = np.column_stack([np.ones(N_SAMPLES), age, centre == "n"])

    def residuals(values):
        return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]

    r = pearsonr(residuals(X[:, 4]), residuals(Y)).statistic
    n_left = N_SAMPLES - 2 - 2  # degrees of freedom, two more gone than without covariates
    t = r * np.sqrt(n_left / (1 - r**2))
    pvalues = single_pvalues(table(X, covariates={"age": age}, blocks=centre))
    assert pvalues[4] == pytest.approx(2 * student.sf(abs(t), n_left), rel=1e-9)


def test_a_covariate_may_be_called_like_a_role(X):
    rng = np.random.default_rng(3)
    values = Y + rng.normal(size=N_SAMPLES)
    roles = {"blocks": np.tile([1, 2], N_SAMPLES // 2), "pairs": np.arange(N_SAMPLES) // 2}
    for role, of_samples in roles.items():
        expected = single_pvalues(table(X, covariates={"age": values}, **{role: of_samples}))
        pvalues = single_pvalues(table(X, covariates={role: values}, **{role: of_samples}))
        np.testing.assert_array_equal(pvalues, expected)


def variants(n_variants):
    return VariantPlaces(
        names=[f"rs{j}" for j in range(n_variants)],
        chromosomes=["1"] * (n_variants // 2) + ["X"] * (n_variants - n_variants // 2),
        positions=10 * np.arange(n_variants) % 400,
    )


def test_places_are_those_of_the_features_that_are_left():
    places = variants(100)
    left = [name for name in places.names if name not in ("rs3", "rs60")]
    of_features = places.of_features(left)
    assert of_features.chromosomes == [places.chromosomes[int(name[2:])] for name in left]
    assert of_features.positions.tolist() == [10 * int(name[2:]) % 400 for name in left]
    assert places.of_features(["rs7", "age"]) is None
    sets = places.by_chromosome(left)
    assert [*sets] == ["chromosome 1", "chromosome X"]
    assert len(sets["chromosome 1"]) == len(sets["chromosome X"]) == 49
    assert read_positions(["12", "?"]).tolist() == [12, 0]


def drawn_points(n_features, places, pvalues, named=()):
    axes = Figure().subplots()
    names = [f"rs{j}" for j in range(n_features)]
    axis = feature_axis(n_features, places)
    draw_single_features(axes, pvalues, axis=axis, names=names, named=named)
    return axes, np.concatenate(
        [line.get_ydata() for line in axes.lines if line.get_marker() == "o"]
    )


def test_the_smallest_pvalues_are_points_and_points_are_few():
    pvalues = np.random.default_rng(3).uniform(size=20_000)
    pvalues[777] = 1e-9
    axes, heights = drawn_points(20_000, None, pvalues)
    assert heights.max() == pytest.approx(9)
    assert len(heights) <= (N_STRIPS + 1) * POINTS_OF_STRIP
    # Every feature that convinces by itself is a point.
    assert np.sum(heights > -np.log10(0.05 / 20_000)) == 1
    assert axes.get_ylim()[1] > 9


def test_chromosomes_stand_one_behind_the_other():
    axes, _ = drawn_points(100, variants(100), np.full(100, 0.5), named=[7])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "X"]
    assert axes.get_xlabel() == "chromosome"
    assert "rs7" in [text.get_text() for text in axes.texts]
    axis = feature_axis(100, variants(100))
    assert axis.places[50:].min() >= axis.chromosomes[1].begin > axis.places[:50].max()


def test_the_page_shows_all_features_where_there_are_many():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N_SAMPLES, 320))
    X[:, 200] += 2 * Y
    data = table(X)
    result = separation_test(X, Y, permutations=99, expected_error=False)
    text = separation_page(result, data).render()
    assert "All features one by one" in text
    assert "in the order of the table" in text
    assert "All features one by one" not in separation_page(result).render()
