"""Patterns of ±1 for a network to store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError, real_number, whole_number

Patterns = NDArray[np.int8]  # (patterns, neurons), every entry +1 or −1


def random_patterns(
    n_neurons: int, load: float | None = None, seed: int = 0, *, n_patterns: int | None = None
) -> Patterns:
    """Draw patterns of fair coins ±1, shape (n_patterns, n_neurons).

    Their number is `n_patterns` or round(load · (n_neurons − 1)): exactly one of the two arguments
    must be given. With the same seed a larger set of patterns begins with the smaller set.
    """
    if (load is None) == (n_patterns is None):
        raise InputError("Give the number of patterns either as load or as n_patterns, not both.")
    n_neurons = whole_number(n_neurons, "The number of neurons", at_least=1)
    seed = whole_number(seed, "The seed")
    if n_patterns is None:
        n_patterns = round(real_number(load, "The load") * (n_neurons - 1))
    n_patterns = whole_number(n_patterns, "The number of patterns", at_least=1)

    coins = np.random.default_rng(seed).integers(0, 2, (n_patterns, n_neurons))
    return (2 * coins - 1).astype(np.int8)
