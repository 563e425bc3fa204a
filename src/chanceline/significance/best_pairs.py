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
    """The pair of a list that explains most of every labelling, or of every permutation of scores.

    Attributes
    ----------
    members : (labellings, 2) its columns.
    loss : (labellings,) the share of the squared length that it leaves.
    """

    members: Ints
    loss: Floats

    def better_than(self, losses: Floats) -> Ints:
        """The labellings whose best pair leaves less than these losses, by more than rounding."""
        return np.flatnonzero(self.loss < losses * (1 - ROUNDING_TOLERANCE))


def find_best_pairs(
    pairs: ColumnPairs,
    gains: Iterable[tuple[int, Floats]],
    *,
    squared_length: Floats,
    scale: Floats,
) -> BestPairs | None:
    """The best pair of every labelling; None where the list is empty.

    Parameters
    ----------
    pairs : the list of pairs.
    gains : chunks of what the pairs explain: where a chunk starts, and (labellings, chunk).
    squared_length : (labellings,) what there is to explain.
    scale : (labellings,) the same, but 1 where there is nothing.
    """
    if len(pairs) == 0:
        return None
    best, gain = largest_of_rows(gains, len(squared_length))
    return BestPairs(
        members=np.column_stack([pairs.first[best], pairs.second[best]]),
        loss=(squared_length - gain) / scale,
    )
