"""The text of the test of an outcome, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from chanceline._results import listed
from chanceline.significance.outcomes.measures import Expectation
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Severity

LINE_WIDTH = 98  # letters in a line
# Features alone that are listed.
MAX_FEATURES_SHOWN = 8
MIN_CELL_WIDTH = 6  # of a number of samples


def render_outcome(result: OutcomeTest) -> str:
    """The report of a test as text for a terminal.

    It says what the outcome is taken for, the verdict, what to expect of a rule on new samples, and
    how the p-value was made.
    """
    # Each paragraph is a list of lines. Paragraphs without lines are left out.
    paragraphs = [
        [_wrapped(f"{result.taken_for}.")],
        _listed_lines("Data checks that bear on the verdict:", result.checks()),
        [_wrapped(sentence) for sentence in outcome_story(result)],
        _contrast_lines(result),
        _size_lines(result),
        _alone_lines(result),
        _confusion_lines(result.expected),
        _listed_lines("How the p-value was made:", pvalue_sentences(result)),
        _listed_lines("Data checks:", result.checks(Severity.NOTE, Severity.PREPARED)),
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def outcome_story(result: OutcomeTest) -> list[str]:
    """The verdict, what to expect, why both hold where they seem not to, and the rule."""
    sentences = [f"{result.verdict.upper()}, {result.in_p()}. {result.reason}"]
    if result.expected is not None:
        sentences.append(f"New samples: {result.expected.summary()}.")
        sentences += _reconciliation(
            result, rule_beats_guessing=result.expected.better_than_guessing
        )
    if result.rule is not None:
        sentences.append(f"The rule: {result.rule.text}{_why_without_features(result)}.")
    return sentences


def _why_without_features(result: OutcomeTest) -> str:
    """Why a rule that is better than guessing in cross-validation has no feature; else empty."""
    if result.rule is None or result.rule.features or result.expected is None:
        return ""
    if not result.expected.better_than_guessing:
        return ""
    return (
        "; the numbers above are of rules that were chosen anew in every fold, some of them with "
        "features, so that this choice is a close one"
    )


def _reconciliation(result: OutcomeTest, *, rule_beats_guessing: bool) -> list[str]:
    """Explain how the verdict and the cross-validated rule can both hold if they seem to disagree.

    Parameters
    ----------
    result : the test, with its verdict.
    rule_beats_guessing : whether the rule is better than guessing on samples left out.

    Returns
    -------
    One sentence; none if the two agree.
    """
    is_structure = result.verdict is Verdict.STRUCTURE
    if is_structure == rule_beats_guessing:
        return []

    # A useful rule, but no structure shown.
    if rule_beats_guessing:
        return [
            "Both hold: the rule promises something, but the test, which is the stricter of the "
            "two, does not exclude chance; further samples would tell."
        ]

    # Structure, but no useful rule.
    if result.is_spread:
        return [
            "Both hold: the evidence is spread over many features, and these samples are too few "
            "to learn how to weigh them."
        ]
    return [
        "Both hold: the test needs no rule. The effect is there, but it is too small, or the "
        "samples are too few, for a rule that clearly gains by it."
    ]


def pvalue_sentences(result: OutcomeTest) -> list[str]:
    """What was permuted, how often, and what kind of p-value that gives."""
    sentences = [f"under the null hypothesis these change places: {result.exchange}"]
    if result.permutation is not None:
        sentences.append(f"{result.permutation.summary()}; {result.permutation.kind}")
    sentences += result.outcome.assumptions
    return sentences


def _wrapped(text: str, *, indent: str = "") -> str:
    """Text in lines of `LINE_WIDTH` letters."""
    return fill(
        text,
        LINE_WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )


def _listed_lines(heading: str, sentences: Sequence[str]) -> list[str]:
    """A heading and its sentences; no lines if there are none."""
    if not sentences:
        return []
    return [heading, *[_wrapped(f"- {sentence}", indent="  ") for sentence in sentences]]


def _contrast_lines(result: OutcomeTest) -> list[str]:
    """A table of the comparisons between classes (contrasts), smallest adjusted p-value first.

    No lines without comparisons.
    """
    if not result.contrasts:
        return []
    contrasts = sorted(result.contrasts, key=lambda contrast: contrast.adjusted_pvalue)
    # `contrast.words` says what is compared: `ill against well`.
    width = max(len(contrast.words) for contrast in contrasts)
    lines = ["Which classes differ (p adjusted for all comparisons; best feature):"]
    for contrast in contrasts:
        pvalue = f"{contrast.adjusted_pvalue:<8.2g}"
        lines.append(f"  {contrast.words:<{width}}  p = {pvalue} {contrast.feature}")
    return lines


def _size_lines(result: OutcomeTest) -> list[str]:
    """A table of what 1, 2, … features explain (R²), and the range of R² in permuted outcomes.

    No lines if nothing was permuted.
    """
    if not result.front:
        return []
    lines = ["Features  R²    permuted            p (adjusted for all sizes)"]
    for reading in result.front:
        numbers = f"{reading.explained:.2f}  {reading.shuffled!s:<18}  {reading.pvalue:<10.2g}"
        lines.append(f"  {reading.k:<7} {numbers} {listed(reading.features)}")
    return lines


def _alone_lines(result: OutcomeTest) -> list[str]:
    """The best features alone, where there is structure."""
    frame = result.to_frame()
    convincing = frame[frame["adjusted_p"] <= result.settings.level].head(MAX_FEATURES_SHOWN)
    if len(convincing) == 0:
        return []
    lines = ["Features that convince alone (R², p adjusted for all features):"]
    for row in convincing.itertuples(index=False):
        lines.append(f"  {row.feature}: {row.explained:.2f}, p = {row.adjusted_p:.2g}")
    return lines


def _confusion_lines(expected: Expectation | None) -> list[str]:
    """The confusion matrix: true classes in rows, predicted classes in columns.

    No lines if the outcome has no classes, or if there is no rule.
    """
    if expected is None or expected.confusion is None:
        return []
    # Names of classes and counts have cells of the same width.
    width = max(MIN_CELL_WIDTH, *[len(name) for name in expected.class_names])
    header = " ".join(f"{name:>{width}}" for name in expected.class_names)
    lines = [
        "Samples left out, by class (rows) and by what they are called (columns):",
        f"  {'':<{width}} {header}",
    ]
    for name, counts in zip(expected.class_names, expected.confusion, strict=True):
        cells = " ".join(f"{count:{width}.1f}" for count in counts)
        lines.append(f"  {name:<{width}} {cells}")
    return lines
