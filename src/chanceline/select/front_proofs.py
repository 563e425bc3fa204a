"""Points of the front that are exact: on one variable, and on two in small tables.

The search counts margins as errors that rounding could take away, so that it may miss a narrow gap.
Here one variable is decided by sorting the values of X, and two by a sweep of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule
from chanceline.select.front_result import FrontPoint
from chanceline.select.plane import best_rule_on_pairs
from chanceline.select.singles import best_single_rule

MAX_PLANE_WORK = 2e7  # samples² × pairs, two or three seconds


def prove_singles(
    problem: Problem, points: Sequence[FrontPoint], errors_of_singles: NDArray[np.int64]
) -> list[FrontPoint]:
    """Make the points of no and of one variable exact, and mark them as proven.

    Point k of the front is the best rule found of at most k variables. The search may have missed
    the best rule of one variable; then this rule is found here. Point 1 is not marked as proven if
    no rule with weights in doubles makes as few errors as the exact count says.

    Parameters
    ----------
    points : point k in place k.
    errors_of_singles : (features,) the fewest errors of a rule on each column by itself, exactly,
        from `single_errors`.

    Returns
    -------
    The points, improved and marked; other points than these two are marked as not proven.
    """
    # The fewest errors of a rule on at most one variable, that is on one or none.
    best_column = int(np.argmin(errors_of_singles))
    errors_of_none = points[0].errors
    fewest_errors = min(int(errors_of_singles[best_column]), errors_of_none)

    # If the search has missed the best rule of one variable, find it now.
    improved_points = list(points)
    if len(points) > 1 and points[1].errors > fewest_errors:
        rule = best_single_rule(problem, best_column)
        if rule is not None:
            improved_points = _with_rule(points, rule, min_variables=1)

    # The rule of no variable, the majority class, is always exact.
    marked_points = [replace(improved_points[0], proven=True)]
    for point in improved_points[1:]:
        is_proven = point.k == 1 and point.errors == fewest_errors
        marked_points.append(replace(point, proven=is_proven))
    return marked_points


def prove_pairs(
    problem: Problem, points: Sequence[FrontPoint], *, all_pairs: bool
) -> list[FrontPoint]:
    """Make the point of two variables exact, as far as that is affordable, and mark it as proven.

    Point k of the front is the best rule found of at most k variables. On a pair of variables the
    samples are points of a plane, and a rule is a line; so all ways to split the samples can be
    searched (`best_rule_on_pairs`), with a work of about samples² for each pair.

    With `all_pairs` every pair of variables is searched, if this is affordable. Then the point of
    two variables is proven, unless rounding leaves open whether fewer errors are possible.
    Otherwise only the pair of the present point is searched, for a better rule on it.

    points : point k in place k.

    Returns
    -------
    The points, improved and marked. Points without errors are marked as proven too.
    """
    # There is no point of two variables if fewer variables make no errors, or if fewer variables
    # were asked for.
    has_point_of_pairs = len(points) > 2
    if not has_point_of_pairs:
        return [_mark_if_proven(point, point.errors == 0) for point in points]

    # The pairs to search: all, that of the present point, or none.
    work_per_pair = problem.n_samples**2
    n_pairs = math.comb(problem.n_features, 2)
    searches_all_pairs = all_pairs and n_pairs * work_per_pair <= MAX_PLANE_WORK
    present_support = points[2].rule.support  # of at most two variables
    pairs: Iterable[ArrayLike] = []
    if searches_all_pairs:
        pairs = combinations(range(problem.n_features), 2)
    elif len(present_support) == 2 and work_per_pair <= MAX_PLANE_WORK:
        pairs = [present_support]
    search_result = best_rule_on_pairs(problem, pairs)

    # The rule of two variables may also improve the points of more variables.
    improved_points = list(points)
    if search_result.rule is not None:
        improved_points = _with_rule(points, search_result.rule, min_variables=2)

    # No rule on the pairs searched makes fewer errors than `lower_bound`. (Because of rounding the
    # best rule may make more errors than that.) So if these were all pairs, the point of two
    # variables is proven if it makes no more errors.
    marked_points = []
    for point in improved_points:
        reaches_bound = point.errors <= search_result.lower_bound
        is_best_of_pairs = point.k == 2 and searches_all_pairs and reaches_bound
        marked_points.append(_mark_if_proven(point, is_best_of_pairs or point.errors == 0))
    return marked_points


def _mark_if_proven(point: FrontPoint, is_proven: bool) -> FrontPoint:
    """Mark a point as proven if `is_proven`; a point that is marked already stays so."""
    return replace(point, proven=point.proven or is_proven)


def _with_rule(points: Sequence[FrontPoint], rule: Rule, min_variables: int) -> list[FrontPoint]:
    """Return the points of a front, with this rule wherever it makes fewer errors.

    Points of fewer than `min_variables` variables stay as they are. The front ends at its first
    point without errors, so all further points are dropped.
    """
    improved_points = []
    for point in points:
        is_better = point.k >= min_variables and rule.errors < point.errors
        if is_better:
            improved_points.append(FrontPoint(k=point.k, errors=rule.errors, rule=rule))
        else:
            improved_points.append(point)
        if improved_points[-1].errors == 0:
            break
    return improved_points
