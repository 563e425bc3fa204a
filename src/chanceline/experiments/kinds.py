"""The built-in kinds of task: smallest support, exact count, Monte Carlo count, each on a random problem.

The problem depends on size, load, inputs and trial alone, so that all methods meet the same problems. The last three have noise
with unequal classes and a threshold: inputs are Gaussian and a share `balance` of the labels, rounded, is positive.
"""

from __future__ import annotations

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

ENTRIES = 1_000_000  # numbers drawn at a time


def draw_problem(
    n: int, patterns: int, inputs: str, trial: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The random problem of a trial: patterns X (P × N) and labels y = ±1."""
    return random_problem(
        n,
        n_patterns=patterns,
        inputs=inputs,
        seed=derive_seed("problem", n, patterns, inputs, trial),
    )


def smallest(
    seed: int,
    *,
    n: int,
    alpha: float,
    inputs: str = "binary",
    method: str = "auto",
    budget: int | None = None,
    trial: int = 0,
) -> dict[str, Any]:
    """The smallest support that a search method finds.

    `separates` says whether every margin is positive. The paper's algorithm stops when none is *negative*, so its
    `n_selected` may belong to a support with ties, patterns on the boundary; `n_selected` is null where two patterns
    contradict each other and nothing can separate (it happens to ±1 inputs at small N).
    """
    patterns = round(alpha * n)
    X, y = draw_problem(n, patterns, inputs, trial)
    if contradicting_rows(X, y):
        return {"n_patterns": patterns, "n_selected": None, "separates": False, "iterations": 0}
    outcome = search(X, y, method=method, budget=budget, seed=seed)
    return {
        "n_patterns": patterns,
        "n_selected": int(outcome.n_selected),
        "separates": bool(outcome.separates),
        "iterations": int(outcome.iterations),
    }


def count(
    seed: int, *, n: int, rho: float, alpha: float, inputs: str = "binary", trial: int = 0
) -> dict[str, Any]:
    """The exact number of separating supports of M = ρN variables on one problem (the seed has no part in it)."""
    patterns, m = whole(alpha * n, "alpha·n"), whole(rho * n, "rho·n")
    X, y = draw_problem(n, patterns, inputs, trial)
    return {"m": m, "count": 0 if contradicting_rows(X, y) else count_supports(X, y, m).count}


def share(
    seed: int, *, m: int, patterns: int, inputs: str = "binary", draws: int = 20_000, trial: int = 0
) -> dict[str, Any]:
    """How many of `draws` random problems with as many variables as are selected, P × M, separate.

    In general position the probability is Cover's D(P, M)/2^P; ±1 inputs of few variables are not, and have less.
    """
    if inputs not in ("binary", "sphere"):
        raise InputError(f"there are no {inputs!r} inputs for shares; choose binary or sphere")
    rng = np.random.default_rng(seed)
    hits, together = 0, max(1, ENTRIES // (m * patterns))
    for start in range(0, draws, together):
        shape = (m * min(together, draws - start), patterns)
        # On the sphere a pattern's length does not matter for its sign, so Gaussian entries do.
        columns = rng.standard_normal(shape)
        hinge = make_hinge(
            np.sign(columns) if inputs == "binary" else columns, m, ridge=SAMPLING_RIDGE
        )
        hits += sum(
            support_separates(hinge, np.arange(first, first + m))
            for first in range(0, len(columns), m)
        )
    return {"hits": hits}


def log_count(
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
    """Monte Carlo ln Z_p for p = 2M, 2M + rung, … αN on one problem: a curve over the loads up to α.

    The curve ends early where no support was found to go on with; it is empty when not even p = 2M has any.
    """
    patterns, m = whole(alpha * n, "alpha·n"), whole(rho * n, "rho·n")
    X, y = draw_problem(n, patterns, inputs, trial)
    curve = sample_counts(X, y, m, sweeps=sweeps, steps=steps, rung=rung, seed=seed)
    return {
        "m": m,
        "first": 2 * m,
        # Six decimals are far below the noise.
        "log_counts": plain(curve.log_counts.round(6)),
        "errors": plain(curve.errors.round(6)),
    }


def draw_classes(
    n: int, alpha: float, balance: float, trial: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gaussian patterns X (P × N), P = αN, and labels ±1, round(balance·P) of them positive."""
    samples = whole(alpha * n, "alpha·n")
    positives = round(balance * samples)
    if not 0 < positives < samples:
        raise InputError(
            f"balance = {balance:g} leaves one class among {samples} samples; choose one nearer to ½"
        )
    rng = np.random.default_rng(derive_seed("classes", n, samples, positives, trial))
    labels = np.repeat([1.0, -1.0], [positives, samples - positives])
    return rng.standard_normal((samples, n)), rng.permutation(labels)


def smallest_classes(
    seed: int, *, n: int, alpha: float, balance: float, budget: int | None = None, trial: int = 0
) -> dict[str, Any]:
    """The smallest support that search finds for a rule with threshold."""
    X, y = draw_classes(n, alpha, balance, trial)
    outcome = search(X, y, intercept=True, budget=budget, seed=seed)
    return {
        "n_patterns": len(y),
        "positives": int((y > 0).sum()),
        "n_selected": int(outcome.n_selected),
    }


def fewest_errors(
    seed: int, *, n: int, alpha: float, balance: float, largest: int, trial: int = 0
) -> dict[str, Any]:
    """The fewest errors found with 1, …, `largest` variables and a threshold."""
    X, y = draw_classes(n, alpha, balance, trial)
    found = front(X, y, max_features=largest, seed=seed)
    return {
        "n_patterns": len(y),
        "positives": int((y > 0).sum()),
        "errors": [point.errors for point in found.points if point.k],
    }


def count_classes(
    seed: int, *, n: int, alpha: float, balance: float, selected: int, trial: int = 0
) -> dict[str, Any]:
    """The exact number of supports of `selected` variables that separate with a threshold (the seed has no part in it)."""
    X, y = draw_classes(n, alpha, balance, trial)
    return {
        "positives": int((y > 0).sum()),
        "count": count_supports(X, y, selected, intercept=True).count,
    }


def whole(value: float, what: str) -> int:
    """The whole number that a size times a fraction must be, for a fraction to mean the same at every size."""
    nearest = round(value)
    if abs(value - nearest) > 1e-9:
        raise InputError(f"{what} is {value:g}; choose sizes that make it a whole number")
    return nearest
