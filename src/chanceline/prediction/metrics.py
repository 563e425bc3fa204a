"""How well scores tell two classes apart: errors, the best threshold, the area under the curve.

A sample is called positive where its score lies above the threshold. Labels are ±1; `positive` is
the same as truth values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.select.thresholds import sweep_thresholds

# Scores nearer than this share of the largest one (or of 1) may differ by rounding only.
RELATIVE_GAP = 1e-9
# The gap below the lowest and above the highest score: a threshold may lie in its middle.
END_GAP = 2.0


class Threshold(NamedTuple):
    """A threshold, and the errors that scores make with it."""

    value: float
    errors: int


def best_threshold(scores: Floats, labels: Floats) -> Threshold:
    """The threshold with the fewest errors, in the middle of a gap between scores.

    A sample is called positive if its score lies above the threshold. If several gaps have the
    fewest errors, the lowest one is taken. A gap so narrow that it may be rounding is passed over;
    if all are, the threshold lies below all scores.

    Parameters
    ----------
    scores : (samples,)
    labels : ±1, (samples,)
    """
    sweep = sweep_thresholds(scores, labels)
    sorted_scores = sweep.sorted_scores  # ascending

    # The samples + 1 gaps in which a threshold may lie, (samples + 1,): one below every score, in
    # ascending order, and one above all. Those at the ends are given the width END_GAP.
    lowest = sorted_scores[0] - END_GAP
    highest = sorted_scores[-1] + END_GAP
    widths = np.diff(sorted_scores, prepend=lowest, append=highest)
    lower_ends = np.append(lowest, sorted_scores)
    is_wide_enough = widths > RELATIVE_GAP * np.abs(scores).max(initial=1.0)

    # The errors of a threshold in each gap; infinitely many where the gap is too narrow.
    errors = sweep.errors
    errors_if_wide_enough = np.where(is_wide_enough, errors, np.inf)
    best_gap = int(errors_if_wide_enough.argmin())
    middle = lower_ends[best_gap] + widths[best_gap] / 2
    return Threshold(value=float(middle), errors=int(errors[best_gap]))


def error_indicators(scores: Floats, labels: Floats) -> Floats:
    """1 where the score has the wrong sign, 0 where it has the right one, ½ where it is zero."""
    return 0.5 - 0.5 * np.sign(labels * scores)


def area_under_curve(scores: Floats, positive: Bools) -> float:
    """Share of pairs of a positive and a negative sample in the right order; ties count one half.

    NaN without samples of both classes.
    """
    every_sample = np.zeros(len(scores), dtype=np.int64)
    return area_within_folds(scores, positive, every_sample)


def area_within_folds(scores: Floats, positive: Bools, fold_of_sample: Ints) -> float:
    """The area under the curve, from pairs of samples of the same fold alone.

    It is the share of pairs, of a positive and a negative sample, in which the positive one has the
    larger score; ties count one half. Samples of different folds are not compared, because their
    scores come from different rules. Without any pair the area is NaN.

    Parameters
    ----------
    scores : (samples,)
    positive : which samples are positive, (samples,)
    fold_of_sample : number of every sample's fold, (samples,)
    """
    n_concordant = 0.0
    n_pairs = 0
    for fold in np.unique(fold_of_sample):
        in_fold = fold_of_sample == fold
        positive_scores = scores[in_fold & positive]
        negative_scores = scores[in_fold & ~positive]
        n_concordant += count_concordant(positive_scores, negative_scores)
        n_pairs += len(positive_scores) * len(negative_scores)
    if n_pairs == 0:
        return float("nan")
    return n_concordant / n_pairs


def count_concordant(positive_scores: Floats, negative_scores: Floats) -> float:
    """Number of pairs in which the positive score is the larger one, and half of the ties."""
    ranked = np.sort(negative_scores)
    n_below = np.searchsorted(ranked, positive_scores, side="left")
    n_not_above = np.searchsorted(ranked, positive_scores, side="right")
    return float(n_below.sum() + n_not_above.sum()) / 2


def standardized_difference(values: Floats, positive: Bools) -> float:
    """Difference of the class means in standard deviations within the classes (Cohen's d).

    (mean of positives − mean of negatives)/√((variance of positives + variance of negatives)/2);
    0 where neither class varies.
    """
    positive_values = values[positive]
    negative_values = values[~positive]
    spread = np.sqrt((positive_values.var() + negative_values.var()) / 2)
    if spread == 0:
        return 0.0
    return float((positive_values.mean() - negative_values.mean()) / spread)
