"""How stable a choice of features is: surrogates and other sets against brute force, effects against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from chanceline.prediction.candidates import Family
from chanceline.prediction.stability import selection_stability


@pytest.fixture
def copied():
    """Two features tell the class; column 5 is nearly column 0, the rest is noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 12))
    X[:, 5] = X[:, 0] + 0.05 * rng.normal(size=80)
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=80) > 0, 1, 0)
    return X, y


def errors_by_another_fit(X, y, columns, penalty):
    Z = (X[:, columns] - X[:, columns].mean(axis=0)) / X[:, columns].std(axis=0)
    return int(
        np.sum(
            LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(Z, y).predict(Z) != y
        )
    )


def test_surrogates_and_alternatives_are_those_of_brute_force(copied):
    X, y = copied
    found = selection_stability(X, y, [1, 0], penalty=0.3)
    assert found.errors == errors_by_another_fit(X, y, [0, 1], 0.3)
    sets = set()
    for reading, rest in zip(found.readings, (1, 0), strict=True):
        counts = {j: errors_by_another_fit(X, y, [rest, j], 0.3) for j in range(2, 12)}
        assert set(reading.surrogates) == {
            j for j, count in counts.items() if count <= found.errors + 1
        }
        sets |= {tuple(sorted((rest, j))) for j, count in counts.items() if count <= found.errors}
    assert set(found.alternatives) == sets
    assert found.readings[0].surrogates == (5,)
    assert found.to_dict()["readings"][0]["feature"] == 0


def test_effects_and_shares(copied):
    X, y = copied
    found = selection_stability(X, y, [0, 1, 7])
    one, noise = found.readings[1:]
    assert one.auc == pytest.approx(roc_auc_score(y, X[:, 1]))
    spread = np.sqrt((X[y == 1, 1].var() + X[y == 0, 1].var()) / 2)
    assert one.difference == pytest.approx((X[y == 1, 1].mean() - X[y == 0, 1].mean()) / spread)
    assert one.selected == 1.0
    assert noise.selected < 0.5
    # Of two copies each half takes one, or both.
    assert 0.2 < found.readings[0].selected < 1.0
    # A stepwise rule is chosen again stepwise.
    shares = [
        selection_stability(X, y, [0, 1, 5], family=family).readings[2].selected
        for family in (Family.LEAST_ANGLE, Family.STEPWISE)
    ]
    assert shares == [0.12, 0.26]
    blocks = np.arange(80) % 2
    shifted = selection_stability(X + 10.0 * blocks[:, None], y, [0, 1, 7], blocks=blocks)
    plain = selection_stability(X, y, [0, 1, 7], blocks=blocks)
    assert [reading.surrogates for reading in shifted.readings] == [
        reading.surrogates for reading in plain.readings
    ]
    assert np.allclose(
        [reading.difference for reading in shifted.readings],
        [reading.difference for reading in plain.readings],
    )


def test_where_the_rule_takes_every_column_nothing_stands_in():
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = selection_stability(X, X.sum(axis=1) > 0, [0, 1])
    assert [reading.surrogates for reading in found.readings] == [(), ()]
    assert found.alternatives == ()
