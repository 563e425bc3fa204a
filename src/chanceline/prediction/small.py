"""Rules on few features: the sets that a path goes through, with weights from logistic regression.

The candidates are no feature at all; sets of up to 30 features from least angle regression (the
lasso's path); and of 2 to 9 features from forward stepwise regression, which is better where labels
are nearly free of noise. Each has several penalties on the weights.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Ints
from chanceline.prediction.candidates import PATHS, Family, RuleCandidate, ScoredCandidates
from chanceline.prediction.inner_folds import InnerFolds

# Numbers of features that are compared, besides the largest one allowed. Sets of nearly the same
# size do equally well.
SMALL_SIZES = (0, 1, 2, 3, 4, 6, 9, 13, 20)
# From nearly none, for labels almost free of noise, to weights near those of class means.
SMALL_PENALTIES = np.array([0.001, 0.3, 3.0, 30.0])


def score_small_sets(folds: InnerFolds, max_features: int) -> ScoredCandidates:
    """Small sets of all sizes from both paths with all penalties, and their predictions.

    The predictions are out-of-fold: of samples that the rule was not fitted to.
    """
    candidates = []
    probabilities = []
    for family in PATHS:
        for supports in supports_by_size(folds, family, max_features):
            n_features = len(supports[0])
            candidates += candidates_of_all_penalties(family, n_features)
            probabilities.append(folds.out_of_fold_probabilities(supports, SMALL_PENALTIES))
    return ScoredCandidates(candidates, np.vstack(probabilities))


def score_named_set(folds: InnerFolds, support: Ints) -> ScoredCandidates:
    """The given features with all penalties, and their out-of-fold probabilities."""
    supports = [support] * folds.n_folds
    return ScoredCandidates(
        candidates=candidates_of_all_penalties(Family.NAMED, n_features=0),
        probabilities=folds.out_of_fold_probabilities(supports, SMALL_PENALTIES),
    )


def candidates_of_all_penalties(family: Family, n_features: int) -> list[RuleCandidate]:
    return [RuleCandidate(family, n_features, float(penalty)) for penalty in SMALL_PENALTIES]


def supports_by_size(folds: InnerFolds, family: Family, max_features: int) -> list[list[Ints]]:
    """For every size to be compared the supports of that size, one for each fold.

    A path gives a support (a set of columns) of each size 0, 1, 2, … Sizes that the path of some
    fold does not reach are left out.

    Parameters
    ----------
    folds : the samples, dealt to folds
    family : which path to follow
    max_features : the largest size
    """
    follow_path = PATHS[family]
    paths = [follow_path(fold.columns, fold.target, max_features) for fold in folds.residualized]
    largest_common = min(len(path) for path in paths) - 1  # a path begins with the empty support
    sizes = sorted({*SMALL_SIZES, max_features})
    if family is Family.STEPWISE:
        # No feature, and the first one, are the same on both paths.
        sizes = [size for size in sizes if size > 1]
    return [[path[size] for path in paths] for size in sizes if size <= largest_common]
