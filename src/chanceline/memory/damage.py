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

    Each of the `shares` is cut from the undamaged memory, in the order `how` ("random" or "weakest"
    first). Three numbers are measured after each cut: the share of bits that are held, where a bit
    is held if the field on its neuron has the bit's sign; the share of patterns of which all bits
    are held; and the mean overlap of the patterns with the states recalled from them, where the
    overlap of two states is the mean of their products.
    """
    cut_order = choice_from(how, CutOrder, "cut")
    stored = memory.checked(patterns)
    shares_of_bits = []
    shares_of_patterns = []
    mean_overlaps = []
    for share in shares:
        damaged = cut_couplings(memory, share, how=cut_order, seed=seed)
        is_held = damaged.fields(stored) * stored > 0  # (patterns, neurons)
        recalled = damaged.recall(stored)  # (patterns, neurons)
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
    """Return a copy of the memory in which every neuron has lost a share of its input couplings.

    A neuron of fan-in n (its number of inputs) loses round(share · n) couplings. If `how` is
    "random", they are drawn with the seed; if it is "weakest", those of smallest |w_ij| are cut.
    """
    cut_order = choice_from(how, CutOrder, "cut")
    if not 0 <= share <= 1:
        raise InputError(f"The share of cut couplings must be between 0 and 1, but is {share}.")

    couplings = memory.couplings
    generator = np.random.default_rng(seed)
    weights = couplings.data.copy()
    # In the CSR matrix the weights of neuron i are at the places indptr[i] … indptr[i + 1] − 1.
    begins = couplings.indptr[:-1]
    ends = couplings.indptr[1:]
    for begin, end in zip(begins, ends, strict=True):
        weights_of_neuron = weights[begin:end]  # a view: changes are made in `weights`
        fan_in = end - begin

        # The neuron's inputs, numbered from 0, in the order in which they are cut.
        if cut_order is CutOrder.RANDOM:
            inputs_in_order = generator.permutation(fan_in)
        else:
            inputs_in_order = np.argsort(np.abs(weights_of_neuron))
        n_cut = round(share * fan_in)
        inputs_to_cut = inputs_in_order[:n_cut]
        weights_of_neuron[inputs_to_cut] = 0.0

    indices = couplings.indices.copy()
    row_starts = couplings.indptr.copy()
    couplings_left = csr_array((weights, indices, row_starts), shape=couplings.shape)
    couplings_left.eliminate_zeros()  # a coupling that was cut is no longer stored
    return memory.with_couplings(couplings_left)
