"""What the observed and the drawn labels say about one set of features.

The statistic of a set is that of the test of a whole table (`combination`), on the set's columns
alone: the path of 1, 2, … features, the spread over all and over the best of them, and ridge
regressions. All sets have the same labellings, so that sets can be compared labelling by labelling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.combination import CombinedRanks, combine_losses
from chanceline.significance.design import NullDesign
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.path import (
    SPREAD_SHARES,
    ForwardPaths,
    columns_in_share,
    follow_paths,
)
from chanceline.significance.path_columns import PathColumns, make_path_columns
from chanceline.significance.shuffles import BATCH_SIZE
from chanceline.significance.step_down import OBSERVED_LABELLING
from chanceline.significance.tail_distance import log_evidence

MAX_CARRIERS = 6  # features that are named, where more of a set do a little each


@dataclass(frozen=True, eq=False)
class SharedLabels:
    """What all sets have in common.

    Attributes
    ----------
    X : (samples, features)
    design : its blocks and covariates are taken out of the columns.
    labels : (labellings, samples) ±1, the observed labels first.
    intercept : whether the rule has a threshold.
    largest : the path goes up to so many features.
    """

    X: Floats
    design: NullDesign
    labels: Floats
    intercept: bool
    largest: int

    def path_length(self, n_columns: int) -> int:
        """Steps of the path in a set of so many columns."""
        n_samples = len(self.X)
        # With one feature for every sample but two, least squares fits any labels.
        return max(1, min(self.largest, n_columns, n_samples - 2))


class Carriers(NamedTuple):
    """The features that carry a set.

    Attributes
    ----------
    columns : (features,) columns of X, the largest correlation first.
    correlations : (features,) of each with the labels, beyond blocks and covariates.
    spread : whether the evidence is spread over more features, of which these go best with the
        labels; else it is in these.
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


def set_statistics(columns_of_set: Ints, shared: SharedLabels) -> SetStatistics:
    """The statistic of every labelling on the columns of one set.

    Parameters
    ----------
    columns_of_set : distinct columns of X that vary.
    shared : the table and the labellings.
    """
    columns = make_path_columns(shared.X, shared.design, shared.intercept, columns_of_set)
    n_steps = shared.path_length(len(columns.feature_of_column))
    batches = [
        follow_paths(columns, shared.labels[start : start + BATCH_SIZE], n_steps, with_errors=False)
        for start in range(0, len(shared.labels), BATCH_SIZE)
    ]
    losses = join_labellings([batch.member_losses for batch in batches])
    combined = combine_losses(losses)
    observed_labels = shared.labels[OBSERVED_LABELLING]
    return SetStatistics(
        places=_places(combined.totals),
        evidence=log_evidence(losses),
        carriers=_find_carriers(columns, observed_labels, batches[0], combined),
    )


def _places(totals: Floats) -> Ints:
    """How many labellings have a total as large, up to rounding: (labellings,)."""
    ascending = np.sort(totals)
    n_smaller = np.searchsorted(ascending, totals - ROUNDING_TOLERANCE, side="left")
    return len(totals) - n_smaller


def _find_carriers(
    columns: PathColumns, labels: Floats, first_batch: ForwardPaths, combined: CombinedRanks
) -> Carriers:
    """The features of that part of the statistic which says most, of many the best few.

    Parameters
    ----------
    columns : of the set.
    labels : (samples,) the observed ones.
    first_batch : paths of the first labellings, that of the observed labels first.
    combined : the ranks of all labellings.
    """
    correlations = _correlations(columns, labels)
    strongest_first = np.argsort(-np.abs(correlations), kind="stable")
    pvalues = combined.adjusted_pvalues()
    if pvalues.path.min() <= min(pvalues.all_features.min(), pvalues.best_features.min()):
        n_features = int(pvalues.path.argmin()) + 1  # of equal p-values the fewest features
        support = first_batch.support(OBSERVED_LABELLING, n_features)
        is_in_support = np.isin(columns.feature_of_column[strongest_first], support)
        carrying = strongest_first[is_in_support]
    elif pvalues.best_features.min() <= pvalues.all_features.min():
        carrying = strongest_first[: _size_of_best_share(pvalues, len(correlations))]
    else:
        carrying = strongest_first
    named = carrying[:MAX_CARRIERS]
    return Carriers(
        columns=columns.feature_of_column[named],
        correlations=correlations[named],
        spread=len(carrying) > len(named),
    )


def _size_of_best_share(pvalues: MemberArrays, n_columns: int) -> int:
    """How many columns the best tenth or hundredth has, whichever says more."""
    # The smaller share comes last; of equal p-values it is taken.
    shares_of_best = SPREAD_SHARES[1:]
    smallest = np.flatnonzero(pvalues.best_features == pvalues.best_features.min())
    return columns_in_share(shares_of_best[smallest[-1]], n_columns)


def _correlations(columns: PathColumns, labels: Floats) -> Floats:
    """Correlation of every column with the labels, beyond blocks and covariates: (columns,)."""
    centred = columns.residuals(labels[None])[0]
    length = np.sqrt(centred @ centred)
    if length == 0:
        return np.zeros(len(columns.feature_of_column))
    return centred @ columns.normalized / length
