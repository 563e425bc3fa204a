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
    """Draw random patterns X, shape (P, n), and labels y = ±1 by fair coin.

    Parameters
    ----------
    n : number of variables.
    alpha, n_patterns : exactly one of the two must be given: the number of patterns per variable,
        for P = round(alpha · n), or P itself.
    seed : seed of the random numbers.
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
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X *= np.sqrt(n) / lengths
    return X, y


def _number_of_patterns(n: int, alpha: float | None, n_patterns: int | None) -> int:
    """Return the number of patterns: `n_patterns`, or `alpha`, the patterns per variable, times n.

    Exactly one of the two must be given. A table of more than MAX_ENTRIES numbers is refused.
    """
    if (alpha is None) == (n_patterns is None):
        raise InputError(
            "Give the number of patterns either as alpha (per variable) or as n_patterns, not both."
        )
    unrounded_number: float  # of patterns
    if alpha is not None:
        unrounded_number = real_number(alpha, "alpha") * n
    else:
        unrounded_number = whole_number(n_patterns, "The number of patterns")
    # α·n need not be whole. Above 0.5 it is rounded to at least one pattern.
    if not 0.5 < unrounded_number <= MAX_ENTRIES / n:
        raise InputError(
            f"There must be at least one pattern and at most {MAX_ENTRIES:,} numbers in all, "
            f"but alpha·n gives {unrounded_number:.3g} patterns of {n} variables."
        )
    return round(unrounded_number)


def _fair_coins(
    generator: np.random.Generator, shape: int | tuple[int, int]
) -> NDArray[np.float64]:
    """Draw an array of ±1 with probability 1/2 each."""
    return np.where(generator.integers(0, 2, shape) == 1, 1.0, -1.0)
