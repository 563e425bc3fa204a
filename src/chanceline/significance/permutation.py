"""The test on labels from the null: the same procedure on the observed and on shuffled labels, parallel, interruptible, and valid
throughout.

**The front.** With S[b, k] the loss of labelling b (0 observed, 1 … B drawn from the null) at K = k (`stepwise`), and as further
columns the negative mean squared correlation with the labels of all features, of a tenth and of a hundredth of them, for signal
that is spread over many, every labelling has its place among all in each column,

    p[b, k] = #{b′ : S[b′, k] ≤ S[b, k]}/(1 + B).

Its smallest p[b, k] over the numbers of features K is turned into a place once more, q[b], and the four are combined by their
harmonic mean, which is small if one of them is very small or several are small (Good 1958; Wilson 2019):

    T[b] = 1/q[b] + Σ 1/p[b, share],   p = #{b : T[b] ≥ T[0]}/(1 + B).

The best labelling at each K has the same p[b, k] = 1/(1 + B); of equals, that which lies more standard deviations below the mean
of its K comes first, so that p can be as small as 1/(1 + B). Under the null the labellings are exchangeable given the
table, the map from losses to (T[0], …, T[B]) treats all of them alike, and p is valid whatever the path does: the choice of K is
paid for. The adjusted p-value of one column counts the labellings one of whose terms reaches its own, which holds for all columns
together (Westfall and Young 1993, single step); it is p where that is larger, so that no part says more than the whole.

**A search of one's own** is run again on every labelling. Its statistic T(X, y) is a deterministic function: same search, same
iteration budget, same seed for every run, and (1 + #{T_b ≤ T_0})/(1 + B) is a valid p-value. Drawing stops when h of the T_b are
≤ T_0, with p = h/l after l draws (Besag and Clifford 1991, Biometrika 78:301), which keeps the test valid.

Draw number b depends on (seed, b) alone, draws are counted in their order, and the front's are worked through in batches of fixed
size, so that the number of jobs changes no digit. Stopping by hand or by a time limit uses the draws complete up to a gap, and
the running count is not shown, so that the moment does not depend on the outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from math import log10
from time import monotonic
from typing import Any

import numpy as np

from chanceline._parallel import ended_early, run_ordered
from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule, consistent_rows, constant_rule, make_rule, rule_on
from chanceline.prediction.worth import clopper_pearson
from chanceline.select.api import FORGIVING, search
from chanceline.significance.design import Bools, Floats, Ints, LabelScheme
from chanceline.significance.stepwise import SAME, SHARES, Columns, Paths, follow_paths

INTERRUPT, TIME_LIMIT = "interrupt", "time limit"
# Labellings in one batch, the observed one among the first; errors are counted in the first batch alone.
BATCH = 128
# The band of shuffled labels shown for every K holds 90 % of them.
ENDS = (0.05, 0.5, 0.95)


@dataclass(frozen=True, order=True)
class Value:
    """T: the number of features if they make no more errors than allowed, else N + errors (worse than any set).

    `support` holds the features themselves and does not count in comparisons.
    """

    rank: int
    n_selected: int
    errors: int
    support: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, repr=False)
class PermutationReading(Result):
    """Monte Carlo p-value of the search's own statistic.

    Attributes
    ----------
    pvalue : (1 + exceedances)/(1 + done), or exceedances/done if drawing stopped at `stop_after` exceedances.
    interval : 95 % Clopper–Pearson interval of the p-value that infinitely many draws would give.
    floor : the smallest p-value that this many draws can give, 1/(1 + requested).
    null_sizes : set sizes found on drawn labels, None where the search did not separate.
    statistic : "front" (losses at every number of features) or "search" (the set size of a search run again on every draw).
    interrupted, stopped_by : whether drawing ended before it was done, and if so by "interrupt" or "time limit".
    void : the search gave the same features for every labelling, so that it does not look at the labels given to it and its
        p-value means nothing.
    """

    pvalue: float
    interval: tuple[float, float]
    floor: float
    observed: Value
    exceedances: int
    done: int
    requested: int
    stopped_early: bool
    interrupted: bool
    null_sizes: tuple[int | None, ...]
    statistic: str = "search"
    stopped_by: str | None = None
    void: bool = False
    kind: str = "Monte Carlo"
    _derived = ("log10_pvalue",)

    @property
    def log10_pvalue(self) -> float:
        return log10(self.pvalue)

    def summary(self) -> str:
        if self.void:
            return "void: the search does not look at the labels"
        (low, high), least = self.interval, max(self.floor, 1 / (1 + self.done))
        return f"p = {self.pvalue:.2g} (95 % CI {low:.2g}–{high:.2g}), at least {least:.2g} with {self.done} shuffles"


def read_draws(
    observed: Value,
    drawn: list[Value],
    as_good: Bools,
    requested: int,
    *,
    stop_after: int | None = None,
    allowed: int = 0,
    stopped_by: str | None = None,
    statistic: str = "search",
    void: bool = False,
) -> PermutationReading:
    """The reading of draws taken in order, cut where the `stop_after`-th that did as well fell."""
    hits, done = np.flatnonzero(as_good), len(as_good)
    stopped = stop_after is not None and len(hits) >= stop_after
    if stop_after is not None and stopped:
        hits, done = hits[:stop_after], int(hits[stop_after - 1]) + 1
        drawn = drawn[:done]
    exceedances = len(hits)
    # Stopped at the h-th exceedance in draw l: {at least l draws} = {Bin(l−1) ≤ h−1} gives the upper end, {at most l draws} =
    # {Bin(l) ≥ h} the lower; with a fixed number of draws both come from Bin(B).
    upper = (exceedances - 1, done - 1) if stopped else (exceedances, done)
    return PermutationReading(
        pvalue=exceedances / done if stopped else (1 + exceedances) / (1 + done),
        interval=(clopper_pearson(exceedances, done)[0], clopper_pearson(*upper)[1]),
        floor=1 / (1 + requested),
        observed=observed,
        exceedances=exceedances,
        done=done,
        requested=requested,
        stopped_early=stopped and done < requested,
        interrupted=stopped_by is not None,
        null_sizes=tuple(value.n_selected if value.errors <= allowed else None for value in drawn),
        statistic=statistic,
        stopped_by=stopped_by,
        void=void,
    )


@dataclass(frozen=True)
class PermutationRunner:
    """How draws are taken: by how many jobs, for how long, and who is told."""

    n_jobs: int | None = 1
    time_limit: float | None = None
    progress: Callable[[int, int], None] | None = None

    def collect(
        self,
        function: Callable[..., Any],
        items: range,
        common: tuple[Any, ...],
        enough: Callable[[Any], bool] = lambda value: False,
    ) -> tuple[list[Any], str | None]:
        """function(item, *common) for the items in order, until Ctrl-C, the time limit or `enough`; and what cut it short."""
        values: list[Any] = []
        begin = monotonic()
        try:
            with ended_early(run_ordered(function, items, common=common, n_jobs=self.n_jobs)) as running:
                for value in running:
                    values.append(value)
                    if self.progress is not None:
                        self.progress(len(values), len(items))
                    if enough(value):
                        return values, None
                    if self.time_limit is not None and monotonic() - begin > self.time_limit:
                        return values, TIME_LIMIT if len(values) < len(items) else None
        except KeyboardInterrupt:
            return values, INTERRUPT
        return values, None


@dataclass(frozen=True)
class Band:
    """R² of shuffled labels: the middle, and the ends of the range that 90 % of them lie in."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class FrontReading:
    """What k features do.

    Attributes
    ----------
    k : number of features.
    errors : the fewest errors known of a linear rule on at most k features, whatever found it; never more than for fewer
        features. With blocks or covariates a rule may have them besides: a threshold for every block, a weight for every
        covariate.
    features : those that forward stepwise least squares takes; what follows is about these.
    explained : R², the share of the labels' squares that least squares on these features explains (beyond what blocks and
        covariates do).
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
    """What all features do together, each a little: for signal that no small set holds.

    Attributes
    ----------
    value : mean squared correlation of the features with the labels, times P − 1, which is 1 on average for permuted labels.
    shuffled : lower end, middle and upper end of the range that holds 90 % of the same on shuffled labels.
    pvalue : adjusted like those of the front, of which this is one more member.
    """

    value: float
    shuffled: tuple[float, float, float]
    pvalue: float


@dataclass(frozen=True, eq=False)
class FrontDraws:
    """Losses and errors of the observed labelling (row 0) and of the draws, and the permutation reading they make.

    `losses` has a column for every K and further ones with the negative spread; `errors` has the rows of the first batch.
    """

    losses: Floats
    errors: Ints
    requested: int
    stopped_by: str | None

    @property
    def done(self) -> int:
        return len(self.losses) - 1

    def adjusted(self) -> Floats:
        """Adjusted p-values of K = 1, 2, …, and of the spread over every share of the features."""
        terms, total = combine(self.losses)
        reached = np.count_nonzero(terms.max(axis=1, keepdims=True) >= terms[0] - SAME, axis=0)
        return np.maximum(reached, np.count_nonzero(total >= total[0] - SAME)) / len(total)

    def alone(self, columns: Columns, y: Floats) -> Floats:
        """Adjusted p-value of every single column: the share of labellings whose best column fits no worse than it."""
        residual = columns.centred(y[None])[0]
        losses = 1 - (residual.astype(columns.fitted.dtype) @ columns.fitted).astype(float) ** 2 / (residual @ residual)
        return np.searchsorted(np.sort(self.losses[:, 0]), losses + SAME, side="right") / len(self.losses)

    def bands(self) -> list[Band | None]:
        """The range of R² on shuffled labels, for every K."""
        steps = self.errors.shape[1]
        if self.done == 0:
            return [None] * steps
        explained = 1.0 - self.losses[1:, :steps]
        ends = np.quantile(explained, ENDS, axis=0)
        return [Band(*column) for column in ends.T.tolist()]

    def spread(self) -> SpreadReading:
        """Over all features."""
        at = self.errors.shape[1]
        low, middle, high = np.quantile(-self.losses[1:, at], ENDS).tolist()
        return SpreadReading(-float(self.losses[0, at]), (low, middle, high), float(self.adjusted()[at]))

    def reading(self) -> PermutationReading:
        """The Monte Carlo reading; set sizes (of the first batch) are those with which the path leaves no error, None if more
        would be needed.
        """
        total = combine(self.losses)[1]
        most, sizes, errors = self.errors.shape[1], self.errors.argmin(axis=1) + 1, self.errors.min(axis=1)
        values = [Value(k if e == 0 else most + e, k, e) for k, e in zip(sizes.tolist(), errors.tolist(), strict=True)]
        return read_draws(
            values[0],
            values[1:],
            total[1:] >= total[0] - SAME,
            self.requested,
            stopped_by=self.stopped_by,
            statistic="front",
        )


def combine(losses: Floats) -> tuple[Floats, Floats]:
    """The terms 1/q and 1/p of every labelling and column, in units of 1 + B, and their sums T, to which the best number of
    features alone contributes.
    """
    places, steps = place_losses(losses), losses.shape[1] - len(SHARES)
    best = np.sort(places[:, :steps].min(axis=1))
    terms = 1 / np.rint(places)
    terms[:, :steps] = 1 / np.searchsorted(best, places[:, :steps] + SAME, side="right")
    return terms, terms[:, :steps].max(axis=1) + terms[:, steps:].sum(axis=1)


def place_losses(losses: Floats) -> Floats:
    """#{b′ : S[b′, k] ≤ S[b, k]} for every b and k, where losses that differ by rounding alone count as equal; with a fraction
    below one half added that puts the more outstanding of equal ranks first.
    """
    ranks = np.column_stack([np.searchsorted(np.sort(column), column + SAME, side="right") for column in losses.T])
    spread = losses.std(axis=0)
    below = (losses.mean(axis=0) - losses) / np.where(spread > SAME, spread, np.inf)
    return ranks - 0.4 * below / (1 + np.abs(below))


def draw_front(
    columns: Columns,
    scheme: LabelScheme,
    *,
    permutations: int,
    steps: int,
    seed: int,
    runner: PermutationRunner = PermutationRunner(),
    first: Paths | None = None,
) -> tuple[FrontDraws, Paths]:
    """Follow the paths of the observed labels and of the draws; the paths of the first batch (row 0 observed) come along, or are
    there already.
    """

    def in_draws(done: int, _: int) -> None:
        if runner.progress is not None and permutations:
            runner.progress(min(BATCH * (done + len(begun)), 1 + permutations) - 1, permutations)

    begun = [] if first is None else [first]
    numbers, common = range(len(begun), -(-(1 + permutations) // BATCH)), (columns, scheme, permutations, steps, seed)
    more, stopped_by = replace(runner, progress=in_draws).collect(batch_paths, numbers, common)
    # Stopped within the very first batch: the observed labels alone.
    batches = begun + more or [batch_paths(0, columns, scheme, 0, steps, seed)]
    losses = np.concatenate([np.column_stack([batch.losses, -batch.spread]) for batch in batches])
    return FrontDraws(losses, batches[0].errors, permutations, stopped_by), batches[0]


def batch_paths(number: int, columns: Columns, scheme: LabelScheme, permutations: int, steps: int, seed: int) -> Paths:
    """The paths of one batch: labellings BATCH·number … BATCH·(number + 1) − 1, of which the very first is the observed one."""
    numbers = range(BATCH * number, min(BATCH * (number + 1), 1 + permutations))
    labels = np.array([scheme.y if b == 0 else scheme.draw(np.random.default_rng([seed, b])) for b in numbers])
    return follow_paths(columns, labels, steps, with_errors=number == 0)


class NothingFoundError(InputError):
    """The search of one's own gave no features; on shuffled labels that is a bad result, on the true ones an error."""


@dataclass(frozen=True)
class Procedure:
    """What finds a small set of features, with everything it depends on besides (X, y).

    Attributes
    ----------
    search
        Name of a search method, a scikit-learn selector (`fit`, `get_support`), or a function (X, y) → indices.
    errors
        Errors allowed; the set wanted is the smallest that makes no more.
    target
        A built-in search ends when it has found so few.
    """

    search: Any = "auto"
    budget: int | None = None
    seed: int = 0
    intercept: bool = True
    errors: int = 0
    target: int | None = None

    def __call__(self, X: Floats, y: Floats) -> Value:
        """The statistic T, small when the set is small; a search that finds nothing is worse than any that finds something."""
        try:
            return self.value(self.find(X, y), X.shape[1])
        except NothingFoundError:
            return Value(X.shape[1] + len(y) + 1, 0, len(y))

    def value(self, rule: Rule, n_features: int) -> Value:
        rank = rule.n_selected if rule.errors <= self.errors else n_features + rule.errors
        return Value(rank, rule.n_selected, rule.errors, tuple(rule.support.tolist()))

    def find(self, X: Floats, y: Floats) -> Rule:
        """The rule found for these labels."""
        # A built-in search that allows no errors runs on samples without contradictions, and is counted on all.
        built_in = isinstance(self.search, str)
        errors = self.errors if built_in and self.search in FORGIVING else 0
        rows = consistent_rows(X, y) if built_in and not errors else np.arange(len(y))
        if self.intercept and np.all(y[rows] == y[rows[0]]):
            return constant_rule(X, y, np.zeros(0, dtype=np.int64))
        if not built_in:
            return rule_on(X, y, self._selected(X, y), self.intercept)
        some, budget, seed = X if len(rows) == len(y) else X[rows], self.budget, self.seed
        best = search(some, y[rows], self.search, budget, seed, self.intercept, errors=errors, target=self.target)
        return make_rule(X, y, best.support, best.weights, best.bias)

    def _selected(self, X: Floats, y: Floats) -> Ints:
        """Indices from a scikit-learn selector or a function."""
        if hasattr(self.search, "fit"):
            from sklearn.base import clone

            selector = clone(self.search)
            random = [name for name, value in selector.get_params().items() if name.endswith("random_state") and value is None]
            selector.set_params(**dict.fromkeys(random, self.seed)).fit(X, y)
            if not hasattr(selector, "get_support"):
                raise InputError(f"the search {type(self.search).__name__} has no get_support; give a feature selector.")
            chosen = selector.get_support(indices=True)
        else:
            chosen = self.search(X, y)
        support = np.asarray([] if chosen is None else getattr(chosen, "support", chosen))
        if support.dtype == bool:
            support = np.flatnonzero(support)
        if support.size == 0:
            raise NothingFoundError("the search selected no feature on the labels given; give one that selects at least one.")
        if support.ndim != 1 or support.min() < 0 or support.max() >= X.shape[1]:
            raise InputError("the search must return indices of columns of X, or a mask.")
        return np.unique(support.astype(np.int64))


def permutation_reading(
    statistic: Callable[[Floats, Floats], Value],
    X: Floats,
    scheme: LabelScheme,
    observed: Value,
    *,
    permutations: int,
    seed: int,
    allowed: int = 0,
    stop_after: int | None = 10,
    runner: PermutationRunner = PermutationRunner(),
) -> PermutationReading:
    """Draw labels, repeat the search, and compare with the observed value."""
    hits = count(1)

    def enough(value: Value) -> bool:
        return value.rank <= observed.rank and next(hits) == stop_after

    drawn, stopped_by = runner.collect(_value, range(1, permutations + 1), (statistic, X, scheme, seed), enough)
    as_good = np.array([value.rank <= observed.rank for value in drawn], dtype=bool)
    # The same features for every labelling, though there were others: the search does not look at the labels it is given. Had its
    # features been chosen with the true labels in view, every shuffle would do worse.
    void = 0 < len(observed.support) < X.shape[1] and len(drawn) > 1 and all(value.support == observed.support for value in drawn)
    return read_draws(
        observed, drawn, as_good, permutations, stop_after=stop_after, allowed=allowed, stopped_by=stopped_by, void=void
    )


def _value(number: int, statistic: Callable[[Floats, Floats], Value], X: Floats, scheme: LabelScheme, seed: int) -> Value:
    return statistic(X, scheme.draw(np.random.default_rng([seed, number])))
