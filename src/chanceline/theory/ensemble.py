"""The ensemble of random patterns (the share of positives, the margin wanted, the error rate allowed) and its closed forms.

Loads that are known in closed form, or as the root of one elementary function:

For every 0 < ρ < 1:  ρ = α_VC < 2ρ = α_CG < α_VS ≤ min(union bound, ℓ₀-Gardner) < 2.

Gardner's capacity of a perceptron with *all* its variables, for unequal classes, a margin and errors: with x = v/|w| ~ N(τ_c, 1)
for class c, τ_c = margin + σ_c·threshold, patterns with 0 < x < t* are moved to the margin, and those with x ≥ t* are errors:

    1/α_c = Σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x²,      ε = Σ_c f_c H(t* − τ_c),

stationary in the threshold, Σ_c σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x = 0. Without errors t* = ∞ (Gardner 1988), with them this is
Gardner and Derrida's formula (1988). A typical choice of ρN variables separates up to ρα_c; choosing the largest fields of
all N multiplies α_c by ρ + 2tφ(t), 2H(t) = ρ, instead: the ℓ₀-Gardner load.

With weights of given sign every typical load is half of that (Amit, Wong and Campbell 1989), with half of the weights at zero.
The largest fields of the right sign then multiply α_c by ρ + tφ(t), H(t) = ρ, up to ρ = ½: half of what 2ρ gives without signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcinv, gammainc, ndtr

from chanceline._results import Result
from chanceline.errors import InputError, real_number, shown

LARGEST_MARGIN = 10.0
SMALLEST_RHO = 1e-100  # its square is a float
_ROOT_2PI = math.sqrt(2 * math.pi)
# Beyond this threshold all patterns lie on one side.
_FARTHEST = 40.0


@dataclass(frozen=True)
class Ensemble:
    """Random patterns as a perceptron with threshold has to classify them.

    Attributes
    ----------
    balance : share f of positive patterns. Unless f = ½, where symmetry sets it to zero, the rule has a free threshold.
    margin : y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    error_rate : share ε of patterns that may be wrong.
    signs : "free", or "given": the sign of each input's weight is not the rule's to choose (inputs of mean 0).
    """

    balance: float = 0.5
    margin: float = 0.0
    error_rate: float = 0.0
    signs: str = "free"

    @classmethod
    def checked(cls, balance: float, margin: float, errors: float, signs: str = "free") -> Ensemble:
        """The same with every value checked, or InputError."""
        balance = real_number(balance, "balance, the share of positives,", above=0, below=1)
        margin, errors, rarer = real_number(margin, "margin"), real_number(errors, "errors"), min(balance, 1 - balance)
        if not 0 <= margin <= LARGEST_MARGIN:
            raise InputError(f"margin must lie between 0 and {LARGEST_MARGIN:g} (in units of |w|), but is {margin!r}")
        if not 0 <= errors < rarer:
            raise InputError(
                f"errors (the share of patterns allowed wrong) must be at least 0 and smaller than the rarer class, {rarer:g}, "
                f"but is {errors!r}: a constant rule makes no more errors"
            )
        if signs not in ("free", "given"):
            raise InputError(f"signs must be 'free' or 'given', but is {shown(signs)}")
        if signs == "given" and errors:
            raise InputError("weights of given sign are solved for errors = 0 only; leave errors or signs out")
        return cls(balance, margin, errors, signs)

    @property
    def signed(self) -> bool:
        return self.signs == "given"

    @property
    def widest(self) -> float:
        """The density from which on a good choice does as well as all inputs: ½ with given signs."""
        return 0.5 if self.signed else 1.0

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

    def offsets(self, rho: float, threshold: float) -> list[tuple[float, float, float]]:
        """(share, σ, θ) of each class."""
        return [(share, sign, math.sqrt(rho) * (self.margin + sign * threshold)) for share, sign in self.classes]

    def label(self, at: str) -> str:
        """`at`, followed by whatever differs from the paper's ensemble."""
        numbers = {"balance": (self.balance, 0.5), "margin": (self.margin, 0.0), "errors": (self.error_rate, 0.0)}
        differs = [f"{name} {value:g}" for name, (value, plain) in numbers.items() if value != plain]
        return ", ".join([at, *differs, *(["signs given"] if self.signed else [])])


PLAIN = Ensemble()


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


APPROXIMATE = "errors make the set of weights non-convex: replica symmetry within a support is an approximation"


def with_error(value: float, error: float) -> str:
    """A number with as many of its first ten decimals as its error leaves (and one more), and the error."""
    decimals = 10 if error < 1e-9 else max(0, 1 - math.floor(math.log10(error)))
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


# Closed forms.


def binary_entropy(rho: float) -> float:
    """H₂(ρ) = −ρ ln ρ − (1 − ρ) ln(1 − ρ)."""
    return float(-rho * np.log(rho) - (1 - rho) * np.log1p(-rho))


def first_moment_exponent(alpha: float, rho: float) -> float:
    """lim ln E[𝒩]/N = H₂(ρ) + ln P(a given support separates)/N.

    By Cover's count, P = 2^{1−P} Σ_{k<M} C(P−1, k): its exponent is α[H₂(ρ/α) − ln 2] for α > 2ρ and 0 below.
    """
    if alpha <= 2 * rho:
        return binary_entropy(rho)
    return binary_entropy(rho) + alpha * (binary_entropy(rho / alpha) - math.log(2))


def union_bound(rho: float) -> float:
    """The load where the first moment stops growing: a rigorous upper bound on the capacity (Markov)."""
    lower, upper = 2 * rho, 4 * rho
    while first_moment_exponent(upper, rho) > 0:
        upper *= 2
    return float(brentq(first_moment_exponent, lower, upper, args=(rho,), xtol=1e-16, rtol=1e-15))


def l0_gardner(rho: float) -> float:
    """α = 2[ρ + 2tφ(t)] with 2H(t) = ρ: annealed dilution, which lets the entropy of the choice be negative.

    The replica-symmetric branch exists up to this load, where χ → 0 and Σ → −∞. Without cancellation as ρ → 1,
    2 − α = 4[½ − H(t) − tφ(t)] = 4∫₀ᵗ s²φ(s) ds, an incomplete gamma function; to leading order it is (π/3)(1 − ρ)³.
    """
    t = math.sqrt(2) * float(erfcinv(rho))
    return 2 - 2 * float(gammainc(1.5, t * t / 2))


def typical_overlap(rho: float) -> float:
    """c = lim q₀/ρ at α = 2ρ: the root of c = 2ρ J(c), J(c) = [√(1−c²) + c(π − arccos c)]/(2π)."""
    return float(brentq(lambda c: 2 * rho * overlap_kernel(c) - c, 0.0, 1.0, xtol=1e-16, rtol=1e-15))


def overlap_kernel(c: float) -> float:
    """J(c) = ⟨x₊y₊⟩ of two standard Gaussians with correlation c."""
    c = min(c, 1.0)
    return (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / (2 * math.pi)


@dataclass(frozen=True)
class Gardner:
    """α_c with all variables, the threshold b/|w| there, and t*, the largest violation (in units of |w|) that is no error.

    Weights of given sign halve α_c and leave the rest as it is.
    """

    load: float
    threshold: float
    ceiling: float


@lru_cache(maxsize=256)
def gardner(ensemble: Ensemble) -> Gardner:
    """α_c, the best threshold and t*."""

    def slope(threshold: float) -> float:
        return _threshold_moments(ensemble, threshold)[0]

    threshold = 0.0
    if ensemble.free_threshold:
        # Without errors one threshold is stationary; with them there can be several: take the one with the largest load.
        reach = 6 + 2 * ensemble.margin if ensemble.error_rate else _FARTHEST + ensemble.margin
        grid = [float(b) for b in np.linspace(-reach, reach, 97 if ensemble.error_rate else 2)]
        slopes = [slope(b) for b in grid]
        roots = [
            float(brentq(slope, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14))
            for i in range(len(grid) - 1)
            if slopes[i] < 0 <= slopes[i + 1]
        ]
        threshold = min(roots, key=lambda b: _threshold_moments(ensemble, b)[1])
    return Gardner(ensemble.widest / _threshold_moments(ensemble, threshold)[1], threshold, _ceiling(ensemble, threshold))


def l0_load(rho: float, ensemble: Ensemble) -> float:
    """The ℓ₀-Gardner load, α_c[ρ + 2tφ(t)] with 2H(t) = ρ; with given signs min(2ρ, 1) stands for ρ."""
    return gardner(ensemble).load * l0_gardner(min(rho / ensemble.widest, 1.0)) / 2


def _threshold_moments(ensemble: Ensemble, threshold: float) -> tuple[float, float]:
    """Σ_c σ_c f_c ∫x, which vanishes at the best threshold, and Σ_c f_c ∫x² = 1/α_c."""
    ceiling = _ceiling(ensemble, threshold)
    moments = [(f, sign, _partial_moments(ensemble.margin + sign * threshold, ceiling)) for f, sign in ensemble.classes]
    return sum(f * sign * m[0] for f, sign, m in moments), sum(f * m[1] for f, _, m in moments)


def _partial_moments(tau: float, ceiling: float) -> tuple[float, float]:
    """∫_0^{t*} dx φ(x − τ) x^k for k = 1, 2."""
    low = math.exp(-0.5 * tau * tau) / _ROOT_2PI
    high = 0.0 if math.isinf(ceiling) else math.exp(-0.5 * (ceiling - tau) ** 2) / _ROOT_2PI
    weight = float(ndtr(tau)) if math.isinf(ceiling) else float(ndtr(ceiling - tau) - ndtr(-tau))
    first = tau * weight + low - high
    return first, tau * first + weight - (ceiling * high if high else 0.0)


def _ceiling(ensemble: Ensemble, threshold: float) -> float:
    """t* at which the error rate is ε."""
    if not ensemble.error_rate:
        return math.inf

    def excess(ceiling: float) -> float:
        wrong = sum(share * ndtr(ensemble.margin + sign * threshold - ceiling) for share, sign in ensemble.classes)
        return float(wrong) - ensemble.error_rate

    if excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, 2 * _FARTHEST + ensemble.margin, xtol=1e-15, rtol=1e-14))


@lru_cache(maxsize=1)
def capacity_table() -> Any:
    """The shipped table α_VS(ρ) with 0 to 3 steps of breaking and their limit, in order of ρ, as a record array.

    Its rows hold the order parameters of one step at Σ = 0 too, which start the solver at any density in between. Where a solver
    did not arrive the value is NaN. `scripts/make_capacity_table.py` makes it.
    """
    with files("chanceline").joinpath("data/capacity_table.csv").open(encoding="utf-8") as file:
        return np.genfromtxt(file, delimiter=",", names=True).view(np.recarray)
