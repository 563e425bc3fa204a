"""Which labellings were as likely as the observed one if labels had nothing to do with features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.chance.counts import LOG2, log_binomial
from chanceline.errors import InputError


class Sizes(Protocol):
    """What the bound sees of a null hypothesis."""

    @property
    def n_units(self) -> int: ...
    @property
    def positives(self) -> int: ...
    @property
    def blocks(self) -> tuple[tuple[int, int], ...] | None: ...
    @property
    def null(self) -> str: ...


@dataclass(frozen=True)
class Larger:
    """The sizes of a table that is yet to be measured."""

    n_units: int
    positives: int
    blocks: tuple[tuple[int, int], ...] | None
    null: str


@dataclass(frozen=True, eq=False)
class LabelScheme:
    """The null hypothesis: labels of *units* (samples, or groups that share a label) exchangeable within
    blocks.

    The bound sees units only. A rule that classifies every sample classifies one representative of each
    group, so the labellings of the groups that some rule realises are at most those of as many single
    points; errors on representatives are at most the errors on samples.
    """

    y: NDArray[np.float64]
    unit_of: NDArray[np.int64]
    unit_labels: NDArray[np.float64]
    block_of: NDArray[np.int64]
    null: str

    @property
    def n_units(self) -> int:
        return len(self.unit_labels)

    @property
    def positives(self) -> int:
        return int(np.sum(self.unit_labels > 0))

    @property
    def blocks(self) -> tuple[tuple[int, int], ...] | None:
        """(size, positives) of every block; None if there is one block only."""
        if self.block_of.max() == 0:
            return None
        sizes = np.bincount(self.block_of)
        positives = np.bincount(self.block_of, weights=(self.unit_labels > 0).astype(float)).astype(int)
        return tuple(zip(sizes.tolist(), positives.tolist(), strict=True))

    @property
    def log_labellings(self) -> float:
        """ln of the number of equally likely labellings."""
        if self.null == "coin":
            return self.n_units * LOG2
        pairs = self.blocks or ((self.n_units, self.positives),)
        return float(sum(float(log_binomial(size, number)) for size, number in pairs))

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A labelling from the null."""
        if self.null == "coin":
            return rng.choice([-1.0, 1.0], size=self.n_units)[self.unit_of]
        # Sorting random keys within blocks permutes each block uniformly.
        order = np.lexsort((rng.random(self.n_units), self.block_of))
        shuffled = np.empty(self.n_units)
        shuffled[self._places] = self.unit_labels[order]
        return shuffled[self.unit_of]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Units in the order of their blocks."""
        return np.argsort(self.block_of, kind="stable")


def make_scheme(
    y: NDArray[np.float64],
    null: str = "fixed",
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> LabelScheme:
    """Check blocks and groups against the labels ±1."""
    if null not in ("fixed", "coin"):
        raise InputError(f"the null must be 'fixed' (class sizes kept) or 'coin' (fair coin), not {null!r}.")
    if null == "coin" and blocks is not None:
        raise InputError("blocks restrict permutations and need the null with fixed class sizes.")
    n_samples = len(y)
    unit_of = np.arange(n_samples) if groups is None else _codes(groups, n_samples, "groups")
    first = np.unique(unit_of, return_index=True)[1]
    unit_labels = y[first]
    if not np.array_equal(unit_labels[unit_of], y):
        row = int(np.flatnonzero(unit_labels[unit_of] != y)[0])
        raise InputError(
            f"a group must have one label, but row {row + 1} differs from its group; groups with both labels "
            "belong in blocks instead."
        )
    block_of = np.zeros(len(first), dtype=np.int64)
    if blocks is not None:
        sample_block = _codes(blocks, n_samples, "blocks")
        block_of = sample_block[first]
        if not np.array_equal(block_of[unit_of], sample_block):
            raise InputError("every group must lie within one block.")
    scheme = LabelScheme(y, unit_of, unit_labels, block_of, null)
    if scheme.log_labellings == 0:
        raise InputError("every block holds one class only, so that no label can be exchanged; use larger blocks.")
    return scheme


def _codes(values: ArrayLike, n_samples: int, role: str) -> NDArray[np.int64]:
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError:
        raise InputError(f"{role} must hold one value for each of the {n_samples} samples.") from None
    if array.shape != (n_samples,):
        raise InputError(f"{role} must hold one value for each of the {n_samples} samples, but have shape {array.shape}.")
    if array.dtype.kind == "O":
        array = array.astype(str)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)
