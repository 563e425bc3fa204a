"""A search for a small set of features, built in or the user's own, repeated on every shuffle.

Its statistic T(X, y) is a deterministic function: every run has the same search, iteration budget
and seed. So with B shuffles (1 + #{T_b ≤ T_0})/(1 + B) is a valid p-value. It is valid too with the
p-value of `readings` if drawing stops at a fixed number of draws that do as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.errors import InputError
from chanceline.perceptron.duplicates import consistent_rows
from chanceline.perceptron.few_errors import rule_on
from chanceline.perceptron.rule import Rule, constant_rule, make_rule
from chanceline.select.api import FORGIVING, search as search_features
from chanceline.significance.design import NullDesign
from chanceline.significance.readings import (
    Draws,
    PermutationReading,
    SearchStatistic,
    StatisticKind,
    read_draws,
)
from chanceline.significance.shuffles import ShufflePlan, labelling

Statistic = Callable[[Floats, Floats], SearchStatistic]


class NothingSelectedError(InputError):
    """The user's search selected no features.

    On shuffled labels this is a bad result of the search; on the observed labels it is an error.
    """


@dataclass(frozen=True)
class SearchProcedure:
    """A search for a small set of features, with everything that it depends on besides (X, y).

    Attributes
    ----------
    search : name of a search method, a scikit-learn selector (`fit`, `get_support`), or a function
        (X, y) → indices.
    budget : iterations of a built-in search; None for its own default.
    seed : of the search.
    intercept : whether the rule has a threshold.
    errors : errors allowed; the search is for the smallest set whose rule makes no more.
    target : a built-in search ends when it has found a set with at most this many features; None if
        it goes on.
    wanted : the largest number of features that would be of use; the method "auto" spends less time
        on larger sets. None if every size is of use: the fewer, the better.
    """

    search: Any = "auto"
    budget: int | None = None
    seed: int = 0
    intercept: bool = True
    errors: int = 0
    target: int | None = None
    wanted: int | None = None

    def __call__(self, X: Floats, y: Floats) -> SearchStatistic:
        """The statistic T of the set found for these labels; its `rank` is small for small sets.

        If the search selects nothing, the rank is worse than that of any set.

        Parameters
        ----------
        X : (samples, features)
        y : (samples,) labels ±1.
        """
        n_samples, n_features = X.shape
        try:
            rule = self.find(X, y)
        except NothingSelectedError:
            worst_rank = n_features + n_samples + 1  # see `statistic_of`
            return SearchStatistic(rank=worst_rank, n_selected=0, errors=n_samples)
        return self.statistic_of(rule, n_features)

    def statistic_of(self, rule: Rule, n_features: int) -> SearchStatistic:
        """The statistic T of a rule. It compares rules by one number, the rank; small is good.

        The rank is the number of features that the rule uses. A rule with more errors than allowed
        ranks behind all others: its rank is the number of all features plus its errors.

        Parameters
        ----------
        rule : that was found.
        n_features : number of all features.
        """
        if rule.errors <= self.errors:
            rank = rule.n_selected
        else:
            rank = n_features + rule.errors
        return SearchStatistic(
            rank=rank,
            n_selected=rule.n_selected,
            errors=rule.errors,
            support=tuple(rule.support.tolist()),
        )

    def find(self, X: Floats, y: Floats) -> Rule:
        """Search a rule for these labels; its errors are counted on all samples.

        Parameters
        ----------
        X : (samples, features)
        y : (samples,) labels ±1. If all are equal, the rule is constant and has no features.
        """
        if isinstance(self.search, str):
            return self._find_by_method(X, y, self.search)
        if self.intercept and np.all(y == y[0]):
            return constant_rule(X, y, np.zeros(0, dtype=np.int64))
        return rule_on(X, y, self._selected_features(X, y), self.intercept)

    def _find_by_method(self, X: Floats, y: Floats, method: str) -> Rule:
        """Search a rule by a built-in method; its errors are counted on all rows.

        Parameters
        ----------
        X : (samples, features)
        y : (samples,) labels ±1.
        method : name of a search method. Only some methods can search a rule with errors
            (`FORGIVING`). Any other one searches a rule without errors, even if errors are allowed.
        """
        method_can_allow_errors = method in FORGIVING
        errors_in_search = self.errors if method_can_allow_errors else 0

        # The rows on which the search runs. Of two equal rows with opposite labels, any rule has
        # one wrong. A search without errors would fail on such rows, so that they are left out.
        if errors_in_search == 0:
            searched_rows = consistent_rows(X, y)
        else:
            searched_rows = np.arange(len(y))
        searched_y = y[searched_rows]
        threshold_is_enough = self.intercept and np.all(searched_y == searched_y[0])  # one class
        if threshold_is_enough:
            no_features = np.zeros(0, dtype=np.int64)
            return constant_rule(X, y, no_features)
        has_all_rows = len(searched_rows) == len(y)
        searched_X = X if has_all_rows else X[searched_rows]  # indexing would copy the whole table

        # `wanted` is the largest number of features that would be of use: the search spends less
        # time on larger sets. Only the method "auto" has this option.
        options_of_method: dict[str, Any] = {}
        if method == "auto":
            options_of_method["wanted"] = self.wanted
        solution = search_features(
            searched_X,
            searched_y,
            method=method,
            budget=self.budget,
            seed=self.seed,
            intercept=self.intercept,
            errors=errors_in_search,
            target=self.target,
            **options_of_method,
        )
        # All rows again, also those that were left out of the search.
        return make_rule(X, y, solution.support, solution.weights, solution.bias)

    def _selected_features(self, X: Floats, y: Floats) -> Ints:
        """The columns of X that the user's own search selects: indices without repeats, ascending.

        The search may return indices, a boolean mask, an object with indices in `support` (as
        `chanceline.search` does), or None for no features. `NothingSelectedError` is raised if it
        selects nothing, `InputError` if what it returns is not valid.
        """
        answer = self._run_own_search(X, y)
        if answer is None:
            answer = []
        indices_or_mask = getattr(answer, "support", answer)
        support = np.asarray(indices_or_mask)
        if support.dtype == bool:
            support = np.flatnonzero(support)
        if support.size == 0:
            raise NothingSelectedError(
                "the search selected no feature on the labels given; give one that selects at "
                "least one."
            )
        n_features = X.shape[1]
        if support.ndim != 1 or support.min() < 0 or support.max() >= n_features:
            raise InputError("the search must return indices of columns of X, or a mask.")
        return np.unique(support.astype(np.int64))

    def _run_own_search(self, X: Floats, y: Floats) -> Any:
        """Run the user's own search: a function, or a scikit-learn selector.

        Returns
        -------
        Whatever the function returns, or the indices of the columns that the selector selects.
        """
        is_selector = hasattr(self.search, "fit")
        if not is_selector:
            return self.search(X, y)
        from sklearn.base import clone  # only here, because it takes long to import

        # Fit a copy of the selector. Random states that the user left open get the seed, also those
        # of nested estimators (`estimator__random_state`), so that every run gives the same.
        selector = clone(self.search)
        seeds = {}
        for parameter, value in selector.get_params().items():
            if parameter.endswith("random_state") and value is None:
                seeds[parameter] = self.seed
        selector.set_params(**seeds).fit(X, y)
        if not hasattr(selector, "get_support"):
            class_name = type(self.search).__name__
            raise InputError(
                f"the search {class_name} has no get_support; give a feature selector."
            )
        return selector.get_support(indices=True)


@dataclass(frozen=True)
class SearchShufflePlan(ShufflePlan):
    """How often and how a search is repeated on drawn labels.

    Attributes
    ----------
    stop_after : drawing ends when this many draws did as well as the observed labels; None if all
        draws are made.
    max_errors : a set found on drawn labels counts as separating noise if its rule makes at most
        this many errors.
    """

    stop_after: int | None = 10
    max_errors: int = 0


@dataclass
class _GoodDrawCounter:
    """A counter of the draws that do as well as the observed labels; it may end drawing.

    Attributes
    ----------
    observed_rank : rank of the observed labels' statistic; small is good.
    stop_after : the count at which drawing ends; None if it does not end early.
    count : number of such draws so far.
    """

    observed_rank: int
    stop_after: int | None
    count: int = 0

    def is_as_good(self, drawn: SearchStatistic) -> bool:
        return drawn.rank <= self.observed_rank

    def count_draw(self, drawn: SearchStatistic) -> bool:
        """Count a draw if it does as well as the observed labels; returns whether drawing ends."""
        if self.is_as_good(drawn):
            self.count += 1
        return self.count == self.stop_after


def shuffle_search(
    statistic: Statistic,
    X: Floats,
    design: NullDesign,
    observed: SearchStatistic,
    shuffles: SearchShufflePlan,
) -> PermutationReading:
    """The permutation p-value of a search, which is repeated on every shuffle of the labels.

    A draw is a shuffle of the labels. It counts as "as good" if the statistic of the set found for
    it is no larger than that of the observed labels. Drawing may end early, when a fixed number of
    draws (`shuffles.stop_after`) was as good; the p-value accounts for this (`read_draws`).

    Parameters
    ----------
    statistic : T(X, y), which runs the search and returns the statistic of the set found, small
        for a good set. It must be deterministic, and picklable for worker processes.
    X : (samples, features)
    design : the null hypothesis, from which labels are drawn.
    observed : T of the observed labels.
    shuffles : the number of draws, the seed, and how the draws are run.
    """
    # Draw labels, in parallel. Draws are numbered from 1, as number 0 stands for the observed
    # labels. `collect` calls `_drawn_statistic(draw_number, *common)` for each draw, and then
    # `is_enough` with its result, which ends drawing when enough draws were as good.
    good_draws = _GoodDrawCounter(observed.rank, shuffles.stop_after)
    drawn_statistics, stopped_by = shuffles.runner.collect(
        _drawn_statistic,
        range(1, shuffles.n_shuffles + 1),
        common=(statistic, X, design, shuffles.seed),
        is_enough=good_draws.count_draw,
    )

    # The p-value, from the number of draws that were as good.
    is_as_good = [good_draws.is_as_good(drawn) for drawn in drawn_statistics]
    draws = Draws(
        observed=observed,
        drawn=drawn_statistics,
        as_good=np.array(is_as_good, dtype=bool),
        requested=shuffles.n_shuffles,
        stopped_by=stopped_by,  # an interrupt, the time limit, …; None if nothing cut it short
    )
    permutation = read_draws(draws, stop_after=shuffles.stop_after, max_errors=shuffles.max_errors)

    # The p-value means nothing if the search does not look at the labels.
    is_void = ignores_labels(observed, drawn_statistics, n_features=X.shape[1])
    return replace(permutation, statistic=StatisticKind.SEARCH, void=is_void)


def ignores_labels(
    observed: SearchStatistic, drawn: list[SearchStatistic], n_features: int
) -> bool:
    """Whether a search selected the same features for all labellings, although it had a choice.

    Such a search does not look at the labels that it is given. If its features had been chosen
    beforehand by the observed labels, every shuffle would do worse, and the p-value would be too
    small.

    Parameters
    ----------
    observed : the statistic of the observed labels, with the features selected.
    drawn : the statistics of the drawn labels.
    n_features : number of all features.
    """
    has_choice = 0 < len(observed.support) < n_features
    if not has_choice or len(drawn) < 2:
        return False
    return all(value.support == observed.support for value in drawn)


def _drawn_statistic(
    draw_number: int, statistic: Statistic, X: Floats, design: NullDesign, seed: int
) -> SearchStatistic:
    """T of the drawn labelling with this number."""
    return statistic(X, labelling(design, seed, draw_number))
