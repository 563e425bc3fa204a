"""Sentences about the adjustment for covariates: its terms, its assumption and what it misses."""

from __future__ import annotations

from collections.abc import Sequence

from chanceline._results import listed
from chanceline.significance.adjustment import Adjustment
from chanceline.significance.covariate_terms import FactorShape, Term
from chanceline.significance.fit_check import MissedDependence
from chanceline.tables.dataset import Finding


def kind_of_pvalue(adjustment: Adjustment) -> str:
    """The sentence that says how a p-value is valid whose labels are drawn from the model."""
    names = ", ".join(adjustment.model.names)
    condition = f"valid if the labels or the features depend on {names} as the model says"
    checked = "a check found nothing else"
    if not adjustment.is_complete:
        checked = "a check found something else, see the warning"
    return f"Monte Carlo, {condition}; {checked}"


def adjustment_findings(adjustment: Adjustment) -> list[Finding]:
    """A note of the terms added to the model, and warnings of dependence that the model misses."""
    findings = []
    if adjustment.added:
        findings.append(_note_of_added(adjustment.added))
    if adjustment.left_out is not None:
        findings.append(_warning_of_left_out(adjustment.left_out))
    findings += _warnings_of_missed(adjustment.missed_dependences)
    return findings


def _note_of_added(terms: Sequence[Term]) -> Finding:
    """A note of the terms that were added to the model."""
    # A dict keeps each description once, in the order in which the terms were added.
    descriptions = dict.fromkeys(term_in_words(term) for term in terms)
    return Finding.note(
        "the labels or the features depend on covariates by more than lines and squares; the "
        f"model has {listed(list(descriptions))}, too."
    )


def term_in_words(term: Term) -> str:
    """`a step of age at 53.2`, `curves of age`, `the rank of age`, `products of age and sex`."""
    if len(term.factors) > 1:
        return f"products of {' and '.join(term.covariates)}"
    factor = term.factors[0]
    if factor.shape is FactorShape.STEP:
        return f"a step of {factor.covariate} at {factor.cut:.4g}"
    if factor.shape is FactorShape.CURVE:
        return f"curves of {factor.covariate}"
    return f"the rank of {factor.covariate}"


def _warning_of_left_out(term: Term) -> Finding:
    """A warning of a term that is needed, but for which there are too few samples."""
    names = " and ".join(term.covariates)
    return Finding.warning(
        f"the labels or the features depend on {names} in a way that so few samples do not allow "
        "to take out, so that the p-value may be too small; adjust for fewer covariates."
    )


def _warnings_of_missed(dependences: Sequence[MissedDependence]) -> list[Finding]:
    """Warnings of covariates that labels or features still depend on after the adjustment.

    If both labels and features depend on the same covariates, one sentence names both.

    Parameters
    ----------
    dependences : each with a tuple of covariates, and the side (labels or features) that still
        depends on them.
    """
    # Names of covariates in words → sides that depend on them, "the labels" or "the features".
    sides_by_names: dict[str, list[str]] = {}
    for dependence in dependences:
        names = ", ".join(dependence.covariates)
        if len(dependence.covariates) > 1:
            names += " (together)"
        sides = sides_by_names.setdefault(names, [])
        sides.append(f"the {dependence.side}")

    # One warning for each set of covariates.
    warnings = []
    for names, sides in sides_by_names.items():
        warning = Finding.warning(
            f"after the adjustment {' and '.join(sides)} still go with {names}: neighbours are "
            "more alike than others, so that the p-value may be too small; make few classes of "
            "these covariates and declare them as blocks."
        )
        warnings.append(warning)
    return warnings
