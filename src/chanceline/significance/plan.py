"""What is fixed before the labels are looked at: what the rigorous bound says given the freedoms that are used, and how the level
is spent.

The stages themselves, and the proof that their p-value is valid: `stages`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, log, log10
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from chanceline._results import Result
from chanceline.chance.bound import LARGEST, Bound, bound_curve, chance_bound, first_convincing, format_p
from chanceline.chance.counts import log_tail
from chanceline.errors import InputError
from chanceline.perceptron.problem import distinct_columns, find_features
from chanceline.perceptron.rule import Rule
from chanceline.significance.config import TestSettings
from chanceline.significance.design import Floats, Ints, LabelScheme, NullSizes, make_scheme
from chanceline.significance.stages import LN10, LOG10_2, AlphaSpending, CountedLater, DeclaredErrors, combine_stages
from chanceline.tables.columns import examine, plain_text
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.subjects import near_rows

# Share of the level that the bound may spend when permutations are there to spend the rest.
BOUND_SHARE = 0.1
# Share of the level for errors counted after looking and for one feature, with permutations and without.
LATER_SHARE = 0.01
LATER_ALONE = 0.1
# Shuffles by default: the most that take no longer than so many seconds on one core (of the machine where their cost was
# measured), and the least whatever they take.
SHUFFLES, SECONDS = (9999, 4999, 1999, 999), 5.0
# Of the columns that go best with the labels so many are looked at, in pieces of the table (all columns pay); the largest h for
# columns of standard deviation 1; and the share of a column's size below which that is rounding.
LOOKED_AT, PIECE, STEEPEST, SAME = 8, 4096, 60.0, 1e-9


@dataclass(frozen=True)
class UnionBound:
    """The bound as a p-value for the statistic that was declared.

    * `errors` declared: the statistic is the smallest M that makes at most e errors, and the bound at (M, e) covers it.
    * `errors` None, features chosen: both M and e were chosen after looking. Spending the share 2^−(e+1) of the level on every e
      (they add up to 1) the p-value is 2^(e+1) times the bound at (M, e).
    * `preregistered`: M is fixed, the statistic is the fewest errors, and the bound at (M, e) needs no factor.

    `silent`: labels are drawn from a model, not exchanged, and the bound says nothing (p ≤ 1).

    When the smallest separating set was looked for (`errors` 0) and there is none, points (K, e) of the front still have a
    p-value: `counted_errors`.
    """

    sizes: NullSizes
    n_features: int
    intercept: bool
    errors: int | None
    preregistered: int | None = None
    silent: bool = False

    def spending(self, level: float, permutations: int, *, later: bool) -> AlphaSpending:
        """What the stages may spend of the level; `later`: errors may be counted, or one feature found, after looking."""
        alone = permutations == 0
        share = (LATER_ALONE if alone else LATER_SHARE) * level if later else 0.0
        gate = level - share if alone else BOUND_SHARE * level
        return AlphaSpending(gate, self.spent(gate), share)

    def bound(self, rule: Rule) -> Bound:
        """The bound of the first stage for this rule, with `log10_p` as the valid p-value under the freedoms used; 0 if the
        rule makes more errors than were declared, about which the bound says nothing.
        """
        selected, errors = self._statistic(rule)
        bound = self._at(selected, min(errors, self.sizes.n_units - 1))
        if rule.errors > errors or errors >= self.sizes.n_units:
            return replace(bound, log10_p=0.0)
        return replace(bound, log10_p=min(0.0, bound.log10_p + self._premium(errors)))

    def _statistic(self, rule: Rule) -> tuple[int, int]:
        """M and e at which the bound is taken."""
        selected = self.preregistered or min(max(rule.n_selected, 1), self.n_features)
        return selected, rule.errors if self.errors is None else self.errors

    def _premium(self, errors: int) -> float:
        """log₁₀ of the factor for errors counted after looking."""
        return (errors + 1) * LOG10_2 if self.errors is None and self.preregistered is None else 0.0

    @property
    def _null(self) -> dict[str, Any]:
        positives = self.sizes.positives if self.sizes.null == "fixed" else None
        return {"positives": positives, "null": self.sizes.null, "intercept": self.intercept, "blocks": self.sizes.blocks}

    def _at(self, selected: int, errors: int) -> Bound:
        among, fixed = max(self.n_features, selected), self.preregistered is not None
        bound = chance_bound(self.sizes.n_units, among, selected, errors=errors, preregistered=fixed, **self._null)
        return replace(bound, log10_p=0.0) if self.silent else bound

    def _curve(self) -> Floats:
        return bound_curve(self.sizes.n_units, self.n_features, errors=self.errors or 0, **self._null)

    def counted_errors(self, selected: int, errors: int) -> float:
        """log₁₀ of 2^e·bound(K, e), e ≥ 1: the shares 2^−e add up to 1, so the smallest over all points is a p-value."""
        if selected < 1 or not 1 <= errors < self.sizes.n_units:
            return 0.0
        return min(0.0, self._at(min(selected, self.n_features), errors).log10_p + errors * LOG10_2)

    def at_front(self, selected: int, errors: int) -> float:
        """log₁₀ of what the bound says about a point of the front; nothing about parts of what was preregistered."""
        if self.preregistered is not None:
            return 0.0
        return self.counted_errors(selected, errors) if errors else self._at(min(selected, self.n_features), 0).log10_p

    def first_stage(self, bound: Bound) -> DeclaredErrors:
        """The first stage of a bound that `bound` gave."""
        return DeclaredErrors(bound.log10_p)

    def second_stage(self, log10_counted: float, log10_feature: float) -> CountedLater:
        """The second stage, after a first one without errors (or with those declared)."""
        if self.sizes.n_units <= (self.errors or 0):
            # The first stage has no value to spend.
            return combine_stages(log10_counted, log10_feature, np.array([-np.inf]))
        return combine_stages(log10_counted, log10_feature, self._curve())

    def largest(self, gate: float) -> int:
        """The largest M that the bound would accept at p ≤ gate (without errors if these are free)."""
        if self.silent or self.sizes.n_units <= (self.errors or 0):
            return 0
        return int(np.searchsorted(self._curve() + self._premium(0), log10(gate), side="right")) - 1

    def spent(self, gate: float) -> float:
        """β: the largest attainable p-value of the bound that is not above the gate, 0 if there is none."""
        if self.silent:
            return 0.0
        if self.preregistered is not None:
            # M is fixed and the statistic is the number of errors, with which the bound rises.
            selected, only = self.preregistered, self.errors
            errors = range(self.sizes.n_units) if only is None else range(only, only + 1)
            count = bisect_right(errors, gate, key=lambda e: self._at(selected, e).pvalue)
            return self._at(selected, errors[count - 1]).pvalue if count else 0.0
        if self.errors is None:
            return gate
        largest = self.largest(gate)
        return self._at(largest, self.errors).pvalue if largest > 0 else 0.0

    def samples_needed(self, rule: Rule, level: float) -> int | None:
        """Units (samples, or groups) from which on as many features and errors convince by the bound alone; None if out of reach
        or if the rule makes more errors than were declared.

        More of the same kind: the same balance of classes, or more blocks like those there are; and the same null, factor and
        preregistration as in the test.
        """
        (selected, errors), sizes = self._statistic(rule), self.sizes
        if self.silent or rule.errors > errors:
            return None
        limit = log10(level) - self._premium(errors)

        def convinces(count: int) -> bool:
            more = sizes.resized(count)
            if not max(errors, 1) < more.n_units <= LARGEST or not 0 < more.positives < more.n_units:
                return False
            return replace(self, sizes=more)._at(selected, errors).log10_p <= limit

        # Counted in units, or in blocks.
        smaller = max(min(sizes.positives, sizes.n_units - sizes.positives), 1)
        turn = ceil(sizes.n_units / smaller) + 1 if sizes.blocks is None else len(sizes.blocks)
        count = first_convincing(convinces, 1, turn)
        return None if count is None else sizes.resized(count).n_units


@dataclass(frozen=True, repr=False)
class FeatureBound(Result):
    """Rigorous bound for the one column that goes best with the labels, of all that could have been chosen.

    Attributes
    ----------
    log10_p : log₁₀ of the bound, at most 0; valid for the smallest over all columns, both directions, values and ranks.
    feature, name : index of the column, and its name where it has one.
    higher : whether the positives have the higher values.
    """

    log10_p: float
    feature: int
    higher: bool
    name: str = ""
    kind: str = "rigorous bound"

    def summary(self) -> str:
        return f"p ≤ {format_p(self.log10_p)} for column {self.name or self.feature} alone"


def feature_bound(X: Floats, y: Floats, block_of: Ints | None = None, *, among: int | None = None) -> FeatureBound:
    """Bound how often labels that ignore the table go with some column as much as y does, without shuffles.

    The tail of one column is bounded by `chance.counts.log_tail`. Each is read twice, by its values and by its ranks, and in both
    directions: a union over 4N events, whatever was looked at.

    Parameters
    ----------
    X : units × columns, finite; rows that share a label for certain (groups) are one unit, for instance their sum.
    y : labels ±1 of the units, exchangeable within blocks.
    block_of : block of every unit, 0 … ; one block by default.
    among : number of columns that could have been chosen, by default those of X.
    """
    blocks = np.zeros(len(y), dtype=np.int64) if block_of is None else block_of
    share = (np.bincount(blocks, weights=y > 0) / np.bincount(blocks))[blocks]
    # Blocks of one class have one labelling and say nothing.
    order = np.lexsort((blocks, share * (1 - share) == 0))[: np.count_nonzero(share * (1 - share))]
    blocks, labels, weights = np.unique(blocks[order], return_inverse=True)[1], y[order] > 0, np.zeros(len(y), dtype=X.dtype)
    weights[order] = labels - share[order]
    pieces = np.array_split(X, range(PIECE, X.shape[1], PIECE), axis=1)
    along = np.concatenate([np.abs(weights @ piece) / np.maximum(piece.std(axis=0), 1e-30) for piece in pieces])
    first, starts = np.argsort(-along, kind="stable")[:LOOKED_AT], np.flatnonzero(np.diff(blocks, prepend=-1))
    both = np.hstack([X[np.ix_(order, first)], pd.DataFrame(X[np.ix_(order, first)]).rank()])
    inner = both - (np.add.reduceat(both, starts, axis=0) / np.bincount(blocks)[:, None])[blocks]
    inner /= np.where(inner.std(axis=0) > SAME * np.abs(both).max(axis=0), inner.std(axis=0), np.inf)
    best = int(np.argmax(np.abs(weights[order] @ inner)))
    steep = minimize_scalar(lambda h: log_tail(inner[:, best], labels, starts, h, exact=False), bounds=(-STEEPEST, STEEPEST)).x
    log10_p = (log_tail(inner[:, best], labels, starts, steep) + log(4 * (among or X.shape[1]))) / LN10
    return FeatureBound(min(0.0, log10_p), int(first[best % len(first)]), bool(steep > 0))


@dataclass(frozen=True, eq=False)
class Plan:
    """A checked table and everything that is fixed before its labels are looked at.

    Attributes
    ----------
    features : indices of the features named, None if the smallest set is searched.
    declared : errors allowed beforehand, None if they are counted after looking.
    distinct : one column of every set of equal ones, constants left out.
    findings : what is worth knowing about the table.
    bounds, spending : the bound under the freedoms that are used, and what it may spend.
    """

    data: Dataset
    settings: TestSettings
    scheme: LabelScheme
    features: Ints | None
    declared: int | None
    distinct: Ints
    findings: tuple[Finding, ...]
    bounds: UnionBound
    spending: AlphaSpending

    @property
    def named_after(self) -> bool:
        """The features were named after looking."""
        return self.features is not None and not self.settings.preregistered

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        return plain_text(self.data.classes[0]), plain_text(self.data.classes[1])

    def names_of(self, support: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.data.feature_names[j] for j in support)


def shuffles_by_size(n_samples: int, n_columns: int, steps: int) -> int:
    """Shuffles by default: fixed by the table's shape, before anything is computed, never timed."""
    cost = 1e-6 * (50 + steps * (0.022 * n_samples + 0.006 * n_columns + 6.3e-5 * n_samples * n_columns))
    return next((count for count in SHUFFLES if count * cost <= SECONDS), SHUFFLES[-1])


def make_plan(data: Dataset, features: Sequence[int | str] | None, settings: TestSettings) -> Plan:
    """Look at the table, check what is asked, and fix what each stage may spend."""
    X, y, names = data.X, data.y, data.feature_names
    n_samples, n_features = X.shape
    if data.undeclared:
        raise InputError(data.undeclared)
    scheme = make_scheme(y, settings.null, blocks=data.blocks, groups=data.groups, pairs=data.pairs, covariates=data.covariates)
    together = scheme.unit_of if data.pairs is None else scheme.block_of[scheme.unit_of]
    near = near_rows(X, y, together, data.rows or range(1, n_samples + 1))
    found = (*data.findings, *near, *examine(X, y, names, data.rows, identifiers=not data.columns_checked))
    indices = None if features is None else find_features(features, names)
    if settings.errors is not None and settings.errors >= n_samples:
        raise InputError(f"the errors allowed must be between 0 and {n_samples - 1}, not {settings.errors}.")
    if settings.integer and (scheme.model is not None or scheme.sizes.blocks is not None):
        raise InputError("a scorecard needs a rule on features alone; leave out integer, or blocks, pairs and adjust.")
    if settings.preregistered and indices is None:
        raise InputError("preregistered features have to be named; give them, or leave out preregistered.")
    distinct = distinct_columns(X, settings.intercept)
    if len(distinct) == 0:
        raise InputError("every feature is constant, so that there is nothing to separate with.")
    if settings.permutations is None:
        by_size = shuffles_by_size(n_samples, len(distinct), settings.largest)
        settings = replace(settings, permutations=by_size if settings.search is None else SHUFFLES[-1])
    if settings.candidates is not None:
        if settings.candidates < n_features:
            raise InputError(
                f"the {n_features} features of the table are candidate features, so {settings.candidates} are too few."
            )
        # Shuffling cannot repeat a selection whose other candidates are not here.
        settings = replace(settings, permutations=0)
    declared = 0 if settings.errors is None and indices is None else settings.errors
    fixed = len(indices) if settings.preregistered and indices is not None else None
    silent = scheme.model is not None
    if data.covariates and not settings.intercept:
        raise InputError("covariates are taken out together with a threshold; leave out intercept=False.")
    bounds = UnionBound(scheme.sizes, settings.candidates or len(distinct), settings.intercept, declared, fixed, silent)
    # About features named after looking the bound alone speaks, with the whole level.
    shuffles = 0 if indices is not None and fixed is None else settings.permutations or 0
    spending = bounds.spending(settings.level, shuffles, later=indices is None and not silent)
    return Plan(data, settings, scheme, indices, declared, distinct, found, bounds, spending)
