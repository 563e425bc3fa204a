"""The power of the test before the study: how often would it see an effect of a given size?

The test's last stage compares the statistics of the labels with those of shuffled ones. Here both
are drawn from a model of independent Gaussian features (`drawn_statistics`), a few thousand times,
without tables. The level is what the proofs before the shuffles leave of it; that a proof convinces
where the shuffles do not is left out.
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
    """Tables drawn without the effect, for what shuffles give, and with it."""

    null: int
    effect: int


# Of a power that is told, whose standard error is below 0.01 then.
DRAWS = NumberOfDraws(null=18_000, effect=9_000)
# Of sizes that are tried on the way to a power, and of the points of a picture.
ROUGH_DRAWS = NumberOfDraws(null=6_000, effect=3_000)
# The level is moved by this share of it, both ways, to see how much the power depends on it.
LEVEL_SHARE = 0.3
# The path of six steps needs dimensions to go on in.
FEWEST_SAMPLES_FOR_POWER = 12
# Numbers of samples are asked about until the next would differ by less than this share.
SAMPLES_TOLERANCE = 0.01
MAX_SIZES_TRIED = 12
# Of the sample size at which the power is reached: where a picture shows it.
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
    """The power at several sample sizes around that of a plan, in ascending order, roughly."""
    study = EffectStudy(
        n_features=plan.n_features,
        effect=plan.effect,
        features_with_effect=plan.features_with_effect,
        balance=plan.positives / plan.n_samples,
        level=plan.level,
        seed=seed,
    )
    sizes = {max(FEWEST_SAMPLES_FOR_POWER, round(ratio * plan.n_samples)) for ratio in CURVE_RATIOS}
    return [study.power_with(size, ROUGH_DRAWS) for size in sorted(sizes)]


def _checked_study(  # noqa: PLR0913
    n_features: int,
    effect: float,
    features_with_effect: int,
    balance: float,
    level: float,
    seed: int,
) -> EffectStudy:
    """The study of these numbers; InputError names the one that is not within its limits."""
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
    """A study that is planned, of any number of samples; attributes as in `PowerPlan`."""

    n_features: int
    effect: float
    features_with_effect: int
    balance: float
    level: float
    seed: int

    def power_with(self, n_samples: int, draws: NumberOfDraws) -> PowerPlan:
        """How often the test sees the effect with so many samples."""
        positives = min(max(1, round(self.balance * n_samples)), n_samples - 1)
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
            error=estimate.error,
        )

    def samples_for(self, power: float) -> PowerPlan:
        """About the smallest number of samples that sees the effect with this probability.

        Sizes are tried, each guessed from the power of the one before, until the next would hardly
        differ. The guess is by a straight line: the normal quantile of the power rises nearly so
        with √P, the root of the number of samples. For an effect d in one feature, and a share s of
        one class, its slope is d√(s(1−s)).
        """
        slope = self.effect * sqrt(self.balance * (1 - self.balance))
        z_wanted = float(ndtri(power))
        # The size sought is above `too_few` and at most `enough`, as is every size that is tried.
        too_few = FEWEST_SAMPLES_FOR_POWER - 1
        enough = MAX_COUNT
        next_size = self._first_guess(z_wanted, slope)
        for _ in range(MAX_SIZES_TRIED):
            tried = next_size
            rough_power = self.power_with(tried, ROUGH_DRAWS).power
            if rough_power < power:
                too_few = tried
            else:
                enough = tried

            # The size at which the line reaches the quantile wanted, moved between the limits.
            change_of_root = (z_wanted - _quantile_of(rough_power)) / slope
            size_by_line = ceil(max(sqrt(tried) + change_of_root, 0.0) ** 2)
            next_size = min(max(size_by_line, too_few + 1), enough)
            if abs(next_size - tried) <= SAMPLES_TOLERANCE * tried:
                break
        # The last two sizes hardly differ. The one that was tried is taken, its power drawn anew
        # with more draws.
        return self.power_with(tried, DRAWS)

    def _first_guess(self, z_wanted: float, slope: float) -> int:
        """The samples with which the largest of N correlations sees the effect in one feature."""
        z_seen = float(-ndtri(self.level / (2 * self.n_features)))
        guess = ceil(max((z_seen + z_wanted) / slope, 0.0) ** 2)
        if guess > MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} samples would be needed; ask about a larger effect."
            )
        return max(guess, FEWEST_SAMPLES_FOR_POWER)


def _quantile_of(power: float) -> float:
    """The normal quantile of a share of `ROUGH_DRAWS`, finite where it is 0 or 1."""
    half_a_draw = 0.5 / ROUGH_DRAWS.effect
    return float(ndtri(min(max(power, half_a_draw), 1 - half_a_draw)))


class PowerEstimate(NamedTuple):
    """A power, and its standard error."""

    power: float
    error: float


def estimate_power(
    design: EffectDesign, level: float, seed: int, draws: NumberOfDraws
) -> PowerEstimate:
    """The power of a design: the share of tables drawn with its effect that the test convinces of.

    Their p-values are places among tables drawn without the effect.

    Parameters
    ----------
    design : of the tables with the effect.
    level : of the whole test.
    seed : of the draws.
    draws : how many.
    """
    # The path of the test by default. It is short enough for any number of samples that is asked
    # about, and for these features.
    n_steps = min(TestSettings().largest, design.n_features)
    spectrum_rng, null_rng, effect_rng = np.random.default_rng(seed).spawn(3)
    ridge_model = make_ridge_model(design.n_dimensions, design.n_features, spectrum_rng)

    # The p-value of every table with the effect, and how many of them convince.
    noise = design.without_effect()
    null = draw_member_losses(noise, ridge_model, draws.null, n_steps=n_steps, rng=null_rng)
    with_effect = draw_member_losses(
        design, ridge_model, draws.effect, n_steps=n_steps, rng=effect_rng
    )
    pvalues = pvalues_among(with_effect, null)
    shuffle_level = level_of_shuffles(design, level)
    power = float(np.mean(pvalues <= shuffle_level))
    return PowerEstimate(power, error=_error_of_power(power, pvalues, shuffle_level, draws))


def _error_of_power(power: float, pvalues: Floats, level: float, draws: NumberOfDraws) -> float:
    """The standard error of a power: the share of p-values up to the level.

    Parameters
    ----------
    pvalues : (draws with the effect,) places among the draws without it.
    """
    # By the draws with the effect: the power is a share of these, which scatters as a binomial.
    variance_by_effect = power * (1 - power) / draws.effect

    # By the draws without it: a p-value is a share of these. One at the level has the variance
    # level·(1 − level)/draws, and it is the same whether the p-values move or the level does.
    # When the level moves, the power moves by as much times the density of p-values at the level,
    # which is counted in a window around it.
    half_width = LEVEL_SHARE * level
    density = np.mean(np.abs(pvalues - level) <= half_width) / (2 * half_width)
    variance_by_null = density**2 * level * (1 - level) / draws.null
    return float(np.sqrt(variance_by_effect + variance_by_null))


def level_of_shuffles(design: EffectDesign, level: float) -> float:
    """The p-value up to which shuffles convince: the level, less what is spent before them.

    The test first tries to prove structure by a bound on the chance of any rule, and each stage of
    these proofs has a part of the level. How much that is follows from the size of the study.
    """
    bounds = UnionBound(
        sizes=NullSizes(
            n_units=design.n_samples, positives=design.positives, blocks=None, null=FIXED_NULL
        ),
        n_features=design.n_features,
        intercept=True,
        errors=0,  # by the first stage; the second counts them after looking
    )
    # Of the number of shuffles it matters only that there are some.
    spending = bounds.spending(level, n_shuffles=DRAWS.null, has_stage2=True)
    return level - spending.spent_before_shuffles


def pvalues_among(losses: MemberArrays, null: MemberArrays) -> Floats:
    """The p-value of every row of losses, as if it were the observed one and the null its shuffles.

    A row is the losses of one labelling, in the columns of several members. The statistic, large
    for small losses, is that of `combination`:

        T = Σ_member 1/q,    p = (1 + #{draws of the null whose T is at least that of the row})
                                 / (1 + draws),

    where q is the place of the row among the draws by its best column of the member
    (`_places_among`). The ones count the row itself, which is one of its own shuffles. The T of the
    draws are taken without the row: one more among thousands moves no place by more than one.

    Parameters
    ----------
    losses : of every member (rows, columns).
    null : of every member (draws, columns).

    Returns
    -------
    (rows,)
    """
    totals = np.zeros(len(losses.path))  # T
    for member, null_member in zip(losses, null, strict=True):
        totals += 1 / _places_among(member, null_member)

    null_totals = np.sort(combine_losses(null).totals)
    n_draws = len(null_totals)
    n_draws_below = np.searchsorted(null_totals, totals, side="left")  # T strictly below the row's
    n_draws_reaching = n_draws - n_draws_below
    pvalues: Floats = (1 + n_draws_reaching) / (1 + n_draws)
    return pvalues


def _places_among(losses: Floats, null: Floats) -> Ints:
    """The place of every row among the draws of the null, by its best column; 1 is the best.

    In each column a row has a rank: the number of draws whose loss is no larger, and one for the
    row itself. (`rank_among` takes off a fraction below one half, which orders equal ranks.) The
    smallest rank is that of its best column. The place is the number of draws whose own smallest
    rank is no larger, and again one for the row itself.

    Parameters
    ----------
    losses : (rows, columns) of one member.
    null : (draws, columns) of the same member.

    Returns
    -------
    (rows,)
    """
    smallest_ranks = 1 + rank_among(losses, null).min(axis=1)
    null_smallest_ranks = np.sort(rank_losses(null).min(axis=1))
    n_draws_as_good = np.searchsorted(null_smallest_ranks, smallest_ranks, side="right")
    return 1 + n_draws_as_good
