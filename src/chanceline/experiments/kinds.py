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
    """The smallest set of variables (support) that a search method finds for a random problem.

    The problem has `n` variables and round(alpha·n) patterns of the kind `inputs`; every `trial`
    draws another one.

    Returns
    -------
    n_patterns : the number of patterns.
    n_selected : the size of the support. It is null where two patterns contradict each other, so
        that nothing separates (±1 inputs at small n may do so).
    separates : whether every margin is positive. The paper's algorithm stops when none is
        *negative*: its support may leave patterns on the boundary.
    iterations : iterations of the search.
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
    """How many of `draws` random problems are linearly separable: `patterns` in `m` variables.

    All m variables are used. In general position the probability is Cover's D(P, M)/2^P for P
    patterns in M variables; for ±1 inputs of few variables, not in general position, it is smaller.
    `inputs` are "binary" (±1) or "sphere". `trial` is not used, but it makes another task, with
    another seed.
    """
    # The parameters have the names that tasks are stored with; here clearer ones.
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
        # Labels would change nothing, as both signs of every entry are equally likely. Nor would
        # the lengths of patterns: Gaussian ones separate as often as those on the sphere.
        problems = generator.standard_normal((n_problems, n_variables, n_patterns))
        if inputs == ShareInputs.BINARY:
            problems = np.sign(problems)
        hits += _count_separable(problems)
    return {"hits": hits}


def _count_separable(problems: NDArray[np.float64]) -> int:
    """How many random problems are linearly separable with all their variables.

    `problems` is (problems, variables, patterns), each pattern times its label: a problem separates
    if some weights give all its patterns a positive sum.
    """
    n_problems, n_variables, n_patterns = problems.shape
    # One workspace holds them all, the columns of one problem after those of another.
    columns = problems.reshape(n_problems * n_variables, n_patterns)
    hinge = make_hinge(columns, n_variables, ridge=SAMPLING_RIDGE)
    n_separable = 0
    for problem in range(n_problems):
        first = problem * n_variables
        support = np.arange(first, first + n_variables)
        if support_separates(hinge, support):
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
    """Monte Carlo counts of separating supports on one problem, a curve over loads up to α.

    Z_p is the number of supports of M = ρN variables that separate the first p patterns. It is
    estimated for p = 2M, 2M + `rung`, … up to αN. Every p has a random walk over its supports; each
    of the `sweeps` of Monte Carlo takes `steps` steps of every walk.

    Returns
    -------
    m : M.
    first : the first p, 2M.
    log_counts, errors : lists of ln Z_p and of their standard errors, one entry for each p. They
        end early where no support was found to go on with, and are empty if p = 2M has none.
    """
    n_patterns = whole(alpha * n, "alpha·n")
    m = whole(rho * n, "rho·n")
    X, y = draw_problem(n, n_patterns, inputs=inputs, trial=trial)
    curve = sample_counts(X, y, m, sweeps=sweeps, steps=steps, spacing=rung, seed=seed)
    return {
        "m": m,
        "first": 2 * m,
        # Plain numbers, null for NaN.
        "log_counts": plain(curve.log_counts.round(LOG_DECIMALS)),
        "errors": plain(curve.errors.round(LOG_DECIMALS)),
    }


def draw_classes(n: int, alpha: float, balance: float, trial: int) -> LabelledPatterns:
    """Gaussian X, (samples, n), of αn samples, and labels ±1, round(balance · samples) positive."""
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
