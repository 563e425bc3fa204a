"""Which steps, curves and products of covariates the labels or the features depend on.

A confounder misleads a test only where the labels and the features both depend on it in a way that
was not taken out: what counts is the product of two errors (Shah and Peters 2020). So a term is
taken up if the labels depend on it, if the features do, or if both do a little. Terms are taken one
after the other, as in multivariate adaptive regression splines, and only on evidence: where a line
is enough nothing is added, and no power is lost.

All p-values are bounds in closed form, so that they order terms even where they are tiny:

* of a squared correlation r² with a direction that is uniform in f dimensions,
  ln p ≤ (f − 1)/2 · ln(1 − r²);
* of a sum of squared correlations, ρ times its mean, as for χ² with k degrees of freedom,
  ln p ≤ k/2 · (1 − ρ + ln ρ)  (Chernoff), with k by the first two moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import block_means
from chanceline.significance.covariate_terms import (
    MAX_CURVE_ORDER,
    Factor,
    Shape,
    Term,
    TermLibrary,
)

# A term is taken up if so strong a dependence on one of all terms has this probability by chance.
# Chosen, as the other numbers here, by looking at some shapes of dependence; benchmarks/adjust.py
# measures levels on these and on shapes that were not looked at.
LEVEL_OF_ADDING = 0.3
# Terms take at most this share of the dimensions that the units span.
MAX_SHARE_OF_UNITS = 0.25
# Terms of which a smaller share of the length is left say nothing new.
MIN_LENGTH_LEFT = 0.1
# With a curve come all slower ones and so many that are faster.
FASTER_CURVES = 2
# The cuts of a product of two steps are each looked for so many times.
SWEEPS_OVER_CUTS = 2
# Products of features with terms that are held at once.
FEATURES_AT_ONCE = 1000
# Squared correlations are at most this, so that logarithms are finite.
MAX_SQUARED_CORRELATION = 1 - 1e-12
# Orthogonal directions are told from rounding by this length.
SMALLEST_LENGTH = 1e-9


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
    def n_free(self) -> int:
        """The dimensions that are left to depend on something else."""
        n_blocks = int(self.block_of_unit.max()) + 1
        return len(self.block_of_unit) - n_blocks - self.basis.shape[1]

    def residuals(self, columns: Floats) -> Floats:
        """What is left of columns: (units, columns)."""
        centred = columns - block_means(columns, self.block_of_unit)
        return centred - self.basis @ (self.basis.T @ centred)

    def with_column(self, column: Floats) -> KnownSpan:
        """The span with one more column (units,); the same if nothing of that is left."""
        residual = self.residuals(column[:, None])
        # Twice, because one projection leaves rounding where little is left.
        residual = self.residuals(residual)
        length = float(np.linalg.norm(residual))
        if length <= SMALLEST_LENGTH * max(1.0, float(np.linalg.norm(column))):
            return self
        return replace(self, basis=np.column_stack([self.basis, residual / length]))


class TermChoice(NamedTuple):
    """The terms that were taken up.

    added : beside those that were known.
    left_out : a term that is needed, but for which there are too few units; None if there is none.
    span : of all terms, known and added.
    """

    added: tuple[Term, ...]
    left_out: Term | None
    span: KnownSpan


def make_known_span(terms: Floats, block_of_unit: Ints) -> KnownSpan:
    """The span of some terms, (units, terms), within blocks."""
    span = KnownSpan(block_of_unit, basis=np.zeros((len(terms), 0)))
    for column in terms.T:
        span = span.with_column(column)
    return span


def choose_terms(library: TermLibrary, known: KnownSpan, responses: Responses) -> TermChoice:
    """Take up terms, the most needed first, until none is needed or there is no room.

    Parameters
    ----------
    library : the terms to choose from.
    known : what is in the model whatever the data say.
    responses : labels and features.
    """
    if not library.terms:
        return TermChoice((), left_out=None, span=known)
    candidates = library.values
    max_rank = int(MAX_SHARE_OF_UNITS * (known.n_free + known.basis.shape[1]))
    added: list[Term] = []
    while True:
        term = _most_needed(library, candidates, known, responses)
        if term is None:
            return TermChoice(tuple(added), left_out=None, span=known)
        if known.basis.shape[1] >= max_rank:
            return TermChoice(tuple(added), left_out=term, span=known)
        for companion in _with_companions(term, library):
            larger = known.with_column(companion.values)
            if known.basis.shape[1] < larger.basis.shape[1] <= max_rank:
                known = larger
                added.append(companion)


def _most_needed(
    library: TermLibrary, candidates: Floats, known: KnownSpan, responses: Responses
) -> Term | None:
    """The term with the strongest evidence; None if chance explains it.

    Parameters
    ----------
    candidates : (units, terms) the values of the library's terms.
    """
    log_pvalues = dependence_log_pvalues(candidates, known, responses)
    best = int(np.argmin(log_pvalues))
    # Bonferroni over all terms.
    if log_pvalues[best] + log(len(log_pvalues)) > log(LEVEL_OF_ADDING):
        return None
    return _with_best_cuts(library.terms[best], library, known, responses)


def _with_best_cuts(
    term: Term, library: TermLibrary, known: KnownSpan, responses: Responses
) -> Term:
    """The term with its steps, if it is a product that has any, at the best of all cuts."""
    if len(term.factors) == 1:
        # All cuts of single steps are in the library.
        return term
    for _ in range(SWEEPS_OVER_CUTS):
        for place, factor in enumerate(term.factors):
            if factor.shape is not Shape.STEP:
                continue
            variants = [_with_factor(term, place, step) for step in library.steps[factor.covariate]]
            values = np.column_stack([variant.values for variant in variants])
            log_pvalues = dependence_log_pvalues(values, known, responses)
            term = variants[int(np.argmin(log_pvalues))]
    return term


def _with_factor(term: Term, place: int, factor: Factor) -> Term:
    """The term with another factor in one place."""
    factors = list(term.factors)
    factors[place] = factor
    return Term(tuple(factors))


def _with_companions(term: Term, library: TermLibrary) -> list[Term]:
    """The term; of a single curve, that of every order up to a little faster ones.

    A curve that is seen stands for a shape of which only the largest part stands out of the noise.
    """
    factor = term.factors[0]
    if len(term.factors) > 1 or factor.shape is not Shape.CURVE:
        return [term]
    fastest = min(factor.order + FASTER_CURVES, MAX_CURVE_ORDER)
    return [Term((curve,)) for curve in library.curves[factor.covariate][:fastest]]


def dependence_log_pvalues(terms: Floats, known: KnownSpan, responses: Responses) -> Floats:
    """ln p of the labels and features being independent of each term, given what is known: (terms,)

    The smallest of three, which pays for the choice: of the labels, of the features, and of both
    together.

    Parameters
    ----------
    terms : (units, terms)
    """
    directions = _directions_left(terms, known)
    labels = _unit_columns(known.residuals(responses.labels[:, None]))
    label_squares = (labels.T @ directions)[0] ** 2
    of_labels = _log_p_of_squares(label_squares, known.n_free)
    # Directions of which nothing is left have the length 0 and correlate with nothing.
    if responses.features.shape[1] == 0:
        return of_labels
    of_features = _feature_log_pvalues(directions, known, responses.features)
    of_both = _fisher_log_p(of_labels + of_features)
    smallest = np.minimum(np.minimum(of_labels, of_features), of_both)
    return np.minimum(0.0, smallest + log(3))


def _directions_left(terms: Floats, known: KnownSpan) -> Floats:
    """What is left of the terms, scaled to length 1; zero if that is little: (units, terms)."""
    residuals = known.residuals(terms)
    lengths = np.linalg.norm(residuals, axis=0)
    spreads = np.linalg.norm(terms - terms.mean(axis=0), axis=0)
    is_enough = lengths > np.maximum(MIN_LENGTH_LEFT * spreads, SMALLEST_LENGTH)
    return np.where(is_enough, residuals / np.where(is_enough, lengths, 1.0), 0.0)


def _feature_log_pvalues(directions: Floats, known: KnownSpan, features: Floats) -> Floats:
    """ln p of the features being independent of each direction: (directions,)

    By the feature that depends most on it, and by the sum over all features; the smaller p-value is
    doubled.
    """
    residuals = _unit_columns(known.residuals(features))
    n_features = residuals.shape[1]
    largest = np.zeros(directions.shape[1])
    total = np.zeros(directions.shape[1])
    for start in range(0, n_features, FEATURES_AT_ONCE):
        some_features = residuals[:, start : start + FEATURES_AT_ONCE]
        squares = (some_features.T @ directions) ** 2
        largest = np.maximum(largest, squares.max(axis=0))
        total += squares.sum(axis=0)
    # Bonferroni over the features.
    of_strongest = _log_p_of_squares(largest, known.n_free) + log(n_features)
    of_sum = _log_p_of_sums(total, residuals, known.n_free)
    return np.minimum(0.0, np.minimum(of_strongest, of_sum) + log(2))


def _unit_columns(columns: Floats) -> Floats:
    """Columns scaled to length 1; those of which nothing is left stay zero."""
    lengths = np.linalg.norm(columns, axis=0)
    is_enough = lengths > SMALLEST_LENGTH
    return np.where(is_enough, columns / np.where(is_enough, lengths, 1.0), 0.0)


def _log_p_of_squares(squares: Floats, n_free: int) -> Floats:
    """ln p of squared correlations with a direction that is uniform in `n_free` dimensions."""
    squares = np.minimum(squares, MAX_SQUARED_CORRELATION)
    # ln p ≤ (f − 1)/2 · ln(1 − r²)
    bounds: Floats = (n_free - 1) / 2 * np.log1p(-squares)
    return bounds


def _log_p_of_sums(sums: Floats, residuals: Floats, n_free: int) -> Floats:
    """ln p of sums over features of squared correlations with a uniform direction u.

    The sum is uᵀ G u with G = Σ_j x_j x_jᵀ. In f dimensions

        mean = tr G/f,    variance = 2 (tr G² − (tr G)²/f)/(f (f + 2)),

    and k = 2 mean²/variance degrees of freedom give χ² the same ratio.

    Parameters
    ----------
    sums : (directions,)
    residuals : x, (units, features)
    """
    n_units, n_features = residuals.shape
    products = residuals.T @ residuals if n_features < n_units else residuals @ residuals.T
    trace = float(np.sum(residuals**2))
    trace_of_square = float(np.sum(products**2))
    mean = trace / n_free
    variance = 2 * (trace_of_square - trace**2 / n_free) / (n_free * (n_free + 2))
    if mean <= 0 or variance <= SMALLEST_LENGTH * mean**2:
        # The sum is the same in every direction.
        return np.zeros(len(sums))
    degrees_of_freedom = 2 * mean**2 / variance
    ratio = np.maximum(sums / mean, 1.0)
    # ln p ≤ k/2 · (1 − ρ + ln ρ)
    bounds: Floats = degrees_of_freedom / 2 * (1 - ratio + np.log(ratio))
    return bounds


def _fisher_log_p(log_product: Floats) -> Floats:
    """ln p of the product of two independent p-values: p = t (1 − ln t), t = p₁ p₂."""
    result: Floats = log_product + np.log1p(-log_product)
    return result
