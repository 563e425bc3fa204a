"""The one column that goes best with the classes, by its values or by its ranks.

The proof for one feature (`chanceline.significance.single_feature`) chooses its column so.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from chanceline._arrays import Floats, Ints

# Ranks are looked at of so many columns, those that go best with the classes by their values.
MAX_RANKED = 8


def best_single_column(columns: Floats, target: Floats, max_columns: int) -> list[Ints]:
    """A path of two supports: no column, and the one column most correlated with the target.

    A support is a set of columns, and a path is a list of growing supports. The correlation of a
    column is that of its values or that of its ranks, whichever is larger.

    Parameters
    ----------
    columns : centred and of length 1 (or zero), (samples, columns)
    target : centred, (samples,)
    max_columns : not used, as the path always ends with one column; other paths need it
    """
    # Absolute correlations of the values, (columns,). The target is not of length 1, so these and
    # the correlations of ranks are too large by the same factor, the length of the target.
    correlations_of_values = np.abs(target.astype(columns.dtype) @ columns)
    candidates = np.argsort(-correlations_of_values, kind="stable")[:MAX_RANKED]

    # Absolute correlations of the ranks, which take longer, for the most promising columns alone.
    centred_ranks = rankdata(columns[:, candidates], axis=0)  # (samples, candidates)
    centred_ranks -= centred_ranks.mean(axis=0)
    lengths = np.linalg.norm(centred_ranks, axis=0)
    # A constant column has length 0: divided by infinity instead, its correlation is 0.
    divisors = np.where(lengths > 0, lengths, np.inf)
    correlations_of_ranks = np.abs(target @ centred_ranks) / divisors

    correlations = np.maximum(correlations_of_values[candidates], correlations_of_ranks)
    best = candidates[int(np.argmax(correlations))]
    return [np.zeros(0, dtype=np.int64), np.array([best])]
