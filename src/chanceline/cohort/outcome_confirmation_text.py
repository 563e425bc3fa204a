"""The text of a confirmation of any outcome, for a terminal: warnings, the verdict, numbers."""

from __future__ import annotations

from chanceline.cohort.confirmation import p_in_figures
from chanceline.cohort.confirmation_text import bullet, named_line, wrapped_sentence
from chanceline.cohort.outcome_confirmation import OutcomeConfirmation
from chanceline.tables.dataset import Severity
from chanceline.tables.wording import plural


def outcome_confirmation_text(confirmation: OutcomeConfirmation) -> str:
    """A confirmation (the test of a rule on new samples) as text for a terminal.

    Its paragraphs are warnings, the verdict in one sentence, a line for each measure (of the new
    samples, then by cross-validation), and notes; empty ones are left out.
    """
    warnings = []
    notes = []
    for finding in confirmation.findings:
        if finding.severity == Severity.WARNING:
            warnings.append(bullet(finding.message))
        else:
            notes.append(bullet(finding.message))
    measure_lines = [named_line("here", measure.in_words) for measure in confirmation.measures]
    for measure in confirmation.expected:
        words = f"{measure.in_words}, by cross-validation of the table tested"
        measure_lines.append(named_line("expected", words))
    paragraphs = [warnings, [_verdict(confirmation)], measure_lines, notes]
    texts = ["\n".join(lines) for lines in paragraphs if lines]
    return "\n\n".join(texts)


def _verdict(confirmation: OutcomeConfirmation) -> str:
    """The verdict of a confirmation, in one sentence.

    For example: `CONFIRMED, p = 0.0012: the rule predicts the 60 new samples better than chance
    (9,999 permutations).`
    """
    noun = "group" if confirmation.n_units < confirmation.n_rows else "sample"
    new_units = plural(confirmation.n_units, f"new {noun}")
    p_in_words = f"p = {p_in_figures(confirmation.pvalue)}"
    within_blocks = ""
    if confirmation.n_blocks > 1:
        within_blocks = f" within {confirmation.n_blocks} blocks"
    test_in_words = f"({confirmation.n_permutations:,} permutations{within_blocks})"
    if confirmation.confirmed:
        sentence = (
            f"CONFIRMED, {p_in_words}: the rule predicts the {new_units} better than "
            f"chance {test_in_words}."
        )
    else:
        sentence = (
            f"NOT CONFIRMED, {p_in_words}: chance may predict the {new_units} as well as the "
            f"rule does {test_in_words}."
        )
    return wrapped_sentence(sentence)
