"""The text of a result, for a terminal: one p-value in front, how it was made further down.

Paragraphs in their order: data checks that bear on the verdict; the verdict, what to expect of the
rule and what separates; the features named and the rule; the front as a small table; how the
p-value was made; advice; other data checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from chanceline._results import listed
from chanceline.chance.bound import format_p
from chanceline.prediction.crossval import ExpectedError
from chanceline.significance.evidence import Evidence
from chanceline.significance.named_features import NamedFeature
from chanceline.significance.proofs import Proof
from chanceline.significance.readings import StatisticKind
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import RuleToUse
from chanceline.significance.stages import Stage
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Severity
from chanceline.tables.wording import plural

WIDTH = 98  # letters in a line
ROW_NAME_WIDTH = 10
ROW_INDENT = ROW_NAME_WIDTH + 3  # two letters before the name of a row and one after it
# A rule on more features than this is not written out; instead its first features are listed.
MAX_FEATURES_WRITTEN = 6
MAX_FEATURES_LISTED = 12
# Proofs that say less are not worth a line.
MAX_LOG10_P_SHOWN = -1.0
PROOF_NAMES = {
    Stage.DECLARED_ERRORS: "bound",
    Stage.COUNTED_ERRORS: "errors",
    Stage.ONE_FEATURE: "feature",
}


def render(result: SeparationTest) -> str:
    """The result as text for a terminal, wrapped to `WIDTH` characters except for a formula."""
    story_lines = [_filled(sentence, subsequent_indent="  ") for sentence in result.story()]
    pvalue_lines = [_row(name, words) for name, words in readings(result)]
    advice_heading = "What would change this:"
    if result.verdict is Verdict.STRUCTURE:
        advice_heading = "Before relying on it:"
    # Each paragraph is a list of lines. Paragraphs without lines are left out.
    paragraphs = [
        _bullets("Data checks that bear on the verdict:", result.checks(Severity.WARNING)),
        story_lines,
        [*_named_lines(result), *_rule_lines(result)],
        _size_table_lines(result),
        ["How the p-value was made:", *pvalue_lines],
        _bullets(advice_heading, result.advice),
        _bullets("Data checks:", result.checks(Severity.NOTE, Severity.PREPARED)),
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def _filled(text: str, *, initial_indent: str = "", subsequent_indent: str = "") -> str:
    """Text in lines of `WIDTH` letters; names such as IL-6 are not broken."""
    return fill(
        text,
        WIDTH,
        initial_indent=initial_indent,
        subsequent_indent=subsequent_indent,
        break_on_hyphens=False,
    )


def _row(name: str, words: str) -> str:
    """A name, and words beside it."""
    return _filled(
        words,
        initial_indent=_row_name(name),
        subsequent_indent=" " * ROW_INDENT,
    )


def _row_name(name: str) -> str:
    return f"  {name:<{ROW_NAME_WIDTH}} "


def _bullets(heading: str, sentences: Sequence[str]) -> list[str]:
    """A heading and its sentences; no lines if there are none."""
    if not sentences:
        return []
    bullets = [
        _filled(sentence, initial_indent="  - ", subsequent_indent="    ") for sentence in sentences
    ]
    return [heading, *bullets]


def _named_lines(result: SeparationTest) -> list[str]:
    """A line for each of the features named, or for the first of many; `named` heads the first."""
    sentences = named_sentences(result)[:MAX_FEATURES_WRITTEN]
    row_names = ["named", *[""] * len(sentences)]
    return [_row(name, words) for name, words in zip(row_names, sentences, strict=False)]


def named_sentences(result: SeparationTest) -> list[str]:
    """For each feature that the verdict names: what it adds, and how stable its selection is.

    The stability is the share of random halves of the samples in which it is selected. There are
    sentences only if structure is found, because else the names would look like findings.
    """
    if result.verdict is not Verdict.STRUCTURE:
        return []
    set_size = result.evidence.k or 0  # number of features named; None if the evidence is spread
    sentences = []
    for reading in result.named:
        clauses = []
        has_other_features = set_size > 1
        if has_other_features:
            clauses.append(_addition_clause(reading))
        if reading.selected_in_halves is not None:
            clauses.append(_halves_clause(reading.selected_in_halves, set_size, result.evidence))
        if clauses:
            sentences.append(f"{reading.feature}: {'; '.join(clauses)}")
    return sentences


def _halves_clause(share: float, set_size: int, evidence: Evidence) -> str:
    """`forward selection of 2 features takes it in 74 % of halves of the samples`; of a feature
    proven alone `no other goes better with the classes in 36 % of halves of the samples`.
    """
    in_halves = f"in {100 * share:.0f} % of halves of the samples"
    if evidence.is_proven_alone:
        return f"no other goes better with the classes {in_halves}"
    return f"forward selection of {plural(set_size, 'feature')} takes it {in_halves}"


def _addition_clause(reading: NamedFeature) -> str:
    """`adds 0.21 to R²; without it 9 errors, and the others do not convince`."""
    clause = f"adds {reading.adds:.2f} to R²; without it {plural(reading.errors_without, 'error')}"
    if reading.convinces_without is None:
        return clause
    verb = "still convince" if reading.convinces_without else "do not convince"
    return f"{clause}, and the others {verb}"


def _rule_lines(result: SeparationTest) -> list[str]:
    """The lines about the rule for new samples: as a sentence, a formula and a scorecard.

    The first line names the positive class, to which signs of weights refer. A rule that is no
    better than guessing is left out, but its scorecard is not, because the user asked for it.
    """
    positive = f"{result.positive_class} ({result.positives} of {result.n_samples} samples)"
    lines = [_row("positive", f"{positive}: rule, weights, AUC and sensitivity speak of it")]
    rule = result.rule
    if rule is None:
        return lines
    if rule.may_be_useful:
        lines.append(_row("rule", _rule_words(rule)))
        if rule.few is not None:
            lines.append(_row("with few", _few_words(rule)))
        if rule.expected_error is not None:
            lines.append(_row("classes", _classes_words(result, rule.expected_error)))
        # A formula must be on one line, to be copied into a spreadsheet.
        fits_in_line = len(rule.formula) <= WIDTH - ROW_INDENT
        if rule.formula and fits_in_line:
            lines.append(f"{_row_name('formula')}{rule.formula}")
    if rule.scorecard is not None:
        lines.append(_row("scorecard", rule.card_text))
    return lines


def _rule_words(rule: RuleToUse) -> str:
    """The sentence of the rule, or the names of its features if they are many."""
    if len(rule.features) <= MAX_FEATURES_WRITTEN or rule.dense:
        return rule.text
    return listed(rule.features, MAX_FEATURES_LISTED)


def _few_words(rule: RuleToUse) -> str:
    """The rule on few features beside one on many, as a sentence or by its features."""
    assert rule.few is not None
    if len(rule.few.features) <= MAX_FEATURES_WRITTEN:
        return rule.few_text
    return listed(rule.few.features, MAX_FEATURES_LISTED)


def _classes_words(result: SeparationTest, expected: ExpectedError) -> str:
    """`ill found 88 % (sensitivity), well 80 % (specificity); balanced error 16 % (CV)`."""
    negative, positive = result.class_names
    sensitivity = f"{positive} found {100 * expected.sensitivity:.0f} % (sensitivity)"
    specificity = f"{negative} {100 * expected.specificity:.0f} % (specificity)"
    balanced = f"balanced error {100 * expected.balanced_rate:.0f} %"
    return f"{sensitivity}, {specificity}; {balanced}, cross-validated"


def _size_table_lines(result: SeparationTest) -> list[str]:
    """The lines of the table of what 1, 2, … features do; no lines if there is none.

    R², its range on shuffled labels and the adjusted p-value are about the features that stepwise
    least squares takes. The fewest errors are those of any rule found on so many features. An upper
    line of headings says so.
    """
    if not result.front:
        return []
    # The widths are those of `_size_table_row`: three columns together, and the last one.
    upper_heading = f"  {'':8}   {'stepwise least squares':<41}   {'any rule found':>14}"
    heading = _size_table_row(
        "features", "R²", "R² of shuffled labels", "adjusted p", "fewest errors"
    )
    lines = [upper_heading, heading]
    # `result.front` has an entry for each number of features, `size.k`.
    for size in result.front:
        r_squared = f"{size.explained:.2f}"
        # On shuffled labels, `0.37 (0.29–0.48)`: the median and the range of 90 %.
        shuffled_range = "" if size.shuffled is None else str(size.shuffled)
        pvalue = "" if size.pvalue is None else f"{size.pvalue:.2g}"
        lines.append(_size_table_row(size.k, r_squared, shuffled_range, pvalue, size.errors))
    return lines


def _size_table_row(
    n_features: int | str, explained: str, band: str, pvalue: str, errors: int | str
) -> str:
    """A line of the table of sizes; its columns are as wide as the headings, or as `0.53`."""
    path = f"{explained:<4}   {band:<21}   {pvalue:<10}"
    return f"  {n_features:>8}   {path}   {errors:>14}"


def readings(result: SeparationTest) -> list[tuple[str, str]]:
    """What the p-value was made of, as rows of a name and words.

    Every proof with what it is about, and the shuffles; the one that gave the p-value says so.
    """
    proofs = [proof for proof in result.proofs if _is_worth_a_line(result, proof)]
    rows = [(PROOF_NAMES[proof.stage], _proof_words(result, proof)) for proof in proofs]
    if not any(proof.stage is Stage.DECLARED_ERRORS for proof in proofs):
        rows.insert(0, (PROOF_NAMES[Stage.DECLARED_ERRORS], _uninformative_bound(result)))
    rows.append(("shuffles", _shuffles_words(result)))
    return rows


def _is_worth_a_line(result: SeparationTest, proof: Proof) -> bool:
    return proof.log10_p <= MAX_LOG10_P_SHOWN or proof.stage is result.stage


def _proof_words(result: SeparationTest, proof: Proof) -> str:
    """`p ≤ 2.3e-4 for 2 features with no error (rigorous); it gave the p-value`."""
    text = f"p ≤ {format_p(proof.log10_p)} for {proof.about()} (rigorous); "
    if proof.stage is result.stage:
        return text + "it gave the p-value"
    return text + f"it would decide at {proof.share:.2g} or less"


def _uninformative_bound(result: SeparationTest) -> str:
    """Why the rigorous bound, a p-value that needs no shuffles, says nothing here.

    The bound is that of stage 1, for the number of errors that was declared beforehand. The first
    reason that applies is given.
    """
    # 1. The bound is not valid for labels that were drawn from a model.
    labels_were_drawn_from_model = result.labels_from_model and result.permutation is not None
    if labels_were_drawn_from_model:
        return "none: labels are drawn from a model of the covariates"

    # 2. The best set found makes more errors than were declared.
    errors = result.separating.errors
    declared_errors = result.errors_declared  # None if errors were counted after looking
    if declared_errors is not None and errors > declared_errors:
        return f"none: {plural(errors, 'error')} where {declared_errors} were allowed"

    # 3. The set has too many features: with at most `most_features` the bound would convince.
    most_features = result.largest_convincing
    if most_features == 0:
        return "uninformative at this size"
    features = "1 feature" if most_features == 1 else f"at most {most_features} features"
    return f"uninformative here; could reach {result.settings.level:g} only with {features}"


def _shuffles_words(result: SeparationTest) -> str:
    """What the report says of the shuffles: their p-value, and whether it is that of the test.

    Without shuffles it says why there are none.
    """
    permutation = result.permutation
    if permutation is None:
        # No shuffles were planned if they were not asked for, or are not possible. If some were
        # planned, a proof made them unnecessary.
        shuffles_were_planned = bool(result.settings.permutations)
        return "not needed" if shuffles_were_planned else "not run"
    text = f"{permutation.summary()} ({permutation.kind})"

    # If the user's own search function was repeated: how many features it took to separate shuffled
    # labels. `null_sizes` has an entry for each shuffle; None where the search did not separate.
    sizes = sorted(size for size in permutation.null_sizes if size is not None)
    own_search_was_repeated = permutation.statistic is StatisticKind.SEARCH
    if sizes and own_search_was_repeated:
        median = sizes[len(sizes) // 2]
        text += f"; the search needs {median} ({sizes[0]}–{sizes[-1]}) features where it separates"

    # The p-value of the test includes what the stages of proofs before the shuffles could spend.
    if result.stage is Stage.SHUFFLES:
        text += "; it gave the p-value"
        spent = result.spending.spent_before_shuffles
        if spent > 0:
            text += f", with {spent:.1g} for the proofs that came before"
    return text
