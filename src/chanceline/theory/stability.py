"""Both stability conditions of the replica-symmetric solution, with a verdict.

* `within` a support (the paper's λλ̂, among the m replicas). Above 2ρ it equals α∫Dz p₊/ρ, which scale invariance sets to
exactly 1: marginal everywhere, violated nowhere. For a fixed support the feasible set of w is convex, so there is nothing to
break. A margin makes it smaller than 1. Errors make the set non-convex, and it is infinite: the violation that is mended
jumps at v*. * `between` supports (among the n replicas): α∫Dz [g''(√q₀ z)]² · ∫Dz [f''(√F₀ z)]² < 1. This one does break,
before Σ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

MARGINAL = 1e-9


@dataclass(frozen=True)
class Stability:
    """The two replicon products; each is stable below 1."""

    within: float
    between: float

    @property
    def verdict(self) -> str:
        """`stable`, or `unstable` when a symmetry is broken (without errors `within` is marginal at worst)."""
        return "stable" if self.between < 1 and self.within < 1 + MARGINAL else "unstable"

    @property
    def margin(self) -> float:
        """How far `between` is below 1 (negative when unstable)."""
        return 1 - self.between

    def __str__(self) -> str:
        words = [_word(value) for value in (self.within, self.between)]
        return f"within a support {self.within:.6f} ({words[0]}), between supports {self.between:.6f} ({words[1]})"


def _word(product: float) -> str:
    if abs(product - 1) <= MARGINAL:
        return "marginal"
    return "stable" if product < 1 else "unstable"
