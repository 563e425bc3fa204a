"""What several modules of this package share: types of arrays, a tolerance, and block means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Losses, scores and the like that are closer than this are equal up to rounding.
TOLERANCE = 1e-9


def block_means(values: Floats, block_of_row: Ints) -> Floats:
    """Mean of every column over the block of each row.

    Parameters
    ----------
    values : (rows, columns)
    block_of_row : (rows,) numbers 0, 1, … of the blocks, none of them empty.

    Returns
    -------
    (rows, columns) the same mean in all rows of a block.
    """
    n_blocks = block_of_row.max() + 1
    sums = np.zeros((n_blocks, values.shape[1]))
    np.add.at(sums, block_of_row, values)
    sizes = np.bincount(block_of_row)
    means = sums / sizes[:, None]
    return means[block_of_row]
