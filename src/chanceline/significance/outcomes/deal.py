"""Dealing samples to folds so that every fold has low and high outcomes alike."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.prediction.folds import Seed


def deal_in_order(order: Floats, unit_of_sample: Ints, *, n_folds: int, seed: Seed) -> Ints:
    """A fold for every sample, (samples,); samples of one unit stay together.

    Units are sorted by the mean of `order` and at random where it is equal, and every `n_folds`
    neighbours are dealt to different folds at random.

    Parameters
    ----------
    order : (samples,) the outcome as a number.
    unit_of_sample : (samples,) numbers of the units.
    n_folds : how many folds there are, if there are as many units.
    seed : of the random order.
    """
    # Numbers 0, 1, … without gaps.
    unit_of_sample = np.unique(unit_of_sample, return_inverse=True)[1]
    mean_of_unit = np.bincount(unit_of_sample, weights=order) / np.bincount(unit_of_sample)
    n_units = len(mean_of_unit)
    rng = np.random.default_rng(seed)
    # `lexsort` sorts by its last key first: random numbers decide where means are equal.
    units_by_outcome = np.lexsort((rng.random(n_units), mean_of_unit))

    n_folds = min(n_folds, n_units)
    # Each row of `n_folds` neighbours gets the folds in an order of its own.
    n_rows = -(-n_units // n_folds)
    folds_of_rows = rng.random((n_rows, n_folds)).argsort(axis=1)
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[units_by_outcome] = folds_of_rows.reshape(-1)[:n_units]
    return fold_of_unit[unit_of_sample]
