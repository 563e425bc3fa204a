"""The whole procedure on training samples: screen columns, choose candidates, fit their weights.

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
from chanceline.prediction.candidates import PATHS, RuleCandidate
from chanceline.prediction.choose import Extent, choose_candidates, choose_penalty
from chanceline.prediction.dense import average_dense_rules
from chanceline.prediction.folds import Seed
from chanceline.prediction.ranking import samples_for_ranking
from chanceline.prediction.ridge_logistic import fit_one_ridge_logistic
from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import (
    ColumnScale,
    Residualized,
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
class TrainedRules:
    """The rule to use, and what few and what many features would give.

    Attributes
    ----------
    to_use : the rule that the procedure takes.
    few : the rule on a small set of features, None if there is no such set or features were named.
    many : the rule on many features, None if it was no candidate.
    """

    to_use: TrainedRule
    few: TrainedRule | None = None
    many: TrainedRule | None = None

    def in_columns(self, columns: Ints) -> TrainedRules:
        """The same rules, their columns numbered as in `columns`, (screened columns,)."""

        def renumbered(rule: TrainedRule | None) -> TrainedRule | None:
            if rule is None:
                return None
            return replace(rule, support=columns[rule.support])

        to_use = replace(self.to_use, support=columns[self.to_use.support])
        return TrainedRules(to_use, renumbered(self.few), renumbered(self.many))


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """Which features a rule may have.

    Attributes
    ----------
    named : columns to use, all of them, (features,); None: they are selected.
    max_features : largest number of selected features; None: thirty, or many where these are
        clearly better.
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
        named = check_numbers_of_features(features, n_features)
    if max_features is not None:
        max_features = whole_number(max_features, "max_features", at_least=1)
    return FeatureChoice(named, max_features)


def check_numbers_of_features(features: Sequence[int], n_features: int) -> Ints:
    """The numbers of columns, sorted; one beyond the table's, or the same twice, is an error."""
    no_names = [""] * n_features  # by which columns could be found
    return find_features(features, no_names)


def train(
    samples: Samples,
    training: Bools,
    features: FeatureChoice,
    seed: Seed,
    n_repeats: int = 1,
) -> TrainedRules:
    """The rules that the training samples give.

    Parameters
    ----------
    samples : all of them
    training : which samples are for training, (samples,)
    features : which features the rules may have
    seed : seed of the inner folds
    n_repeats : how often training samples are dealt to inner folds
    """
    if features.named is not None:
        rule = train_named(samples, training, features.named, seed, n_repeats)
        return TrainedRules(to_use=rule)
    return train_selected(samples, training, features, seed, n_repeats)


def train_named(
    samples: Samples, training: Bools, named: Ints, seed: Seed, n_repeats: int
) -> TrainedRule:
    """The rule on features named beforehand, its ridge chosen by cross-validation."""
    scale = fit_scale(samples, training)
    training_samples = samples.take(training)
    candidate = choose_penalty(training_samples, named, seed, n_repeats=n_repeats)
    return fit_small_rule(training_samples, scale, named, candidate)


def train_selected(
    samples: Samples,
    training: Bools,
    features: FeatureChoice,
    seed: Seed,
    n_repeats: int,
) -> TrainedRules:
    """Select features, make rules on no, few and many of them, and say which rule to use.

    The whole procedure is here: screen the columns, choose among candidates (ways to make a rule)
    by cross-validation, and make the rules. Only the samples where `training` is true are learnt
    from. Parameters as in `train`.
    """
    # Leave out unpromising columns of a very wide table, judged by the training samples alone.
    # From here on columns are numbered anew: k is column screened_columns[k] of `samples`.
    screened_samples, screened_columns = screen_columns(
        samples, training, limits=features.screening
    )
    training_samples = screened_samples.take(training)
    scale = fit_scale(screened_samples, training)  # means and spreads, to standardize columns

    # Choose how the rules are made. Candidates are compared on `ranked_samples`: in a small table
    # the training samples themselves, in a large one their standardized columns in single
    # precision, which takes half the time.
    ranked_samples = samples_for_ranking(training_samples, scale)
    choice = choose_candidates(ranked_samples, features.max_features, seed, n_repeats=n_repeats)

    # The columns in which rules select their features: without what covariates explain, and of
    # length 1. As the columns of `ranked_samples` may be standardized already, these samples need a
    # scale of their own.
    scale_of_ranked = fit_scale(ranked_samples, ranked_samples.all_rows)
    residualized = residualize(ranked_samples, scale_of_ranked)

    # Make the rules on no, few and many features, from all training samples. The weights of few
    # features are fitted to the training samples in full precision.
    rule_on_none = train_on_path(training_samples, scale, residualized, choice.none)
    rule_on_few = None
    if choice.few is not None:
        rule_on_few = train_on_path(training_samples, scale, residualized, choice.few)
    rule_on_many = None
    if choice.many:
        support, weights = average_dense_rules(choice.many, residualized)
        rule_on_many = TrainedRule(support, weights, scale.take(support), choice.many)

    # Use the rule of the extent (none, few or many features) that was chosen.
    rule_of_extent = {
        Extent.NONE: rule_on_none,
        Extent.FEW: rule_on_few,
        Extent.MANY: rule_on_many,
    }
    rule_to_use = rule_of_extent[choice.extent]
    assert rule_to_use is not None  # an extent without candidates is not chosen
    rules_by_screened_columns = TrainedRules(to_use=rule_to_use, few=rule_on_few, many=rule_on_many)
    # Back to the numbers that the columns have in `samples`.
    return rules_by_screened_columns.in_columns(screened_columns)


def train_on_path(
    samples: Samples,
    scale: ColumnScale,
    residualized: Residualized,
    candidate: RuleCandidate,
) -> TrainedRule:
    """The rule on as many features of a path as the candidate has.

    Parameters
    ----------
    samples : the training samples
    scale : of their columns
    residualized : columns and target that the path is for
    candidate : its path, its number of features, and the ridge
    """
    follow_path = PATHS[candidate.family]
    path = follow_path(residualized.columns, residualized.target, candidate.n_features)
    return fit_small_rule(samples, scale, path[-1], candidate)


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
