"""What the observed and the drawn labels say about one set of features.

The statistic of a set is that of the test of a whole table (`combination`), on the set's columns
alone: the path of 1, 2, … features, the spread over all and over the best of them, and ridge
regressions. All sets have the same labellings, so that sets can be compared labelling by labelling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log
from typing import NamedTuple, Protocol

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.combination import combine_losses
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.path import ForwardPaths, follow_paths, longest_path
from chanceline.significance.path_columns import ColumnDesign, PathColumns, make_path_columns
from chanceline.significance.path_gains import columns_in_share
from chanceline.significance.path_steps import SPREAD_SHARES
from chanceline.significance.shuffles import BATCH_SIZE
from chanceline.significance.step_down import OBSERVED_LABELLING
from chanceline.significance.tail_distance import log_evidence, log_tails_of_losses

MAX_CARRIERS = 6  # features that are named, where more of a set do a little each
# Features carry a set if chance gives so small a loss at most this many times as often as the
# smallest probability of any part of the statistic.
NEARLY_AS_PROBABLE = 10.0
SHARES_OF_BEST = SPREAD_SHARES[1:]  # without that of all features


class FollowedPaths(Protocol):
    """What the paths of some labellings find; `ForwardPaths` has it."""

    @property
    def member_losses(self) -> MemberArrays:
        """The losses of every member of the combination (labellings, columns)."""

    def support(self, row: int, size: int) -> Ints:
        """Sorted features of the best set of this size for one labelling."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SetShuffles(ABC):
    """The table and the labellings, which all sets have in common.

    Attributes
    ----------
    X : (samples, features)
    design : its blocks and covariates are taken out of the columns.
    intercept : whether the rule has a threshold.
    largest : the path goes up to so many features.
    """

    X: AnyTable
    design: ColumnDesign
    intercept: bool
    largest: int

    @property
    @abstractmethod
    def n_labellings(self) -> int:
        """The observed labelling and the draws."""

    @abstractmethod
    def follow(self, columns: PathColumns, batch: slice, n_steps: int) -> FollowedPaths:
        """The paths of some labellings over the columns of a set; the observed one is number 0."""

    @abstractmethod
    def correlations(self, columns: PathColumns) -> Floats:
        """(columns,) of every column with the observed outcome, beyond blocks and covariates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelShuffles(SetShuffles):
    """Shuffled labels of two classes.

    Attributes
    ----------
    labels : (labellings, samples) ±1, the observed labels first.
    """

    labels: Floats

    @property
    def n_labellings(self) -> int:
        return len(self.labels)

    def follow(self, columns: PathColumns, batch: slice, n_steps: int) -> ForwardPaths:
        return follow_paths(columns, self.labels[batch], n_steps, with_errors=False)

    def correlations(self, columns: PathColumns) -> Floats:
        observed = self.labels[OBSERVED_LABELLING]
        centred = columns.residuals(observed[None])[0]
        length = np.sqrt(centred @ centred)
        if length == 0:
            return np.zeros(len(columns.feature_of_column))
        return centred @ columns.normalized / length


class Carriers(NamedTuple):
    """The features that carry a set.

    Attributes
    ----------
    columns : (features,) columns of X, the largest correlation first.
    correlations : (features,) of each with the outcome, beyond blocks and covariates.
    spread : whether the evidence is spread over more features; these are the ones that go best with
        the outcome. If not, the evidence is in these.
    """

    columns: Ints
    correlations: Floats
    spread: bool


class SetStatistics(NamedTuple):
    """What all labellings do in one set.

    Attributes
    ----------
    places : (labellings,) how many labellings do as well or better, itself included.
    evidence : (labellings,) how far each lies out, in logarithms of probabilities.
    carriers : the features that carry the set.
    """

    places: Ints
    evidence: Floats
    carriers: Carriers

    @property
    def pvalue(self) -> float:
        """The share of labellings that do as well as the observed one, itself included."""
        return float(self.places[OBSERVED_LABELLING]) / len(self.places)


def set_statistics(columns_of_set: Ints, shuffles: SetShuffles) -> SetStatistics:
    """Compare the observed outcome with shuffled outcomes on the columns of one set of features.

    A labelling is the observed outcome or a shuffle of it.

    Parameters
    ----------
    columns_of_set : distinct columns of X that vary.
    shuffles : the table and the labellings.

    Returns
    -------
    places : (labellings,) how many labellings go with the set as well or better, 1 for the best.
        The place of the observed labelling gives the set's p-value.
    evidence : (labellings,) how improbable the fit of a labelling is by chance, in logarithms. It
        serves to compare sets.
    carriers : the features of the set in which the evidence lies.
    """
    # Losses of least squares on the columns of the set, small where they fit a labelling well.
    # There are three families of losses, (labellings, columns) each: with 1, 2, … features, with
    # all features, and with the best of them. A labelling is fitted in one of several batches.
    columns = make_path_columns(shuffles.X, shuffles.design, shuffles.intercept, columns_of_set)
    batches = _follow_all(columns, shuffles)
    losses = join_labellings([batch.member_losses for batch in batches])

    # One statistic for each labelling from all its losses, larger for a better fit; and its place.
    combined_statistics = combine_losses(losses).totals  # (labellings,)
    places = _places(combined_statistics)

    # Places can't compare sets: the observed labelling would often have place 1 in several. So see
    # how improbable such small losses are by chance, in each family and column.
    log_probabilities = log_tails_of_losses(losses)
    evidence = log_evidence(log_probabilities)

    # The features that carry the set, by the losses of the observed labelling.
    carriers = _find_carriers(
        columns=columns,
        correlations=shuffles.correlations(columns),
        first_batch=batches[0],
        log_probabilities=_of_observed(log_probabilities),
    )
    return SetStatistics(places=places, evidence=evidence, carriers=carriers)


def _follow_all(columns: PathColumns, shuffles: SetShuffles) -> list[FollowedPaths]:
    """The paths of all labellings over the columns of a set, in batches."""
    n_samples, n_columns = columns.normalized.shape
    n_steps = longest_path(shuffles.largest, n_columns, n_samples)
    return [
        shuffles.follow(columns, slice(start, start + BATCH_SIZE), n_steps)
        for start in range(0, shuffles.n_labellings, BATCH_SIZE)
    ]


def _of_observed(members: MemberArrays) -> MemberArrays:
    """The numbers (columns,) of the observed labelling, from those of all (labellings, columns)."""
    return MemberArrays(
        path=members.path[OBSERVED_LABELLING],
        all_features=members.all_features[OBSERVED_LABELLING],
        best_features=members.best_features[OBSERVED_LABELLING],
    )


def _places(totals: Floats) -> Ints:
    """How many labellings have a total as large, up to rounding: (labellings,)."""
    ascending = np.sort(totals)
    n_smaller = np.searchsorted(ascending, totals - ROUNDING_TOLERANCE, side="left")
    return len(totals) - n_smaller


def _find_carriers(
    *,
    columns: PathColumns,
    correlations: Floats,
    first_batch: FollowedPaths,
    log_probabilities: MemberArrays,
) -> Carriers:
    """Find the few features of a set that explain the outcome nearly as well as the set can.

    They are said to carry the set. Candidates are, in this order: the features of the stepwise path
    after 1, 2, … steps; the best hundredth and the best tenth of the features; and all features.
    Each has a loss in the observed outcome, and a probability that chance gives so small a loss.
    The first candidate whose probability is nearly as small as the smallest of all is taken.

    Parameters
    ----------
    columns : the columns of the set.
    correlations : (columns,) of each column with the observed outcome.
    first_batch : the paths of the first labellings; row 0 is the observed outcome.
    log_probabilities : ln of these probabilities, in three arrays: `path` with an entry for each
        number of steps, `best_features` for each of `SHARES_OF_BEST`, and `all_features`.
    """
    # Accepted are probabilities up to `NEARLY_AS_PROBABLE` times the smallest in any array.
    smallest_log_p = min(array.min() for array in log_probabilities)
    largest_accepted_log_p = smallest_log_p + log(NEARLY_AS_PROBABLE)
    is_accepted_size = log_probabilities.path <= largest_accepted_log_p  # 1, 2, … features
    is_accepted_share = log_probabilities.best_features <= largest_accepted_log_p

    # The columns of the features that carry the set, the strongest correlation first. These are
    # numbers within the set: `columns.feature_of_column` gives the numbers in the table.
    strongest_first = np.argsort(-np.abs(correlations), kind="stable")
    if is_accepted_size.any():
        smallest_size = 1 + int(np.argmax(is_accepted_size))  # `argmax`: the first True
        features_in_table = first_batch.support(OBSERVED_LABELLING, smallest_size)
        is_on_path = np.isin(columns.feature_of_column[strongest_first], features_in_table)
        carrying_columns = strongest_first[is_on_path]
    elif is_accepted_share.any():
        smallest_share = float(np.array(SHARES_OF_BEST)[is_accepted_share].min())
        n_carrying = columns_in_share(smallest_share, len(correlations))
        carrying_columns = strongest_first[:n_carrying]
    else:
        carrying_columns = strongest_first  # all features

    # Of many features only the first are named; the evidence is then said to be spread.
    named_columns = carrying_columns[:MAX_CARRIERS]
    return Carriers(
        columns=columns.feature_of_column[named_columns],
        correlations=correlations[named_columns],
        spread=len(carrying_columns) > len(named_columns),
    )
