"""The whole search run again on labels from the null: sequential, parallel, interruptible, and valid
throughout.

The statistic T(X, y) is a deterministic function: same search, same iteration budget, same seed for every
run. Under the null the observed labels and the drawn ones are exchangeable given X, hence so are T_0, T_1,
…, T_B and (1 + #{T_b ≤ T_0})/(1 + B) is a valid p-value. Drawing stops when h of the T_b are ≤ T_0, with p
= h/l after l draws (Besag and Clifford 1991, Biometrika 78:301), which keeps the test valid. Draw number b
depends on (seed, b) alone and draws are counted in their order, so results do not depend on the number of
workers; stopping by hand uses the draws complete up to a gap, and the running count is not shown, so that
the moment does not depend on the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from math import log10
from time import monotonic
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from chanceline._parallel import run_ordered
from chanceline.errors import InputError
from chanceline.significance.null import LabelScheme

INTERRUPT, TIME_LIMIT = "interrupt", "time limit"
Statistic = Callable[[NDArray[np.float64], NDArray[np.float64]], "Value"]


@dataclass(frozen=True, order=True)
class Value:
    """T: the number of features if they make no more errors than allowed, else N + errors (worse than any set).

    `support` holds the features themselves and does not count in comparisons.
    """

    rank: int
    n_selected: int
    errors: int
    support: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class PermutationReading:
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

    @property
    def log10_pvalue(self) -> float:
        return log10(self.pvalue)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "log10_pvalue": self.log10_pvalue}


def summarise(
    observed: Value,
    drawn: list[Value],
    requested: int,
    stop_after: int | None,
    allowed: int,
    interrupted: bool,
) -> PermutationReading:
    """The reading of draws taken in order, cut where the `stop_after`-th exceedance fell."""
    hits = np.array([value.rank <= observed.rank for value in drawn], dtype=bool)
    stopped = stop_after is not None and int(hits.sum()) >= stop_after
    if stopped:
        length = int(np.flatnonzero(hits)[stop_after - 1]) + 1  # type: ignore[operator]
        hits, drawn = hits[:length], drawn[:length]
    exceedances, done = int(hits.sum()), len(drawn)
    pvalue = exceedances / done if stopped else (1 + exceedances) / (1 + done)
    return PermutationReading(
        pvalue=pvalue,
        interval=clopper_pearson(exceedances, done, stopped),
        floor=1 / (1 + requested),
        observed=observed,
        exceedances=exceedances,
        done=done,
        requested=requested,
        stopped_early=stopped and done < requested,
        interrupted=interrupted,
        null_sizes=tuple(value.n_selected if value.errors <= allowed else None for value in drawn),
    )


def clopper_pearson(exceedances: int, done: int, stopped: bool, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval for the exceedance probability after `done` draws.

    If drawing stopped at the h-th exceedance, the upper end comes from {at least l draws} = {Bin(l−1) ≤
    h−1} and the lower from {at most l draws} = {Bin(l) ≥ h}; with a fixed number of draws both come from
    Bin(B).
    """
    if done == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = float(betaincinv(exceedances, done - exceedances + 1, tail)) if exceedances > 0 else 0.0
    successes, trials = (exceedances - 1, done - 1) if stopped else (exceedances, done)
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if trials > successes else 1.0
    return low, high


def permutation_reading(
    statistic: Statistic,
    X: NDArray[np.float64],
    scheme: LabelScheme,
    observed: Value,
    *,
    permutations: int,
    seed: int,
    allowed: int = 0,
    stop_after: int | None = 10,
    drawing: Drawing | None = None,
) -> PermutationReading:
    """Draw labels, repeat the search, and compare with the observed value."""
    if permutations < 1:
        raise InputError(f"the number of permutations must be at least 1, not {permutations}.")
    if stop_after is not None and stop_after < 1:
        raise InputError(f"drawing can stop after 1 exceedance or more, not {stop_after}.")
    hits = 0

    def enough(value: Value) -> bool:
        nonlocal hits
        hits += value.rank <= observed.rank
        return stop_after is not None and hits >= stop_after

    numbers = range(1, permutations + 1)
    drawn, stopped_by = (drawing or Drawing()).collect(_value, numbers, (statistic, X, scheme, seed), enough)
    reading = summarise(observed, drawn, permutations, stop_after, allowed, stopped_by is not None)
    return replace(reading, stopped_by=stopped_by, void=ignores_labels(observed, drawn, X.shape[1]))


def ignores_labels(observed: Value, drawn: list[Value], n_features: int) -> bool:
    """Whether the same features came out for every labelling, though there were others to choose from.

    Then the search does not look at the labels it is given. Where its features come from cannot be told: had they been chosen
    with the true labels in view, every shuffle would do worse.
    """
    same = all(value.support == observed.support for value in drawn)
    return len(drawn) > 1 and same and 0 < len(observed.support) < n_features


@dataclass(frozen=True)
class Drawing:
    """How draws are taken: by whom, for how long, and who is told."""

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
            # A generator, though the type says only iterator: closing it cancels what is under way.
            running = cast(Any, run_ordered(function, items, common=common, n_jobs=self.n_jobs))
            with closing(running):
                for value in cast(Iterator[Any], running):
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


def _value(number: int, statistic: Statistic, X: NDArray[np.float64], scheme: LabelScheme, seed: int) -> Value:
    return statistic(X, scheme.draw(np.random.default_rng([seed, number])))
