"""What forward paths find, whatever they explain: labels of two classes, or other outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.members import MemberArrays
from chanceline.significance.path_steps import NO_FEATURE


@dataclass(frozen=True, eq=False, kw_only=True)
class FollowedPaths:
    """What the path of every labelling (or permutation of scores) finds, one row for each.

    Attributes
    ----------
    losses : (labellings, steps) the share of the squared length of labels, or scores, that K
        features leave unexplained (a pair's at K = 2, if better).
    chosen : (labellings, steps) features in the order taken, −1 where the path has ended.
    pair : (labellings, 2) features of the pair where it is better than the path's first two; else
        −1.
    spread : (labellings, SPREAD_SHARES) the mean squared correlation of that share of the columns
        with labels or scores, relative to chance: over all columns 1 on average where these are
        permuted freely.
    ridge_fits : (labellings, ridges) how much of labels or scores each ridge regression fits,
        relative to chance: 1 on average where these are permuted freely.
    """

    losses: Floats
    chosen: Ints
    pair: Ints
    spread: Floats
    ridge_fits: Floats

    @property
    def member_losses(self) -> MemberArrays:
        """The losses of every member (family of losses) of the combined statistic.

        Spreads and ridge fits get a minus sign, so that small is good for all losses.
        """
        spread_over_all = self.spread[:, :1]  # the first of `SPREAD_SHARES`
        return MemberArrays(
            path=self.losses,
            all_features=-np.hstack([spread_over_all, self.ridge_fits]),
            best_features=-self.spread[:, 1:],
        )

    def support(self, row: int, size: int) -> Ints:
        """The features of the best set of this size for one labelling, ascending.

        The set is smaller if the path ended before it had so many features. At size 2 a pair that
        is better than the path's first two features takes their place.
        """
        has_pair = self.pair[row, 0] != NO_FEATURE
        if size == 2 and has_pair:
            return np.sort(self.pair[row])
        features = self.chosen[row, :size]
        return np.sort(features[features != NO_FEATURE])
