"""All supports of one size: the walk, with its doubts decided in rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import rule_in_doubles
from chanceline.perceptron.rule import Rule
from chanceline.select.cuts import DEFAULT_LIMITS, CutLimits
from chanceline.select.outcome import candidate_rule, max_margin_candidate
from chanceline.select.support_fit import NODES, UNDECIDED_SUPPORTS
from chanceline.select.walk import ASKED, EXHAUSTED, FOUND, PAUSED, walk_on
from chanceline.select.walk_state import GROWING, INCLUDED, OPEN, Walk, make_walk

NODES_A_CHUNK = 2_000  # between two steps; some milliseconds
RATIONAL_DECISIONS = 10_000  # of one walk, some seconds; after that it goes on up to a gap


class Step(NamedTuple):
    """How far the walk has come.

    verdict : EXHAUSTED, PAUSED or FOUND.
    nodes : its cost so far.
    undecided : the supports that could not be decided.
    support, correct_samples : the support found, and the samples it has right.
    rule : the rule on it, where the largest margin in floating point is not one.
    gap : what is refuted has no larger margin than this (weights of length 1, columns scaled); 0
        where nothing was left to floating point.
    """

    verdict: int
    nodes: int
    undecided: int
    support: NDArray[np.int64]
    correct_samples: NDArray[np.int64]
    rule: Rule | None = None
    gap: float = 0.0


class SupportDecision(NamedTuple):
    """Whether a support suffices, in rational arithmetic.

    verdict : SEPARABLE, INSEPARABLE or UNDECIDED.
    correct_samples : where it does, the samples that are right.
    rule : where it does, the rule, if one with weights in doubles is known.
    """

    verdict: int
    correct_samples: NDArray[np.int64]
    rule: Rule | None = None


def all_supports(  # noqa: PLR0913
    problem: Problem,
    size: int,
    max_errors: int = 0,
    *,
    chunk: int = NODES_A_CHUNK,
    max_decisions: int = RATIONAL_DECISIONS,
    limits: CutLimits = DEFAULT_LIMITS,
) -> Iterator[Step]:
    """Walk over all supports of `size` variables: does one make at most `max_errors` errors?

    Yields a step after about `chunk` nodes, or more often; the last one is EXHAUSTED or FOUND. What
    floating point leaves open is decided in rational arithmetic, up to `max_decisions` times.

    The walk is depth first and stops for three reasons besides its end: after `chunk` nodes
    (PAUSED), with a question that rounding leaves open (ASKED), and with a support that suffices
    in floating point (FOUND). The latter is confirmed first; if it is not, the walk goes on. All
    but the end and a support confirmed are PAUSED to the caller.

    limits : where cuts of few patterns are used, and how many.
    """
    walk = make_walk(problem, size, max_errors, limits=limits)
    table = ExactTable(problem)
    n_without_rule = 0  # supports that suffice, but by no rule in doubles that was found
    while True:
        event = walk_on(walk, chunk)
        step = _present_step(walk, n_without_rule)
        if event == EXHAUSTED:
            yield step._replace(verdict=EXHAUSTED)
            return
        if event == ASKED:
            answer_question(walk, table, max_decisions)
        elif event == FOUND:
            confirmed = confirm_support(
                table, step.support, step.correct_samples, max_errors, max_decisions
            )
            step = step._replace(correct_samples=confirmed.correct_samples, rule=confirmed.rule)
            if confirmed.verdict == SEPARABLE:
                yield step._replace(verdict=FOUND)
                return
            if confirmed.verdict == UNDECIDED:
                n_without_rule += 1
                step = step._replace(undecided=step.undecided + 1)
        yield step


def _present_step(walk: Walk, n_without_rule: int) -> Step:
    """Where the walk stands, as a PAUSED step: the support has the included variables.

    As undecided count the supports that the walk could not decide, and `n_without_rule` others.
    """
    tally = walk.path.tally
    is_included = walk.path.variables.status == INCLUDED
    return Step(
        verdict=PAUSED,
        nodes=int(tally[NODES]),
        undecided=int(tally[UNDECIDED_SUPPORTS]) + n_without_rule,
        support=np.sort(walk.order[is_included]),  # from the walk's order to columns of X
        correct_samples=np.flatnonzero(walk.fit.state.alive),  # alive: not given up as errors
        gap=float(walk.fit.state.gap[0]),
    )


def confirm_support(
    table: ExactTable,
    support: NDArray[np.int64],
    correct_samples: NDArray[np.int64],
    max_errors: int,
    max_decisions: int,
) -> SupportDecision:
    """Whether a support that suffices in floating point, with these samples right, really does.

    The rule of largest margin is tried first, with its errors counted exactly; else rational
    arithmetic decides.

        verdict        rule
        SEPARABLE      None: that of largest margin suffices, and the caller can find it again
        SEPARABLE      that of rational arithmetic
        UNDECIDED      None: some weights suffice, but none in doubles are known; or too many
                       decisions
        INSEPARABLE    None

    table : the problem in rational arithmetic.
    support : columns of X.
    correct_samples : those that the floating-point fit has right.
    max_errors : samples that may be wrong.
    max_decisions : how many decisions rational arithmetic may take.
    """
    problem = table.problem
    candidate = max_margin_candidate(problem, support, iterations=0, samples=correct_samples)
    max_margin_rule = candidate_rule(problem, candidate)
    if max_margin_rule.errors <= max_errors:
        return SupportDecision(SEPARABLE, correct_samples)

    # Margins as small as rounding errors.
    exact = decide_support(table, support, max_errors, max_decisions)
    if exact.verdict == SEPARABLE and exact.rule is None:
        return exact._replace(verdict=UNDECIDED)
    return exact


def answer_question(walk: Walk, table: ExactTable, max_decisions: int) -> None:
    """Answer what the walk asks: do its included variables suffice (for a cut also the open ones)?

    A walk asks for a cut while the method of its level is GROWING: it excludes variables one by one
    until the included and the open ones do not suffice.

    The answer is written to `walk.question.answer[0]`, which stays NO_ANSWER without one. It is
    SEPARABLE or INSEPARABLE, decided in rational arithmetic. Where that takes too
    long, or the table has made `max_decisions`:

    - for a cut of many variables the answer is UNDECIDED, and the walk does without that cut;
    - else there is no answer. The walk repeats its fit and goes on with what floating point says,
      here and to its end.
    """
    level = int(walk.path.levels.current[0])
    status = walk.path.variables.status
    asks_for_cut = walk.path.levels.method[level] == GROWING
    is_in_question = status == INCLUDED
    if asks_for_cut:
        is_in_question |= status == OPEN
    # From variables of the walk, in its own order, to columns of X.
    support = np.sort(walk.order[is_in_question])

    is_small = is_affordable(support.size + walk.n_unpenalized, table.problem.n_samples)
    if asks_for_cut and not is_small:
        # The walk branches on another cut then, or on every open variable.
        walk.question.answer[0] = UNDECIDED
        return

    decisions_left = max_decisions - table.decisions
    verdict = decide_support(table, support, walk.path.max_errors, decisions_left).verdict
    if verdict == UNDECIDED:
        # There is no answer: the walk fits once more, and then believes the fit.
        trust_rounding(walk)
    else:
        walk.question.answer[0] = verdict


def trust_rounding(walk: Walk) -> None:
    """From now on, to the end of the walk, a conflict counts that floating point alone has found.

    It is not proven; the walk notes the gap up to which it holds.
    """
    walk.fit.state.trusts_rounding[0] = 1


def decide_support(
    table: ExactTable, support: NDArray[np.int64], max_errors: int, max_decisions: int
) -> SupportDecision:
    """Whether these variables make at most `max_errors` errors, in rational arithmetic.

    UNDECIDED where that takes too long: on many numbers, or after `max_decisions`. `support` are
    columns of X. Where they do, the decision has the samples that are right and, if one is known,
    a rule whose weights are doubles.
    """
    problem = table.problem
    no_samples = np.zeros(0, dtype=np.int64)
    if not is_affordable(support.size + problem.n_unpenalized, problem.n_samples):
        return SupportDecision(UNDECIDED, no_samples)

    answer = table.errors_within(support, max_errors, max_decisions)
    if answer.within is None:  # neither: the decisions were used up
        return SupportDecision(UNDECIDED, no_samples)
    if not answer.within:
        return SupportDecision(INSEPARABLE, no_samples)
    correct_samples = np.array(answer.right_samples, dtype=np.int64)
    rule = rule_in_doubles(problem, support, answer.decision, correct_samples)
    return SupportDecision(SEPARABLE, correct_samples, rule)
