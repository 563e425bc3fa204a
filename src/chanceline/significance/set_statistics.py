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
# Features carry a set if chance gives what they do at most so many times as often as what any part
# of the statistic does.
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
    spread : whether the evidence is spread over more features, of which these go best with the
        outcome; else it is in these.
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
    """The statistic of every labelling on the columns of one set.

    Parameters
    ----------
    columns_of_set : distinct columns of X that vary.
    shuffles : the table and the labellings.
    """
    columns = make_path_columns(shuffles.X, shuffles.design, shuffles.intercept, columns_of_set)
    n_samples, n_columns = columns.normalized.shape
    n_steps = longest_path(shuffles.largest, n_columns, n_samples)
    batches = [
        shuffles.follow(columns, slice(start, start + BATCH_SIZE), n_steps)
        for start in range(0, shuffles.n_labellings, BATCH_SIZE)
    ]
    losses = join_labellings([batch.member_losses for batch in batches])
    log_tails = log_tails_of_losses(losses)
    return SetStatistics(
        places=_places(combine_losses(losses).totals),
        evidence=log_evidence(log_tails),
        carriers=_find_carriers(
            columns=columns,
            correlations=shuffles.correlations(columns),
            first_batch=batches[0],
            log_tails=MemberArrays(*(member[OBSERVED_LABELLING] for member in log_tails)),
        ),
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
    log_tails: MemberArrays,
) -> Carriers:
    """The fewest features that say nearly as much as any part of the statistic does.

    Looked at are the features of the path, fewest first, then the best hundredth and the best
    tenth, then all; of many the best are named.

    Parameters
    ----------
    columns : of the set.
    correlations : (columns,) with the observed outcome.
    first_batch : paths of the first labellings, that of the observed one first.
    log_tails : of every member (columns,) how probable the observed loss is.
    """
    smallest_tail = min(member.min() for member in log_tails)
    enough = smallest_tail + log(NEARLY_AS_PROBABLE)
    path_positions = np.flatnonzero(log_tails.path <= enough)
    share_positions = np.flatnonzero(log_tails.best_features <= enough)

    strongest_first = np.argsort(-np.abs(correlations), kind="stable")
    if len(path_positions) > 0:
        n_features = int(path_positions[0]) + 1  # position 0 has one feature
        support = first_batch.support(OBSERVED_LABELLING, n_features)
        is_in_support = np.isin(columns.feature_of_column[strongest_first], support)
        carrying = strongest_first[is_in_support]
    elif len(share_positions) > 0:
        smallest_share = SHARES_OF_BEST[share_positions[-1]]  # shares fall
        carrying = strongest_first[: columns_in_share(smallest_share, len(correlations))]
    else:
        carrying = strongest_first
    named = carrying[:MAX_CARRIERS]
    return Carriers(
        columns=columns.feature_of_column[named],
        correlations=correlations[named],
        spread=len(carrying) > len(named),
    )
