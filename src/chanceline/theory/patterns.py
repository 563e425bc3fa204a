"""What is asked of the patterns: their share of positives, the margin wanted, the share of errors allowed."""

from __future__ import annotations

from dataclasses import dataclass

from chanceline.errors import InputError
from chanceline.theory.inputs import check_number

LARGEST_MARGIN = 10.0


@dataclass(frozen=True)
class Patterns:
    """Random patterns as a perceptron with threshold has to classify them.

    Attributes
    ----------
    balance : share f of positive patterns. Unless f = ½, where symmetry sets it to zero, the rule has a free threshold.
    margin : y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    errors : share ε of patterns that may be wrong.
    """

    balance: float = 0.5
    margin: float = 0.0
    errors: float = 0.0

    @classmethod
    def checked(cls, balance: float, margin: float, errors: float) -> Patterns:
        """The same with every number checked, or InputError."""
        balance, margin, errors = (
            check_number(name, value) for name, value in (("balance", balance), ("margin", margin), ("errors", errors))
        )
        if not 0 < balance < 1:
            raise InputError(f"balance must lie strictly between 0 and 1 (it is the share of positives), but is {balance!r}")
        if not 0 <= margin <= LARGEST_MARGIN:
            raise InputError(f"margin must lie between 0 and {LARGEST_MARGIN:g} (in units of |w|), but is {margin!r}")
        if not 0 <= errors < 0.5:
            raise InputError(f"errors must lie between 0 and ½ (it is the share of patterns allowed wrong), but is {errors!r}")
        rarer = min(balance, 1 - balance)
        if errors >= rarer:
            raise InputError(
                f"errors must be smaller than the rarer class, {rarer:g}, but is {errors!r}: a constant rule makes no more errors"
            )
        return cls(balance, margin, errors)

    @property
    def plain(self) -> bool:
        """Whether these are the paper's patterns: equal classes, no margin, no errors."""
        return self == Patterns()

    @property
    def free_threshold(self) -> bool:
        return self.balance != 0.5

    @property
    def classes(self) -> tuple[tuple[float, float], ...]:
        """(share, sign σ) of each class: it is violated by v = −y w·x + θ > 0, θ/√ρ = margin + σ·threshold."""
        if not self.free_threshold:
            return ((1.0, 0.0),)
        return ((self.balance, -1.0), (1 - self.balance, 1.0))

    def describe(self) -> str:
        """What differs from the paper's patterns, for a sentence; empty if nothing does."""
        parts = []
        if self.balance != 0.5:
            parts.append(f"balance {self.balance:g}")
        if self.margin:
            parts.append(f"margin {self.margin:g}")
        if self.errors:
            parts.append(f"errors {self.errors:g}")
        return ", ".join(parts)


PLAIN = Patterns()
