"""The power of the test before the study: how often would it see an effect of a given size?

The last stage of the test compares the statistics of the observed labels with those of shuffled
labels. Here both are drawn a few thousand times from a model of independent Gaussian features
(`drawn_statistics`), without making tables. The level is the part of the level that the proofs
before the shuffles leave. The power does not count studies in which a proof convinces although the
shuffles do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from chanceline._arrays import Floats, Ints
from chanceline._results import Result
from chanceline.chance.shape import MAX_COUNT
from chanceline.errors import InputError, real_number, whole_number
from chanceline.significance.combination import combine_losses, rank_among, rank_losses
from chanceline.significance.config import TestSettings
from chanceline.significance.drawn_statistics import (
    EffectDesign,
    draw_member_losses,
    make_ridge_model,
)
from chanceline.significance.members import MemberArrays
from chanceline.significance.null_sizes import FIXED_NULL, NullSizes
from chanceline.significance.union_bound import UnionBound


class NumberOfDraws(NamedTuple):
    """How many tables are drawn: without the effect (in place of shuffles), and with the effect."""

    null: int
    effect: int


# For a power that is reported: its standard error is then below 0.01.
DRAWS = NumberOfDraws(null=18_000, effect=9_000)
# For sample sizes that are tried in a search, and for the points of a figure.
ROUGH_DRAWS = NumberOfDraws(null=6_000, effect=3_000)
# The density of p-values at the level is counted in a window of this share of the level to either
# side.
LEVEL_SHARE = 0.3
# The forward path of six steps needs enough dimensions.
FEWEST_SAMPLES_FOR_POWER = 12
# The search for a sample size ends when the next size would differ by at most this share.
SAMPLES_TOLERANCE = 0.01
MAX_SIZES_TRIED = 12
# The sample sizes of a power curve, relative to the size of the plan.
CURVE_RATIOS = (0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6)


@dataclass(frozen=True, repr=False)
class PowerPlan(Result):
    """How often the test would see an effect.

    Attributes
    ----------
    n_samples, positives : of the study, and those of one class.
    n_features : N.
    effect : distance of the class means, in standard deviations within classes.
    features_with_effect : how many of the features have it.
    level : of the test.
    power : probability that the test's p-value is no larger than the level.
    error : standard error of the power, of the draws it comes from.
    """

    n_samples: int
    positives: int
    n_features: int
    effect: float
    features_with_effect: int
    level: float
    power: float
    error: float

    kind = "Monte Carlo, of a model of independent Gaussian features"

    def summary(self) -> str:
        return (
            f"{self.n_samples} samples ({self.positives} + {self.n_samples - self.positives}) see "
            f"an effect of {self.effect:g} in {self.features_with_effect} of {self.n_features} "
            f"features with probability {self.power:.2f} ± {self.error:.2f}"
        )

    __str__ = summary


def power_of_effect(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    effect: float,
    *,
    features_with_effect: int = 1,
    balance: float = 0.5,
    level: float = 0.05,
    seed: int = 0,
) -> PowerPlan:
    """How often the test would see an effect in a study of this size.

    Parameters
    ----------
    n_samples, n_features
        P, at least 12, and N.
    effect
        Distance of the class means, in standard deviations within classes.
    features_with_effect
        How many features have it; the others are noise, and all are independent.
    balance
        Share of one class.
    level
        Of the test.
    seed
        Of the draws.
    """
    study = _checked_study(n_features, effect, features_with_effect, balance, level, seed)
    n_samples = whole_number(
        n_samples,
        "the number of samples",
        at_least=FEWEST_SAMPLES_FOR_POWER,
        at_most=MAX_COUNT,
    )
    return study.power_with(n_samples, DRAWS)


def samples_for_effect(  # noqa: PLR0913
    n_features: int,
    effect: float,
    *,
    power: float = 0.8,
    features_with_effect: int = 1,
    balance: float = 0.5,
    level: float = 0.05,
    seed: int = 0,
) -> PowerPlan:
    """The number of samples with which the test sees an effect as often as wanted.

    Parameters
    ----------
    n_features, effect, features_with_effect, balance, level, seed
        As for `power_of_effect`.
    power
        The probability wanted, above the level.
    """
    study = _checked_study(n_features, effect, features_with_effect, balance, level, seed)
    power = real_number(power, "the power", above=study.level, below=1)
    return study.samples_for(power)


def power_curve(plan: PowerPlan, *, seed: int = 0) -> list[PowerPlan]:
    """Estimate the power roughly at several sample sizes around that of a plan.

    Fewer tables are drawn than for the plan, so that the powers have larger standard errors.

    Parameters
    ----------
    plan : the study whose sample size is varied.
    seed : of the draws.

    Returns
    -------
    One plan for each sample size, in ascending order.
    """
    study = EffectStudy(
        n_features=plan.n_features,
        effect=plan.effect,
        features_with_effect=plan.features_with_effect,
        balance=plan.positives / plan.n_samples,
        level=plan.level,
        seed=seed,
    )
    sizes: set[int] = set()  # each size once: small plans reach the lower limit several times
    for ratio in CURVE_RATIOS:
        size = round(ratio * plan.n_samples)
        sizes.add(max(FEWEST_SAMPLES_FOR_POWER, size))
    return [study.power_with(size, ROUGH_DRAWS) for size in sorted(sizes)]


def _checked_study(  # noqa: PLR0913
    n_features: int,
    effect: float,
    features_with_effect: int,
    balance: float,
    level: float,
    seed: int,
) -> EffectStudy:
    """A study from arguments of the user, which are checked.

    `InputError` names the first argument that is not a number within its limits.
    """
    n_features = whole_number(n_features, "the number of features", at_least=1, at_most=MAX_COUNT)
    return EffectStudy(
        n_features=n_features,
        effect=real_number(effect, "the effect", above=0),
        features_with_effect=whole_number(
            features_with_effect,
            "the number of features with an effect",
            at_least=1,
            at_most=n_features,
        ),
        balance=real_number(balance, "the balance, the share of one class,", above=0, below=1),
        level=real_number(level, "the level", above=0, below=1),
        seed=whole_number(seed, "the seed"),
    )


@dataclass(frozen=True)
class EffectStudy:
    """A planned study whose number of samples is still open.

    Attributes
    ----------
    n_features : N.
    effect : distance of the class means, in standard deviations within classes.
    features_with_effect : how many of the features have it.
    balance : share of one class.
    level : of the test.
    seed : of the draws.
    """

    n_features: int
    effect: float
    features_with_effect: int
    balance: float
    level: float
    seed: int

    def power_with(self, n_samples: int, draws: NumberOfDraws) -> PowerPlan:
        """Estimate the power with this number of samples: how often the test sees the effect.

        Parameters
        ----------
        n_samples : of both classes together.
        draws : how many random tables the estimate is made from.
        """
        # Both classes have at least one sample.
        rounded = round(self.balance * n_samples)
        positives = min(max(1, rounded), n_samples - 1)
        design = EffectDesign(
            n_samples=n_samples,
            positives=positives,
            n_features=self.n_features,
            effect=self.effect,
            features_with_effect=self.features_with_effect,
        )
        estimate = estimate_power(design, self.level, self.seed, draws)
        return PowerPlan(
            n_samples=n_samples,
            positives=positives,
            n_features=self.n_features,
            effect=self.effect,
            features_with_effect=self.features_with_effect,
            level=self.level,
            power=estimate.power,
            error=estimate.error,  # standard error of the power
        )

    def samples_for(self, power: float) -> PowerPlan:
        """Find about the smallest number of samples with which the test has the power wanted.

        Sizes are tried with few draws, each next size guessed from the power at the last one, until
        the next size would hardly differ. The power of the last size tried is then estimated with
        many draws.

        All sizes too small so far give a lower limit for the next size, and all sizes large enough
        an upper limit. The estimated powers are noisy, so that a limit may be wrong by a few
        samples. This only makes the size found less accurate: the power that is returned belongs to
        the size that is returned.

        Parameters
        ----------
        power : the probability wanted, between 0 and 1.
        """
        largest_too_small = FEWEST_SAMPLES_FOR_POWER - 1
        smallest_sufficient = MAX_COUNT
        next_size = self._first_guess(power)
        for _ in range(MAX_SIZES_TRIED):
            size = next_size
            rough_power = self.power_with(size, ROUGH_DRAWS).power
            if rough_power < power:
                largest_too_small = size
            else:
                smallest_sufficient = size

            guess = self._next_guess(size, rough_power, power)
            next_size = min(max(guess, largest_too_small + 1), smallest_sufficient)
            if abs(next_size - size) <= SAMPLES_TOLERANCE * size:
                break
        # `size` was tried, and hardly differs from `next_size`.
        return self.power_with(size, DRAWS)

    @property
    def _slope(self) -> float:
        """d√(s(1−s)): how fast the normal quantile of the power grows with √P, for P samples.

        This holds for one feature with the effect d, and a share s of one class.
        """
        return self.effect * sqrt(self.balance * (1 - self.balance))

    def _next_guess(self, size: int, rough_power: float, power: float) -> int:
        """A better guess of the sample size, from the power that was estimated at one size.

        Let z(P) be the normal quantile of the power with P samples. As a function of √P it is
        nearly a straight line, whose slope is known (Newton's method with a fixed slope):

            √P_next = √P + (z_wanted − z(P))/slope.

        Parameters
        ----------
        size : P, the size tried.
        rough_power : with P samples, estimated with `ROUGH_DRAWS`.
        power : the power wanted.
        """
        z_wanted = float(ndtri(power))
        change_of_root = (z_wanted - _quantile_of(rough_power)) / self._slope
        next_root = max(sqrt(size) + change_of_root, 0.0)
        return ceil(next_root**2)

    def _first_guess(self, power: float) -> int:
        """The sample size for a two-sided z-test of each feature, with Bonferroni over features.

        With P samples its z has the mean √P·slope and variance 1. So its power has the normal
        quantile `z_wanted` if the mean is larger than the critical value by `z_wanted`.
        """
        z_wanted = float(ndtri(power))
        z_critical = float(-ndtri(self.level / (2 * self.n_features)))
        root_of_size = max((z_critical + z_wanted) / self._slope, 0.0)  # √P
        guess = ceil(root_of_size**2)
        if guess > MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} samples would be needed; ask about a larger effect."
            )
        return max(guess, FEWEST_SAMPLES_FOR_POWER)


def _quantile_of(power: float) -> float:
    """The normal quantile of a power that was estimated with `ROUGH_DRAWS`.

    A power of 0 or 1 is moved inwards by half a draw, so that its quantile is finite.
    """
    half_a_draw = 0.5 / ROUGH_DRAWS.effect
    return float(ndtri(min(max(power, half_a_draw), 1 - half_a_draw)))


class PowerEstimate(NamedTuple):
    """A power, and its standard error."""

    power: float
    error: float


def estimate_power(
    design: EffectDesign, level: float, seed: int, draws: NumberOfDraws
) -> PowerEstimate:
    """Estimate the power of a design from random tables.

    The power is the share of tables with the effect whose p-value is at most the level of the
    shuffles. The p-value of a table is its rank among tables drawn without the effect, which stand
    for its shuffles.

    Parameters
    ----------
    design : of the tables with the effect.
    level : of the whole test.
    seed : of the draws.
    draws : numbers of tables without and with the effect.
    """
    # Steps of the forward stepwise path: the default of the test. (There are enough samples for so
    # many steps: at least `FEWEST_SAMPLES_FOR_POWER`.)
    n_steps = min(TestSettings().largest, design.n_features)
    spectrum_rng, null_rng, effect_rng = np.random.default_rng(seed).spawn(3)
    ridge_model = make_ridge_model(design.n_dimensions, design.n_features, spectrum_rng)

    # The losses (statistics that are small for a good fit) of all tables.
    noise = design.without_effect()
    null_losses = draw_member_losses(noise, ridge_model, draws.null, n_steps=n_steps, rng=null_rng)
    effect_losses = draw_member_losses(
        design, ridge_model, draws.effect, n_steps=n_steps, rng=effect_rng
    )

    # The share of tables that convince, and its standard error.
    pvalues = permutation_pvalues(effect_losses, null_losses)
    shuffle_level = level_of_shuffles(design, level)
    power = float(np.mean(pvalues <= shuffle_level))
    standard_error = _error_of_power(power, pvalues, shuffle_level, draws)
    return PowerEstimate(power, error=standard_error)


def _error_of_power(power: float, pvalues: Floats, level: float, draws: NumberOfDraws) -> float:
    """The standard error of an estimated power, the share of p-values up to the level.

    With the power π, the level a, n₁ draws with the effect, n₀ draws without it, and the density
    f(a) of the p-values at the level, the variance has two parts:

    * π(1 − π)/n₁, because the power is a share of n₁ draws;
    * f(a)²·a(1 − a)/n₀, because p-values are shares of n₀ draws. A p-value near the level has the
      variance a(1 − a)/n₀. Moving the p-values has the same effect as moving the level, and this
      changes the power at the rate f(a).

    Parameters
    ----------
    power : π.
    pvalues : (draws with the effect,)
    level : a.
    draws : n₀ as `null`, n₁ as `effect`.
    """
    variance_of_effect_draws = power * (1 - power) / draws.effect

    # f(a): the share of p-values in a window around the level, divided by the window's width.
    half_width = LEVEL_SHARE * level
    is_in_window = np.abs(pvalues - level) <= half_width
    density = np.mean(is_in_window) / (2 * half_width)
    variance_of_null_draws = density**2 * level * (1 - level) / draws.null
    return float(np.sqrt(variance_of_effect_draws + variance_of_null_draws))


def level_of_shuffles(design: EffectDesign, level: float) -> float:
    """The part of the test's level at which the p-value of the shuffles is judged.

    Before labels are shuffled, the test tries to prove structure in two stages. Each proof is an
    upper bound of a p-value, valid for any set of features (`UnionBound`). Each stage spends a part
    of the level, and the shuffles get what is left. The parts depend on the size of the study.

    Parameters
    ----------
    design : the size of the study.
    level : of the whole test.
    """
    # What the bound needs to know of the null hypothesis: labels are permuted, in a single block.
    sizes = NullSizes(
        n_units=design.n_samples, positives=design.positives, blocks=None, null=FIXED_NULL
    )
    bounds = UnionBound(
        sizes=sizes,
        n_features=design.n_features,
        intercept=True,
        errors=0,  # allowed in stage 1; stage 2 counts errors after looking
    )
    # The parts depend only on whether there are shuffles at all (any number above 0).
    n_shuffles = DRAWS.null
    spending = bounds.spending(level, n_shuffles, has_stage2=True)
    return level - spending.spent_before_shuffles


def permutation_pvalues(losses: MemberArrays, null: MemberArrays) -> Floats:
    """The permutation p-value of each of many tables, with draws of the null as its shuffles.

    A table has many losses, statistics that are small if the features fit the labels. They come in
    families, called members (`MemberArrays`), each with several columns. As in `combination`, they
    are combined to one statistic T, which is large for small losses:

        T = Σ_member 1/q,
        p = (1 + #{draws of the null whose T is at least that of the table})/(1 + #{draws}).

    Here q is the rank of the table among the draws by its best column of the member
    (`_ranks_by_best_column`). The table counts as one of its own shuffles, hence the ones in p. For
    speed, T of the draws is computed once, without the table. One more table among thousands of
    draws would change a rank by at most one.

    Parameters
    ----------
    losses : of the tables, one array (tables, columns) for each member.
    null : losses of the draws, one array (draws, columns) for each member, in the same order.

    Returns
    -------
    (tables,)
    """
    n_tables = len(losses.path)  # the same for all members
    statistics = np.zeros(n_tables)  # T
    for member_losses, member_null in zip(losses, null, strict=True):
        ranks = _ranks_by_best_column(member_losses, member_null)  # q
        statistics += 1 / ranks

    # T of every draw, ascending: the draws whose T is smaller than that of a table come first.
    null_statistics = np.sort(combine_losses(null).totals)
    n_draws = len(null_statistics)
    n_draws_below = np.searchsorted(null_statistics, statistics, side="left")
    n_draws_reaching = n_draws - n_draws_below
    pvalues: Floats = (1 + n_draws_reaching) / (1 + n_draws)
    return pvalues


def _ranks_by_best_column(losses: Floats, null: Floats) -> Ints:
    """The rank of every row among the draws of the null, each by its best column; 1 is the best.

    In each column a row has a rank: the number of draws whose loss is no larger, plus one for the
    row itself. (`rank_among` subtracts a fraction below one half, which orders equal ranks in
    different columns.) The best column is the one with the smallest rank. The rank returned is the
    number of draws whose own smallest rank is no larger, again plus one for the row itself.

    Parameters
    ----------
    losses : (rows, columns) of one family of losses.
    null : (draws, columns) of the same family.

    Returns
    -------
    (rows,) whole numbers from 1.
    """
    smallest_ranks = 1 + rank_among(losses, null).min(axis=1)
    null_smallest_ranks = np.sort(rank_losses(null).min(axis=1))
    n_draws_as_good = np.searchsorted(null_smallest_ranks, smallest_ranks, side="right")
    return 1 + n_draws_as_good
