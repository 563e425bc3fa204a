"""Permutations of units within blocks, from which all shuffles are made."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Ints


def exchange_units(block_of_unit: Ints, rng: np.random.Generator) -> Ints:
    """A random permutation of the units within their blocks, every one equally likely: (units,).

    Entry u is the unit whose outcome unit u gets. Sorting by random keys permutes uniformly.

    Parameters
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    rng : gives one number for each unit.
    """
    n_units = len(block_of_unit)
    keys = rng.random(n_units)
    if block_of_unit.max() == 0:
        return np.argsort(keys)

    # Two lists of the units, block after block: in their own order, and in that of their keys. At
    # every position both have units of one block, and the first gets the outcome of the second.
    receivers = np.argsort(block_of_unit, kind="stable")
    donors = np.lexsort((keys, block_of_unit))  # by block, then by key
    donor_of_unit = np.empty(n_units, dtype=np.int64)
    donor_of_unit[receivers] = donors
    return donor_of_unit
