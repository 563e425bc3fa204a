"""A search for a small set of features, ours or the user's own, run again on every shuffle.

Its statistic T(X, y) is a deterministic function: same search, same iteration budget, same seed for
every run. So (1 + #{T_b ≤ T_0})/(1 + B) is a valid p-value, and so is the one of a number of draws
that ends with the h-th exceedance (`readings`).
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
    """The user's search gave no features.

    On shuffled labels that is a bad result, on the true ones an error.
    """


@dataclass(frozen=True)
class SearchProcedure:
    """What finds a small set of features, with everything it depends on besides (X, y).

    Attributes
    ----------
    search : name of a search method, a scikit-learn selector (`fit`, `get_support`), or a function
        (X, y) → indices.
    budget : iterations of a built-in search; None for its own default.
    seed : of the search.
    intercept : whether the rule has a threshold.
    errors : errors allowed; the set wanted is the smallest that makes no more.
    target : a built-in search ends when it has found so few features.
    wanted : the largest number of features that would be of use; the method "auto" has less
        patience with more. None: the fewer, the better.
    """

    search: Any = "auto"
    budget: int | None = None
    seed: int = 0
    intercept: bool = True
    errors: int = 0
    target: int | None = None
    wanted: int | None = None

    def __call__(self, X: Floats, y: Floats) -> SearchStatistic:
        """The statistic T, small when the set is small.

        A search that selects nothing is worse than any that selects something.
        """
        n_samples, n_features = X.shape
        try:
            rule = self.find(X, y)
        except NothingSelectedError:
            worst = n_features + n_samples + 1
            return SearchStatistic(rank=worst, n_selected=0, errors=n_samples)
        return self.statistic_of(rule, n_features)

    def statistic_of(self, rule: Rule, n_features: int) -> SearchStatistic:
        """T of a rule, whose rank is better the smaller it is.

        The rank is the rule's size. If the rule makes more errors than allowed it is larger than
        any size, and larger with more errors.
        """
        rank = rule.n_selected
        if rule.errors > self.errors:
            rank = n_features + rule.errors
        return SearchStatistic(
            rank=rank,
            n_selected=rule.n_selected,
            errors=rule.errors,
            support=tuple(rule.support.tolist()),
        )

    def find(self, X: Floats, y: Floats) -> Rule:
        """The rule found for these labels; its errors are counted on all samples."""
        if isinstance(self.search, str):
            return self._find_by_method(X, y, self.search)
        if self.intercept and np.all(y == y[0]):
            return constant_rule(X, y, np.zeros(0, dtype=np.int64))
        return rule_on(X, y, self._selected_features(X, y), self.intercept)

    def _find_by_method(self, X: Floats, y: Floats, method: str) -> Rule:
        """The rule that a built-in search finds; its errors are counted on all rows.

        Some methods cannot allow errors: they look for a set without any.
        """
        allowed_errors = self.errors if method in FORGIVING else 0

        # No rule is right on two equal rows with opposite labels. A search that allows no errors
        # would fail on them: it runs on the other rows alone.
        if allowed_errors == 0:
            rows = consistent_rows(X, y)
        else:
            rows = np.arange(len(y))
        if self.intercept and np.all(y[rows] == y[rows[0]]):
            # The rows have one class.
            return constant_rule(X, y, np.zeros(0, dtype=np.int64))
        searched_X = X if len(rows) == len(y) else X[rows]  # no copy where none is needed

        # Only "auto" can be told which sizes are of use.
        options: dict[str, Any] = {}
        if method == "auto":
            options["wanted"] = self.wanted
        outcome = search_features(
            searched_X,
            y[rows],
            method=method,
            budget=self.budget,
            seed=self.seed,
            intercept=self.intercept,
            errors=allowed_errors,
            target=self.target,
            **options,
        )
        return make_rule(X, y, outcome.support, outcome.weights, outcome.bias)

    def _selected_features(self, X: Floats, y: Floats) -> Ints:
        """The columns that the user's own search selects, checked and sorted."""
        selected = self._run_own_search(X, y)
        if selected is None:
            selected = []
        # Indices, a mask, or an outcome of `chanceline.search`, which has indices in `support`.
        support = np.asarray(getattr(selected, "support", selected))
        if support.dtype == bool:
            support = np.flatnonzero(support)
        if support.size == 0:
            raise NothingSelectedError(
                "the search selected no feature on the labels given; give one that selects at "
                "least one."
            )
        if support.ndim != 1 or support.min() < 0 or support.max() >= X.shape[1]:
            raise InputError("the search must return indices of columns of X, or a mask.")
        return np.unique(support.astype(np.int64))

    def _run_own_search(self, X: Floats, y: Floats) -> Any:
        """What the user's function returns, or the indices that a scikit-learn selector selects."""
        is_selector = hasattr(self.search, "fit")
        if not is_selector:
            return self.search(X, y)
        from sklearn.base import clone

        # A copy of the selector, with our seed wherever it has none of its own.
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
    """How often and how a search is run again on drawn labels.

    Attributes
    ----------
    stop_after : drawing ends when this many draws did as well as the observed labels; None if all
        are drawn.
    max_errors : the errors with which a set still counts as a size that noise needs.
    """

    stop_after: int | None = 10
    max_errors: int = 0


@dataclass
class _DrawsAsGood:
    """A count of the draws that do as well as the observed labels, which may end drawing.

    Attributes
    ----------
    observed_rank : of the observed labels.
    stop_after : the count at which drawing ends; None if it does not.
    count : so far.
    """

    observed_rank: int
    stop_after: int | None
    count: int = 0

    def is_as_good(self, drawn: SearchStatistic) -> bool:
        return drawn.rank <= self.observed_rank

    def count_draw(self, drawn: SearchStatistic) -> bool:
        """Count a draw if it does as well, and say whether drawing ends with it."""
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
    """The permutation p-value of a search, which is run again on every shuffle of the labels.

    Parameters
    ----------
    statistic : T(X, y), a deterministic function that processes can call; it runs the search.
    X : (samples, features)
    design : from which labels are drawn.
    observed : T of the observed labels.
    shuffles : how many draws, and how.
    """
    # Draw until enough draws did as well as the observed labels, or all are done. Draws have the
    # numbers 1, 2, …; number 0 is the observed labelling.
    as_good = _DrawsAsGood(observed.rank, shuffles.stop_after)
    drawn, stopped_by = shuffles.runner.collect(
        _drawn_statistic,
        range(1, shuffles.n_shuffles + 1),
        common=(statistic, X, design, shuffles.seed),
        is_enough=as_good.count_draw,
    )
    draws = Draws(
        observed=observed,
        drawn=drawn,
        as_good=np.array([as_good.is_as_good(value) for value in drawn], dtype=bool),
        requested=shuffles.n_shuffles,
        stopped_by=stopped_by,
    )
    reading = read_draws(draws, stop_after=shuffles.stop_after, max_errors=shuffles.max_errors)
    # A search that finds the same features for all labels does not look at them.
    is_void = ignores_labels(observed, drawn, n_features=X.shape[1])
    return replace(reading, statistic=StatisticKind.SEARCH, void=is_void)


def ignores_labels(
    observed: SearchStatistic, drawn: list[SearchStatistic], n_features: int
) -> bool:
    """Whether a search gave the same features for every labelling, though there were others.

    Then it does not look at the labels it is given. Had its features been chosen with the true
    labels in view, every shuffle would do worse.
    """
    has_choice = 0 < len(observed.support) < n_features
    if not has_choice or len(drawn) < 2:
        return False
    return all(value.support == observed.support for value in drawn)


def _drawn_statistic(
    draw_number: int, statistic: Statistic, X: Floats, design: NullDesign, seed: int
) -> SearchStatistic:
    """T of the labelling of this number."""
    return statistic(X, labelling(design, seed, draw_number))
