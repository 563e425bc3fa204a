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

    In pure noise the labels are independent of the features. The typical number of features is

    * 0 if a constant rule makes few enough errors;
    * infinite if all features together cannot separate the classes;
    * otherwise the size at which one separating set is expected (the exact first moment), plus the
      amount by which the typical size is larger in the limit of many features (replica method). A
      table too large for the exact sum has the typical size of that limit.

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
    noise = _Noise(n_samples, n_features, positives, errors, intercept)
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

    # Two numbers of features in the limit of many features: the typical size, and the size at which
    # one set is expected (None if the equations of the theory could not be solved).
    typical_asymptotic = noise.typical_asymptotic()
    first_moment_asymptotic = noise.first_moment_asymptotic()

    # The exact first moment costs a term for each size up to the typical one and each of the
    # errors + 1 ways to split the errors between the classes.
    too_large_for_exact = typical_asymptotic * (errors + 1) > MAX_EXACT_TERMS
    if first_moment_asymptotic is None or too_large_for_exact:
        return _size_without_first_moment(noise, typical_asymptotic)
    return _size_with_first_moment(noise, typical_asymptotic, first_moment_asymptotic)


def _size_without_first_moment(noise: _Noise, typical_asymptotic: float) -> ChanceSize:
    """The result for a table for which only the asymptotic size N·ρ_VS is known.

    The range around it allows for finite-size effects and for the scatter of single tables.
    """
    return noise.make_chance_size(
        low=typical_asymptotic * (1 - ALLOWANCE) - SCATTER_WITHOUT_FIRST_MOMENT,
        typical=typical_asymptotic,
        high=typical_asymptotic * (1 + ALLOWANCE) + SCATTER_WITHOUT_FIRST_MOMENT,
        asymptotic=typical_asymptotic,
    )


def _size_with_first_moment(
    noise: _Noise, typical_asymptotic: float, first_moment_asymptotic: float
) -> ChanceSize:
    """The result from the exact first moment, the expected number of separating sets of each size.

    The size at which one set is expected is known exactly. The typical size of the smallest set is
    larger; by how much is known only in the limit of many features:

        typical = (size where one set is expected) + (typical_asymptotic − first_moment_asymptotic).

    The range goes from the size where few sets are expected to the size where many are expected.
    Both are shifted in the same way, and the range is widened by an allowance for finite-size
    effects.

    Parameters
    ----------
    noise : the shape of the table.
    typical_asymptotic : the typical size in the limit of many features.
    first_moment_asymptotic : the size at which one set is expected in that limit.
    """
    # log_expected[i] is ln of the expected number of sets of size i + 1. Few, one and many sets are
    # e⁻³, 1 and e³.
    log_expected = noise.log_expected_until(LOG_MANY_SETS)
    size_few_expected = _first_crossing(log_expected, LOG_FEW_SETS)
    size_one_expected = _first_crossing(log_expected, LOG_ONE_SET)
    size_many_expected = _first_crossing(log_expected, LOG_MANY_SETS)

    shift = typical_asymptotic - first_moment_asymptotic
    typical = size_one_expected + shift
    allowance = ALLOWANCE * typical
    return noise.make_chance_size(
        low=max(0.0, size_few_expected + shift - allowance),
        typical=typical,
        high=size_many_expected + shift + allowance,
        asymptotic=typical_asymptotic,
        first_moment_size=size_one_expected,
    )


@dataclass(frozen=True)
class _Noise:
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

    def typical_asymptotic(self) -> float:
        """N·ρ_VS(α), the typical size of the smallest separating set in the limit N → ∞."""
        ensemble = self.ensemble
        density = density_at(self.load, balance=ensemble.balance, errors=ensemble.error_rate)
        return self.n_features * density.rho

    def first_moment_asymptotic(self) -> float | None:
        """N·ρ_union(α), the size at which one separating set is expected in the limit N → ∞.

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


def _first_crossing(log_expected: Sequence[float], level: float) -> float:
    """The size at which values first reach a level, by linear interpolation between whole sizes.

    Parameters
    ----------
    log_expected : one value for each of the sizes 1, 2, …; at least one.
    level : the value to be reached.

    Returns
    -------
    The largest size if no value reaches the level. If the first value is above the level, the size
    is extrapolated below 1 and may be negative; texts round it up to 1.
    """
    indices_at_level = [i for i, value in enumerate(log_expected) if value >= level]
    if not indices_at_level:
        return float(len(log_expected))
    index = indices_at_level[0]
    size = index + 1  # the first whole size that reaches the level
    if len(log_expected) == 1:  # a single value has no slope
        return float(size)

    # Go back from `size` to the level along the line through two neighbouring values.
    if index > 0:
        slope = log_expected[index] - log_expected[index - 1]
    else:
        # There is no smaller size: use the slope to the next one.
        slope = log_expected[1] - log_expected[0]
    if slope <= 0:  # possible only for the slope to the next size: the line never meets the level
        return float(size)
    excess = log_expected[index] - level
    return size - excess / slope


def if_converged(compute: Callable[[], Computed]) -> Computed | None:
    """The result of a computation; None if it raises `ConvergenceError`."""
    try:
        return compute()
    except ConvergenceError:
        return None
