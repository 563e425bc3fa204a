"""Permutations of units within blocks, from which all shuffles are made."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Ints


def exchange_units(block_of_unit: Ints, rng: np.random.Generator) -> Ints:
    """Draw a uniformly random permutation of units (for example samples) within their blocks.

    Parameters
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    rng : the generator, from which one number is drawn for each unit.

    Returns
    -------
    (units,) for each unit the number of the unit whose outcome it gets.
    """
    n_units = len(block_of_unit)
    # To sort by random keys is to permute uniformly.
    keys = rng.random(n_units)
    if block_of_unit.max() == 0:
        # There is one block.
        return np.argsort(keys)

    # List the units block after block, in two ways: in their own order, and in that of their keys.
    # At every position both lists have units of the same block; the unit of the first list gets the
    # outcome of the unit of the second.
    receivers = np.argsort(block_of_unit, kind="stable")
    donors = np.lexsort((keys, block_of_unit))  # by block, then by key
    donor_of_unit = np.empty(n_units, dtype=np.int64)
    donor_of_unit[receivers] = donors
    return donor_of_unit
