"""How good predictions are: R² and rank correlation, errors, concordance, each with an interval.

All are measured on samples that had no part in the rule. Intervals count fewer samples than there
are, which pays for rules that differ from fold to fold; their coverage is measured
(`python benchmarks/outcomes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit
from scipy.stats import rankdata

from chanceline._arrays import Bools, Floats, Ints
from chanceline._results import Result
from chanceline.prediction.crossval import EFFECTIVE_SHARE
from chanceline.prediction.interval import UPPER_QUANTILE, clopper_pearson
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions

# Samples that the intervals count, as shares of the independent ones: the rest pays for rules that
# differ from fold to fold. Chosen on nine other designs than those of `benchmarks/outcomes.py`,
# which measures the coverage.
R_SQUARED_SHARE = 0.35
CORRELATION_SHARE = 0.5
BALANCED_SHARE = 0.5
CONCORDANCE_SHARE = 0.35
# Variance of Fisher's z of a rank correlation, beside that of a plain one (Fieller et al. 1957).
RANK_VARIANCE = 1.06
# Correlations are pulled in here, so that Fisher's z is finite.
LARGEST_CORRELATION = 0.999
# Fewer effective samples tell nothing about a spread.
MIN_EFFECTIVE = 4.0


@dataclass(frozen=True)
class Measure:
    """One number that says how good predictions are.

    Attributes
    ----------
    name : what it is.
    value : its value on samples left out.
    interval : 95 % interval for the rule made from all samples.
    guess : its value for predictions without any feature.
    """

    name: str
    value: float
    interval: tuple[float, float]
    guess: float

    @property
    def in_words(self) -> str:
        """`R² 0.41 (95 % CI 0.20 to 0.62), guessing 0`."""
        low, high = self.interval
        value = f"{self.name} {self.value:.2f} (95 % CI {low:.2f} to {high:.2f})"
        return f"{value}, guessing {self.guess:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class Expectation(Result):
    """What to expect on new samples.

    Attributes
    ----------
    measures : the most important first.
    better_than_guessing : whether the whole interval of the first lies on the better side of what
        guessing gives.
    n_folds, n_repeats : of the cross-validation.
    class_names : of the rows and columns of `confusion`; empty where there are no classes.
    confusion : (classes, classes) samples of each class (row) that are called each class (column),
        a mean over repeats; None where there are no classes.
    """

    measures: tuple[Measure, ...]
    better_than_guessing: bool
    n_folds: int
    n_repeats: int
    class_names: tuple[str, ...] = ()
    confusion: Floats | None = None
    kind = "cross-validated"

    def summary(self) -> str:
        standing = "not clearly better than guessing"
        if self.better_than_guessing:
            standing = "better than guessing"
        return f"{standing}: {'; '.join(measure.in_words for measure in self.measures)}"


def r_squared(
    values: Floats, held_out: HeldOutPredictions, share: float = R_SQUARED_SHARE
) -> Measure:
    """R², 1 − Σ(y − ŷ)²/Σ(y − guess)², of predicted numbers.

    Its standard error is that of a ratio: with d and g the two squares of a sample, the sample
    moves R² by ((1 − R²) g − d)/mean(g), divided by the number of samples. So the standard error is
    the standard deviation of these changes by the root of the number of samples that count.

    Parameters
    ----------
    values : (samples,) the numbers.
    held_out : predictions of one column.
    share : of the independent samples that the interval counts; 1 for a rule fixed beforehand.
    """
    squares = np.mean((values - held_out.predicted[:, :, 0]) ** 2, axis=0)
    guess_squares = np.mean((values - held_out.guessed[:, :, 0]) ** 2, axis=0)
    value = 1 - squares.sum() / guess_squares.sum()
    changes = ((1 - value) * guess_squares - squares) / guess_squares.mean()
    n_effective = max(MIN_EFFECTIVE, share * held_out.n_independent(changes))
    standard_error = changes.std() / sqrt(n_effective)
    reach = float(stdtrit(n_effective - 1, UPPER_QUANTILE)) * standard_error
    interval = (float(value - reach), min(1.0, float(value + reach)))
    return Measure(name="R²", value=float(value), interval=interval, guess=0.0)


def rank_correlation(
    values: Floats, held_out: HeldOutPredictions, share: float = CORRELATION_SHARE
) -> Measure:
    """Spearman's correlation of numbers and predictions, both less what guessing gives.

    Parameters
    ----------
    values : (samples,) the numbers.
    held_out : predictions of one column.
    share : as in `r_squared`.
    """
    correlations = []
    for predicted, guessed in zip(held_out.predicted, held_out.guessed, strict=True):
        gain = predicted[:, 0] - guessed[:, 0]
        correlations.append(spearman(gain, values - guessed[:, 0]))
    value = float(np.mean(correlations))
    n_effective = share * held_out.n_independent(held_out.mean_prediction[:, 0])
    interval = correlation_interval(value, n_effective)
    return Measure(name="rank correlation", value=value, interval=interval, guess=0.0)


def spearman(first: Floats, second: Floats) -> float:
    """Correlation of the ranks, 0 where one of the two does not vary."""
    first_ranks = rankdata(first) - (len(first) + 1) / 2
    second_ranks = rankdata(second) - (len(second) + 1) / 2
    lengths = sqrt(float(first_ranks @ first_ranks) * float(second_ranks @ second_ranks))
    if lengths == 0:
        return 0.0
    return float(first_ranks @ second_ranks) / lengths


def correlation_interval(correlation: float, n_effective: float) -> tuple[float, float]:
    """95 % interval of a rank correlation by Fisher's z = artanh r, of variance 1.06/(n − 3).

    Parameters
    ----------
    correlation : r.
    n_effective : n.
    """
    centre = atanh(min(max(correlation, -LARGEST_CORRELATION), LARGEST_CORRELATION))
    reach = float(ndtri(UPPER_QUANTILE)) * sqrt(RANK_VARIANCE / max(n_effective - 3, 1.0))
    return tanh(centre - reach), tanh(centre + reach)


def error_rate(
    codes: Ints, held_out: HeldOutPredictions, share: float = EFFECTIVE_SHARE
) -> Measure:
    """Share of samples that are called a wrong class.

    Parameters
    ----------
    codes : (samples,) numbers 0, 1, … of the classes.
    held_out : predicted probabilities of the classes.
    share : as in `r_squared`.
    """
    value = float(np.mean(is_wrong(codes, held_out)))
    probability_of_own = held_out.mean_prediction[np.arange(len(codes)), codes]  # (samples,)
    n_effective = share * held_out.n_independent(1 - probability_of_own)
    # To guess is to call every sample the largest class.
    largest_share = float(np.bincount(codes).max()) / len(codes)
    return Measure(
        name="error",
        value=value,
        interval=clopper_pearson(value * n_effective, n_effective),
        guess=1 - largest_share,
    )


def balanced_error(
    codes: Ints, held_out: HeldOutPredictions, share: float = BALANCED_SHARE
) -> Measure:
    """Mean of the error rates e_c of the classes that have samples.

    Its variance is Σ_c e_c(1 − e_c)/n_c over the squared number of classes, with e_c moved towards
    one half by one error and one success, so that a class without error has a variance too.

    Parameters
    ----------
    codes : (samples,) numbers 0, 1, … of the classes.
    held_out : predicted probabilities of the classes.
    share : as in `r_squared`.
    """
    share_wrong = np.mean(is_wrong(codes, held_out), axis=0)  # (samples,) of the repeats
    has_samples = np.bincount(codes) > 0
    sizes = np.bincount(codes)[has_samples]  # (classes,) n_c
    n_classes = len(sizes)
    errors = np.bincount(codes, weights=share_wrong)[has_samples]  # (classes,) numbers
    value = float(np.mean(errors / sizes))

    # Only a share of the samples of every class counts for the interval.
    probability_of_own = held_out.mean_prediction[np.arange(len(codes)), codes]
    counted_share = share * held_out.n_independent(1 - probability_of_own) / len(codes)
    moved_rates = (errors + 1) / (sizes + 2)  # e_c, moved towards one half
    variances = moved_rates * (1 - moved_rates) / (counted_share * sizes)
    variance = np.sum(variances) / n_classes**2
    reach = float(ndtri(UPPER_QUANTILE)) * sqrt(variance)
    return Measure(
        name="balanced error",
        value=value,
        interval=(max(0.0, value - reach), min(1.0, value + reach)),
        guess=1 - 1 / n_classes,
    )


def is_wrong(codes: Ints, held_out: HeldOutPredictions) -> Bools:
    """(repeats, samples) whether the most probable class is another one."""
    called: Ints = held_out.predicted.argmax(axis=2)
    return called != codes


def confusion_matrix(codes: Ints, held_out: HeldOutPredictions) -> Floats:
    """Samples of each class (row) called each class (column), a mean over repeats."""
    n_classes = held_out.predicted.shape[2]
    counts = np.zeros((n_classes, n_classes))
    for called in held_out.predicted.argmax(axis=2):
        np.add.at(counts, (codes, called), 1.0)
    return counts / held_out.n_repeats


def concordance(
    times: Floats,
    events: Bools,
    held_out: HeldOutPredictions,
    share: float = CONCORDANCE_SHARE,
) -> Measure:
    """Harrell's concordance: of the pairs whose order in time is known, the share with the higher
    risk first.

    As a U-statistic C = Σh/Σw of pairs (i, j), with w_ij = 1 for a pair that can be compared and
    h_ij = 1 where it is concordant (½ at equal risks), it has the variance

        Σ_i (Σ_j (h_ij − C w_ij))²/(number of pairs)².

    Parameters
    ----------
    times, events : (samples,) the times, and whether the event was seen then.
    held_out : predictions of one column, large for high risk.
    share : as in `r_squared`.
    """
    sums = _pair_sums(times, events, held_out)
    n_pairs = sums.comparable.sum() / 2  # every pair is in the sums of both its samples
    if n_pairs == 0:
        return Measure(name="concordance", value=0.5, interval=(0.0, 1.0), guess=0.5)
    value = float(sums.concordant.sum() / (2 * n_pairs))  # C

    # The sums over j are over all repeats, and so is the number of pairs: it is as if h and w were
    # means over repeats.
    changes = sums.concordant - value * sums.comparable  # Σ_j (h_ij − C w_ij), (samples,)
    # Fewer samples count than there are, which makes the variance larger.
    counted_share = share * held_out.n_independent(changes) / len(times)
    standard_error = sqrt(np.sum(changes**2) / counted_share) / float(n_pairs)
    reach = float(ndtri(UPPER_QUANTILE)) * standard_error
    interval = (max(0.0, value - reach), min(1.0, value + reach))
    return Measure(name="concordance", value=value, interval=interval, guess=0.5)


class PairSums(NamedTuple):
    """Pairs with each sample, over all repeats: (samples,) how many are concordant (a tie is half),
    and how many can be compared.
    """

    concordant: Floats
    comparable: Floats


def _pair_sums(times: Floats, events: Bools, held_out: HeldOutPredictions) -> PairSums:
    """Count the pairs with each sample. Other folds have risks by other rules: no pair is of two.

    Parameters
    ----------
    times, events, held_out : as in `concordance`.
    """
    concordant = np.zeros(len(times))
    comparable = np.zeros(len(times))
    has_known_order = comparable_pairs(times, events)  # (samples, samples)
    for risks, folds in zip(held_out.predicted[:, :, 0], held_out.fold_of_sample, strict=True):
        pairs = has_known_order & (folds[:, None] == folds)
        # 1 where the first sample has the higher risk, ½ where it has the same.
        agreement = 0.5 + 0.5 * np.sign(risks[:, None] - risks)
        agreeing = pairs * agreement
        # Every pair counts for both of its samples.
        concordant += agreeing.sum(axis=0) + agreeing.sum(axis=1)
        comparable += pairs.sum(axis=0) + pairs.sum(axis=1)
    return PairSums(concordant, comparable)


def comparable_pairs(times: Floats, events: Bools) -> Bools:
    """(samples, samples) whether the first is known to have had the event before the second.

    At equal times a sample with the event comes before one whose time was cut off.
    """
    earlier = times[:, None] < times
    at_same_time = (times[:, None] == times) & ~events
    return events[:, None] & (earlier | at_same_time)
