"""The members of the combined statistic: families of losses, each represented by its best loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats


class MemberArrays(NamedTuple):
    """One array for each member: of losses (labellings, columns), or of p-values (columns,).

    Attributes
    ----------
    path : a column for every number of features.
    all_features : a column for the spread over all features, then one for each ridge regression on
        them.
    best_features : a column for the spread over the best tenth of the features, and one for that
        over the best hundredth.
    """

    path: Floats
    all_features: Floats
    best_features: Floats


def join_labellings(batches: Sequence[MemberArrays]) -> MemberArrays:
    """The losses of several batches of labellings, concatenated along the labellings."""
    return MemberArrays(*(np.concatenate(member) for member in zip(*batches, strict=True)))
