"""The rule with small whole weights: so many points for every step of a feature, and a threshold in points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.perceptron.problem import check_arrays
from chanceline.perceptron.rule import make_rule
from chanceline.prediction.rule import PredictionRule
from chanceline.prediction.samples import Floats, Ints

# Largest weight, and the number of scales at which weights are rounded to begin with.
LARGEST, SCALES = 5, 40


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Result):
    """Positive where Σ_j points_j x_j/step_j lies above the threshold.

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
