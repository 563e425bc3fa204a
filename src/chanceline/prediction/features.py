"""How firm is a choice of features? Resamples that choose them too, their effects, stand-ins, and other sets that do as well.

Errors here are those on the samples themselves, of the fit that the rule has (logistic regression with its ridge): they say what
the samples cannot tell apart, not what to expect on new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from chanceline._results import Result
from chanceline.prediction.refit import probability, ridge_logistic
from chanceline.prediction.rule import UNTUNED, supports_of
from chanceline.prediction.samples import Bools, Floats, Ints, Samples, make_samples, make_scale

# Halves of the samples, and columns that are tried in the place of each feature.
HALVES, TRIED = 50, 30


@dataclass(frozen=True)
class FeatureReading:
    """One feature of a set.

    Attributes
    ----------
    feature : its column.
    selected : share of the halves of the samples (drawn at random, groups kept whole) in which the lasso's set of the same size
        has it.
    difference : of the class means, positive less negative, in standard deviations within the classes.
    auc : area under the curve of the column alone; below one half if it is smaller in the positive class.
    stand_ins : columns that replace it in the set with at most one error more, fewest errors first.
    """

    feature: int
    selected: float
    difference: float
    auc: float
    stand_ins: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Firmness(Result):
    """All features of a set.

    Attributes
    ----------
    errors : of the set, on the samples themselves, by the fit of the rule with this ridge.
    readings : one for each feature, in the order of their columns.
    alternatives : sets of the same size with no more errors, by exchange of one feature for one of the thirty most promising;
        there may be more.
    """

    errors: int
    readings: tuple[FeatureReading, ...]
    alternatives: tuple[tuple[int, ...], ...]

    kind = "resampling"

    def summary(self) -> str:
        return f"{len(self.readings)} features, {self.errors} errors, {len(self.alternatives)} other sets that make no more"


def firmness(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
    penalty: float = UNTUNED,
    seed: int = 0,
) -> Firmness:
    """How firm the features of a set are; `penalty` is the ridge of its rule, the rest as in `fit_rule`."""
    samples = make_samples(X, y, groups, blocks, covariates)
    chosen = np.sort(np.asarray(support, dtype=np.int64))
    scale = make_scale(samples, np.ones(len(samples.y), dtype=bool))
    free, positive = samples.beside.shape[1], samples.y > 0
    columns = scale.design(samples, np.arange(samples.X.shape[1]))[:, free:]
    shares = chosen_by_halves(samples, len(chosen), seed)
    errors = int(errors_of(samples, columns[:, chosen][None], penalty)[0])
    readings, alternatives = [], []
    for feature in chosen:
        column, rest = columns[:, feature], chosen[chosen != feature]
        counts = dict(sorted(replacements(samples, columns, rest, chosen, penalty).items(), key=lambda pair: pair[1]))
        alternatives += [tuple(sorted([*rest.tolist(), other])) for other, count in counts.items() if count <= errors]
        stand_ins = tuple(other for other, count in counts.items() if count <= errors + 1)
        readings.append(FeatureReading(int(feature), float(shares[feature]), *effect(column, positive), stand_ins))
    return Firmness(errors, tuple(readings), tuple(dict.fromkeys(alternatives)))


def effect(column: Floats, positive: Bools) -> tuple[float, float]:
    """Difference of the class means in standard deviations within the classes, and the area under the curve of a column."""
    spread = np.sqrt((column[positive].var() + column[~positive].var()) / 2)
    difference = float((column[positive].mean() - column[~positive].mean()) / spread) if spread > 0 else 0.0
    return difference, float((rankdata(column)[positive].mean() - (positive.sum() + 1) / 2) / (~positive).sum())


def chosen_by_halves(samples: Samples, size: int, seed: int) -> Floats:
    """For every column the share of halves of the samples whose lasso path of this size has it."""
    counts = np.zeros(samples.X.shape[1])
    for number in range(HALVES // 2):
        side = samples.fold_of(2, [seed, 5, number])
        for half in (side == 0, side == 1):
            path = supports_of(samples.take(half), make_scale(samples, half), None, size)
            counts[path[-1]] += 1
    return counts / HALVES


def replacements(samples: Samples, columns: Floats, rest: Ints, chosen: Ints, penalty: float) -> dict[int, int]:
    """Errors of `rest` with each of the columns that promise most, by their product with what the rest leaves unexplained."""
    design = np.hstack([samples.beside, columns[:, rest]])
    everybody = np.ones((1, len(design)))
    weights = ridge_logistic(design[None], samples.y, everybody, np.array([penalty]), samples.beside.shape[1])[0, 0]
    promise = np.abs(((samples.y > 0) - probability(design @ weights)) @ columns)
    promise[chosen] = -1.0
    tried = np.argsort(-promise, kind="stable")[:TRIED]
    tried = tried[promise[tried] > 0]
    stack = np.stack([columns[:, [*rest, other]] for other in tried]) if len(tried) else np.zeros((0, len(design), 1))
    return dict(zip(tried.tolist(), errors_of(samples, stack, penalty).tolist(), strict=True))


def errors_of(samples: Samples, stack: Floats, penalty: float) -> Ints:
    """Errors of the fit on every set of columns (sets × samples × columns), on the samples themselves."""
    free = samples.beside.shape[1]
    design = np.concatenate([np.broadcast_to(samples.beside, (len(stack), *samples.beside.shape)), stack], axis=2)
    weights = ridge_logistic(design, samples.y, np.ones(design.shape[:2]), np.array([penalty]), free)
    return np.count_nonzero(samples.y * (weights @ design.transpose(0, 2, 1))[:, 0] <= 0, axis=1)
