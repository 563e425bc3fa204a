"""Dealing samples to folds so that every fold has low and high outcomes, or all classes, alike."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.prediction.folds import Seed


def deal_in_order(
    outcome_of_sample: Floats, unit_of_sample: Ints, *, n_folds: int, seed: Seed
) -> Ints:
    """Deal samples to folds so that the outcome has a similar distribution in all folds.

    Samples of one unit (for example a patient) stay together. Units are sorted by their mean
    outcome, ties at random. The first `n_folds` units in this order go to different folds, in
    random order; so do the next `n_folds` units, and so on.

    Parameters
    ----------
    outcome_of_sample : (samples,) the outcome as a number.
    unit_of_sample : (samples,) the number of each sample's unit; numbers may have gaps.
    n_folds : number of folds; with fewer units there are only as many folds as units.
    seed : of the random orders.

    Returns
    -------
    (samples,) the fold of every sample, 0, 1, ….
    """
    # Renumber the units 0, 1, … without gaps.
    unit_of_sample = np.unique(unit_of_sample, return_inverse=True)[1]
    n_samples_of_unit = np.bincount(unit_of_sample)
    mean_of_unit = np.bincount(unit_of_sample, weights=outcome_of_sample) / n_samples_of_unit
    n_units = len(mean_of_unit)
    rng = np.random.default_rng(seed)
    # The last key of `lexsort` is the main one: random numbers only decide between equal means.
    random_keys = rng.random(n_units)
    units_by_outcome = np.lexsort((random_keys, mean_of_unit))

    # Write the sorted units into rows of `n_folds`. Each row gets the folds in a random order.
    n_folds = min(n_folds, n_units)
    n_rows = -(-n_units // n_folds)  # rounded up: the last row may be incomplete
    folds_of_rows = rng.random((n_rows, n_folds)).argsort(axis=1)
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[units_by_outcome] = folds_of_rows.reshape(-1)[:n_units]
    return fold_of_unit[unit_of_sample]


def deal_by_class(class_of_sample: Ints, unit_of_sample: Ints, *, n_folds: int, seed: Seed) -> Ints:
    """Deal samples to folds so that every class is spread evenly over the folds.

    Samples of one unit (for example a patient) stay together. The units of each class are dealt
    like cards, in random order: to the folds 0, 1, …, n_folds − 1, 0, 1, ….

    Every class starts at fold 0, so that the first folds get the surplus units of all classes. If
    classes started at different folds, leaving a fold out could change which class is the largest
    in the training set, and always against the class that is frequent in the fold left out.

    Parameters
    ----------
    class_of_sample : (samples,) class numbers 0, 1, …; a unit has its most frequent class.
    unit_of_sample : (samples,) the number of each sample's unit; numbers may have gaps.
    n_folds : number of folds; if every class has fewer units, the last folds stay empty.
    seed : of the random order.

    Returns
    -------
    (samples,) the fold of every sample, 0, 1, ….
    """
    # The class of every unit. Units are renumbered 0, 1, … without gaps.
    units, unit_of_sample = np.unique(unit_of_sample, return_inverse=True)
    n_units = len(units)
    n_classes = class_of_sample.max() + 1
    counts = np.zeros((n_units, n_classes), dtype=np.int64)
    np.add.at(counts, (unit_of_sample, class_of_sample), 1)
    class_of_unit = counts.argmax(axis=1)

    # The units in dealing order: by class (the last key of `lexsort` is the main one), at random
    # within a class.
    random_keys = np.random.default_rng(seed).random(n_units)
    dealing_order = np.lexsort((random_keys, class_of_unit))

    # The place 0, 1, … of each unit within its class: its position in dealing order, less the
    # position of the first unit of its class. The classes are sorted, so that `searchsorted` finds
    # this first position.
    class_in_dealing_order = class_of_unit[dealing_order]
    first_of_its_class = np.searchsorted(class_in_dealing_order, class_in_dealing_order)  # (units,)
    place_in_class = np.arange(n_units) - first_of_its_class

    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[dealing_order] = place_in_class % n_folds
    return fold_of_unit[unit_of_sample]
