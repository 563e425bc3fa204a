"""One p-value from the losses at every number of features and from the spread.

Let S[b, k] be the loss of labelling b (0 observed, 1 … B drawn from the null) at K = k features
(`path`), and as further columns the negative spread over all features, over a tenth and over a
hundredth of them. Every labelling has a rank among all in each column,

    p[b, k] = #{b′ : S[b′, k] ≤ S[b, k]}/(1 + B).

Its smallest p[b, k] over the numbers of features is ranked once more, q[b], and the four are
combined by their harmonic mean, which is small if one of them is very small or several are small
(Good 1958; Wilson 2019):

    T[b] = 1/q[b] + Σ_share 1/p[b, share],   p = #{b : T[b] ≥ T[0]}/(1 + B).

The best labelling at each K has the same p[b, k] = 1/(1 + B); of equals, the one that lies more
standard deviations below the mean of its K comes first, so that p can be as small as 1/(1 + B).
Under the null the labellings are exchangeable given the table, the map from losses to
(T[0], …, T[B]) treats all of them alike, and p is valid whatever the path does: the choice of K is
paid for.

The adjusted p-value of one column counts the labellings one of whose terms reaches its own, which
holds for all columns together (Westfall and Young 1993, single step); it is p where that is larger,
so that no part says more than the whole.

Terms and totals are kept in units of 1 + B: 1/#{…} instead of 1/p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Bools, Floats
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.path import SPREAD_SHARES

# The largest fraction by which a rank is moved to order equals: below one half, so that rounding
# gives the rank back.
LARGEST_FRACTION = 0.4


@dataclass(frozen=True, eq=False)
class CombinedRanks:
    """What the losses of all labellings say together; row 0 is the observed labelling.

    Attributes
    ----------
    terms : (labellings, steps + shares) 1/q at every number of features, then 1/p of the spreads.
    totals : (labellings,) T, to which of the numbers of features only the best contributes.
    """

    terms: Floats
    totals: Floats

    @property
    def as_good(self) -> Bools:
        """(labellings,) whether T reaches that of the observed labelling, itself included."""
        return self.totals >= self.totals[0] - ROUNDING_TOLERANCE

    def adjusted_pvalues(self) -> Floats:
        """Of K = 1, 2, …, and of the spread over every share of the features: (columns,)."""
        best_term = self.terms.max(axis=1, keepdims=True)
        n_reaching = np.count_nonzero(best_term >= self.terms[0] - ROUNDING_TOLERANCE, axis=0)
        n_as_good = np.count_nonzero(self.as_good)
        return np.maximum(n_reaching, n_as_good) / len(self.totals)


def combine_losses(losses: Floats) -> CombinedRanks:
    """Rank the labellings in every column, and combine the ranks by their harmonic mean.

    A column is a number of features, k, or a share of the features whose spread is taken. A p-value
    is kept as a number of labellings, its rank; 1 is the best. The steps, for every labelling b:

    1. p[b, k] and p[b, share], its ranks in the columns (`path_ranks`, `spread_ranks`).
    2. q[b, k] = #{b′ : min_k′ p[b′, k′] ≤ p[b, k]} (`adjusted_ranks`): how many labellings reach
       the rank p[b, k] at some number of features, which pays for choosing k.
    3. T[b] = max_k 1/q[b, k] + Σ_share 1/p[b, share] (`totals`): the best number of features is one
       member of the mean, every share is another.

    Parameters
    ----------
    losses : (labellings, steps + shares) the loss of every labelling in every column, the shares
        last.
    """
    n_steps = losses.shape[1] - len(SPREAD_SHARES)
    ranks = rank_losses(losses)
    # Ranks come as rank − fraction, the fraction below one half. Step 2 compares ranks of different
    # columns, of which each has a first labelling: the fractions order these firsts.
    path_ranks = ranks[:, :n_steps]
    # A share is compared with no other column, and its rank is made whole again.
    spread_ranks = np.rint(ranks[:, n_steps:])

    # How many labellings have a smallest rank that is no larger; fractions that differ by rounding
    # alone are equal.
    smallest_ranks = np.sort(path_ranks.min(axis=1))
    adjusted_ranks = np.searchsorted(smallest_ranks, path_ranks + ROUNDING_TOLERANCE, side="right")

    path_terms = 1 / adjusted_ranks
    spread_terms = 1 / spread_ranks
    return CombinedRanks(
        terms=np.hstack([path_terms, spread_terms]),
        totals=path_terms.max(axis=1) + spread_terms.sum(axis=1),
    )


def rank_losses(losses: Floats) -> Floats:
    """Rank the labellings in every column, with a fraction that orders equal ranks of two columns.

    The rank of a labelling is the number of labellings, itself included, whose loss in the column
    is no larger; losses that differ by rounding alone count as equal. A fraction is subtracted: the
    further the loss lies below the mean of its column, in standard deviations, the larger is the
    fraction, and the better (smaller) the result. Above the mean the fraction is negative. It lies
    between −0.4 and 0.4: `np.rint` gives the whole rank back, which callers rely on.

    Parameters
    ----------
    losses : (labellings, columns)

    Returns
    -------
    (labellings, columns) rank − fraction; the rank is 1 for the smallest loss.
    """
    ranks = np.empty(losses.shape)
    for column, column_losses in enumerate(losses.T):
        equal_up_to = column_losses + ROUNDING_TOLERANCE
        ranks[:, column] = np.searchsorted(np.sort(column_losses), equal_up_to, side="right")

    # Standard deviations below the mean; a column that is constant up to rounding orders nothing.
    deviations = losses.std(axis=0)
    scales = np.where(deviations > ROUNDING_TOLERANCE, deviations, np.inf)
    below_mean = (losses.mean(axis=0) - losses) / scales
    # x/(1 + |x|) rises with x and lies between −1 and 1.
    fraction = LARGEST_FRACTION * below_mean / (1 + np.abs(below_mean))
    return ranks - fraction
