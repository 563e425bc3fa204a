"""Kinds of task for noise with unequal classes and a threshold: smallest support, fewest errors at a given size, exact count.

Inputs are Gaussian and a share `balance` of the labels, rounded to a whole number, is positive; as in `kinds`, the problem
depends on size, load, balance and trial alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.experiments.kinds import whole
from chanceline.experiments.tasks import derive_seed
from chanceline.select.api import search
from chanceline.select.exact import count as count_supports
from chanceline.select.front import front


def draw_classes(n: int, alpha: float, balance: float, trial: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gaussian patterns X (P × N), P = αN, and labels ±1, round(balance·P) of them positive."""
    samples = whole(alpha * n, "alpha·n")
    positives = round(balance * samples)
    if not 0 < positives < samples:
        raise InputError(f"balance = {balance:g} leaves one class among {samples} samples; choose one nearer to ½")
    rng = np.random.default_rng(derive_seed("classes", n, samples, positives, trial))
    labels = np.repeat([1.0, -1.0], [positives, samples - positives])
    return rng.standard_normal((samples, n)), rng.permutation(labels)


def smallest(seed: int, *, n: int, alpha: float, balance: float, budget: int | None = None, trial: int = 0) -> dict[str, Any]:
    """The smallest support that search finds for a rule with threshold."""
    X, y = draw_classes(n, alpha, balance, trial)
    outcome = search(X, y, intercept=True, budget=budget, seed=seed)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return {"n_patterns": len(y), "positives": int((y > 0).sum()), "n_selected": int(outcome.n_selected)}


def fewest_errors(seed: int, *, n: int, alpha: float, balance: float, largest: int, trial: int = 0) -> dict[str, Any]:
    """The fewest errors found with 1, …, `largest` variables and a threshold."""
    X, y = draw_classes(n, alpha, balance, trial)
    found = front(X, y, max_features=largest, seed=seed)
    if found.interrupted:
        raise KeyboardInterrupt
    return {"n_patterns": len(y), "positives": int((y > 0).sum()), "errors": [point.errors for point in found.points if point.k]}


def count(seed: int, *, n: int, alpha: float, balance: float, selected: int, trial: int = 0) -> dict[str, Any]:
    """The exact number of supports of `selected` variables that separate with a threshold (the seed has no part in it)."""
    X, y = draw_classes(n, alpha, balance, trial)
    return {"positives": int((y > 0).sum()), "count": count_supports(X, y, selected, intercept=True).count}
