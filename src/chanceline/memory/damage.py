"""What a memory still holds when couplings are cut after learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.memory.choices import CutOrder, choice_from
from chanceline.memory.network import AssociativeMemory


@dataclass(frozen=True, eq=False, repr=False)
class Cutting(Result):
    """Storage after a share of each neuron's couplings was cut, without further learning.

    Attributes
    ----------
    how : which couplings were cut first.
    shares : of couplings cut; the arrays below have one entry for each.
    bits : share of (neuron, pattern) pairs whose local field still has the right sign.
    patterns : share of patterns that still are fixed points.
    overlaps : mean overlap after recall from the patterns themselves.
    """

    how: str
    shares: NDArray[np.float64]
    bits: NDArray[np.float64]
    patterns: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    kind = "exact for this network"

    def summary(self) -> str:
        parts = [
            f"{bits:.3f} after {share:.0%}"
            for share, bits in zip(self.shares, self.bits, strict=True)
        ]
        return f"share of bits held when {self.how} couplings are cut: {', '.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "cut": str(self.how),
            "share": self.shares,
            "bits_held": self.bits,
            "patterns_held": self.patterns,
            "overlap": self.overlaps,
        }


def cutting(
    memory: AssociativeMemory,
    patterns: ArrayLike,
    shares: Sequence[float],
    how: str = "random",
    seed: int = 0,
) -> Cutting:
    """What a memory still holds of its patterns after a share of its couplings is cut.

    Each of the `shares` is cut from the whole memory, in the order `how` ("random" or "weakest"
    first). Three things are measured: how many bits are held, which means that the field on the
    neuron has the bit's sign; how many patterns are held with all their bits; and the overlap of
    each pattern with what is recalled from it.
    """
    cut_order = choice_from(how, CutOrder, "cut")
    stored = memory.checked(patterns)
    shares_of_bits = []
    shares_of_patterns = []
    mean_overlaps = []
    for share in shares:
        damaged = cut_couplings(memory, share, how=cut_order, seed=seed)
        is_held = damaged.fields(stored) * stored > 0  # (patterns, neurons)
        recalled = damaged.recall(stored)
        shares_of_bits.append(is_held.mean())
        shares_of_patterns.append(is_held.all(axis=1).mean())
        mean_overlaps.append((recalled * stored).mean())
    return Cutting(
        how=cut_order,
        shares=np.array(shares, dtype=float),
        bits=np.array(shares_of_bits, dtype=float),
        patterns=np.array(shares_of_patterns, dtype=float),
        overlaps=np.array(mean_overlaps, dtype=float),
    )


def cut_couplings(
    memory: AssociativeMemory, share: float, how: str = "random", seed: int = 0
) -> AssociativeMemory:
    """The memory without a share of its couplings: round(share · fan-in) of every neuron are cut.

    If `how` is "random", these are drawn with the seed; if it is "weakest", those of smallest
    |w_ij| are cut.
    """
    cut_order = choice_from(how, CutOrder, "cut")
    if not 0 <= share <= 1:
        raise InputError(f"The share of cut couplings must be between 0 and 1, but is {share}.")

    couplings = memory.couplings
    generator = np.random.default_rng(seed)
    weights = couplings.data.copy()
    # Row i of the sparse matrix, the weights of neuron i, is at indptr[i] … indptr[i + 1] − 1.
    for begin, end in zip(couplings.indptr[:-1], couplings.indptr[1:], strict=True):
        fan_in = end - begin
        if cut_order is CutOrder.RANDOM:
            first_to_cut = generator.permutation(fan_in)
        else:
            first_to_cut = np.argsort(np.abs(weights[begin:end]))
        n_cut = round(share * fan_in)
        weights[begin + first_to_cut[:n_cut]] = 0.0

    indices = couplings.indices.copy()
    row_starts = couplings.indptr.copy()
    remaining = csr_array((weights, indices, row_starts), shape=couplings.shape)
    remaining.eliminate_zeros()  # what was cut is no longer a coupling
    return memory.with_couplings(remaining)
