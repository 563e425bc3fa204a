"""Random problems: patterns and labels without any structure, the paper's ensemble and two others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline._validation import real_number, whole_number
from chanceline.errors import InputError

INPUTS = ("binary", "gaussian", "sphere")
MOST_NUMBERS = 2 * 10**8  # 1.6 GB


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
    n = whole_number(n, "The number of variables", at_least=1)
    if (alpha is None) == (n_patterns is None):
        raise InputError("Give the number of patterns either as alpha (per variable) or as n_patterns, not both.")
    wanted = real_number(alpha, "alpha") * n if alpha is not None else whole_number(n_patterns, "The number of patterns")
    if not 0.5 < wanted <= MOST_NUMBERS / n:
        most = f"and at most {MOST_NUMBERS:,} numbers in all"
        raise InputError(f"There must be at least one pattern {most}, but alpha·n gives {wanted:.3g} patterns of {n} variables.")
    patterns = round(wanted)
    if inputs not in INPUTS:
        raise InputError(f"There are no {inputs!r} inputs; choose one of {', '.join(INPUTS)}.")
    generator = np.random.Generator(np.random.PCG64(whole_number(seed, "The seed")))
    y = np.where(generator.integers(0, 2, patterns) == 1, 1.0, -1.0)
    if inputs == "binary":
        return np.where(generator.integers(0, 2, (patterns, n)) == 1, 1.0, -1.0), y
    X = generator.standard_normal((patterns, n))
    if inputs == "sphere":
        X *= np.sqrt(n) / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y
