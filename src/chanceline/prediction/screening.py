"""Of a very wide table the columns worth looking at (sure independence screening, Fan and Lv 2008).

Screening is part of the training: it sees the labels of the training samples alone, so that
cross-validation can contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.perceptron.validation import SINGLE_PRECISION_FROM
from chanceline.prediction.samples import Samples

# Columns that are looked at together, so that no copy of the whole table is needed.
COLUMNS_AT_A_TIME = 4096


@dataclass(frozen=True)
class ScreeningLimits:
    """When a table is screened.

    Attributes
    ----------
    max_unscreened : tables with at most so many columns are left as they are.
    n_screened : how many columns of a wider table remain.
    """

    max_unscreened: int = SINGLE_PRECISION_FROM
    n_screened: int = 10_000


def screen_columns(
    samples: Samples,
    training: Bools,
    required: Sequence[int] | Ints = (),
    limits: ScreeningLimits | None = None,
) -> tuple[Samples, Ints]:
    """Of a very wide table the columns with the largest screening scores, and those required.

    Parameters
    ----------
    samples : all of them
    training : which samples may be looked at, (samples,)
    required : columns that remain whatever their score
    limits : when a table is screened; by default those of `ScreeningLimits`

    Returns
    -------
    screened : the same samples with the columns that remain, in double precision
    remaining : ascending indices of these columns, (remaining,)
    """
    limits = limits or ScreeningLimits()
    if samples.n_features <= limits.max_unscreened:
        return samples, np.arange(samples.n_features)
    scores = correlations_with_labels(samples, training)
    best = np.argsort(-scores, kind="stable")[: limits.n_screened]
    remaining = np.union1d(best, np.asarray(required, dtype=np.int64))
    return replace(samples, X=samples.X[:, remaining].astype(float)), remaining


def correlations_with_labels(samples: Samples, training: Bools) -> Floats:
    """How strongly every column goes with the labels: |Σ_i t_i x_ij|/SD(x_j), (features,).

    The sum is over the training samples i, and t_i is the label ±1 less what blocks and covariates
    explain of it. These residuals t_i add up to 0, so that adding a constant to a column changes
    nothing.

    Parameters
    ----------
    samples : all of them
    training : which samples may be looked at, (samples,)
    """
    dtype = samples.X.dtype
    rows = np.flatnonzero(training)
    target = label_residuals(samples, training).astype(dtype)  # t
    scores = []
    for start in range(0, samples.n_features, COLUMNS_AT_A_TIME):
        columns = samples.X[:, start : start + COLUMNS_AT_A_TIME]
        # Subtract the first training sample: if a column has a large mean, the differences are
        # small numbers that lose fewer digits.
        first_training_row = columns[rows[0]]
        differences = columns[rows] - first_training_row
        # The floor avoids a division by 0 for constant columns, whose score is 0.
        spreads = np.maximum(differences.std(axis=0), np.finfo(dtype).tiny)
        scores.append(np.abs(target @ differences) / spreads)
    return np.concatenate(scores)


def label_residuals(samples: Samples, training: Bools) -> Floats:
    """The training samples' labels without what blocks and covariates explain of them.

    Returns
    -------
    (training samples,)
    """
    rows = np.flatnonzero(training)
    block_indicators = np.eye(samples.n_blocks)[samples.block_of_sample]
    nuisance = np.column_stack([samples.nuisance, block_indicators])[rows]
    labels = samples.y[rows]
    coefficients = np.linalg.lstsq(nuisance, labels, rcond=None)[0]
    return labels - nuisance @ coefficients
