"""The sizes of a null hypothesis: all that is needed of a design to count its labellings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from math import exp

from chanceline.chance.binomial import LOG2, log_binomial

COIN_NULL = "coin"  # every label is drawn by a fair coin
FIXED_NULL = "fixed"  # labels are permuted, so that class sizes are kept


@dataclass(frozen=True)
class NullSizes:
    """The numbers of units (samples, or groups that share a label) and of positive units.

    Attributes
    ----------
    n_units, positives : in all blocks together.
    blocks : (size, positives) of every block; None if there is one block.
    null : "fixed" (labels are permuted within blocks) or "coin" (drawn by fair coins).
    """

    n_units: int
    positives: int
    blocks: tuple[tuple[int, int], ...] | None
    null: str

    @property
    def every_block(self) -> tuple[tuple[int, int], ...]:
        """(size, positives) of every block, also if there is only one."""
        if self.blocks is None:
            return ((self.n_units, self.positives),)
        return self.blocks

    @property
    def log_labellings(self) -> float:
        """ln of the number of equally likely labellings."""
        if self.null == COIN_NULL:
            return self.n_units * LOG2
        return sum(float(log_binomial(size, positives)) for size, positives in self.every_block)

    @property
    def is_symmetric(self) -> bool:
        """Whether the opposite of every labelling is as likely as the labelling itself."""
        if self.null == COIN_NULL:
            return True
        return all(size == 2 * positives for size, positives in self.every_block)

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that the shuffles could give if all labellings were drawn.

        It is 1/(number of labellings): only the observed labelling does as well as itself. If the
        opposite labelling is as likely, it does as well too, and the p-value is twice that.
        """
        log_p = -self.log_labellings
        if self.is_symmetric:
            log_p += LOG2
        return min(1.0, exp(log_p))

    def resized(self, n_units_or_blocks: int) -> NullSizes:
        """The same kind of design with this number of blocks, or of units if it has no blocks."""
        if self.blocks is None:
            return self._with_units(n_units_or_blocks)
        return self._with_blocks(self.blocks, n_units_or_blocks)

    def _with_units(self, n_units: int) -> NullSizes:
        """`n_units` units in one block, with about the same balance of classes."""
        proportional = round(n_units * self.positives / self.n_units)
        # Both classes have at least one unit, if there are two units.
        most_positives = max(n_units - 1, 1)
        positives = min(max(proportional, 1), most_positives)
        return NullSizes(n_units=n_units, positives=positives, blocks=None, null=self.null)

    def _with_blocks(self, blocks: tuple[tuple[int, int], ...], n_blocks: int) -> NullSizes:
        """`n_blocks` blocks with the sizes of the given blocks, repeated in rotation."""
        rotated = tuple(islice(cycle(blocks), n_blocks))
        return NullSizes(
            n_units=sum(size for size, _ in rotated),
            positives=sum(positives for _, positives in rotated),
            blocks=rotated,
            null=self.null,
        )
