"""The text of a confirmation, for a terminal: other units first, then the verdict, then numbers."""

from __future__ import annotations

from textwrap import fill

from chanceline.cohort.calibration import Calibration
from chanceline.cohort.confirmation import Confirmation, ShareRight, p_in_figures
from chanceline.prediction.against_majority import LEVEL
from chanceline.tables.dataset import Severity
from chanceline.tables.wording import plural

TEXT_WIDTH = 98  # letters in a line
NAME_WIDTH = 12


def confirmation_text(confirmation: Confirmation) -> str:
    """A confirmation (the test of a rule on new samples) as text for a terminal.

    Its paragraphs are warnings, the verdict in one sentence, a line for each number, and notes;
    empty ones are left out.
    """
    warnings = []
    notes = []
    for finding in confirmation.findings:
        if finding.severity == Severity.WARNING:
            warnings.append(bullet(finding.message))
        else:
            notes.append(bullet(finding.message))
    verdict = f"{verdict_words(confirmation)}: {verdict_meaning(confirmation)}"
    number_lines = [named_line(name, words) for name, words in confirmation_rows(confirmation)]
    paragraphs = [warnings, [wrapped_sentence(verdict)], number_lines, notes]
    texts = ["\n".join(lines) for lines in paragraphs if lines]
    return "\n\n".join(texts)


def bullet(sentence: str) -> str:
    """A sentence of a list, in lines."""
    return fill(
        sentence,
        TEXT_WIDTH,
        initial_indent="  - ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def named_line(name: str, words: str) -> str:
    """A name, and words beside it."""
    indent = " " * (NAME_WIDTH + 3)
    return fill(
        words,
        TEXT_WIDTH,
        initial_indent=f"  {name:<{NAME_WIDTH}} ",
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def verdict_words(confirmation: Confirmation) -> str:
    """`CONFIRMED, p = 0.0012`."""
    verdict = "CONFIRMED" if confirmation.confirmed else "NOT CONFIRMED"
    return f"{verdict}, p = {p_in_figures(confirmation.pvalue)}"


def verdict_meaning(confirmation: Confirmation) -> str:
    """Say what the verdict means: `the rule ranks the 60 new samples better than chance, and …`

    Confirmed means that the ranks are better than chance. The rest of the sentence is about errors:
    whether the rule makes clearly fewer of them than always naming the same class.
    """
    new_units = plural(confirmation.n_units, f"new {unit_noun(confirmation)}")
    if not confirmation.confirmed:
        return f"chance may rank the {new_units} as well as the rule does."
    if confirmation.one_class_pvalue <= LEVEL:
        return (
            f"the rule ranks the {new_units} better than chance, and errs less often than naming "
            "one class."
        )
    return (
        f"the rule ranks the {new_units} better than chance; at its threshold it does not clearly "
        "err less often than naming one class."
    )


def wrapped_sentence(sentence: str) -> str:
    """A sentence in lines."""
    return fill(sentence, TEXT_WIDTH, subsequent_indent="  ")


def unit_noun(confirmation: Confirmation) -> str:
    """What counts once: a sample, or a group of them."""
    if confirmation.n_units < confirmation.n_rows:
        return "group"
    return "sample"


def confirmation_rows(confirmation: Confirmation) -> list[tuple[str, str]]:
    """The numbers of a confirmation, each as a pair of its name and words.

    Numbers that are not known have no words and are left out.
    """
    negative, positive = confirmation.classes
    rows = [
        ("error", _error_words(confirmation)),
        ("expected", _expected_words(confirmation)),
        ("AUC", _area_words(confirmation)),
        (positive, _right_words(confirmation.sensitivity)),
        (negative, _right_words(confirmation.specificity)),
    ]
    if confirmation.calibration is not None:
        rows.append(("calibration", _calibration_words(confirmation.calibration, positive)))
    return [(name, words) for name, words in rows if words]


def per_cent(interval: tuple[float, float]) -> str:
    """`5–23 %`."""
    low, high = (round(100 * end) for end in interval)
    return f"{low}–{high} %"


def _error_words(confirmation: Confirmation) -> str:
    """The error in words, and for comparison the error of always naming one class.

    For example: `5 of 60 samples wrong, 8 % (exact 95 % interval 3–18 %); always naming one class
    40 % (…)`. If groups of rows count once, the error of single rows is added.
    """
    noun = unit_noun(confirmation)
    interval = per_cent(confirmation.error_interval)
    one_class_p = p_in_figures(confirmation.one_class_pvalue)

    words = f"{confirmation.wrong} of {plural(confirmation.n_units, noun)} wrong"
    words += f", {100 * confirmation.error:.0f} % (exact 95 % interval {interval})"
    if noun == "group":
        words += f", {100 * confirmation.row_error:.0f} % of rows"
    words += f"; always naming one class {100 * confirmation.one_class_error:.0f} %"
    words += f" (that the rule is no better: p = {one_class_p})"
    return words


def _expected_words(confirmation: Confirmation) -> str:
    """The error and area under the curve that cross-validation had predicted, in words.

    The text is empty if the rule was not cross-validated. It adds whether the new error is clearly
    above or below what was expected: if their intervals do not overlap.
    """
    expected = confirmation.expected
    if expected is None:
        return ""
    words = f"{100 * expected.error:.0f} % ({per_cent(expected.error_interval)})"
    if expected.area is not None and expected.area_interval is not None:
        low, high = expected.area_interval
        words += f", AUC {expected.area:.2f} ({low:.2f}–{high:.2f})"
    words = f"{words}, by cross-validation of the table tested"

    lowest_error, highest_error = confirmation.error_interval
    lowest_expected, highest_expected = expected.error_interval
    if lowest_error > highest_expected:
        return f"{words}: these samples are harder for the rule than expected"
    if highest_error < lowest_expected:
        return f"{words}: these samples are easier for the rule than expected"
    return words


def _area_words(confirmation: Confirmation) -> str:
    """The area under the curve, and how its p-value was made."""
    low, high = confirmation.area_interval
    test = "exact rank test"
    if confirmation.n_shuffles > 0:
        test = f"rank test with {confirmation.n_shuffles:,} shuffles"
    words = f"{confirmation.area:.2f} (95 % interval {low:.2f}–{high:.2f}; {test}"
    if confirmation.paired:
        words += " within pairs"
    return f"{words})"


def _right_words(share: ShareRight) -> str:
    """`20 of 24 right (exact 95 % interval 63–95 %)`."""
    return f"{share.right} of {share.total} right (exact 95 % interval {per_cent(share.interval)})"


def _calibration_words(calibration: Calibration, positive: str) -> str:
    """How well a rule's probabilities hold, in words.

    There are three parts: the number of positive samples beside the sum of the probabilities; the
    slope, if there is one, of the classes on the scores; and Brier's score, the mean square of
    probability minus class (1 or 0).

    Parameters
    ----------
    calibration : the numbers.
    positive : the name of the positive class.
    """
    counts = (
        f"{calibration.n_positive} are {positive} where probabilities add up to "
        f"{calibration.expected_positive:.1f} (p = {p_in_figures(calibration.pvalue)})"
    )
    slope = ""
    if calibration.slope is not None:
        low, high = calibration.slope.interval
        slope = (
            f"; slope {calibration.slope.value:.2f} (95 % interval {low:.2f}–{high:.2f}), ideally 1"
        )
    # For comparison: Brier's score if every sample got the share of positives as its probability.
    brier = (
        f"; Brier's score {calibration.brier:.3f}, of the share alone "
        f"{calibration.brier_of_share:.3f}"
    )
    return f"{counts}{slope}{brier}"
