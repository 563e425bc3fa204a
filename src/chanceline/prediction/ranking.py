"""Columns in the precision in which they are compared: single in large tables, which takes half the
time.

Which columns a path takes, how well candidates do in inner folds, and the weights of rules on many
columns do not hang on the eighth digit of a standardized column. The weights of small sets are
fitted in double precision.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import ColumnScale

# Tables with fewer entries stay in double precision: their work is not in the columns.
MIN_ENTRIES_FOR_SINGLE = 200_000


def samples_for_ranking(samples: Samples, scale: ColumnScale) -> Samples:
    """The samples with standardized columns in single precision; as they are in a small table.

    Columns are measured from the means of their blocks, and scaled, before digits are dropped:
    large numbers that differ by little keep what they differ by. Whoever scales the columns again
    gets the same.

    Parameters
    ----------
    samples : training samples.
    scale : of their columns.
    """
    if samples.X.size < MIN_ENTRIES_FOR_SINGLE:
        return samples
    standardized = scale.transform(samples.X, samples.block_of_sample)
    return replace(samples, X=standardized.astype(np.float32))
