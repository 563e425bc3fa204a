"""What the adjustment for covariates did, what it assumes and what it leaves, in words."""

from __future__ import annotations

from collections.abc import Sequence

from chanceline._results import listed
from chanceline.significance.adjustment import Adjustment
from chanceline.significance.covariate_terms import FactorShape, Term
from chanceline.significance.fit_check import LeftOver
from chanceline.tables.dataset import Finding


def kind_of_pvalue(adjustment: Adjustment) -> str:
    """The kind of a p-value whose labels are drawn from the model, in words."""
    names = ", ".join(adjustment.model.names)
    condition = f"valid if the labels or the features depend on {names} as the model says"
    checked = "a check found nothing else"
    if not adjustment.is_complete:
        checked = "a check found something else, see the warning"
    return f"Monte Carlo, {condition}; {checked}"


def adjustment_findings(adjustment: Adjustment) -> list[Finding]:
    """What the model took up, and a warning of everything that it does not follow."""
    findings = []
    if adjustment.added:
        findings.append(_note_of_added(adjustment.added))
    if adjustment.left_out is not None:
        findings.append(_warning_of_left_out(adjustment.left_out))
    findings += _warnings_of_left_overs(adjustment.left_overs)
    return findings


def _note_of_added(terms: Sequence[Term]) -> Finding:
    """Which terms came into the model."""
    # Each once, in the order in which they came.
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
    """Samples are too few for a term."""
    names = " and ".join(term.covariates)
    return Finding.warning(
        f"the labels or the features depend on {names} in a way that so few samples do not allow "
        "to take out, so that the p-value may be too small; adjust for fewer covariates."
    )


def _warnings_of_left_overs(left_overs: Sequence[LeftOver]) -> list[Finding]:
    """A warning for each covariate that labels or features still go with after the adjustment.

    If both still go with the same covariates, one sentence names both.
    """
    # Names of covariates → what goes with them, "the labels" or "the features".
    sides_by_names: dict[str, list[str]] = {}
    for left_over in left_overs:
        names = ", ".join(left_over.covariates)
        if len(left_over.covariates) > 1:
            names += " (together)"
        sides_by_names.setdefault(names, []).append(f"the {left_over.side}")
    return [
        Finding.warning(
            f"after the adjustment {' and '.join(sides)} still go with {names}: neighbours are "
            "more alike than others, so that the p-value may be too small; make few classes of "
            "these covariates and declare them as blocks."
        )
        for names, sides in sides_by_names.items()
    ]
