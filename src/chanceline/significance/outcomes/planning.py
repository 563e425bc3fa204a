"""Before the experiment: how strongly one feature must go with an outcome to be seen.

A feature is seen if its F-value, with q and f degrees of freedom, is significant at level/N
(Bonferroni over N features). If a share s of its variance is in common with the q columns of
scores, F is noncentral with

    λ = (f + q + 1)·s/(1 − s),

exactly so where the feature is normal given the outcome. q is 1 for a number and for survival, and
one fewer than classes for classes. The test combines more than single features, and pays for that
with a little power: the numbers are for orientation.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.stats import f as f_distribution, ncf

from chanceline._results import Result
from chanceline.errors import InputError, real_number, whole_number
from chanceline.significance.power import POWER
from chanceline.tables.outcome_kind import OutcomeKind

# Shares between which is searched.
SMALLEST_SHARE = 1e-6
LARGEST_SHARE = 1 - 1e-6
MAX_SAMPLES = 1_000_000
# Outcomes that can be planned for.
PLANNED_KINDS = (OutcomeKind.NUMBER, OutcomeKind.CLASSES, OutcomeKind.SURVIVAL)


@dataclass(frozen=True, repr=False)
class OutcomeSamplePlan(Result):
    """What so many samples see of one feature.

    Attributes
    ----------
    outcome : number, classes or survival.
    n_samples, n_features : of the table.
    share : of the feature's variance that is in common with the outcome: R², or the share between
        classes.
    power : the probability with which it is seen, at least.
    level : the p-value that convinces.
    """

    outcome: str
    n_samples: int
    n_features: int
    share: float
    power: float
    level: float
    kind: str = "approximate"

    def summary(self) -> str:
        return (
            f"{self.n_samples} samples see one of {self.n_features} features that has "
            f"{100 * self.share:.0f} % of its variance in common with the outcome, with a "
            f"probability of {100 * self.power:.0f} % at level {self.level:g}"
        )


def power_of_feature(
    share: float, freedom: int, *, n_scores: int, n_features: int, level: float
) -> float:
    """The probability with which one feature is seen.

    Parameters
    ----------
    share : s, of its variance in common with the outcome.
    freedom : f, the degrees of freedom that are left: samples less one, less q.
    n_scores : q.
    n_features : N.
    level : the p-value that convinces.
    """
    critical = f_distribution.isf(level / n_features, n_scores, freedom)
    noncentrality = (freedom + n_scores + 1) * share / (1 - share)
    return float(ncf.sf(critical, n_scores, freedom, noncentrality))


def smallest_share_with_power(
    freedom: int, *, n_scores: int, n_features: int, level: float
) -> float:
    """The smallest effect of a feature that the F-test sees with the power `POWER`.

    The effect is the share of the feature's variance that is in common with the outcome. The result
    is 1 if not even `LARGEST_SHARE` is seen with this power. It is `SMALLEST_SHARE` if that share
    is already seen: at a level near 1, or with very many samples.

    Parameters
    ----------
    freedom : residual degrees of freedom of the F-test, samples − 1 − n_scores.
    n_scores : numerator degrees of freedom: 1, or for classes one fewer than classes.
    n_features : number of features, which are corrected for (Bonferroni).
    level : the p-value that convinces.
    """
    if freedom < 1:
        # There is no F-test.
        return 1.0

    # The power rises with the share: find the share at which it is `POWER`.
    def excess_power(share: float) -> float:
        power = power_of_feature(
            share, freedom, n_scores=n_scores, n_features=n_features, level=level
        )
        return power - POWER

    if excess_power(LARGEST_SHARE) < 0:
        return 1.0
    if excess_power(SMALLEST_SHARE) > 0:
        return SMALLEST_SHARE
    return float(brentq(excess_power, SMALLEST_SHARE, LARGEST_SHARE))


def plan_outcome(  # noqa: PLR0913
    outcome: str,
    n_features: int,
    *,
    n_samples: int | None = None,
    share: float | None = None,
    n_classes: int = 3,
    level: float = 0.05,
) -> OutcomeSamplePlan:
    """Plan a study: the smallest effect that so many samples see, or the samples an effect needs.

    The effect is the share of a feature's variance that is in common with the outcome. It is seen
    if the F-test of that feature is significant with the power `POWER`, corrected for the number of
    features.

    Parameters
    ----------
    outcome : "number", "classes" or "survival".
    n_features : number of features to choose from.
    n_samples, share : give one of the two; the other is computed.
    n_classes : number of classes, if the outcome is "classes".
    level : the p-value that convinces.
    """
    if outcome not in PLANNED_KINDS:
        raise InputError(f"outcome must be 'number', 'classes' or 'survival', not {outcome!r}.")
    if (n_samples is None) == (share is None):
        raise InputError("give either the samples, or the share that one feature explains.")
    n_features = whole_number(n_features, "the number of features", at_least=1)
    level = real_number(level, "the level", above=0, below=1)
    # The number of columns of numbers that stand for the outcome. For several classes these are
    # indicators of all classes but one.
    n_scores = 1
    if outcome == OutcomeKind.CLASSES:
        n_scores = whole_number(n_classes, "the number of classes", at_least=3) - 1

    if share is not None:
        share = real_number(share, "the share explained", above=0, below=1)
        n_samples = _samples_that_see(share, n_scores, n_features, level)
    # At least two residual degrees of freedom.
    n_samples = whole_number(n_samples, "the number of samples", at_least=n_scores + 3)
    if share is None:
        share = smallest_share_with_power(
            freedom=n_samples - 1 - n_scores,
            n_scores=n_scores,
            n_features=n_features,
            level=level,
        )
    return OutcomeSamplePlan(
        outcome=str(outcome),
        n_samples=n_samples,
        n_features=n_features,
        share=share,
        power=POWER,
        level=level,
    )


def _samples_that_see(share: float, n_scores: int, n_features: int, level: float) -> int:
    """The fewest samples that see an effect with the power `POWER`, by bisection.

    Parameters
    ----------
    share : the effect: the share of a feature's variance that is in common with the outcome.
    n_scores : numerator degrees of freedom of the F-test.
    n_features : number of features, which are corrected for (Bonferroni).
    level : the p-value that convinces.
    """
    # Bisect between a number of samples that is taken to be too small (one residual degree of
    # freedom), and one that is taken to be large enough.
    too_small = n_scores + 2
    large_enough = MAX_SAMPLES
    while large_enough - too_small > 1:
        middle = (too_small + large_enough) // 2
        power = power_of_feature(
            share,
            freedom=middle - 1 - n_scores,
            n_scores=n_scores,
            n_features=n_features,
            level=level,
        )
        if power >= POWER:
            large_enough = middle
        else:
            too_small = middle
    # `large_enough` was never lowered: all numbers that were tried are too small.
    if large_enough == MAX_SAMPLES:
        raise InputError(
            f"more than {MAX_SAMPLES:,} samples would be needed; give a larger share explained."
        )
    return large_enough
