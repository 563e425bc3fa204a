"""The built-in kinds of task: smallest support, exact count, Monte Carlo count on random problems.

The problem depends on size, load, inputs and trial alone, so that all methods meet the same
problems. The last three have noise with unequal classes and a threshold: inputs are Gaussian and a
share `balance` of the labels, rounded, is positive.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import plain
from chanceline.errors import InputError
from chanceline.experiments.sampling import SAMPLING_RIDGE, sample_counts, support_separates
from chanceline.experiments.tasks import derive_seed
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.perceptron.random_patterns import random_problem
from chanceline.perceptron.workspace import make_hinge
from chanceline.select.api import search
from chanceline.select.counting import count as count_supports
from chanceline.select.pareto import front

ENTRIES_AT_ONCE = 1_000_000  # numbers drawn together: some 8 MB
LOG_DECIMALS = 6  # of a Monte Carlo ln Z; far below its noise
NEARLY_WHOLE = 1e-9  # a product of floats this close to a whole number is meant to be it

# Patterns (patterns, variables) and labels ±1 (patterns,) of a random problem.
LabelledPatterns = tuple[NDArray[np.float64], NDArray[np.float64]]


class ShareInputs(StrEnum):
    """Inputs for which the share of separable problems can be measured."""

    BINARY = "binary"
    SPHERE = "sphere"


def draw_problem(n: int, patterns: int, inputs: str, trial: int) -> LabelledPatterns:
    """The random problem of a trial: X, (patterns, n), and labels y = ±1, (patterns,)."""
    return random_problem(
        n,
        n_patterns=patterns,
        inputs=inputs,
        seed=derive_seed("problem", n, patterns, inputs, trial),
    )


def smallest_support(  # noqa: PLR0913
    seed: int,
    *,
    n: int,
    alpha: float,
    inputs: str = "binary",
    method: str = "auto",
    budget: int | None = None,
    trial: int = 0,
) -> dict[str, Any]:
    """Search a random problem for a small support: a set of variables that separates the classes.

    The problem has `n` variables and round(alpha·n) patterns (samples) of the kind `inputs`. It
    depends on `trial`, but not on `seed`, which is that of the search.

    Returns
    -------
    A dict of
    n_patterns : the number of patterns.
    n_selected : the size of the smallest support found. It is None if equal patterns have different
        labels, so that no support separates them (possible for ±1 inputs at small n).
    separates : whether every margin is positive. The paper's algorithm (greedy-biht) stops when no
        margin is *negative*, so that its support may leave patterns on the boundary.
    iterations : the number of iterations of the search.
    """
    n_patterns = round(alpha * n)
    X, y = draw_problem(n, n_patterns, inputs=inputs, trial=trial)
    if contradicting_rows(X, y):
        return {"n_patterns": n_patterns, "n_selected": None, "separates": False, "iterations": 0}
    outcome = search(X, y, method=method, budget=budget, seed=seed)
    return {
        "n_patterns": n_patterns,
        "n_selected": int(outcome.n_selected),
        "separates": bool(outcome.separates),
        "iterations": int(outcome.iterations),
    }


def exact_count(  # noqa: PLR0913
    seed: int, *, n: int, rho: float, alpha: float, inputs: str = "binary", trial: int = 0
) -> dict[str, Any]:
    """The exact number of separating supports of M = ρN variables on one problem.

    Every kind takes a seed; this one draws nothing with it.
    """
    n_patterns = whole(alpha * n, "alpha·n")
    m = whole(rho * n, "rho·n")
    X, y = draw_problem(n, n_patterns, inputs=inputs, trial=trial)
    n_supports = 0
    if not contradicting_rows(X, y):
        n_supports = count_supports(X, y, m).count
    return {"m": m, "count": n_supports}


def separable_share(  # noqa: PLR0913
    seed: int, *, m: int, patterns: int, inputs: str = "binary", draws: int = 20_000, trial: int = 0
) -> dict[str, Any]:
    """Draw random problems of `patterns` patterns in `m` variables; count the separable ones.

    A problem is separable if some weights on all its m variables classify every pattern correctly.
    For P patterns in general position in M variables the probability is Cover's D(P, M)/2^P. It is
    smaller for ±1 inputs of few variables, which are not in general position.

    Parameters
    ----------
    seed : of the random numbers.
    m, patterns : M and P.
    inputs : "binary" (±1) or "sphere".
    draws : the number of problems.
    trial : is not used here, but tasks that differ in it get different seeds.

    Returns
    -------
    {"hits": the number of separable problems}
    """
    # The parameters are called as in the tasks that are stored. Here they get clearer names.
    n_variables = m
    n_patterns = patterns
    n_draws = draws
    if inputs not in list(ShareInputs):
        raise InputError(f"there are no {inputs!r} inputs for shares; choose binary or sphere")

    # Problems are drawn in batches that fit in memory.
    generator = np.random.default_rng(seed)
    max_problems_at_once = max(1, ENTRIES_AT_ONCE // (n_variables * n_patterns))
    hits = 0
    for n_done in range(0, n_draws, max_problems_at_once):
        n_problems = min(max_problems_at_once, n_draws - n_done)
        # The entries stand for inputs times labels. As each sign is equally likely, multiplying by
        # random labels would not change their distribution. Gaussian patterns need not be scaled
        # to the sphere, as the lengths of patterns do not matter for separability.
        labelled_inputs = generator.standard_normal((n_problems, n_variables, n_patterns))
        if inputs == ShareInputs.BINARY:
            labelled_inputs = np.sign(labelled_inputs)
        hits += _count_separable(labelled_inputs)
    return {"hits": hits}


def _count_separable(labelled_inputs: NDArray[np.float64]) -> int:
    """How many problems are linearly separable with weights on all their variables.

    `labelled_inputs` are the inputs times the labels of many problems, of shape (problems,
    variables, patterns). A problem is separable if some weights w give w·x > 0 for each of its
    patterns x.
    """
    n_problems, n_variables, n_patterns = labelled_inputs.shape
    # One workspace (`hinge`) holds the variables of all problems as its columns, so that it is made
    # only once. Problem number k has the n_variables columns from k·n_variables on.
    columns = labelled_inputs.reshape(n_problems * n_variables, n_patterns)
    hinge = make_hinge(columns, n_variables, ridge=SAMPLING_RIDGE)
    n_separable = 0
    for problem in range(n_problems):
        first_column = problem * n_variables
        columns_of_problem = np.arange(first_column, first_column + n_variables)
        if support_separates(hinge, columns_of_problem):
            n_separable += 1
    return n_separable


def log_count(  # noqa: PLR0913
    seed: int,
    *,
    n: int,
    rho: float,
    alpha: float,
    inputs: str = "binary",
    sweeps: int = 1000,
    steps: int = 4,
    rung: int = 1,
    trial: int = 0,
) -> dict[str, Any]:
    """Estimate by Monte Carlo how many supports separate more and more patterns of a problem.

    A support is a set of M = ρN of the N variables. Z_p is the number of supports that separate the
    first p patterns; it is estimated for p = 2M, 2M + `rung`, … up to αN. Every p has a random walk
    over its supports.

    Parameters
    ----------
    seed : of the walks.
    n, rho, alpha : N; ρ, the share of the variables in a support; and α, patterns per variable.
    inputs, trial : the kind of inputs, "binary" (±1) or "sphere", and the number of the problem.
    sweeps : how many times all walks move and the estimate is updated.
    steps : how many steps every walk takes in one sweep.
    rung : the number of patterns from one p to the next.

    Returns
    -------
    A dict of
    m : M.
    first : the first p, 2M.
    log_counts, errors : lists of ln Z_p and of their standard errors (None for NaN), one entry for
        each p. The lists end at the last p for which a support was found, and may be empty.
    """
    # The parameters are called as in the tasks that are stored. Here they get clearer names.
    n_variables = n
    patterns_between_points = rung
    n_patterns = whole(alpha * n_variables, "alpha·n")
    support_size = whole(rho * n_variables, "rho·n")

    X, y = draw_problem(n_variables, n_patterns, inputs=inputs, trial=trial)
    curve = sample_counts(
        X,
        y,
        support_size,
        sweeps=sweeps,
        steps=steps,
        spacing=patterns_between_points,
        seed=seed,
    )
    return {
        "m": support_size,
        "first": 2 * support_size,
        # `plain` makes lists of numbers, with None for NaN.
        "log_counts": plain(curve.log_counts.round(LOG_DECIMALS)),
        "errors": plain(curve.errors.round(LOG_DECIMALS)),
    }


def draw_classes(n: int, alpha: float, balance: float, trial: int) -> LabelledPatterns:
    """Draw Gaussian features and independent labels of αn samples.

    Returns X, (samples, n), and y, (samples,), of which round(balance · samples) are +1 and the
    rest −1. Both depend on all arguments, and on nothing else.
    """
    n_samples = whole(alpha * n, "alpha·n")
    n_positives = round(balance * n_samples)
    if not 0 < n_positives < n_samples:
        raise InputError(
            f"balance = {balance:g} leaves one class among {n_samples} samples; "
            "choose one nearer to ½"
        )
    generator = np.random.default_rng(derive_seed("classes", n, n_samples, n_positives, trial))
    X = generator.standard_normal((n_samples, n))
    sorted_labels = np.repeat([1.0, -1.0], [n_positives, n_samples - n_positives])
    return X, generator.permutation(sorted_labels)


def smallest_classes(  # noqa: PLR0913
    seed: int, *, n: int, alpha: float, balance: float, budget: int | None = None, trial: int = 0
) -> dict[str, Any]:
    """The smallest support that search finds for a rule with threshold."""
    X, y = draw_classes(n, alpha, balance=balance, trial=trial)
    outcome = search(X, y, intercept=True, budget=budget, seed=seed)
    return {
        "n_patterns": len(y),
        "positives": int((y > 0).sum()),
        "n_selected": int(outcome.n_selected),
    }


def errors_classes(  # noqa: PLR0913
    seed: int, *, n: int, alpha: float, balance: float, largest: int, trial: int = 0
) -> dict[str, Any]:
    """The fewest errors known with 1, …, `largest` variables and a threshold."""
    X, y = draw_classes(n, alpha, balance=balance, trial=trial)
    points = front(X, y, max_features=largest, seed=seed).points
    return {
        "n_patterns": len(y),
        "positives": int((y > 0).sum()),
        "errors": [point.errors for point in points if point.k > 0],
    }


def count_classes(  # noqa: PLR0913
    seed: int, *, n: int, alpha: float, balance: float, selected: int, trial: int = 0
) -> dict[str, Any]:
    """The exact number of supports of `selected` variables that separate with a threshold.

    Every kind takes a seed; this one draws nothing with it.
    """
    X, y = draw_classes(n, alpha, balance=balance, trial=trial)
    return {
        "positives": int((y > 0).sum()),
        "count": count_supports(X, y, selected, intercept=True).count,
    }


def whole(value: float, name: str) -> int:
    """The whole number that a size times a fraction must be, called `name` in a refusal.

    Otherwise the fraction would not mean the same at every size.
    """
    nearest = round(value)
    if abs(value - nearest) > NEARLY_WHOLE:
        raise InputError(f"{name} is {value:g}; choose sizes that make it a whole number")
    return nearest
