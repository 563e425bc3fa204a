"""How many sets of M features make no more than e errors on labels that ignore them, typically.

It starts from an exact count, the expected number of pairs of a set and a *split*, a labelling that
the set separates, within e flips of the labels. Such pairs come in clumps: sets that share features
do well together, and so do neighbouring splits of one set. So the expected number is too large by a
factor e^Δ, the clump:

    ln typical = ln expected − Δ.

Two things are known about Δ.

* M → ∞: the replica method has the density ρ_VS at which typical tables have one set; the expected
  number is one at a density ρ_splits below. Hence Δ_∞ = ln expected(M) − ln expected(M − shift),
  shift = N(ρ_VS − ρ_splits).
* Splits of one set: along a line, as those of one column by thresholds, the reflection principle
  gives the probability of at least one, and so their clump Δ_line; it is 0 without errors. A rule
  can be moved in M directions with a threshold, in M − 1 without. As if these were independent,
  Δ_set = directions · Δ_line. For M = 1, where sets share nothing, this is exact.

The rest, Δ_∞ − Δ_set, is due to sets that share features, and less for few features:

    Δ = Δ_set + (1 − c)(Δ_∞ − Δ_set),    c = 2/(M(M + 1)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from chanceline._arrays import Floats, Ints
from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.chance.cover import log_cover
from chanceline.chance.gaussian_cones import log_separable
from chanceline.chance.hamming import log_hamming_ball, log_neighbours
from chanceline.theory.chance_line import density_at
from chanceline.theory.closed_forms import binary_entropy, first_moment_exponent
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.gardner import gardner

# The theory has no half of all labels wrong.
MAX_ERROR_RATE = 0.49
# The density at which one split is expected is sought between these; true sets have at most half of
# the features.
SMALLEST_DENSITY = 1e-12
LARGEST_DENSITY = 0.5


def log_typical_sets(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    n_selected: int,
    *,
    positives: Sequence[int],
    errors: int,
    intercept: bool,
) -> list[float]:
    """ln of how many sets of M features typically make at most e errors, near where there is one.

    It is −∞ where all features together fail, and ∞ where a constant rule suffices.

    Parameters
    ----------
    n_samples, n_features, n_selected
        P, N and M.
    positives
        Sizes of one class; the number is returned for each. The shift of the module's text is that
        of equal classes.
    errors
        e, the errors that a set may make.
    intercept
        Whether rules have a free threshold.
    """
    return [
        NoiseSets(n_samples, n_features, class_size, errors, intercept).log_typical(n_selected)
        for class_size in positives
    ]


@dataclass(frozen=True)
class NoiseSets:
    """Sets of independent Gaussian features, on labels that ignore them.

    Attributes
    ----------
    n_samples, n_features : P and N.
    positives : size of one class.
    errors : e, the errors that a set may make.
    intercept : whether rules have a free threshold.
    """

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

    def log_typical(self, size: int) -> float:
        """ln of how many sets of this size there typically are, as `log_typical_sets` says."""
        if self.constant_rule_suffices:
            return math.inf
        shift = _asymptotic_shift(self.n_samples, self.n_features, self.errors)
        if shift is None:
            return -math.inf
        return self.log_expected(size) - self.log_clump(size, shift)

    def log_expected(self, size: int) -> float:
        """ln of the expected number of pairs of a set of this size and a split within e flips."""
        log_sets = float(log_binomial(self.n_features, size))
        return log_sets + self._log_expected_separated_labellings(size)

    def _log_expected_separated_labellings(self, size: int) -> float:
        """ln of the expected number of labellings near the observed one that one set separates.

        A set of features separates a labelling if a linear rule on them makes no errors on it. A
        labelling is near the observed one if it differs in at most e labels (`errors`). The
        expected number is a sum over the number k of positives in a labelling:

            Σ_k (number of near labellings with k positives)
                · (probability that a labelling with k positives is separated).

        Parameters
        ----------
        size : number of features in the set.
        """
        if not self.intercept:
            # For rules without a threshold, the probability does not depend on k: of all 2^P
            # labellings of P points in general position, the same number is separated (Cover). So
            # the near labellings of every k are counted together.
            log_separated_labellings = log_cover(self.n_samples, size)
            log_all_labellings = self.n_samples * LOG2
            log_probability = log_separated_labellings - log_all_labellings
            log_near_labellings = log_hamming_ball(self.n_samples, self.errors)
            return log_probability + log_near_labellings

        # Every number k of positives that occurs, and the logarithms of both factors: (k,) each.
        numbers_of_positives, log_near_labellings_of_k = self._log_near_labellings()
        log_probability_of_k = []
        for n_positives in numbers_of_positives.tolist():
            log_probability_of_k.append(_log_separable(self.n_samples, n_positives, size))
        log_terms = log_near_labellings_of_k + np.array(log_probability_of_k)
        return float(logsumexp(log_terms))

    def _log_near_labellings(self) -> tuple[Ints, Floats]:
        """How many labellings with k positives differ from the observed one in at most e labels.

        Returns
        -------
        The values of k, and ln of the number of labellings for each: (class sizes,) both.
        """
        # Counted the other way round: labellings with our n₊ positives around one with k.
        class_sizes, log_around_one = log_neighbours(self.n_samples, self.positives, self.errors)
        # Both ways count the same pairs: C(P, n₊) · (wanted number) = C(P, k) · (around one).
        log_numbers = (
            log_around_one
            + log_binomial(self.n_samples, class_sizes)
            - float(log_binomial(self.n_samples, self.positives))
        )
        return class_sizes, log_numbers

    def log_clump(self, size: int, shift: float) -> float:
        """ln(expected number / typical number) of sets of this size that fit the labels.

        The expected number is larger because fits come in clumps: where one set fits, its
        neighbours do. With M features the logarithm Δ lies between that of the neighbouring splits
        of one set and that of the limit of many features:

            Δ = Δ_set + (1 − c)(Δ_∞ − Δ_set),    c = 2/(M(M + 1)).

        c is an interpolation, without a derivation. It was chosen, rather than 1/M and 1/M², by
        exact counts without noise (2 of 50, 2 of 400 and 3 of 50 features) and the first nine rows
        of `benchmarks/planted.py`. Its other rows came later.

        Parameters
        ----------
        size : M.
        shift : in the limit of many features, the number of features by which the typical size is
            above the size at which one fit is expected.
        """
        # A rule can be moved in as many directions as it has free weights, up to a common factor.
        n_directions = size if self.intercept else size - 1
        log_clump_of_set = n_directions * self._log_clump_on_line()  # Δ_set
        weight_of_set = 2 / (size * (size + 1))  # c
        if weight_of_set == 1:
            # One feature: sets have nothing in common.
            return log_clump_of_set
        log_clump_of_many = self._log_clump_of_many(size, shift)  # Δ_∞
        return log_clump_of_set + (1 - weight_of_set) * (log_clump_of_many - log_clump_of_set)

    def _log_clump_of_many(self, size: int, shift: float) -> float:
        """Δ_∞ = ln expected(M) − ln expected(M − shift), on the line between whole sizes.

        Below one feature the line ahead is used.
        """
        smaller_size = size - shift
        whole = max(1, math.floor(smaller_size))
        at_whole = self.log_expected(whole)
        slope = self.log_expected(whole + 1) - at_whole
        return self.log_expected(size) - (at_whole + (smaller_size - whole) * slope)

    def _log_clump_on_line(self) -> float:
        """Δ_line = ln(expected splits of one column by thresholds / probability of at least one).

        Without a threshold two features are the smallest set that can be turned. A line through the
        origin that turns is a threshold on the slopes of the points, with labels by a fair coin.
        """
        if self.intercept:
            probability = one_feature_probability(self.n_samples, self.positives, self.errors)
            return self._log_expected_separated_labellings(1) - math.log(probability)
        probability = fair_coin_probability(self.n_samples, self.errors)
        return self._log_expected_separated_labellings(2) - math.log(probability)


@lru_cache(maxsize=10_000)
def _log_separable(n_samples: int, positives: int, n_selected: int) -> float:
    """`log_separable`, which takes long and is asked for the same numbers again and again."""
    return log_separable(n_samples, positives, n_selected)


def one_feature_probability(n_samples: int, positives: int, errors: int) -> float:
    """How likely some threshold on one column makes at most e errors on random labels.

    Sort the samples by the column. Their labels are then a random walk W with n₊ steps up and n₋
    steps down. A threshold after t samples makes n₊ − W_t errors if it calls these t positive (the
    negatives up to t, and the positives after it), and n₋ + W_t errors if it calls them negative.
    So some threshold makes at most e errors if the walk touches the upper barrier at n₊ − e or the
    lower one at −(n₋ − e), whose distance is g = P − 2e.

    How many of the C(P, n₊) walks touch a barrier follows from the reflection principle. Exchange
    the steps up and down after the first touch. The result is any walk with e steps of one kind,
    and P − e of the other: so C(P, e) walks touch a given barrier. The sum over the two barriers
    counts walks that touch both twice. These are subtracted, walks that touch the barriers three
    times in turn are added again, and so on (inclusion and exclusion). Every further pair of
    reflections replaces the lower number of a binomial by one that is g smaller. The probability is

        Σ_{j≥0} [2C(P, e − jg) − C(P, 2e − n₊ − jg) − C(P, 2e − n₋ − jg)] / C(P, n₊).

    Parameters
    ----------
    n_samples, positives : P and n₊.
    errors : e, fewer than the samples of either class.
    """
    negatives = n_samples - positives  # n₋
    distance = n_samples - 2 * errors  # g, above 0 because e is below both n₊ and n₋
    n_touching_walks = 0
    # `lowering` is jg, for j = 0, 1, …. Above e all binomials are zero: their lower numbers are
    # negative.
    for lowering in range(0, errors + 1, distance):
        n_touching_walks += 2 * _binomial(n_samples, errors - lowering)
        n_touching_walks -= _binomial(n_samples, 2 * errors - positives - lowering)
        n_touching_walks -= _binomial(n_samples, 2 * errors - negatives - lowering)
    n_walks = math.comb(n_samples, positives)
    return n_touching_walks / n_walks


def _binomial(n: int, k: int) -> int:
    """C(n, k), which is 0 for negative k."""
    return math.comb(n, k) if k >= 0 else 0


@lru_cache(maxsize=1_000)
def fair_coin_probability(n_samples: int, errors: int) -> float:
    """How likely some threshold on one column makes at most e errors, if labels are fair coins.

    It is the mean of `one_feature_probability`, in which class sizes are fixed, over class sizes
    with a binomial distribution.

    Parameters
    ----------
    n_samples : number of samples.
    errors : e.
    """
    probability = 0.0
    for positives in range(n_samples + 1):
        weight = math.comb(n_samples, positives) / 2**n_samples  # P(so many positives)
        smaller_class = min(positives, n_samples - positives)
        if errors >= smaller_class:
            # To call all samples the larger class is good enough.
            probability += weight
        else:
            probability += weight * one_feature_probability(n_samples, positives, errors)
    return probability


@lru_cache(maxsize=1_000)
def _asymptotic_shift(n_samples: int, n_features: int, errors: int) -> float | None:
    """How many more features a set typically needs to fit random labels than the mean count says.

    A set of features fits if a rule on it makes at most the given number of errors. There are two
    answers to the question how many of the N features a set needs to fit, both for many features
    and equal classes:

    * The expected number of fits is one at the share ρ_splits of the features (first moment). This
      is too optimistic, because a few tables have very many fits, and most have none.
    * A typical table has a set that fits from the larger share ρ_VS on (replica method).

    The result is the difference N(ρ_VS − ρ_splits).

    Returns
    -------
    A number of features; None if even all features together make too many errors.
    """
    load = n_samples / n_features  # α, samples per feature
    error_rate = min(errors / n_samples, MAX_ERROR_RATE)
    # The largest load at which all features together make no more errors.
    largest_load = gardner(Ensemble(error_rate=error_rate)).load
    if load >= largest_load:
        return None
    share_in_mean = _share_at_one_expected_fit(load, error_rate)  # ρ_splits
    if share_in_mean is None:
        return None
    share_in_typical_table = density_at(load, errors=error_rate).rho  # ρ_VS
    return n_features * (share_in_typical_table - share_in_mean)


def _share_at_one_expected_fit(load: float, error_rate: float) -> float | None:
    """The share ρ of selected features at which one fit to random labels is expected.

    A fit is a choice of ρN of the N features together with a choice of labels to flip (at most the
    share ε), such that a rule on these features separates the flipped labels. For large N the
    expected number of fits is exp(N · exponent(ρ)), with

        exponent(ρ) = s(ρ) + αH(ε).

    s(ρ) is the exponent of the number of sets that separate labels without errors. αH(ε) is the
    exponent of the number of ways to flip labels: ε·αN of αN samples, with the binary entropy H.
    The expected number is one where the exponent is zero.

    Parameters
    ----------
    load : α, samples per feature.
    error_rate : ε, the share of the labels that may be wrong.

    Returns
    -------
    The share; None if the expected number is below one even at `LARGEST_DENSITY`.
    """
    flips_exponent = 0.0  # αH(ε); the formula of H has no value at ε = 0
    if error_rate > 0:
        flips_exponent = load * binary_entropy(error_rate)

    def exponent(density: float) -> float:
        return first_moment_exponent(load, density) + flips_exponent

    # The exponent rises from negative values. It is positive at the share load/2, from which on
    # every set separates (Cover): so the zero lies below. If load/2 is above `LARGEST_DENSITY`, the
    # exponent may stay negative up to there: then there is no solution.
    largest_share = min(LARGEST_DENSITY, load / 2)
    if exponent(largest_share) <= 0:
        return None
    return float(brentq(exponent, SMALLEST_DENSITY, largest_share))
