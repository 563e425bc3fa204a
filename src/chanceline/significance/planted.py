"""The planted line: how many samples it takes to tell the true features from others.

Labels follow a rule on M of N features, and a share of them, the noise, is wrong. Two numbers of
samples matter before such a study:

* From which on does no *unrelated* set do as well, no set of M features without a true one? Such a
  set sees pure noise. So it stops doing as well at the chance line, taken at the errors of the best
  rule on the true features. With p(e) the distribution of its errors, and Λ(e) the typical number
  of unrelated sets that make no more than e (`log_typical_sets`), no such set does as well with
  probability

      Σ_e p(e) exp(−Λ(e)),

  as if their number were a Poisson variable; averaged over class sizes as well. The answer is the
  P at which this is one half. Independent Gaussian features have no preferred direction, so that
  p(e) does not depend on the true weights; it is simulated on the true features alone.
* From which on is the true set the *only* one? Sets that share some of its features live longer.
  There is no theory of them here: tables are simulated, with equal weights, and in each the rivals
  are searched for. Every other set lacks a true feature, so that one search without each of these
  decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, comb, floor, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from chanceline._arrays import Floats, Ints
from chanceline._parallel import Progress
from chanceline._results import Result
from chanceline.chance.shape import MAX_COUNT
from chanceline.errors import InputError, real_number, whole_number
from chanceline.select.api import search
from chanceline.select.pareto import front
from chanceline.significance.unrelated_sets import log_typical_sets

# Tables of the true features alone, for p(e): their numbers of wrong labels are spread evenly, so
# that few are enough.
TABLES_FOR_ERRORS = 100
# Numbers of errors at which the theory gives ln Λ; between them it is interpolated.
ERRORS_TRIED = 5
# Class sizes scatter like coins; their distribution is met by these quantiles.
CLASS_SIZE_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
# How often the numbers of samples around one half are brought nearer to each other.
STEPS_TO_HALF = 2
# Probabilities nearer to 0 or 1 are not told apart.
SMALLEST_PROBABILITY = 1e-6
# Swaps of the search for the best rule on the true features: there is nothing to choose.
SWAPS_ON_TRUE_FEATURES = 300
# Swaps of a search for rivals. On 24 tables of 50, 500 and 2000 features this budget decided as the
# default did, which takes 17 to 85 times as long; a quarter of it missed one rival.
SWAPS_FOR_RIVALS = 4000
# Studies that grow are followed to this share of their samples, much less than they differ.
ALONE_RESOLUTION = 0.03
# Rivals that share features need about this many times the samples of unrelated ones to disappear.
ALONE_RATIO = 1.5
# Numbers of samples are bracketed by steps of this ratio ...
BRACKET_RATIO = 1.25
# ... and none beyond this many times the first guess is tried.
MAX_RATIO_TO_GUESS = 64
LARGEST_LOG_NUMBER = 50.0  # of sets
LARGEST_NOISE = 0.4  # nearer to one half there is next to nothing to find
MAX_TRUE_FEATURES = 12  # up to which few errors are found reliably
FEWEST_SAMPLES = 4


@dataclass(frozen=True)
class PlantedRule:
    """A rule that labels follow.

    Attributes
    ----------
    n_features, n_true : N, and M of them with equal weights.
    noise : share of the labels that are wrong.
    intercept : whether rules that are fitted have a threshold; the true one is 0.
    """

    n_features: int
    n_true: int
    noise: float
    intercept: bool

    def draw(
        self, n_samples: int, n_columns: int, seed: int, n_wrong: int | None = None
    ) -> PlantedTable:
        """Simulate a table: Gaussian features, and labels by the rule, some of them wrong.

        With the same seed and the same number of columns, a larger table begins with the samples of
        a smaller one.

        Parameters
        ----------
        n_samples : number of samples.
        n_columns : number of features drawn; the true ones come first.
        seed : seed of the table.
        n_wrong : number of wrong labels; by default every label is wrong with probability `noise`.
        """
        # Separate generators, so that further samples do not change the noise of the first ones.
        feature_rng, noise_rng = np.random.default_rng(seed).spawn(2)
        X = feature_rng.standard_normal((n_samples, n_columns))
        # The rule weighs the true features equally, with threshold 0.
        right_labels = np.where(X[:, : self.n_true].sum(axis=1) > 0, 1.0, -1.0)

        # Wrong are the labels with the smallest random numbers: those below `noise`, or n_wrong.
        uniform = noise_rng.random(n_samples)
        if n_wrong is None:
            is_wrong = uniform < self.noise
        else:
            order = np.argsort(uniform)  # samples, that of the smallest number first
            rank_of_sample = np.argsort(order)  # the place of each sample in this order
            is_wrong = rank_of_sample < n_wrong
        return PlantedTable(X=X, y=np.where(is_wrong, -right_labels, right_labels))


class PlantedTable(NamedTuple):
    """A simulated table: X (samples, columns) and labels ±1."""

    X: Floats
    y: Floats


class SampleCount(NamedTuple):
    """A number of samples that was simulated, and its standard error."""

    samples: float
    error: float


@dataclass(frozen=True, repr=False)
class PlantedPlan(Result):
    """From how many samples on the true features stand out.

    Attributes
    ----------
    no_unrelated : number of samples from which on, in half of all tables, no set without a true
        feature does as well as the true one; by theory.
    errors : the fewest errors of a rule on the true features there, on average.
    alone : number of samples from which on, in half of all tables, no other set at all does as
        well; simulated. None if it was not asked for.
    alone_error : its standard error.
    n_tables : tables simulated for it.
    n_features, n_true, noise, intercept : as asked.
    """

    no_unrelated: float
    errors: float
    alone: float | None
    alone_error: float | None
    n_tables: int
    n_features: int
    n_true: int
    noise: float
    intercept: bool

    kind = "asymptotic (replica method) and simulated, for independent features"

    def summary(self) -> str:
        text = (
            f"no unrelated {self.n_true} of {self.n_features} features do as well from about "
            f"{self.no_unrelated:.0f} samples on"
        )
        if self.alone is not None:
            text += f"; the true set is the only one from {self.alone:.0f} ± {self.alone_error:.0f}"
        return text

    __str__ = summary


def planted_plan(  # noqa: PLR0913
    n_features: int,
    n_selected: int,
    *,
    noise: float = 0.0,
    intercept: bool = True,
    tables: int = 40,
    seed: int = 0,
    progress: Progress | None = None,
) -> PlantedPlan:
    """How many samples a study needs to find the true features, by theory and by simulation.

    Labels follow a rule on M of N features, the true ones. There are two answers, each for half of
    all tables:

    * From how many samples on does no unrelated set, one without any true feature, do as well as
      the true features? This comes from theory.
    * From how many samples on does no other set at all do as well? Then the true set is alone. This
      is simulated.

    Parameters
    ----------
    n_features, n_selected
        N, and the number M of true features, up to 12.
    noise
        Share of the labels that are wrong, below 0.4. Up to 0.2 the theory is right to about four
        per cent (`benchmarks/planted.py`).
    intercept
        Whether rules have a free threshold.
    tables
        Number of tables to simulate for the second answer; 0 to leave it out.
    seed
        Seed of the simulations.
    progress
        Called with (tables done, tables).
    """
    rule = _checked_rule(n_features, n_selected, noise, intercept)
    tables = whole_number(tables, "the number of tables to simulate")
    seed = whole_number(seed, "the seed")

    # Samples until no unrelated set does as well, by theory.
    beats_unrelated = samples_to_beat_unrelated(rule, seed)

    # Samples until no other set does as well, by simulation. It begins near the number of the
    # theory times a ratio that is typical.
    samples_until_alone = None
    standard_error = None
    if tables > 0:
        first_guess = ALONE_RATIO * beats_unrelated.samples
        beats_all = samples_to_beat_all(rule, first_guess, tables, seed=seed, progress=progress)
        samples_until_alone = beats_all.samples
        standard_error = beats_all.error
    return PlantedPlan(
        no_unrelated=beats_unrelated.samples,
        errors=beats_unrelated.errors,
        alone=samples_until_alone,
        alone_error=standard_error,
        n_tables=tables,
        n_features=rule.n_features,
        n_true=rule.n_true,
        noise=rule.noise,
        intercept=intercept,
    )


def _checked_rule(n_features: int, n_selected: int, noise: float, intercept: bool) -> PlantedRule:
    """Make the rule that labels follow; raise `InputError` if a number is not within its limits.

    Parameters
    ----------
    n_features : number of features.
    n_selected : how many of them are true: the rule uses these.
    noise : share of the labels that are wrong.
    intercept : whether the rules that are fitted have a threshold.
    """
    n_features = whole_number(n_features, "the number of features", at_least=2, at_most=MAX_COUNT)
    # An unrelated set has as many features as the true set, none of them true: so at most half of
    # all features can be true.
    most_true = min(MAX_TRUE_FEATURES, n_features // 2)
    n_true = whole_number(n_selected, "the number of true features", at_least=1, at_most=most_true)
    noise = real_number(noise, "the noise, the share of wrong labels,")
    if not 0 <= noise < LARGEST_NOISE:
        raise InputError(
            f"the noise, the share of wrong labels, must be at least 0 and below "
            f"{LARGEST_NOISE:g}, not {noise:g}."
        )
    return PlantedRule(n_features, n_true, noise, intercept)


class SamplesToBeatUnrelated(NamedTuple):
    """The number of samples from which on unrelated sets do worse than the true features, and the
    mean number of errors of the true features there.
    """

    samples: float
    errors: float


def samples_to_beat_unrelated(rule: PlantedRule, seed: int = 0) -> SamplesToBeatUnrelated:
    """How many samples it takes until the true features beat every unrelated set.

    A set is unrelated if it has no true feature. At the number of samples returned, the probability
    that no unrelated set does as well as the true features is one half.

    Parameters
    ----------
    rule : the rule that labels follow.
    seed : seed of the simulated tables that give the errors of the true features.

    Returns
    -------
    The number of samples, and the mean number of errors of the true features there.
    """

    @cache
    def quantile(n_samples: int) -> float:
        """The probability as a normal quantile, 0 where it is one half.

        Against ln(samples) quantiles lie nearly on a straight line, and are easy to interpolate.
        """
        probability = probability_of_no_unrelated(rule, n_samples, seed)
        # 0 and 1 have no finite quantile.
        probability = max(probability, SMALLEST_PROBABILITY)
        probability = min(probability, 1 - SMALLEST_PROBABILITY)
        return float(ndtri(probability))

    samples = _where_quantile_is_zero(quantile, first_guess(rule))
    errors_of_tables = draw_true_errors(rule, round(samples), seed)
    return SamplesToBeatUnrelated(samples=samples, errors=float(errors_of_tables.mean()))


def _where_quantile_is_zero(quantile: Callable[[int], float], guess: float) -> float:
    """Find the number of samples P at which a rising function is 0, by regula falsi in ln P.

    Parameters
    ----------
    quantile : the function of a whole number P; nearly a straight line in ln P.
    guess : a rough estimate of the result.

    Returns
    -------
    The number of samples, interpolated between whole numbers. It is `FEWEST_SAMPLES` if the
    function is not negative even there.
    """

    def zero_of_line(low: int, high: int) -> float:
        """Where the straight line in ln P through the function at two numbers of samples is 0.

        The line reaches 0 after a share s of the way from ln(low) to ln(high), that is at
        P = low·(high/low)^s.
        """
        value_at_low = quantile(low)
        value_at_high = quantile(high)
        share_of_way = value_at_low / (value_at_low - value_at_high)
        return float(low * (high / low) ** share_of_way)

    # Bracket the zero: the function is negative at `low`, and not negative at `high`.
    low, high = _bracket_number_of_samples(lambda n_samples: quantile(n_samples) >= 0, guess)
    if low == high:
        return float(low)
    # Narrow the bracket. A few steps are enough, because the function is nearly a straight line.
    for _ in range(STEPS_TO_HALF):
        estimate = round(zero_of_line(low, high))
        if quantile(estimate) >= 0:
            high = estimate
        else:
            low = estimate
    return zero_of_line(low, high)


def probability_of_no_unrelated(rule: PlantedRule, n_samples: int, seed: int = 0) -> float:
    """How likely no unrelated set, one without a true feature, does as well as the true features.

    The probability is Σ_e p(e) exp(−Λ(e)). Here p(e) is the probability that the true features make
    e errors. Λ(e) is the typical number of unrelated sets with at most e errors; taken as the mean
    of a Poisson variable, it gives the probability exp(−Λ) that there is none.

    Λ also depends on the number of positive samples, which is random: the probability is the mean
    over a few sizes of the positive class, quantiles of its distribution with equal weights.

    Parameters
    ----------
    rule : the rule that labels follow.
    n_samples : number of samples.
    seed : seed of the simulated tables from which p(e) is taken.
    """
    # The errors e of the true features in simulated tables, (tables,): draws from p(e).
    errors_of_table = draw_true_errors(rule, n_samples, seed)
    fewest_errors = errors_of_table.min()
    most_errors = errors_of_table.max()

    # ln Λ takes long to compute: do so for a few of these numbers of errors, and interpolate.
    grid_points = np.linspace(fewest_errors, most_errors, ERRORS_TRIED).round().astype(int)
    error_grid = np.unique(grid_points)
    log_n_sets = _log_unrelated_sets(rule, n_samples, error_grid)  # ln Λ, (grid, class sizes)

    # For each class size: the mean of exp(−Λ) over the tables, which is Σ_e p(e) exp(−Λ(e)).
    probabilities = []
    for log_n_sets_on_grid in log_n_sets.T:
        log_n_sets_of_table = np.interp(errors_of_table, error_grid, log_n_sets_on_grid)
        n_sets_of_table = np.exp(log_n_sets_of_table)  # Λ, (tables,)
        probability_of_none = np.exp(-n_sets_of_table)
        probabilities.append(np.mean(probability_of_none))
    return float(np.mean(probabilities))


def _log_unrelated_sets(rule: PlantedRule, n_samples: int, error_grid: Ints) -> Floats:
    """ln Λ(e): Λ is the typical number of unrelated sets of features that make at most e errors.

    An unrelated set has as many features as the true set, but none of the true features. The number
    depends on the size of the positive class, too. This size is binomial, and some quantiles of its
    distribution stand for all class sizes.

    Parameters
    ----------
    rule : the rule that labels follow.
    n_samples : number of samples.
    error_grid : (grid,) the numbers of errors e.

    Returns
    -------
    (grid, class sizes), limited to ±`LARGEST_LOG_NUMBER`.
    """
    quantiles = binom.ppf(CLASS_SIZE_QUANTILES, n_samples, 0.5)
    positive_class_sizes = np.clip(quantiles, 1, n_samples - 1).astype(int).tolist()
    n_unrelated_features = rule.n_features - rule.n_true
    log_n_sets = []  # for each number of errors, a list over the class sizes
    for n_errors in error_grid:
        log_n_sets_of_class_sizes = log_typical_sets(
            n_samples,
            n_features=n_unrelated_features,
            n_selected=rule.n_true,
            positives=positive_class_sizes,
            errors=int(n_errors),
            intercept=rule.intercept,
        )
        log_n_sets.append(log_n_sets_of_class_sizes)
    # Interpolation needs finite numbers. Beyond the limits they make no difference to exp(−Λ).
    return np.clip(log_n_sets, -LARGEST_LOG_NUMBER, LARGEST_LOG_NUMBER)


def draw_true_errors(rule: PlantedRule, n_samples: int, seed: int = 0) -> Ints:
    """Simulate the fewest errors that a rule on the true features makes, in many tables: (tables,).

    The number of wrong labels of each table is not drawn at random: the tables have the quantiles
    of its binomial distribution at evenly spaced probabilities, which needs fewer tables for the
    same accuracy.

    Parameters
    ----------
    rule : the rule that labels follow, and their noise.
    n_samples : number of samples of each table.
    seed : table k has the seed `seed + k`.
    """
    if rule.noise == 0:
        # The rule itself makes no error in any table: one entry is enough.
        return np.zeros(1, dtype=np.int64)
    probabilities = (np.arange(TABLES_FOR_ERRORS) + 0.5) / TABLES_FOR_ERRORS
    n_wrong_of_table = binom.ppf(probabilities, n_samples, rule.noise).astype(int).tolist()
    errors = []
    for table_number, n_wrong in enumerate(n_wrong_of_table):
        table = rule.draw(n_samples, rule.n_true, seed=seed + table_number, n_wrong=n_wrong)
        errors.append(fewest_true_errors(rule, table))
    return np.array(errors, dtype=np.int64)


def first_guess(rule: PlantedRule) -> float:
    """ln C(N, M)/(ln 2 − h(noise)), h the entropy: the line for M much smaller than N."""
    entropy = 0.0
    if rule.noise > 0:
        entropy = -rule.noise * log(rule.noise) - (1 - rule.noise) * log(1 - rule.noise)
    guess = log(comb(rule.n_features, rule.n_true)) / (log(2) - entropy)
    return max(guess, FEWEST_SAMPLES)


def fewest_true_errors(rule: PlantedRule, table: PlantedTable) -> int:
    """The fewest errors that a search finds for a linear rule on the true features.

    Parameters
    ----------
    rule : the number of true features, and whether fitted rules have a threshold.
    table : a simulated table, whose first columns are the true features.
    """
    true_columns = table.X[:, : rule.n_true]
    # The fewest errors with at most 1, 2, …, n_true features.
    best_by_size = front(
        true_columns,
        table.y,
        intercept=rule.intercept,
        max_features=rule.n_true,
        budget=SWAPS_ON_TRUE_FEATURES,
    )
    return int(best_by_size.errors[-1])


def _bracket_number_of_samples(is_enough: Callable[[int], bool], guess: float) -> tuple[int, int]:
    """Find two numbers of samples, of which the first is not enough and the second is.

    From the guess, the number falls or rises by a constant ratio until the answer changes.

    Parameters
    ----------
    is_enough : whether a number of samples is enough.
    guess : a rough estimate of the number from which on samples are enough.

    Returns
    -------
    The two numbers. If `FEWEST_SAMPLES`, the smallest number possible, is enough, both are equal
    to it.
    """
    high = max(FEWEST_SAMPLES, round(guess))
    low = high
    # If the guess is enough, go down; the second loop then ends at once, as `high` is enough.
    while is_enough(low):
        high = low
        if low == FEWEST_SAMPLES:
            return low, high
        low = max(FEWEST_SAMPLES, floor(low / BRACKET_RATIO))
    # Else go up.
    while not is_enough(high):
        low = high
        high = ceil(high * BRACKET_RATIO)
        if high > MAX_RATIO_TO_GUESS * guess:
            raise InputError(
                f"even {low:,} samples are not enough; ask about less noise or fewer features."
            )
    return low, high


def samples_to_beat_all(
    rule: PlantedRule,
    guess: float,
    n_tables: int,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> SampleCount:
    """Simulate how many samples it takes until no other set does as well as the true features.

    Every simulated table is a study that grows: bisection finds the number of samples from which on
    the true set is alone. The result is the median of these numbers, with its standard error.

    Parameters
    ----------
    rule : the rule that labels follow.
    guess : a rough estimate of the result.
    n_tables : number of tables to simulate.
    seed : table k has the seed `seed + k`.
    progress : called with (tables done, tables).
    """
    counts = []
    for table_number in range(n_tables):
        counts.append(_samples_to_beat_all_in_one_study(rule, guess, seed=seed + table_number))
        if progress is not None:
            progress(table_number + 1, n_tables)
    counts.sort()

    # The standard error of the median. Each of the n counts lies below the true median with
    # probability one half, so that n/2 ± √n/2 of them do (mean and standard deviation). The counts
    # at these two ranks are about two standard errors apart.
    rank_deviation = sqrt(n_tables) / 2
    lower_position = max(0, floor(n_tables / 2 - rank_deviation))
    upper_position = min(n_tables - 1, ceil(n_tables / 2 + rank_deviation) - 1)
    two_standard_errors = counts[upper_position] - counts[lower_position]
    return SampleCount(samples=float(np.median(counts)), error=two_standard_errors / 2)


def _samples_to_beat_all_in_one_study(rule: PlantedRule, guess: float, seed: int) -> float:
    """How many samples it takes until the true set is the only one so good, in one growing study.

    Parameters
    ----------
    rule : the rule that labels follow.
    guess : a rough estimate of the result.
    seed : seed of the study.
    """

    @cache
    def is_alone(n_samples: int) -> bool:
        # With the same seed a larger table begins with the samples of the smaller one.
        table = rule.draw(n_samples, n_columns=rule.n_features, seed=seed)
        return true_set_is_alone(rule, table)

    # Bisection, with the true set not yet alone at `low`, and alone at `high`. It ends when the two
    # are near each other, relative to their size: studies differ by much more.
    low, high = _bracket_number_of_samples(is_alone, guess)
    while high - low > max(1, ALONE_RESOLUTION * high):
        middle = (low + high) // 2
        if is_alone(middle):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def true_set_is_alone(rule: PlantedRule, table: PlantedTable) -> bool:
    """Whether no other set of as many features is found that makes as few errors.

    Another set lacks at least one of the true features: it is searched for without each of them.
    """
    errors = fewest_true_errors(rule, table)
    return not any(
        _others_do_as_well(rule, table, errors, excluded_columns=[true_column])
        for true_column in range(rule.n_true)
    )


def unrelated_set_does_as_well(rule: PlantedRule, table: PlantedTable) -> bool:
    """Whether a set without any true feature is found that makes as few errors as the true set."""
    errors = fewest_true_errors(rule, table)
    all_true_columns = list(range(rule.n_true))
    return _others_do_as_well(rule, table, errors, excluded_columns=all_true_columns)


def _others_do_as_well(
    rule: PlantedRule, table: PlantedTable, errors_of_true_set: int, excluded_columns: list[int]
) -> bool:
    """Whether a search without some columns finds a set of features as good as the true one.

    As good means: at most as many features, and at most as many errors.

    Parameters
    ----------
    rule : the number of true features, and whether fitted rules have a threshold.
    table : a simulated table.
    errors_of_true_set : the fewest errors of a rule on the true features.
    excluded_columns : columns of the table that the search may not use.
    """
    result = search(
        np.delete(table.X, excluded_columns, axis=1),
        table.y,
        intercept=rule.intercept,
        errors=errors_of_true_set,
        target=rule.n_true,  # it stops at a set of at most this size
        budget=SWAPS_FOR_RIVALS,
    )
    found = result.rule
    return found.errors <= errors_of_true_set and found.n_selected <= rule.n_true
