"""Ridge regressions on all columns: against the normal equations, their limits, and what they see that no column shows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from chanceline import separation_test
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.readings import SpreadMeasure
from chanceline.significance.ridges import (
    RIDGE_SHARES,
    RidgeRegressions,
    make_ridge_regressions,
    principal_axes,
    ridge_of_share,
)
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths


def permuted(rng, y, n_labellings):
    return np.array([rng.permutation(y) for _ in range(n_labellings)])


def fit_by_normal_equations(columns, labels, ridge):
    """y·Zw/(y·y) with w = (ZᵀZ + λ)⁻¹Zᵀy, relative to its mean over permuted labels."""
    Z = columns.normalized.astype(float)
    regularized = Z.T @ Z + ridge * np.eye(Z.shape[1])
    n_parameters = np.trace(Z @ np.linalg.solve(regularized, Z.T))
    fits = []
    for y in columns.residuals(labels):
        weights = np.linalg.solve(regularized, Z.T @ y)
        fits.append((len(y) - 1) * (y @ Z @ weights) / (y @ y) / n_parameters)
    return fits


@pytest.mark.parametrize(
    ("n_samples", "n_features", "roles", "intercept"),
    [
        pytest.param(20, 50, {}, True, id="wide"),
        pytest.param(32, 20, {}, True, id="more samples than columns"),
        pytest.param(60, 8, {}, True, id="long, in a frame"),
        pytest.param(20, 30, {}, False, id="no threshold"),
        pytest.param(24, 40, {"blocks": np.repeat(range(4), 6)}, True, id="blocks"),
        pytest.param(24, 40, {"groups": np.repeat(range(12), 2)}, True, id="groups"),
        pytest.param(24, 40, {"covariates": {"age": np.arange(24.0)}}, True, id="covariate"),
    ],
)
def test_fits_are_those_of_the_normal_equations(n_samples, n_features, roles, intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=(n_samples, 1))
    y = np.repeat(np.tile([1.0, -1.0], n_samples // 4), 2)
    columns = make_path_columns(X, make_design(y, DeclaredRoles(**roles)), intercept)
    labels = permuted(rng, y, 5)
    fits = follow_paths(columns, labels, 2).ridge_fits
    squared_lengths = principal_axes(columns.normalized).squared_lengths
    assert len(RIDGE_SHARES) == fits.shape[1] == 2
    for share, found in zip(RIDGE_SHARES, fits.T, strict=True):
        ridge = ridge_of_share(squared_lengths, share)
        expected = fit_by_normal_equations(columns, labels, ridge)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_over_all_labellings_the_mean_is_one():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(8, 12)) + rng.normal(size=(8, 1))
    labels = np.array(
        [np.where(np.isin(range(8), chosen), 1.0, -1.0) for chosen in combinations(range(8), 3)]
    )
    fits = follow_paths(make_path_columns(X, make_design(labels[0]), True), labels, 1).ridge_fits
    np.testing.assert_allclose(fits.mean(axis=0), 1, rtol=1e-12)


def test_labels_and_rows_permuted_together_change_nothing():
    """The statistic of the observed labels is the same function as that of the shuffled ones."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(18, 30)), np.repeat([1.0, -1.0], 9)
    order = rng.permutation(18)
    design = make_design(y)
    fits = follow_paths(make_path_columns(X, design, True), y[None], 1).ridge_fits
    permuted_columns = make_path_columns(X[order], make_design(y[order]), True)
    again = follow_paths(permuted_columns, y[order][None], 1).ridge_fits
    np.testing.assert_allclose(again, fits, rtol=1e-10)


def test_a_large_ridge_leaves_the_spread_over_all_columns():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 30)), np.repeat([1.0, -1.0], 10)
    columns = make_path_columns(X, make_design(y), True)
    principal = principal_axes(columns.normalized)
    ridge = 1e9
    lengths = principal.squared_lengths[:, None]
    ridges = RidgeRegressions(axes=principal.axes, shrinkages=lengths / (lengths + ridge))
    labels = permuted(rng, y, 6)
    fitted = ridges.fitted_squares(columns.residuals(labels))
    spread = follow_paths(columns, labels, 1).spread[:, 0]
    # 20 samples, whose centred labels have the squared length 20.
    np.testing.assert_allclose(19 * fitted[:, 0] / (20 * ridges.n_parameters), spread, rtol=1e-7)


def test_a_share_near_one_is_least_squares():
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(30, 6))
    y = rng.normal(size=30)
    principal = principal_axes(columns)
    ridge = ridge_of_share(principal.squared_lengths, 1 - 1e-9)
    lengths = principal.squared_lengths[:, None]
    ridges = RidgeRegressions(axes=principal.axes, shrinkages=lengths / (lengths + ridge))
    fitted = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    assert ridges.fitted_squares(y[None])[0, 0] == pytest.approx(y @ fitted, rel=1e-7)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
def test_the_ridge_has_the_share_of_free_parameters(share):
    lengths = np.array([1e-6, 0.3, 2.0, 50.0])
    ridge = ridge_of_share(lengths, share)
    assert np.sum(lengths / (lengths + ridge)) == pytest.approx(4 * share, rel=1e-9)
    # With equal lengths d/(d + λ) is the share itself.
    assert ridge_of_share(np.full(3, 7.0), share) == pytest.approx(7 * (1 - share) / share)


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_axes_are_those_of_the_singular_values_and_copies_add_none(shape):
    rng = np.random.default_rng(6)
    columns = rng.normal(size=shape)
    columns[:, -1] = columns[:, 0] + columns[:, 1]
    principal = principal_axes(columns)
    singular_values = np.linalg.svd(columns, compute_uv=False)
    rank = np.linalg.matrix_rank(columns)
    assert principal.axes.shape == (shape[0], rank)
    np.testing.assert_allclose(
        principal.squared_lengths[::-1], singular_values[:rank] ** 2, rtol=1e-8
    )
    np.testing.assert_allclose(principal.axes.T @ principal.axes, np.eye(rank), atol=1e-9)


def test_a_table_too_large_for_axes_has_no_regressions_and_a_p_value():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(20, 30)), np.repeat([1.0, -1.0], 10)
    none = make_ridge_regressions(X, max_axes=19)
    assert none.fitted_squares(y[None]).shape == (1, 0)
    assert make_ridge_regressions(X, max_axes=20).fitted_squares(y[None]).shape == (1, 2)


def along_small_variance(rng, n_samples=140, n_features=100):
    """Five factors behind all columns; the label follows what columns have beside them, along one direction."""
    loadings = rng.normal(size=(5, n_features))
    factors = rng.normal(size=(n_samples, 5))
    X = factors @ loadings + 0.67 * rng.normal(size=(n_samples, n_features))
    direction = rng.normal(size=n_features)
    factor_space = np.linalg.qr(loadings.T)[0]
    direction -= factor_space @ (factor_space.T @ direction)
    return X, np.where(X @ direction > 0, 1.0, -1.0)


def test_labels_along_a_direction_of_small_variance_are_seen():
    """On ten sets the regressions see them, small sets of columns on fewer; and the words say what saw them."""
    found, found_by_path = 0, 0
    for number in range(10):
        X, y = along_small_variance(np.random.default_rng([8, number]))
        design = make_design(y)
        columns = make_path_columns(X, design, True)
        draws, _ = shuffle_paths(columns, design, ShufflePlan(199, seed=0), 6)
        found += draws.spread().measure is SpreadMeasure.RIDGE and draws.spread().pvalue <= 0.05
        found_by_path += draws.adjusted_pvalues().path.min() <= 0.05
    assert found >= 9
    assert found_by_path <= found - 3

    X, y = along_small_variance(np.random.default_rng([8, 0]))
    result = separation_test(X, y, permutations=199, expected_error=False, seed=0)
    assert result.verdict == "structure"
    assert result.evidence.spread
    assert result.reason.startswith("Spread over many features: fit of a ridge regression on all")


def test_correlated_noise_is_called_structure_as_often_as_the_level_says():
    """At level 0.05 about 20 of 400 are expected; 42 or more, or 5 or fewer, would be noticed."""
    pvalues = []
    for number in range(400):
        rng = np.random.default_rng([9, number])
        X, _ = along_small_variance(rng, n_samples=20, n_features=15)
        design = make_design(rng.permutation(np.repeat([1.0, -1.0], 10)))
        columns = make_path_columns(X, design, True)
        draws, _ = shuffle_paths(columns, design, ShufflePlan(39, seed=number), 3)
        pvalues.append(draws.permutation_reading().pvalue)
    rejected = np.count_nonzero(np.array(pvalues) <= 0.05)
    assert binom.ppf(1e-4, 400, 0.05) <= rejected <= binom.isf(1e-4, 400, 0.05)
