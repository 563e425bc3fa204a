"""The choice between no feature, few and all where rows belong together."""

from __future__ import annotations

import numpy as np
import pytest

from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.score_rule import errors_of_units, train_score_rule

N_FEATURES = 60
N_GROUPS = 30
N_SETS = 200


def noise_in_groups(rng: np.random.Generator, rows_of_group: int) -> RuleSamples:
    """Groups with a number each, and with features that have nothing to do with it."""
    group = np.repeat(np.arange(N_GROUPS), rows_of_group)
    n_rows = len(group)
    level = rng.normal(size=(N_GROUPS, N_FEATURES))
    return RuleSamples(
        X=level[group] + 0.3 * rng.normal(size=(n_rows, N_FEATURES)),
        outcome=NumberOutcome(name="dose", numbers=rng.normal(size=N_GROUPS)[group]),
        terms=np.zeros((n_rows, 0)),
        unit_of_sample=group,
        block_of_sample=np.zeros(n_rows, dtype=np.int64),
    )


def share_with_features(rows_of_group: int) -> float:
    """How often a rule on noise has features."""
    rng = np.random.default_rng(3)
    n_with_features = 0
    for number in range(N_SETS):
        samples = noise_in_groups(rng, rows_of_group)
        every_row = np.ones(len(samples.X), dtype=bool)
        rule = train_score_rule(samples, every_row, [number])
        n_with_features += len(rule.support) > 0
    return n_with_features / N_SETS


def test_rows_of_a_group_do_not_make_features_of_noise():
    alone = share_with_features(rows_of_group=1)
    in_groups = share_with_features(rows_of_group=8)
    # Two shares of so many sets, three standard errors of their difference.
    slack = 3 * np.sqrt(2 * alone * (1 - alone) / N_SETS)
    assert in_groups <= alone + slack


def test_errors_of_units_keep_the_mean():
    rng = np.random.default_rng(4)
    unit = np.array([7, 2, 2, 9, 7, 7])
    errors = rng.random((3, 6))
    by_hand = np.column_stack(
        [errors[:, [1, 2]].sum(axis=1), errors[:, [0, 4, 5]].sum(axis=1), errors[:, 3]]
    )
    # Three units of six samples: the mean size is two.
    found = errors_of_units(errors, unit)
    assert found == pytest.approx(by_hand / 2)
    assert found.mean(axis=1) == pytest.approx(errors.mean(axis=1))
    assert np.array_equal(errors_of_units(errors, np.arange(6)), errors)
