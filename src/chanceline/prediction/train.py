"""The whole procedure on training samples: screen columns, choose a candidate, fit its weights.

Everything that looks at labels is in here, so that cross-validation need only call `train` with
some of the samples. Nothing of the other samples has a part in it, but for the mean of a block that
the training samples do not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import whole_number
from chanceline.perceptron.validation import find_features
from chanceline.prediction.candidates import PATHS, DenseCandidate, RuleCandidate
from chanceline.prediction.choose import choose_candidates, choose_penalty
from chanceline.prediction.dense import average_dense_rules
from chanceline.prediction.folds import Seed
from chanceline.prediction.ridge_logistic import fit_one_ridge_logistic
from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import (
    ColumnScale,
    design_of,
    fit_scale,
    residualize,
)
from chanceline.prediction.screening import ScreeningLimits, screen_columns


@dataclass(frozen=True, eq=False)
class TrainedRule:
    """A rule in the columns as its training samples see them.

    Attributes
    ----------
    support : its columns, (support,)
    weights : of the constant, of covariates and of the scaled columns, (nuisance + support,)
    scale : of the columns of the support.
    candidates : the candidate that it is made from; of a dense rule all that are averaged.
    """

    support: Ints
    weights: Floats
    scale: ColumnScale
    candidates: tuple[RuleCandidate, ...]

    def scores(self, samples: Samples) -> Floats:
        """η of every sample, (samples,); positive for the positive class."""
        columns = self.scale.transform(samples.X[:, self.support], samples.block_of_sample)
        return np.hstack([samples.nuisance, columns]) @ self.weights


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """Which features a rule may have.

    Attributes
    ----------
    named : columns to use, all of them, (features,); None: they are selected.
    max_features : largest number of selected features; None: thirty, or many where no small set
        does as well.
    screening : when columns of a very wide table are left out beforehand.
    """

    named: Ints | None = None
    max_features: int | None = None
    screening: ScreeningLimits = field(default_factory=ScreeningLimits)


def check_feature_choice(
    n_features: int,
    features: Sequence[int] | None,
    max_features: int | None,
) -> FeatureChoice:
    """The choice as a user states it.

    Parameters
    ----------
    n_features : number of columns of the table
    features : columns to use, or None to select them
    max_features : largest number of selected features, or None
    """
    named = None
    if features is not None:
        # Columns are named by number here: there are no names to find them by.
        named = find_features(features, [""] * n_features)
    if max_features is not None:
        max_features = whole_number(max_features, "max_features", at_least=1)
    return FeatureChoice(named, max_features)


def train(samples: Samples, training: Bools, features: FeatureChoice, seed: Seed) -> TrainedRule:
    """The rule that the training samples give.

    Parameters
    ----------
    samples : all of them
    training : which samples are for training, (samples,)
    features : which features the rule may have
    seed : of the inner folds
    """
    if features.named is not None:
        return train_named(samples, training, features.named, seed)
    return train_selected(samples, training, features, seed)


def train_named(samples: Samples, training: Bools, named: Ints, seed: Seed) -> TrainedRule:
    """The rule on features named beforehand, its ridge chosen by cross-validation."""
    scale = fit_scale(samples, training)
    training_samples = samples.take(training)
    candidate = choose_penalty(training_samples, named, seed)
    return fit_small_rule(training_samples, scale, named, candidate)


def train_selected(
    samples: Samples,
    training: Bools,
    features: FeatureChoice,
    seed: Seed,
) -> TrainedRule:
    """The rule on features that are selected; parameters as in `train`."""
    screened, screened_columns = screen_columns(samples, training, limits=features.screening)
    scale = fit_scale(screened, training)
    training_samples = screened.take(training)
    # Either one candidate that is not dense, or dense ones alone.
    candidates = choose_candidates(training_samples, features.max_features, seed)

    # The rule of the chosen candidates, from all training samples.
    residualized = residualize(training_samples, scale)
    dense_candidates = [
        candidate for candidate in candidates if isinstance(candidate, DenseCandidate)
    ]
    if dense_candidates:
        support, weights = average_dense_rules(dense_candidates, residualized)
        rule = TrainedRule(support, weights, scale.take(support), tuple(candidates))
    else:
        candidate = candidates[0]
        follow_path = PATHS[candidate.family]
        path = follow_path(residualized.columns, residualized.target, candidate.n_features)
        rule = fit_small_rule(training_samples, scale, path[-1], candidate)

    # Its columns as those of the whole table.
    return replace(rule, support=screened_columns[rule.support])


def fit_small_rule(
    samples: Samples,
    scale: ColumnScale,
    support: Ints,
    candidate: RuleCandidate,
) -> TrainedRule:
    """Logistic regression on the columns of a support, with the candidate's ridge."""
    weights = fit_one_ridge_logistic(
        design=design_of(samples, scale, support),
        labels=samples.y,
        penalty=candidate.penalty,
        n_unpenalized=samples.n_nuisance,
    )
    return TrainedRule(support, weights, scale.take(support), (candidate,))
