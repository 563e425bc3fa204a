"""The path of several columns of scores: equal to that of labels for two classes, and to brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.outcomes.number import make_number
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.score_paths import follow_score_paths
from chanceline.significance.outcomes.score_shuffles import shuffle_scores
from chanceline.significance.outcomes.several_classes import make_classes
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

LABELS = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)


def table(n_samples: int, n_columns: int, seed: int = 0) -> np.ndarray:
    """Noise with two nearly equal columns, of which the path lists the pair."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_columns))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n_samples)
    return X


@pytest.mark.parametrize("shape", [(40, 60), (200, 20)])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_two_classes_have_the_path_of_their_labels(shape, n_blocks):
    y = np.where(np.arange(shape[0]) < shape[0] // 3, 1.0, -1.0)
    blocks = np.arange(shape[0]) % n_blocks
    design = make_design(y, DeclaredRoles(blocks=blocks))
    columns = make_path_columns(table(*shape), design, intercept=True)
    draws = [design.draw(np.random.default_rng(number)) for number in range(10)]
    labels = np.array([y, *draws])
    of_labels = follow_paths(columns, labels, 6)
    of_scores = follow_score_paths(columns, labels[:, None, :], 6)
    np.testing.assert_array_equal(of_scores.chosen, of_labels.chosen)
    np.testing.assert_array_equal(of_scores.pair, of_labels.pair)
    np.testing.assert_allclose(of_scores.losses, of_labels.losses, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(of_scores.spread, of_labels.spread, rtol=1e-12)
    np.testing.assert_allclose(of_scores.ridge_fits, of_labels.ridge_fits, rtol=1e-12)


@pytest.mark.parametrize(
    "roles",
    [
        DeclaredRoles(),
        DeclaredRoles(blocks=np.arange(60) % 4),
        DeclaredRoles(groups=np.where(LABELS > 0, np.arange(60) // 6, 100 + np.arange(60) // 6)),
    ],
)
def test_two_classes_as_a_number_have_the_pvalue_of_two_classes(roles):
    X = table(60, 30)
    X[:, 4] += 0.5 * LABELS
    design = make_design(LABELS, roles)
    columns = make_path_columns(X, design, intercept=True)
    plan = ShufflePlan(n_shuffles=199, seed=3)
    of_labels, _ = shuffle_paths(columns, design, plan, n_steps=4)
    score_design = make_score_design(make_number(LABELS, "label"), roles)
    of_scores = shuffle_scores(columns, score_design, plan, n_steps=4)
    for expected, found in zip(of_labels.losses, of_scores.losses, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert of_scores.pvalue == of_labels.permutation_reading().pvalue
    np.testing.assert_allclose(
        of_scores.marginal_pvalues(columns, score_design),
        of_labels.marginal_pvalues(columns, LABELS),
    )


def least_squares_loss(X: np.ndarray, scores: np.ndarray, support: tuple[int, ...]) -> float:
    """The share of the scores' squares that least squares on the columns leaves."""
    centred = X[:, support] - X[:, support].mean(axis=0)
    left = scores - centred @ np.linalg.lstsq(centred, scores, rcond=None)[0]
    return float(np.sum(left**2) / np.sum(scores**2))


def test_steps_for_three_classes_are_those_of_plain_least_squares():
    X = np.clip(table(45, 8, seed=4), -2, 2)
    outcome = make_classes(list("abc") * 15, "kind", "abc")
    design = make_score_design(outcome)
    columns = make_path_columns(X, design, intercept=True)
    # The columns as the path sees them, without outliers.
    seen = columns.normalized
    paths = follow_score_paths(columns, design.permuted_scores(0, 0)[None], 3)
    support: tuple[int, ...] = ()
    for step in range(3):
        losses = [least_squares_loss(seen, outcome.scores, (*support, j)) for j in range(8)]
        support = (*support, int(np.argmin(losses)))
        expected = min(losses)
        if step == 1:
            pairs = [
                least_squares_loss(seen, outcome.scores, pair) for pair in combinations(range(8), 2)
            ]
            expected = min(pairs)
        assert paths.losses[0, step] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_array_equal(paths.chosen[0], columns.feature_of_column[list(support)])
