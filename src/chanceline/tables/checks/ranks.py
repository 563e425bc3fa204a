"""Whether a number tells two classes apart: tests of ranks, and the level of all checks."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from chanceline._arrays import Floats
from chanceline.tables.dataset import Finding

WARNING_LEVEL = 0.05  # p-values up to it are told


class RankTest(NamedTuple):
    """The area under the ROC curve, positives high, and its two-sided p-value."""

    area: float
    pvalue: float


def warn_if_small(pvalue: float, message: str) -> list[Finding]:
    """A warning if the p-value is small, else nothing."""
    if pvalue <= WARNING_LEVEL:
        return [Finding.warning(message)]
    return []


def mann_whitney(values: Floats, labels: Floats) -> RankTest:
    """How well a number tells two classes apart: the area under the ROC curve, and its p-value.

    With R the mean rank of the n₊ positives, the area is (R − (n₊ + 1)/2)/n₋, where n₋ is the
    number of negatives. Under shuffled labels it has mean 1/2 and, for n samples, variance
    var(ranks)/(n₊ n₋ n), which also holds with ties. The p-value is that of the normal
    approximation.

    Parameters
    ----------
    values : a number for each sample, of shape (samples,).
    labels : ±1 of shape (samples,); both occur.
    """
    ranks = pd.Series(values).rank().to_numpy()
    is_positive = labels > 0
    n_samples = len(labels)
    n_positives = int(np.sum(is_positive))
    n_negatives = n_samples - n_positives
    area = float((ranks[is_positive].mean() - (n_positives + 1) / 2) / n_negatives)
    variance = 0.0
    if n_samples > 1:
        variance = ranks.var(ddof=1) / (n_positives * n_negatives * n_samples)
    return RankTest(area, _two_sided_pvalue(area - 0.5, variance))


def stratified_rank_pvalue(values: Floats, labels: Floats, blocks: pd.Series) -> float:
    """The p-value of a rank test of two classes, for labels that are shuffled within blocks.

    With ranks r and indicators x of the positives (1 or 0), both centred in their block, the
    statistic is Σ r x. Its variance is the sum over blocks of Σr² Σx²/(n − 1), with n samples in
    the block. The p-value is that of the normal approximation.

    Parameters
    ----------
    values, labels, blocks : a number, ±1 and a block for each sample, of shape (samples,).
    """
    # A new index 0, 1, …, which matches that of the other series below.
    block_of_sample = pd.Series(blocks.to_numpy())
    is_positive = pd.Series(np.where(labels > 0, 1.0, 0.0))
    ranks = _centred_in_blocks(pd.Series(values).rank(), block_of_sample)  # r
    indicators = _centred_in_blocks(is_positive, block_of_sample)  # x
    statistic = float((ranks * indicators).sum())

    # One number for each block.
    rank_squares = (ranks**2).groupby(block_of_sample).sum()
    indicator_squares = (indicators**2).groupby(block_of_sample).sum()
    sizes = block_of_sample.groupby(block_of_sample).size()
    degrees_of_freedom = (sizes - 1).clip(lower=1)  # a block of one sample adds 0/1, not 0/0
    variance = float((rank_squares * indicator_squares / degrees_of_freedom).sum())
    return _two_sided_pvalue(statistic, variance)


def _centred_in_blocks(numbers: pd.Series, block_of_sample: pd.Series) -> pd.Series:
    """Numbers of samples minus their mean in the sample's block."""
    return numbers - numbers.groupby(block_of_sample).transform("mean")


def _two_sided_pvalue(deviation: float, variance: float) -> float:
    """The p-value of a normal number's deviation from its mean; 1 where nothing varies."""
    if not variance > 0:
        return 1.0
    return float(2 * ndtr(-abs(deviation) / sqrt(variance)))
