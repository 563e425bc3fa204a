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
    """Cross-validated R² = 1 − Σd/Σg, with its 95 % interval.

    Of each sample, d = (y − ŷ)² is the squared error of the rule's prediction, and g = (y − guess)²
    that of a guess without features, such as the training mean. Both are means over repeats.

    R² is a ratio of two sums. By the delta method it has the standard error of the mean of
    ((1 − R²) g − d)/mean(g) over the samples: the standard deviation of these terms, divided by
    √n_effective.

    Parameters
    ----------
    values : (samples,) y, the observed numbers.
    held_out : predictions and guesses of samples left out, in one column.
    share : the share of the independent samples that counts for the interval. It is below 1 because
        the rules of the folds differ; 1 would be right for a rule fixed beforehand.
    """
    squared_errors = np.mean((values - held_out.predicted[:, :, 0]) ** 2, axis=0)  # (samples,) d
    guess_errors = np.mean((values - held_out.guessed[:, :, 0]) ** 2, axis=0)  # (samples,) g
    r2 = 1 - squared_errors.sum() / guess_errors.sum()

    # The interval by Student's t. `n_independent` is smaller than the number of samples if the
    # terms of samples of one unit, such as a patient, are similar.
    terms = ((1 - r2) * guess_errors - squared_errors) / guess_errors.mean()  # (samples,)
    n_effective = max(MIN_EFFECTIVE, share * held_out.n_independent(terms))
    standard_error = terms.std() / sqrt(n_effective)
    t_quantile = float(stdtrit(n_effective - 1, UPPER_QUANTILE))
    half_width = t_quantile * standard_error
    # R² is at most 1, but has no lower limit. By definition R² of guessing is 0.
    interval = (float(r2 - half_width), min(1.0, float(r2 + half_width)))
    return Measure(name="R²", value=float(r2), interval=interval, guess=0.0)


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
    """Share of the samples whose predicted class is wrong, with its 95 % interval.

    Parameters
    ----------
    codes : (samples,) the true classes, numbered 0, 1, ….
    held_out : predicted probabilities of the classes for samples left out.
    share : the share of the independent samples that counts for the interval, as in `r_squared`.
    """
    value = float(np.mean(is_wrong(codes, held_out)))  # over repeats and samples

    # The samples of one unit, such as a patient, count as fewer independent samples, the more
    # similar their probabilities of wrong classes are.
    probability_of_truth = held_out.mean_prediction[np.arange(len(codes)), codes]  # (samples,)
    n_effective = share * held_out.n_independent(1 - probability_of_truth)

    # A guess calls every sample the largest class.
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
    """Mean of the error rates e_c over the classes that have samples, with its 95 % interval.

    Of C classes with n_c samples each, the variance is Σ_c e_c(1 − e_c)/n_c, divided by C². There
    e_c is (errors + 1)/(n_c + 2) instead of errors/n_c, so that a class without error has a
    variance too.

    Parameters
    ----------
    codes : (samples,) the true classes, numbered 0, 1, ….
    held_out : predicted probabilities of the classes for samples left out.
    share : the share of the independent samples that counts for the interval, as in `r_squared`.
    """
    # The share of the repeats in which a sample's predicted class is wrong: (samples,).
    wrong_share = np.mean(is_wrong(codes, held_out), axis=0)
    # Sizes and numbers of errors of the classes that have samples: (classes,).
    sizes_of_codes = np.bincount(codes)
    has_samples = sizes_of_codes > 0
    sizes = sizes_of_codes[has_samples]  # n_c
    n_classes = len(sizes)
    errors = np.bincount(codes, weights=wrong_share)[has_samples]
    value = float(np.mean(errors / sizes))

    # The number of independent samples: smaller than the number of samples if samples of one unit
    # (such as a patient) have similar residuals. The residual is 1 − probability of the true class.
    n_samples = len(codes)
    probability_of_true_class = held_out.mean_prediction[np.arange(n_samples), codes]
    n_independent = held_out.n_independent(1 - probability_of_true_class)

    # For the interval, each class has only a part of its n_c samples: as many as the samples that
    # count, relative to all samples.
    counted_fraction = share * n_independent / n_samples
    counted_sizes = counted_fraction * sizes
    smoothed_rates = (errors + 1) / (sizes + 2)
    variances = smoothed_rates * (1 - smoothed_rates) / counted_sizes
    variance = np.sum(variances) / n_classes**2
    half_width = float(ndtri(UPPER_QUANTILE)) * sqrt(variance)
    interval = (max(0.0, value - half_width), min(1.0, value + half_width))
    return Measure(
        name="balanced error",
        value=value,
        interval=interval,
        # A guess calls all samples one class: it errs on all other classes.
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
    """Harrell's concordance C with its 95 % interval.

    Some pairs of samples can be compared: it is known which sample had the event first. Among these
    pairs, C is the share in which the sample with the earlier event has the higher predicted risk.

    C = Σh/Σw is a ratio of sums over pairs (i, j): w_ij = 1 if the pair can be compared, and
    h_ij = 1 if it is concordant (½ at equal risks), else 0. As a U-statistic it has the variance

        Σ_i (Σ_j (h_ij − C w_ij))²/(number of pairs)².

    Parameters
    ----------
    times : (samples,) the time of the event, or the time at which observation ended.
    events : (samples,) whether the event was seen at that time.
    held_out : predictions of samples left out, one column; larger for higher risk.
    share : the share of the independent samples that counts for the interval, as in `r_squared`.
    """
    # For every sample i the two sums over j, Σ_j h_ij and Σ_j w_ij, (samples,) each. Both are also
    # summed over the repeats of the cross-validation. The number of repeats is a common factor of
    # numerator and denominator, in C and in the standard error, and cancels.
    sums = _pair_sums(times, events, held_out)
    n_pairs = sums.comparable.sum() / 2  # every pair is in the sums of both its samples
    if n_pairs == 0:
        # Nothing can be compared: nothing is known about C.
        return Measure(name="concordance", value=0.5, interval=(0.0, 1.0), guess=0.5)
    value = float(sums.concordant.sum() / (2 * n_pairs))  # C

    # Σ_j (h_ij − C w_ij), (samples,): by how much the concordant pairs of sample i exceed the share
    # C of its comparable pairs.
    excesses = sums.concordant - value * sums.comparable
    # The variance of the docstring is that of independent samples. If only a fraction of them
    # counts, it is larger by the inverse of this fraction.
    counted_fraction = share * held_out.n_independent(excesses) / len(times)
    variance_of_sum = np.sum(excesses**2) / counted_fraction
    standard_error = sqrt(variance_of_sum) / float(n_pairs)
    half_width = float(ndtri(UPPER_QUANTILE)) * standard_error
    interval = (max(0.0, value - half_width), min(1.0, value + half_width))
    return Measure(name="concordance", value=value, interval=interval, guess=0.5)


class PairSums(NamedTuple):
    """Pairs with each sample, over all repeats: (samples,) how many are concordant (a tie is half),
    and how many can be compared.
    """

    concordant: Floats
    comparable: Floats


def _pair_sums(times: Floats, events: Bools, held_out: HeldOutPredictions) -> PairSums:
    """For each sample, count its comparable and its concordant pairs, over all repeats.

    A pair is comparable if it is known which sample had the event first. It is concordant if the
    sample with the earlier event has the higher predicted risk; equal risks count one half. Only
    pairs within a fold count, because the risks of different folds come from different rules.

    Parameters
    ----------
    times : (samples,) the time of the event, or the time at which observation ended.
    events : (samples,) whether the event was seen at that time.
    held_out : predicted risks, (repeats, samples, 1), and the folds, (repeats, samples).
    """
    concordant = np.zeros(len(times))
    comparable = np.zeros(len(times))
    # Entry [i, j] of each matrix (samples, samples) is for a pair in which i had the event first.
    has_known_order = comparable_pairs(times, events)
    # One turn for each repeat, with the risk and the fold of every sample.
    for risks, folds in zip(held_out.predicted[:, :, 0], held_out.fold_of_sample, strict=True):
        is_same_fold = folds[:, None] == folds
        is_comparable = has_known_order & is_same_fold
        # 1 where sample i has the higher risk, ½ where risks are equal, 0 where j has it.
        agreement = 0.5 + 0.5 * np.sign(risks[:, None] - risks)
        concordance_of_pair = is_comparable * agreement
        # A pair has one entry. It counts for both samples: along the rows and along the columns.
        concordant += concordance_of_pair.sum(axis=0) + concordance_of_pair.sum(axis=1)
        comparable += is_comparable.sum(axis=0) + is_comparable.sum(axis=1)
    return PairSums(concordant, comparable)


def comparable_pairs(times: Floats, events: Bools) -> Bools:
    """(samples, samples) whether the first is known to have had the event before the second.

    At equal times a sample with the event comes before one whose time was cut off.
    """
    earlier = times[:, None] < times
    at_same_time = (times[:, None] == times) & ~events
    return events[:, None] & (earlier | at_same_time)
