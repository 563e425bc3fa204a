"""The steps of the test, from a checked question to its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.bound import Bound
from chanceline.errors import ConvergenceError
from chanceline.perceptron.fit import consistent_rows, rule_on, separate
from chanceline.perceptron.rule import Rule
from chanceline.select.front import front as search_front
from chanceline.significance.advice import Outlook, advise
from chanceline.significance.expected_error import ExpectedError, expected_error
from chanceline.significance.front_path import Columns, Paths, make_columns
from chanceline.significance.front_test import BATCH, FrontDraws, FrontReading, draw_front
from chanceline.significance.permutation import INTERRUPT, Drawing, PermutationReading, permutation_reading
from chanceline.significance.procedure import Procedure
from chanceline.significance.question import Question, unavoidable_errors
from chanceline.significance.replica import replica_reading
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_words import rule_sentence
from chanceline.significance.verdict import Evidence, decide, overall_log10_p
from chanceline.tables.columns import plain_text

Floats = NDArray[np.float64]
# Searching the observed labels again is worth while if the bound would accept a set smaller by this much.
WITHIN_REACH = 1
# Swaps of the search for fewest errors at every number of features: some seconds at most.
FRONT_BUDGET = 2000
# With fewer multiplications than this, starting processes takes longer than the shuffles.
WORTH_PROCESSES = 2e11


@dataclass(frozen=True, eq=False)
class Found:
    """What the observed labels allow: the rule reported if it convinces or separates, and the best rule for every K."""

    rule: Rule
    bound: Bound
    points: tuple[Rule, ...]
    later: float


def answer(question: Question, progress: Callable[[int, int], None] | None) -> SeparationTest:
    """Search, bound, shuffle, decide."""
    settings = question.settings
    X = question.X[:, question.features] if question.fixed else question.X
    columns = make_columns(X, question.scheme, settings.intercept)
    if question.fixed and question.features is not None:
        columns = replace(columns, index=question.features[columns.index])
    steps = max(1, min(settings.largest, len(columns.index), len(question.y) - 2))
    _, paths = draw_front(columns, question.scheme, permutations=0, steps=steps, seed=settings.seed)
    found = find_rules(question, steps)
    convinced = question.shares.convinces(found.bound.log10_p)
    later = question.shares.later_convinces(found.later)
    wanted = settings.permutations > 0 and (settings.always_permute or not (convinced or later))
    drawing = Drawing(_worth(settings.n_jobs, columns, steps, settings.permutations), settings.time_limit, progress)
    permutation = draws = None
    if wanted and settings.search is not None and not question.fixed:
        permutation = _own_search(question, replace(drawing, n_jobs=settings.n_jobs))
    elif settings.permutations > 0:
        # Where the bound convinces, one batch of shuffles shows what the front is to be compared with.
        count = settings.permutations if wanted else min(BATCH - 1, settings.permutations)
        draws, _ = draw_front(columns, question.scheme, permutations=count, steps=steps, seed=settings.seed, drawing=drawing)
        permutation = draws.reading() if wanted and draws.done else None
    readings = front_readings(question, paths, found, draws, adjusted=permutation is not None)
    interrupted = INTERRUPT in (permutation.stopped_by if permutation else None, draws.stopped_by if draws else None)
    expected = None
    if settings.expected_error and not interrupted:
        try:
            expected = expected_error(columns, question.scheme, steps, settings.seed)
        except KeyboardInterrupt:
            interrupted = True
    return conclude(question, found, readings, permutation, expected, interrupted=interrupted)


def find_rules(question: Question, steps: int) -> Found:
    """The rule for the features named, or the smallest set; and where that does not convince the fewest errors for every K."""
    settings, price = question.settings, question.price
    if question.features is not None:
        rule = rule_on(question.X, question.y, question.features, settings.intercept)
    elif settings.search is not None:
        rule = question.own_search().find(question.X, question.y)
    else:
        rule = smallest_rule(question)
    bound = price.bound(rule)
    if question.fixed or question.shares.convinces(bound.log10_p):
        return Found(rule, bound, (), 0.0)
    points = fewest_errors(question, steps)
    enough = [point for point in points if point.errors <= (question.declared or 0)]
    if question.features is None and settings.search is None and enough and not _better(rule, enough[0], question.declared or 0):
        rule, bound = enough[0], price.bound(enough[0])
    later = min((price.afterwards(point.n_selected, point.errors) for point in (rule, *points)), default=0.0)
    return Found(rule, bound, points, price.beside_no_errors(later) if question.shares.later > 0 else 0.0)


def fewest_errors(question: Question, steps: int) -> tuple[Rule, ...]:
    """The rule of fewest errors found for K = 1, 2, …"""
    settings = question.settings
    budget = FRONT_BUDGET if settings.budget is None else min(settings.budget, FRONT_BUDGET)
    found = search_front(
        question.X, question.y, intercept=settings.intercept, max_features=steps, budget=budget, seed=settings.seed
    )
    if found.interrupted:
        # Half a search is not what the rest of the test would build on.
        raise KeyboardInterrupt
    return tuple(point.rule for point in found.points[1:])


def _better(first: Rule, second: Rule, errors: int) -> bool:
    """Whether the first rule, if it makes few enough errors at all, has no more features than the second."""
    return first.errors <= errors and first.n_selected <= second.n_selected


def smallest_rule(question: Question) -> Rule:
    """The smallest set found that makes no more errors than allowed; where nothing separates, nothing is searched."""
    X, y, settings = question.X, question.y, question.settings
    rows = consistent_rows(X, y)
    n_distinct = len(question.distinct)
    if not settings.errors and n_distinct < len(rows):
        everything = all_separate(X[rows], y[rows], question.distinct, settings.intercept)
        if not everything:
            return rule_on(X, y, np.zeros(0, dtype=np.int64), settings.intercept)
    procedure = question.procedure()
    found = procedure.find(X, y)
    if settings.permutations > 0:
        return found
    return search_longer(procedure, X, y, found, question.price.largest(question.shares.gate), settings.restarts)


def all_separate(X: Floats, y: Floats, distinct: NDArray[np.int64], intercept: bool) -> bool:
    """Whether all features together separate."""
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Not settled in floating point: the search may try.
        return True


def search_longer(procedure: Procedure, X: Floats, y: Floats, found: Rule, largest: int, restarts: int) -> Rule:
    """Search again from other seeds while a set that the bound would accept is within reach.

    The bound covers every set at once, so that effort spent on the observed labels alone costs nothing.
    """
    reach = found.errors <= procedure.errors and 0 < found.n_selected - largest <= WITHIN_REACH and largest > 0
    if not (reach and isinstance(procedure.search, str)):
        return found
    best = found
    for number in range(1, restarts + 1):
        again = replace(procedure, seed=procedure.seed + number, options={"target": largest}).find(X, y)
        if again.errors <= procedure.errors and again.n_selected < best.n_selected:
            best = again
        if best.n_selected <= largest:
            break
    return best


def _own_search(question: Question, drawing: Drawing) -> PermutationReading:
    """The user's own search, run again on shuffled labels."""
    settings, procedure = question.settings, question.own_search()
    return permutation_reading(
        procedure,
        question.X,
        question.scheme,
        procedure(question.X, question.y),
        permutations=settings.permutations,
        seed=settings.seed,
        allowed=procedure.errors,
        stop_after=settings.stop_after,
        drawing=drawing,
    )


def _worth(n_jobs: int | None, columns: Columns, steps: int, permutations: int) -> int | None:
    """As many processes as asked for if there is work for them; the result is the same."""
    return n_jobs if 2.0 * columns.fitted.size * steps * permutations > WORTH_PROCESSES else 1


def front_readings(
    question: Question, paths: Paths, found: Found, draws: FrontDraws | None, *, adjusted: bool
) -> tuple[FrontReading, ...]:
    """For every number of features what was found, beside the shuffles."""
    steps = paths.losses.shape[1]
    bands = draws.bands() if draws is not None else [None] * steps
    pvalues = draws.adjusted().tolist() if draws is not None and adjusted else [None] * steps
    readings = []
    for k, errors in enumerate(paths.errors[0].tolist(), 1):
        rules = [rule for rule in (*found.points, found.rule) if 0 < rule.n_selected <= k]
        sets = [(errors, paths.support(0, k)), *((rule.errors, rule.support) for rule in rules)]
        fewest, support = min(sets, key=lambda pair: pair[0])
        names = tuple(question.names[j] for j in support)
        log10_bound = question.price.at_front(k, fewest)
        readings.append(FrontReading(k, errors, bands[k - 1], pvalues[k - 1], fewest, log10_bound, names))
    return tuple(readings)


def conclude(
    question: Question,
    found: Found,
    front: tuple[FrontReading, ...],
    permutation: PermutationReading | None,
    expected: ExpectedError | None,
    *,
    interrupted: bool,
) -> SeparationTest:
    """One p-value, one word, and everything that goes with them."""
    settings, shares, price = question.settings, question.shares, question.price
    of_front = permutation is not None and permutation.statistic == "front"
    point = standing_out(front) if of_front else None
    rule, bound = _reported(question, found, point)
    about_table = None if question.given else permutation
    log10_p = overall_log10_p(bound.log10_p, found.later, shares, about_table)
    names = tuple(question.names[j] for j in rule.support)
    unavoidable = unavoidable_errors(question.X, question.y) if rule.errors else None
    evidence = Evidence(
        rule, names, len(question.y), len(question.names), bound, shares, found.later, permutation, point,
        question.given, question.fixed, unavoidable,
    )  # fmt: skip
    verdict = decide(evidence, settings.level, log10_p)
    largest = price.largest(shares.gate)
    needed = price.samples_needed(rule, settings.level)
    units = "samples" if question.scheme.n_units == len(question.y) else "groups"
    outlook = Outlook(largest, needed, question.scheme.n_units, units, question.given)
    return SeparationTest(
        verdict=verdict.word,
        pvalue=float(max(10.0**log10_p, np.finfo(float).tiny)),
        log10_pvalue=log10_p,
        reason=verdict.reason,
        n_samples=len(question.y),
        n_features=len(question.names),
        n_distinct=len(question.distinct),
        positives=int(np.sum(question.y > 0)),
        n_selected=rule.n_selected,
        features=names,
        support=tuple(int(j) for j in rule.support),
        weights=tuple(float(w) for w in rule.weights),
        bias=rule.bias,
        errors=rule.errors,
        separates=rule.errors == 0,
        rule_text=rule_sentence(rule, question.X, question.names, plain_text(question.classes[1])),
        classes=question.classes,
        scores=question.X[:, rule.support] @ rule.weights + rule.bias,
        labels=question.y,
        bound=bound,
        front=front,
        decisive=point if question.features is None else None,
        permutation=permutation,
        replica=replica_reading(question, rule),
        expected_error=expected,
        largest_convincing=largest,
        samples_needed=needed,
        advice=advise(verdict.word, rule, settings, shares, outlook, permutation),
        findings=question.findings,
        interrupted=interrupted,
        settings=settings,
        shares=shares,
        errors_declared=question.declared,
        n_units=question.scheme.n_units,
        n_blocks=len(question.scheme.blocks) if question.scheme.blocks else 1,
    )


def standing_out(front: tuple[FrontReading, ...]) -> FrontReading:
    """The number of features of smallest adjusted p-value; among equals that whose errors lie farthest below the shuffled."""

    def rank(point: FrontReading) -> tuple[float, float]:
        assert point.pvalue is not None
        assert point.shuffled is not None
        return point.pvalue, point.errors - point.shuffled.median

    return min(front, key=rank)


def _reported(question: Question, found: Found, point: FrontReading | None) -> tuple[Rule, Bound]:
    """The rule to report: the one found, or where it makes too many errors the point of the front that says most."""
    enough = found.rule.errors <= (question.declared or 0)
    if question.features is not None or question.settings.search is not None or enough or not found.points:
        return found.rule, found.bound
    price = question.price
    if point is not None and not question.shares.later_convinces(found.later):
        rule = found.points[min(point.k, len(found.points)) - 1]
    else:
        rule = min(found.points, key=lambda rule: (price.at_front(rule.n_selected, rule.errors), rule.errors, rule.n_selected))
    bound = replace(price.bound(rule), errors=rule.errors, log10_p=price.at_front(rule.n_selected, rule.errors))
    return rule, bound if question.shares.later > 0 else price.bound(rule)
