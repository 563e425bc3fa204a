"""A linear rule for the targets of an outcome: none, few features, or all of them.

Candidates are least squares on the first 1, 2, … columns of the forward path, and ridge regressions
on all columns. They are compared by their squared errors on samples that had no part in the fit, in
five folds within the samples at hand. Samples can be dealt to folds several times, and the errors
averaged, so that the choice depends little on the luck of one deal. Standard errors count units,
what stays together in a fold, such as the rows of a group:

1. No feature, if that lies within one standard error of the best candidate.
2. All features, if the best ridge is better than the best small set by more than three quarters of
   a standard error.
3. Else few: the fewest features within half a standard error of the best small set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.choose import EMPTY_MODEL_SE, MANY_FEATURES_SE
from chanceline.prediction.folds import N_INNER_FOLDS, Seed
from chanceline.prediction.losses import paired_difference
from chanceline.significance.outcomes.rule_samples import (
    Background,
    RuleSamples,
    column_spreads,
    learn_background,
    means_of_blocks,
)
from chanceline.significance.outcomes.score_paths import start_score_path
from chanceline.significance.ridges import principal_axes, ridge_of_share

# Free parameters of the ridge regressions, as shares of the number of axes.
DENSE_SHARES = (0.6, 0.3, 0.1, 0.03)
# Small sets have at most so many features.
MAX_FEW = 8
# A small set of fewer features is taken if it loses no more standard errors than this.
FEWER_FEATURES_SE = 0.5
# A set has at most one feature for so many samples.
SAMPLES_PER_FEATURE = 5


class ScoreCandidate(NamedTuple):
    """What a rule may be.

    Attributes
    ----------
    n_few : number of features of a small set; 0 for none and for a ridge regression.
    share : free parameters of a ridge regression on all features; 0 for none and for a small set.
    """

    n_few: int
    share: float


NO_FEATURES = ScoreCandidate(n_few=0, share=0.0)


@dataclass(frozen=True, eq=False)
class ScoreRule:
    """Fitted targets = what blocks and covariates say + (x − background)·weights.

    Attributes
    ----------
    support : (features,) columns of X, in the order taken; all of them for a ridge regression.
    weights : (features, targets) for the values as they are.
    column_background : of the columns of the support.
    target_background : of the targets.
    training_fits : (training samples, targets) fitted with weights that the sample had no part in.
    """

    support: Ints
    weights: Floats
    column_background: Background
    target_background: Background
    training_fits: Floats

    def guesses(self, samples: RuleSamples) -> Floats:
        """What blocks and covariates alone say: (samples, targets)."""
        return self.target_background.explained(samples.block_of_sample, samples.terms)

    def fits(self, samples: RuleSamples) -> Floats:
        """The fitted targets: (samples, targets)."""
        columns = samples.X[:, self.support]
        background = self.column_background.explained(samples.block_of_sample, samples.terms)
        return self.guesses(samples) + (columns - background) @ self.weights


@dataclass(frozen=True, eq=False)
class PreparedSamples:
    """Training samples without what blocks and covariates say, ready to be fitted.

    Attributes
    ----------
    columns : (samples, features) of SD 1, zero where a column is constant.
    targets : (samples, targets)
    column_background, target_background : what blocks and covariates say, which was taken out.
    spreads : (features,) standard deviations, infinite for constant columns.
    """

    columns: Floats
    targets: Floats
    column_background: Background
    target_background: Background
    spreads: Floats

    def guesses(self, samples: RuleSamples) -> Floats:
        """What blocks and covariates alone say of the targets of samples: (samples, targets)."""
        return self.target_background.explained(samples.block_of_sample, samples.terms)

    def prepare_columns(self, samples: RuleSamples) -> Floats:
        """The columns of other samples, prepared as those of the training samples were."""
        background = self.column_background.explained(samples.block_of_sample, samples.terms)
        return (samples.X - background) / self.spreads


def prepare_samples(samples: RuleSamples, training: Bools) -> PreparedSamples:
    """Adjust the training samples for blocks and covariates, and scale their columns to SD 1.

    The adjustment is a fit by block means and by slopes on the covariates (a background). Columns
    and targets are replaced by the residuals of this fit.

    Parameters
    ----------
    samples : all samples, for training or held out. Of the held-out ones only features are used.
    training : (samples,) whether a sample is for training.
    """
    training_samples = samples.take(training)
    blocks = training_samples.block_of_sample
    terms = training_samples.terms  # covariates as columns of numbers
    n_blocks = int(samples.block_of_sample.max()) + 1  # of training and held-out samples

    # Columns. The means of blocks are learnt from training samples alone. Only a block without any
    # training samples has the fallback means, which are then those of its held-out samples.
    X = training_samples.X
    fallback_column_means = means_of_blocks(samples.X, samples.block_of_sample, n_blocks)
    column_background = learn_background(X, training_samples, fallback_means=fallback_column_means)
    column_residuals = X - column_background.explained(blocks, terms)
    spreads = column_spreads(column_residuals, X)  # infinite for constant columns, which become 0

    # Targets. Those of held-out samples must not be used: a block without training samples has the
    # mean target of all training samples.
    targets = training_samples.outcome.targets
    fallback_target_means = np.tile(targets.mean(axis=0), (n_blocks, 1))
    target_background = learn_background(
        targets, training_samples, fallback_means=fallback_target_means
    )
    return PreparedSamples(
        columns=column_residuals / spreads,
        targets=targets - target_background.explained(blocks, terms),
        column_background=column_background,
        target_background=target_background,
        spreads=spreads,
    )


class FittedCandidate(NamedTuple):
    """A candidate's support (features,); weights (features, targets) for columns of SD 1."""

    support: Ints
    weights: Floats


def list_candidates(n_samples: int, n_features: int) -> list[ScoreCandidate]:
    """No features, small sets from one feature on, and ridge regressions."""
    largest = max(1, min(MAX_FEW, n_features, n_samples // SAMPLES_PER_FEATURE))
    small = [ScoreCandidate(n_few=size, share=0.0) for size in range(1, largest + 1)]
    dense = [ScoreCandidate(n_few=0, share=share) for share in DENSE_SHARES]
    return [NO_FEATURES, *small, *dense]


def fit_candidates(
    prepared: PreparedSamples, candidates: list[ScoreCandidate]
) -> list[FittedCandidate]:
    """Fit every candidate model to the same training samples.

    A candidate is a ridge regression on all features (its `share` is above 0), least squares on the
    first few features of the forward path (`n_few` is above 0), or a model without features.

    Parameters
    ----------
    prepared : the training samples, adjusted for blocks and covariates, with columns of SD 1.
    candidates : the models to fit.

    Returns
    -------
    A fit for each candidate, in the same order. Its `support` are columns, and its weights have the
    shape (support, targets).
    """
    # What candidates share: one forward path, of which each takes the beginning, and the principal
    # axes, from which all ridge regressions are computed together.
    largest_few = max(candidate.n_few for candidate in candidates)
    path_columns = forward_order(prepared, largest_few)
    shares = [candidate.share for candidate in candidates if candidate.share > 0]
    ridges = fit_ridges(prepared, shares)  # weights (features, targets) for each share
    ridge_weights = dict(zip(shares, ridges, strict=True))

    all_columns = np.arange(prepared.columns.shape[1])
    no_columns = all_columns[:0]
    no_weights = np.zeros((0, prepared.targets.shape[1]))
    fits = []
    for candidate in candidates:
        if candidate.share > 0:
            fits.append(FittedCandidate(all_columns, ridge_weights[candidate.share]))
        elif candidate.n_few > 0:
            support = path_columns[: candidate.n_few]
            fits.append(fit_least_squares(prepared, support))
        else:
            fits.append(FittedCandidate(no_columns, no_weights))
    return fits


def fit_least_squares(prepared: PreparedSamples, support: Ints) -> FittedCandidate:
    """Least squares on the columns of a support."""
    columns = prepared.columns[:, support]
    weights = np.linalg.lstsq(columns, prepared.targets, rcond=None)[0]
    return FittedCandidate(support, weights.astype(np.float64))


def forward_order(prepared: PreparedSamples, n_steps: int) -> Ints:
    """Columns in the order in which forward selection by least squares takes them.

    Parameters
    ----------
    prepared : the training samples; constant columns are 0.
    n_steps : the largest number of columns to take.

    Returns
    -------
    (columns taken,) their numbers; fewer than `n_steps` if no further column adds anything.
    """
    if n_steps == 0:
        return np.zeros(0, dtype=np.int64)
    squared_lengths = np.einsum("ij,ij->j", prepared.columns, prepared.columns)  # (columns,)
    lengths = np.sqrt(squared_lengths)
    varying_columns = np.flatnonzero(lengths > 0)
    if len(varying_columns) == 0:
        return np.zeros(0, dtype=np.int64)
    unit_columns = prepared.columns[:, varying_columns] / lengths[varying_columns]

    # `state` follows the paths of many permutations. Here there is one: (1, targets, samples).
    state = start_score_path(unit_columns, prepared.targets.T[None], n_steps)
    taken_columns: list[int] = []
    for _ in range(n_steps):
        best_columns, is_taken = state.take_next_column()  # (1,) each; changes `state` in place
        if not is_taken[0]:
            # The best column lies within the span of those taken.
            break
        taken_columns.append(int(varying_columns[best_columns[0]]))
    return np.array(taken_columns, dtype=np.int64)


def fit_ridges(prepared: PreparedSamples, shares: list[float]) -> list[Floats]:
    """Ridge regressions of the targets T on all columns Z, of several strengths.

    With the eigenvectors u and eigenvalues d of ZZᵀ, the weights are Zᵀ Σ u uᵀT/(d + λ). The ridge
    λ is such that the regression has Σ d/(d + λ) effective parameters.

    Parameters
    ----------
    prepared : the training samples: columns Z (samples, features), targets T (samples, targets).
    shares : one for each regression: its effective parameters as a share of the number of axes.

    Returns
    -------
    Weights (features, targets) for each share.
    """
    if not shares or not prepared.columns.any():
        # All columns are constant: they have no axes.
        shape = (prepared.columns.shape[1], prepared.targets.shape[1])
        return [np.zeros(shape) for _ in shares]
    principal = principal_axes(prepared.columns)
    targets_along_axes = principal.axes.T @ prepared.targets  # (axes, targets) uᵀT
    columns_along_axes = prepared.columns.T @ principal.axes  # (features, axes) Zᵀu
    weights = []
    for share in shares:
        ridge = ridge_of_share(principal.squared_lengths, share)  # λ
        shrunk = targets_along_axes / (principal.squared_lengths + ridge)[:, None]
        weights.append(columns_along_axes @ shrunk)
    return weights


def train_score_rule(
    samples: RuleSamples, training: Bools, seed: Seed, n_repeats: int = 1
) -> ScoreRule:
    """Choose a model by cross-validation within the training samples, and fit it to all of these.

    The candidates are no features, a few features by forward selection, and ridge regressions on
    all features.

    Parameters
    ----------
    samples : all samples, for training or held out.
    training : (samples,) whether a sample is for training.
    seed : seed of the folds.
    n_repeats : how often the training samples are dealt to new folds.
    """
    # Cross-fit all candidates, and choose by the errors on samples left out.
    training_samples = samples.take(training)
    candidates = list_candidates(int(training.sum()), samples.X.shape[1])
    cross_fits = [cross_fit(training_samples, candidates, seed)]
    for repeat in range(1, n_repeats):
        cross_fits.append(cross_fit(training_samples, candidates, [*seed, repeat]))
    errors = mean_errors_of_units(cross_fits, training_samples)  # (candidates, units)
    chosen_index = choose_candidate(candidates, errors)

    # Fit the chosen candidate to all training samples. Its weights are for columns of SD 1: divide
    # by the standard deviations to get weights for the columns as they are.
    chosen_candidate = candidates[chosen_index]
    prepared = prepare_samples(samples, training)
    (fitted,) = fit_candidates(prepared, [chosen_candidate])
    spreads_of_support = prepared.spreads[fitted.support]
    weights = fitted.weights / spreads_of_support[:, None]

    # Fitted targets of the training samples, (samples, targets). They have two parts. Blocks and
    # covariates give the first, fitted to all training samples. Features add the second, which is
    # taken from the cross-fits to avoid overfitting: there a sample has no part in its own weights.
    fits_without_features = prepared.guesses(training_samples)
    added_in_repeats = [fits.added_by_features[chosen_index] for fits in cross_fits]
    added_by_features = np.mean(added_in_repeats, axis=0)
    return ScoreRule(
        support=fitted.support,
        weights=weights,
        column_background=prepared.column_background.of_columns(fitted.support),
        target_background=prepared.target_background,
        training_fits=fits_without_features + added_by_features,
    )


class CrossFits(NamedTuple):
    """Targets fitted by rules that the sample had no part in: the sum of these two.

    Attributes
    ----------
    guesses : (samples, targets) what blocks and covariates alone say.
    added_by_features : (candidates, samples, targets) what the features of each candidate add.
    """

    guesses: Floats
    added_by_features: Floats


def mean_errors_of_units(cross_fits: list[CrossFits], samples: RuleSamples) -> Floats:
    """The mean squared errors of several cross-fits, for each unit: (candidates, units).

    Parameters
    ----------
    samples : those that were fitted.
    """
    targets = samples.outcome.targets
    errors = np.mean([squared_errors(fits, targets) for fits in cross_fits], axis=0)
    return errors_of_units(errors, samples.unit_of_sample)


def squared_errors(fits: CrossFits, targets: Floats) -> Floats:
    """Squared errors of samples that had no part in the fit, summed over targets.

    Parameters
    ----------
    fits : of every candidate.
    targets : (samples, targets) what is true.

    Returns
    -------
    (candidates, samples)
    """
    left = fits.guesses + fits.added_by_features - targets
    errors: Floats = np.sum(left**2, axis=2)
    return errors


def errors_of_units(errors: Floats, unit_of_sample: Ints) -> Floats:
    """The errors of every unit together, by the mean size of a unit: (candidates, units).

    Rows of a group, or the two of a pair, err alike, so that units are what is independent. The
    mean over units is that over samples.

    Parameters
    ----------
    errors : (candidates, samples)
    unit_of_sample : (samples,) samples of a unit have the same number.
    """
    units, number_of_sample = np.unique(unit_of_sample, return_inverse=True)
    sums = np.zeros((len(units), len(errors)))
    np.add.at(sums, number_of_sample, errors.T)
    mean_size = len(unit_of_sample) / len(units)
    return np.ascontiguousarray(sums.T) / mean_size


def cross_fit(samples: RuleSamples, candidates: list[ScoreCandidate], seed: Seed) -> CrossFits:
    """Predict the targets of every sample by every candidate, trained without the sample's fold.

    Parameters
    ----------
    samples : the samples to deal to folds.
    candidates : the models to compare.
    seed : seed of the folds.

    Returns
    -------
    The two parts of the predictions: what blocks and covariates alone say, (samples, targets), and
    what the features of each candidate add, (candidates, samples, targets).
    """
    folds = samples.outcome.deal_to_folds(samples.unit_of_sample, n_folds=N_INNER_FOLDS, seed=seed)
    shape_of_targets = samples.outcome.targets.shape  # (samples, targets)
    by_covariates = np.zeros(shape_of_targets)  # predictions from blocks and covariates alone
    added_by_features = np.zeros((len(candidates), *shape_of_targets))
    for fold in range(folds.max() + 1):
        # Learn everything from the samples outside the fold, the adjustment of columns included.
        is_held_out = folds == fold
        prepared = prepare_samples(samples, ~is_held_out)
        fitted_candidates = fit_candidates(prepared, candidates)

        # Predict the held-out samples.
        held_out = samples.take(is_held_out)
        by_covariates[is_held_out] = prepared.guesses(held_out)
        columns = prepared.prepare_columns(held_out)  # (samples, features)
        for candidate, fitted in enumerate(fitted_candidates):
            contribution = columns[:, fitted.support] @ fitted.weights  # (samples, targets)
            added_by_features[candidate, is_held_out] = contribution
    return CrossFits(guesses=by_covariates, added_by_features=added_by_features)


def choose_candidate(candidates: list[ScoreCandidate], errors: Floats) -> int:
    """Choose between no features, few features and all features; return the candidate's index.

    Simpler candidates are preferred: one candidate clearly beats another only if its mean error is
    smaller by more than a multiple of the standard error of their paired difference. The multiples
    are the constants `…_SE`.

    Parameters
    ----------
    candidates : the first has no features; then come least-squares fits of ascending size
        (`n_few` > 0), then ridge regressions on all features (`share` > 0).
    errors : (candidates, units) squared errors of units that had no part in the fit.
    """
    mean_errors = errors.mean(axis=1)  # (candidates,)
    is_ridge = np.array([candidate.share > 0 for candidate in candidates])
    is_few = np.array([candidate.n_few > 0 for candidate in candidates])

    # No features (candidate 0), unless the best candidate clearly beats the model without features.
    best_candidate = int(mean_errors.argmin())
    if not paired_difference(errors[0], errors[best_candidate]).exceeds(EMPTY_MODEL_SE):
        return 0

    # All features, if the best ridge regression clearly beats the best small set.
    best_few = int(np.where(is_few, mean_errors, np.inf).argmin())
    best_ridge = int(np.where(is_ridge, mean_errors, np.inf).argmin())
    if paired_difference(errors[best_few], errors[best_ridge]).exceeds(MANY_FEATURES_SE):
        return best_ridge

    # Else the smallest set that the best small set does not clearly beat. Sets come in ascending
    # order of size, and the best one does not beat itself.
    for candidate in np.flatnonzero(is_few).tolist():
        if not paired_difference(errors[candidate], errors[best_few]).exceeds(FEWER_FEATURES_SE):
            return candidate
    return best_few
