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
# The same for a term that there is no room for, of which a warning tells.
LEVEL_OF_LEAVING_OUT = 0.05
# Terms take at most this share of the dimensions that the units span.
MAX_SHARE_OF_UNITS = 0.25
# With a curve come all slower ones and so many that are faster.
FASTER_CURVES = 2
# The best factor of each covariate in a product is looked for so many times.
SWEEPS_OVER_FACTORS = 2
# Dimensions in which a correlation can be surprising.
MIN_FREE_DIMENSIONS = 3


class TermChoice(NamedTuple):
    """The terms that were taken up.

    added : beside those that were known.
    left_out : a term that is needed, but for which there are too few units; None if there is none.
    span : of all terms, known and added.
    """

    added: tuple[Term, ...]
    left_out: Term | None
    span: KnownSpan


def choose_terms(library: TermLibrary, known: KnownSpan, responses: Responses) -> TermChoice:
    """Take up terms, the most needed first, until none is needed or there is no room.

    Parameters
    ----------
    library : the terms to choose from.
    known : what is in the model whatever the data say.
    responses : labels and features.
    """
    if not library.terms or known.n_free < MIN_FREE_DIMENSIONS:
        return TermChoice((), left_out=None, span=known)
    candidates = library.values
    max_rank = int(MAX_SHARE_OF_UNITS * (known.n_free + known.basis.shape[1]))
    added: list[Term] = []
    while True:
        has_room = known.basis.shape[1] < max_rank
        level = LEVEL_OF_ADDING if has_room else LEVEL_OF_LEAVING_OUT
        best = most_needed(candidates, known, responses, level)
        if best is None:
            return TermChoice(tuple(added), left_out=None, span=known)
        term = _with_best_factors(library.terms[best], library, known, responses)
        if not has_room:
            return TermChoice(tuple(added), left_out=term, span=known)
        n_added_before = len(added)
        for companion in _with_companions(term, library):
            larger = known.with_column(companion.values)
            if known.basis.shape[1] < larger.basis.shape[1] <= max_rank:
                known = larger
                added.append(companion)
        if len(added) == n_added_before:
            # Nothing that the model lacks: it would be asked for again and again.
            return TermChoice(tuple(added), left_out=term, span=known)


def most_needed(terms: Floats, known: KnownSpan, responses: Responses, level: float) -> int | None:
    """The index of the term with the strongest evidence; None if chance explains it.

    Parameters
    ----------
    terms : (units, terms)
    level : the probability with which chance may bring up one of the terms.
    """
    log_pvalues = dependence_log_pvalues(terms, known, responses)
    best = int(np.argmin(log_pvalues))
    # Bonferroni over all terms.
    if log_pvalues[best] + log(len(log_pvalues)) > log(level):
        return None
    return best


def _with_best_factors(
    term: Term, library: TermLibrary, known: KnownSpan, responses: Responses
) -> Term:
    """The term, if it is a product, with the best of all factors of its covariates."""
    if len(term.factors) == 1:
        # All single factors are terms of the library.
        return term
    for _ in range(SWEEPS_OVER_FACTORS):
        for place, factor in enumerate(term.factors):
            variants = [
                _with_factor(term, place, other) for other in library.factors[factor.covariate]
            ]
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
    """The term by itself; but instead of a single curve all curves of its covariate, up to an order
    FASTER_CURVES above its own.

    A curve that is seen stands for a shape of which only the largest part stands out of the noise.
    """
    factor = term.factors[0]
    if len(term.factors) > 1 or factor.shape is not FactorShape.CURVE:
        return [term]
    fastest = factor.order + FASTER_CURVES
    return [
        Term((other,))
        for other in library.factors[factor.covariate]
        if other.shape is FactorShape.CURVE and other.order <= fastest
    ]
