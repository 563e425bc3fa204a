"""How many features noise of a given shape needs to be separated: asymptotic, for independent
features. The number describes chance and decides nothing.

The exact first moment says at which size one separating set is expected, with all its finite-size
corrections. The replica method says by how much the typical size lies above it in the limit,
N(ρ_VS − ρ_union). The sum of the two is the typical size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from chanceline._results import Result
from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.chance.cover import log_cover
from chanceline.chance.gaussian_cones import log_expected_supports
from chanceline.chance.shape import check_shape
from chanceline.errors import ConvergenceError
from chanceline.tables.wording import plural
from chanceline.theory.chance_line import density_at
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.first_moment import first_moment_density
from chanceline.theory.gardner import gardner

Computed = TypeVar("Computed")

# The exact first moment is summed up to this many features times splits of the errors; beyond, its
# limit N → ∞ takes its place.
MAX_EXACT_TERMS = 400
# An allowance, chosen and not fitted, for what the limit N → ∞ leaves out at finite size: a share
# of the typical size.
ALLOWANCE = 0.1
# Where the limit stands alone, whole features come on top: the first moment is not there to show
# how much single tables scatter.
SCATTER_WITHOUT_FIRST_MOMENT = 1
# ln of the expected number of sets at the lower end, in the middle and at the upper end.
LOG_FEW_SETS = -3.0
LOG_ONE_SET = 0.0
LOG_MANY_SETS = 3.0
# The theory has no half of all labels wrong.
MAX_ERROR_RATE = 0.49


@dataclass(frozen=True, repr=False)
class ChanceSize(Result):
    """The smallest set of features that separates noise of a given shape.

    Attributes
    ----------
    typical : the size in the middle, not rounded; the smallest whole set has about ⌈typical⌉
        features. Infinite if noise of this shape is not separated by all features together, 0 if a
        constant rule makes as few errors.
    low, high : a range for single tables: where the expected number of sets is e^{−3} and e^{3},
        widened by a tenth of `typical`, an allowance for what the theory's limit leaves out.
    first_moment : where the expected number of sets is one (exact for Gaussian inputs); None where
        it is not known.
    asymptotic : N·ρ_VS(P/N), the limit without the corrections.
    """

    low: float
    typical: float
    high: float
    first_moment: float | None
    asymptotic: float
    n_samples: int
    n_features: int
    positives: int
    errors: int
    intercept: bool

    kind = "asymptotic (replica method), for independent features"
    _former = MappingProxyType({"needs": "in_words"})

    def in_words(self) -> str:
        """How many features suffice, without the shape, for a reader who knows it."""
        if self.typical == 0:
            return "pure noise of this size is separated by a constant rule"
        if math.isinf(self.typical):
            return "pure noise of this size is separated by no set"
        low, typical, high = self._whole_sizes()
        return f"in pure noise of this size about {typical} ({low}–{high}) features suffice"

    def summary(self) -> str:
        """`noise of 40 samples (20 positive) and … is separated by about 4 features (3 to 5)`."""
        shape = (
            f"{self.n_samples} samples ({self.positives} positive) and "
            f"{self.n_features} independent features"
        )
        task = "separated"
        if self.errors:
            task = f"classified with at most {plural(self.errors, 'error')}"
        if math.isinf(self.typical):
            return f"noise of {shape} is not {task} even by all features"
        if self.typical == 0:
            return f"noise of {shape} is {task} by a constant rule"
        low, typical, high = self._whole_sizes()
        return f"noise of {shape} is {task} by about {plural(typical, 'feature')} ({low} to {high})"

    def _whole_sizes(self) -> tuple[int, int, int]:
        """Low, typical and high as whole numbers of features, at least one."""
        low = max(1, math.ceil(self.low))
        typical = max(1, math.ceil(self.typical))
        high = max(1, math.ceil(self.high))
        return low, typical, high

    __str__ = summary


def chance_size(
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    errors: int = 0,
    intercept: bool = True,
) -> ChanceSize:
    """How many features the best rule typically needs to separate labels that ignore them.

    0 if a constant rule is good enough, and infinite if all features together are not. Otherwise
    the exact first moment says at which size one separating set is expected, and the replica method
    by how much the typical size lies above that, in the limit of many features. A table too large
    for the exact sum has the replica method's own typical size.

    Features are taken for independent and Gaussian. Dependent ones act like fewer: more are needed.
    The number describes chance and decides nothing.

    Parameters
    ----------
    n_samples, n_features
        P and N.
    positives
        Size of one class; half of the samples by default. Without a threshold it does not matter.
    errors
        Number of samples that may be wrong.
    intercept
        Whether the rule has a free threshold.
    """
    if positives is None:
        positives = n_samples // 2
    n_samples, n_features, _, positives, errors = check_shape(
        n_samples, n_features, n_selected=1, positives=positives, errors=errors
    )
    noise = _Noise(n_samples, n_features, positives, errors, intercept)
    if noise.constant_rule_suffices:
        return noise.size_from(
            low=0.0, typical=0.0, high=0.0, asymptotic=0.0, first_moment_size=0.0
        )
    # Gardner's capacity: the largest load P/N at which all features together separate noise.
    capacity = gardner(noise.ensemble).load
    all_features_fail = noise.load >= capacity
    if all_features_fail:
        return noise.size_from(low=math.inf, typical=math.inf, high=math.inf, asymptotic=math.inf)

    # Two numbers of features, in the limit of many features: the typical size, and the size at
    # which one set is expected (None if the equations of the theory could not be solved).
    typical_asymptotic = noise.typical_asymptotic()
    first_moment_asymptotic = noise.first_moment_asymptotic()
    # The exact first moment is a sum over sizes, up to about the typical one, and over the ways to
    # split the errors between the classes.
    too_large_for_exact = typical_asymptotic * (errors + 1) > MAX_EXACT_TERMS
    if first_moment_asymptotic is None or too_large_for_exact:
        return _size_without_first_moment(noise, typical_asymptotic)
    return _size_with_first_moment(noise, typical_asymptotic, first_moment_asymptotic)


def _size_without_first_moment(noise: _Noise, typical_asymptotic: float) -> ChanceSize:
    """The asymptotic size N·ρ_VS as it is, with a range for what it leaves out at finite size."""
    return noise.size_from(
        low=typical_asymptotic * (1 - ALLOWANCE) - SCATTER_WITHOUT_FIRST_MOMENT,
        typical=typical_asymptotic,
        high=typical_asymptotic * (1 + ALLOWANCE) + SCATTER_WITHOUT_FIRST_MOMENT,
        asymptotic=typical_asymptotic,
    )


def _size_with_first_moment(
    noise: _Noise, typical_asymptotic: float, first_moment_asymptotic: float
) -> ChanceSize:
    """The size at which the exact first moment expects one set, moved up to the typical size.

    The size at which one set is expected is known exactly, how far the typical size lies above it
    only in the limit of many features:

        typical = size where one set is expected + (typical_asymptotic − first_moment_asymptotic).

    Parameters
    ----------
    noise : the shape of the table.
    typical_asymptotic : the typical size in the limit of many features.
    first_moment_asymptotic : the size in that limit at which one set is expected.
    """
    # log_expected[i]: ln of the expected number of sets of size i + 1.
    log_expected = noise.log_expected_until(LOG_MANY_SETS)
    size_few_expected = _first_crossing(log_expected, LOG_FEW_SETS)
    size_one_expected = _first_crossing(log_expected, LOG_ONE_SET)
    size_many_expected = _first_crossing(log_expected, LOG_MANY_SETS)

    shift = typical_asymptotic - first_moment_asymptotic
    typical = size_one_expected + shift
    # At finite size the shift may differ: the range is wider by an allowance on both sides.
    allowance = ALLOWANCE * typical
    return noise.size_from(
        low=max(0.0, size_few_expected + shift - allowance),
        typical=typical,
        high=size_many_expected + shift + allowance,
        asymptotic=typical_asymptotic,
        first_moment_size=size_one_expected,
    )


@dataclass(frozen=True)
class _Noise:
    """The shape of a table whose labels ignore its features."""

    n_samples: int
    n_features: int
    positives: int
    errors: int
    intercept: bool

    @property
    def constant_rule_suffices(self) -> bool:
        """Whether a threshold alone makes no more errors than allowed."""
        smaller_class = min(self.positives, self.n_samples - self.positives)
        return self.intercept and self.errors >= smaller_class

    @property
    def load(self) -> float:
        """α = P/N."""
        return self.n_samples / self.n_features

    @cached_property
    def ensemble(self) -> Ensemble:
        """The random patterns of this balance and rate of errors, without a margin."""
        # Without a threshold the balance does not matter.
        balance = self.positives / self.n_samples if self.intercept else 0.5
        error_rate = min(self.errors / self.n_samples, MAX_ERROR_RATE)
        return Ensemble.checked(balance, 0.0, error_rate)

    def typical_asymptotic(self) -> float:
        """N·ρ_VS(α): the features that noise typically needs, in the limit of many features."""
        ensemble = self.ensemble
        density = density_at(self.load, balance=ensemble.balance, errors=ensemble.error_rate)
        return self.n_features * density.rho

    def first_moment_asymptotic(self) -> float | None:
        """N·ρ_union(α): the size at which one set is expected, in the limit of many features.

        None if the equations of the theory could not be solved.
        """
        density = if_converged(lambda: first_moment_density(self.load, self.ensemble))
        if density is None:
            return None
        return self.n_features * density

    def log_expected_until(self, level: float) -> list[float]:
        """`log_expected_sets` of size 1, 2, … until it reaches the level, two values at least."""
        values: list[float] = []
        for size in range(1, min(self.n_features, self.n_samples) + 1):
            values.append(self.log_expected_sets(size))
            if values[-1] >= level and size >= 2:
                break
        return values

    def log_expected_sets(self, size: int) -> float:
        """ln of the expected number of sets of this size that separate noise.

        Without a threshold it is the number of choices of the features and of the samples that are
        errors, times the probability that the other samples are separated. That is Cover's count of
        the labellings that so many features separate, over the number of all labellings:

            C(n_right, size)/2^n_right · (choices of the errors) · (choices of the features).
        """
        if self.intercept:
            return log_expected_supports(
                self.n_samples, self.n_features, self.positives, size, self.errors
            )
        n_right = self.n_samples - self.errors
        log_probability = log_cover(n_right, size) - n_right * LOG2
        log_error_choices = float(log_binomial(self.n_samples, self.errors))
        log_feature_choices = float(log_binomial(self.n_features, size))
        return log_probability + log_error_choices + log_feature_choices

    def size_from(
        self,
        *,
        low: float,
        typical: float,
        high: float,
        asymptotic: float,
        first_moment_size: float | None = None,
    ) -> ChanceSize:
        """The result for this shape, from numbers of features with which noise is separated.

        Parameters
        ----------
        low, typical, high : the number in the middle, and a range around it for single tables.
        asymptotic : the typical number in the limit of many features.
        first_moment_size : the number at which one set is expected; None if it is not known.
        """
        return ChanceSize(
            low=low,
            typical=typical,
            high=high,
            first_moment=first_moment_size,
            asymptotic=asymptotic,
            n_samples=self.n_samples,
            n_features=self.n_features,
            positives=self.positives,
            errors=self.errors,
            intercept=self.intercept,
        )


def _first_crossing(log_expected: Sequence[float], level: float) -> float:
    """The size, interpolated between whole numbers, at which the values first reach the level.

    If no value reaches it, the result is the largest size.

    Parameters
    ----------
    log_expected : one value for each size 1, 2, …
    level : the value to be reached.
    """
    index = next((i for i, value in enumerate(log_expected) if value >= level), None)
    if index is None:
        return float(len(log_expected))
    size = index + 1  # the first whole size with a value large enough
    if len(log_expected) == 1:
        return float(size)

    # Back along the line through two neighbouring values.
    if index > 0:
        slope = log_expected[index] - log_expected[index - 1]
    else:
        # Below one feature there is nothing to interpolate with: the slope ahead is used. The
        # result may lie below one or below zero; words round it up to one feature at least.
        slope = log_expected[1] - log_expected[0]
    if slope <= 0:
        return float(size)
    return size - (log_expected[index] - level) / slope


def if_converged(compute: Callable[[], Computed]) -> Computed | None:
    """What is computed, None where the theory's equations have no solution that is found."""
    try:
        return compute()
    except ConvergenceError:
        return None
