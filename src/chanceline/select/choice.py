"""Which variable to add and which to drop: the same for swaps on the squared hinge and on the trimmed one.

`state` is a `Hinge` or a `Trimmed`, whose support, weights, pulls and inverse Hessian have the same names. A variable is
tabu until the clock has reached its time. Noise of a fifth keeps the walk from going in circles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inner_kernel, kernel
from chanceline.perceptron.hinge import next_random
from chanceline.perceptron.linalg import NONE

NOISE = 0.2


@inner_kernel()
def most_correlated(state: Any, until: NDArray, clock: int, random: NDArray) -> int:
    """The non-tabu column with the largest pull |a_jᵀr| (1 + 0.2u), r the slack and u ~ U(−1, 1)."""
    best, largest = NONE, -1.0
    for j in range(state.position.size):
        if state.position[j] < 0 and until[j] <= clock:
            size = abs(state.pulls[j]) * (1.0 + NOISE * (2.0 * next_random(random) - 1.0))
            if size > largest:
                best, largest = j, size
    return best


@kernel()
def choose_removal(state: Any, until: NDArray, clock: int, random: NDArray) -> int:
    """Place of the non-tabu variable that costs least, w_i² / (2[H⁻¹]_ii) (1 + 0.2u)."""
    best, least = NONE, np.inf
    for i in range(state.kept, state.k[0]):
        if until[state.support[i]] <= clock:
            cost = state.weights[i] ** 2 / state.inverse[i, i] * (1.0 + NOISE * (2.0 * next_random(random) - 1.0))
            if cost < least:
                best, least = i, cost
    return best
