"""Dealing samples to folds so that every fold has low and high outcomes, or all classes, alike."""

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


def deal_by_class(class_of_sample: Ints, unit_of_sample: Ints, *, n_folds: int, seed: Seed) -> Ints:
    """A fold for every sample, (samples,); samples of one unit stay together.

    Units are dealt like cards, class by class and in random order, and every class begins with
    fold 0. A fold with one more unit of a class than others then tends to have one more of the
    other classes too. Otherwise the larger class would change from one training set to the next,
    always to one that is rarer in the fold held out.

    Parameters
    ----------
    class_of_sample : (samples,) 0, 1, …; a unit counts as of its most frequent class.
    unit_of_sample : (samples,) numbers of the units.
    n_folds : how many folds there are, if a class has as many units.
    seed : of the random order.
    """
    units, unit_of_sample = np.unique(unit_of_sample, return_inverse=True)
    counts = np.zeros((len(units), class_of_sample.max() + 1), dtype=np.int64)
    np.add.at(counts, (unit_of_sample, class_of_sample), 1)
    class_of_unit = counts.argmax(axis=1)

    # `lexsort` sorts by its last key first: by class, and at random within a class.
    random_keys = np.random.default_rng(seed).random(len(units))
    order = np.lexsort((random_keys, class_of_unit))
    ordered_class = class_of_unit[order]
    first_of_class = np.searchsorted(ordered_class, ordered_class)  # (units,)
    place_in_class = np.arange(len(units)) - first_of_class

    fold_of_unit = np.empty(len(units), dtype=np.int64)
    fold_of_unit[order] = place_in_class % n_folds
    return fold_of_unit[unit_of_sample]
