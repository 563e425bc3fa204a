"""A linear rule for new samples: which features, how many, and how far their weights are shrunk, by cross-validation.

The candidates are no feature at all; the sets of 1 … 30 features that least angle regression (the lasso's path) goes through,
and those of 2 … 9 by forward stepwise regression, which is better where labels are nearly free of noise, their weights from
logistic regression with a ridge; and *dense* rules, least squares with a ridge on the 32, 64, … or all features that differ most
between the classes (with a large ridge the weights are those of shrunken centroids), their scores turned into probabilities by
those of samples left out (Platt 1999). One is chosen by the Brier score of samples that had no part in the fit, five folds
within the samples given, in standard errors of the *difference*, sample by sample: no feature, if that lies within one of the
best; a dense rule, the mean of all within half of one of the best, if no set of least angle regression lies there; else the
smallest set within half of one of the best small set. It is made again from all samples given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chanceline._parallel import one_thread
from chanceline._results import Result
from chanceline.errors import InputError, whole_number
from chanceline.perceptron.problem import column_names, find_features
from chanceline.prediction.columns import as_table, columns_of
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.samples import (
    INNER_FOLDS,
    Bools,
    Floats,
    Ints,
    Samples,
    Scale,
    make_samples,
    make_scale,
    names_of,
    narrowed,
)

MOST_FEATURES = 30
FEW, STEPWISE, MANY, NAMED = "least angle regression", "forward stepwise", "many features", "named beforehand"
SIZES, MOST_STEPWISE = (0, 1, 2, 3, 4, 6, 9, 13, 20), 9
PENALTIES = np.array([0.001, 0.3, 3.0, 30.0])
# Of dense rules, in units of the mean eigenvalue; the smallest number of features, and the largest matrix that is taken apart.
DENSE_PENALTIES, DENSE, LARGEST_MATRIX = np.array([0.01, 0.1, 1.0, 1000.0]), 32, 600
# Standard errors that no feature and fewer features are worth.
NONE, FEWER = 1.0, 0.5
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
    penalty : the ridge λ on the weights of scaled columns. Of a dense rule it is in units of the
        mean eigenvalue; of the mean of several dense rules, the geometric mean of their ridges.
    kind : how the features were found, and the ridge chosen; of the mean of several dense rules how
        many there are, with their ridges and numbers of features.
    encoder : how covariates become columns of numbers; without any if the rule has none.
    covariate_weights : one for each of `encoder.terms`: of a number that enters as it is in its own
        units; of a level of a category, the step from the first level to it; of a number that was
        adjusted for, those of z and z² (see `chanceline.prediction.covariates.Curve`).
    block_biases : the bias for every block declared, by its name.
    block_column : the column that told the blocks, where it had a name.
    features : names of the columns of `support`, where X had names.
    """

    support: Ints
    weights: Floats
    bias: float
    penalty: float
    kind: str
    covariate_weights: Floats = field(default_factory=lambda: np.zeros(0))
    block_biases: dict[str, float] = field(default_factory=dict)
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    block_column: str = ""
    features: tuple[str, ...] = ()

    _derived = ("threshold", "dense")

    @property
    def threshold(self) -> float:
        """Positive where x_S·w lies above it."""
        return -self.bias

    @property
    def dense(self) -> bool:
        """Whether it has many features because, by cross-validation, no small set does as well."""
        return self.kind.startswith(MANY)

    def scores(self, X: Any, blocks: ArrayLike | None = None, covariates: Any = None) -> Floats:
        """x_S·w + b for every row, of shape (rows,).

        Parameters
        ----------
        X : the columns that the rule was made from, in their order; or a DataFrame, of which those
            that the rule knows by name are taken: features, covariates, the column of the blocks.
        blocks : the block of every row, which must be one of those the rule was made from. Without
            them the bias is that of the average block.
        covariates : a DataFrame or a mapping with the covariates by name, or an array in the order
            of `encoder.names`, as they were when the rule was made: text as text, numbers in the
            same units.
        """
        table = as_table(X)
        columns = columns_of(table, self.support, self.features)
        return self.scores_of(columns, table, blocks, covariates)

    def scores_of(
        self,
        columns: Floats,
        table: Any,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> Floats:
        """`scores` from the columns of the support, and the table that may hold the rest."""
        scores = columns @ self.weights
        if self.encoder.covariates:
            given = self._covariates(table, covariates)
            scores = scores + self.encoder.transform(given, len(scores)) @ self.covariate_weights
        names = column_names(table) or ()
        if blocks is None and self.block_column and self.block_column in names:
            blocks = table[self.block_column]
        if blocks is None:
            return scores + self.bias
        return scores + self._biases(names_of(blocks, len(scores), "blocks").tolist())

    def _covariates(self, table: Any, covariates: Any) -> Any:
        """The covariates of new samples: those given, or columns of their table."""
        if covariates is not None:
            return covariates
        if column_names(table) is None:
            names = ", ".join(self.encoder.names)
            remedy = "give those of the new samples as covariates=, or by name in a DataFrame X"
            raise InputError(f"the rule was made with covariates ({names}); {remedy}.")
        return table

    def _biases(self, names: list[str]) -> Floats:
        """The bias of every row's block."""
        unknown = sorted(set(names) - set(self.block_biases))
        if unknown:
            which = "blocks"
            if self.block_column:
                which = f"blocks (column {self.block_column!r})"
            remedy = f"leave the {which} of new samples out"
            raise InputError(f"the rule knows no block {unknown[0]!r}; {remedy}.")
        return np.array([self.block_biases[name] for name in names])

    def probabilities(
        self,
        X: Any,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> Floats:
        """Estimated probability of the positive class for every row; parameters as in `scores`."""
        return probability(self.scores(X, blocks, covariates))

    def summary(self) -> str:
        return f"{len(self.support)} features ({self.kind})"


class Candidate(NamedTuple):
    """How a rule is made: of a path, the set with `size` features; of a dense one, the weights of the constant, of covariates and
    of the score.
    """

    family: str
    size: int
    penalty: float
    link: Floats


# Columns, labels and lengths, as `explained` gives them.
Explained = tuple[Floats, Floats, Floats]


class Trained(NamedTuple):
    """A rule in the columns as its training samples see them.

    Attributes
    ----------
    support : its columns.
    weights : of the constant, of covariates, of the support.
    made_of : the candidate it is made from; of a dense rule all that are averaged.
    """

    support: Ints
    weights: Floats
    scale: Scale
    made_of: tuple[Candidate, ...]


@one_thread()
def fit_rule(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    features: Sequence[int] | None = None,
    max_features: int | None = None,
    seed: int = 0,
) -> PredictionRule:
    """A rule meant for new samples, on few features where few do as well as many.

    Parameters
    ----------
    X : samples × features.
    y : two classes, the larger value positive, as in scikit-learn (`separation_test` chooses the positive class by its name).
    groups : samples of a group stay together in a fold.
    blocks : columns are measured from the mean of their block.
    covariates : columns that the rule has besides, without shrinkage: a DataFrame or a mapping by
        name, or an array, samples × covariates. Units do not matter; text has an indicator for
        every level but the first.
    encoder : how covariates become columns of numbers; by default numbers enter as they are.
    features : columns to use, all of them, where they are fixed beforehand; by default they are chosen.
    max_features : largest number of features chosen; None: thirty, or many more where no small set does as well.
    seed : of the folds.
    """
    samples = make_samples(X, y, groups, blocks, covariates, encoder)
    named = None if features is None else find_features(features, [""] * samples.X.shape[1])
    found = train(samples, np.ones(len(samples.y), dtype=bool), named, max_features, [seed])
    order, free = np.argsort(found.support), samples.beside.shape[1]
    support = found.support[order]
    weights = found.weights[free:][order] / found.scale.spread[support]
    covariate_weights = found.weights[1:free] / samples.terms_spread
    constant = found.weights[0] - samples.terms_centre @ covariate_weights
    biases = constant - found.scale.centre[:, support] @ weights
    tuned = "tuned by cross-validation"
    if np.ptp(samples.unit_of) == 0:
        tuned = "not tuned, as all samples belong together"
    block_biases = {}
    block_column = ""
    if blocks is not None:
        names = np.unique(names_of(blocks, len(samples.y), "blocks")).tolist()
        block_biases = dict(zip(names, biases.tolist(), strict=True))
        block_column = str(getattr(blocks, "name", None) or "")
    columns = column_names(X) or ()
    return PredictionRule(
        support=support,
        weights=weights,
        bias=float(biases[samples.block_of].mean()),
        penalty=mean_penalty(found.made_of),
        kind=f"{describe(found.made_of)}, {tuned}",
        covariate_weights=covariate_weights,
        block_biases=block_biases,
        encoder=samples.encoder,
        block_column=block_column,
        features=tuple(columns[place] for place in support) if columns else (),
    )


def mean_penalty(candidates: Sequence[Candidate]) -> float:
    """The geometric mean of their ridges."""
    penalties = np.array([candidate.penalty for candidate in candidates])
    if np.all(penalties == penalties[0]):
        return float(penalties[0])
    return float(np.exp(np.log(penalties).mean()))


def describe(candidates: Sequence[Candidate]) -> str:
    """How the features were found (the family's name, up to the first comma), and the ridge."""
    family = candidates[0].family
    penalties = sorted({candidate.penalty for candidate in candidates})
    sizes = sorted({candidate.size for candidate in candidates})
    if len(candidates) == 1:
        return f"{family}, ridge {penalties[0]:g}"
    ridges = f"ridge {penalties[0]:g}"
    if len(penalties) > 1:
        ridges = f"ridges {penalties[0]:g}–{penalties[-1]:g}"
    features = f"{sizes[0]} features"
    if len(sizes) > 1:
        features = f"{sizes[0]}–{sizes[-1]} features"
    return f"{family}, mean of {len(candidates)} rules with {ridges} on {features}"


def train(samples: Samples, training: Bools, named: Ints | None, most: int | None, seed: list[int]) -> Trained:
    """The whole procedure on some of the samples; nothing of the others has a part in it but the mean of a block left out."""
    narrow, kept = narrowed(samples, training) if named is None else (samples, named)
    if narrow is not samples:
        found = train(narrow, training, named, most, seed)
        spread, centre = np.full(samples.X.shape[1], np.inf), np.zeros((len(found.scale.centre), samples.X.shape[1]))
        centre[:, kept], spread[kept] = found.scale
        return found._replace(support=kept[found.support], scale=Scale(centre, spread))
    part, scale = samples.take(training), make_scale(samples, training)
    candidates = tune(part, named, most, seed)
    made = candidates[-1]
    if made.family == MANY:
        # Sizes ascend, and each set of columns begins with the one before.
        each = directions_of(explained(part, scale), [one.size for one in candidates])
        weights = np.zeros(part.beside.shape[1] + made.size)
        for one, (_, rows) in zip(candidates, each, strict=True):
            row = np.append(one.link[:-1], one.link[-1] * rows[one.penalty == DENSE_PENALTIES])
            weights[: len(row)] += row / len(candidates)
        return Trained(each[-1][0], weights, scale, tuple(candidates))
    support = PATHS[made.family](*explained(part, scale)[:2], made.size)[-1] if named is None else named
    design, everybody = scale.design(part, support)[None], np.ones((1, len(part.y)))
    weights = ridge_logistic(design, part.y, everybody, np.array([made.penalty]), part.beside.shape[1])[0, 0]
    return Trained(support, weights, scale, tuple(candidates))


def tune(samples: Samples, named: Ints | None, most: int | None, seed: list[int]) -> list[Candidate]:
    """The candidate to take, by cross-validation within these samples; if it is dense, all that are averaged."""
    samples = samples.share_of(MOST_TUNED, [*seed, 1])
    fold_of = samples.fold_of(INNER_FOLDS, [*seed, 0])
    if fold_of.max() == 0:
        # Nothing can be left out: no feature, or those named.
        return [Candidate(FEW if named is None else NAMED, 0, UNTUNED, np.zeros(0))]
    masks, everyone = fold_of != np.arange(fold_of.max() + 1)[:, None], np.arange(len(fold_of))
    scales = [make_scale(samples, mask) for mask in masks]
    largest = MOST_FEATURES if most is None else whole_number(most, "max_features", at_least=1)
    seen = [explained(samples.take(mask), scale) for mask, scale in zip(masks, scales, strict=True)] if named is None else []
    paths = {family: [path(*one[:2], largest) for one in seen] for family, path in PATHS.items() if named is None}
    # The first set with one feature is the same on both paths.
    known = [(family, size) for family, size in product(paths, sorted({*SIZES, largest})) if family == FEW or size > 1]
    sets = [
        (family, size, [path[size] for path in paths[family]]) for family, size in known if size < min(map(len, paths[family]))
    ]
    candidates, chances = list[Candidate](), list[Floats]()
    for family, size, supports in sets if named is None else [(NAMED, 0, [named] * len(masks))]:
        design = np.stack([scale.design(samples, support) for scale, support in zip(scales, supports, strict=True)])
        weights = ridge_logistic(design, samples.y, masks.astype(float), PENALTIES, samples.beside.shape[1])
        chances.extend(probability(np.einsum("slk,sk->ls", weights[fold_of], design[fold_of, everyone])))
        candidates.extend(Candidate(family, size, float(one), np.zeros(0)) for one in PENALTIES)
    dense, given = (
        dense_candidates(samples, masks, scales, fold_of, seen) if named is None and most is None else ([], np.zeros((0, 0)))
    )
    candidates, wrong = candidates + dense, np.abs(np.array([*chances, *given]) - (samples.y > 0))
    place = smallest_within_error(
        np.array([one.size for one in candidates]), wrong**2, np.array([one.family == FEW for one in candidates])
    )
    near = within(wrong**2, FEWER, place)
    averaged = [one for one, is_near in zip(candidates, near, strict=True) if is_near and one.family == MANY]
    return averaged if candidates[place].family == MANY else [candidates[place]]


def smallest_within_error(sizes: Ints, losses: Floats, first: Bools) -> int:
    """Of the candidates' losses (by samples) which to take: none; the best, if no small set is near it; the smallest set.

    A dense rule is compared with small sets of the `first` path alone: the more of them, the sooner one is near by chance.
    """
    means, small = losses.mean(axis=1), sizes <= MOST_FEATURES
    best, few, near_by = (int(np.where(among, means, np.inf).argmin()) for among in (sizes >= 0, small, small & first))
    near = (sizes == 0) & within(losses, NONE, best)
    if not near.any():
        compared = small[best] or within(losses, FEWER, best)[near_by]
        near = small & within(losses, FEWER, few) if compared else np.arange(len(sizes)) == best
    return int(min(np.flatnonzero(near), key=lambda place: (sizes[place], means[place])))


def within(losses: Floats, share: float, best: int) -> Bools:
    """Which losses lie within a share of a standard error of one of them."""
    beyond = losses - losses[best]
    return np.asarray(beyond.mean(axis=1) <= share * beyond.std(axis=1) / np.sqrt(losses.shape[1]))


def dense_candidates(
    samples: Samples, masks: Bools, scales: list[Scale], fold_of: Ints, seen: list[Explained]
) -> tuple[list[Candidate], Floats]:
    """Rules on many features, and the chances that they give to samples left out, by a link from score to chance that is fitted
    to the scores left out.
    """
    width, free = samples.X.shape[1], samples.beside.shape[1]
    doubled = {min(DENSE * 2**power, width) for power in range(width.bit_length())}
    sizes = [size for size in sorted(doubled) if min(size, len(fold_of)) <= LARGEST_MATRIX]
    found = [directions_of(one, sizes) for one in seen]
    # Of every size and penalty a score for each sample, from the rule made without it; each set begins with the one before.
    scores = np.empty((len(sizes) * len(DENSE_PENALTIES), len(fold_of)))
    for mask, scale, at in zip(masks, scales, found, strict=True):
        left_out = scale.design(samples.take(~mask), at[-1][0])[:, free:]
        scores[:, ~mask] = np.vstack([rows @ left_out[:, : len(columns)].T for columns, rows in at])
    spread = np.maximum(scores.std(axis=1, keepdims=True), SMALL)
    design = np.stack([np.column_stack([samples.beside, score]) for score in scores / spread])
    # The ridge on the scale of a score is 1, for scores in standard deviations.
    links = ridge_logistic(design, samples.y, np.ones(scores.shape), np.ones(1), free)[:, 0]
    # A score that points the wrong way is noise.
    links[:, -1] = np.maximum(links[:, -1], 0.0)
    chances = probability(np.einsum("ck,csk->cs", links, design))
    links[:, -1:] /= spread
    return [Candidate(MANY, *pair, link) for pair, link in zip(product(sizes, DENSE_PENALTIES), links, strict=True)], chances


def directions_of(seen: Explained, sizes: Sequence[int]) -> list[tuple[Ints, Floats]]:
    """Ridge regression on the columns c_j with the largest products p_j = |t·c_j| with the target, for every size: which, and
    their weights (a row for each of `DENSE_PENALTIES`, in the columns as they were before they were given length 1).

        w = S Cᵀ(CCᵀ + λ)⁻¹ t = S (CᵀC + λ)⁻¹ Cᵀt,    C = (c_1, c_2, …) S,    S_j² = 1 − q/p_j

    where q is the largest product of the columns left out: for large λ, w_j ∝ ±(p_j − q), a shrunken centroid's.
    """
    columns, target, lengths = seen
    products = np.abs(target @ columns)
    order, found = np.argsort(-products, kind="stable"), []
    ranked, best = np.append(np.maximum(products[order], SMALL), 0.0), columns[:, order[: max(sizes)]]
    for size in sizes:
        soft = np.sqrt(1 - ranked[size] / ranked[:size])
        chosen = best[:, :size] * soft
        few = size < len(target)
        values, vectors = np.linalg.eigh(chosen.T @ chosen if few else chosen @ chosen.T)
        ridge = values + DENSE_PENALTIES[:, None] * max(values.mean(), SMALL)
        weights = (vectors.T @ (chosen.T @ target if few else target) / ridge) @ vectors.T
        found.append((order[:size], (weights if few else weights @ chosen) * soft / lengths[order[:size]]))
    return found


def explained(samples: Samples, scale: Scale) -> Explained:
    """Columns and labels less what covariates explain of them; columns of length 1 (0, if nothing is left), and their lengths."""
    columns = scale.design(samples, np.arange(samples.X.shape[1]))[:, samples.beside.shape[1] :]
    basis = np.linalg.qr(samples.beside)[0]
    columns -= basis @ (basis.T @ columns)
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    lengths = np.where(lengths > COPY * np.sqrt(len(columns)), lengths, np.inf)
    return columns / lengths, samples.y - basis @ (basis.T @ samples.y), lengths


def least_angle_path(columns: Floats, target: Floats, most: int) -> list[Ints]:
    """Supports of 0, 1, 2, … columns by least angle regression (Efron, Hastie, Johnstone and Tibshirani 2004), the lasso's path
    but that no column leaves: all active columns keep the same product with the residual, in absolute value the largest; it sinks
    until another column has it.

    Parameters
    ----------
    columns : samples × columns, centred and of length 1 (or zero: never chosen).
    target : centred labels.
    most : largest number of columns.
    """
    products, found = target @ columns, [np.zeros(0, dtype=np.int64)]
    highest = start = float(np.abs(products).max(initial=0.0))
    joining = int(np.abs(products).argmax())
    for _ in range(min(most, len(columns) - 1)):
        if highest <= SMALL * start:
            break
        found.append(np.append(found[-1], joining))
        chosen = columns[:, found[-1]] * np.sign(products[found[-1]])
        slopes = np.linalg.solve(chosen.T @ chosen + SMALL * np.eye(len(found[-1])), np.ones(len(found[-1])))
        moved = (chosen @ slopes) @ columns
        # How far the common product sinks until a column has it, with either sign.
        steps = np.minimum(
            np.where(moved < 1 - COPY, (highest - products) / np.maximum(1 - moved, COPY), np.inf),
            np.where(moved > COPY - 1, (highest + products) / np.maximum(1 + moved, COPY), np.inf),
        )
        steps[found[-1]] = np.inf
        joining = int(steps.argmin())
        step = min(highest, float(steps[joining]))
        products, highest = products - step * moved, highest - step
    return found


def stepwise_path(columns: Floats, target: Floats, most: int) -> list[Ints]:
    """Supports of 0, 1, 2, … columns by forward stepwise least squares: the column that explains most of what is left of the
    target comes next. Parameters as in `least_angle_path`; nine columns at most.
    """
    products, lengths, found = target @ columns, np.einsum("ij,ij->j", columns, columns), [np.zeros(0, dtype=np.int64)]
    for _ in range(min(most, MOST_STEPWISE, len(columns) - 1)):
        gains = np.where(lengths > COPY, products**2 / np.maximum(lengths, COPY), 0.0)
        if gains.max() <= SMALL * (target @ target):
            break
        found.append(np.append(found[-1], gains.argmax()))
        # The part of the newest column outside the others' span; products and squared lengths lose what lies along it.
        along = np.linalg.qr(columns[:, found[-1]])[0][:, -1]
        moved = along @ columns
        products, lengths = products - (along @ target) * moved, lengths - moved**2
    return found


PATHS = {FEW: least_angle_path, STEPWISE: stepwise_path}


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
