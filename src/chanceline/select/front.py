"""The front: for every number of variables K the fewest errors that a linear rule on K of them was found to make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result, visible
from chanceline._validation import whole_number
from chanceline.errors import InputError
from chanceline.perceptron.data import column_names
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rule import Rule
from chanceline.select.front_line import all_singles
from chanceline.select.front_pairs import promising_pairs
from chanceline.select.front_pool import is_wide, pool_of_columns, pooled
from chanceline.select.front_rule import widest_rule
from chanceline.select.front_swaps import Best, choose_addition, load, make_best, note, swap_steps
from chanceline.select.front_trimmed import NEWTON, Trimmed, fit_trimmed, make_trimmed, put_in, take_out, use
from chanceline.select.methods.tabu import random_state
from chanceline.select.outcome import Candidate

VISIT = 100  # swaps at one size before the next has its turn
PAIRS_TRIED = 300
# Where a visit to a size begins, and how much of the errors wanted is forgiven, in turn: at the best rule of the size, of one
# variable more or of one fewer, or where the last visit of that share ended.
VISITS = (("best", 1.0), ("end", 0.0), ("above", 1.0), ("end", 0.5), ("end", 0.0), ("below", 1.0))
ADDITIONS = 60  # that are tried on the best rule of one variable fewer
NEARBY = 5  # from a smoother loss a descent on the errors is worth while within a fifth of the fewest
FRONT_AT_MOST = 12  # variables of a rule of few errors, where a search for none or fewer has failed
WORK = 2e10  # of the default budget, in multiplications; three times that on many columns
MANY = 2000
SWAPS_A_SUPPORT = 20  # are enough where there are few supports


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """The fewest errors found with at most `k` variables, and the rule that makes them."""

    k: int
    errors: int
    rule: Rule


@dataclass(frozen=True, eq=False, repr=False)
class Front(Result):
    """The fewest errors found for every number of variables.

    Attributes
    ----------
    points : one point for k = 0, 1, … up to `max_features`, or up to the first without errors. Errors never rise with k;
        where k variables gave nothing better than fewer did, the rule is that of fewer.
    n_samples, n_features : shape of the table.
    iterations : swaps done.
    seed : of the search.
    interrupted : Ctrl-C ended the search early; the points are the best so far.
    feature_names : names of the columns, if X has names (a DataFrame).
    """

    points: tuple[FrontPoint, ...]
    n_samples: int
    n_features: int
    intercept: bool
    iterations: int
    seed: int
    interrupted: bool = False
    feature_names: tuple[str, ...] | None = None

    kind = "search"

    @property
    def errors(self) -> NDArray[np.int64]:
        """E(k) for k = 0, 1, …"""
        return np.array([point.errors for point in self.points], dtype=np.int64)

    def at(self, k: int) -> FrontPoint:
        """The point of at most k variables."""
        if k < 0:
            raise InputError(f"The number of variables cannot be negative, but is {k}.")
        last = self.points[-1]
        if k > last.k and last.errors > 0:
            raise InputError(f"The front ends at {last.k} variables; search it up to {k} with max_features={k}.")
        return self.points[min(k, last.k)]

    def features(self, point: FrontPoint) -> list[str]:
        """The variables of a point, by name or, where columns have none, by number."""
        return [str(j) if self.feature_names is None else self.feature_names[j] for j in point.rule.support]

    def smallest(self, errors: int = 0) -> FrontPoint | None:
        """The first point with at most so many errors, or None."""
        return next((point for point in self.points if point.errors <= errors), None)

    def summary(self) -> str:
        listed = ", ".join(str(point.errors) for point in self.points)
        return f"{listed} errors of {self.n_samples} with 0 … {self.points[-1].k} of {self.n_features} variables"

    def __str__(self) -> str:
        lines = [f"Fewest errors found among {self.n_samples} samples, {self.n_features} variables"]
        lines[0] += " (interrupted: the best so far)" if self.interrupted else ""
        lines += ["  k  errors  variables"]
        for point in self.points:
            shown = ", ".join(map(visible, self.features(point)[:12])) + (", …" if point.rule.n_selected > 12 else "")
            lines.append(f"{point.k:3d}  {point.errors:6d}  {shown}".rstrip())
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "intercept": self.intercept,
            "iterations": self.iterations,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "front": [
                {
                    "k": point.k,
                    "errors": point.errors,
                    "support": point.rule.support.tolist(),
                    **({} if self.feature_names is None else {"features": self.features(point)}),
                    "weights": point.rule.weights.tolist(),
                    "bias": point.rule.bias,
                }
                for point in self.points
            ],
        }


def front(
    X: ArrayLike,
    y: ArrayLike,
    *,
    intercept: bool = True,
    max_features: int = 10,
    budget: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Front:
    """For every number of variables up to `max_features` the fewest errors of a linear rule on some of them.

    Parameters
    ----------
    X : (P, N) matrix of real numbers, or a DataFrame, whose names the front then has.
    y : P labels of at most two values, the larger of which is the positive class.
    intercept : whether the rule has a threshold; it does not count as a variable.
    max_features : largest number of variables K.
    budget : swaps in all; by default five to ten seconds' worth on tables like 60 × 7000 or 168 × 2905.
    seed : same seed, same result.
    progress : called with (swaps done, swaps in all).

    Returns
    -------
    Front
        Errors are counted exactly; a sample on the threshold is an error. One variable is searched exhaustively, more by
        a heuristic, so that fewer errors may be possible. After Ctrl-C the best so far, with `interrupted` set.
    """
    max_features = whole_number(max_features, "max_features")
    budget = None if budget is None else whole_number(budget, "The budget, a number of swaps,")
    seed = whole_number(seed, "The seed")
    problem = make_problem(X, y, intercept, contradictions=True)
    most = min(max_features, problem.n_features)
    pool = pool_of_columns(problem, most + 1) if is_wide(problem) else None
    walk = FrontSearch(problem if pool is None else pooled(problem, pool), most, seed)
    total = default_budget(walk.problem, most) if budget is None else budget
    interrupted = False
    try:
        for done in walk.run(total):
            if progress is not None:
                progress(done, total)
    except KeyboardInterrupt:
        interrupted = True
    return Front(
        points=walk.points(problem, pool),
        n_samples=problem.n_samples,
        n_features=problem.n_features,
        intercept=problem.intercept,
        iterations=walk.done,
        seed=seed,
        interrupted=interrupted,
        feature_names=column_names(X),
    )


def default_budget(problem: Problem, most: int) -> int:
    """Swaps worth about five to ten seconds on gene-expression data that no few variables separate."""
    n, patterns = problem.columns.shape
    swap = 60_000 + n * patterns + 40 * patterns * (most + 4)
    # Among thousands of columns there are more good sets, and they are harder to find.
    work = WORK * (1 + 2 * min(1.0, n / MANY))
    supports = sum(math.comb(problem.n_features, k) for k in range(1, most + 1))
    return max(1000, min(int(work / swap * math.sqrt(max(most, 1) / 10)), SWAPS_A_SUPPORT * supports))


def fewest_found(problem: Problem, budget: int | None, seed: int, spent: int, errors: int = 0) -> Iterator[Candidate | int]:
    """The first point of the front with at most `errors` errors, or that with the fewest on up to `FRONT_AT_MOST` variables."""
    walk = FrontSearch(problem, min(problem.n_features, FRONT_AT_MOST), seed)
    for done in walk.run(default_budget(problem, walk.most) if budget is None else budget):
        yield spent + done
    found = walk.best.errors[: walk.most + 1]
    yield walk.candidate(int(np.argmax(found <= max(errors, int(found.min())))), spent + walk.done)


class FrontSearch:
    """The workspace of one search: the trimmed fit, the best rules so far, and the clocks of the swaps."""

    def __init__(self, problem: Problem, most: int, seed: int) -> None:
        n, patterns = problem.columns.shape
        self.problem = problem
        self.most = most
        self.random = random_state(seed)
        # Room for one variable more than asked for: a swap adds before it drops.
        self.state: Trimmed = make_trimmed(problem.columns, problem.kept, most + 2)
        self.best: Best = make_best(most + 1, problem.kept, patterns)
        self.until = np.zeros(n, dtype=np.int64)
        # The intercept is never added or dropped.
        self.until[n - problem.kept :] = np.iinfo(np.int64).max
        self.clock = np.zeros(1, dtype=np.int64)
        self.near = 2
        self.ends: dict[tuple[int, float], NDArray[np.int64]] = {}
        self.done = 0

    def run(self, budget: int) -> Iterator[int]:
        """Singles, pairs, greedy paths, then visits to every size in turn; yields the swaps done."""
        self._constant()
        if self.most == 0:
            return
        self._singles()
        yield 0
        self._paths()
        yield 0
        if self.most >= 2:
            self._pairs()
            yield 0
        turn = 0
        while self.done < budget:
            sizes = [k for k in range(2, self.most + 1) if self.best.errors[k - 1] > 0]
            before = self.done
            for k in sizes[::-1] if turn % 2 else sizes:
                if self.done < budget:
                    self._visit(k, *VISITS[turn % len(VISITS)], min(VISIT, budget - self.done))
                    yield self.done
            if self.done == before:
                return
            turn += 1

    def _constant(self) -> None:
        """No variable: everybody in the larger class, or without a threshold everybody wrong."""
        problem, best = self.problem, self.best
        if problem.kept:
            positive = int(np.count_nonzero(problem.y > 0))
            best.errors[0] = min(positive, problem.n_samples - positive)
            best.supports[0, 0] = problem.n_features
            best.weights[0, 0] = 1.0 if 2 * positive >= problem.n_samples else -1.0

    def _singles(self) -> None:
        errors, rules = all_singles(self.problem.columns, self.problem.kept, self.random)
        for j in np.argsort(errors, kind="stable")[:PAIRS_TRIED]:
            self._start(np.array([j]), rules[j, 1:], rules[j, 0])
            note(self.state, self.best, 0, self.random)

    def _start(self, support: NDArray[np.int64], weights: NDArray[np.float64], constant: float) -> None:
        """Load a rule and its margins."""
        kept = self.problem.kept
        columns = np.concatenate([np.arange(self.problem.n_features, self.problem.n_features + kept), support])
        values = np.concatenate([np.full(kept, constant), weights])
        use(self.state, columns, values)
        self.state.margins[:] = values @ self.problem.columns[columns]

    def _paths(self) -> None:
        """Greedy additions from nothing: forgiving nobody, and forgiving one error fewer than the best makes."""
        for allowed in (0, -1):
            self._start(np.zeros(0, dtype=np.int64), np.zeros(0), 0.0)
            self._grow(allowed)

    def _grow(self, allowed: int) -> None:
        """Add the most promising columns as long as there is room, forgiving `allowed` patterns (−1: as the best wants)."""
        for k in range(self.most + 1):
            forgiven = allowed if allowed >= 0 else max(int(self.best.errors[k]) - 1, 0)
            fit_trimmed(self.state, forgiven, NEWTON)
            addition = choose_addition(self.state, self.until, 0, self.random)
            if addition < 0:
                return
            put_in(self.state, addition)
            fit_trimmed(self.state, forgiven, NEWTON)
            note(self.state, self.best, self.near, self.random)

    def _pairs(self) -> None:
        for pair in promising_pairs(self.problem, PAIRS_TRIED):
            self._start(pair, np.zeros(2), 0.0)
            fit_trimmed(self.state, 0, NEWTON)
            note(self.state, self.best, self.near, self.random)
            fit_trimmed(self.state, max(int(self.best.errors[2]) - 1, 0), NEWTON)
            note(self.state, self.best, self.near, self.random)

    def _visit(self, k: int, start: str, share: float, steps: int) -> None:
        """Swaps at size k, forgiving this share of the errors wanted."""
        best, state, kept = self.best, self.state, self.problem.kept
        self.until[: self.problem.n_features] = 0
        self.clock[0] = 0
        near = self.near if share == 1.0 else self.near + int(best.errors[k]) // NEARBY
        if start == "end" and (k, share) in self.ends:
            self._start(self.ends[k, share], np.zeros(k), 0.0)
        elif start == "below" or best.errors[k] >= best.errors[k - 1] or best.supports[k, 0] < 0:
            self._add_one(k - 1)
        elif start == "above" and best.supports[k + 1, 0] >= 0:
            self._drop_one(k + 1)
        else:
            load(state, best, k)
        if state.k[0] - kept != k:
            return
        fit_trimmed(state, int(share * max(int(best.errors[k]) - 1, 0)), NEWTON)
        swap_steps(state, best, self.until, self.clock, self.random, share, near, steps)
        self.ends[k, share] = state.support[kept : k + kept].copy()
        self.done += steps

    def _drop_one(self, k: int) -> None:
        """From the best rule of k variables to k − 1: every one is dropped once, and the drop of fewest errors kept."""
        kept = self.problem.kept
        errors = []
        for place in range(kept, k + kept):
            load(self.state, self.best, k)
            take_out(self.state, place)
            errors.append(self._errors_after_fit(k - 1))
        load(self.state, self.best, k)
        take_out(self.state, kept + int(np.argmin(errors)))

    def _add_one(self, k: int) -> None:
        """From the best rule of k variables to k + 1: the most promising are tried, and the one of fewest errors kept."""
        state, best = self.state, self.best
        load(state, best, k)
        self._errors_after_fit(k + 1)
        promise = np.abs(state.narrow @ (state.active * (1.0 - state.margins)).astype(np.float32))
        promise[state.position >= 0] = -1.0
        columns = np.argsort(-promise, kind="stable")[: min(ADDITIONS, int(np.count_nonzero(state.position < 0)))]
        errors = []
        for column in columns:
            load(state, best, k)
            put_in(state, column)
            errors.append(self._errors_after_fit(k + 1))
        load(state, best, k)
        if errors:
            put_in(state, columns[int(np.argmin(errors))])

    def _errors_after_fit(self, k: int) -> int:
        """Errors of the present support, fitted for one error fewer than the best of k variables makes; kept if it is better."""
        fit_trimmed(self.state, max(int(self.best.errors[k]) - 1, 0), NEWTON)
        return int(note(self.state, self.best, self.near, self.random))

    def points(self, problem: Problem, pool: NDArray[np.int64] | None) -> tuple[FrontPoint, ...]:
        """The rules found, in the columns of the whole problem, errors counted exactly, up to the first without."""
        found: list[FrontPoint] = []
        for k in range(self.most + 1):
            if self.best.errors[k] < (found[-1].errors if found else problem.n_samples + 1):
                best = self.candidate(k, self.done)
                support = best.support if pool is None else pool[best.support]
                rule = widest_rule(problem, support, best.weights, best.constant)
                if not found or rule.errors < found[-1].errors:
                    found.append(FrontPoint(k, rule.errors, rule))
                    if rule.errors == 0:
                        break
                    continue
            found.append(FrontPoint(k, found[-1].errors, found[-1].rule))
        return tuple(found)

    def candidate(self, k: int, iterations: int) -> Candidate:
        """The best rule of k variables, in scaled weights."""
        kept = self.problem.kept
        support, weights = self.best.supports[k, kept : k + kept], self.best.weights[k, : k + kept]
        order = np.argsort(support)
        return Candidate(support[order], weights[kept:][order], float(weights[0]) if kept else 0.0, iterations)
