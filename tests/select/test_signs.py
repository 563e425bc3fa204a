"""The parts of greedy-BIHT's loop on ±1 data against plain NumPy, and the whole of it where numbers grow large."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from chanceline.perceptron.vectors import VECTOR
from chanceline.select.methods.biht import gaussian_start, greedy_biht, greedy_biht_plain, threshold
from chanceline.select.rowsums import TILE, combine_rows, in_tiles
from chanceline.select.signs import CLOSED, FAR, add_twice, advance, free_place, note_flips, set_levels, sign_tables


def random_signs(rows, columns, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (rows, columns))


@pytest.mark.parametrize("columns", [1, TILE - 1, TILE, 300])
def test_rows_are_padded_to_whole_tiles(columns):
    matrix = random_signs(7, columns)
    padded = in_tiles(matrix)
    assert padded.shape == (7, -(-columns // TILE) * TILE)
    assert padded.flags.c_contiguous
    assert padded.ctypes.data % VECTOR == 0
    np.testing.assert_array_equal(padded[:, :columns], matrix)
    assert not padded[:, columns:].any()


@njit
def combine(rows, chosen, factors, count, out):
    combine_rows(rows, chosen, factors, count, out)


@pytest.mark.parametrize("columns", [5, TILE, 300])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_combined_rows(columns, count):
    generator = np.random.default_rng(count)
    rows = in_tiles(random_signs(40, columns))
    chosen, factors = generator.integers(0, 40, 9), generator.integers(-3000, 3000, 9).astype(np.int16)
    out = np.full(rows.shape[1], 77, dtype=np.int16)
    combine(rows, chosen, factors, count, out)
    np.testing.assert_array_equal(out, factors[:count].astype(int) @ rows[chosen[:count]].astype(int))


@pytest.mark.parametrize("count", [0, 3, 127, 128, 400])
def test_sums_of_more_rows_than_a_byte_holds(count):
    rows = in_tiles(np.ones((1, 70)))
    pull = np.arange(rows.shape[1], dtype=np.int32)
    add_twice(rows, np.zeros(400, dtype=np.int64), count, np.zeros(rows.shape[1], dtype=np.int8), pull)
    np.testing.assert_array_equal(pull, np.arange(TILE) + 2 * count * (np.arange(TILE) < 70))


def test_flips_are_listed_with_their_direction():
    generator = np.random.default_rng(0)
    patterns, wrong, turned = 150, np.zeros(4, dtype=np.uint64), np.zeros(150, dtype=np.int64)
    before = np.zeros(256, dtype=bool)
    for _ in range(20):
        levels = np.ones(256, dtype=np.int32)
        levels[:patterns] = generator.integers(-2, 3, patterns)
        count = note_flips(levels, wrong, patterns, turned)
        now = levels < 0
        expected = np.concatenate([np.flatnonzero(now & ~before), patterns + np.flatnonzero(before & ~now)])
        np.testing.assert_array_equal(np.sort(turned[:count]), expected)
        np.testing.assert_array_equal(np.unpackbits(wrong.view(np.uint8), bitorder="little"), now)
        before = now


def test_the_free_place_is_that_of_the_threshold():
    generator = np.random.default_rng(1)
    seen = set()
    for _ in range(2000):
        n = int(generator.integers(2, 9))
        fixed = generator.random(n) < 0.3
        if fixed.all():
            continue
        free = int(generator.choice(np.flatnonzero(~fixed))) if generator.random() < 0.8 else -1
        pull = np.zeros(TILE, dtype=np.int32)
        pull[:n] = generator.integers(-3, 4, n)
        weight = 0.5 * generator.integers(-4, 5) + 0.25 * generator.integers(0, 2)
        order = np.full(TILE, CLOSED)
        is_open = ~fixed & (np.arange(n) != free)
        order[:n][is_open] = TILE - np.flatnonzero(is_open)
        values = 0.5 * pull[:n]
        if free >= 0:
            values[free] += weight
        # The order of thresholding, also where the largest value is zero and leaves no trace in the kept ones.
        marks = threshold(np.where(fixed, 0.0, np.abs(values) + 1.0), 1 + int(fixed.sum()), fixed)
        expected = int(np.flatnonzero(marks * ~fixed)[0])
        assert free_place(pull, order, free, weight if free >= 0 else 0.0) == expected
        seen.add((free < 0, expected == free))
    assert len(seen) == 3


def test_levels_have_the_signs_of_the_margins_and_move_with_them():
    columns = random_signs(12, 90)
    signs, _ = sign_tables(columns, 1000)
    support, weights = np.arange(5), np.array([1.5, -3.0, 0.5, 2.0, 1.0])
    for first in (1.5, 1.0, 1.3, -0.7 + 1e-3):
        weights[0] = first
        margins, levels = np.zeros(90), np.ones(TILE, dtype=np.int32)
        set_levels(signs, support, weights, 5, margins, levels)
        np.testing.assert_allclose(margins, weights @ columns[:5], atol=1e-12)
        for step in (-3, 1, 7, 0):
            moved = np.zeros(TILE, dtype=np.int16)
            moved[:90] = step * columns[7]
            zeros = advance(moved, levels)
            margins += 0.5 * moved[:90]
            np.testing.assert_array_equal(np.sign(levels[:90]), np.sign(np.round(margins, 9)))
            assert zeros == np.count_nonzero(np.round(margins, 9) == 0.0)
    assert (levels[90:] == 1).all()


def test_far_levels_are_cut_where_they_can_not_come_back():
    signs, _ = sign_tables(random_signs(1, 8), 1000)
    levels = np.ones(TILE, dtype=np.int32)
    set_levels(signs, np.zeros(1, dtype=np.int64), np.array([1e12]), 1, np.zeros(8), levels)
    np.testing.assert_array_equal(levels[:8], FAR * signs[0, :8])


def test_tables_only_for_signs_and_for_numbers_that_fit():
    columns = random_signs(6, 10)
    signs, both = sign_tables(columns, 1000)
    np.testing.assert_array_equal(signs[:, :10], columns)
    np.testing.assert_array_equal(both[:, :6], np.vstack([columns.T, -columns.T]))
    assert sign_tables(columns, 100_000)[0].size == 0
    columns[2, 3] = 0.0
    assert sign_tables(columns, 1000)[0].size == 0


def follow(columns, start, most, kept=0, ways=(True, False)):
    """The jitted versions have the K and the weights of the plain one."""
    plain, last = greedy_biht_plain(columns, start, kept, most=most)
    for by_signs in ways:
        *_, (fast, count, _) = greedy_biht(columns, start, kept, most=most, by_signs=by_signs)
        assert count == last
        np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "patterns", "kept", "most"), [(40, 70, 0, 200), (24, 30, 1, 100), (140, 300, 0, 20), (30, 20, 3, 60)]
)
def test_the_loop_follows_the_plain_version(n, patterns, kept, most):
    for seed in range(3):
        columns = random_signs(n, patterns, seed)
        # Every third start is a whole number of steps, so that margins meet zero.
        start = gaussian_start(n, seed) if seed else np.round(gaussian_start(n, seed) * 8) * 0.002 / patterns
        follow(columns, start, most, kept)


def test_a_start_that_is_no_multiple_of_a_half_leaves():
    left = 0
    for seed in range(40):
        columns = random_signs(8, 7, seed)
        start = 0.01 * gaussian_start(8, seed)
        # The place that is kept holds a whole number, so that margins meet zero once the other has left.
        start[-1] = 3 * 0.002 / 7
        follow(columns, start, most=100, kept=1)
        first, _, _ = next(greedy_biht(columns, start, 1, most=100))
        left += np.array_equal(2.0 * first, np.round(2.0 * first))
    assert left > 20


def test_steps_too_long_for_sixteen_bits():
    # A column that is wrong for three in ten patterns: 2c = 2·0.3·70 000.
    columns = np.where(np.random.default_rng(3).random((3, 70_000)) < 0.3, 1.0, -1.0)
    assert 2 * np.count_nonzero(columns[0] > 0) > 2**15
    follow(columns, np.full(3, 1e-6), most=12, ways=(True,))
    columns = np.where(np.random.default_rng(3).random((60, 2000)) < 0.4, 1.0, -1.0)
    columns[:20] *= random_signs(20, 2000)
    follow(columns, gaussian_start(60, 3), most=30)


def test_a_place_that_ends_at_zero_is_not_fixed():
    seen = 0
    for seed in range(60):
        columns = random_signs(8, 8, seed)
        start = np.round(gaussian_start(8, seed) * 3) * 0.002 / 8
        sizes = [np.count_nonzero(w) for w, _, _ in greedy_biht(columns, start, most=50)]
        seen += any(size < count for count, size in enumerate(sizes, start=1))
        follow(columns, start, most=50)
    assert seen > 3
