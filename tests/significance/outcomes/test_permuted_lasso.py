"""benchmarks/permuted_lasso.py: its fits and likelihoods against scikit-learn and brute force."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from chanceline.significance.outcomes.number import NumberOutcome

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "permuted_lasso.py"


@pytest.fixture(scope="module")
def permuted_lasso() -> ModuleType:
    spec = importlib.util.spec_from_file_location("permuted_lasso", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["permuted_lasso"] = module
    spec.loader.exec_module(module)
    return module


def test_multinomial_path_reaches_the_minimum_of_scikit_learn(permuted_lasso: ModuleType) -> None:
    rng = np.random.default_rng(1)
    codes = np.arange(40) % 3
    X = rng.normal(size=(40, 60))
    X[np.arange(40), codes] += 1.0
    X -= X.mean(axis=0)
    indicators = np.eye(3)[codes]
    # The second permutation must not disturb the first.
    both = np.stack([indicators, rng.permutation(indicators)], axis=2)
    largest = np.abs(X.T @ (indicators - indicators.mean(axis=0))).max()

    def penalised_loss(weights: np.ndarray, intercepts: np.ndarray, penalty: float) -> float:
        logits = (X @ weights + intercepts)[:, :, None]
        log_probabilities = permuted_lasso.log_softmax(logits)[:, :, 0]
        return float(penalty * np.abs(weights).sum() - np.sum(indicators * log_probabilities))

    path = list(permuted_lasso.multinomial_path(X, both))
    for (weights, intercepts), share in zip(path, permuted_lasso.SHARES, strict=True):
        model = LogisticRegression(
            l1_ratio=1.0, C=1 / (share * largest), solver="saga", max_iter=5000, tol=1e-6
        )
        model.fit(X, codes)
        minimum = penalised_loss(model.coef_.T, model.intercept_, share * largest)
        found = penalised_loss(weights[:, :, 0], intercepts[:, 0], share * largest)
        assert found == pytest.approx(minimum, rel=1e-4)


def test_partial_likelihood_is_the_product_over_events(permuted_lasso: ModuleType) -> None:
    rng = np.random.default_rng(2)
    times = rng.exponential(size=12)
    events = rng.random(12) < 0.6
    risks = rng.normal(size=(12, 1))

    expected = 0.0
    for sample in np.flatnonzero(events):
        at_risk = times >= times[sample]
        expected += risks[sample, 0] - np.log(np.exp(risks[at_risk, 0]).sum())

    found = permuted_lasso.partial_likelihoods(times, events, risks)
    assert found[0] == pytest.approx(expected)


def test_lasso_finds_a_feature_and_nothing_in_noise(permuted_lasso: ModuleType) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 20))
    dose = NumberOutcome(name="dose", numbers=X[:, 0] + 0.5 * rng.normal(size=40))
    noise = NumberOutcome(name="dose", numbers=rng.normal(size=40))

    assert permuted_lasso.lasso_pvalue(X, dose, 19, seed=1) == pytest.approx(1 / 20)
    assert permuted_lasso.lasso_pvalue(X, noise, 19, seed=1) > 1 / 20
