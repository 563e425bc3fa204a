"""What shuffled labels say: the readings that a result carries, and how draws become a p-value.

A statistic T of the observed labels is compared with that of B drawn labellings,

    p = (1 + #{T_b ≤ T_0})/(1 + B).

Drawing may stop when h of the T_b are ≤ T_0, with p = h/l after l draws (Besag and Clifford 1991,
Biometrika 78:301), which keeps the test valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import log10
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools
from chanceline._results import Result
from chanceline.prediction.interval import clopper_pearson


class StatisticKind(StrEnum):
    """What was compared between the observed and the drawn labels."""

    PATH = "front"  # losses at every number of features; JSON calls it the front
    SEARCH = "search"  # the set size of a search that was run again on every draw


class SpreadMeasure(StrEnum):
    """By what the joint effect of all features is measured."""

    CORRELATIONS = "squared correlations"  # each feature does a little
    RIDGE = "ridge regression"  # features do together what none does alone


class StopCause(StrEnum):
    """What ended drawing before it was done."""

    INTERRUPT = "interrupt"
    TIME_LIMIT = "time limit"
    LOST_WORKERS = "lost workers"


@dataclass(frozen=True, order=True)
class SearchStatistic:
    """T of one labelling; statistics are compared by their rank.

    Attributes
    ----------
    rank : the number of features if they make no more errors than allowed; else more than any set
        has, and larger with more errors.
    n_selected, errors : of the set found.
    support : the features themselves, which do not count in comparisons.
    """

    rank: int
    n_selected: int
    errors: int
    support: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, repr=False)
class PermutationReading(Result):
    """Monte Carlo p-value of a statistic.

    Attributes
    ----------
    pvalue : (1 + exceedances)/(1 + done), or exceedances/done if drawing stopped at `stop_after`
        exceedances.
    interval : 95 % Clopper–Pearson interval of the p-value that infinitely many draws would give.
    floor : the smallest p-value that this many draws can give, 1/(1 + requested).
    null_sizes : set sizes found on drawn labels, None where the search did not separate.
    statistic : "front" (losses at every number of features) or "search" (the set size of a search
        run again on every draw).
    interrupted, stopped_by : whether drawing ended before it was done, and if so by "interrupt",
        "time limit" or "lost workers".
    void : the search gave the same features for every labelling, so that it does not look at the
        labels given to it and its p-value means nothing.
    """

    pvalue: float
    interval: tuple[float, float]
    floor: float
    observed: SearchStatistic
    exceedances: int
    done: int
    requested: int
    stopped_early: bool
    interrupted: bool
    null_sizes: tuple[int | None, ...]
    statistic: StatisticKind = StatisticKind.SEARCH
    stopped_by: StopCause | None = None
    void: bool = False
    kind: str = "Monte Carlo"
    _derived = ("log10_pvalue",)

    @property
    def log10_pvalue(self) -> float:
        return log10(self.pvalue)

    def summary(self) -> str:
        if self.void:
            return "void: the search does not look at the labels"
        low, high = self.interval
        smallest = max(self.floor, 1 / (1 + self.done))
        return (
            f"p = {self.pvalue:.2g} (95 % CI {low:.2g}–{high:.2g}), "
            f"at least {smallest:.2g} with {self.done} shuffles"
        )


@dataclass(frozen=True)
class Band:
    """R² of shuffled labels: the median, and the ends of the range that 90 % of them lie in."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class SizeReading:
    """What k features do.

    Attributes
    ----------
    k : number of features.
    errors : the fewest errors known of a linear rule on at most k features, whatever found it;
        never more than for fewer features. With blocks or covariates a rule may have them besides:
        a threshold for every block, a weight for every covariate.
    features : those that forward stepwise least squares takes; what follows is about these.
    explained : R², the share of the labels' squares that least squares on these features explains
        (beyond what blocks and covariates do).
    shuffled : R² of the same procedure on shuffled labels; None without shuffles.
    pvalue : adjusted for the choice of k; None without shuffles.
    """

    k: int
    errors: int
    features: tuple[str, ...]
    explained: float
    shuffled: Band | None
    pvalue: float | None


@dataclass(frozen=True)
class SpreadReading:
    """What all features do together: for signal that no small set holds.

    Attributes
    ----------
    value : mean squared correlation of the features with the labels, times P − 1; or how much of
        the labels a ridge regression on all features fits, relative to chance. Both are 1 on
        average for permuted labels.
    shuffled : lower end, median and upper end of the range that holds 90 % of the same on shuffled
        labels.
    pvalue : adjusted like those of the front, of which this is one more member.
    measure : what `value` is.
    """

    value: float
    shuffled: tuple[float, float, float]
    pvalue: float
    measure: SpreadMeasure


@dataclass(frozen=True, eq=False)
class Draws:
    """What came of the drawn labellings, in their order.

    Attributes
    ----------
    observed : the statistic of the observed labels.
    drawn : the statistics of the draws, or of the first of them.
    as_good : (draws,) whether each draw did as well as the observed labels, or better.
    requested : how many draws were asked for.
    stopped_by : what ended drawing before that; None if nothing did.
    """

    observed: SearchStatistic
    drawn: list[SearchStatistic]
    as_good: Bools
    requested: int
    stopped_by: StopCause | None = None


def read_draws(
    draws: Draws, *, stop_after: int | None = None, max_errors: int = 0
) -> PermutationReading:
    """Estimate the Monte Carlo p-value from shuffled labels, with its confidence interval.

    A draw is a shuffled labelling. An exceedance is a draw that did as well as the observed labels,
    or better. Draws after the `stop_after`-th exceedance do not count.

    Parameters
    ----------
    draws : what came of every draw, in the order in which they were made.
    stop_after : the number of exceedances at which drawing ends; None if only the number of draws
        ends it.
    max_errors : the errors with which a set of features still counts as separating. A draw whose
        set makes more errors has the entry None in `null_sizes`, the set sizes of all draws.
    """
    # How many draws count, and the estimate. The formula is another one if the number of draws is
    # random, because drawing ended at an exceedance.
    positions_of_exceedances = np.flatnonzero(draws.as_good)  # among the draws: 0, 1, …
    n_exceedances = len(positions_of_exceedances)
    if stop_after is not None and n_exceedances >= stop_after:
        last_position = int(positions_of_exceedances[stop_after - 1])
        n_draws = last_position + 1
        stopped_early = n_draws < draws.requested
        estimate = _estimate_from_stop(n_exceedances=stop_after, n_draws=n_draws)
    else:
        n_draws = len(draws.as_good)
        stopped_early = False
        estimate = _estimate_from_all(n_exceedances=n_exceedances, n_draws=n_draws)

    # The sizes of the sets found in the draws: None for a set that makes too many errors. They may
    # be known for the first draws only.
    statistics_of_draws = draws.drawn[:n_draws]
    set_sizes = tuple(_set_size(statistic, max_errors) for statistic in statistics_of_draws)
    return PermutationReading(
        pvalue=estimate.pvalue,
        interval=(estimate.low, estimate.high),
        floor=1 / (1 + draws.requested),  # the smallest p-value that could come out
        observed=draws.observed,
        exceedances=estimate.n_exceedances,
        done=n_draws,
        requested=draws.requested,
        stopped_early=stopped_early,
        interrupted=draws.stopped_by is not None,
        null_sizes=set_sizes,
        stopped_by=draws.stopped_by,
    )


class _Estimate(NamedTuple):
    """A Monte Carlo p-value, its 95 % interval, and the draws that did as well."""

    pvalue: float
    low: float
    high: float
    n_exceedances: int


def _estimate_from_all(n_exceedances: int, n_draws: int) -> _Estimate:
    """p = (1 + exceedances)/(1 + draws), where the number of draws was fixed."""
    low, high = clopper_pearson(n_exceedances, n_draws)
    return _Estimate(
        pvalue=(1 + n_exceedances) / (1 + n_draws), low=low, high=high, n_exceedances=n_exceedances
    )


def _estimate_from_stop(n_exceedances: int, n_draws: int) -> _Estimate:
    """p = h/l, where drawing stopped at the h-th exceedance in draw l, so that l is random.

    The lower end comes, as with a fixed number, from {at most l draws} = {Bin(l) ≥ h}, the upper
    end from {at least l draws} = {Bin(l − 1) ≤ h − 1}.
    """
    low, _ = clopper_pearson(n_exceedances, n_draws)
    _, high = clopper_pearson(n_exceedances - 1, n_draws - 1)
    return _Estimate(
        pvalue=n_exceedances / n_draws, low=low, high=high, n_exceedances=n_exceedances
    )


def _set_size(value: SearchStatistic, max_errors: int) -> int | None:
    """The number of features, None if they make too many errors."""
    if value.errors > max_errors:
        return None
    return value.n_selected
