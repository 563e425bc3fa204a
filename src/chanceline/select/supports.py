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

    The walk is a depth-first search in floating point. It stops

    - at its end (EXHAUSTED), and after `chunk` nodes (PAUSED);
    - at a question that rounding leaves open (ASKED), which rational arithmetic answers;
    - at a support that suffices (FOUND), which is then checked exactly. If the check fails, the
      walk goes on.

    Parameters
    ----------
    chunk : number of nodes after which the walk pauses.
    max_decisions : largest number of decisions in rational arithmetic. After them a support may be
        ruled out that separates by a tiny margin, at most the `gap` of the step.
    limits : for which problems cuts of few patterns are used, and how many.

    Yields
    ------
    A step at every stop; its `verdict` is

        FOUND        a support that suffices: the last step
        EXHAUSTED    there is none, apart from those counted in `undecided`: the last step
        PAUSED       the walk goes on. It has paused; or a question has been answered; or the check
                     of a support has failed or could not decide
    """
    walk = make_walk(problem, size, max_errors, limits=limits)
    table = ExactTable(problem)
    n_unconfirmed = 0  # supports found that rational arithmetic has neither confirmed nor refuted
    while True:
        event = walk_on(walk, chunk)
        if event == EXHAUSTED:
            yield _paused_step(walk, n_unconfirmed)._replace(verdict=EXHAUSTED)
            return

        if event == FOUND:
            step = _paused_step(walk, n_unconfirmed)
            confirmed = confirm_support(
                table, step.support, step.correct_samples, max_errors, max_decisions
            )
            if confirmed.verdict == SEPARABLE:
                yield step._replace(
                    verdict=FOUND,
                    correct_samples=confirmed.correct_samples,
                    rule=confirmed.rule,
                )
                return
            if confirmed.verdict == UNDECIDED:
                n_unconfirmed += 1
        elif event == ASKED:
            answer_question(walk, table, max_decisions)  # the answer is left in the walk

        # The walk goes on.
        yield _paused_step(walk, n_unconfirmed)


def _paused_step(walk: Walk, n_unconfirmed: int) -> Step:
    """Describe where the walk stands, as a PAUSED step; the caller may change its verdict.

    The support of the step consists of the variables that the walk includes at present. The correct
    samples are those that the last fit has not given up as errors.

    n_unconfirmed : number of supports that suffice in floating point and that rational arithmetic
        could not confirm: it took too long, or found no rule with weights in doubles. They count as
        undecided, besides those that the walk itself has not decided.
    """
    counts = walk.path.tally  # of the walk so far
    fit_state = walk.workspace.state  # what the last fit has left behind
    is_included = walk.path.variables.status == INCLUDED
    columns_of_X = walk.order[is_included]  # instead of the walk's own numbers
    return Step(
        verdict=PAUSED,
        nodes=int(counts[NODES]),
        undecided=int(counts[UNDECIDED_SUPPORTS]) + n_unconfirmed,
        support=np.sort(columns_of_X),
        correct_samples=np.flatnonzero(fit_state.is_kept),
        # What floating point alone has refuted has no larger margin than this.
        gap=float(fit_state.gap[0]),
    )


def confirm_support(
    table: ExactTable,
    support: NDArray[np.int64],
    correct_samples: NDArray[np.int64],
    max_errors: int,
    max_decisions: int,
) -> SupportDecision:
    """Check exactly whether a support that suffices in floating point really does.

    A support suffices if a rule on it makes at most `max_errors` errors. The rule of largest margin
    is tried first, with its errors counted exactly. If it makes too many, rational arithmetic
    decides. The result has a verdict and a rule:

        verdict        rule
        SEPARABLE      None: the rule of largest margin suffices; the caller can compute it again
        SEPARABLE      the rule found in rational arithmetic
        UNDECIDED      None: some weights suffice, but none in doubles are known; or rational
                       arithmetic would take too long
        INSEPARABLE    None: the support does not suffice

    table : the problem in rational arithmetic.
    support : (size,) columns of X.
    correct_samples : indices of the samples that the floating-point fit has correct.
    max_errors : number of samples that may be misclassified.
    max_decisions : largest number of decisions in rational arithmetic.
    """
    problem = table.problem
    # (`iterations` is bookkeeping for searches, and does not matter here.)
    candidate = max_margin_candidate(problem, support, iterations=0, samples=correct_samples)
    max_margin_rule = candidate_rule(problem, candidate)
    if max_margin_rule.errors <= max_errors:
        return SupportDecision(SEPARABLE, correct_samples)

    # The margins are as small as rounding errors, so decide in rational arithmetic. Weights that
    # are no doubles are of no use to the caller.
    exact = decide_support(table, support, max_errors, max_decisions)
    has_no_rule_in_doubles = exact.verdict == SEPARABLE and exact.rule is None
    if has_no_rule_in_doubles:
        return exact._replace(verdict=UNDECIDED)
    return exact


def answer_question(walk: Walk, table: ExactTable, max_decisions: int) -> None:
    """Answer in rational arithmetic a question on which a search in floating point has stopped.

    The search (`walk`) goes through sets of variables. It stops if rounding leaves open whether
    certain variables suffice, that is whether a rule on them makes few enough errors. These are the
    variables that it has included so far; or, while it builds a cut, all variables outside the cut.
    (A cut is a set of variables such that the variables outside it do not suffice.)

    The answer is written to `walk.question.answer[0]`, and the next call of `walk_on` reads it:

        SEPARABLE, INSEPARABLE    the question is decided
        UNDECIDED                 the question is about a cut, and concerns too many variables for
                                  rational arithmetic; the walk does without this cut
        nothing is written        a support has too many variables, or `max_decisions` are used up;
                                  the walk repeats its fit, and from now on to its end floating
                                  point counts even without a proof

    walk : the search, changed as described.
    table : the problem in rational arithmetic, which counts its decisions.
    max_decisions : largest number of decisions that the table may make in all.
    """
    is_about_cut = _is_building_cut(walk)
    variables = _variables_in_question(walk, is_about_cut)

    # The walk can do without a doubtful cut, as it can branch on another one, or on every open
    # variable.
    n_columns = variables.size + walk.n_unpenalized
    is_small_enough = is_affordable(n_columns, table.problem.n_samples)
    if is_about_cut and not is_small_enough:
        walk.question.answer[0] = UNDECIDED
        return

    max_errors = walk.path.max_errors
    decisions_left = max_decisions - table.decisions
    verdict = decide_support(table, variables, max_errors, decisions_left).verdict
    if verdict != UNDECIDED:
        walk.question.answer[0] = verdict
        return

    # Write no answer, so that the walk repeats its fit. Tell it to accept this fit and later ones.
    accept_unproven_conflicts(walk)


def _is_building_cut(walk: Walk) -> bool:
    """Whether the walk is building a cut at its present level (method GROWING)."""
    level = int(walk.path.levels.current_level[0])
    method = walk.path.levels.method[level]
    return bool(method == GROWING)


def _variables_in_question(walk: Walk, is_about_cut: bool) -> NDArray[np.int64]:
    """Return the variables that the walk asks about, as sorted columns of X.

    These are the included ones; if it is about a cut, all that are not excluded by it.
    """
    status = walk.path.variables.status
    is_in_question = status == INCLUDED
    if is_about_cut:
        is_in_question |= status == OPEN
    return np.sort(walk.order[is_in_question])  # from the walk's own numbers to columns of X


def accept_unproven_conflicts(walk: Walk) -> None:
    """Let the walk trust floating point to its end: a conflict counts even if it is not proven.

    A conflict is a set of patterns (samples times labels) that cannot all be classified correctly.
    The walk notes the gap up to which such conflicts hold.
    """
    walk.workspace.state.accepts_unproven[0] = 1


def decide_support(
    table: ExactTable, support: NDArray[np.int64], max_errors: int, max_decisions: int
) -> SupportDecision:
    """Decide in rational arithmetic whether a rule on some variables makes few enough errors.

    Parameters
    ----------
    table : the problem in rational arithmetic.
    support : (size,) columns of X, the variables.
    max_errors : number of samples that may be misclassified.
    max_decisions : largest number of decisions.

    Returns
    -------
    The verdict SEPARABLE, with the samples that are correct and a rule with weights in doubles, if
    one is known; or INSEPARABLE; or UNDECIDED, if the decision takes too long.
    """
    problem = table.problem
    no_samples = np.zeros(0, dtype=np.int64)
    if not is_affordable(support.size + problem.n_unpenalized, problem.n_samples):
        return SupportDecision(UNDECIDED, no_samples)

    answer = table.errors_within(support, max_errors, max_decisions)
    if answer.within is None:  # the decisions are used up
        return SupportDecision(UNDECIDED, no_samples)
    if not answer.within:
        return SupportDecision(INSEPARABLE, no_samples)
    correct_samples = np.array(answer.right_samples, dtype=np.int64)
    rule = rule_in_doubles(problem, support, answer.decision, correct_samples)
    return SupportDecision(SEPARABLE, correct_samples, rule)
