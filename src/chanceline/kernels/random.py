"""Random numbers inside kernels: a generator whose state is an array of one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import LEAF, kernel


def random_state(seed: int) -> NDArray[np.uint64]:
    """Make the state of a generator, an array of shape (1,), from a seed."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64).astype(np.uint64)


@kernel(**LEAF)
def next_random(state: NDArray) -> float:
    """Draw a number uniform on [0, 1) by the splitmix64 generator, and advance its state.

    `state`, (1,) of unsigned 64-bit integers, is a counter that grows by a constant at every call;
    its bits are then mixed. The numbers are the same on every platform. The constants are those of
    Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))

    # A double holds 53 bits exactly: take the upper 53 and divide by 2⁵³.
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
