"""Losses of candidates for a rule, sample by sample, and how candidates compare by them.

The loss is Brier's: the squared difference of the probability given to the positive class and what
is true (1 or 0). Probabilities are out of fold, by rules that the sample had no part in; losses are
means over several assignments of the samples to folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.candidates import (
    DenseCandidate,
    Family,
    RuleCandidate,
    ScoredCandidates,
)


class LossDifference(NamedTuple):
    """How much more one thing loses than another, and the standard error of that."""

    mean: float
    standard_error: float

    def exceeds(self, standard_errors: float) -> bool:
        """Whether it is larger than so many of its standard errors."""
        return self.mean > standard_errors * self.standard_error


def paired_difference(
    losses: Floats, reference: Floats, unit_of_sample: Ints | None = None
) -> LossDifference:
    """The mean difference of two losses of the same samples.

    Samples of a unit are not independent. The standard error is that of sums over units (Liang and
    Zeger 1986): with the differences d_i of n samples, of mean d̄,

        SE² = Σ_units (Σ_{i in the unit} (d_i − d̄))²/n²,

    which is var(d)/n where every sample is a unit.

    Parameters
    ----------
    losses, reference : (samples,)
    unit_of_sample : number of every sample's unit, (samples,); None if all samples are independent
    """
    differences = losses - reference
    mean = float(differences.mean())
    deviations = differences - mean
    if unit_of_sample is not None:
        deviations = sum_by_unit(deviations, unit_of_sample)
    standard_error = float(np.sqrt(np.sum(deviations**2))) / len(differences)
    return LossDifference(mean, standard_error)


def sum_by_unit(values: Floats, unit_of_sample: Ints) -> Floats:
    """The sum of the values (samples,) in each unit: (units,)"""
    return np.bincount(unit_of_sample, weights=values).astype(np.float64)


@dataclass(frozen=True, eq=False)
class LossTable:
    """Losses of all candidates.

    Attributes
    ----------
    candidates : the candidates.
    losses : (candidates, samples)
    unit_of_sample : number of every sample's unit, (samples,); None if all are independent.
    """

    candidates: list[RuleCandidate]
    losses: Floats
    unit_of_sample: Ints | None = None

    @property
    def mean_losses(self) -> Floats:
        """(candidates,)"""
        return self.losses.mean(axis=1)

    @property
    def n_features(self) -> Ints:
        """Of every candidate, (candidates,)."""
        return np.array([candidate.n_features for candidate in self.candidates])

    def is_of(self, *families: Family) -> Bools:
        """Which candidates are of one of these families, (candidates,)."""
        return np.array([candidate.family in families for candidate in self.candidates])

    def difference(self, index: int, reference: int) -> LossDifference:
        """How much more one candidate loses than another."""
        return self.difference_of(self.losses[index], self.losses[reference])

    def difference_of(self, losses: Floats, reference: Floats) -> LossDifference:
        """The same for any losses of these samples, (samples,) each."""
        return paired_difference(losses, reference, self.unit_of_sample)

    def best_among(self, eligible: Bools) -> int:
        """The eligible candidate with the smallest mean loss."""
        return int(np.where(eligible, self.mean_losses, np.inf).argmin())

    def best_of_each_size(self, eligible: Bools) -> Ints:
        """For every number of features the best eligible candidate, in ascending order: (sizes,)"""
        sizes = np.unique(self.n_features[eligible])
        best = [self.best_among(eligible & (self.n_features == size)) for size in sizes]
        return np.array(best, dtype=np.int64)

    def competing_with(self, index: int, eligible: Bools, standard_errors: float) -> Ints:
        """The eligible candidates that lose at most so many standard errors more than one."""
        competing = [
            other
            for other in np.flatnonzero(eligible).tolist()
            if not self.difference(other, index).exceeds(standard_errors)
        ]
        return np.array(competing, dtype=np.int64)

    def closeness_to_best(self, indices: Ints, width: float) -> Floats:
        """How near each of several candidates comes to the best of them, from 0 to 1: (indices,)

        The closeness is e^{−t²/2}, where t is how much more the candidate loses than the best one,
        in units of `width` standard errors.

        Parameters
        ----------
        indices : the candidates, as rows of the table, (indices,)
        width : standard errors at which the closeness has fallen to e^{−1/2}
        """
        # How much more each candidate loses than the best one, (indices,).
        best = indices[self.mean_losses[indices].argmin()]
        differences = [self.difference(index, best) for index in indices]
        excess_losses = np.array([difference.mean for difference in differences])
        if np.all(excess_losses == 0):
            return np.ones(len(indices))

        # Distances are measured in `width` times the median standard error of the differences, the
        # same unit for all candidates. By its own standard error, which is tiny, a candidate nearly
        # identical to the best one would seem far away from it.
        standard_errors = [
            difference.standard_error
            for index, difference in zip(indices, differences, strict=True)
            if index != best
        ]
        # The floor keeps the unit above 0, by which t is divided.
        unit = max(width * float(np.median(standard_errors)), np.finfo(float).tiny)
        # Beyond t = 40 the result is 0 anyway, and the square could overflow.
        distances = np.minimum(excess_losses / unit, 40.0)  # t
        return np.exp(-(distances**2) / 2)


def mean_loss_table(
    repeats: Sequence[ScoredCandidates], positive: Bools, unit_of_sample: Ints | None = None
) -> LossTable:
    """The losses of candidates, averaged over several assignments of the samples to folds.

    A repeat is one such assignment. A candidate is the same in two repeats if its identity (family,
    number of features and penalty) is the same. Only candidates of all repeats are listed: in some
    repeats the path of features ends before it reaches the size of a candidate. A unit is a set of
    dependent samples, such as those of a patient.

    Parameters
    ----------
    repeats : for each repeat its candidates, and their probabilities (candidates, samples)
    positive : which samples are positive, (samples,)
    unit_of_sample : number of every sample's unit, (samples,); None if all are independent
    """
    # For each repeat a dictionary from a candidate's identity to its row among the probabilities.
    rows_of_repeats = []
    for scored in repeats:
        row_of_identity = {
            candidate.identity: row for row, candidate in enumerate(scored.candidates)
        }
        rows_of_repeats.append(row_of_identity)

    candidates = []
    mean_losses = []  # for each candidate an array (samples,)
    for identity in rows_of_repeats[0]:
        is_in_all_repeats = all(identity in row_of_identity for row_of_identity in rows_of_repeats)
        if not is_in_all_repeats:
            continue

        # The candidate in each repeat, and its losses. (Dense candidates of one identity differ in
        # their links.)
        candidate_of_repeats = []
        losses_of_repeats = []
        for scored, row_of_identity in zip(repeats, rows_of_repeats, strict=True):
            row = row_of_identity[identity]
            candidate_of_repeats.append(scored.candidates[row])
            losses_of_repeats.append(brier_losses(scored.probabilities[row], positive))
        candidates.append(mean_candidate(candidate_of_repeats))
        mean_losses.append(np.mean(losses_of_repeats, axis=0))
    return LossTable(candidates, np.array(mean_losses), unit_of_sample)


def mean_candidate(candidates: Sequence[RuleCandidate]) -> RuleCandidate:
    """One for several of the same identity; of dense ones it has the mean of their links."""
    first = candidates[0]
    links = [candidate.link for candidate in candidates if isinstance(candidate, DenseCandidate)]
    if isinstance(first, DenseCandidate):
        return replace(first, link=np.mean(links, axis=0))
    return first


def brier_losses(probabilities: Floats, positive: Bools) -> Floats:
    """Squared differences of probabilities (…, samples) and what is true (samples,)."""
    return (probabilities - positive) ** 2
