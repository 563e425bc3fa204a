"""The front's path, pairs, errors and p-values, each against a plain computation of the same thing."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from chanceline._cluster import WorkersLostError
from chanceline.significance.column_pairs import correlated_pairs
from chanceline.significance.combination import rank_losses
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import NullDesign, make_design
from chanceline.significance.least_squares import fewest_threshold_errors
from chanceline.significance.members import MemberArrays
from chanceline.significance.outliers import CLIP_DEVIATIONS, clip_outliers
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.plan import shuffles_by_size
from chanceline.significance.readings import SpreadMeasure
from chanceline.significance.ridges import make_ridge_regressions
from chanceline.significance.shuffled_paths import ShuffledLosses
from chanceline.significance.shuffles import (
    BATCH_SIZE,
    ShufflePlan,
    ShuffleRunner,
    follow_batch,
    shuffle_paths,
)


def random_labels(rng, draws, n_samples):
    half = np.repeat([1.0, -1.0], [n_samples // 2, n_samples - n_samples // 2])
    return np.array([rng.permutation(half) for _ in range(draws)])


def residual_share(matrix, y):
    """Share of y's squares that least squares on the columns of `matrix` leaves, by the normal route."""
    fit = matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0]
    return float(
        np.sum((y - fit) ** 2)
        / np.sum((y - matrix[:, :1] @ np.linalg.lstsq(matrix[:, :1], y, rcond=None)[0]) ** 2)
    )


def plain_path(X, y, steps):
    """Forward stepwise least squares with a refit of everything for every candidate."""
    constant = np.ones((len(y), 1))
    chosen, losses = [], []
    for _ in range(steps):
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        values = [residual_share(np.column_stack([constant, X[:, [*chosen, j]]]), y) for j in rest]
        best = int(np.argmin(values))
        chosen.append(rest[best])
        losses.append(values[best])
    return chosen, losses


def test_the_path_is_forward_stepwise_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12)) * rng.uniform(0.1, 100, size=12) + rng.normal(size=12) * 50
    X[:, 3] = X[:, 2] * 2 + 0.05 * X[:, 2].std() * rng.normal(size=30)
    labels = random_labels(rng, 20, 30)
    columns = make_path_columns(X, make_design(labels[0]), True)
    paths = follow_paths(columns, labels, 5)
    for row, y in enumerate(labels):
        chosen, losses = plain_path(clip_outliers(X), y, 5)
        assert paths.chosen[row].tolist() == chosen
        np.testing.assert_allclose(
            paths.losses[row, [0, 2, 3, 4]], np.array(losses)[[0, 2, 3, 4]], rtol=1e-9
        )
        assert paths.losses[row, 1] <= losses[1] * (1 + 1e-9)


def test_the_best_pair_of_a_small_table_is_the_best_of_all():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(24, 10))
    X[:, 5] = X[:, 4] + 0.05 * rng.normal(size=24)
    labels = random_labels(rng, 15, 24)
    labels[0] = np.where(X[:, 4] > X[:, 5], 1.0, -1.0)
    paths = follow_paths(make_path_columns(X, make_design(labels[1]), True), labels, 3)
    constant = np.ones((24, 1))
    for row, y in enumerate(labels):
        every = {
            pair: residual_share(np.column_stack([constant, clip_outliers(X)[:, list(pair)]]), y)
            for pair in combinations(range(10), 2)
        }
        best = min(every, key=every.get)
        assert paths.losses[row, 1] == pytest.approx(every[best], rel=1e-9)
        assert paths.support(row, 2).tolist() == list(best)
    assert paths.support(0, 2).tolist() == [4, 5]
    assert paths.errors[0, 1] <= 2


def test_the_list_of_pairs_is_that_of_largest_overlap():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 50)) + 0.8 * np.repeat(rng.normal(size=(20, 10)), 5, axis=1)
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    pairs = correlated_pairs(Z, min_pairs=100, chunk_size=16)
    gram = Z.T @ Z
    i, j = np.triu_indices(50, 1)
    order = np.argsort(-np.abs(gram[i, j]))[:100]
    listed = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert listed == set(zip(i[order].tolist(), j[order].tolist(), strict=True))
    np.testing.assert_allclose(pairs.overlap, gram[pairs.first, pairs.second], rtol=1e-12)


@pytest.mark.parametrize("kind", ["genotypes", "near copies"])
def test_pairs_screened_in_single_precision_are_those_of_double_precision(kind):
    """Many overlaps tie, or differ by less than single precision can tell; copies are no pairs."""
    rng = np.random.default_rng(4)
    X = rng.binomial(2, 0.3, size=(40, 120)).astype(float)
    if kind == "near copies":
        X = rng.normal(size=(40, 120))
        X[:, 60:] = X[:, :60] + rng.choice([1e-9, 1e-3, 3e-3], 60) * rng.normal(size=(40, 60))
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    pairs = correlated_pairs(Z, min_pairs=150, chunk_size=32)
    i, j = np.triu_indices(120, 1)
    overlaps = np.abs((Z.T @ Z)[i, j])
    candidates = np.flatnonzero(overlaps < 1 - 5e-7)
    # Of equal overlaps the pair of the smaller columns comes first.
    largest = candidates[np.argsort(-np.round(overlaps[candidates], 9), kind="stable")[:150]]
    expected = sorted(zip(i[largest].tolist(), j[largest].tolist(), strict=True))
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == expected


def test_copies_of_a_column_make_no_pair():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 3))
    Z = np.column_stack([X, -2 * X[:, 0] + 1])
    pairs = make_path_columns(Z, make_design(np.repeat([1.0, -1.0], [7, 8])), True).pairs
    assert set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == {
        (0, 1),
        (0, 2),
        (1, 2),
        (1, 3),
        (2, 3),
    }


def test_clipping_pulls_in_what_is_far_and_leaves_the_rest():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=200), np.repeat([0.0, 1.0], [190, 10])])
    X[0, 0] = 1e6
    pulled = clip_outliers(X)
    deviation = np.median(np.abs(X[:, 0] - np.median(X[:, 0]))) / 0.6744897501960817
    assert pulled[0, 0] == pytest.approx(np.median(X[:, 0]) + CLIP_DEVIATIONS * deviation)
    assert np.array_equal(pulled[:, 1], X[:, 1])
    inside = np.abs(X[:, 0] - np.median(X[:, 0])) < CLIP_DEVIATIONS * deviation
    assert np.array_equal(pulled[inside, 0], X[inside, 0])
    assert spearmanr(pulled[:, 0], X[:, 0]).statistic > 0.999


def test_errors_by_threshold_are_the_fewest_of_all_thresholds():
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(size=(40, 12)), 1)
    labels = rng.choice([-1.0, 1.0], size=(40, 12))
    counted = fewest_threshold_errors(scores, labels, True)
    for row in range(40):
        cuts = [-np.inf, *np.unique(scores[row])]
        errors = [np.sum(np.where(scores[row] > cut, 1, -1) != labels[row]) for cut in cuts]
        assert counted[row] == min(errors)
    without = fewest_threshold_errors(scores, labels, False)
    assert without.tolist() == np.sum(labels * scores <= 0, axis=1).tolist()


@pytest.mark.parametrize("blocks", [None, np.repeat([0, 1, 2], [10, 8, 12])])
def test_errors_are_those_of_the_fit_whose_loss_is_compared(blocks):
    """Least squares on the features (and indicators of the blocks) by the normal route, and the best threshold of its fit."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 9))
    labels = np.array([rng.permutation(np.repeat([1.0, -1.0], [13, 17])) for _ in range(12)])
    levels = (
        np.ones((30, 1))
        if blocks is None
        else np.equal.outer(blocks, np.unique(blocks)).astype(float)
    )
    paths = follow_paths(
        make_path_columns(X, make_design(labels[0], DeclaredRoles(blocks=blocks)), True), labels, 4
    )
    for row, y in enumerate(labels):
        for k in range(1, 5):
            support = paths.support(row, k)
            assert len(support) == k
            matrix = np.column_stack([levels, clip_outliers(X)[:, support]])
            fit = np.round(matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0], 9)
            cuts = [-np.inf, *np.unique(fit)]
            assert paths.errors[row, k - 1] == min(
                np.sum(np.where(fit > cut, 1, -1) != y) for cut in cuts
            )


def test_within_blocks_only_differences_within_blocks_count():
    """Adding anything constant within blocks to a column changes no loss; the labels' block means are explained for free."""
    rng = np.random.default_rng(6)
    block = np.repeat([0, 1, 2], 8)
    y = np.concatenate([rng.permutation(np.repeat([1.0, -1.0], [k, 8 - k])) for k in (2, 4, 6)])
    design = make_design(y, DeclaredRoles(blocks=block))
    X = rng.uniform(size=(24, 5))
    moved = X + 1e-3 * rng.normal(size=(3, 5))[block]
    labels = np.array([design.draw(np.random.default_rng(s)) for s in range(5)])
    plain = follow_paths(make_path_columns(X, design, True), labels, 3)
    shifted = follow_paths(make_path_columns(moved, design, True), labels, 3)
    np.testing.assert_allclose(plain.losses, shifted.losses, rtol=1e-9)
    dummies = np.eye(3)[block]
    for row, labelling in enumerate(labels):
        left = labelling - dummies @ np.linalg.lstsq(dummies, labelling, rcond=None)[0]
        matrix = np.column_stack([dummies, X[:, plain.chosen[row, :3]]])
        rest = labelling - matrix @ np.linalg.lstsq(matrix, labelling, rcond=None)[0]
        assert plain.losses[row, 2] == pytest.approx(np.sum(rest**2) / np.sum(left**2), rel=1e-9)


def test_p_values_by_the_definition():
    """Of four numbers of features, three measures of all and two shares the best counts; with fractions, so that nothing is
    rounded."""
    rng = np.random.default_rng(7)
    losses = np.round(rng.uniform(size=(30, 9)), 1)
    members = [range(4), range(4, 7), range(7, 9)]
    by_member = MemberArrays(*(losses[:, columns] for columns in members))
    draws = ShuffledLosses(by_member, np.ones((30, 4), dtype=np.int64), 29, None)
    ranks = np.array([[np.sum(losses[:, k] <= losses[b, k]) for k in range(9)] for b in range(30)])
    assert np.array_equal(np.rint(rank_losses(losses)), ranks)
    far = (losses.mean(axis=0) - losses) / losses.std(axis=0)
    # Lexicographic: the rank, then how far below the mean.
    keys = [[(int(ranks[b, k]), -round(far[b, k], 9)) for k in range(9)] for b in range(30)]
    smallest = [[min(row[k] for k in columns) for columns in members] for row in keys]

    def term(own, member):
        """One over the number of labellings whose smallest key in the member is no larger."""
        return Fraction(1, sum(row[member] <= own for row in smallest))

    terms = [
        [term(row[k], member) for member, columns in enumerate(members) for k in columns]
        for row in keys
    ]
    total = [sum(max(row[k] for k in columns) for columns in members) for row in terms]
    assert draws.permutation_reading().pvalue == sum(value >= total[0] for value in total) / 30
    reached = [sum(max(row) >= own for row in terms) / 30 for own in terms[0]]
    assert np.concatenate(draws.adjusted_pvalues()).tolist() == [
        max(value, draws.permutation_reading().pvalue) for value in reached
    ]


def test_rounding_makes_no_difference_between_equal_losses():
    losses = np.array([[0.3], [0.3 * (1 + 1e-13)], [0.3 * (1 - 1e-13)], [0.4]])
    assert np.rint(rank_losses(losses)).ravel().tolist() == [3, 3, 3, 4]


def all_losses(draws):
    """Those of all members side by side."""
    return np.hstack(draws.losses)


def test_draws_depend_on_seed_and_number_alone():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(20, 15)), np.repeat([1.0, -1.0], 10)
    design = make_design(y)
    columns = make_path_columns(X, design, True)
    two_batches = ShufflePlan(2 * BATCH_SIZE - 1, seed=3)
    three_batches = ShufflePlan(3 * BATCH_SIZE - 1, seed=3)
    short, _ = shuffle_paths(columns, design, two_batches, 4)
    longer, _ = shuffle_paths(columns, design, three_batches, 4)
    assert np.array_equal(all_losses(short), all_losses(longer)[: 2 * BATCH_SIZE])
    by_two_jobs, _ = shuffle_paths(
        columns, design, replace(three_batches, runner=ShuffleRunner(n_jobs=2)), 4
    )
    assert np.array_equal(all_losses(by_two_jobs), all_losses(longer))
    assert np.array_equal(by_two_jobs.first_batch_errors, longer.first_batch_errors)
    other_seed, _ = shuffle_paths(columns, design, ShufflePlan(BATCH_SIZE - 1, seed=4), 4)
    assert np.array_equal(all_losses(other_seed)[0], all_losses(longer)[0])
    assert not np.array_equal(all_losses(other_seed)[1:], all_losses(longer)[1:BATCH_SIZE])


class InterruptedDesign(NullDesign):
    """Ctrl-C comes when the first labelling is drawn."""

    def draw(self, rng):
        raise KeyboardInterrupt


def test_an_interrupt_keeps_whole_batches():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(20, 6)), np.repeat([1.0, -1.0], 10)
    design = make_design(y)
    columns = make_path_columns(X, design, True)

    def stop(done, total):
        if done > BATCH_SIZE:
            raise KeyboardInterrupt

    draws, first_batch = shuffle_paths(
        columns, design, ShufflePlan(999, seed=0, runner=ShuffleRunner(progress=stop)), 3
    )
    assert draws.stopped_by == "interrupt"
    assert draws.done == 2 * BATCH_SIZE - 1
    second_batch = follow_batch(range(BATCH_SIZE, 2 * BATCH_SIZE), columns, design, 3, 0)
    assert np.array_equal(draws.losses.path[BATCH_SIZE:], second_batch.losses)

    interrupted = InterruptedDesign(
        y, design.unit_of_sample, design.unit_labels, design.block_of_unit, "fixed"
    )
    draws, paths = shuffle_paths(columns, interrupted, ShufflePlan(999, seed=0), 3)
    assert draws.stopped_by == "interrupt"
    assert draws.done == 0
    assert len(paths.losses) == 1
    draws, _ = shuffle_paths(columns, interrupted, ShufflePlan(999, seed=0), 3, first_batch)
    assert draws.stopped_by == "interrupt"
    assert draws.done == BATCH_SIZE - 1


def test_lost_workers_leave_the_batches_done():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(20, 6)), np.repeat([1.0, -1.0], 10)
    design = make_design(y)
    columns = make_path_columns(X, design, True)

    def lose_workers(done, total):
        if done > BATCH_SIZE:
            raise WorkersLostError("the scheduler is gone")

    runner = ShuffleRunner(progress=lose_workers)
    draws, _ = shuffle_paths(columns, design, ShufflePlan(999, seed=0, runner=runner), 3)
    assert draws.stopped_by == "lost workers"
    assert draws.done == 2 * BATCH_SIZE - 1
    reading = draws.permutation_reading()
    assert reading.pvalue == (1 + reading.exceedances) / (1 + draws.done)


def test_nothing_left_to_choose_ends_the_path():
    X = np.column_stack([np.arange(8.0), np.arange(8.0) ** 2])
    y = np.array([1.0, 1, -1, 1, -1, -1, -1, 1])
    paths = follow_paths(make_path_columns(X, make_design(y), True), y[None], 4)
    assert sorted(paths.chosen[0].tolist()) == [-1, -1, 0, 1]
    assert paths.losses[0, 3] == pytest.approx(paths.losses[0, 1], rel=1e-12)
    assert paths.support(0, 4).tolist() == [0, 1]


def test_the_spread_is_the_mean_squared_correlation_of_the_columns_that_fit_best():
    """Against corrcoef; over all labellings of a small table the mean for all columns is 1 exactly."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(8, 25)) ** 2
    y = np.repeat([1.0, -1.0], [3, 5])
    labels = np.array(
        [
            np.where(np.isin(np.arange(8), positives), 1.0, -1.0)
            for positives in combinations(range(8), 3)
        ]
    )
    spread = follow_paths(make_path_columns(X, make_design(y), True), labels, 2).spread
    squares = np.sort(np.corrcoef(clip_outliers(X).T, labels)[:25, 25:] ** 2, axis=0)[::-1]
    expected = [7 * squares[:count].mean(axis=0) for count in (25, 2, 1)]
    np.testing.assert_allclose(spread.T, expected, rtol=1e-9)
    assert spread[:, 0].mean() == pytest.approx(1, rel=1e-12)


def test_signal_in_every_feature_is_seen_by_the_spread_alone():
    rng = np.random.default_rng(11)
    y = np.repeat([1.0, -1.0], 30)
    X = rng.normal(size=(60, 400)) + 0.08 * y[:, None]
    design = make_design(y)
    draws, paths = shuffle_paths(
        make_path_columns(X, design, True), design, ShufflePlan(199, seed=0), 6
    )
    spread = draws.spread()
    assert spread.value == paths.spread[0, 0]
    assert spread.value > 1.2 > spread.shuffled[2]
    assert spread.shuffled[1] == pytest.approx(1, abs=0.05)
    # Alone it is the first of 200; that labellings may come first in any of three members costs it a factor.
    assert draws.permutation_reading().pvalue == 1 / 200
    assert spread.pvalue <= 3 / 200 < draws.adjusted_pvalues().path.min() / 2
    assert spread.measure is SpreadMeasure.CORRELATIONS


def test_adjusted_p_values_of_single_columns_count_labellings_whose_best_column_is_as_good():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(20, 6)), np.repeat([1.0, -1.0], 10)
    X[:, 2] += 0.6 * y
    design = make_design(y)
    columns = make_path_columns(X, design, True)
    draws, _ = shuffle_paths(columns, design, ShufflePlan(199, seed=0), 3)
    labellings = np.array([y, *(design.draw(np.random.default_rng([0, b])) for b in range(1, 200))])
    squares = np.corrcoef(clip_outliers(X).T, labellings)[:6, 6:] ** 2
    expected = [np.mean(squares.max(axis=0) >= squares[j, 0] - 1e-12) for j in range(6)]
    np.testing.assert_allclose(draws.marginal_pvalues(columns, y), expected)


def test_wide_tables_are_ranked_in_single_precision():
    rng = np.random.default_rng(12)
    X, labels = rng.normal(size=(30, 60)), random_labels(rng, 20, 30)
    X[:, 59] = X[:, 0] * (1 + 1e-7) + 1e-8 * X[:, 1]
    design = make_design(labels[0])
    double = follow_paths(make_path_columns(X, design, True), labels, 5)
    columns = make_path_columns(X, design, True, max_columns_for_pairs=50)
    single = follow_paths(columns, labels, 5, with_errors=False)
    assert columns.normalized.dtype == np.float32
    assert len(columns.pairs) == 0
    assert single.errors.shape == (0, 5)
    assert np.array_equal(single.chosen, double.chosen)
    np.testing.assert_allclose(
        single.losses[:, [0, 2, 3, 4]], double.losses[:, [0, 2, 3, 4]], rtol=1e-5
    )
    np.testing.assert_allclose(single.spread, double.spread, rtol=1e-5)
    np.testing.assert_allclose(single.ridge_fits, double.ridge_fits, rtol=1e-5)


@pytest.mark.parametrize("kind", ["normal", "genotypes"])
def test_columns_compared_in_single_precision_give_the_losses_of_double_precision(kind):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(90, 2800))
    if kind == "genotypes":
        X = rng.binomial(2, rng.uniform(0.1, 0.5, 2800), size=(90, 2800)).astype(float)
    labels = random_labels(rng, 30, 90)
    columns = make_path_columns(X, make_design(labels[0]), True)
    assert columns.ranking.dtype == np.float32
    assert columns.coordinates.dtype == np.float64
    in_single = follow_paths(columns, labels, 5)
    in_double = follow_paths(replace(columns, single=None), labels, 5)
    for field in fields(in_single):
        assert np.array_equal(getattr(in_single, field.name), getattr(in_double, field.name))


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_genotypes_in_single_precision_have_no_dead_steps(seed):
    """Long sums round away what is left of a column that was taken; it must not be taken again."""
    rng = np.random.default_rng([seed, 2000])
    X = rng.binomial(2, rng.uniform(0.05, 0.5, 600), size=(2000, 600)).astype(float)
    y = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)
    columns = make_path_columns(X, make_design(y), True, max_columns_for_pairs=0)
    labels = np.array([rng.permutation(y) for _ in range(128)])
    paths = follow_paths(columns, labels, 8, with_errors=False)
    assert columns.normalized.dtype == np.float32
    assert (paths.chosen >= 0).all()
    assert [len(set(chosen)) for chosen in paths.chosen.tolist()] == [8] * 128


@pytest.mark.parametrize("intercept", [True, False])
def test_a_long_table_is_followed_within_its_columns_span(intercept):
    """The same choices, losses and errors as in all samples; a column that is the sum of two others does no harm."""
    rng = np.random.default_rng(13)
    X, labels = rng.normal(size=(90, 12)), random_labels(rng, 30, 90)
    X[:, 11] = X[:, 0] + X[:, 1]
    columns = make_path_columns(X, make_design(labels[0]), intercept)
    assert columns.frame.coordinates.shape == (12, 12)
    in_frame = follow_paths(columns, labels, 5)
    without_frame = replace(columns, frame=None, ridges=make_ridge_regressions(columns.normalized))
    in_samples = follow_paths(without_frame, labels, 5)
    np.testing.assert_allclose(in_frame.losses, in_samples.losses, rtol=1e-10)
    np.testing.assert_allclose(in_frame.spread, in_samples.spread, rtol=1e-10)
    np.testing.assert_allclose(in_frame.ridge_fits, in_samples.ridge_fits, rtol=1e-10)
    for name in ("chosen", "errors", "pair"):
        assert np.array_equal(getattr(in_frame, name), getattr(in_samples, name))


def test_shuffles_follow_the_size_of_the_table():
    shapes = (40, 500), (168, 2905), (100, 5000), (2000, 2000), (500, 20_000), (500, 400_000)
    assert [shuffles_by_size(*shape, 6) for shape in shapes] == [9999, 9999, 9999, 1999, 999, 999]
