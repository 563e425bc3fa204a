"""Random problems: patterns and labels without any structure, the paper's ensemble and two others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError

INPUTS = ("binary", "gaussian", "sphere")


def random_problem(
    n: int,
    alpha: float | None = None,
    seed: int = 0,
    inputs: str = "binary",
    *,
    n_patterns: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Patterns X (P × N) and labels y = ±1 by fair coin, P = `n_patterns` or round(αN).

    Parameters
    ----------
    inputs : "binary" (entries ±1), "gaussian" (standard normal) or "sphere" (rows uniform on the sphere of radius √N).
    """
    if n < 1:
        raise InputError(f"The number of variables must be at least 1, but is {n}.")
    if (alpha is None) == (n_patterns is None):
        raise InputError("Give the number of patterns either as alpha (per variable) or as n_patterns, not both.")
    patterns = round(alpha * n) if alpha is not None else int(n_patterns or 0)
    if patterns < 1:
        raise InputError(f"There must be at least one pattern, but alpha·n gives {patterns}.")
    if inputs not in INPUTS:
        raise InputError(f"There are no {inputs!r} inputs; choose one of {', '.join(INPUTS)}.")
    generator = np.random.Generator(np.random.PCG64(seed))
    y = np.where(generator.integers(0, 2, patterns) == 1, 1.0, -1.0)
    if inputs == "binary":
        return np.where(generator.integers(0, 2, (patterns, n)) == 1, 1.0, -1.0), y
    X = generator.standard_normal((patterns, n))
    if inputs == "sphere":
        X *= np.sqrt(n) / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y
