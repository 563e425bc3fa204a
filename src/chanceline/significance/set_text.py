"""The text of the tests of sets, for a terminal: what convinces, a table of the best sets, how the
p-values were made, what to know.
"""

from __future__ import annotations

from textwrap import fill

from chanceline._results import listed
from chanceline.significance.readings import StopCause
from chanceline.significance.set_result import SetReading, SetTests
from chanceline.tables.dataset import Severity
from chanceline.tables.wording import plural, quoted

SETS_TEXT_WIDTH = 98  # letters
MAX_ROWS = 20  # sets that the table lists
MAX_CARRIERS_SHOWN = 3
MAX_CONVINCING_NAMED = 4  # sets that the first sentence names
MAX_NAME_WIDTH = 34  # letters of a set's name


def render_sets(result: SetTests) -> str:
    """The paragraphs in their order."""
    paragraphs = [
        _bullets_of("Data checks that bear on the p-values:", result.checks()),
        [_in_lines(sentence) for sentence in first_sentences(result)],
        set_lines(result),
        ["How the p-values were made:", _in_lines(f"  {method_sentence(result)}")],
        _bullets_of("Data checks:", result.checks(Severity.NOTE, Severity.PREPARED)),
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def first_sentences(result: SetTests) -> list[str]:
    """The beginning of the report: which sets convince, and how the outcome was understood.

    A last sentence says so if the run was stopped before all sets were tested.
    """
    # Which sets have an adjusted p-value within the level.
    all_sets = plural(len(result.sets), "set")
    level = f"{result.settings.level:g}"
    noun = result.outcome.noun
    names = result.convincing
    if names:
        verb = "goes" if len(names) == 1 else "go"
        sentence = (
            f"{len(names)} of {all_sets} {verb} with {noun} (adjusted p ≤ {level}): "
            f"{quoted(names, MAX_CONVINCING_NAMED)}."
        )
    else:
        sentence = f"None of {all_sets} goes with {noun} (adjusted p ≤ {level})."
    sentences = [sentence]

    # How the outcome was understood (empty for two classes), and whether the run was stopped.
    if result.outcome.taken_for:
        sentences.append(f"{result.outcome.taken_for}.")
    if result.stopped_by is not None:
        cause = "Ctrl-C" if result.stopped_by is StopCause.INTERRUPT else "the time limit"
        sentences.append(
            f"Stopped by {cause} before all sets were tested; the adjusted p-values are for these "
            "alone."
        )
    return sentences


def method_sentence(result: SetTests) -> str:
    """What p and adjusted p are, and of what they were made."""
    return (
        f"{result.shuffles} shuffles ({result.exchange}), the same for all sets. p: the share of "
        "labellings that do as well on the set's features; adjusted p: in any set (Westfall and "
        f"Young, step-down). {result.pvalue_kind}; at least {result.smallest_possible_p:.2g}."
    )


def set_lines(result: SetTests) -> list[str]:
    """The best sets as a table, and below it a legend of the numbers in its last column.

    The columns are the set, its adjusted p-value, its own p-value, its number of features, and the
    features in which the evidence lies, with their correlations.
    """
    shown_sets = result.sets[:MAX_ROWS]
    name_width = max(len(_short_name(tested_set.name)) for tested_set in shown_sets)
    heading = f"  {'set':<{name_width}}  {'adjusted p':<10}  {'p':<8}  {'features':<9}  carried by"
    level = result.settings.level  # features are shown for sets with p at most this
    lines = [heading]
    for tested_set in shown_sets:
        lines.append(_set_line(tested_set, name_width, level))
    n_hidden = len(result.sets) - len(shown_sets)
    if n_hidden > 0:
        lines.append(f"  and {plural(n_hidden, 'more set')} with larger p-values")
    lines += ["", _in_lines(f"  {carriers_legend(result)}")]
    return lines


def carriers_legend(result: SetTests) -> str:
    """What the numbers behind the features mean."""
    return (
        f"In brackets: {result.outcome.correlation}. Features are named where the set's own p is "
        f"at most {result.settings.level:g}."
    )


def _set_line(tested_set: SetReading, name_width: int, level: float) -> str:
    """The line of one set in the table of sets.

    Parameters
    ----------
    tested_set : the p-values of the set, and the features in which its evidence lies.
    name_width : width of the column of names.
    level : the p-value that convinces.
    """
    # `15`, or `12 of 15` if the table has only 12 of the features.
    features = str(tested_set.n_found)
    if tested_set.missing:
        features = f"{tested_set.n_found} of {tested_set.n_named}"
    numbers = f"{tested_set.adjusted_pvalue:<10.2g}  {tested_set.pvalue:<8.2g}  {features:<9}"
    first_columns = f"  {_short_name(tested_set.name):<{name_width}}  {numbers}"

    # The last column names as many features as fit into the line: try fewer and fewer, down to one,
    # which stays even if the line is too long.
    for n_carriers in range(MAX_CARRIERS_SHOWN, 0, -1):
        line = f"{first_columns}  {carriers_in_words(tested_set, level, n_carriers)}"
        if len(line) <= SETS_TEXT_WIDTH:
            break
    return line.rstrip()


def carriers_in_words(item: SetReading, level: float, most: int = MAX_CARRIERS_SHOWN) -> str:
    """`TP53 (+0.61), MYC (−0.40)`, or `many: TP53 (+0.31), …` where the evidence is spread.

    Empty if the set's own p-value does not convince: the names would be taken for findings.

    Parameters
    ----------
    level : the p-value that convinces.
    most : the largest number of carriers named.
    """
    if item.pvalue > level:
        return ""
    names = listed([str(carrier) for carrier in item.carriers], most)
    if item.spread:
        return f"many: {names}"
    return names


def _short_name(name: str) -> str:
    """A name that fits into its column."""
    if len(name) > MAX_NAME_WIDTH:
        return name[: MAX_NAME_WIDTH - 1] + "…"
    return name


def _in_lines(text: str) -> str:
    """The text in lines of `SETS_TEXT_WIDTH` letters."""
    return fill(text, SETS_TEXT_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _bullets_of(heading: str, sentences: list[str]) -> list[str]:
    """The lines of a heading with the sentences below it as a list, wrapped to the text's width.

    No lines at all if there are no sentences.
    """
    if not sentences:
        return []
    bullets = [
        fill(
            sentence,
            SETS_TEXT_WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        for sentence in sentences
    ]
    return [heading, *bullets]
