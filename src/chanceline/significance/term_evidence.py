"""How strongly labels and features depend on terms of covariates, given what is known already.

All p-values are bounds in closed form, so that they order terms even where they are tiny:

* of a correlation r with a direction that is uniform in f dimensions, by replacing the density
  c (1 − r²)^((f − 3)/2) beyond |r| with r′/|r| times as much,
      p ≤ 2c/((f − 1)|r|) · (1 − r²)^((f − 1)/2),    c = Γ(f/2)/(√π Γ((f − 1)/2));
* of a sum of squared correlations, x = k/2 times its ratio to the mean, as for χ² with k = 2a
  degrees of freedom, where k comes from the first two moments,
      p ≤ x^a e^−x/(Γ(a) (x − max(0, a − 1))).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, pi
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import block_means

# A term says nothing new if less than this share of its length is left.
MIN_LENGTH_LEFT = 0.1
# Products of features with terms that are held at once.
FEATURES_AT_ONCE = 250
# Squared correlations are at most this, so that logarithms are finite.
MAX_SQUARED_CORRELATION = 1 - 1e-12
# Orthogonal directions are told from rounding by this length.
SMALLEST_LENGTH = 1e-9
# A variance below this share of the squared mean is rounding.
SMALLEST_RELATIVE_VARIANCE = 1e-9


class Responses(NamedTuple):
    """What may depend on covariates.

    labels : (units,) ±1.
    features : (units, features)
    """

    labels: Floats
    features: Floats


@dataclass(frozen=True, eq=False)
class KnownSpan:
    """What is known of the dependence on covariates: thresholds of blocks, and directions.

    Attributes
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    basis : (units, directions) orthonormal and centred within blocks.
    """

    block_of_unit: Ints
    basis: Floats

    @property
    def n_directions(self) -> int:
        """The dimensions of the span, not counting the thresholds of blocks."""
        return self.basis.shape[1]

    @property
    def n_free(self) -> int:
        """The dimensions that are left to depend on something else."""
        n_blocks = int(self.block_of_unit.max()) + 1
        return len(self.block_of_unit) - n_blocks - self.n_directions

    def residuals(self, columns: Floats) -> Floats:
        """What is left of columns: (units, columns)."""
        centred = columns - block_means(columns, self.block_of_unit)
        return centred - self.basis @ (self.basis.T @ centred)

    def with_column(self, column: Floats) -> KnownSpan:
        """The span with one more column (units,); unchanged if the column lies in the span."""
        residual = self.residuals(column[:, None])
        # Twice, because one projection leaves rounding where little is left.
        residual = self.residuals(residual)
        length = float(np.linalg.norm(residual))
        if length <= SMALLEST_LENGTH * max(1.0, float(np.linalg.norm(column))):
            return self
        return replace(self, basis=np.column_stack([self.basis, residual / length]))


def make_known_span(terms: Floats, block_of_unit: Ints) -> KnownSpan:
    """The span of some terms, (units, terms), within blocks."""
    span = KnownSpan(block_of_unit, basis=np.zeros((len(terms), 0)))
    for column in terms.T:
        span = span.with_column(column)
    return span


def dependence_log_pvalues(terms: Floats, span: KnownSpan, responses: Responses) -> Floats:
    """Test each covariate term: do the labels or the features depend on it?

    A term is a column of numbers computed from covariates. Only dependence beyond the terms in the
    model counts. Three p-values are computed: for the labels, for the features, and for both
    together (Fisher's product of the first two). The smallest is multiplied by three (Bonferroni).
    Without features there is only that of the labels.

    Parameters
    ----------
    terms : (units, terms) the terms to test.
    span : the span of the terms in the model.
    responses : the labels (units,) and the features (units, features).

    Returns
    -------
    (terms,) ln of the p-values.
    """
    # Residuals of the terms on the model, scaled to length 1: (units, terms). A term in the span of
    # the model becomes 0, and so has the correlation 0 and the p-value 1.
    directions = _residual_directions(terms, span)

    # The labels: the partial correlation of each term with them.
    label_residuals = span.residuals(responses.labels[:, None])  # (units, 1)
    labels = _scaled_to_length_one(label_residuals)
    correlations = (labels.T @ directions)[0]  # (terms,)
    log_p_of_labels = correlation_log_pvalues(correlations**2, span.n_free)
    n_features = responses.features.shape[1]
    if n_features == 0:
        return log_p_of_labels

    # The features, and both together.
    log_p_of_features = _feature_log_pvalues(directions, span, responses.features)
    log_p_of_both = product_log_pvalues(log_p_of_labels + log_p_of_features)
    smaller_of_two = np.minimum(log_p_of_labels, log_p_of_features)
    smallest = np.minimum(smaller_of_two, log_p_of_both)
    return np.minimum(0.0, smallest + log(3))


def _residual_directions(terms: Floats, span: KnownSpan) -> Floats:
    """What is left of the terms, scaled to length 1; zero if that is little: (units, terms)."""
    residuals = span.residuals(terms)
    lengths = np.linalg.norm(residuals, axis=0)
    spreads = np.linalg.norm(terms - terms.mean(axis=0), axis=0)
    is_enough = lengths > np.maximum(MIN_LENGTH_LEFT * spreads, SMALLEST_LENGTH)
    return np.where(is_enough, residuals / np.where(is_enough, lengths, 1.0), 0.0)


def _feature_log_pvalues(directions: Floats, span: KnownSpan, features: Floats) -> Floats:
    """ln p of the features being independent of each direction: (directions,)

    By the feature that depends most on it, and by the sum over all features; the smaller p-value is
    doubled.
    """
    residuals = _scaled_to_length_one(span.residuals(features))
    squares = _largest_and_total_squares(residuals, directions)
    # Bonferroni over the features.
    of_strongest = correlation_log_pvalues(squares.largest, span.n_free) + log(residuals.shape[1])
    of_sum = sum_log_pvalues(squares.total, residuals, span.n_free)
    return np.minimum(0.0, np.minimum(of_strongest, of_sum) + log(2))


class FeatureSquares(NamedTuple):
    """Squared correlations of features with each direction, (directions,)."""

    largest: Floats
    total: Floats


def _largest_and_total_squares(residuals: Floats, directions: Floats) -> FeatureSquares:
    """The largest squared correlation of a feature with each direction, and the sum over features.

    Parameters
    ----------
    residuals : (units, features) of length 1.
    directions : (units, directions) of length 1.
    """
    largest = np.zeros(directions.shape[1])
    total = np.zeros(directions.shape[1])
    for start in range(0, residuals.shape[1], FEATURES_AT_ONCE):
        some_features = residuals[:, start : start + FEATURES_AT_ONCE]
        squares = (some_features.T @ directions) ** 2
        largest = np.maximum(largest, squares.max(axis=0))
        total += squares.sum(axis=0)
    return FeatureSquares(largest, total)


def _scaled_to_length_one(columns: Floats) -> Floats:
    """Columns scaled to length 1; columns without anything left stay zero."""
    lengths = np.linalg.norm(columns, axis=0)
    is_enough = lengths > SMALLEST_LENGTH
    return np.where(is_enough, columns / np.where(is_enough, lengths, 1.0), 0.0)


def correlation_log_pvalues(squares: Floats, n_free: int) -> Floats:
    """ln p of squared correlations r² with a direction that is uniform in `n_free` dimensions."""
    squares = np.clip(squares, SMALLEST_LENGTH, MAX_SQUARED_CORRELATION)
    # c = Γ(f/2)/(√π Γ((f − 1)/2)), f = n_free
    log_density = gammaln(n_free / 2) - gammaln((n_free - 1) / 2) - log(pi) / 2
    # p ≤ 2c/((f − 1)|r|) · (1 − r²)^((f − 1)/2)
    log_factor = log(2) + log_density - log(n_free - 1) - np.log(squares) / 2
    bounds = log_factor + (n_free - 1) / 2 * np.log1p(-squares)
    return np.minimum(0.0, bounds)


def sum_log_pvalues(sums: Floats, residuals: Floats, n_free: int) -> Floats:
    """p-values of sums of squared correlations between a direction and all features.

    Under the null hypothesis the direction ignores the features: it is uniformly distributed in f
    dimensions. The sum then has a known mean μ and variance σ², and is approximated by a gamma
    variable with these moments. The p-value is an upper bound of the upper tail of this variable.

    Parameters
    ----------
    sums : (directions,) the observed sums.
    residuals : (units, features) the features as residuals of a regression, scaled to length 1.
    n_free : f, the residual degrees of freedom of this regression.

    Returns
    -------
    (directions,) ln of the p-values.
    """
    mean, variance = _moments_of_sum(residuals, n_free)
    if mean <= 0 or variance <= SMALLEST_RELATIVE_VARIANCE * mean**2:
        # The sum is the same for every direction, so that no direction is significant: p = 1.
        return np.zeros(len(sums))

    # A gamma variable of mean μ and variance σ² has the shape μ²/σ² and the scale σ²/μ. A sum s is
    # divided by the scale: s/scale = shape·s/μ.
    shape = mean**2 / variance
    # The bound of the tail does not hold far below the mean. So a sum below the mean is set to the
    # mean. There the bound is at least 1/e for every shape: such a sum is not significant anyway.
    sums_over_mean = np.maximum(sums / mean, 1.0)
    scaled_sums = shape * sums_over_mean
    log_bounds = _log_gamma_tail(scaled_sums, shape)
    return np.minimum(0.0, log_bounds)


def _moments_of_sum(residuals: Floats, n_free: int) -> tuple[float, float]:
    """The mean and the variance of the sum of squared correlations with a random direction.

    With the features x_j and a direction u, the sum is Σ_j (x_j·u)² = uᵀGu, G = Σ_j x_j x_jᵀ. If u
    is uniform in f dimensions, it has

        mean = tr G/f,    variance = 2 (tr G² − (tr G)²/f)/(f (f + 2)).

    Parameters
    ----------
    residuals : the features, (units, features).
    n_free : f.
    """
    # G, or the smaller matrix of products between features, which has the same tr G².
    n_units, n_features = residuals.shape
    products = residuals.T @ residuals if n_features < n_units else residuals @ residuals.T
    trace = float(np.sum(residuals**2))
    trace_of_square = float(np.sum(products**2))
    mean = trace / n_free
    variance = 2 * (trace_of_square - trace**2 / n_free) / (n_free * (n_free + 2))
    return mean, variance


def _log_gamma_tail(x: Floats, shape: float) -> Floats:
    """ln of a bound on P(gamma variable ≥ x), of scale 1 and shape a, for x > a − 1.

    The density t^(a−1) e^−t/Γ(a) falls from x on at least as fast as e^−rt with r = 1 − b/x,
    b = max(0, a − 1). So the probability is at most the density at x, divided by r:

        x^a e^−x/(Γ(a) (x − b)).
    """
    log_bounds: Floats = shape * np.log(x) - x - gammaln(shape) - np.log(x - max(0.0, shape - 1))
    return log_bounds


def product_log_pvalues(log_product: Floats) -> Floats:
    """ln p of the product of two independent p-values: p = t (1 − ln t), t = p₁ p₂."""
    result: Floats = log_product + np.log1p(-log_product)
    return result
