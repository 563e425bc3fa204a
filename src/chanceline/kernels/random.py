"""Random numbers inside kernels: a generator whose state is an array of one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import LEAF, kernel


def random_state(seed: int) -> NDArray[np.uint64]:
    """The state of a generator, of shape (1,), from a seed."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64).astype(np.uint64)


@kernel(**LEAF)
def next_random(state: NDArray) -> float:
    """Uniform on [0, 1) from a splitmix64 counter: the same on every platform and version.

    The constants are those of Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators" (2014).
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))

    # The upper 53 bits fill the mantissa of a double.
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
