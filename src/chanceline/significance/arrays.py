"""What several modules of this package share: types of arrays, a tolerance, and blocks of rows."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints

# Losses, scores and the like that are closer than this are equal up to rounding.
ROUNDING_TOLERANCE = 1e-9


def block_sums(values: Floats, block_of_row: Ints) -> Floats:
    """Sum of every column over the rows of each block: (blocks, columns).

    Parameters
    ----------
    values : (rows, columns)
    block_of_row : (rows,) numbers 0, 1, … of the blocks, none of them empty.
    """
    order = np.argsort(block_of_row, kind="stable")
    starts = np.flatnonzero(np.diff(block_of_row[order], prepend=-1))
    return np.add.reduceat(values[order], starts, axis=0)


def block_means(values: Floats, block_of_row: Ints) -> Floats:
    """Mean of every column over the block of each row; parameters as in `block_sums`.

    Returns
    -------
    (rows, columns) the same mean in all rows of a block.
    """
    sizes = np.bincount(block_of_row)
    means = block_sums(values, block_of_row) / sizes[:, None]
    return means[block_of_row]
