"""Which candidate to take: no feature, a small set, or a dense rule.

Candidates are compared by the Brier score of samples that had no part in the fit, five folds within
the samples at hand. Differences are measured in standard errors of the *difference*, sample by
sample. In this order:

1. No feature, if that lies within one standard error of the best.
2. A dense rule, if it is the best and no set of least angle regression lies within half a standard
   error of it: the mean of all dense rules that do.
3. Else the smallest set within half a standard error of the best small set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.candidates import (
    MAX_SMALL_FEATURES,
    Family,
    RuleCandidate,
    ScoredCandidates,
)
from chanceline.prediction.dense import score_dense_rules
from chanceline.prediction.folds import N_INNER_FOLDS, Seed, Stream
from chanceline.prediction.inner_folds import InnerFolds
from chanceline.prediction.samples import Samples
from chanceline.prediction.small import score_named_set, score_small_sets

# The ridge where there are too few samples to tune it.
UNTUNED_PENALTY = 3.0
# So many samples are enough to choose a candidate.
MAX_TUNING_SAMPLES = 2000
# How much worse than the best a candidate may be, in standard errors of the difference, to be taken
# as it has no feature at all, or fewer features.
EMPTY_MODEL_SE = 1.0
FEWER_FEATURES_SE = 0.5


def choose_candidates(
    samples: Samples,
    max_features: int | None,
    seed: Seed,
    max_samples: int = MAX_TUNING_SAMPLES,
) -> list[RuleCandidate]:
    """The candidate to take, by cross-validation; of dense ones all that are averaged.

    Parameters
    ----------
    samples : the training samples
    max_features : largest number of features. If None, small sets have at most thirty, and rules on
        many features (dense ones) are candidates too.
    seed : of the folds
    max_samples : of more samples so many are drawn

    Returns
    -------
    candidates : one that is not dense, or one or more that are all dense, of ascending size
    """
    folds = deal_inner_folds(samples, seed, max_samples)
    if folds.n_folds == 1:
        # Nothing can be held out, so nothing speaks for any feature.
        return [RuleCandidate(Family.LEAST_ANGLE, 0, UNTUNED_PENALTY)]

    # Dense rules are candidates unless the number of features is limited.
    if max_features is None:
        small = score_small_sets(folds, MAX_SMALL_FEATURES)
        dense = score_dense_rules(folds)
        scored = ScoredCandidates(
            candidates=small.candidates + dense.candidates,
            probabilities=np.vstack([small.probabilities, dense.probabilities]),
        )
    else:
        scored = score_small_sets(folds, max_features)

    table = LossTable.of(scored, folds.samples.positive)
    chosen = table.choose()
    if not table.is_dense[chosen]:
        return [scored.candidates[chosen]]
    # A dense rule is the mean of all dense candidates that are nearly as good as the best.
    averaged = table.is_dense & table.competes_with(chosen, FEWER_FEATURES_SE)
    return [scored.candidates[index] for index in np.flatnonzero(averaged)]


def choose_penalty(
    samples: Samples,
    support: Ints,
    seed: Seed,
    max_samples: int = MAX_TUNING_SAMPLES,
) -> RuleCandidate:
    """The candidate with the best penalty for features named beforehand, by cross-validation.

    Parameters
    ----------
    samples : the training samples
    support : columns of these features, (support,)
    seed : of the folds
    max_samples : of more samples so many are drawn
    """
    folds = deal_inner_folds(samples, seed, max_samples)
    if folds.n_folds == 1:
        return RuleCandidate(Family.NAMED, 0, UNTUNED_PENALTY)
    scored = score_named_set(folds, support)
    losses = brier_losses(scored.probabilities, folds.samples.positive)
    return scored.candidates[int(losses.mean(axis=1).argmin())]


def deal_inner_folds(samples: Samples, seed: Seed, max_samples: int) -> InnerFolds:
    """Inner folds of the samples, or of some of them where there are very many."""
    subsample = samples.subsample(max_samples, [*seed, Stream.TUNING_SUBSAMPLE])
    fold_of_sample = subsample.assign_folds(N_INNER_FOLDS, [*seed, Stream.INNER_FOLDS])
    return InnerFolds(subsample, fold_of_sample)


def brier_losses(probabilities: Floats, positive: Bools) -> Floats:
    """Squared differences of probabilities (candidates, samples) and what is true (samples,)."""
    return np.abs(probabilities - positive) ** 2


@dataclass(frozen=True, eq=False)
class LossTable:
    """Losses of all candidates, sample by sample.

    Attributes
    ----------
    losses : (candidates, samples)
    n_features : of every candidate, (candidates,)
    is_least_angle, is_dense : its family, (candidates,)
    """

    losses: Floats
    n_features: Ints
    is_least_angle: Bools
    is_dense: Bools

    @classmethod
    def of(cls, scored: ScoredCandidates, positive: Bools) -> LossTable:
        """Brier losses of candidates on samples of which some are positive."""
        families = [candidate.family for candidate in scored.candidates]
        return cls(
            losses=brier_losses(scored.probabilities, positive),
            n_features=np.array([candidate.n_features for candidate in scored.candidates]),
            is_least_angle=np.array([family is Family.LEAST_ANGLE for family in families]),
            is_dense=np.array([family is Family.DENSE for family in families]),
        )

    @property
    def mean_losses(self) -> Floats:
        """(candidates,)"""
        return self.losses.mean(axis=1)

    def choose(self) -> int:
        """The index of the candidate to take: without features, dense, or a small set."""
        best = int(self.mean_losses.argmin())
        is_empty = self.n_features == 0
        is_small = self.n_features <= MAX_SMALL_FEATURES

        # 1. No feature, if that is nearly as good as the best.
        competing_empty = is_empty & self.competes_with(best, EMPTY_MODEL_SE)
        if competing_empty.any():
            return self.smallest_among(competing_empty)

        # 2. A dense rule, if it is the best and the best small set is not nearly as good. That set
        # is looked for on one path alone: the more sets, the sooner one competes by chance.
        best_least_angle = self.best_among(is_small & self.is_least_angle)
        small_set_competes = self.competes_with(best, FEWER_FEATURES_SE)[best_least_angle]
        best_is_dense = not is_small[best]
        if best_is_dense and not small_set_competes:
            return best

        # 3. The smallest of the small sets that are nearly as good as the best of them.
        best_small = self.best_among(is_small)
        return self.smallest_among(is_small & self.competes_with(best_small, FEWER_FEATURES_SE))

    def competes_with(self, index: int, standard_errors: float) -> Bools:
        """Which candidates lose at most so many standard errors more than one, (candidates,).

        Parameters
        ----------
        index : of the candidate compared with
        standard_errors : of the difference of the losses, sample by sample
        """
        differences = self.losses - self.losses[index]
        standard_error = differences.std(axis=1) / np.sqrt(differences.shape[1])
        return np.asarray(differences.mean(axis=1) <= standard_errors * standard_error)

    def best_among(self, eligible: Bools) -> int:
        """The eligible candidate with the smallest mean loss."""
        return int(np.where(eligible, self.mean_losses, np.inf).argmin())

    def smallest_among(self, eligible: Bools) -> int:
        """The eligible candidate with the fewest features; of several the one with least loss."""
        fewest = self.n_features[eligible].min()
        return self.best_among(eligible & (self.n_features == fewest))
