"""The front: for every number of variables K the fewest errors that a linear rule on K of them was found to make.

In very wide tables a pool of promising columns stands for all, so that the search keeps copies of these alone. They are ranked by
their product with the slack, |a_jᵀ r| / |r|, along a greedy path: all columns at every step, from X itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result, visible
from chanceline.errors import InputError, whole_number
from chanceline.perceptron.hinge import NEWTON, fit, make_hinge, set_support
from chanceline.perceptron.hinge_fit import screening_scores
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rule import Rule
from chanceline.perceptron.separate import widest_rule
from chanceline.perceptron.validation import column_names
from chanceline.select.outcome import Candidate, LowerBound
from chanceline.select.pairs import (
    all_singles,
    errors_alone,
    fewest_on_pairs,
    promising_pairs,
    single_rule,
)
from chanceline.select.swaps import fit_and_note, make_best, try_out

WIDE = 6_000_000  # entries of X above which a pool stands for all columns
POOL_ENTRIES = 500_000  # of the columns in the pool: in a smaller one more swaps are affordable (`benchmarks/pool.py`)
FEWEST_COLUMNS = 1000  # of a pool
SINGLES_KEPT = 100  # columns of fewest errors alone, in a pool
COLUMNS_A_VARIABLE = 4  # of a pool, for every variable that a rule may need
VISIT = 100  # swaps at one size before the next has its turn
PAIRS_TRIED = 300
WALKS = 3  # from the same beginning, each with its share of the budget; the last begins at the best rules of all before
WALK = 6000  # swaps at least, about one visit of every kind to ten sizes
# Where a visit to a size begins, and how much of the errors wanted is forgiven, in turn: at the best rule of the size, of one
# variable more or of one fewer, or where the last visit of that share ended.
VISITS = (("best", 1.0), ("end", 0.0), ("above", 1.0), ("end", 0.5), ("end", 0.0), ("below", 1.0))
ADDITIONS = 60  # that are tried on the best rule of one variable fewer
NEARBY = (
    5  # from a smoother loss a descent on the errors is worth while within a fifth of the fewest
)
FRONT_AT_MOST = 12  # variables of a rule of few errors, where a search for none or fewer has failed
WORK = 2e10  # of the default budget, in multiplications; three times that on many columns
MANY = 2000
PLANE_WORK = 2e7  # samples² × pairs, two or three seconds
SWAPS_A_SUPPORT = 20  # are enough where there are few supports


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """The fewest errors found with at most `k` variables, and the rule that makes them; `proven` if no rule makes fewer."""

    k: int
    errors: int
    rule: Rule
    proven: bool = False


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
    feature_names : names of the columns, if X has names (a DataFrame).
    """

    points: tuple[FrontPoint, ...]
    n_samples: int
    n_features: int
    intercept: bool
    iterations: int
    seed: int
    feature_names: tuple[str, ...] | None = None

    kind = "search"

    @property
    def errors(self) -> NDArray[np.int64]:
        """E(k) for k = 0, 1, …"""
        return np.array([point.errors for point in self.points], dtype=np.int64)

    def at(self, k: int) -> FrontPoint:
        """The point of at most k variables."""
        k = whole_number(k, "The number of variables")
        last = self.points[-1]
        if k > last.k and last.errors > 0:
            raise InputError(
                f"The front ends at {last.k} variables; search it up to {k} with max_features={k}."
            )
        return self.points[min(k, last.k)]

    def features(self, point: FrontPoint) -> list[str]:
        """The variables of a point, by name or, where columns have none, by number."""
        return [
            str(j) if self.feature_names is None else self.feature_names[j]
            for j in point.rule.support
        ]

    def smallest(self, errors: int = 0) -> FrontPoint | None:
        """The first point with at most so many errors, or None."""
        return next((point for point in self.points if point.errors <= errors), None)

    def summary(self) -> str:
        listed = ", ".join(str(point.errors) for point in self.points)
        return f"{listed} errors of {self.n_samples} with 0 … {self.points[-1].k} of {self.n_features} variables"

    def __str__(self) -> str:
        lines = [f"Fewest errors found among {self.n_samples} samples, {self.n_features} variables"]
        lines.append("  k  errors  variables (*: proven, no rule on so many makes fewer)")
        for point in self.points:
            shown = ", ".join(map(visible, self.features(point)[:12])) + (
                ", …" if point.rule.n_selected > 12 else ""
            )
            lines.append(
                f"{point.k:3d}  {point.errors:6d}{'*' if point.proven else ' '} {shown}".rstrip()
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "intercept": self.intercept,
            "iterations": self.iterations,
            "seed": self.seed,
            "interrupted": False,  # for one version: Ctrl-C raises KeyboardInterrupt
            "front": [
                {
                    "k": point.k,
                    "errors": point.errors,
                    "proven": point.proven,
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
    signs: ArrayLike | None = None,
    pool: int | None = None,
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
    signs : of the weights, where they are known: +1, −1 or 0 (free) for every column, or one of them for all.
    pool : columns that stand for all where two and more variables are searched; by default at least a thousand in tables of more
        than six million entries, and otherwise all.
    progress : called with (swaps done, swaps in all).

    Returns
    -------
    Front
        Errors are counted exactly; a sample on the threshold is an error. One variable is searched exhaustively, two as well
        in small tables (points that are `proven`), more by a heuristic, so that fewer errors may be possible.
    """
    max_features = whole_number(max_features, "max_features")
    budget = None if budget is None else whole_number(budget, "The budget, a number of swaps,")
    seed = whole_number(seed, "The seed")
    problem = make_problem(X, y, intercept, contradictions=True, signs=signs)
    most = min(max_features, problem.n_features)
    fewest_alone = errors_alone(problem)
    columns = pool_for_front(problem, most, fewest_alone, pool)
    walk = FrontSearch(problem if columns is None else pooled(problem, columns), most, seed)
    total = default_budget(walk.problem, most) if budget is None else budget
    for done in walk.run(total):
        if progress is not None:
            progress(done, total)
    points = on_one(problem, walk.points(problem, columns), fewest_alone)
    return Front(
        points=on_two(problem, points, everything=budget is None),
        n_samples=problem.n_samples,
        n_features=problem.n_features,
        intercept=problem.intercept,
        iterations=walk.done,
        seed=seed,
        feature_names=column_names(X),
    )


def pool_for_front(
    problem: Problem, most: int, fewest_alone: NDArray[np.int64], pool: int | None
) -> NDArray[np.int64] | None:
    """Sorted indices of the columns that stand for all in a search for rules on up to `most` variables; None: all do."""
    if pool is None:
        width = pool_size(problem, most + 1)
        is_pooled = is_wide(problem, width)
    else:
        width = whole_number(pool, "The pool, a number of columns,", at_least=1)
        is_pooled = width < problem.n_features
    return rank_columns(problem, most + 1, fewest_alone).pool(width) if is_pooled else None


def on_one(
    problem: Problem, points: tuple[FrontPoint, ...], fewest_alone: NDArray[np.int64]
) -> tuple[FrontPoint, ...]:
    """The points, exact for none and for one variable, of the whole table: by sorting the values of X.

    The search counts margins as errors that rounding could take away, so that it may miss a narrow gap.
    """
    first = replace(points[0], proven=True)
    if len(points) == 1:
        return (first,)
    best = int(np.argmin(fewest_alone))
    fewest = min(int(fewest_alone[best]), first.errors)
    found: list[FrontPoint] = [first]
    rule = points[1].rule
    if rule.errors > fewest:
        exact_rule = single_rule(problem, best)
        if exact_rule is not None and exact_rule.errors < rule.errors:
            rule = exact_rule
    for point in points[1:]:
        if rule.errors < point.errors:
            point = FrontPoint(point.k, rule.errors, rule)
        found.append(replace(point, proven=point.k == 1 and point.errors == fewest))
        if point.errors == 0:
            break
    return tuple(found)


def on_two(
    problem: Problem, points: tuple[FrontPoint, ...], *, everything: bool
) -> tuple[FrontPoint, ...]:
    """The points, exact for two variables: on all pairs where `everything` is wanted and affordable, else on the pair found."""
    best, proven, work = None, False, problem.n_samples**2
    if len(points) > 2:
        proven = everything and math.comb(problem.n_features, 2) * work <= PLANE_WORK
        found = points[2].rule.support
        pairs = (
            list(combinations(range(problem.n_features), 2))
            if proven
            else [found] * (len(found) == 2 and work <= PLANE_WORK)
        )
        best, below = fewest_on_pairs(problem, pairs)
        proven = proven and below >= min(
            points[2].errors, problem.n_samples if best is None else best.errors
        )
    exact: list[FrontPoint] = []
    for point in points:
        better = best is not None and point.k >= 2 and best.errors < point.errors
        rule = best if best is not None and better else point.rule
        exact.append(
            FrontPoint(
                point.k,
                rule.errors,
                rule,
                rule.errors == 0 or point.proven or (point.k == 2 and proven),
            )
        )
        if rule.errors == 0:
            break
    return tuple(exact)


def default_budget(problem: Problem, most: int) -> int:
    """Swaps worth about five to ten seconds on gene-expression data that no few variables separate."""
    n, patterns = problem.columns.shape
    swap = 60_000 + n * patterns + 40 * patterns * (most + 4)
    # Among thousands of columns there are more good sets, and they are harder to find.
    work = WORK * (1 + 2 * min(1.0, n / MANY))
    supports = sum(math.comb(problem.n_features, k) for k in range(1, most + 1))
    return max(
        1000, min(int(work / swap * math.sqrt(max(most, 1) / 10)), SWAPS_A_SUPPORT * supports)
    )


def majority(problem: Problem) -> tuple[int, float]:
    """Errors without any variable, and the threshold that puts everybody in the larger class; without one all are wrong."""
    if not problem.intercept:
        return problem.n_samples, 0.0
    positive = int(np.count_nonzero(problem.y > 0))
    negative = problem.n_samples - positive
    return min(positive, negative), 1.0 if positive >= negative else -1.0


def fewest_found(
    problem: Problem, budget: int | None, seed: int, spent: int, errors: int = 0
) -> Iterator[Candidate | int]:
    """The first point of the front with at most `errors` errors, or that with the fewest on up to `FRONT_AT_MOST` variables."""
    walk = FrontSearch(problem, min(problem.n_features, FRONT_AT_MOST), seed)
    for done in walk.run(default_budget(problem, walk.most) if budget is None else budget):
        yield spent + done
    found = walk.best.errors[: walk.most + 1]
    first = int(np.argmax(found <= max(errors, int(found.min()))))
    yield walk.best.candidate(first, problem.kept, spent + walk.done)


class FrontSearch:
    """The workspace of one search: the fit, and the best rules so far."""

    def __init__(self, problem: Problem, most: int, seed: int) -> None:
        self.problem = problem
        self.most = most
        # Room for one variable more than asked for: a swap adds before it drops.
        self.hinge = make_hinge(
            problem.columns, most + 2 + problem.kept, problem.kept, seed=seed, signed=problem.signed
        )
        self.best = make_best(most + 1, problem.kept, problem.n_samples)
        self.near = 2
        self.ends: dict[tuple[int, float], NDArray[np.int64]] = {}
        self.done = 0

    def run(self, budget: int) -> Iterator[int]:
        """Singles, pairs, greedy paths, then walks; yields the swaps done."""
        self.best.errors[0], constant = majority(self.problem)
        self.best.supports[0, 0], self.best.weights[0, 0] = self.problem.n_features, constant
        if self.most == 0:
            return
        self._singles()
        yield 0
        self._grow(0.0)
        self._grow(1.0)
        yield 0
        for pair in promising_pairs(self.problem, PAIRS_TRIED) if self.most >= 2 and budget else ():
            self._start(pair)
            self._fit(2, 0.0)
            self._fit(2, 1.0)
        yield 0
        first, found = deepcopy(self.best), deepcopy(self.best)
        walks = max(1, min(WALKS, budget // WALK))
        for walk in range(1, walks + 1):
            # Where no errors are left there is nothing to find again.
            self.best.take(found if walk == walks else first, found.errors > 0)
            self.ends.clear()
            yield from self._walk(walk * budget // walks)
            found.take(self.best, self.best.errors < found.errors)

    def _walk(self, until: int) -> Iterator[int]:
        """Visits to every size in turn, until so many swaps are done."""
        for turn in count():
            sizes = [k for k in range(2, self.most + 1) if self.best.errors[k - 1] > 0]
            before = self.done
            for k in sizes[::-1] if turn % 2 else sizes:
                if self.done < until:
                    self._visit(k, *VISITS[turn % len(VISITS)], min(VISIT, until - self.done))
                    yield self.done
            if self.done == before:
                return

    def _singles(self) -> None:
        errors, rules = all_singles(
            self.problem.columns, self.problem.signed, self.problem.kept, self.hinge.random
        )
        for j in np.argsort(errors, kind="stable")[:PAIRS_TRIED]:
            self._start(np.array([j]), rules[j, 1 - self.problem.kept :])
            try_out(self.hinge, self.best, newton=0)

    def _start(
        self, support: NDArray[np.int64], weights: NDArray[np.float64] | float = 0.0
    ) -> None:
        """Load a rule; its weights begin with that of the threshold, if there is one."""
        n = self.problem.n_features
        set_support(
            self.hinge, np.concatenate([np.arange(n, n + self.problem.kept), support]), weights
        )

    def _load(self, k: int) -> None:
        """Continue from the best rule of k variables, or of fewer where signs left none of k."""
        while self.best.supports[k, 0] < 0:
            k -= 1
        size = k + self.problem.kept
        set_support(self.hinge, self.best.supports[k, :size], self.best.weights[k, :size])

    def _allowed(self, k: int, share: float) -> int:
        """This share of one error fewer than the best of k variables makes."""
        return int(share * max(int(self.best.errors[k]) - 1, 0))

    def _fit(self, k: int, share: float = 1.0, add: int = -1, drop: int = -1) -> int:
        """Errors of the present support after a change and a fit that forgives as for k variables; kept if it is better."""
        return try_out(
            self.hinge, self.best, add, drop, allowed=self._allowed(k, share), near=self.near
        )

    def _grow(self, share: float) -> None:
        """Greedy additions from nothing, as long as there is room, forgiving this share of the errors wanted."""
        self._start(np.zeros(0, dtype=np.int64))
        self._fit(0, share)
        for k in range(1, self.most + 2):
            sizes = screening_scores(self.hinge)
            if sizes.max() < 0:
                return
            self._fit(k, share, add=int(sizes.argmax()))

    def _visit(self, k: int, start: str, share: float, steps: int) -> None:
        """Swaps at size k, forgiving this share of the errors wanted."""
        best, hinge = self.best, self.hinge
        hinge.until[:] = 0
        hinge.clock[0] = 0
        near = self.near if share == 1.0 else self.near + int(best.errors[k]) // NEARBY
        if start == "end" and (k, share) in self.ends:
            self._start(self.ends[k, share])
        elif start == "below" or best.errors[k] >= best.errors[k - 1] or best.supports[k, 0] < 0:
            self._add_one(k - 1)
        elif start == "above" and best.supports[k + 1, 0] >= 0:
            self._drop_one(k + 1)
        else:
            self._load(k)
        if hinge.selected != k and self.problem.signs is None:
            return
        fit_and_note(
            hinge,
            best,
            -1,
            -1,
            self._allowed(k, share),
            NEWTON,
            share,
            near,
            0.0,
            0,
            steps,
            k + hinge.kept,
        )
        self.ends[k, share] = hinge.support[hinge.kept : hinge.size].copy()
        self.done += steps

    def _drop_one(self, k: int) -> None:
        """From the best rule of k variables to k − 1: every one is dropped once, and the drop of fewest errors kept."""
        errors = []
        for place in range(self.hinge.kept, self.hinge.kept + k):
            self._load(k)
            errors.append(self._fit(k - 1, drop=place))
        self._load(k)
        try_out(
            self.hinge, self.best, drop=self.hinge.kept + int(np.argmin(errors)), near=-1, newton=0
        )

    def _add_one(self, k: int) -> None:
        """From the best rule of k variables to k + 1: the most promising are tried, and the one of fewest errors kept."""
        self._load(k)
        self._fit(k + 1)
        sizes = screening_scores(self.hinge)
        columns = np.argsort(-sizes, kind="stable")[
            : min(ADDITIONS, int(np.count_nonzero(sizes >= 0)))
        ]
        errors = np.full(columns.size, self.problem.n_samples + 1)
        for place, column in enumerate(columns):
            self._load(k)
            # A signed variable that left the support during a fit is in it again.
            if self.hinge.position[column] < 0:
                errors[place] = self._fit(k + 1, add=int(column))
        self._load(k)
        if errors.size and self.hinge.position[columns[errors.argmin()]] < 0:
            try_out(self.hinge, self.best, add=int(columns[errors.argmin()]), near=-1, newton=0)

    def points(self, problem: Problem, pool: NDArray[np.int64] | None) -> tuple[FrontPoint, ...]:
        """The rules found, in the columns of the whole problem, errors counted exactly, up to the first without."""
        found: list[FrontPoint] = []
        for k in range(self.most + 1):
            if self.best.errors[k] < (found[-1].errors if found else problem.n_samples + 1):
                best = self.best.candidate(k, problem.kept, self.done)
                support = best.support if pool is None else pool[best.support]
                rule = widest_rule(problem, support, best.weights, best.constant)
                if not found or rule.errors < found[-1].errors:
                    found.append(FrontPoint(k, rule.errors, rule))
                    if rule.errors == 0:
                        break
                    continue
            found.append(FrontPoint(k, found[-1].errors, found[-1].rule))
        return tuple(found)


def is_wide(problem: Problem, width: int, entries: int = WIDE) -> bool:
    """Whether X has more entries than that, and is so much wider than a pool of so many columns, that the pool has to do."""
    return problem.X.size > entries and width < problem.n_features // 2


def pool_size(problem: Problem, variables: int) -> int:
    """Columns of the pool that stands for all, where a rule may take so many variables: several for each of them."""
    return max(FEWEST_COLUMNS, POOL_ENTRIES // problem.n_samples, COLUMNS_A_VARIABLE * variables)


class Ranking(NamedTuple):
    """All columns of a table, the most promising first.

    order : (N,) indices.
    path : so many of the first are a greedy path.
    separates : whether the columns of the path do.
    """

    order: NDArray[np.int64]
    path: int
    separates: bool

    def pool(self, width: int) -> NDArray[np.int64]:
        """Sorted indices of the first so many columns, and of the whole path if it separates: then the pool does."""
        if self.separates:
            width = max(width, self.path)
        return np.sort(self.order[:width])


def rank_columns(problem: Problem, steps: int, fewest_alone: NDArray[np.int64]) -> Ranking:
    """The columns of a greedy path, then the best alone, then those of largest product with the slack along the path.

    Columns that rank equal come in the order of the table.

    Parameters
    ----------
    steps : of the path, at most.
    fewest_alone : (N,) errors of every column alone, from `errors_alone`.
    """
    n, patterns = problem.n_features, problem.n_samples
    steps = min(steps, patterns, n)
    columns = np.zeros((steps + problem.kept, patterns))
    columns[steps:] = problem.y
    hinge = make_hinge(
        columns, steps + problem.kept, problem.kept, signed=np.zeros(len(columns), dtype=np.bool_)
    )
    chosen: list[int] = []
    highest = np.zeros(n)
    slack = np.ones(patterns)
    separates = False
    for step in range(steps):
        products = slack_products(problem, slack)
        np.maximum(highest, products / max(float(np.linalg.norm(slack)), 1e-300), out=highest)
        products[chosen] = -1.0
        chosen.append(int(np.argmax(products)))
        hinge.signed[step] = problem.signed[chosen[-1]]
        hinge.columns[step] = hinge.rows[:, step] = problem.rows(np.array(chosen[-1:]))[:, 0]
        separates = fit(hinge, add=step, newton=NEWTON)
        if separates:
            break
        slack = hinge.active * (1.0 - hinge.margins)
    by_score = np.argsort(-highest, kind="stable")
    singles = np.argsort(fewest_alone, kind="stable")[:SINGLES_KEPT]
    order = np.concatenate([np.array(chosen, dtype=np.int64), singles, by_score])
    _, first_places = np.unique(order, return_index=True)
    return Ranking(order[np.sort(first_places)], len(chosen), separates)


def slack_products(problem: Problem, slack: NDArray[np.float64]) -> NDArray[np.float64]:
    """|a_jᵀ r| of every column with the slack r, without a scaled copy of X; 0 where the weight could not have that sign."""
    signed = problem.y * slack
    products = signed.astype(problem.X.dtype) @ problem.X
    # Single precision overflows where doubles do not.
    overflown = np.flatnonzero(~np.isfinite(products))
    products = products.astype(float)
    products[overflown] = signed @ problem.X[:, overflown].astype(float)
    products = (products - signed.sum() * problem.centre) / problem.scale
    return np.where(problem.signed[: problem.n_features] & (products < 0), 0.0, np.abs(products))


def pooled(problem: Problem, pool: NDArray[np.int64]) -> Problem:
    """The problem on the pool's columns alone."""
    signs = None if problem.signs is None else problem.signs[pool]
    return replace(problem, X=np.ascontiguousarray(problem.X[:, pool], dtype=float), signs=signs)


def from_pool(
    events: Iterator[Candidate | LowerBound | int], pool: NDArray[np.int64]
) -> Iterator[Candidate | LowerBound | int]:
    """Events of a search in the pool, in the table's own columns; what was proven of the pool is not proven of the table."""
    for event in events:
        if isinstance(event, Candidate):
            rule = event.rule
            if rule is not None:
                rule = replace(rule, support=pool[rule.support])
            yield event._replace(support=pool[event.support], rule=rule)
        elif not isinstance(event, LowerBound):
            yield event
