"""What to expect on new samples: the greedy path with its number of features chosen anew within every training set.

This stands beside the p-value and never in its place. The samples of a fold have no part in choosing the features, their number,
the weights or the threshold. What the table says without its labels (clipping, which pairs are correlated) all folds share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from chanceline._results import Result
from chanceline.chance.counts import log_binomial
from chanceline.significance.plan import LabelScheme
from chanceline.significance.stepwise import SAME, SPENT, Columns, follow_paths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLDS = 5
REPEATS = 10
CONFIDENCE = 0.95


@dataclass(frozen=True, repr=False)
class ExpectedError(Result):
    """Cross-validated error.

    Attributes
    ----------
    error : share of samples that are classified wrongly when they were not among the training samples, mean of all repeats.
    interval : Wilson's 95 % interval for a share among so many independent samples (or groups). It does not know that training
        sets overlap nor that the folds are smaller than the table, so that it is rather too short than too long.
    spread : smallest and largest error of one repeat; how much the way of splitting matters.
    guess : error of always naming the larger class.
    features : median number of features chosen.
    """

    error: float
    interval: tuple[float, float]
    spread: tuple[float, float]
    guess: float
    features: int
    folds: int
    repeats: int
    kind: str

    def summary(self) -> str:
        low, high = self.interval
        return f"{self.error:.0%} wrong [{low:.0%}, {high:.0%}]; always the larger class: {self.guess:.0%}"


def expected_error(columns: Columns, scheme: LabelScheme, steps: int, seed: int) -> ExpectedError | None:
    """Cross-validate the path; None if a class has fewer than two units, so that no fold can spare one."""
    labels = scheme.unit_labels
    smaller = int(min(np.sum(labels > 0), np.sum(labels < 0)))
    if smaller < 2:
        return None
    folds = min(FOLDS, smaller)
    shares, sizes = [], []
    for repeat in range(REPEATS):
        fold_of = _deal(labels, folds, np.random.default_rng([seed, 2**31 + repeat]))[scheme.unit_of]
        wrong = 0
        for fold in range(folds):
            errors, size = _one_fold(columns, scheme.y, fold_of != fold, steps)
            wrong += errors
            sizes.append(size)
        shares.append(wrong / len(scheme.y))
    error = float(np.mean(shares))
    return ExpectedError(
        error=error,
        interval=wilson(error, scheme.sizes.n_units),
        spread=(min(shares), max(shares)),
        guess=float(min(np.mean(scheme.y > 0), np.mean(scheme.y < 0))),
        features=int(np.median(sizes)),
        folds=folds,
        repeats=REPEATS,
        kind=f"cross-validated, {REPEATS} times {folds} folds",
    )


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's interval for a share among `count` independent samples."""
    z = float(ndtri((1 + CONFIDENCE) / 2))
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def choose_size(losses: Floats, n_samples: int, n_columns: int) -> int:
    """K of the extended BIC (Chen and Chen 2008): least P ln loss + K ln P + 2 ln C(N, K)."""
    sizes = np.arange(1, len(losses) + 1)
    criterion = n_samples * np.log(np.maximum(losses, SAME)) + sizes * np.log(n_samples) + 2 * log_binomial(n_columns, sizes)
    return int(np.argmin(criterion)) + 1


def best_threshold(scores: Floats, labels: Floats) -> float:
    """The middle of the gap between scores that parts the labels with fewest errors (the lowest of several)."""
    order = np.argsort(scores)
    ranked, positive = scores[order], labels[order] > 0
    errors = np.count_nonzero(~positive) + np.concatenate([[0], np.cumsum(np.where(positive, 1, -1))])
    gaps = np.concatenate([[-np.inf], (ranked[1:] + ranked[:-1]) / 2, [np.inf]])
    errors[1:-1][np.diff(ranked) <= SAME * np.abs(ranked).max(initial=0.0)] = len(labels) + 1
    return float(gaps[np.argmin(errors)])


def _deal(labels: Floats, folds: int, rng: np.random.Generator) -> Ints:
    """A fold for every unit, classes spread evenly."""
    fold_of = np.empty(len(labels), dtype=np.int64)
    start = 0
    for side in (labels > 0, labels < 0):
        members = rng.permutation(np.flatnonzero(side))
        fold_of[members] = (start + np.arange(len(members))) % folds
        start += len(members)
    return fold_of


def _one_fold(columns: Columns, labels: Floats, training: NDArray[np.bool_], steps: int) -> tuple[int, int]:
    """Errors on the samples left out, and the number of features chosen."""
    part, rest = _parted(columns, training)
    steps = min(steps, int(training.sum()) - 1, part.fitted.shape[1])
    paths = follow_paths(part, labels[training][None, :], steps)
    size = choose_size(paths.losses[0], int(training.sum()), part.fitted.shape[1])
    place = {int(j): i for i, j in enumerate(part.index)}
    chosen = [place[int(j)] for j in paths.support(0, size)]
    design = part.fitted[:, chosen]
    weights = np.linalg.lstsq(design, part.centred(labels[None, training])[0], rcond=None)[0]
    threshold = best_threshold(design @ weights, labels[training]) if columns.intercept else 0.0
    wrong = labels[~training] * (rest[:, chosen] @ weights - threshold) <= 0
    return int(np.count_nonzero(wrong)), size


def _parted(columns: Columns, training: NDArray[np.bool_]) -> tuple[Columns, Floats]:
    """The columns centred and normalised by the training samples alone, for these and for the rest."""
    values = columns.shown[training]
    middle = values.mean(axis=0) if columns.intercept else np.zeros(values.shape[1])
    values = values - middle
    lengths = np.sqrt(np.einsum("ij,ij->j", values, values))
    # A column that is constant here is left at zero and never chosen.
    lengths = np.where(lengths > SAME, lengths, np.inf)
    values /= lengths
    overlap = np.einsum("ij,ij->j", values[:, columns.first], values[:, columns.second])
    part = replace(columns, fitted=values, shown=values, block_of=None, overlap=np.clip(overlap, SPENT / 2 - 1, 1 - SPENT / 2))
    return part, (columns.shown[~training] - middle) / lengths
