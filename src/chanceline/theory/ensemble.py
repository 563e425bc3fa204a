"""The ensemble of random patterns: share of positives, margin, errors allowed, signs.

Everything that a result of the theory has to say about its ensemble is here too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from chanceline._results import Result
from chanceline.errors import InputError, real_number, shown
from chanceline.theory.dual import Numbers, sqrt

# Larger margins leave almost no load, and the quadrature is not made for them.
LARGEST_MARGIN = 10.0
# Share of positive patterns where both classes are equal.
EQUAL_CLASSES = 0.5
# The square of a smaller share of variables comes near to what underflows to 0.
SMALLEST_RHO = 1e-100

ERRORS_ARE_APPROXIMATE = (
    "errors make the set of weights non-convex: "
    "replica symmetry within a support is an approximation"
)
# A number is shown with decimals down to its error, but with this many at most: all of them if the
# error is smaller than this.
_MOST_DECIMALS = 10
_SMALLEST_ERROR_SHOWN = 1e-9


class Signs(StrEnum):
    """Whether the sign of each input's weight is the rule's to choose."""

    FREE = "free"
    GIVEN = "given"


class PatternClass(NamedTuple):
    """One class of patterns x, of label y.

    The weights w violate a pattern of it by v = −y w·x + θ > 0, where θ/√ρ = margin + σ·threshold;
    ρ is the density, and |w| = √ρ, with |w|² counted per variable.
    """

    share: float  # f_c, of all patterns
    sign: float  # σ_c, −1 for positive patterns, 1 for negative ones, 0 without threshold


class OffsetClass(NamedTuple):
    """A class with its offset θ_c = √ρ(margin + σ_c b), b the threshold in units of |w| = √ρ."""

    share: float  # f_c
    sign: float  # σ_c
    offset: Numbers  # θ_c, a Dual if ρ or b is one


@dataclass(frozen=True)
class Ensemble:
    """Random patterns as a perceptron with threshold has to classify them.

    Attributes
    ----------
    balance : share f of positive patterns. Unless f = ½, where symmetry sets it to zero, the rule
        has a free threshold.
    margin : y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    error_rate : share ε of patterns that may be wrong.
    signs : "free", or "given": the sign of each input's weight is not the rule's to choose (inputs
        of mean 0).
    """

    balance: float = EQUAL_CLASSES
    margin: float = 0.0
    error_rate: float = 0.0
    signs: str = "free"

    @classmethod
    def checked(cls, balance: float, margin: float, errors: float, signs: str = "free") -> Ensemble:
        """Return an ensemble after checking its values; raise InputError for a wrong value.

        `errors` is the share of patterns that may be wrong, and becomes the field `error_rate`.
        """
        balance = real_number(balance, "balance, the share of positives,", above=0, below=1)

        margin = real_number(margin, "margin")
        error_rate = real_number(errors, "errors")
        if not 0 <= margin <= LARGEST_MARGIN:
            raise InputError(
                f"margin must lie between 0 and {LARGEST_MARGIN:g} (in units of |w|), "
                f"but is {margin!r}"
            )
        _check_below_rarer_class(error_rate, balance)

        if signs not in list(Signs):
            raise InputError(f"signs must be 'free' or 'given', but is {shown(signs)}")
        if signs == Signs.GIVEN and error_rate:
            raise InputError(
                "weights of given sign are solved for errors = 0 only; leave errors or signs out"
            )
        return cls(balance=balance, margin=margin, error_rate=error_rate, signs=signs)

    @property
    def signed(self) -> bool:
        """Whether the sign of each weight is given."""
        return self.signs == Signs.GIVEN

    @property
    def saturation_density(self) -> float:
        """The density from which on a good choice of inputs reaches the load of all of them.

        The density is the share of inputs chosen. It is 1 with free signs. With given signs it is
        ½: half of all weights are zero at the capacity of all inputs, so that the other half
        suffice.
        """
        if self.signed:
            return 0.5
        return 1.0

    @property
    def plain(self) -> bool:
        """Whether this is the paper's ensemble: equal classes, no margin, no errors, free signs."""
        return self == Ensemble()

    @property
    def free_threshold(self) -> bool:
        """Whether the rule has a threshold to choose: unless the classes are equal."""
        return self.balance != EQUAL_CLASSES

    @property
    def classes(self) -> tuple[PatternClass, ...]:
        """Share and sign of each class of patterns.

        The sign says how a positive threshold b moves a violation: it lowers those of positive
        patterns, sign −1, and raises those of negative ones, sign 1. Equal classes have no
        threshold; there one class of sign 0 stands for both.
        """
        if not self.free_threshold:
            return (PatternClass(share=1.0, sign=0.0),)
        return (
            PatternClass(share=self.balance, sign=-1.0),
            PatternClass(share=1 - self.balance, sign=1.0),
        )

    def offsets(self, rho: Numbers, threshold: Numbers) -> list[OffsetClass]:
        """Share, sign and offset θ_c = √ρ(margin + σ_c b) of each class, of sign σ_c.

        θ_c is what margin and threshold add to the violation of a pattern; the threshold b is in
        units of the length |w| = √ρ of the weights.
        """
        classes = []
        for share, sign in self.classes:
            offset = sqrt(rho) * (self.margin + sign * threshold)
            classes.append(OffsetClass(share, sign, offset))
        return classes

    def label(self, prefix: str) -> str:
        """Return `prefix`, followed by all settings that differ from the defaults.

        An example is "ρ = 0.1, balance 0.3, margin 0.5" with the prefix "ρ = 0.1".
        """
        parts = [prefix]
        if self.free_threshold:  # the classes are not equal
            parts.append(f"balance {self.balance:g}")
        if self.margin != 0.0:
            parts.append(f"margin {self.margin:g}")
        if self.error_rate != 0.0:
            parts.append(f"errors {self.error_rate:g}")
        if self.signed:
            parts.append("signs given")
        return ", ".join(parts)


PLAIN = Ensemble()


def _check_below_rarer_class(error_rate: float, balance: float) -> None:
    """Raise InputError unless a share of errors is at least 0 and smaller than the rarer class.

    A constant rule, which calls all patterns the same, errs on the rarer class only.
    """
    rarer_class = min(balance, 1 - balance)
    if not 0 <= error_rate < rarer_class:
        raise InputError(
            "errors (the share of patterns allowed wrong) must be at least 0 and smaller than "
            f"the rarer class, {rarer_class:g}, but is {error_rate!r}: "
            "a constant rule makes no more errors"
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class EnsembleResult(Result):
    """A result for one ensemble; `threshold` is b/|w|, for the rule w·x + b > 0."""

    ensemble: Ensemble = PLAIN
    threshold: float = 0.0

    # The numbers of the ensemble and the threshold stand behind those of the result.
    _hidden = ("ensemble", "threshold")
    _derived: ClassVar[tuple[str, ...]] = ("balance", "margin", "errors", "signs", "threshold")

    @property
    def balance(self) -> float:
        return self.ensemble.balance

    @property
    def margin(self) -> float:
        return self.ensemble.margin

    @property
    def errors(self) -> float:
        return self.ensemble.error_rate

    @property
    def signs(self) -> str:
        return self.ensemble.signs


def with_error(value: float, error: float) -> str:
    """A number and its error, as in "0.123 ± 1.2e-02".

    The number has decimals down to the second digit of its error, but ten at most.
    """
    decimals = _MOST_DECIMALS
    if error >= _SMALLEST_ERROR_SHOWN:
        exponent = math.floor(math.log10(error))  # the first digit of the error stands at 10^this
        decimals = max(0, 1 - exponent)
    return f"{value:.{decimals}f} ± {error:.1e}"


def check_rho(rho: float) -> float:
    """ρ as a float strictly between 0 and 1, whose square a float can hold, or InputError."""
    share = real_number(rho, "rho, the share of variables kept,", above=0, below=1)
    if share < SMALLEST_RHO:
        raise InputError(f"rho = {share:g} is too close to 0 to resolve; choose a larger rho.")
    return share


def check_alpha(alpha: float) -> float:
    """α as a positive float, or InputError."""
    return real_number(alpha, "alpha, the number of patterns per variable,", above=0)
