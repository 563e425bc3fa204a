"""Which candidate is taken: losses averaged over deals, sizes weighted, few or many features."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.prediction.candidates import (
    DenseCandidate,
    Family,
    RuleCandidate,
    ScoredCandidates,
)
from chanceline.prediction.choose import Extent, choose_candidates, choose_from
from chanceline.prediction.losses import LossTable, mean_loss_table, paired_difference
from chanceline.prediction.rule import fit_rules
from chanceline.prediction.samples import make_samples

N_SAMPLES = 400


def small(size, penalty=1.0, family=Family.LEAST_ANGLE):
    return RuleCandidate(family, size, penalty)


def dense(size, penalty=1.0):
    return DenseCandidate(Family.DENSE, size, penalty, np.array([0.0, 1.0]))


def table_of(candidates, standard_errors):
    """Losses that lie so many standard errors (of 1/20) above a common level."""
    rng = np.random.default_rng(0)
    rows = []
    for above in standard_errors:
        noise = rng.normal(size=N_SAMPLES)
        noise = (noise - noise.mean()) / noise.std() / np.sqrt(2)
        rows.append(noise + above / np.sqrt(N_SAMPLES))
    return LossTable(candidates, np.array(rows))


def test_differences_are_those_of_pairs():
    losses = np.array([0.1, 0.4, 0.2, 0.5])
    reference = np.array([0.1, 0.2, 0.3, 0.2])
    found = paired_difference(losses, reference)
    assert found.mean == pytest.approx(0.1)
    assert found.standard_error == pytest.approx(np.std([0.0, 0.2, -0.1, 0.3]) / 2)
    assert found.exceeds(0.9 * found.mean / found.standard_error)
    assert not found.exceeds(1.1 * found.mean / found.standard_error)


def test_samples_of_a_unit_count_once():
    """Every sample four times: the standard error is that of the samples, not of the rows."""
    rng = np.random.default_rng(5)
    losses, reference = rng.random((2, 30))
    of_samples = paired_difference(losses, reference)
    unit = np.repeat(np.arange(30), 4)
    of_rows = paired_difference(np.repeat(losses, 4), np.repeat(reference, 4), unit)
    assert of_rows == pytest.approx(of_samples)
    each_its_own = paired_difference(losses, reference, rng.permutation(30))
    assert each_its_own == pytest.approx(of_samples)
    # Ten samples in units of two, four and four, by the formula with a matrix of equal units.
    unit = np.array([3, 3, 0, 0, 0, 0, 7, 7, 7, 7])
    deviations = losses[:10] - reference[:10] - (losses[:10] - reference[:10]).mean()
    is_equal = unit[:, None] == unit
    by_matrix = np.sqrt(deviations @ is_equal @ deviations) / 10
    assert paired_difference(losses[:10], reference[:10], unit).standard_error == pytest.approx(
        by_matrix
    )


def test_rows_of_a_group_do_not_make_a_difference_surer():
    """Four equal rows of each unit: 1.6 standard errors of the rows are 0.8 of the units."""
    candidates = [small(0), small(3)]
    losses = np.repeat(table_of(candidates, [0.8, 0.0]).losses, 4, axis=1)
    unit_of_row = np.repeat(np.arange(N_SAMPLES), 4)
    assert choose_from(LossTable(candidates, losses)).extent is Extent.FEW
    assert choose_from(LossTable(candidates, losses, unit_of_row)).extent is Extent.NONE


def test_losses_are_averaged_over_deals_and_unknown_candidates_left_out():
    positive = np.array([True, False])
    first = ScoredCandidates(
        [small(1), small(2), dense(9)], np.array([[1, 0.5], [0.5, 0.5], [1, 0]])
    )
    links = dense(9)
    links = DenseCandidate(Family.DENSE, 9, 1.0, np.array([2.0, 3.0]))
    second = ScoredCandidates([links, small(1)], np.array([[0, 1], [0.5, 0.5]]))
    table = mean_loss_table([first, second], positive)
    assert [candidate.identity for candidate in table.candidates] == [
        small(1).identity,
        links.identity,
    ]
    assert table.losses.tolist() == [[0.125, 0.25], [0.5, 0.5]]
    assert table.candidates[1].link.tolist() == [1.0, 2.0]


def test_no_feature_is_taken_within_one_standard_error():
    candidates = [small(0), small(3)]
    assert choose_from(table_of(candidates, [0.8, 0.0])).extent is Extent.NONE
    assert choose_from(table_of(candidates, [1.2, 0.0])).extent is Extent.FEW


def test_many_features_are_taken_where_the_typical_small_set_is_clearly_worse():
    candidates = [small(0), small(2), small(4), dense(64)]
    taken = {
        above: choose_from(table_of(candidates, [9.0, above, above, 0.0])).extent
        for above in (-2.0, 0.5, 2.0)
    }
    assert taken == {-2.0: Extent.FEW, 0.5: Extent.FEW, 2.0: Extent.MANY}
    # One size that happens to win does not decide for all.
    lucky = table_of(candidates, [9.0, 3.0, 0.6, 0.0])
    assert choose_from(lucky).extent is Extent.MANY
    # But many are not taken where the small set to take is better.
    stepwise = [small(0), small(2), small(4, family=Family.STEPWISE), dense(64)]
    assert choose_from(table_of(stepwise, [9.0, 3.0, 0.2, 0.0])).extent is Extent.MANY
    assert choose_from(table_of(stepwise, [9.0, 3.0, -0.2, 0.0])).extent is Extent.FEW


def test_of_sizes_that_do_equally_well_the_lower_quartile():
    sizes = [1, 2, 3, 4, 6, 9, 13, 20]
    candidates = [small(0), *map(small, sizes)]
    equal = choose_from(table_of(candidates, [9.0] + [0.0] * 8))
    assert equal.few.n_features == 2
    # Sizes far from the best have no weight, and of one size the best penalty is taken.
    far = choose_from(table_of(candidates, [20.0, 15.0, 15.0, 15.0, 0.0, 0.0, 0.0, 0.0, 15.0]))
    assert far.few.n_features == 4
    one = table_of([small(0), small(3, 0.1), small(3, 1.0)], [9.0, 2.0, 0.0])
    assert choose_from(one).few.penalty == 1.0


def test_a_dense_rule_always_has_all_features():
    candidates = [small(0), small(2), dense(32), dense(32, 9.0), dense(64), dense(99)]
    choice = choose_from(table_of(candidates, [9.0, 4.0, 0.0, 0.2, 4.0, 5.0]))
    assert choice.extent is Extent.MANY
    assert [(rule.n_features, rule.penalty) for rule in choice.many] == [(32, 1), (32, 9), (99, 1)]


def test_nothing_speaks_for_a_feature_where_nothing_can_be_held_out():
    X = np.random.default_rng(0).normal(size=(8, 5))
    samples = make_samples(X, np.arange(8) % 2, groups=np.zeros(8))
    choice = choose_candidates(samples, None, [0])
    assert choice.extent is Extent.NONE
    assert choice.few is None
    assert choice.many == ()


def test_beside_a_rule_on_many_features_there_is_one_on_few():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 200))
    X[:, :60] += 0.5 * y[:, None]
    rules = fit_rules(X, y)
    assert rules.to_use.dense
    assert len(rules.to_use.support) == 200
    assert 0 < len(rules.few.support) <= 30
    assert not rules.few.dense


@pytest.mark.parametrize("n_true", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_size_does_not_depend_on_the_seed(n_true):
    """Within a factor two in at least 8 of 10 seeds; with one deal of the folds it was 1 to 64."""
    rng = np.random.default_rng(n_true)
    X = rng.normal(size=(90, 150))
    score = 2.0 * X[:, :n_true].sum(axis=1)
    y = (rng.random(90) < 1 / (1 + np.exp(-score))).astype(int)
    sizes = np.array([len(fit_rules(X, y, seed=seed).to_use.support) for seed in range(10)])
    median = np.median(sizes)
    assert np.sum((sizes >= median / np.sqrt(2)) & (sizes <= median * np.sqrt(2))) >= 8
    assert median <= 2 * n_true
