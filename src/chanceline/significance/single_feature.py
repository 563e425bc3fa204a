"""A proof for one feature: how often labels that ignore the table go with some column as much as
the observed ones do, bounded without shuffles.

The tail of one column is bounded by `chance.chernoff.log_tail_bound`. Each column is read twice, by
its values and by its ranks, and in both directions: a union over 4N events. The bound holds for the
best of them, so the search for it may be quick: only the columns most correlated with the labels
are looked at, and all columns are paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from chanceline._arrays import Bools, Floats, Ints
from chanceline._results import Result
from chanceline.chance.bound import format_p
from chanceline.chance.chernoff import log_tail_bound
from chanceline.significance.arrays import ROUNDING_TOLERANCE, block_means
from chanceline.significance.stages import LN10

# How many of the columns most correlated with the labels are looked at.
MAX_CANDIDATES = 8
# Columns whose correlations are computed at a time, so that copies stay small.
COLUMNS_TO_CORRELATE = 4096
# The steepest slope h of the bound that is tried, for columns of standard deviation 1.
MAX_SLOPE = 60.0
# Values and ranks, each in both directions.
HYPOTHESES_PER_COLUMN = 4
# Keeps a constant column from a division by zero.
SMALLEST_DEVIATION = 1e-30


@dataclass(frozen=True, repr=False)
class FeatureBound(Result):
    """Rigorous bound for the one column that goes best with the labels, of all candidates.

    Attributes
    ----------
    log10_p : log₁₀ of the bound, at most 0; valid for the smallest over all columns, both
        directions, values and ranks.
    feature, name : index of the column, and its name where it has one.
    higher : whether the positives have the higher values.
    """

    log10_p: float
    feature: int
    higher: bool
    name: str = ""
    kind: str = "rigorous bound"

    def summary(self) -> str:
        return f"p ≤ {format_p(self.log10_p)} for column {self.name or self.feature} alone"


def feature_bound(
    X: Floats, y: Floats, block_of: Ints | None = None, *, among: int | None = None
) -> FeatureBound:
    """A p-value for the one column most associated with the labels, bounded without shuffles.

    It is an upper bound of the probability that random labels are associated with any column, by
    its values or its ranks, as strongly as y is with the best one.

    Parameters
    ----------
    X : (units, columns) finite. A unit is a row, or a group of rows that always share a label; the
        row of a group can be the sum of its rows.
    y : (units,) labels ±1, exchangeable within blocks.
    block_of : (units,) the number of each unit's block, 0, 1, …; one block by default.
    among : number of columns that could have been chosen; None (or 0) for those of X.
    """
    if block_of is None:
        block_of = np.zeros(len(y), dtype=np.int64)
    exchangeable = _exchangeable_units(y, block_of)

    # The few columns most correlated with the labels, and two variables of each: first the values
    # of all these columns, then their ranks.
    candidates = _most_correlated_columns(X, exchangeable)  # column numbers in X
    candidate_values = X[np.ix_(exchangeable.units, candidates)]
    variables = _values_and_ranks(candidate_values, exchangeable)  # (units, 2·candidates)
    column_of_variable = np.concatenate([candidates, candidates])

    # The variable most correlated with the labels. All variables are centred and of equal length,
    # so that products with the labels are correlations up to a factor.
    products = exchangeable.centred_labels.astype(X.dtype) @ variables
    best_variable = int(np.argmax(np.abs(products)))

    # A Chernoff bound for this variable alone, as a natural logarithm. The bound has a parameter,
    # the slope. Every slope gives a valid bound, and the smallest bound is taken. The slope is
    # positive if the positives have the higher values.
    slope, ln_p_of_variable = _best_slope(variables[:, best_variable], exchangeable)

    # Correct for the choice by a union bound: among all columns, and for each column among values
    # and ranks in both directions.
    n_choosable_columns = among or X.shape[1]
    n_hypotheses = HYPOTHESES_PER_COLUMN * n_choosable_columns
    ln_p = ln_p_of_variable + log(n_hypotheses)
    return FeatureBound(
        log10_p=min(0.0, ln_p / LN10),
        feature=int(column_of_variable[best_variable]),
        higher=slope > 0,
    )


def _best_slope(column: Floats, exchangeable: _ExchangeableUnits) -> tuple[float, float]:
    """The slope h at which `log_tail_bound` bounds a column best, and ln of the bound there.

    Every slope gives a valid bound, so that an approximation is good enough to choose one. A
    positive slope means that the positives have the higher values.

    Parameters
    ----------
    column : (exchangeable units,) of standard deviation 1.
    exchangeable : their labels and blocks.
    """
    is_positive = exchangeable.is_positive
    block_starts = exchangeable.block_starts

    def approximate_log_p(slope: float) -> float:
        return log_tail_bound(column, is_positive, block_starts, slope, exact=False)

    slope = float(minimize_scalar(approximate_log_p, bounds=(-MAX_SLOPE, MAX_SLOPE)).x)
    return slope, log_tail_bound(column, is_positive, block_starts, slope)


@dataclass(frozen=True, eq=False)
class _ExchangeableUnits:
    """The units of blocks with both classes, block after block; other blocks have one labelling.

    Attributes
    ----------
    units : (exchangeable,) their indices.
    is_positive : (exchangeable,)
    centred_labels : (exchangeable,) 1 or 0, minus the share of positives in the block.
    block : (exchangeable,) numbers 0, 1, … of the blocks.
    block_starts : (blocks,) where each block begins.
    """

    units: Ints
    is_positive: Bools
    centred_labels: Floats
    block: Ints
    block_starts: Ints


def _exchangeable_units(y: Floats, block_of_unit: Ints) -> _ExchangeableUnits:
    """Select the units whose label can be exchanged: those in blocks that have both classes.

    The units are sorted by block. In a block of one class, exchanging labels changes nothing.

    Parameters
    ----------
    y : (units,) labels ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    """
    # The share of positives in the block of every unit: (units,).
    block_sizes = np.bincount(block_of_unit)
    share_of_block = np.bincount(block_of_unit, weights=y > 0) / block_sizes
    share_of_unit = share_of_block[block_of_unit]

    # The units whose blocks have both classes, sorted by block.
    has_both_classes = (share_of_unit > 0) & (share_of_unit < 1)
    exchangeable_units = np.flatnonzero(has_both_classes)
    order_by_block = np.argsort(block_of_unit[exchangeable_units], kind="stable")
    units = exchangeable_units[order_by_block]

    # Renumber the blocks of these units 0, 1, … without gaps.
    _, block = np.unique(block_of_unit[units], return_inverse=True)
    # A block starts where the number differs from the one before it; −1 precedes the first.
    block_starts = np.flatnonzero(np.diff(block, prepend=-1))
    is_positive = y[units] > 0
    return _ExchangeableUnits(
        units=units,
        is_positive=is_positive,
        # 1 or 0, less the block's mean.
        centred_labels=is_positive - share_of_unit[units],
        block=block,
        block_starts=block_starts,
    )


def _most_correlated_columns(X: Floats, exchangeable: _ExchangeableUnits) -> Ints:
    """The numbers of the `MAX_CANDIDATES` columns of X most correlated with the labels, best first.

    Correlations are approximate: labels are centred within blocks, but the standard deviation of a
    column is that over all rows. This is enough to choose candidates, as the bound that is computed
    for them holds for any choice.

    Parameters
    ----------
    X : (units, columns)
    exchangeable : the units that take part, with their centred labels.
    """
    # (units,) 0 for units that take no part.
    centred_labels = np.zeros(len(X), dtype=X.dtype)
    centred_labels[exchangeable.units] = exchangeable.centred_labels

    # Absolute correlations, up to a common factor, for some columns at a time.
    correlations_of_chunks = []
    for start in range(0, X.shape[1], COLUMNS_TO_CORRELATE):
        chunk = X[:, start : start + COLUMNS_TO_CORRELATE]
        deviations = np.maximum(chunk.std(axis=0), SMALLEST_DEVIATION)
        correlations_of_chunks.append(np.abs(centred_labels @ chunk) / deviations)
    correlations = np.concatenate(correlations_of_chunks)
    best_first = np.argsort(-correlations, kind="stable")
    return best_first[:MAX_CANDIDATES]


def _values_and_ranks(values: Floats, exchangeable: _ExchangeableUnits) -> Floats:
    """Values, then ranks of columns: centred within blocks, of standard deviation 1.

    Columns that are constant within blocks become zero.

    Parameters
    ----------
    values : (exchangeable units, columns)
    exchangeable : their blocks.

    Returns
    -------
    (exchangeable units, 2·columns)
    """
    both = np.hstack([values, pd.DataFrame(values).rank()])
    centred = both - block_means(both, exchangeable.block)
    deviations = centred.std(axis=0)
    varies = deviations > ROUNDING_TOLERANCE * np.abs(both).max(axis=0)
    return centred / np.where(varies, deviations, np.inf)
