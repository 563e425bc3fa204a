"""What a rule is worth: its error on new samples, by cross-validation with everything inside; how firm the choice of its features
is (resamples that choose them too, effects, stand-ins, other sets that do as well); and small whole points for them.

Errors of `firmness` are those on the samples themselves, of the fit that the rule has (logistic regression with its ridge): they
say what the samples cannot tell apart, not what to expect on new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from chanceline._parallel import one_thread, run_ordered
from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.perceptron.problem import check_arrays, find_features
from chanceline.perceptron.rule import make_rule
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.rule import (
    MANY,
    PATHS,
    UNTUNED,
    PredictionRule,
    Trained,
    explained,
    least_angle_path,
    probability,
    ridge_logistic,
    train,
)
from chanceline.prediction.samples import OUTER_FOLDS, Bools, Floats, Ints, Samples, make_samples, make_scale, narrowed

CONFIDENCE = 0.95
# Of the units' number; see `benchmarks/expected.py`.
EFFECTIVE = 0.4
# Units without which nothing is cross-validated: one to leave out, two to tune with.
FEWEST_UNITS = 3
# With fewer numbers than this, starting processes takes longer than the folds.
WORTH_PROCESSES = 200_000
# Halves of the samples, columns that are tried in the place of each feature, and features of a rule on many that are looked at.
HALVES, TRIED, LOOKED_AT = 50, 30, 10
# Largest weight of a scorecard, and the number of scales at which weights are rounded to begin with.
LARGEST, SCALES = 5, 40


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedError(Result):
    """Cross-validated error of the rule that `fit_rule` gives.

    Attributes
    ----------
    rate : share of samples classified wrongly by a rule that they had no part in.
    interval : 95 % interval for the true error of the rule made from all samples: Clopper and
        Pearson's for four tenths as many independent samples as there are. The rest pays for rules
        that differ from fold to fold and from the one made of all samples; the coverage is measured
        (`python benchmarks/expected.py`). Samples of one unit (a group, or a block that is left out
        whole) count as far as they tell different things (`independent_samples`).
    n_effective : the independent samples that the interval stands for, four tenths included.
    guess : error of always naming the larger class.
    auc : area under the curve of the scores left out, within folds.
    sensitivity, specificity : share of the positive and of the negative samples classified rightly.
    predictions : score of every sample from the rule that it had no part in.
    n_features : number of features in every fold.
    covariates_rate : the error of covariates alone, None without covariates.
    """

    rate: float
    interval: tuple[float, float]
    guess: float
    auc: float
    sensitivity: float
    specificity: float
    n_folds: int
    predictions: Floats
    n_features: tuple[int, ...]
    n_effective: float
    covariates_rate: float | None = None

    kind = "cross-validated"
    _derived = ("no_better_than_guessing", "ranks_better_than_guessing")
    _hidden = ("predictions",)

    @property
    def no_better_than_guessing(self) -> bool:
        """Whether the interval reaches the error of guessing."""
        return self.interval[1] >= self.guess

    @property
    def ranks_better_than_guessing(self) -> bool:
        """Whether the area under the curve lies farther above one half than chance takes it.

        That of scores that tell nothing has variance (n₁ + n₂ + 1)/(12 n₁n₂) (Mann and Whitney
        1947), n₁ + n₂ being the independent samples that the interval stands for. A rule may rank
        the samples of classes of unequal size well and yet err as often as guessing.
        """
        smaller = self.guess * self.n_effective
        larger = self.n_effective - smaller
        deviation = sqrt((smaller + larger + 1) / (12 * smaller * larger))
        return self.auc - 0.5 > float(ndtri((1 + CONFIDENCE) / 2)) * deviation

    def summary(self) -> str:
        low, high = (round(100 * end) for end in self.interval)
        return f"CV error {100 * self.rate:.0f} % (95 % CI {low}–{high}), majority class {100 * self.guess:.0f} %"


def expected_error(
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
    n_jobs: int | None = 1,
) -> ExpectedError | None:
    """Cross-validate `fit_rule`, whose parameters these are; None where too little can be left out.

    That is so if a class has fewer than two units, so that no fold can spare one; and if there are
    two units in all (small blocks of both classes), because a rule made from one of them could not
    be tuned.
    """
    samples = make_samples(X, y, groups, blocks, covariates, encoder)
    units = [len(np.unique(samples.unit_of[samples.y == label])) for label in (-1.0, 1.0)]
    if min(units) < 2 or len(np.unique(samples.unit_of)) < FEWEST_UNITS:
        return None
    named = None if features is None else find_features(features, [""] * samples.X.shape[1])
    fold_of = samples.fold_of(OUTER_FOLDS, [seed, 2])
    folds = list(range(int(fold_of.max()) + 1))
    jobs = n_jobs if samples.X.size > WORTH_PROCESSES else 1
    trained = list(run_ordered(one_fold, folds, common=(samples, fold_of, named, max_features, seed), n_jobs=jobs))
    scores = left_out(trained, samples, fold_of)
    wrong = error_of(scores, samples.y)
    positive = samples.y > 0
    none = np.zeros(0, dtype=np.int64)
    alone = [one_fold(fold, samples, fold_of, none, max_features, seed) for fold in folds if covariates is not None]
    beside = error_of(left_out(alone, samples, fold_of), samples.y).mean() if alone else None
    rate = float(wrong.mean())
    count = EFFECTIVE * independent_samples(probability(-samples.y * scores), samples.unit_of)
    return ExpectedError(
        rate=rate,
        interval=clopper_pearson(rate * count, count),
        guess=float(min(positive.mean(), 1 - positive.mean())),
        auc=area(scores, positive, fold_of),
        sensitivity=float(1 - wrong[positive].mean()),
        specificity=float(1 - wrong[~positive].mean()),
        n_folds=len(folds),
        predictions=scores,
        n_features=tuple(len(rule.support) for rule in trained),
        n_effective=count,
        covariates_rate=None if beside is None else float(beside),
    )


def independent_samples(wrong_chances: Floats, unit_of: Ints) -> float:
    """How many independent samples the given ones are worth: P/(1 + (m − 1)ρ) (Kish 1965).

    m = Σ m_u²/P is the size of a unit as its samples see it, and ρ the correlation within units of
    what is averaged, by analysis of variance. With ρ = 1 units count, with ρ = 0 samples do. As
    few units tell ρ badly, the number is lowered by the square of the quantiles of t with P − 1
    and U − 1 degrees of freedom (Korn and Graubard 1998), but never below that for ρ = 1.

    Parameters
    ----------
    wrong_chances : the chance that the rule made without a sample gives to the wrong class, of
        shape (samples,). Errors would do, but where none is made they tell nothing about ρ.
    unit_of : number of every sample's unit.
    """
    n_samples = len(unit_of)
    units, unit_of = np.unique(unit_of, return_inverse=True)
    n_units = len(units)
    if n_units == n_samples:
        return float(n_samples)
    sizes = np.bincount(unit_of)
    seen_size = float(np.sum(sizes**2)) / n_samples
    fewest = n_samples / seen_size
    means = np.bincount(unit_of, weights=wrong_chances) / sizes
    within = np.sum((wrong_chances - means[unit_of]) ** 2) / (n_samples - n_units)
    between = np.sum(sizes * (means - wrong_chances.mean()) ** 2) / (n_units - 1)
    size_in_between = (n_samples - seen_size) / (n_units - 1)
    variance_of_units = max(0.0, (between - within) / size_in_between)
    if variance_of_units + within == 0:
        return fewest
    correlation = variance_of_units / (variance_of_units + within)
    tail = (1 + CONFIDENCE) / 2
    doubt = (stdtrit(n_samples - 1, tail) / stdtrit(n_units - 1, tail)) ** 2
    return max(fewest, float(doubt * n_samples / (1 + (seen_size - 1) * correlation)))


def one_fold(fold: int, samples: Samples, fold_of: Ints, named: Ints | None, most: int | None, seed: int) -> Trained:
    """The rule made without one fold."""
    return train(samples, fold_of != fold, named, most, [seed, 3, fold])


def left_out(trained: list[Trained], samples: Samples, fold_of: Ints) -> Floats:
    """The score of every sample by the rule that was made without it."""
    every = [rule.scale.design(samples, rule.support) @ rule.weights for rule in trained]
    return np.stack(every)[fold_of, np.arange(len(fold_of))]


def error_of(scores: Floats, y: Floats) -> Floats:
    """1 on the wrong side, one half on the threshold."""
    return 0.5 - 0.5 * np.sign(y * scores)


def area(scores: Floats, positive: Bools, fold_of: Ints) -> float:
    """Area under the curve: the share of pairs of a positive and a negative sample of one fold in the right order."""
    sides = [(scores[positive & (fold_of == fold)], scores[~positive & (fold_of == fold)]) for fold in range(fold_of.max() + 1)]
    pairs = np.concatenate([0.5 + 0.5 * np.sign(np.subtract.outer(*pair)).ravel() for pair in sides])
    return float(pairs.mean()) if len(pairs) else float("nan")


def clopper_pearson(successes: float, trials: float) -> tuple[float, float]:
    """Clopper and Pearson's (1934) interval for a share among independent trials, whose number need not be whole."""
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    return low, float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0


@dataclass(frozen=True)
class FeatureReading:
    """One feature of a set.

    Attributes
    ----------
    feature : its column.
    selected : share of the halves of the samples (drawn at random, groups kept whole) in which the path's set of the same size
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


@one_thread()
def firmness(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    penalty: float = UNTUNED,
    kind: str = "",
    seed: int = 0,
) -> Firmness:
    """How firm the features of a set are; `penalty` and `kind` are those of its rule, the rest as in `fit_rule`."""
    samples = make_samples(X, y, groups, blocks, covariates, encoder)
    chosen, everybody = np.sort(np.asarray(support, dtype=np.int64)), np.ones(len(samples.y), dtype=bool)
    # The ridge of a dense rule has other units.
    penalty = UNTUNED if kind.startswith(MANY) else penalty
    samples, kept = narrowed(samples, everybody, chosen)
    # Positions are those among the columns kept, until they are told.
    chosen = np.searchsorted(kept, chosen)
    scale = make_scale(samples, everybody)
    free, positive = samples.beside.shape[1], samples.y > 0
    columns = scale.design(samples, np.arange(samples.X.shape[1]))[:, free:]
    shares = chosen_by_halves(samples, len(chosen), kind, seed)
    errors = int(errors_of(samples, columns[:, chosen][None], penalty)[0])
    readings, alternatives = [], []
    for feature in chosen:
        column, rest = columns[:, feature], chosen[chosen != feature]
        counts = dict(sorted(replacements(samples, columns, rest, chosen, penalty).items(), key=lambda pair: pair[1]))
        alternatives += [tuple(np.sort(kept[[*rest, other]]).tolist()) for other, count in counts.items() if count <= errors]
        stand_ins = tuple(int(kept[other]) for other, count in counts.items() if count <= errors + 1)
        readings.append(FeatureReading(int(kept[feature]), float(shares[feature]), *effect(column, positive), stand_ins))
    return Firmness(errors, tuple(readings), tuple(dict.fromkeys(alternatives)))


def effect(column: Floats, positive: Bools) -> tuple[float, float]:
    """Difference of the class means in standard deviations within the classes, and the area under the curve of a column."""
    spread = np.sqrt((column[positive].var() + column[~positive].var()) / 2)
    difference = float((column[positive].mean() - column[~positive].mean()) / spread) if spread > 0 else 0.0
    ranks = [np.searchsorted(np.sort(column[~positive]), column[positive], side).mean() for side in ("left", "right")]
    return difference, float(np.mean(ranks) / (~positive).sum())


def chosen_by_halves(samples: Samples, size: int, kind: str, seed: int) -> Floats:
    """For every column the share of halves of the samples whose path, of the rule's kind, has it at this size."""
    counts, path = np.zeros(samples.X.shape[1]), PATHS.get(kind.partition(",")[0], least_angle_path)
    drawn = 0
    for number in range(HALVES // 2):
        side = samples.fold_of(2, [seed, 5, number])
        for half in (side == 0, side == 1):
            if not half.any():
                # One unit has no halves.
                continue
            counts[path(*explained(samples.take(half), make_scale(samples, half))[:2], size)[-1]] += 1
            drawn += 1
    return counts / drawn


def replacements(samples: Samples, columns: Floats, rest: Ints, chosen: Ints, penalty: float) -> dict[int, int]:
    """Errors of `rest` with each of the columns that promise most, by their product with what the rest leaves unexplained."""
    design = np.hstack([samples.beside, columns[:, rest]])
    weights = ridge_logistic(design[None], samples.y, np.ones((1, len(design))), np.array([penalty]), samples.beside.shape[1])[
        0, 0
    ]
    promise = np.abs(((samples.y > 0) - probability(design @ weights)) @ columns)
    promise[chosen] = -1.0
    tried = np.argsort(-promise, kind="stable")[:TRIED]
    tried = tried[promise[tried] > 0]
    stack = np.stack([columns[:, [*rest, other]] for other in tried]) if len(tried) else np.zeros((0, len(design), 1))
    return dict(zip(tried.tolist(), errors_of(samples, stack, penalty).tolist(), strict=True))


def errors_of(samples: Samples, stack: Floats, penalty: float) -> Ints:
    """Errors of the fit on every set of columns (sets × samples × columns), on the samples themselves."""
    design = np.concatenate([np.broadcast_to(samples.beside, (len(stack), *samples.beside.shape)), stack], axis=2)
    weights = ridge_logistic(design, samples.y, np.ones(design.shape[:2]), np.array([penalty]), samples.beside.shape[1])
    scores = (weights @ design.transpose(0, 2, 1))[:, 0]
    return np.count_nonzero((scores > 0) != (samples.y > 0), axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Result):
    """A rule with small whole weights: positive where Σ_j points_j x_j/step_j lies above the threshold.

    Attributes
    ----------
    support : columns with points other than zero.
    points : whole numbers.
    steps : what a point is given for, in the units of each column: a standard deviation (two digits), or as asked.
    threshold : in points.
    errors : of the scorecard on the samples given, counted exactly.
    loss : how many more these are than the rule makes that it comes from (fewer, if negative).
    """

    support: Ints
    points: Ints
    steps: Floats
    threshold: float
    errors: int
    loss: int

    kind = "exact"

    def summary(self) -> str:
        return f"{len(self.points)} features, points of at most {np.abs(self.points).max(initial=0)}, {self.errors} errors"


def scorecard(
    X: ArrayLike, y: ArrayLike, rule: PredictionRule, *, largest: int = LARGEST, steps: ArrayLike | None = None
) -> Scorecard:
    """Whole weights of at most `largest` for the features of a rule, with few errors on the samples.

    The weights are rounded at many scales; from the best rounding one weight at a time is moved by one as long as that makes
    fewer errors, or as many and a score that follows the rule's more closely.

    Parameters
    ----------
    X, y : the samples that the rule was made from.
    steps : one for every feature of the rule, such as 10 for "a point for every 10 mg/l".
    """
    values, labels, _ = check_arrays(X, y)
    if len(rule.covariate_weights) or len(rule.block_biases) > 1 or len(rule.support) == 0:
        raise InputError("a scorecard needs a rule on features alone, without covariates and blocks, and with at least one.")
    columns = values[:, rule.support]
    unit = np.array([float(f"{spread:.2g}") for spread in columns.std(axis=0)] if steps is None else steps, dtype=float)
    if unit.shape != (len(rule.support),) or not np.all(unit > 0):
        raise InputError(f"steps must hold a positive number for each of the {len(rule.support)} features of the rule.")
    wanted, scores, scaled = rule.weights * unit, rule.scores(values), columns / unit

    def rank(points: tuple[int, ...]) -> tuple[int, float]:
        total = scaled @ np.array(points, dtype=float)
        return cut(total, labels)[1], -float(np.corrcoef(total, scores)[0, 1]) if np.ptp(total) > 0 else np.inf

    sizes = np.linspace(0.5, largest, SCALES)[:, None] / np.abs(wanted).max()
    best = min(map(tuple, np.rint(sizes * wanted).astype(int).tolist()), key=rank)
    while True:
        moves = [(*best[:j], best[j] + move, *best[j + 1 :]) for j in range(len(best)) for move in (-1, 1)]
        better = min((points for points in moves if max(map(abs, points)) <= largest), key=rank)
        if rank(better) >= rank(best):
            break
        best = better
    used = np.flatnonzero(best)
    points, threshold = np.array(best)[used], cut(scaled @ np.array(best, dtype=float), labels)[0]
    errors = make_rule(values, labels, rule.support[used], points / unit[used], -threshold).errors
    before = make_rule(values, labels, rule.support, rule.weights, rule.bias).errors
    return Scorecard(rule.support[used], points, unit[used], threshold, errors, errors - before)


def cut(scores: Floats, labels: Floats) -> tuple[float, int]:
    """The middle of the gap between scores that leaves the fewest errors, and their number."""
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    errors = np.count_nonzero(labels < 0) + np.append(0.0, np.cumsum(labels[order]))
    gaps = np.diff(ranked, prepend=ranked[0] - 2.0, append=ranked[-1] + 2.0)
    place = int(np.where(gaps > 1e-9 * np.abs(scores).max(initial=1.0), errors, np.inf).argmin())
    return float(np.append(ranked[0] - 2.0, ranked)[place] + gaps[place] / 2), int(errors[place])
