"""A sparse linear rule for new samples: which features, how many, and how far their weights are shrunk, by cross-validation.

The candidates are the sets of 1 … 30 features that the lasso's path goes through, their weights from logistic regression with a
ridge. Number and ridge are chosen by the Brier score of samples that had no part in the fit, five folds within the samples given:
of all candidates whose score lies within half a standard error of the best (of the *difference*, sample by sample) the one with
the fewest features; a whole standard error costs one to two points of error on published tables. The rule is that candidate, made
again from all samples given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chanceline._results import Result
from chanceline._validation import whole_number
from chanceline.errors import InputError
from chanceline.perceptron.problem import find_features
from chanceline.prediction.paths import COPY, lasso_path
from chanceline.prediction.refit import probability, ridge_logistic
from chanceline.prediction.samples import INNER_FOLDS, Bools, Floats, Ints, Samples, Scale, make_samples, make_scale

MOST_FEATURES = 30
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
PENALTIES = np.array([0.001, 0.03, 0.3, 3.0, 30.0, 300.0])
STANDARD_ERRORS = 0.5
# The ridge where there are too few samples to tune, and how many are enough to.
UNTUNED, MOST_TUNED = 3.0, 2000


@dataclass(frozen=True, eq=False, repr=False)
class PredictionRule(Result):
    """Positive where x_S·w + b > 0.

    Attributes
    ----------
    support : sorted indices of the columns of X it uses.
    weights, bias : in the units of X. With blocks the bias is that of a block whose means are those of all samples.
    penalty : the ridge λ on the weights of scaled columns.
    kind : how the number of features and the ridge were chosen.
    covariate_weights : of the covariates, in their units.
    block_biases : the bias for every block declared, by its name.
    """

    support: Ints
    weights: Floats
    bias: float
    penalty: float
    kind: str
    covariate_weights: Floats = field(default_factory=lambda: np.zeros(0))
    block_biases: dict[str, float] = field(default_factory=dict)

    _derived = ("threshold",)

    @property
    def threshold(self) -> float:
        """Positive where x_S·w lies above it."""
        return -self.bias

    def scores(self, X: ArrayLike, blocks: ArrayLike | None = None, covariates: ArrayLike | None = None) -> Floats:
        """x_S·w + b for every row; with `blocks` the bias of its block, which must be one of those the rule was made from."""
        scores = np.asarray(X, dtype=float)[:, self.support] @ self.weights
        if len(self.covariate_weights):
            if covariates is None:
                raise InputError("the rule was made with covariates; give those of the new samples as well.")
            scores = scores + np.asarray(covariates, dtype=float).reshape(len(scores), -1) @ self.covariate_weights
        names = [] if blocks is None else np.asarray(blocks).astype(str).tolist()
        unknown = sorted(set(names) - set(self.block_biases))
        if unknown:
            raise InputError(f"the rule knows no block {unknown[0]!r}; leave the blocks of new samples out.")
        return scores + (np.array([self.block_biases[name] for name in names]) if names else self.bias)

    def probabilities(self, X: ArrayLike, blocks: ArrayLike | None = None, covariates: ArrayLike | None = None) -> Floats:
        """Estimated probability of the positive class for every row."""
        return probability(self.scores(X, blocks, covariates))

    def summary(self) -> str:
        return f"{len(self.support)} features ({self.kind})"


class Trained(NamedTuple):
    """A rule in the columns as its training samples see them: weights of the constant, of covariates, of the support."""

    support: Ints
    weights: Floats
    scale: Scale
    penalty: float


def fit_rule(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
    features: Sequence[int] | None = None,
    max_features: int = MOST_FEATURES,
    seed: int = 0,
) -> PredictionRule:
    """A rule on few features, meant for new samples.

    Parameters
    ----------
    X : samples × features.
    y : two classes, the larger value positive.
    groups : samples of a group stay together in a fold.
    blocks : columns are measured from the mean of their block.
    covariates : columns that the rule has besides, without shrinkage.
    features : columns to use, all of them, where they are fixed beforehand; by default they are chosen.
    max_features : largest number of features chosen.
    seed : of the folds.
    """
    samples = make_samples(X, y, groups, blocks, covariates)
    most = whole_number(max_features, "max_features", at_least=1)
    named = None if features is None else find_features(features, [""] * samples.X.shape[1])
    found = train(samples, np.ones(len(samples.y), dtype=bool), named, most, [seed])
    order, free = np.argsort(found.support), samples.beside.shape[1]
    support = found.support[order]
    weights = found.weights[free:][order] / found.scale.spread[support]
    biases = found.weights[0] - found.scale.centre[:, support] @ weights
    names = [] if blocks is None else np.unique(np.asarray(blocks).astype(str)).tolist()
    return PredictionRule(
        support=support,
        weights=weights,
        bias=float(biases[samples.block_of].mean()),
        penalty=found.penalty,
        kind=f"{'lasso path' if named is None else 'named beforehand'}, ridge {found.penalty:g}, tuned by cross-validation",
        covariate_weights=found.weights[1:free],
        block_biases=dict(zip(names, biases.tolist(), strict=False)),
    )


def train(samples: Samples, training: Bools, named: Ints | None, most: int, seed: list[int]) -> Trained:
    """The whole procedure on some of the samples; nothing of the others has a part in it but the mean of a block left out."""
    part, scale = samples.take(training), make_scale(samples, training)
    size, penalty = tune(part, named, most, seed)
    supports = supports_of(part, scale, named, size)
    support = supports[min(size, len(supports) - 1)]
    design, everybody = scale.design(part, support)[None], np.ones((1, len(part.y)))
    weights = ridge_logistic(design, part.y, everybody, np.array([penalty]), part.beside.shape[1])[0, 0]
    return Trained(support, weights, scale, penalty)


def tune(samples: Samples, named: Ints | None, most: int, seed: list[int]) -> tuple[int, float]:
    """Number of features (0 where they are named) and ridge, by cross-validation within these samples."""
    if len(samples.y) > MOST_TUNED:
        samples = samples.take(np.random.default_rng([*seed, 1]).permutation(len(samples.y)) < MOST_TUNED)
    fold_of = samples.fold_of(INNER_FOLDS, [*seed, 0])
    masks = fold_of != np.arange(fold_of.max() + 1)[:, None]
    scales = [make_scale(samples, mask) for mask in masks]
    sizes = [size for size in SIZES if size < most] + [most] if named is None else [0]
    paths = [supports_of(samples.take(mask), scale, named, most) for mask, scale in zip(masks, scales, strict=True)]
    choices: list[tuple[int, float]] = []
    losses: list[Floats] = []
    for size in sizes:
        if size >= min(map(len, paths)):
            break
        design = np.stack([scale.design(samples, path[size]) for scale, path in zip(scales, paths, strict=True)])
        weights = ridge_logistic(design, samples.y, masks.astype(float), PENALTIES, samples.beside.shape[1])
        scores = np.einsum("slk,sk->ls", weights[fold_of], design[fold_of, np.arange(len(fold_of))])
        losses.extend(probability(-samples.y * scores) ** 2)
        choices.extend((size, float(penalty)) for penalty in PENALTIES)
    return smallest_within_error(choices, np.array(losses)) if choices else (1, UNTUNED)


def smallest_within_error(choices: list[tuple[int, float]], losses: Floats) -> tuple[int, float]:
    """Of the choices whose loss (by samples) is within `STANDARD_ERRORS` of the least that with the fewest features."""
    means = losses.mean(axis=1)
    beyond = losses - losses[means.argmin()]
    allowed = STANDARD_ERRORS * beyond.std(axis=1) / np.sqrt(losses.shape[1])
    near = np.flatnonzero(beyond.mean(axis=1) <= allowed)
    return choices[min(near, key=lambda place: (choices[place][0], means[place]))]


def supports_of(samples: Samples, scale: Scale, named: Ints | None, most: int) -> list[Ints]:
    """Sets of 0, 1, 2, … features, or those named alone."""
    if named is not None:
        return [named]
    free = samples.beside.shape[1]
    columns = scale.design(samples, np.arange(samples.X.shape[1]))[:, free:]
    # What covariates explain is taken out of columns and labels alike.
    basis = np.linalg.qr(samples.beside)[0]
    columns -= basis @ (basis.T @ columns)
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > COPY * np.sqrt(len(columns)), lengths, np.inf)
    return lasso_path(columns, samples.y - basis @ (basis.T @ samples.y), min(most, len(columns) - 1))
