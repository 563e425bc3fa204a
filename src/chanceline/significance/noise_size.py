"""How many features are needed to separate the classes in noise of a given shape.

Noise is a table whose labels are independent of its features; the features are independent too. The
number is asymptotic. It describes chance and decides nothing.

The exact first moment (the expected number of separating sets of each size) says at which size one
separating set is expected, with all finite-size corrections. The replica method says by how much
the typical size of the smallest separating set is larger in the limit of many features N,
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

# The exact first moment is used up to this number of terms, (number of features) × (ways to split
# the errors between the classes); for larger tables only the limit N → ∞ is used.
MAX_EXACT_TERMS = 400
# The range is widened by this share of the typical size on both sides, for finite-size effects that
# the limit N → ∞ does not have. Chosen, not fitted.
ALLOWANCE = 0.1
# If only the limit is used, the range is widened by this many features more, because the first
# moment does not show how much single tables scatter.
SCATTER_WITHOUT_FIRST_MOMENT = 1
# ln of the expected number of separating sets at the lower end of the range, in the middle and at
# the upper end.
LOG_FEW_SETS = -3.0
LOG_ONE_SET = 0.0
LOG_MANY_SETS = 3.0
# The theory needs an error rate below one half.
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
        """Low, typical and high, rounded up to whole numbers of features from 1."""
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
    """How many features the best linear rule typically needs to separate the classes in pure noise.

    In pure noise the labels are independent of the features. A set of features separates the
    classes if a linear rule on the set makes no more errors than `errors`. The typical size of the
    smallest such set is

    * 0 if a constant rule makes few enough errors;
    * infinite if all features together cannot separate the classes;
    * otherwise the size of which one separating set is expected, plus a correction. (The expected
      number is a mean over tables; it can be 1 although most tables have no set of this size.) The
      expected number of sets, the first moment, is computed exactly. The correction is known in the
      limit of many features (replica method). A table too large for the exact sum has the typical
      size of that limit.

    Features are assumed to be independent and Gaussian. A table of dependent features acts like one
    with fewer features, so that more are needed. The number describes chance and decides nothing.

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
    # (`check_shape` also checks a number of selected features, which this question does not have;
    # 1 is always valid.)
    n_samples, n_features, _, positives, errors = check_shape(
        n_samples, n_features, n_selected=1, positives=positives, errors=errors
    )
    noise = _NoiseTable(n_samples, n_features, positives, errors, intercept)
    if noise.constant_rule_suffices:
        return noise.make_chance_size(
            low=0.0, typical=0.0, high=0.0, asymptotic=0.0, first_moment_size=0.0
        )
    # Gardner's capacity: the largest load P/N at which all features together separate noise.
    capacity = gardner(noise.ensemble).load
    all_features_fail = noise.load >= capacity
    if all_features_fail:
        return noise.make_chance_size(
            low=math.inf, typical=math.inf, high=math.inf, asymptotic=math.inf
        )

    # Two sizes in the limit of many features: the typical size of the smallest separating set, and
    # the size of which one separating set is expected (None if the equations of the theory could
    # not be solved).
    typical_in_limit = noise.typical_size_in_limit()
    one_expected_in_limit = noise.size_with_one_set_in_limit()

    # The expected number of sets can also be computed exactly. This costs a term for each size up
    # to the typical one and each of the errors + 1 ways to split the errors between the classes.
    too_large_for_exact = typical_in_limit * (errors + 1) > MAX_EXACT_TERMS
    if one_expected_in_limit is None or too_large_for_exact:
        return _size_from_limit_alone(noise, typical_in_limit)
    return _size_from_exact_expectation(noise, typical_in_limit, one_expected_in_limit)


def _size_from_limit_alone(noise: _NoiseTable, typical_in_limit: float) -> ChanceSize:
    """The result for a table for which only the typical size in the limit N → ∞ is known.

    The range around it allows for finite-size effects and for the scatter of single tables.
    """
    return noise.make_chance_size(
        low=typical_in_limit * (1 - ALLOWANCE) - SCATTER_WITHOUT_FIRST_MOMENT,
        typical=typical_in_limit,
        high=typical_in_limit * (1 + ALLOWANCE) + SCATTER_WITHOUT_FIRST_MOMENT,
        asymptotic=typical_in_limit,
    )


def _size_from_exact_expectation(
    noise: _NoiseTable, typical_in_limit: float, one_expected_in_limit: float
) -> ChanceSize:
    """The result from the expected number of separating sets of each size, the first moment.

    This number is known exactly for Gaussian features. The size of which one set is expected is
    smaller than the typical size of the smallest separating set. By how much is known only in the
    limit of many features:

        typical = (size of which one set is expected) + (typical_in_limit − one_expected_in_limit).

    The range goes from the size of which few sets (e⁻³) are expected to the size of which many (e³)
    are expected. Both are shifted in the same way, and the range is widened by an allowance for
    finite-size effects.

    Parameters
    ----------
    noise : the numbers of samples, features and errors of the table.
    typical_in_limit : the typical size of the smallest separating set in the limit N → ∞.
    one_expected_in_limit : the size of which one separating set is expected in that limit.
    """
    # log_expected[i] is ln of the expected number of sets of size i + 1.
    log_expected = noise.log_expected_until(LOG_MANY_SETS)
    few_expected = _size_at_level(log_expected, LOG_FEW_SETS)
    one_expected = _size_at_level(log_expected, LOG_ONE_SET)
    many_expected = _size_at_level(log_expected, LOG_MANY_SETS)

    shift = typical_in_limit - one_expected_in_limit
    typical = one_expected + shift
    allowance = ALLOWANCE * typical
    return noise.make_chance_size(
        low=max(0.0, few_expected + shift - allowance),
        typical=typical,
        high=many_expected + shift + allowance,
        asymptotic=typical_in_limit,
        first_moment_size=one_expected,
    )


@dataclass(frozen=True)
class _NoiseTable:
    """The shape of a table of pure noise, whose labels are independent of its features.

    Attributes
    ----------
    n_samples, n_features : P and N.
    positives : size of one class.
    errors : number of samples that may be wrong.
    intercept : whether the rule has a free threshold.
    """

    n_samples: int
    n_features: int
    positives: int
    errors: int
    intercept: bool

    @property
    def constant_rule_suffices(self) -> bool:
        """Whether always naming the larger class makes no more errors than allowed."""
        smaller_class = min(self.positives, self.n_samples - self.positives)
        return self.intercept and self.errors >= smaller_class

    @property
    def load(self) -> float:
        """α = P/N."""
        return self.n_samples / self.n_features

    @cached_property
    def ensemble(self) -> Ensemble:
        """The theory's random patterns with this class balance and error rate, without a margin."""
        # Without a threshold the balance does not matter.
        balance = self.positives / self.n_samples if self.intercept else 0.5
        error_rate = min(self.errors / self.n_samples, MAX_ERROR_RATE)
        return Ensemble.checked(balance, 0.0, error_rate)

    def typical_size_in_limit(self) -> float:
        """N·ρ_VS(α), the typical size of the smallest separating set in the limit N → ∞."""
        ensemble = self.ensemble
        density = density_at(self.load, balance=ensemble.balance, errors=ensemble.error_rate)
        return self.n_features * density.rho

    def size_with_one_set_in_limit(self) -> float | None:
        """N·ρ_union(α), the size of which one separating set is expected in the limit N → ∞.

        None if the equations of the theory could not be solved.
        """
        density = if_converged(lambda: first_moment_density(self.load, self.ensemble))
        if density is None:
            return None
        return self.n_features * density

    def log_expected_until(self, level: float) -> list[float]:
        """`log_expected_sets` of the sizes 1, 2, … up to the first that reaches the level.

        There are at least two values if the table allows two sizes, so that one can interpolate. If
        no size reaches the level, the sizes end at the smaller side of the table.
        """
        values: list[float] = []
        for size in range(1, min(self.n_features, self.n_samples) + 1):
            values.append(self.log_expected_sets(size))
            if values[-1] >= level and size >= 2:
                break
        return values

    def log_expected_sets(self, size: int) -> float:
        """ln of the expected number of feature sets of this size that separate noise.

        The table has P samples and N features, and a rule may make `errors` errors. Without a
        threshold the expected number is the product of three factors:

        * the ways to choose the features, binomial(N, size);
        * the ways to choose the samples that are errors, binomial(P, errors);
        * the probability that the features separate the other n samples, C(n, size)/2ⁿ, where C is
          Cover's number of labellings of n points that linear rules on `size` features realise.

        With a threshold, `log_expected_supports` has the formula.
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

    def make_chance_size(
        self,
        *,
        low: float,
        typical: float,
        high: float,
        asymptotic: float,
        first_moment_size: float | None = None,
    ) -> ChanceSize:
        """The result for this shape of table, from numbers of features that separate noise.

        Parameters
        ----------
        low, typical, high : the typical number, and a range around it in which single tables lie.
        asymptotic : the typical number in the limit of many features.
        first_moment_size : the number at which one separating set is expected; None if unknown.
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


def _size_at_level(log_expected: Sequence[float], level: float) -> float:
    """The size of which a given number of separating sets is expected, between whole sizes.

    The size is found by linear interpolation of the logarithm of the expected number of sets. It is
    the first such size if the logarithm does not rise throughout.

    Parameters
    ----------
    log_expected : ln of the expected number of separating sets of the sizes 1, 2, …; at least one.
    level : ln of the expected number of sets at the size sought.

    Returns
    -------
    The largest size if no size reaches the level. If already size 1 is above the level, the size is
    extrapolated below 1 and may be negative; texts round it up to 1.
    """
    indices_at_level = [i for i, value in enumerate(log_expected) if value >= level]
    if not indices_at_level:
        largest_size = len(log_expected)
        return float(largest_size)
    index = indices_at_level[0]
    whole_size = index + 1  # the first whole size that reaches the level
    if len(log_expected) == 1:  # a single value has no slope
        return float(whole_size)

    # The slope of the line through two neighbouring sizes.
    if index > 0:
        slope = log_expected[index] - log_expected[index - 1]
    else:
        # There is no smaller size than 1: extrapolate the line through the sizes 1 and 2.
        slope = log_expected[1] - log_expected[0]
    if slope <= 0:  # possible only at size 1: this line does not fall to the level below size 1
        return float(whole_size)

    # Go back along this line from the whole size to the level.
    excess = log_expected[index] - level
    return whole_size - excess / slope


def if_converged(compute: Callable[[], Computed]) -> Computed | None:
    """The result of a computation; None if it raises `ConvergenceError`."""
    try:
        return compute()
    except ConvergenceError:
        return None
