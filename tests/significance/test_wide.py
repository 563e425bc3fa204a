"""Very wide tables, gone through by tiles: the same digits from every source, and nearly those of the array in memory."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.columns.plink import PlinkColumns
from chanceline.columns.source import SlicedColumns, open_npy
from chanceline.columns.table import ColumnTable
from chanceline.errors import InputError
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.significance import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.plan import make_plan
from chanceline.significance.run import run_test
from chanceline.significance.tiled_columns import make_tiled_columns
from chanceline.significance.wide_table import table_for_test
from chanceline.tables.dataset import Dataset

N_SAMPLES, N_COLUMNS, TILE_WIDTH = 40, 300, 64
LIMIT = 100  # columns, above which the small tables here count as very wide


@pytest.fixture(scope="module")
def genotypes():
    rng = np.random.default_rng(5)
    X = rng.binomial(2, rng.uniform(0.1, 0.5, N_COLUMNS), size=(N_SAMPLES, N_COLUMNS))
    X[:, 77] = X[:, 11]  # in another tile
    X[:, 130] = 1
    return X.astype(np.int8)


@pytest.fixture(scope="module")
def y(genotypes):
    score = (
        genotypes[:, 20] + genotypes[:, 200] + np.random.default_rng(6).normal(0, 0.4, N_SAMPLES)
    )
    return np.where(score > np.median(score), 1.0, -1.0)


def dataset(X, y, **roles):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(X=X, y=y, feature_names=names, classes=("control", "case"), **roles)


def tiled(source):
    return ColumnTable(source, tile_width=TILE_WIDTH)


def run_on(X, y, limit=LIMIT, *, roles=None, **changes):
    settings = TestSettings(permutations=149, always_permute=True, **changes)
    return run_test(make_plan(dataset(X, y, **(roles or {})), None, settings, limit))


def content(result):
    """All that a result says, and the scores of samples held out."""
    record = result.to_dict()
    record["held out"] = result.rule.expected_error.predictions.tolist()
    record["marginal"] = result.marginal_pvalues
    return record


def doubles(folder, genotypes):
    return SlicedColumns(genotypes.astype(float))


def memory_map(folder, genotypes):
    np.save(folder / "X.npy", genotypes)
    return open_npy(folder / "X.npy")


def bed(folder, genotypes):
    """A .bed of a multiple of four samples: two bits for each, the first in the lowest."""
    bits = np.array([3, 2, 0], dtype=np.uint8)[genotypes]
    in_fours = bits.T.reshape(genotypes.shape[1], -1, 4)
    packed = (in_fours << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2).astype(np.uint8)
    path = folder / "study.bed"
    path.write_bytes(bytes([0x6C, 0x1B, 0x01]) + packed.tobytes())
    path.with_suffix(".bim").write_text("".join(f"1 rs{j} 0 {j} G A\n" for j in range(N_COLUMNS)))
    path.with_suffix(".fam").write_text("".join(f"F s{i} 0 0 1 1\n" for i in range(N_SAMPLES)))
    return PlinkColumns(path)


def blocks_of(chunk):
    def make(folder, genotypes):
        array = pytest.importorskip("dask.array")
        return SlicedColumns(array.from_array(genotypes, chunks=(-1, chunk)))

    return make


@pytest.fixture(scope="module")
def in_memory(genotypes, y):
    return content(run_on(tiled(SlicedColumns(genotypes)), y))


@pytest.mark.parametrize(
    ("make", "n_jobs"),
    [
        (doubles, 1),
        pytest.param(memory_map, 2, marks=pytest.mark.slow),
        (bed, 2),
        *(
            pytest.param(blocks_of(chunk), 1, marks=pytest.mark.slow)
            for chunk in (100, 4096, -1)
        ),
    ],
    ids=["doubles", "npy", "bed", "blocks of 100", "blocks of 4096", "one block"],
)  # fmt: skip
def test_every_source_gives_the_same_result(tmp_path, genotypes, y, in_memory, make, n_jobs):
    result = content(run_on(tiled(make(tmp_path, genotypes)), y, n_jobs=n_jobs))
    assert result == in_memory


def test_the_narrow_way_says_the_same_but_for_rounding_and_pairs(genotypes, y):
    wide = run_on(tiled(SlicedColumns(genotypes)), y, expected_error=False)
    narrow = run_on(genotypes.astype(float), y, limit=N_COLUMNS, expected_error=False)
    assert wide.verdict == narrow.verdict
    assert wide.permutation.pvalue == narrow.permutation.pvalue
    assert wide.front[0].features == narrow.front[0].features
    for ours, expected in zip(wide.front, narrow.front, strict=True):
        # A pair may explain more than the first two steps, and there are none here.
        if ours.features == expected.features:
            np.testing.assert_allclose(ours.explained, expected.explained, rtol=1e-5)
        else:
            assert ours.explained <= expected.explained
    shared = wide.marginal_pvalues.keys() & narrow.marginal_pvalues.keys()
    assert {"x20", "x200"} <= shared
    for name in shared:
        assert wide.marginal_pvalues[name] == narrow.marginal_pvalues[name]


def covariate(n_samples):
    return np.random.default_rng(8).normal(size=n_samples)


@pytest.mark.parametrize(
    ("roles", "intercept"),
    [
        ({}, True),
        ({}, False),
        ({"blocks": np.arange(N_SAMPLES) % 3}, True),
        ({"covariates": {"age": covariate(N_SAMPLES)}}, True),
        ({"groups": np.arange(N_SAMPLES) // 2}, True),
    ],
    ids=["plain", "no threshold", "blocks", "covariates", "groups"],
)
def test_paths_by_tiles_are_those_of_the_array(roles, intercept):
    rng = np.random.default_rng(7)
    X = 50 + rng.standard_t(3, size=(N_SAMPLES, N_COLUMNS))  # with outliers and a large mean
    y = np.repeat([-1.0, 1.0], N_SAMPLES // 2)
    design = make_design(y, DeclaredRoles(**roles), X=X)
    labels = np.array([design.draw(np.random.default_rng(seed)) for seed in range(30)])
    features = distinct_columns(X, intercept)
    array = make_path_columns(X, design, intercept, features, max_columns_for_pairs=0)
    table = make_tiled_columns(tiled(SlicedColumns(X)), features, design, intercept, n_threads=2)
    expected = follow_paths(array, labels, 4)
    paths = follow_paths(table, labels, 4)
    assert np.array_equal(paths.chosen, expected.chosen)
    assert np.array_equal(paths.errors, expected.errors)
    np.testing.assert_allclose(paths.losses, expected.losses, rtol=1e-6)
    np.testing.assert_allclose(paths.spread, expected.spread, rtol=1e-5)
    np.testing.assert_allclose(paths.ridge_fits, expected.ridge_fits, rtol=1e-5)
    some = np.array([250, 3, 3])
    np.testing.assert_allclose(table.columns_at(some), array.normalized[:, some], atol=1e-6)
    vectors = table.residuals(rng.normal(size=(2, N_SAMPLES)))
    np.testing.assert_allclose(table.products(vectors), vectors @ array.normalized, atol=1e-4)


def test_columns_of_which_blocks_leave_nothing_are_dropped(y):
    rng = np.random.default_rng(9)
    blocks = np.arange(N_SAMPLES) % 2
    X = rng.normal(size=(N_SAMPLES, 150))
    X[:, 64:128] = blocks[:, None]  # a whole tile
    design = make_design(
        np.where(np.arange(N_SAMPLES) < 20, 1.0, -1.0), DeclaredRoles(blocks=blocks)
    )
    columns = make_tiled_columns(tiled(SlicedColumns(X)), np.arange(150), design, intercept=True)
    assert columns.feature_of_column.tolist() == [*range(64), *range(128, 150)]
    paths = follow_paths(columns, design.y[None], 2)
    assert np.isin(paths.chosen, columns.feature_of_column).all()
    constant = np.repeat(blocks[:, None], 70, axis=1)
    with pytest.raises(InputError, match="constant within every block"):
        make_tiled_columns(tiled(SlicedColumns(constant)), np.arange(70), design, intercept=True)


def test_a_column_like_the_outcome_is_asked_about_and_left_out(genotypes, y):
    X = genotypes.astype(np.float32)
    X[:, 150] = 3 * y
    result = run_on(tiled(SlicedColumns(X)), y, expected_error=False)
    assert any("'x150' alone tells" in finding.message for finding in result.findings)
    assert any("Without it: " in finding.message for finding in result.findings)


def test_named_features_and_a_scorecard(genotypes, y):
    table = tiled(SlicedColumns(genotypes))
    settings = TestSettings(permutations=39, integer=True)
    plan = make_plan(dataset(table, y), ["x20", "x200"], settings, LIMIT)
    array_plan = make_plan(
        dataset(genotypes.astype(float), y), ["x20", "x200"], settings, N_COLUMNS
    )
    result, expected = run_test(plan), run_test(array_plan)
    assert result.rule.text == expected.rule.text
    assert result.rule.card_text == expected.rule.card_text
    assert result.rule.expected_error.rate == expected.rule.expected_error.rate


def test_a_wide_array_and_a_narrow_table_become_what_the_test_goes_through(genotypes):
    table = table_for_test(genotypes, LIMIT)
    assert isinstance(table, ColumnTable)
    assert table_for_test(table, LIMIT) is table
    array = table_for_test(table, N_COLUMNS)
    assert array.dtype == np.float64
    assert np.array_equal(array, genotypes)
    assert table_for_test(array, N_COLUMNS) is array


def test_a_search_of_ones_own_gets_an_array(genotypes, y):
    settings = TestSettings(search=lambda X, y: [0])
    for X in (tiled(SlicedColumns(genotypes)), genotypes.astype(float)):
        plan = make_plan(dataset(X, y), None, settings, LIMIT)
        assert isinstance(plan.data.X, np.ndarray)
        assert np.array_equal(plan.data.X, genotypes)
