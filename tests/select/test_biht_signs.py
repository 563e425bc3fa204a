"""The parts of greedy-BIHT's loop on ±1 data against plain NumPy, and the whole of it where numbers grow large."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.select.biht import gaussian_start, greedy_biht, greedy_biht_plain, threshold
from chanceline.select.biht_signs import (
    CLOSED,
    FAR,
    add_rows,
    add_signs,
    advance,
    free_place,
    list_flips,
    list_zeros,
    set_levels,
    sign_tables,
)


def random_signs(rows, columns, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (rows, columns))


@pytest.mark.parametrize("narrow", [np.int16, np.int32])
@pytest.mark.parametrize("count", [0, 1, 4, 9])
def test_sums_of_rows(count, narrow):
    generator = np.random.default_rng(count)
    rows, chosen = random_signs(40, 33).astype(narrow), generator.integers(0, 40, 9)
    factors, out = generator.integers(-3000, 3000, 9).astype(narrow), np.full(33, 77, dtype=narrow)
    add_rows(rows, chosen, factors, count, out)
    np.testing.assert_array_equal(out, 77 + factors[:count].astype(int) @ rows[chosen[:count]].astype(int))


@pytest.mark.parametrize("count", [0, 1, 4, 9, 124, 125, 400])
def test_sums_of_signs(count):
    generator = np.random.default_rng(count)
    signed, chosen = random_signs(40, 33).astype(np.int8), generator.integers(0, 40, 400)
    signed[:, 3] = 1  # the largest sums there can be
    out = np.full(33, 77, dtype=np.int16)
    add_signs(signed, chosen, count, 2, np.zeros(33, dtype=np.int8), out)
    np.testing.assert_array_equal(out, 77 + 2 * signed[chosen[:count]].astype(int).sum(axis=0))


def test_flips_are_listed_with_their_direction():
    generator = np.random.default_rng(0)
    patterns, wrong, flips = 150, np.zeros(150, dtype=np.int8), np.zeros(150, dtype=np.int8)
    turned, at_rest = np.zeros(151, dtype=np.int64), np.zeros(150, dtype=np.int16)
    before = np.zeros(patterns, dtype=bool)
    for _ in range(20):
        levels = generator.integers(-2, 3, patterns)
        now = levels < 0
        assert advance(at_rest, levels, wrong, flips) == np.count_nonzero(levels == 0)
        np.testing.assert_array_equal(wrong, now)
        count = list_flips(wrong, flips, turned)
        np.testing.assert_array_equal(turned[:count], (2 * np.arange(patterns) + now)[now != before])
        before = now
        count = list_zeros(levels, turned)
        np.testing.assert_array_equal(turned[:count], 2 * np.flatnonzero(levels == 0) + 1)


def test_the_free_place_is_that_of_the_threshold():
    generator = np.random.default_rng(1)
    seen = set()
    for _ in range(2000):
        n = int(generator.integers(2, 9))
        fixed = generator.random(n) < 0.3
        if fixed.all():
            continue
        free = int(generator.choice(np.flatnonzero(~fixed))) if generator.random() < 0.8 else -1
        pull = generator.integers(-3, 4, n).astype(np.int16)
        weight = 0.5 * generator.integers(-4, 5) + 0.25 * generator.integers(0, 2)
        order = np.full(n, CLOSED)
        is_open = ~fixed & (np.arange(n) != free)
        order[is_open] = n - np.flatnonzero(is_open)
        values = 0.5 * pull
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
    signs, _ = sign_tables(columns)
    support, weights = np.arange(5), np.array([1.5, -3.0, 0.5, 2.0, 1.0])
    for first in (1.5, 1.0, 1.3, -0.7 + 1e-3):
        weights[0] = first
        margins, levels = weights @ columns[:5], np.zeros(90, dtype=np.int64)
        set_levels(signs, support, weights, 5, levels)
        for step in (-3, 1, 7, 0):
            moved = (step * columns[7]).astype(np.int16)
            zeros = advance(moved, levels, np.zeros(90, dtype=np.int8), np.zeros(90, dtype=np.int8))
            margins += 0.5 * moved
            np.testing.assert_array_equal(np.sign(levels), np.sign(np.round(margins, 9)))
            assert zeros == np.count_nonzero(np.round(margins, 9) == 0.0)


def test_far_levels_are_cut_where_they_can_not_come_back():
    signs, _ = sign_tables(random_signs(1, 8))
    levels = np.ones(8, dtype=np.int64)
    set_levels(signs, np.zeros(1, dtype=np.int64), np.array([1e19]), 1, levels)
    np.testing.assert_array_equal(levels, FAR * signs[0])


def test_tables_only_for_signs_and_as_narrow_as_fits():
    columns = random_signs(6, 10)
    signs, signed = sign_tables(columns)
    np.testing.assert_array_equal(signs, columns)
    np.testing.assert_array_equal(signed[0::2], -columns.T)
    np.testing.assert_array_equal(signed[1::2], columns.T)
    assert signs.dtype == np.int16
    assert sign_tables(np.ones((1, 20_000)))[0].dtype == np.int32
    columns[2, 3] = 0.0
    assert sign_tables(columns)[0].size == 0


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
