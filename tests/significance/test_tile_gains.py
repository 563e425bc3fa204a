"""What tiles tell of forward paths: means of the largest squares, and states that were lost."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.significance import tile_gains
from chanceline.significance.design import make_design
from chanceline.significance.path import follow_paths
from chanceline.significance.path_gains import columns_in_share
from chanceline.significance.path_steps import SPREAD_SHARES
from chanceline.significance.tile_gains import (
    LARGEST_SQUARE,
    N_BINS,
    SMALLEST_SQUARE,
    KeptStates,
    bins_of_squares,
    end_of_share,
)
from chanceline.significance.tiled_columns import make_tiled_columns

N_SAMPLES, N_COLUMNS, TILE_WIDTH = 60, 500, 64
N_STEPS = 4


@pytest.fixture(scope="module")
def y():
    return np.where(np.arange(N_SAMPLES) % 2 == 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def labellings(y):
    rng = np.random.default_rng(2)
    return np.array([y, *(rng.permutation(y) for _ in range(7))])


@pytest.fixture(scope="module")
def columns(y):
    X = np.random.default_rng(1).normal(size=(N_SAMPLES, N_COLUMNS))
    X[:, 70] = y + 0.1 * X[:, 70]
    X[:, 200:260] = X[:, 200:201]  # many equal squares, over the end of a tile
    table = ColumnTable(SlicedColumns(X), TILE_WIDTH)
    return make_tiled_columns(table, np.arange(N_COLUMNS), make_design(y), True)


def test_means_of_the_largest_squares_are_those_of_sorted_ones(columns, labellings):
    gains = columns.start_gains(labellings, N_STEPS)
    squares = columns.products(labellings) ** 2
    falling = -np.sort(-squares.astype(float), axis=1)
    expected = [
        falling[:, : columns_in_share(share, N_COLUMNS)].mean(axis=1) for share in SPREAD_SHARES
    ]
    np.testing.assert_allclose(gains.mean_squares(), np.column_stack(expected), rtol=1e-12)


def test_bins_rise_with_squares_and_end_at_the_first_and_the_last():
    squares = np.array([0.0, 1e-30, SMALLEST_SQUARE, 1.0, 1.2, 2.0, LARGEST_SQUARE, 1e30])
    bins = bins_of_squares(squares.astype(np.float32))
    assert bins.tolist() == sorted(bins)
    assert bins[[0, 1, 2]].tolist() == [0, 0, 0]
    assert bins[[-2, -1]].tolist() == [N_BINS - 1] * 2
    # Eight bins in a doubling.
    assert bins[5] - bins[3] == 8
    assert bins[4] == bins[3] + 1


@pytest.mark.parametrize(
    ("n_in_share", "lowest_bin", "n_from_lowest_bin"),
    [(1, 3, 1), (2, 3, 2), (3, 1, 1), (7, 1, 5), (8, 0, 1)],
)
def test_a_share_ends_among_the_squares_of_one_bin(n_in_share, lowest_bin, n_from_lowest_bin):
    end = end_of_share(np.array([[4, 5, 0, 2]]), n_in_share)
    assert end.lowest_bin.tolist() == [lowest_bin]
    assert end.n_from_lowest_bin.tolist() == [n_from_lowest_bin]


def same_paths(ours, expected):
    for name in ("losses", "chosen", "spread", "ridge_fits"):
        assert np.array_equal(getattr(ours, name), getattr(expected, name)), name


def test_states_that_were_lost_are_made_again(columns, labellings, monkeypatch):
    expected = follow_paths(columns, labellings, N_STEPS)
    forgotten = []
    keep = KeptStates.keep

    def keep_every_other(self, tile, state):
        if tile.start % (2 * TILE_WIDTH) == 0:
            keep(self, tile, state)
        else:
            forgotten.append(tile.start)

    monkeypatch.setattr(KeptStates, "keep", keep_every_other)
    same_paths(follow_paths(columns, labellings, N_STEPS), expected)
    assert len(forgotten) > N_STEPS


def test_states_are_kept_as_long_as_there_is_room(columns, labellings, monkeypatch):
    expected = follow_paths(columns, labellings, N_STEPS)
    of_one_tile = 2 * len(labellings) * TILE_WIDTH * np.dtype(np.float32).itemsize
    room_for_three = 3.5 * of_one_tile / tile_gains.SHARE_OF_WORKER
    monkeypatch.setattr(tile_gains, "memory_of_this_worker", lambda: room_for_three)
    gains = columns.start_gains(labellings, N_STEPS)
    assert len(gains._kept._state_of_tile) == 3
    same_paths(follow_paths(columns, labellings, N_STEPS), expected)


def test_nothing_is_kept_behind_the_last_step(columns, labellings):
    centred = columns.residuals(labellings)
    gains = columns.start_gains(centred, n_steps=2)
    gains.mean_squares()
    assert len(gains._kept._state_of_tile) == len(columns.table.tile_starts)
    best = gains.best_columns()
    gains.take_out(columns.columns_at(best).T, np.ones((len(labellings), 1)))
    gains.best_columns()
    assert not gains._kept._state_of_tile


def test_another_process_keeps_the_states_of_the_last_paths_alone():
    first = tile_gains._kept_in_this_process("first")
    assert tile_gains._kept_in_this_process("first") is first
    second = tile_gains._kept_in_this_process("second")
    assert second is not first
    assert tile_gains._kept_in_this_process("first") is not first
