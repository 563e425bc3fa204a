"""The pair of columns that explains most: it may do better than the first two steps of a path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.column_pairs import ColumnPairs
from chanceline.significance.path_steps import largest_of_rows


@dataclass(frozen=True, eq=False)
class BestPairs:
    """For every labelling (or permutation of scores), the pair of a list that explains most of it.

    Attributes
    ----------
    members : (labellings, 2) the columns of the pair.
    loss : (labellings,) the share of the labels' squared length that the pair leaves unexplained.
    """

    members: Ints
    loss: Floats

    def better_than(self, losses: Floats) -> Ints:
        """The labellings whose best pair has a smaller loss than these, by more than rounding."""
        return np.flatnonzero(self.loss < losses * (1 - ROUNDING_TOLERANCE))


def find_best_pairs(
    pairs: ColumnPairs,
    gains: Iterable[tuple[int, Floats]],
    *,
    squared_length: Floats,
    scale: Floats,
) -> BestPairs | None:
    """The best pair of every labelling; None if the list of pairs is empty.

    Parameters
    ----------
    pairs : the list of pairs.
    gains : the squared length of the labels that each pair explains, in chunks of pairs: the index
        of the chunk's first pair, and an array (labellings, pairs of the chunk).
    squared_length : (labellings,) squared length of the labels.
    scale : (labellings,) the squared length, or 1 where that is 0, to divide by.
    """
    if len(pairs) == 0:
        return None
    best, gain = largest_of_rows(gains, len(squared_length))
    return BestPairs(
        members=np.column_stack([pairs.first[best], pairs.second[best]]),
        loss=(squared_length - gain) / scale,
    )
