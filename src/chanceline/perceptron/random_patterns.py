"""Random patterns with random labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError, real_number, whole_number

INPUTS = ("binary", "gaussian", "sphere")
MAX_ENTRIES = 2 * 10**8  # 1.6 GB


def random_problem(
    n: int,
    alpha: float | None = None,
    seed: int = 0,
    inputs: str = "binary",
    *,
    n_patterns: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw patterns X, shape (P, n), and labels y = ±1 by fair coin; P = `n_patterns` or round(αn).

    Parameters
    ----------
    alpha, n_patterns : α or P; exactly one of them must be given.
    inputs : "binary" (entries ±1), "gaussian" (standard normal) or "sphere" (rows uniform on the
        sphere of radius √n).
    """
    n = whole_number(n, "The number of variables", at_least=1)
    n_rows = _number_of_patterns(n, alpha, n_patterns)
    if inputs not in INPUTS:
        raise InputError(f"There are no {inputs!r} inputs; choose one of {', '.join(INPUTS)}.")

    generator = np.random.Generator(np.random.PCG64(whole_number(seed, "The seed")))
    y = _fair_coins(generator, n_rows)
    if inputs == "binary":
        return _fair_coins(generator, (n_rows, n)), y
    X = generator.standard_normal((n_rows, n))
    if inputs == "sphere":
        X *= np.sqrt(n) / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def _number_of_patterns(n: int, alpha: float | None, n_patterns: int | None) -> int:
    """P from α or from itself, exactly one of which must be there; X must fit into memory."""
    if (alpha is None) == (n_patterns is None):
        raise InputError(
            "Give the number of patterns either as alpha (per variable) or as n_patterns, not both."
        )
    patterns: float
    if alpha is not None:
        patterns = real_number(alpha, "alpha") * n
    else:
        patterns = whole_number(n_patterns, "The number of patterns")
    # α·n need not be whole: it is rounded, from above 0.5 to at least one.
    if not 0.5 < patterns <= MAX_ENTRIES / n:
        raise InputError(
            f"There must be at least one pattern and at most {MAX_ENTRIES:,} numbers in all, "
            f"but alpha·n gives {patterns:.3g} patterns of {n} variables."
        )
    return round(patterns)


def _fair_coins(
    generator: np.random.Generator, shape: int | tuple[int, int]
) -> NDArray[np.float64]:
    """±1 with probability 1/2 each."""
    return np.where(generator.integers(0, 2, shape) == 1, 1.0, -1.0)
