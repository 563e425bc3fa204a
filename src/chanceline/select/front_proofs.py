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
    """The points, those of no and of one variable exact and marked as proven where they are.

    Parameters
    ----------
    points : in place k that of at most k variables.
    errors_of_singles : (features,) the fewest errors of a rule on each column by itself, exactly,
        from `single_errors`.
    """
    # At most one variable may also be none, the point k = 0.
    best_column = int(np.argmin(errors_of_singles))
    fewest = min(int(errors_of_singles[best_column]), points[0].errors)

    # Where the search missed the best rule, it is found exactly; there may be none in doubles.
    improved = list(points)
    if len(points) > 1 and points[1].errors > fewest:
        rule = best_single_rule(problem, best_column)
        if rule is not None:
            improved = _with_rule(points, rule, min_variables=1)

    # The majority rule of k = 0 is always exact.
    proven = [replace(improved[0], proven=True)]
    for point in improved[1:]:
        proven.append(replace(point, proven=point.k == 1 and point.errors == fewest))
    return proven


def prove_pairs(
    problem: Problem, points: Sequence[FrontPoint], *, all_pairs: bool
) -> list[FrontPoint]:
    """The points, exact for two variables as far as that is affordable.

    With `all_pairs` every pair is looked at, if these are few enough; then the point of two
    variables is proven. Otherwise only the pair that the search has found is looked at.

    points : in place k that of at most k variables.
    """
    # No point of two variables: fewer make no errors, or no more were asked for.
    if len(points) <= 2:
        return [replace(point, proven=point.proven or point.errors == 0) for point in points]

    # Which pairs to look at: all, the one that was found, or none.
    work_per_pair = problem.n_samples**2
    n_pairs = math.comb(problem.n_features, 2)
    is_exhaustive = all_pairs and n_pairs * work_per_pair <= MAX_PLANE_WORK
    found_pair = points[2].rule.support
    pairs: Iterable[ArrayLike] = []
    if is_exhaustive:
        pairs = combinations(range(problem.n_features), 2)
    elif len(found_pair) == 2 and work_per_pair <= MAX_PLANE_WORK:
        pairs = [found_pair]
    searched = best_rule_on_pairs(problem, pairs)

    # The rule of two variables improves larger sizes too.
    improved = list(points)
    if searched.rule is not None:
        improved = _with_rule(points, searched.rule, min_variables=2)

    proven = []
    for point in improved:
        is_proven_pair = point.k == 2 and is_exhaustive and searched.lower_bound >= point.errors
        is_proven = point.proven or is_proven_pair or point.errors == 0
        proven.append(replace(point, proven=is_proven))
    return proven


def _with_rule(points: Sequence[FrontPoint], rule: Rule, min_variables: int) -> list[FrontPoint]:
    """The points with this rule wherever it makes fewer errors, up to the first without errors.

    Points of fewer than `min_variables` stay as they are.
    """
    improved = []
    for point in points:
        is_better = point.k >= min_variables and rule.errors < point.errors
        if is_better:
            improved.append(FrontPoint(k=point.k, errors=rule.errors, rule=rule))
        else:
            improved.append(point)
        if improved[-1].errors == 0:
            break
    return improved
