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
    """Method `exact`: find a good support by a heuristic, then prove that no smaller one suffices.

    The proof rules out one size after the other, until a size suffices or all smaller ones are
    ruled out. If the budget ends before, the outcome has the best support and lower bound so far.

    Parameters
    ----------
    budget : largest number of nodes of the proof; None for EXACT_NODES.
    seed : of the heuristic search.
    errors : number of samples that may be misclassified.
    decisions : largest number of decisions in rational arithmetic at one size; after them the lower
        bound holds only up to a gap.

    Yields
    ------
    A `Candidate` for every support that suffices, a `LowerBound` for every size ruled out, and
    between them the number of iterations spent.
    """
    search_budget = None
    proof_budget = EXACT_NODES
    if budget is not None:
        search_budget = min(budget, HEURISTIC_BUDGET)
        proof_budget = budget

    # The heuristic search: remember its smallest support, and what it has proven.
    best: Candidate | None = None
    lower_bound = 1
    for event in run_auto(problem, search_budget, seed, errors):
        if isinstance(event, Candidate):
            # A rule that separates in floating point may have errors when they are counted exactly.
            is_smaller = best is None or event.support.size < best.support.size
            if is_smaller and candidate_rule(problem, event).errors <= errors:
                best = event
        elif isinstance(event, LowerBound):
            lower_bound = event.smallest
        yield event

    # The proof, for all sizes from the lower bound up to one below the best support.
    yield from prove(
        problem,
        best,
        proof_budget,
        max_errors=errors,
        lower_bound=lower_bound,
        max_decisions=decisions,
    )


def prove(  # noqa: PLR0913
    problem: Problem,
    known_candidate: Candidate | None,
    budget: int,
    *,
    max_errors: int = 0,
    lower_bound: int = 1,
    max_decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Candidate | LowerBound | int]:
    """Prove how many variables are needed, by walks over all supports of one size after another.

    A support suffices if a rule on it makes at most `max_errors` errors. If a walk finds such a
    support, its size is the smallest known from then on. The proof stops when `budget` nodes are
    used, or if some supports could not be decided.

    Parameters
    ----------
    known_candidate : a support that suffices; None if none is known.
    budget : largest number of nodes of the walks.
    max_errors : number of samples that may be misclassified.
    lower_bound : a size for which it is known already that no smaller support suffices.
    max_decisions : largest number of decisions in rational arithmetic, for every size.

    Yields
    ------
    A `LowerBound` for every size ruled out, a `Candidate` for every smaller support found, and
    between them, as a chance to interrupt, the number of iterations spent: those of the search that
    found `known_candidate`, and the nodes of the walks.
    """
    # A support that suffices still suffices with one more variable. So if a size is ruled out, all
    # smaller sizes are too. The search for the smallest size that suffices is between
    # `largest_refuted_size`, ruled out so far, and `smallest_known_size`, known to suffice.
    largest_refuted_size = lower_bound - 1
    n_nodes = 0  # of the search trees of all walks, the effort so far
    if known_candidate is not None:
        iterations_before_proof = known_candidate.iterations
        smallest_known_size = known_candidate.support.size
    else:
        iterations_before_proof = 0
        smallest_known_size = problem.n_features + 1  # not even all variables are known to suffice

    while largest_refuted_size < smallest_known_size - 1:
        no_support_known = smallest_known_size > problem.n_features
        if no_support_known and max_errors == 0:
            # First decide whether all variables together separate, which is quick: if they do not,
            # no support does.
            size = problem.n_features
        else:
            size = _next_size(largest_refuted_size, smallest_known_size)

        # Walk over all supports of this size. The walk yields numbers of iterations, which are
        # passed on, and returns its last step, which has the verdict.
        last_step = yield from _walk_over_size(
            problem,
            size,
            max_errors,
            budget=budget - n_nodes,
            max_decisions=max_decisions,
            earlier_iterations=iterations_before_proof + n_nodes,
        )
        n_nodes += last_step.nodes
        iterations = iterations_before_proof + n_nodes

        if last_step.verdict == FOUND:
            # A support of this size suffices. The candidate has the weights of largest margin on
            # the samples that are to be correct. If rounding makes these weights fail, the step has
            # another rule, which was found exactly; else its rule is None.
            smallest_known_size = size
            candidate = max_margin_candidate(
                problem, last_step.support, iterations, last_step.correct_samples
            )
            yield candidate._replace(rule=last_step.rule)
        elif last_step.verdict == EXHAUSTED and last_step.undecided == 0:
            # No support of this size suffices, nor of any smaller size, even if it was skipped.
            # (With a gap above 0 supports may be missed whose margin is at most the gap.)
            largest_refuted_size = size
            yield LowerBound(smallest=size + 1, nodes=n_nodes, gap=last_step.gap)
        else:
            # The budget is used up, or rounding leaves supports undecided.
            return


def _walk_over_size(  # noqa: PLR0913
    problem: Problem,
    size: int,
    max_errors: int,
    *,
    budget: int,
    max_decisions: int,
    earlier_iterations: int,
) -> Generator[int, None, Step]:
    """Walk over all supports of a size, until a verdict or for about `budget` nodes.

    Yields the number of iterations after each step of the walk: the `earlier_iterations`, plus the
    nodes of this walk. Returns the last step, which has the verdict on the size, if there is one.
    """
    step: Step
    for step in all_supports(
        problem,
        size,
        max_errors,
        chunk=min(NODES_A_CHUNK, budget),
        max_decisions=max_decisions,
    ):
        yield earlier_iterations + step.nodes
        if step.nodes >= budget:
            break
    return step  # there is at least one


def _next_size(refuted: int, smallest: int) -> int:
    """Choose the size to rule out next, if `refuted` is ruled out and `smallest` suffices.

    A size that is ruled out rules out all smaller ones, and each size costs a few times as much as
    the one before. In the end smallest − 1 must be ruled out. So from smallest − 3 on this is done
    at once: to rule out smallest − 2 before would be additional work.
    """
    last = smallest - 1
    if refuted >= last - 2:
        return last
    return refuted + 1
