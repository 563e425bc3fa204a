"""From how far a memory recalls: probes with flipped bits, and what the dynamics makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result
from chanceline.errors import InputError, whole_number
from chanceline.memory.network import AssociativeMemory
from chanceline.memory.patterns import Patterns


@dataclass(frozen=True, eq=False, repr=False)
class Retrieval(Result):
    """Recall from noisy probes, by Monte Carlo; every array has one entry for each noise.

    Attributes
    ----------
    noises : share of flipped bits in the probes.
    overlaps : mean overlap m = Σ_i ξ_i s_i / n of the recalled state with the pattern.
    errors : one standard error of the overlaps; nan with a single probe.
    recalled : share of the probes that came back exactly.
    probes : number of probes at each noise.
    """

    noises: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    errors: NDArray[np.float64]
    recalled: NDArray[np.float64]
    probes: int
    kind = "Monte Carlo"

    def summary(self) -> str:
        parts = [
            f"{overlap:.3f} at {noise:.0%} noise"
            for noise, overlap in zip(self.noises, self.overlaps, strict=True)
        ]
        return "overlap after recall " + ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "noise": self.noises,
            "overlap": self.overlaps,
            "standard_error": self.errors,
            "recalled_exactly": self.recalled,
            "probes": self.probes,
            "kind": self.kind,
        }


def retrieval(  # noqa: PLR0913
    memory: AssociativeMemory,
    patterns: ArrayLike,
    noises: Sequence[float],
    *,
    probes: int = 200,
    steps: int = 50,
    order: str = "parallel",
    seed: int = 0,
) -> Retrieval:
    """Flip a share of the bits of stored patterns, recall, and compare with the original patterns.

    For each of the `noises` (shares of bits), `probes` patterns are drawn with repetition, and
    exactly this share of their bits is flipped, at random places. The overlap of a recalled state
    with its original is the mean of their products, 1 where all bits agree. `steps` and `order` are
    those of `AssociativeMemory.recall`.
    """
    probes = whole_number(probes, "probes", at_least=1)
    stored = memory.checked(patterns)
    for noise in noises:
        if not 0 <= noise <= 1:
            raise InputError(
                f"The noise is the share of flipped bits, between 0 and 1, but is {noise}."
            )

    generator = np.random.default_rng(seed)
    overlaps = np.empty((len(noises), probes))
    for row, noise in enumerate(noises):
        drawn = generator.integers(0, stored.shape[0], probes)
        originals = stored[drawn]  # (probes, neurons)
        noisy = add_noise(originals, noise, generator)
        recalled = memory.recall(noisy, steps, order)
        overlaps[row] = (originals * recalled).mean(axis=1)

    # Standard errors of the mean overlaps; NaN, for unknown, from a single probe.
    standard_errors = np.full(len(noises), np.nan)
    if probes > 1:
        standard_errors = overlaps.std(axis=1, ddof=1) / np.sqrt(probes)
    return Retrieval(
        noises=np.array(noises, dtype=float),
        overlaps=overlaps.mean(axis=1),
        errors=standard_errors,
        recalled=(overlaps == 1).mean(axis=1),  # a mean of ±1 is exactly 1 where all are +1
        probes=probes,
    )


def add_noise(patterns: ArrayLike, noise: float, generator: np.random.Generator) -> Patterns:
    """Patterns, (patterns, neurons), with round(noise · neurons) random bits of each flipped."""
    noisy = np.array(patterns, dtype=np.int8)
    n_flips = round(noise * noisy.shape[1])
    for row in noisy:
        places = generator.permutation(row.size)[:n_flips]
        row[places] *= -1
    return noisy
