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

import signal
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from math import log10
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from chanceline.errors import InputError
from chanceline.significance.null import LabelScheme

Statistic = Callable[[NDArray[np.float64], NDArray[np.float64]], "Value"]


@dataclass(frozen=True, order=True)
class Value:
    """T: the number of features if they make no more errors than allowed, else N + errors (worse than any
    set).
    """

    rank: int
    n_selected: int
    errors: int


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
    low = float(beta.ppf(tail, exceedances, done - exceedances + 1)) if exceedances > 0 else 0.0
    successes, trials = (exceedances - 1, done - 1) if stopped else (exceedances, done)
    high = float(beta.ppf(1 - tail, successes + 1, trials - successes)) if trials > successes else 1.0
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
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> PermutationReading:
    """Draw labels, repeat the search, and compare with the observed value."""
    if permutations < 1:
        raise InputError(f"the number of permutations must be at least 1, not {permutations}.")
    if stop_after is not None and stop_after < 1:
        raise InputError(f"drawing can stop after 1 exceedance or more, not {stop_after}.")
    drawn: list[Value] = []
    hits, interrupted = 0, False
    values = _draws(statistic, X, scheme, seed, permutations, workers)
    try:
        for value in values:
            drawn.append(value)
            hits += value.rank <= observed.rank
            if progress is not None:
                progress(len(drawn), permutations)
            if stop_after is not None and hits >= stop_after:
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        values.close()
    return summarise(observed, drawn, permutations, stop_after, allowed, interrupted)


def _draws(
    statistic: Statistic,
    X: NDArray[np.float64],
    scheme: LabelScheme,
    seed: int,
    permutations: int,
    workers: int,
) -> Generator[Value, None, None]:
    """Values of draws 1, 2, … in order."""
    if workers <= 1:
        for number in range(1, permutations + 1):
            yield _value(statistic, X, scheme, seed, number)
        return
    # Spawned rather than forked: threads of the parent (progress, BLAS) do not survive a fork.
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_prepare, initargs=(statistic, X, scheme, seed)
    )
    try:
        numbers = iter(range(1, permutations + 1))
        waiting: deque[Future[Value]] = deque(pool.submit(_work, n) for n in islice(numbers, 4 * workers))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(_work, n) for n in islice(numbers, 1))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _value(statistic: Statistic, X: NDArray[np.float64], scheme: LabelScheme, seed: int, number: int) -> Value:
    return statistic(X, scheme.draw(np.random.default_rng([seed, number])))


_JOB: list[Any] = []


def _prepare(*job: Any) -> None:
    """In a worker: keep the data, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _JOB[:] = job


def _work(number: int) -> Value:
    statistic, X, scheme, seed = _JOB
    return _value(statistic, X, scheme, seed, number)
