"""The ensemble of random patterns: the share of positives, the margin wanted and the error rate allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chanceline._results import Result
from chanceline._validation import real_number
from chanceline.errors import InputError

LARGEST_MARGIN = 10.0


@dataclass(frozen=True)
class Ensemble:
    """Random patterns as a perceptron with threshold has to classify them.

    Attributes
    ----------
    balance : share f of positive patterns. Unless f = ½, where symmetry sets it to zero, the rule has a free threshold.
    margin : y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    error_rate : share ε of patterns that may be wrong.
    """

    balance: float = 0.5
    margin: float = 0.0
    error_rate: float = 0.0

    @classmethod
    def checked(cls, balance: float, margin: float, errors: float) -> Ensemble:
        """The same with every number checked, or InputError."""
        given = {"balance": balance, "margin": margin, "errors": errors}
        balance, margin, errors = (real_number(value, name) for name, value in given.items())
        rarer = min(balance, 1 - balance)
        if not rarer > 0:
            raise InputError(f"balance must lie strictly between 0 and 1 (it is the share of positives), but is {balance!r}")
        if not 0 <= margin <= LARGEST_MARGIN:
            raise InputError(f"margin must lie between 0 and {LARGEST_MARGIN:g} (in units of |w|), but is {margin!r}")
        if not 0 <= errors < rarer:
            raise InputError(
                f"errors (the share of patterns allowed wrong) must be at least 0 and smaller than the rarer class, {rarer:g}, "
                f"but is {errors!r}: a constant rule makes no more errors"
            )
        return cls(balance, margin, errors)

    @property
    def plain(self) -> bool:
        """Whether this is the paper's ensemble: equal classes, no margin, no errors."""
        return self == Ensemble()

    @property
    def free_threshold(self) -> bool:
        return self.balance != 0.5

    @property
    def classes(self) -> tuple[tuple[float, float], ...]:
        """(share, sign σ) of each class: it is violated by v = −y w·x + θ > 0, θ/√ρ = margin + σ·threshold."""
        return ((self.balance, -1.0), (1 - self.balance, 1.0)) if self.free_threshold else ((1.0, 0.0),)

    def label(self, at: str) -> str:
        """`at`, followed by whatever differs from the paper's ensemble."""
        numbers = {"balance": (self.balance, 0.5), "margin": (self.margin, 0.0), "errors": (self.error_rate, 0.0)}
        return ", ".join([at, *(f"{name} {value:g}" for name, (value, plain) in numbers.items() if value != plain)])


PLAIN = Ensemble()


@dataclass(frozen=True, repr=False, kw_only=True)
class EnsembleResult(Result):
    """A result for one ensemble; `threshold` is b/|w|, for the rule w·x + b > 0."""

    ensemble: Ensemble = PLAIN
    threshold: float = 0.0

    _hidden = ("ensemble",)
    _derived: ClassVar[tuple[str, ...]] = ("balance", "margin", "errors")

    @property
    def balance(self) -> float:
        return self.ensemble.balance

    @property
    def margin(self) -> float:
        return self.ensemble.margin

    @property
    def errors(self) -> float:
        return self.ensemble.error_rate


def check_rho(rho: float) -> float:
    """ρ as a float strictly between 0 and 1, or InputError."""
    value = real_number(rho, "rho")
    if not 0 < value < 1:
        raise InputError(f"rho must lie strictly between 0 and 1 (it is the share of variables kept), but is {rho!r}")
    return value


def check_alpha(alpha: float) -> float:
    """α as a positive float, or InputError."""
    value = real_number(alpha, "alpha")
    if not value > 0:
        raise InputError(f"alpha must be positive (it is the number of patterns per variable), but is {alpha!r}")
    return value
