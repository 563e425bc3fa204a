"""Method `exact`: a good support first, then a proof that no smaller one suffices."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from chanceline.perceptron.problem import Problem
from chanceline.select.auto import run_auto
from chanceline.select.outcome import Candidate, LowerBound, candidate_rule, max_margin_candidate
from chanceline.select.supports import NODES_A_CHUNK, RATIONAL_DECISIONS, Step, all_supports
from chanceline.select.walk import EXHAUSTED, FOUND

EXACT_NODES = 20_000_000  # of a proof without a budget
HEURISTIC_BUDGET = 20_000  # of the search before the proof, at most


def run_exact(
    problem: Problem,
    budget: int | None,
    seed: int,
    errors: int = 0,
    decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Candidate | LowerBound | int]:
    """Search a good support, then refute size by size until one suffices or all are refuted.

    The budget counts nodes of the proof. When it ends, the outcome holds the best support and the
    bound so far.

    Parameters
    ----------
    budget : None for as many nodes as EXACT_NODES.
    seed : of the search.
    errors : the most patterns that may be wrong.
    decisions : the most in rational arithmetic, at one size; after them the bound holds up to a
        gap.

    Yields
    ------
    A `Candidate` for every support that suffices, a `LowerBound` for every size refuted, and in
    between the iterations spent.
    """
    search_budget = None
    proof_budget = EXACT_NODES
    if budget is not None:
        search_budget = min(budget, HEURISTIC_BUDGET)
        proof_budget = budget

    # The search: remember its smallest support, and what it has proven.
    best: Candidate | None = None
    lower = 1
    for event in run_auto(problem, search_budget, seed, errors):
        if isinstance(event, Candidate):
            # What separates in floating point may have errors when they are counted exactly.
            is_smaller = best is None or event.support.size < best.support.size
            if is_smaller and candidate_rule(problem, event).errors <= errors:
                best = event
        elif isinstance(event, LowerBound):
            lower = event.smallest
        yield event

    yield from prove(
        problem, best, proof_budget, max_errors=errors, lower=lower, max_decisions=decisions
    )


def prove(  # noqa: PLR0913
    problem: Problem,
    best: Candidate | None,
    budget: int,
    *,
    max_errors: int = 0,
    lower: int = 1,
    max_decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Candidate | LowerBound | int]:
    """Refute size after size until the smallest support found is one variable larger.

    That one is then the minimum. Yields a `LowerBound` for every size refuted, a `Candidate` for
    every smaller support found, and in between the iterations spent; stops when `budget` nodes are
    used.

    Parameters
    ----------
    best : a support that suffices; None if none is known.
    max_errors : patterns that may be wrong.
    lower : no smaller support suffices, as is known already.
    max_decisions : in rational arithmetic, for every size.
    """
    refuted = lower - 1  # the largest size known not to suffice
    nodes = 0
    if best is not None:
        iterations = best.iterations  # of the search before the proof
        smallest = best.support.size  # the smallest size known to suffice
    else:
        iterations = 0
        smallest = problem.n_features + 1  # none is known to, not even all variables

    while refuted < smallest - 1:
        size = _next_size(refuted, smallest)
        if smallest > problem.n_features and max_errors == 0:
            # Whether all variables together separate is soon decided, and if not, nothing does.
            size = problem.n_features

        step = yield from _walk_over_size(
            problem,
            size,
            max_errors,
            budget=budget - nodes,
            max_decisions=max_decisions,
            spent=iterations + nodes,
        )
        nodes += step.nodes

        if step.verdict == FOUND:
            smallest = size
            # The candidate is that of largest margin. Where this one is not right in floating
            # point, the walk gives another rule.
            candidate = max_margin_candidate(
                problem, step.support, iterations + nodes, step.correct_samples
            )
            yield candidate._replace(rule=step.rule)
        elif step.verdict == EXHAUSTED and step.undecided == 0:
            refuted = size
            yield LowerBound(smallest=size + 1, nodes=nodes, gap=step.gap)
        else:
            return  # the budget is used up, or rounding leaves supports undecided


def _walk_over_size(  # noqa: PLR0913
    problem: Problem, size: int, max_errors: int, *, budget: int, max_decisions: int, spent: int
) -> Generator[int, None, Step]:
    """Walk over all supports of a size, until a verdict or for about `budget` nodes.

    Yields `spent`, the iterations before, plus the nodes of this walk, after each of its steps.
    Returns the last step.
    """
    step: Step
    for step in all_supports(
        problem,
        size,
        max_errors,
        chunk=min(NODES_A_CHUNK, budget),
        max_decisions=max_decisions,
    ):
        yield spent + step.nodes
        if step.nodes >= budget:
            break
    return step  # there is at least one


def _next_size(refuted: int, smallest: int) -> int:
    """The size to refute next, where `refuted` is refuted and `smallest` suffices.

    A size refuted refutes all below it, and costs a few times as much as the one before. So the
    last but one is left out: it is refuted with the last. The last is smallest − 1: once it is
    refuted too, `smallest` is the minimum.
    """
    last = smallest - 1
    if refuted >= last - 2:
        return last
    return refuted + 1
