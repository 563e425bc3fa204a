"""The rigorous bound: how often would labels that ignore the features let M of N features do as well? And turned round: the
largest set that would convince, and the samples it takes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb, floor, log, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.chance.counts import LOG2, log_binomial, log_cover_curve, log_fixed, log_hamming_ball
from chanceline.errors import InputError, real_number, whole_number

LARGEST = 10**7
# At most so many sizes on either side of the crossing are looked at one by one.
LONGEST_CYCLE = 50


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """An upper bound on the probability that chance does as well; every number here is rigorous.

    Attributes
    ----------
    log10_p : float
        log₁₀ of the bound, at most 0; the smallest over all set sizes M′ ≥ M.
    log10_union : float
        log₁₀ of the union bound at M itself, before the minimum over supersets and without the cap at 1.
    best_size : int
        The M′ ≥ M at which the bound is smallest.
    dimension : int
        Dimension d of the rule at M′ (M′ + 1 with an intercept).
    log10_supports : float
        log₁₀ of the number of supports in the union at M′.
    form : str
        The count used at M′: "cover", "threshold" (M′ = 1) or "planar k-sets" (M′ = 2).
    blocks : tuple of (size, positives), or None
        The blocks within which labels are exchanged.
    """

    log10_p: float
    log10_union: float
    null: str
    n_samples: int
    n_features: int
    n_selected: int
    positives: int | None
    errors: int
    intercept: bool
    preregistered: bool
    best_size: int
    dimension: int
    log10_supports: float
    form: str
    blocks: tuple[tuple[int, int], ...] | None = None
    kind: str = "rigorous bound"
    _derived = ("supports",)

    @property
    def pvalue(self) -> float:
        """The bound itself; never 0, at least the smallest positive float (`log10_p` has the exact size)."""
        return float(max(10.0**self.log10_p, np.finfo(float).tiny))

    @property
    def supports(self) -> int | float:
        """Number of supports at M′: a whole number while it fits a float exactly, else a float (or infinity)."""
        if self.log10_supports < 15.5:
            return 1 if self.preregistered else comb(self.n_features, self.best_size)
        return 10.0**self.log10_supports if self.log10_supports < 308 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "p": self.pvalue}

    def summary(self) -> str:
        classes = (
            f"fixed class sizes {self.positives}/{self.n_samples - self.positives}"
            if self.positives is not None
            else "fair-coin labels"
        )
        doing = "separating" if self.errors == 0 else f"making at most {self.errors} errors on"
        return (
            f"p ≤ {format_p(self.log10_p)} for {self.n_selected} of {self.n_features} features {doing} "
            f"{self.n_samples} samples ({classes}; rigorous bound)"
        )

    __str__ = summary


def format_p(log10_p: float) -> str:
    """A p-value for people: `0.013`, `6.3e-5`; never 0, however small."""
    if log10_p > -3:
        return f"{10.0 ** min(log10_p, 0.0):.2g}"
    exponent = floor(log10_p)
    digits = f"{10.0 ** (log10_p - exponent):.1f}"
    return f"1.0e{exponent + 1}" if digits == "10.0" else f"{digits}e{exponent}"


def chance_bound(
    n_samples: int,
    n_features: int,
    n_selected: int,
    *,
    positives: int | None = None,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
    preregistered: bool = False,
    blocks: Sequence[tuple[int, int]] | None = None,
) -> Bound:
    """Bound the probability that some M of N features classify P samples with at most e errors by chance.

    Union over the C(N, M) supports of the labellings one support can realise
    (`chanceline.chance.counts`), divided by the number of equally likely labellings. Supersets of a set
    that does as well do as well, so the event at M is contained in the event at every M′ with M ≤ M′ ≤ N
    and the smallest of these bounds is taken. M may therefore be chosen after looking and found by any
    search, for a number of errors e fixed beforehand.

    Parameters
    ----------
    n_samples, n_features, n_selected : int
        P, N and M.
    positives : int
        Size n₊ of one class; required by `null="fixed"`.
    errors : int
        Errors e allowed, fixed beforehand. If e was chosen after looking, multiply p by 2^(e+1).
    null : {"fixed", "coin"}
        Labels permuted with the class sizes kept, or independent fair coins (wrong for unbalanced classes).
    intercept : bool
        Whether the rule has a free threshold.
    preregistered : bool
        The M features were fixed before the labels were seen: one support instead of C(N, M), no supersets.
    blocks : sequence of (size, positives), optional
        Labels are permuted only within blocks (sizes and positives add up to P and n₊).

    Returns
    -------
    Bound
    """
    n_samples, n_features, n_selected, positives, errors = check_shape(n_samples, n_features, n_selected, positives, errors, null)
    largest = n_selected if preregistered else min(n_features, max(n_selected, n_samples))
    pairs = None if blocks is None else tuple((int(size), int(number)) for size, number in blocks)
    union, forms = _union_curve(n_samples, positives, errors, null, intercept, largest, pairs)
    sizes = np.arange(n_selected, largest + 1)
    supports = np.zeros(len(sizes)) if preregistered else log_binomial(n_features, sizes)
    total = union[n_selected:] + supports
    best = int(np.argmin(total))
    to_log10 = 1 / log(10.0)
    return Bound(
        log10_p=min(0.0, float(total[best]) * to_log10),
        log10_union=float(total[0]) * to_log10,
        null=null,
        n_samples=n_samples,
        n_features=n_features,
        n_selected=n_selected,
        positives=positives if null == "fixed" else None,
        errors=errors,
        intercept=intercept,
        preregistered=preregistered,
        best_size=int(sizes[best]),
        dimension=int(sizes[best]) + int(intercept),
        log10_supports=float(supports[best]) * to_log10,
        form=forms.get(int(sizes[best]), "cover"),
        blocks=pairs,
    )


def bound_curve(
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
    blocks: Sequence[tuple[int, int]] | None = None,
) -> NDArray[np.float64]:
    """log₁₀ of the bound for M = 0 … min(N, P): smallest over supersets, at most 0, never falling (entry 0:
    −∞).
    """
    n_samples, n_features, _, positives, errors = check_shape(n_samples, n_features, 1, positives, errors, null)
    largest = min(n_features, n_samples)
    union, _ = _union_curve(n_samples, positives, errors, null, intercept, largest, blocks and tuple(blocks))
    total = (union + log_binomial(n_features, np.arange(largest + 1)))[1:] / log(10.0)
    smallest = np.minimum.accumulate(total[::-1])[::-1]
    return np.concatenate([[-np.inf], np.minimum(smallest, 0.0)])


@lru_cache(maxsize=8)
def _union_curve(
    n_samples: int,
    positives: int,
    errors: int,
    null: str,
    intercept: bool,
    largest: int,
    blocks: tuple[tuple[int, int], ...] | None,
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """ln of (labellings one support of M realises)/(labellings in all) for M = 0 … largest (entry 0
    unused).
    """
    if blocks and (null != "fixed" or tuple(map(sum, zip(*blocks, strict=True))) != (n_samples, positives)):
        raise InputError("the blocks' sizes and positives must add up to those of the fixed null.")
    selected = np.arange(1, largest + 1)
    if null == "coin":
        # At most D(P, d) labellings are separable, and each has Σ_{j≤e} C(P, j) neighbours within e errors.
        labellings, forms = n_samples * LOG2, ["cover"] * largest
        separable = log_cover_curve(n_samples, largest + int(intercept))[selected + int(intercept)]
        counts = np.minimum(separable + log_hamming_ball(n_samples, errors), labellings)
    else:
        counts, forms = log_fixed(n_samples, positives, selected, errors, intercept)
        labellings = sum(float(log_binomial(*pair)) for pair in blocks or ((n_samples, positives),))
    curve = np.concatenate([[0.0], counts - labellings])
    curve.setflags(write=False)
    return curve, dict(zip(selected[:2].tolist(), forms[:2], strict=True))


def check_shape(
    n_samples: int, n_features: int, n_selected: int, positives: int | None, errors: int, null: str = "fixed"
) -> tuple[int, int, int, int, int]:
    """P, N, M, n₊ and e as whole numbers within their limits; without fixed class sizes n₊ does not matter and is 0."""
    samples = whole_number(n_samples, "the number of samples", at_least=2, at_most=LARGEST)
    features = whole_number(n_features, "the number of features", at_least=1, at_most=LARGEST)
    selected = whole_number(n_selected, "the number of selected features", at_least=1, at_most=features)
    allowed = whole_number(errors, "the number of errors allowed", at_most=samples - 1)
    if null not in ("fixed", "coin"):
        raise InputError(f"the null must be 'fixed' (class sizes kept) or 'coin' (fair coin), not {null!r}.")
    if null == "coin":
        return samples, features, selected, 0, allowed
    if positives is None:
        raise InputError(
            "fixed class sizes need the size of one class (positives=COUNT); or let labels be fair coins (null='coin')."
        )
    what = f"the number of positives among {samples} samples of two classes"
    return samples, features, selected, whole_number(positives, what, at_least=1, at_most=samples - 1), allowed


@dataclass(frozen=True, repr=False)
class FeaturePlan(Result):
    """Largest number of selected features at which perfect (or e-error) classification is convincing by itself."""

    largest: int
    level: float
    bound: Bound | None
    next_bound: Bound | None
    kind: str = "rigorous bound"
    _hidden = ("largest",)

    def summary(self) -> str:
        if self.largest == 0:
            return f"no set of features would convince at level {self.level:g} by the bound"
        return f"up to {self.largest} selected features would convince at level {self.level:g}"

    def to_dict(self) -> dict[str, Any]:
        return {"largest_selected": self.largest, **super().to_dict()}


@dataclass(frozen=True, repr=False)
class SamplePlan(Result):
    """Smallest number of samples from which on M of N features convince."""

    n_samples: int
    positives: int | None
    balance: float
    level: float
    bound: Bound
    kind: str = "rigorous bound"

    def summary(self) -> str:
        chosen = f"{self.bound.n_selected} of {self.bound.n_features} features"
        return f"{self.n_samples} samples make {chosen} convincing at level {self.level:g}"


def largest_convincing(
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> FeaturePlan:
    """The largest M whose bound is at most `level`; 0 if not even one feature would convince."""
    level = real_number(level, "the level", above=0, below=1)
    curve = bound_curve(n_samples, n_features, positives=positives, errors=errors, null=null, intercept=intercept)
    largest = int(np.searchsorted(curve, log10(level), side="right")) - 1
    at, after = (
        chance_bound(n_samples, n_features, selected, positives=positives, errors=errors, null=null, intercept=intercept)
        if 1 <= selected <= n_features
        else None
        for selected in (largest, largest + 1)
    )
    return FeaturePlan(largest, level, at, after)


def samples_needed(
    n_features: int,
    n_selected: int,
    *,
    balance: float = 0.5,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> SamplePlan:
    """The smallest P from which on separating with M of N features is convincing, classes n₊ =
    round(balance·P).

    The bound falls with P apart from the rounding of n₊: see `first_convincing`.
    """
    level = real_number(level, "the level", above=0, below=1)
    balance = real_number(balance, "the balance, the share of one class,", above=0, below=1)

    def bound(samples: int) -> Bound:
        positives = min(max(round(balance * samples), 1), samples - 1) if null == "fixed" else None
        return chance_bound(
            samples,
            n_features,
            n_selected,
            positives=positives,
            errors=errors,
            null=null,
            intercept=intercept,
        )

    def convinces(samples: int) -> bool:
        return samples > errors and bound(samples).log10_p <= log10(level)

    start = max(2, whole_number(errors, "the number of errors allowed", at_most=LARGEST // 4) + 1)
    samples = first_convincing(convinces, start, ceil(1 / min(balance, 1 - balance)) + 1)
    if samples is None:
        raise InputError(
            f"even {LARGEST:,} samples would not convince with {n_selected} of {n_features} features; "
            "allow fewer features or fewer errors."
        )
    answer = bound(samples)
    return SamplePlan(samples, answer.positives, balance, level, answer)


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """The smallest count from which on all convince, None if more than 10⁷ would be needed.

    Rounding of the class sizes, or the turn of blocks, makes the bound rise here and there; after `cycle` more counts the classes
    are in the same proportion again, about. After the last failure near the crossing the bound stays low.
    """
    low, high = start, 2 * start
    while not convinces(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return None
    high = bisect_left(range(high), True, lo=low + 1, key=convinces)
    around = min(cycle, LONGEST_CYCLE)
    failures = [count for count in range(max(2, high - around), high + around) if not convinces(count)]
    return failures[-1] + 1 if failures else high
