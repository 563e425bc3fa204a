"""Rules on many features: least squares with a ridge on the 32, 64, … or all columns that differ
most between the classes.

Columns enter the more, the farther they stand above the best one left out; with a large ridge the
weights are those of shrunken centroids. A score of such a rule says which class, but not how sure:
its probabilities come from a logistic regression on out-of-fold scores (Platt 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from chanceline._arrays import Floats, Ints
from chanceline.prediction.candidates import (
    DenseCandidate,
    Family,
    RuleCandidate,
    ScoredCandidates,
)
from chanceline.prediction.inner_folds import InnerFolds
from chanceline.prediction.ridge_logistic import fit_ridge_logistic, sigmoid
from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import Residualized, scaled_columns

# In units of the mean eigenvalue, from nearly least squares to shrunken centroids.
DENSE_PENALTIES = np.array([0.01, 0.1, 1.0, 1000.0])
# The smallest number of features, beyond what counts as a small set, and how much larger the next
# number is. With a factor 4 errors are the same and a third of the time is saved, but the choice
# between few and many features is less steady.
MIN_DENSE_FEATURES = 32
DENSE_FACTOR = 2
# Rows of the largest system of equations: more would take too long.
MAX_SYSTEM = 600
# Smaller products and spreads are rounding.
NEGLIGIBLE = 1e-9
# The ridge on the weight of a score, which has standard deviation 1.
LINK_PENALTY = 1.0


class DenseDirections(NamedTuple):
    """Weights of a dense rule, not yet turned into probabilities.

    Attributes
    ----------
    support : its columns, the one with the largest product with the target first, (support,)
    weights : of the scaled columns, a row for each of `DENSE_PENALTIES`, (penalties, support)
    """

    support: Ints
    weights: Floats


def score_dense_rules(folds: InnerFolds) -> ScoredCandidates:
    """Dense rules of all sizes and penalties, and their out-of-fold probabilities.

    A rule's link is the logistic regression that turns its scores into probabilities.
    """
    samples = folds.samples
    sizes = dense_sizes(samples.n_features, samples.n_samples)
    scores = out_of_fold_dense_scores(folds, sizes)
    links, probabilities = fit_links(samples, scores)

    # In the order of the rows of scores: all penalties of the first size, then of the next.
    settings = product(sizes, DENSE_PENALTIES.tolist())
    candidates: list[RuleCandidate] = []
    for (size, penalty), link in zip(settings, links, strict=True):
        candidates.append(DenseCandidate(Family.DENSE, size, penalty, link))
    return ScoredCandidates(candidates, probabilities)


def fit_links(samples: Samples, scores: Floats) -> tuple[Floats, Floats]:
    """Turn the scores of every rule into probabilities, by logistic regression (Platt scaling).

    The labels are regressed on the rule's out-of-fold scores, and on the nuisance columns: the
    constant and the terms of covariates.

    Parameters
    ----------
    samples : the labels and nuisance columns
    scores : out-of-fold scores of every rule, (rules, samples)

    Returns
    -------
    links : weights of the nuisance columns and, last, of the score, (rules, nuisance + 1)
    probabilities : probability of the positive class, (rules, samples)
    """
    # Scores are divided by their standard deviation, as the penalty on their weight expects.
    spreads = np.maximum(scores.std(axis=1, keepdims=True), NEGLIGIBLE)  # (rules, 1)
    standardized_scores = scores / spreads

    # One regression for each rule; designs are (rules, samples, nuisance + 1).
    designs = np.stack(
        [np.column_stack([samples.nuisance, rule_scores]) for rule_scores in standardized_scores]
    )
    weights_by_penalty = fit_ridge_logistic(
        designs=designs,
        labels=samples.y,
        sample_weights=np.ones(scores.shape),
        penalties=np.array([LINK_PENALTY]),
        n_unpenalized=samples.n_nuisance,
    )
    weights = weights_by_penalty[:, 0]  # there is one penalty
    nuisance_weights = weights[:, :-1]
    score_weights = np.maximum(weights[:, -1:], 0.0)  # a score that points the wrong way is noise

    # For every rule r the product of its design, samples s by columns c, with its weights.
    standardized_links = np.hstack([nuisance_weights, score_weights])
    probabilities = sigmoid(np.einsum("rc,rsc->rs", standardized_links, designs))
    # The links that are returned take scores as they are.
    links = np.hstack([nuisance_weights, score_weights / spreads])
    return links, probabilities


def dense_sizes(n_features: int, n_samples: int) -> list[int]:
    """32, 64, 128, … and all features, as far as their equations take little time."""
    sizes = []
    size = MIN_DENSE_FEATURES
    while size < n_features:
        sizes.append(size)
        size *= DENSE_FACTOR
    sizes.append(n_features)
    return [size for size in sizes if min(size, n_samples) <= MAX_SYSTEM]


def out_of_fold_dense_scores(folds: InnerFolds, sizes: Sequence[int]) -> Floats:
    """Scores of every sample by dense rules made without it, (sizes × penalties, samples).

    `sizes`, numbers of features, are ascending. The rows are all penalties of the first size, then
    those of the next.
    """
    samples = folds.samples
    scores = np.empty((len(sizes) * len(DENSE_PENALTIES), samples.n_samples))
    for fold in range(folds.n_folds):
        # Rules of all sizes from the fold's training samples.
        directions = dense_directions(folds.residualized[fold], sizes)

        # Each support begins with the smaller ones, so that the columns of the last serve for all.
        held_out = ~folds.training[fold]
        largest_support = directions[-1].support
        columns = scaled_columns(samples.take(held_out), folds.scales[fold], largest_support)
        scores_of_sizes = []
        for direction in directions:
            own_columns = columns[:, : len(direction.support)]
            scores_of_sizes.append(direction.weights @ own_columns.T)  # (penalties, held out)
        scores[:, held_out] = np.vstack(scores_of_sizes)
    return scores


def average_dense_rules(
    candidates: Sequence[DenseCandidate],
    residualized: Residualized,
) -> tuple[Ints, Floats]:
    """The mean of the dense rules of these candidates, each with its link.

    Parameters
    ----------
    candidates : in ascending order of their numbers of features
    residualized : the samples that the rules are made from

    Returns
    -------
    support : columns of the mean rule, (support,)
    weights : weights of the constant, covariates and the scaled columns, (nuisance + support,)
    """
    # Several candidates may have the same size, with different penalties.
    sizes = sorted({candidate.n_features for candidate in candidates})
    directions = dense_directions(residualized, sizes)
    direction_of_size = dict(zip(sizes, directions, strict=True))

    # The weights of the mean rule: nuisance columns, then the columns of the largest support.
    weights = np.zeros(candidates[-1].n_nuisance + sizes[-1])
    for candidate in candidates:
        rule_weights = linked_weights(candidate, direction_of_size[candidate.n_features])
        # Each support begins with the smaller ones, so the weights of a smaller rule come first.
        weights[: len(rule_weights)] += rule_weights / len(candidates)
    return directions[-1].support, weights


def linked_weights(candidate: DenseCandidate, direction: DenseDirections) -> Floats:
    """Weights of the constant, covariates and the scaled columns, (nuisance + support,).

    The link's weight of the score multiplies those of the columns.
    """
    penalty_index = DENSE_PENALTIES.tolist().index(candidate.penalty)
    column_weights = candidate.link[-1] * direction.weights[penalty_index]
    return np.append(candidate.link[:-1], column_weights)


def dense_directions(residualized: Residualized, sizes: Sequence[int]) -> list[DenseDirections]:
    """For every size, ridge regression on so many columns: those most correlated with the target.

    A column c_j, of length 1, has the product p_j = |t·c_j| with the target t. Before the
    regression each column is shrunk, that is multiplied by

        S_j = √(1 − q/p_j),    q the largest product of a column left out,

    so a column counts less, the nearer it is to being left out. (With a large ridge the weights
    become ∝ ±(p_j − q), as in shrunken centroids.) A support begins with the columns of all
    smaller ones.

    Parameters
    ----------
    residualized : columns (samples, features), target (samples,), and the lengths of the scaled
        columns before they were made 1, (features,)
    sizes : numbers of features, ascending
    """
    # All columns, the one with the largest product first.
    columns = residualized.columns
    target = residualized.target.astype(columns.dtype)  # t
    products = np.abs(target @ columns)  # p, (features,)
    best_first = np.argsort(-products, kind="stable")
    # The shrinkage divides by the products: they must be above 0.
    falling_products = np.maximum(products[best_first], NEGLIGIBLE).astype(float)
    columns_best_first = columns[:, best_first[: max(sizes)]]

    directions = []
    for size in sizes:
        support = best_first[:size]
        shrinkage = _shrinkage_of_columns(falling_products, size)  # S, (size,)
        shrunken_columns = columns_best_first[:, :size] * shrinkage.astype(columns.dtype)
        weights_of_shrunken = ridge_weights(shrunken_columns, target)  # (penalties, size)

        # w · (S c) = (w S) · c, and c is a scaled column divided by its length.
        weights_of_unit_length = weights_of_shrunken * shrinkage
        weights = weights_of_unit_length / residualized.lengths[support]
        directions.append(DenseDirections(support, weights))
    return directions


def _shrinkage_of_columns(falling_products: Floats, size: int) -> Floats:
    """S_j = √(1 − q/p_j) of the first `size` columns, (size,), as in `dense_directions`.

    Parameters
    ----------
    falling_products : p of all columns, largest first and above 0, (features,)
    size : how many columns are taken; q is p of the best one left out, 0 if none is.
    """
    best_left_out = 0.0
    if size < len(falling_products):
        best_left_out = float(falling_products[size])
    shrinkage: Floats = np.sqrt(1 - best_left_out / falling_products[:size])
    return shrinkage


def ridge_weights(columns: Floats, target: Floats) -> Floats:
    """Weights of ridge regression, a row for each of `DENSE_PENALTIES`: (penalties, columns).

    (CᵀC + λ)⁻¹ Cᵀt = Cᵀ(CCᵀ + λ)⁻¹ t; of the two matrices the smaller one is used.
    """
    n_samples, n_columns = columns.shape
    if n_columns < n_samples:
        return solve_all_penalties(columns.T @ columns, columns.T @ target)
    solutions = solve_all_penalties(columns @ columns.T, target)
    return solutions.astype(columns.dtype) @ columns


def solve_all_penalties(gram: Floats, right_side: Floats) -> Floats:
    """Solve (G + λ) x = b for every ridge λ: `DENSE_PENALTIES` times the mean eigenvalue of G.

    This is done in double precision, even if G is in single precision.

    Parameters
    ----------
    gram : G, (n, n)
    right_side : b, (n,)

    Returns
    -------
    solutions : x for every λ, (penalties, n)
    """
    n_rows = len(gram)
    mean_eigenvalue = max(float(np.trace(gram)) / n_rows, NEGLIGIBLE)
    diagonal = np.arange(n_rows)
    solutions = np.empty((len(DENSE_PENALTIES), n_rows))
    for row, penalty in enumerate(DENSE_PENALTIES):
        penalized = gram.astype(float)
        penalized[diagonal, diagonal] += penalty * mean_eigenvalue
        # LAPACK's solver for positive definite matrices takes half the time of a general one.
        _factor, solution, _info = dposv(penalized, right_side)
        solutions[row] = solution
    return solutions
