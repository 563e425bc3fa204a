"""greedy-BIHT's compiled loop against its plain transcription, on ±1 data: every sum is exact, so weights must agree."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.select.biht import gaussian_start, greedy_biht, greedy_biht_plain


def random_signs(rows, columns, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (rows, columns))


def follow(columns, start, most, kept=0):
    plain, last = greedy_biht_plain(columns, start, kept, max_iterations=most)
    *_, (fast, count, _) = greedy_biht(columns, start, kept, max_iterations=most)
    assert count == last
    np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "patterns", "kept", "most"), [(40, 70, 0, 200), (24, 30, 1, 100), (30, 20, 3, 60)]
)
def test_the_loop_follows_the_plain_version(n, patterns, kept, most):
    for seed in range(3):
        # Every third start is a whole number of steps, so that margins meet zero.
        start = (
            gaussian_start(n, seed)
            if seed
            else np.round(gaussian_start(n, seed) * 8) * 0.002 / patterns
        )
        follow(random_signs(n, patterns, seed), start, most, kept)


def test_a_start_that_is_no_multiple_of_a_half_leaves():
    left = 0
    for seed in range(40):
        columns, start = random_signs(8, 7, seed), 0.01 * gaussian_start(8, seed)
        # The place that is kept holds a whole number, so that margins meet zero once the other has left.
        start[-1] = 3 * 0.002 / 7
        follow(columns, start, most=100, kept=1)
        first, _, _ = next(greedy_biht(columns, start, 1, max_iterations=100))
        left += np.array_equal(2.0 * first, np.round(2.0 * first))
    assert left > 20


def test_a_place_that_ends_at_zero_is_not_fixed():
    seen = 0
    for seed in range(60):
        columns, start = random_signs(8, 8, seed), np.round(gaussian_start(8, seed) * 3) * 0.002 / 8
        sizes = [np.count_nonzero(w) for w, _, _ in greedy_biht(columns, start, max_iterations=50)]
        seen += any(size < count for count, size in enumerate(sizes, start=1))
        follow(columns, start, most=50)
    assert seen > 3
