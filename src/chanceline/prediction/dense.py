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
    """Make dense rules of all sizes with all penalties, and predict the samples held out.

    A dense rule is ridge regression on many features. A rule's *link* is the logistic regression
    that turns its scores into probabilities.
    """
    samples = folds.samples
    sizes = dense_sizes(samples.n_features, samples.n_samples)
    scores = out_of_fold_dense_scores(folds, sizes)  # (sizes × penalties, samples)
    links, probabilities = fit_links_to_probabilities(samples, scores)

    # `product` gives the order of the rows of scores: all penalties of the first size, then of the
    # next.
    sizes_and_penalties = product(sizes, DENSE_PENALTIES.tolist())
    candidates: list[RuleCandidate] = []
    for (size, penalty), link in zip(sizes_and_penalties, links, strict=True):
        candidates.append(DenseCandidate(Family.DENSE, n_features=size, penalty=penalty, link=link))
    return ScoredCandidates(candidates, probabilities)


def fit_links_to_probabilities(samples: Samples, scores: Floats) -> tuple[Floats, Floats]:
    """Fit for every rule the logistic regression that turns its scores into probabilities.

    This is Platt scaling; the fitted regression is called the *link* of the rule. The labels are
    regressed on the rule's out-of-fold scores, and on the nuisance columns: the constant and the
    terms of covariates.

    Parameters
    ----------
    samples : the labels and nuisance columns
    scores : out-of-fold scores of every rule, (rules, samples)

    Returns
    -------
    links : the weights of each regression, (rules, nuisance + 1): those of the nuisance columns
        and, last, the weight of the score as it is in `scores`
    probabilities : probability of the positive class, (rules, samples)
    """
    # Divide scores by their standard deviation, so that the penalty on their weight means the same
    # for all rules. The floor is for a rule whose scores are all equal.
    spreads = np.maximum(scores.std(axis=1, keepdims=True), NEGLIGIBLE)  # (rules, 1)
    standardized_scores = scores / spreads

    # One regression for each rule; its design has the nuisance columns and the rule's scores.
    designs_of_rules = []
    for rule_scores in standardized_scores:
        designs_of_rules.append(np.column_stack([samples.nuisance, rule_scores]))
    designs = np.stack(designs_of_rules)  # (rules, samples, nuisance + 1)
    weights_by_penalty = fit_ridge_logistic(
        designs=designs,
        labels=samples.y,
        sample_weights=np.ones(scores.shape),
        penalties=np.array([LINK_PENALTY]),
        n_unpenalized=samples.n_nuisance,
    )
    weights = weights_by_penalty[:, 0]  # of the only penalty, (rules, nuisance + 1)
    nuisance_weights = weights[:, :-1]
    # The weight of the standardized score. A negative one would say that the rule takes each class
    # for the other, which is noise: it becomes 0.
    weights_of_standardized = np.maximum(weights[:, -1:], 0.0)  # (rules, 1)

    # Probabilities: for every rule r its design (samples s, columns c), times its weights.
    regression_weights = np.hstack([nuisance_weights, weights_of_standardized])
    probabilities = sigmoid(np.einsum("rc,rsc->rs", regression_weights, designs))

    # The links are for scores that are not divided by their standard deviation: their weights are
    # divided by it instead.
    weights_of_scores = weights_of_standardized / spreads
    links = np.hstack([nuisance_weights, weights_of_scores])
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

    The rows are all penalties of the first size, then all penalties of the next, and so on.

    Parameters
    ----------
    folds : the samples, dealt to folds
    sizes : numbers of features of the rules, ascending
    """
    samples = folds.samples
    scores = np.empty((len(sizes) * len(DENSE_PENALTIES), samples.n_samples))
    for fold in range(folds.n_folds):
        # Make rules of all sizes from the fold's training samples.
        rules_of_sizes = dense_directions(folds.residualized[fold], sizes)

        # The support (the columns used) of each size begins with that of the size before. So the
        # columns of the largest support, in this order, hold those of every rule.
        is_held_out = ~folds.training[fold]
        samples_held_out = samples.take(is_held_out)
        largest_support = rules_of_sizes[-1].support
        columns = scaled_columns(samples_held_out, folds.scales[fold], largest_support)
        scores_of_sizes = []
        for rules in rules_of_sizes:
            columns_of_size = columns[:, : len(rules.support)]  # (held out, support)
            scores_of_sizes.append(rules.weights @ columns_of_size.T)  # (penalties, held out)
        scores[:, is_held_out] = np.vstack(scores_of_sizes)
    return scores


def average_dense_rules(
    candidates: Sequence[DenseCandidate],
    residualized: Residualized,
) -> tuple[Ints, Floats]:
    """Make the dense rules of several candidates, and average their weights.

    A rule that lacks a column has weight 0 for it.

    Parameters
    ----------
    candidates : sizes and penalties of the rules, and their links (logistic regressions that turn
        scores into probabilities); in ascending order of their numbers of features
    residualized : the samples that the rules are made from

    Returns
    -------
    support : columns of the mean rule, which are those of the largest one, (support,)
    weights : weights of the constant, covariates and the scaled columns, (nuisance + support,)
    """
    # Ridge regressions of each size with all penalties. Several candidates may have one size, with
    # different penalties.
    sizes = sorted({candidate.n_features for candidate in candidates})
    regressions = dense_directions(residualized, sizes)
    regression_of_size = dict(zip(sizes, regressions, strict=True))

    # The mean rule has the columns of the largest rule. The support of each size begins with that
    # of the size before: the support of a smaller rule is the first part of the largest support.
    largest_support = regressions[-1].support
    n_nuisance = candidates[0].n_nuisance  # the same for all candidates
    mean_weights = np.zeros(n_nuisance + len(largest_support))
    for candidate in candidates:
        # The weights of the nuisance columns, then of the rule's columns. Because of the order of
        # the supports these are the first of `mean_weights`; the rule lacks the others.
        rule_weights = linked_weights(candidate, regression_of_size[candidate.n_features])
        mean_weights[: len(rule_weights)] += rule_weights / len(candidates)
    return largest_support, mean_weights


def linked_weights(candidate: DenseCandidate, direction: DenseDirections) -> Floats:
    """Weights of one dense rule with its link, (nuisance + support,).

    The weights are those of the constant, of covariates and of the scaled columns. The link's last
    entry is the weight of the rule's score: it multiplies the weights of the columns.
    """
    penalty_index = DENSE_PENALTIES.tolist().index(candidate.penalty)
    column_weights = candidate.link[-1] * direction.weights[penalty_index]
    return np.append(candidate.link[:-1], column_weights)


def dense_directions(residualized: Residualized, sizes: Sequence[int]) -> list[DenseDirections]:
    """For every size, ridge regression on so many columns: those most correlated with the target.

    A column c_j, of length 1, has the product p_j = |t·c_j| with the target t. Before the
    regression each column is shrunk, that is multiplied by

        S_j = √(1 − q/p_j),    q the largest product of a column left out,

    so the nearer a column is to being left out, the less it counts. (With a large ridge the weights
    become ∝ ±(p_j − q), as in shrunken centroids.)

    A column occurs in three scalings: ℓ_j c_j, the scaled column (divided by its standard
    deviation, and less what nuisance columns explain), which has the length ℓ_j; c_j, of length 1;
    and S_j c_j, shrunk. The regression is on the shrunk columns. Its weights w_j are converted into
    weights of the scaled columns: w_j · (S_j c_j) = (w_j S_j / ℓ_j) · (ℓ_j c_j).

    Parameters
    ----------
    residualized : the columns c_j, (samples, features), the target t, (samples,), and the lengths
        ℓ_j, (features,)
    sizes : numbers of features, ascending

    Returns
    -------
    directions : for every size the support (the columns used, that with the largest product first)
        and the weights of the scaled columns, (penalties, support); a support begins with that of
        the size before
    """
    # All columns, the one with the largest product first. In a large table columns are in single
    # precision; products with them are too.
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

        # The weights w become w S for the columns of length 1, and w S / ℓ for the scaled columns.
        weights_of_unit_length = weights_of_shrunken * shrinkage
        weights_of_scaled = weights_of_unit_length / residualized.lengths[support]
        directions.append(DenseDirections(support=support, weights=weights_of_scaled))
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

    The equations are solved in double precision, even if G is in single precision.

    Parameters
    ----------
    gram : G, symmetric and positive semidefinite, (n, n)
    right_side : b, (n,)

    Returns
    -------
    solutions : x for every λ, (penalties, n)
    """
    n_rows = len(gram)
    # The floor is for columns that are all zero: λ stays above 0 and the matrix regular.
    mean_eigenvalue = max(float(np.trace(gram)) / n_rows, NEGLIGIBLE)
    diagonal = np.arange(n_rows)
    solutions = np.empty((len(DENSE_PENALTIES), n_rows))
    for row, penalty in enumerate(DENSE_PENALTIES):
        penalized = gram.astype(float)  # a copy, as the next line changes it
        penalized[diagonal, diagonal] += penalty * mean_eigenvalue
        # LAPACK's solver for positive definite matrices takes half the time of a general one. The
        # matrix is positive definite because of λ > 0, so `_info`, which reports that it is not,
        # need not be looked at.
        _factor, solution, _info = dposv(penalized, right_side)
        solutions[row] = solution
    return solutions
