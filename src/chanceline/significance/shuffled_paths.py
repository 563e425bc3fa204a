"""The paths of all labellings: p-values and bands from their losses, the observed labels first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.combination import combine_losses
from chanceline.significance.members import MemberArrays
from chanceline.significance.path_columns import ForwardColumns
from chanceline.significance.readings import (
    Band,
    Draws,
    PermutationReading,
    SearchStatistic,
    SpreadMeasure,
    SpreadReading,
    StatisticKind,
    StopCause,
    read_draws,
)

# A loss from products in single precision is wrong by no more than so many roundings.
ROUNDINGS_OF_LOSS = 8
# The band of shuffled labels shown for every K holds 90 % of them.
BAND_QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class ShuffledLosses:
    """Losses and errors of the observed labelling (row 0) and of the draws.

    Attributes
    ----------
    losses : of every member of the combination (labellings, columns).
    first_batch_errors : (labellings of the first batch, steps) at every K; errors of later batches
        are not counted.
    requested : how many draws were asked for.
    stopped_by : what ended drawing before that; None if nothing did.
    """

    losses: MemberArrays
    first_batch_errors: Ints
    requested: int
    stopped_by: StopCause | None

    @property
    def done(self) -> int:
        """Number of draws."""
        return len(self.losses.path) - 1

    @property
    def n_steps(self) -> int:
        """The largest number of features."""
        return self.first_batch_errors.shape[1]

    def adjusted_pvalues(self) -> MemberArrays:
        """Of every member (columns,); those of K = 1, 2, … are its `path`."""
        return combine_losses(self.losses).adjusted_pvalues()

    def adjusted_pvalue_of(self, n_selected: int, loss: float) -> float:
        """The adjusted p-value of a number of features, had the observed labels this loss there."""
        path_losses = self.losses.path.copy()
        path_losses[0, n_selected - 1] = loss  # the observed labels come first
        losses = self.losses._replace(path=path_losses)
        return float(combine_losses(losses).adjusted_pvalues().path[n_selected - 1])

    def marginal_pvalues(self, columns: ForwardColumns, y: Floats) -> Floats:
        """Adjusted p-value of every column by itself.

        It is the share of labellings whose best column fits no worse than this one fits y.

        Parameters
        ----------
        columns : those that the paths were made of.
        y : (samples,) the observed labels ±1.

        Returns
        -------
        (columns,)
        """
        centred = columns.residuals(y[None])[0]
        products = columns.products(centred)
        losses = 1 - products.astype(float) ** 2 / (centred @ centred)
        best_losses = np.sort(self.losses.path[:, 0])
        # The best losses are in double precision, and the products perhaps in single.
        rounding = max(ROUNDING_TOLERANCE, ROUNDINGS_OF_LOSS * np.finfo(products.dtype).eps)
        n_as_good = np.searchsorted(best_losses, losses + rounding, side="right")
        return n_as_good / len(best_losses)

    def bands(self) -> list[Band | None]:
        """The range of R² on shuffled labels, for every K; None without shuffles."""
        if self.done == 0:
            return [None] * self.n_steps
        explained = 1.0 - self.losses.path[1:]
        quantiles = np.quantile(explained, BAND_QUANTILES, axis=0)  # (quantiles, steps)
        return [Band(low, median, high) for low, median, high in quantiles.T.tolist()]

    def spread(self) -> SpreadReading:
        """How well all features together fit the observed labels, compared with shuffled labels.

        The measure is the mean squared correlation of the features with the labels, or the fit of a
        ridge regression, whichever has the smaller p-value.
        """
        # Column 0 is the mean squared correlation, the others are ridge regressions.
        pvalues = self.adjusted_pvalues().all_features
        best_column = int(pvalues.argmin())  # of equal p-values the first, the simpler measure
        measure = SpreadMeasure.CORRELATIONS if best_column == 0 else SpreadMeasure.RIDGE

        # Losses are negative measures. Row 0 is the observed labelling, the others are shuffles.
        values = -self.losses.all_features[:, best_column]
        observed = float(values[0])
        low, median, high = np.quantile(values[1:], BAND_QUANTILES).tolist()
        return SpreadReading(
            value=observed,
            shuffled=(low, median, high),
            pvalue=float(pvalues[best_column]),
            measure=measure,
        )

    def permutation_reading(self) -> PermutationReading:
        """The Monte Carlo p-value of the test, which combines the fits of all numbers of features.

        A labelling is the observed one, in entry 0 of all arrays, or a draw (a shuffle). Two things
        are known about it: its losses, from which the p-value follows, and its errors, which are
        only reported. Errors are counted for the first batch of labellings alone.
        """
        # Whether the combined losses of a labelling are as good as those of the observed one.
        is_as_good = combine_losses(self.losses).as_good  # (labellings,)
        # The fewest errors on the path of a labelling, and the number of features that make these:
        # an entry for each labelling of the first batch.
        observed, *first_draws = self._first_batch_statistics()
        draws = Draws(
            observed=observed,
            drawn=first_draws,  # not of later draws
            as_good=is_as_good[1:],  # of all draws
            requested=self.requested,
            stopped_by=self.stopped_by,
        )
        reading = read_draws(draws)
        return replace(reading, statistic=StatisticKind.PATH)

    def _first_batch_statistics(self) -> list[SearchStatistic]:
        """The fewest errors on each path of the first batch, and the fewest features with these.

        A path is better if its rank is smaller. The rank is the number of features if they make no
        error. Else it is the length of the path plus the errors, and so larger than the rank of any
        path without errors.
        """
        fewest_errors = self.first_batch_errors.min(axis=1)  # (labellings,)
        # Column 0 has the errors with one feature; `argmin` takes the first column of equals.
        sizes = 1 + self.first_batch_errors.argmin(axis=1)
        ranks = np.where(fewest_errors == 0, sizes, self.n_steps + fewest_errors)
        statistics = []
        for labelling in range(len(ranks)):
            statistic = SearchStatistic(
                rank=int(ranks[labelling]),
                n_selected=int(sizes[labelling]),
                errors=int(fewest_errors[labelling]),
            )
            statistics.append(statistic)
        return statistics
