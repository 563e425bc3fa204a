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
from chanceline.prediction.samples import (
    INNER_FOLDS,
    Bools,
    Floats,
    Ints,
    Samples,
    Scale,
    make_samples,
    make_scale,
    narrowed,
)

MOST_FEATURES = 30
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
PENALTIES = np.array([0.001, 0.03, 0.3, 3.0, 30.0, 300.0])
STANDARD_ERRORS = 0.5
# The ridge where there are too few samples to tune, and how many are enough to.
UNTUNED, MOST_TUNED = 3.0, 2000
# Columns whose product with the lasso's direction is so near that of the active ones are copies; shares below the second are
# rounding.
COPY, SMALL = 1e-6, 1e-9
# The ridge on the columns that go without a penalty, and Newton's steps at most; no score moves farther in one step, so that none
# overshoots; below the last number all have arrived.
TRACE, MOST_STEPS, FARTHEST, NEAR = 1e-3, 40, 6.0, 1e-4


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
        scores = np.asarray(X)[:, self.support].astype(float) @ self.weights
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
    narrow, kept = narrowed(samples, training) if named is None else (samples, named)
    if narrow is not samples:
        found = train(narrow, training, named, most, seed)
        spread, centre = np.full(samples.X.shape[1], np.inf), np.zeros((len(found.scale.centre), samples.X.shape[1]))
        centre[:, kept], spread[kept] = found.scale
        return found._replace(support=kept[found.support], scale=Scale(centre, spread))
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
    columns = scale.design(samples, np.arange(samples.X.shape[1]))[:, samples.beside.shape[1] :]
    # What covariates explain is taken out of columns and labels alike.
    basis = np.linalg.qr(samples.beside)[0]
    columns -= basis @ (basis.T @ columns)
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > COPY * np.sqrt(len(columns)), lengths, np.inf)
    return lasso_path(columns, samples.y - basis @ (basis.T @ samples.y), min(most, len(columns) - 1))


def lasso_path(columns: Floats, target: Floats, most: int) -> list[Ints]:
    """Supports of 0, 1, 2, … columns, each as it was when the lasso (L1-penalised least squares) first had so many.

    Least angle regression with the lasso's drops (Efron, Hastie, Johnstone and Tibshirani 2004): all active columns keep the
    same product with the residual, in absolute value the largest; it sinks until another column has it, or a coefficient is 0.

    Parameters
    ----------
    columns : samples × columns, centred and of length 1 (or zero: never chosen).
    target : centred labels.
    most : largest number of columns.
    """
    products = target @ columns
    active, coefficients = np.zeros(0, dtype=np.int64), np.zeros(0)
    found, dropped = [active], -1
    highest = start = float(np.abs(products).max(initial=0.0))
    joining = int(np.abs(products).argmax())
    for _ in range(4 * most):
        if highest <= SMALL * start or len(found) > most:
            break
        if dropped < 0:
            active, coefficients = np.append(active, joining), np.append(coefficients, 0.0)
            found += [active] if len(active) == len(found) else []
        signs = np.sign(products[active])
        chosen = columns[:, active] * signs
        slopes = np.linalg.solve(chosen.T @ chosen + SMALL * np.eye(len(active)), np.ones(len(active)))
        moved = (chosen @ slopes) @ columns
        # How far the common product sinks until a column has it, with either sign.
        steps = np.minimum(
            np.where(moved < 1 - COPY, (highest - products) / np.maximum(1 - moved, COPY), np.inf),
            np.where(moved > COPY - 1, (highest + products) / np.maximum(1 + moved, COPY), np.inf),
        )
        steps[active if dropped < 0 else [*active, dropped]] = np.inf
        joining = int(steps.argmin())
        vanishing = np.where(coefficients * signs * slopes < 0, np.abs(coefficients / slopes), np.inf)
        place = int(vanishing.argmin())
        step = min(highest, float(steps[joining]), float(vanishing[place]))
        dropped = int(active[place]) if vanishing[place] == step else -1
        coefficients, products, highest = coefficients + step * signs * slopes, products - step * moved, highest - step
        if dropped >= 0:
            active, coefficients = np.delete(active, place), np.delete(coefficients, place)
    return found


def ridge_logistic(design: Floats, y: Floats, training: Floats, penalties: Floats, free: int) -> Floats:
    """Logistic regression with a ridge on few columns, weights of every fit (training sets × penalties × columns):

        minimise Σ_μ m_μ ln(1 + exp(−y_μ η_μ)) + λ/2 Σ_j w_j²,    η = Dw

    by Newton's method, all fits in one stack of small matrices. m is 1 on the training samples and 0 on the rest; the leading
    columns of D (the constant, covariates) go without a penalty but for a trace that keeps them finite where classes separate.

    Parameters
    ----------
    design : training sets × samples × columns, scaled.
    y : labels ±1.
    training : training sets × samples, 1 or 0.
    penalties : one λ for each fit of a training set.
    free : number of leading columns without a penalty.
    """
    count, _, width = design.shape
    ridge = np.where(np.arange(width) < free, TRACE, penalties[:, None])
    weights = np.zeros((count, len(penalties), width))
    turned = np.ascontiguousarray(design.transpose(0, 2, 1))
    positive, masks, places = (y > 0).astype(float), training[:, None, :], np.arange(width)
    for _ in range(MOST_STEPS):
        chances = probability(weights @ turned)
        slope = ((chances - positive) * masks) @ design + ridge * weights
        curvature = (turned[:, None] * (chances * (1 - chances) * masks)[:, :, None, :]) @ design[:, None]
        curvature[..., places, places] += ridge
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        moved = np.abs(step @ turned).max(axis=2)
        weights -= step * np.minimum(1.0, FARTHEST / np.maximum(moved, NEAR))[..., None]
        if moved.max(initial=0.0) < NEAR:
            break
    return weights


def probability(scores: Floats) -> Floats:
    """1/(1 + e^−η)."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))
