"""A very wide table whose tiles live on Dask workers: the same digits as in one process, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
from importlib import import_module

import numpy as np
import pytest

from chanceline import _cluster
from chanceline._cluster import WorkersLostError, active_client, cluster
from chanceline.columns.cluster_table import TableOnCluster, placed_on_cluster
from chanceline.columns.source import SlicedColumns, open_npy
from chanceline.columns.table import ColumnTable
from chanceline.columns.views import FilledColumns
from chanceline.errors import InputError
from chanceline.significance import TestSettings
from chanceline.significance.plan import make_plan
from chanceline.significance.run import run_test
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Dataset

distributed = pytest.importorskip("distributed")

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
def y():
    return np.where(np.random.default_rng(6).random(N_SAMPLES) < 0.5, 1.0, -1.0)


def tiled(source):
    return ColumnTable(source, tile_width=TILE_WIDTH)


def run_on(source, y, progress=None, **changes):
    names = tuple(f"x{j}" for j in range(N_COLUMNS))
    data = Dataset(X=tiled(source), y=y, feature_names=names, classes=("control", "case"))
    settings = TestSettings(permutations=299, always_permute=True, **changes)
    return run_test(make_plan(data, None, settings, LIMIT), progress)


def content(result):
    """All that a result says, and the scores of samples held out."""
    record = result.to_dict()
    record["held out"] = result.rule.expected_error.predictions.tolist()
    record["marginal"] = result.marginal_pvalues
    return record


@pytest.fixture(scope="module")
def in_one_process(genotypes, y):
    return content(run_on(SlicedColumns(genotypes), y))


def in_memory(genotypes, folder):
    return SlicedColumns(genotypes)


def in_file(genotypes, folder):
    np.save(folder / "X.npy", genotypes)
    return open_npy(folder / "X.npy")


some_sources = pytest.mark.parametrize(
    "make", [in_file, pytest.param(in_memory, marks=pytest.mark.slow)]
)


@pytest.mark.slow
@some_sources
def test_a_cluster_gives_the_same_result(
    dask_processes, tmp_path, genotypes, y, in_one_process, make
):
    address, _ = dask_processes
    with cluster(address):
        assert content(run_on(make(genotypes, tmp_path), y, n_jobs=-1)) == in_one_process


@pytest.mark.slow
def test_a_dask_array_is_worked_on_by_its_own_client(dask_processes, genotypes, y, in_one_process):
    array = pytest.importorskip("dask.array")
    address, _ = dask_processes
    with distributed.Client(address):
        source = SlicedColumns(array.from_array(genotypes, chunks=(-1, 100)))
        table = placed_on_cluster(tiled(source), n_jobs=1)
        assert isinstance(table, TableOnCluster)
        assert content(run_on(source, y)) == in_one_process


def double_sums(tile, factor, offset):
    return factor * tile.numbers.sum(axis=0) + offset


def whole_sums(tile, factor):
    return factor * tile.values.sum(axis=1, dtype=np.int64)


@pytest.fixture
def placed(dask_processes, genotypes, tmp_path):
    """`placed(make)`: a table here, and the same on workers."""
    address, _ = dask_processes

    def place(make):
        table = tiled(make(genotypes, tmp_path))
        return table, placed_on_cluster(table, n_jobs=-1)

    with cluster(address):
        yield place


@some_sources
def test_views_of_tiles_on_workers_are_those_of_the_table(placed, make):
    here, there = placed(make)
    rows, columns = np.array([3, 1, 30]), np.arange(5, 290, 3)
    looks = [
        (here, there),
        (here.rows(rows), there.rows(rows)),
        (here.select(columns), there.select(columns)),
        (here.select(columns).rows(rows), there.select(columns).rows(rows)),
    ]
    for ours, theirs in looks:
        n_columns = ours.shape[1]
        assert theirs.shape == ours.shape
        some = np.array([n_columns - 1, 0, 70, 0])
        assert np.array_equal(theirs.take(some), ours.take(some))
        assert np.array_equal(theirs[:, ::7], ours[:, ::7])
        assert np.array_equal(theirs[:, 60:70], ours[:, 60:70])
        assert theirs.take(some[:0]).shape == (ours.shape[0], 0)
        factors = [(start, start + 1) for start in ours.tile_starts]
        expected = list(ours.map_tiles(double_sums, factors, (0.5,)))
        assert all(map(np.array_equal, theirs.map_tiles(double_sums, factors, (0.5,)), expected))
        sums = theirs.sum_over_tiles(whole_sums, factors)
        assert np.array_equal(sums, ours.sum_over_tiles(whole_sums, factors))


def read_here_only(start, stop):
    raise AssertionError("this process reads columns that workers have")


def test_workers_read_a_file_themselves(placed, monkeypatch):
    here, there = placed(in_file)
    expected = here.take(np.arange(N_COLUMNS))
    monkeypatch.setattr(here.source, "read", read_here_only)
    assert np.array_equal(there.take(np.arange(N_COLUMNS)), expected)


def test_gaps_are_filled_by_the_workers(dask_processes, genotypes, tmp_path, monkeypatch):
    values = genotypes.astype(float)
    values[3, ::2] = np.nan
    source = FilledColumns(in_file(values, tmp_path), np.arange(N_COLUMNS) / 7)
    expected = tiled(source).take(np.arange(N_COLUMNS))
    assert np.isfinite(expected).all()
    with cluster(dask_processes[0]):
        there = placed_on_cluster(tiled(source), n_jobs=-1)
        monkeypatch.setattr(source, "read", read_here_only)
        assert np.array_equal(there.take(np.arange(N_COLUMNS)), expected)


@pytest.mark.parametrize("make", [in_memory, in_file])
def test_tiles_that_die_with_a_worker_are_made_again(placed, dask_processes, make, wait_for):
    here, there = placed(make)
    columns = np.arange(N_COLUMNS)
    expected = here.take(columns)
    # So all tiles are there, on both workers.
    assert np.array_equal(there.take(columns), expected)
    _, (_, first, _) = dask_processes
    first.kill()
    first.wait()
    client = active_client()
    wait_for(lambda: len(client.nthreads()) == 1)
    assert np.array_equal(there.take(columns), expected)


@pytest.mark.slow
@pytest.mark.parametrize("make", [in_memory, in_file])
def test_a_worker_killed_in_the_middle_changes_nothing(
    dask_processes, tmp_path, genotypes, y, in_one_process, make
):
    address, (_, first, _) = dask_processes
    killed = []

    def kill_worker(done, total):
        if not killed:
            os.kill(first.pid, signal.SIGKILL)
            killed.append(done)

    with cluster(address):
        result = run_on(make(genotypes, tmp_path), y, kill_worker, n_jobs=-1)
    assert killed == [255]
    assert content(result) == in_one_process


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_the_verdict_of_what_was_done(
    dask_processes, tmp_path, genotypes, y
):
    address, (scheduler, *_) = dask_processes

    def kill_scheduler(done, total):
        scheduler.kill()
        scheduler.wait()

    with cluster(address):
        result = run_on(in_file(genotypes, tmp_path), y, kill_scheduler, n_jobs=-1)
    assert result.permutation.done == 255
    assert result.unfinished is not None
    assert result.verdict in Verdict


def test_a_cluster_that_is_lost_at_once_ends_in_a_sentence(dask_processes, tmp_path, genotypes, y):
    address, (scheduler, *_) = dask_processes
    with cluster(address):
        there = placed_on_cluster(tiled(in_file(genotypes, tmp_path)), n_jobs=-1)
        scheduler.kill()
        scheduler.wait()
        with pytest.raises(WorkersLostError, match=r"scheduler at .* is gone"):
            there.take(np.arange(N_COLUMNS))
        # The file can still be read here, for what there is to tell.
        assert there.take(np.arange(3)).shape == (N_SAMPLES, 3)


def test_workers_of_another_version_are_refused_before_any_work(
    dask_processes, genotypes, monkeypatch
):
    monkeypatch.setattr("chanceline._parallel.__version__", "0.0.1")
    with (
        cluster(dask_processes[0]),
        pytest.raises(InputError, match=r"runs chanceline .* and this process 0\.0\.1"),
    ):
        placed_on_cluster(tiled(SlicedColumns(genotypes)), n_jobs=-1)


def test_a_worker_without_the_package_is_refused(dask_processes, genotypes, monkeypatch, tmp_path):
    (tmp_path / "only_here.py").write_text("__version__ = '1'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("chanceline._parallel.THIS_PACKAGE", import_module("only_here"))
    with (
        cluster(dask_processes[0]),
        pytest.raises(InputError, match=r"lacks a package .*only_here"),
    ):
        placed_on_cluster(tiled(SlicedColumns(genotypes)))


@pytest.mark.parametrize("make", [in_memory, in_file])
def test_a_table_is_there_when_the_cluster_was_left(dask_processes, tmp_path, genotypes, make):
    """As for the page that is written last."""
    with cluster(dask_processes[0]):
        there = placed_on_cluster(tiled(make(genotypes, tmp_path)))
        first = there.tile(0).values
    second = there.tile(TILE_WIDTH).values
    assert np.array_equal(np.hstack([first, second]), genotypes[:, : 2 * TILE_WIDTH])
    some = there.select(np.array([4, 200])).rows(np.array([7, 1]))
    assert np.array_equal(some[:, :], genotypes[[7, 1]][:, [4, 200]])


def test_one_job_stays_in_this_process(dask_processes, genotypes):
    with cluster(dask_processes[0]):
        table = tiled(SlicedColumns(genotypes))
        assert placed_on_cluster(table, n_jobs=1) is table
    assert _cluster.active_client() is None
