"""Which steps, curves and products of covariates the labels or the features depend on.

A confounder misleads a test only where the labels and the features both depend on it in a way that
was not taken out: what counts is the product of two errors (Shah and Peters 2020). So a term is
taken up if the labels depend on it, if the features do, or if both do a little. Terms are taken one
after the other, as in multivariate adaptive regression splines, and only on evidence: where a line
is enough nothing is added, and no power is lost.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats
from chanceline.significance.covariate_terms import Factor, FactorShape, Term, TermLibrary
from chanceline.significance.term_evidence import KnownSpan, Responses, dependence_log_pvalues

# A term is taken up if so strong a dependence on one of all terms has this probability by chance.
# Chosen, as the other numbers here, by looking at some shapes of dependence; benchmarks/adjust.py
# measures levels on these and on shapes that were not looked at.
LEVEL_OF_ADDING = 0.3
# The same for a term that there is no room for; a warning tells of it.
LEVEL_OF_LEAVING_OUT = 0.05
# Terms take at most this share of the dimensions that the units span.
MAX_SHARE_OF_UNITS = 0.25
# With a curve come all slower ones and this many faster ones.
FASTER_CURVES = 2
# How many times the best factor of each covariate in a product is looked for.
SWEEPS_OVER_FACTORS = 2
# Dimensions in which a correlation can be surprising.
MIN_FREE_DIMENSIONS = 3


class TermChoice(NamedTuple):
    """The terms that were taken up.

    added : beside those that were in the model before.
    left_out : a term that is needed, but for which there are too few units; None if there is none.
    span : of all terms, those in the model before and those added.
    """

    added: tuple[Term, ...]
    left_out: Term | None
    span: KnownSpan


def choose_terms(library: TermLibrary, span: KnownSpan, responses: Responses) -> TermChoice:
    """Select the covariate terms that labels or features depend on, by forward selection.

    A term is a function of covariates: a step, a curve, or a product of these. The term with the
    strongest evidence is added until none is significant, or until the model would get too large.

    Parameters
    ----------
    library : the terms to choose from.
    span : the span of the terms that are in the model in any case; terms are added to this span.
    responses : the labels and the features.

    Returns
    -------
    The terms added, a significant term for which the model has no room (None if there is none), and
    the span of the final model.
    """
    # With too few dimensions outside the span, no correlation can be significant.
    if not library.terms or span.n_free < MIN_FREE_DIMENSIONS:
        return TermChoice((), left_out=None, span=span)

    # The model may span a share of all dimensions that blocks leave.
    max_dimensions = int(MAX_SHARE_OF_UNITS * (span.n_free + span.n_directions))
    added: list[Term] = []
    while span.n_directions < max_dimensions:
        term = most_needed_term(library, span, responses, LEVEL_OF_ADDING)
        if term is None:
            return TermChoice(tuple(added), left_out=None, span=span)
        # A curve brings related curves with it. Terms that would make the model too large are not
        # added.
        new_terms, span = _add_term_and_companions(term, library, span, max_dimensions)
        if not new_terms:
            # There is no room for the term. Stop: the next round would choose it again.
            return TermChoice(tuple(added), left_out=term, span=span)
        added += new_terms

    # The model has its full size. Report a term that is still clearly needed, by a stricter level.
    left_out = most_needed_term(library, span, responses, LEVEL_OF_LEAVING_OUT)
    return TermChoice(tuple(added), left_out=left_out, span=span)


def most_needed_term(
    library: TermLibrary, span: KnownSpan, responses: Responses, level: float
) -> Term | None:
    """The term that labels or features ask for most; None if chance explains all of them.

    Parameters
    ----------
    level : the probability with which chance may bring up one of the terms.
    """
    index = most_needed(library.values, span, responses, level)
    if index is None:
        return None
    return _term_with_best_factors(library.terms[index], library, span, responses)


def _add_term_and_companions(
    term: Term, library: TermLibrary, span: KnownSpan, max_dimensions: int
) -> tuple[list[Term], KnownSpan]:
    """Add a term and those that come with it, as far as they say something new and fit in.

    Returns
    -------
    The terms added, and the span with them.
    """
    added = []
    for new_term in _term_and_companions(term, library):
        larger = span.with_column(new_term.values)
        says_something_new = larger.n_directions > span.n_directions
        if says_something_new and larger.n_directions <= max_dimensions:
            added.append(new_term)
            span = larger
    return added, span


def most_needed(terms: Floats, span: KnownSpan, responses: Responses, level: float) -> int | None:
    """The index of the term with the strongest evidence; None if chance explains it.

    Parameters
    ----------
    terms : (units, terms)
    level : the probability with which chance may bring up one of the terms.
    """
    log_pvalues = dependence_log_pvalues(terms, span, responses)
    best = int(np.argmin(log_pvalues))
    # Bonferroni over all terms.
    if log_pvalues[best] + log(len(log_pvalues)) > log(level):
        return None
    return best


def _term_with_best_factors(
    term: Term, library: TermLibrary, span: KnownSpan, responses: Responses
) -> Term:
    """Improve a product of covariates by exchanging one factor at a time.

    A factor is a function of one covariate, such as a step or a curve. The library has all single
    factors as terms, but only some of their products: so a product that was chosen from the library
    is refined by trying all functions of each of its covariates.

    Parameters
    ----------
    term : the term to improve; a term of a single factor is returned as it is.
    library : the factors of every covariate.
    span : the span of the terms that are in the model.
    responses : the labels and the features, on which the evidence for a term is measured.
    """
    if len(term.factors) == 1:
        return term
    for _ in range(SWEEPS_OVER_FACTORS):
        for position in range(len(term.factors)):
            # All variants of the term with another factor at this position. Keep the one with the
            # smallest p-value.
            covariate = term.factors[position].covariate
            factors_of_covariate = library.factors[covariate]
            variants = [_with_factor(term, position, factor) for factor in factors_of_covariate]
            values = np.column_stack([variant.values for variant in variants])  # (units, variants)
            log_pvalues = dependence_log_pvalues(values, span, responses)
            term = variants[int(np.argmin(log_pvalues))]
    return term


def _with_factor(term: Term, place: int, factor: Factor) -> Term:
    """The term with another factor in one place."""
    factors = list(term.factors)
    factors[place] = factor
    return Term(tuple(factors))


def _term_and_companions(term: Term, library: TermLibrary) -> list[Term]:
    """The terms to add to the model together with a term that was chosen, itself included.

    The curves of a covariate are cosines of increasing order. If one of them is significant, it is
    probably the largest component of some smooth shape. To fit this shape, all curves of lower
    order come with it, and the next `FASTER_CURVES` of higher order. Other terms come alone.

    Parameters
    ----------
    term : the term that was chosen.
    library : the factors (functions of one covariate) of every covariate.
    """
    first_factor = term.factors[0]
    is_curve = len(term.factors) == 1 and first_factor.shape is FactorShape.CURVE
    if not is_curve:
        return [term]
    highest_order = first_factor.order + FASTER_CURVES
    return [
        Term((factor,))
        for factor in library.factors[first_factor.covariate]
        if factor.shape is FactorShape.CURVE and factor.order <= highest_order
    ]
