"""Supports of one and two variables, exhaustively: the minimum, where it is as small as that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule
from chanceline.select.outcome import (
    Candidate,
    Event,
    LowerBound,
    candidate_rule,
    max_margin_candidate,
)
from chanceline.select.pairs import PairSweep, SeparatingPair, sweep_pairs
from chanceline.select.singles import best_single_rule, separating_single


def sweep_small_supports(problem: Problem, best: Candidate, max_pairs: int) -> Iterator[Event]:
    """Try all supports of one variable, and of two if there are at most `max_pairs` pairs.

    Yields a candidate if a support separates that is smaller than that of `best`, the best one so
    far; and what is proven, as a `LowerBound` on the size of supports that separate. Its `nodes`
    are the number of supports tried for the proof. The sweep goes on to the next size only as long
    as it is worth it:

        what is found                        what is yielded           what follows
        `best` has 0 or 1 variables          its size as a bound       nothing
        one variable separates               its candidate, bound 1    nothing
        one separates, but not in doubles    nothing                   nothing
        none separates                       bound 2                   pairs, if `best` has more
                                                                       than two variables
    """
    n_features = problem.n_features
    n_selected = best.support.size
    # A support of no variable or one cannot be made smaller, so no proof is needed.
    if n_selected < 2:
        yield LowerBound(n_selected, nodes=0)
        return

    # One variable.
    separating_column = separating_single(problem)
    if separating_column is not None:
        candidate = exact_candidate(
            problem,
            np.array([separating_column]),
            iterations=best.iterations,
            rule=best_single_rule(problem, separating_column),
        )
        # Without a candidate the variable separates in rational arithmetic, but no rule with
        # weights in doubles is known. Then nothing is yielded: a single variable may suffice, so
        # that a bound of 2 would be false.
        if candidate is not None:
            yield candidate
            yield LowerBound(1, nodes=n_features)
        return
    yield LowerBound(2, nodes=n_features)

    # Two variables.
    n_pairs = n_features * (n_features - 1) // 2
    if n_selected > 2 and n_pairs <= max_pairs:
        yield from _sweep_all_pairs(problem, best.iterations, nodes=n_features + n_pairs)


def _sweep_all_pairs(problem: Problem, iterations: int, nodes: int) -> Iterator[Event]:
    """Try all pairs of variables, in a problem that no single variable separates.

    Yields the number of iterations now and then, as a chance to interrupt. At the end it yields the
    candidate of a pair that separates, if there is one, and a `LowerBound` for what is proven.

    iterations : number spent before; the sweep adds none.
    nodes : size of the proof, the number of singles and pairs.
    """
    for event in sweep_pairs(problem):
        if isinstance(event, SeparatingPair):
            # The candidate has the weights of largest margin, which rounding may spoil. So it also
            # gets the rule of the sweep, which separates for certain.
            candidate = max_margin_candidate(problem, event.support, iterations)
            yield candidate._replace(rule=event.rule)
            yield LowerBound(2, nodes=nodes)  # one variable is too few
            return
        if event is PairSweep.NONE_SEPARATES:
            yield LowerBound(3, nodes=nodes)  # two are too few
        else:
            yield iterations  # the sweep goes on


def exact_candidate(
    problem: Problem, support: NDArray[np.int64], iterations: int, rule: Rule | None
) -> Candidate | None:
    """Return the candidate of largest margin on a support, or else that of a rule found exactly.

    The `rule` (None if none was found) is used if the weights of largest margin, in floating point,
    do not separate. None if neither does.
    """
    candidate = max_margin_candidate(problem, support, iterations)
    if candidate_rule(problem, candidate).separates:
        return candidate
    if rule is None:
        return None
    return candidate._replace(rule=rule)
