"""The chance test as a page.

One plain sentence and the verdict come first; then the picture, the design, the rule to use, its
features, what separates, and what would change the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from chanceline._results import harmless, listed
from chanceline.chance.bound import format_p
from chanceline.figures.significance import draw_features, draw_test
from chanceline.report.cells import cells_to_read
from chanceline.report.design_words import design_in_words
from chanceline.report.page import (
    ENVIRONMENT,
    PAPER,
    Drawings,
    Page,
    draw_for_page,
    hash_arrays,
    plain_paragraph,
)
from chanceline.report.rule_section import rule_section
from chanceline.report.single_features import single_features_section
from chanceline.report.weights import weights_csv
from chanceline.significance.features_table import surrogates_of
from chanceline.significance.proofs import Proof
from chanceline.significance.readings import StatisticKind
from chanceline.significance.result import SeparationTest
from chanceline.significance.stages import Stage
from chanceline.significance.text_output import named_sentences, readings
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Dataset, Severity
from chanceline.tables.wording import plural

# Verdict → the name of its colour in the style sheets.
COLOUR_NAMES = {
    Verdict.STRUCTURE: "structure",
    Verdict.CHANCE: "chance",
    Verdict.NOT_SHOWN: "unclear",
    Verdict.UNDECIDED: "unclear",
}
COVER = (
    "Cover T. M., “Geometrical and statistical properties of systems of linear inequalities with "
    "applications in pattern recognition”, IEEE Transactions on Electronic Computers EC-14:326 "
    "(1965)."
)
# What a p-value of the shuffles rests on: over the numbers of features, or over repeated searches.
SHUFFLE_REFERENCES: dict[str, str] = {
    StatisticKind.PATH: (
        "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993)."
    ),
    StatisticKind.SEARCH: (
        "Besag J. and Clifford P., “Sequential Monte Carlo p-values”, Biometrika 78:301 (1991)."
    ),
}
# The first four columns belong to the stepwise path, the last to whatever rule has fewest errors.
FRONT_COLUMNS = (
    "features",
    "R² of the path",
    "R² of the path, shuffled labels",
    "adjusted p of the path",
    "fewest errors of any rule found",
)
MAX_STAND_INS = 3  # that a cell of the table holds
# A feature is named if its standard deviation in one class is more than so many times the other.
UNEQUAL_SPREAD_RATIO = 2.0

ENVIRONMENT.filters["pvalue"] = format_p


def write_test_report(
    result: SeparationTest, path: str | Path, data: Dataset | None = None
) -> Path:
    """Write the result of `separation_test` as one HTML file.

    Parameters
    ----------
    result
        What the test gave.
    path
        The file to write.
    data
        The data tested; with it the page names the file and holds a hash of the numbers.
    """
    return separation_page(result, data).write(path)


def separation_page(result: SeparationTest, data: Dataset | None = None) -> Page:
    """The page with the test of two classes, before it is written.

    Parameters
    ----------
    result : of the test.
    data : the table tested. If it is given, the page names its file and holds a hash of its numbers
        and labels.
    """
    table_name = f"{result.n_samples} samples × {result.n_features} features"
    record = result.to_dict()  # the whole result, which the page shows as JSON at its end
    provenance: dict[str, object] = {  # what is needed to repeat the test
        "seed": result.settings.seed,
        "settings": changed_settings(result) or "the defaults",
    }
    if data is not None:
        table_name = data.source
        digest = hash_arrays(data.X, data.y)
        # Both show the keys in this order, so those about the data are put first.
        record = {"source": table_name, "sha256": digest, **record}
        provenance = {"data": table_name, "SHA-256 of the numbers and labels": digest, **provenance}

    # Each statistic that shuffled labels may be compared by has a reference.
    references = [PAPER, COVER]
    if result.permutation is not None:
        references.append(SHUFFLE_REFERENCES[result.permutation.statistic])
    return Page(
        template="test.html",
        title=f"Structure or chance? {table_name}",
        record=record,
        values=values_of_page_template(result, data),  # what the text, tables and figures show
        provenance=provenance,
        references=tuple(references),
    )


def methods_paragraph(result: SeparationTest) -> str:
    """The paragraph of methods of the page as plain text, to paste into a paper."""
    return plain_paragraph("test_methods.html", values_of_methods_template(result))


def values_of_methods_template(result: SeparationTest) -> dict[str, object]:
    """The values of the variables in the template of the methods paragraph: name → value."""
    # Whether the p-value of the shuffles compares stepwise paths: how well 1, 2, … features fit the
    # observed and the shuffled labels. If not, it compares results of a search, or there were no
    # shuffles. The template describes these cases in different words.
    shuffles_compare_paths = False
    if result.permutation is not None:
        shuffles_compare_paths = result.permutation.statistic == StatisticKind.PATH
    return {
        "result": result,
        "preparations": result.checks(Severity.PREPARED),
        "stage_sentence": stage_sentence(result),
        "shuffles_compare_paths": shuffles_compare_paths,
    }


def changed_settings(result: SeparationTest) -> str:
    """The settings that are not the defaults, apart from the seed: `level = 0.01, errors = 2`."""
    settings = result.settings.to_dict()
    defaults = type(result.settings)().to_dict()
    changed = [
        f"{name} = {value}"
        for name, value in settings.items()
        if name != "seed" and value != defaults[name]
    ]
    return ", ".join(changed)


def notebook_card(result: SeparationTest) -> str:
    """The plain sentence, the verdict, what to expect, what separates, the picture."""
    return ENVIRONMENT.get_template("card.html").render(
        result=result,
        colour=COLOUR_NAMES[result.verdict],
        front=draw_for_page(lambda ax: draw_test(ax, result), "front")["wide"],
    )


def values_of_page_template(result: SeparationTest, data: Dataset | None) -> dict[str, object]:
    """The values of the variables in the template of the page, "test.html": name → value.

    They are in the order of the page's sections. `data`, the table tested, is needed for the names
    of samples and columns, and for the p-values of single features; None if it is not known.
    """
    features = result.to_frame()  # one row for each feature that the result names
    # How well 1, 2, … features fit (the front), beside shuffled labels where these were drawn.
    front_figure = draw_for_page(lambda ax: draw_test(ax, result), "front")
    shuffles_are_drawn = any(point.shuffled is not None for point in result.front)
    return {
        # The verdict, and the front as a figure and as a table.
        "colour": COLOUR_NAMES[result.verdict],
        "is_structure": result.verdict is Verdict.STRUCTURE,
        "named_sentences": named_sentences(result),
        "front_figure": front_figure,
        "shuffles_are_drawn": shuffles_are_drawn,
        "front_columns": FRONT_COLUMNS,
        "front_rows": front_rows(result),
        "design": design_in_words(result, data),
        # The rule, the scores of the samples, and the errors to expect on new samples.
        **rule_section(result, data),
        "weights_csv": weights_csv(result),
        # The features: box plots by class, and a table on the page and as a file.
        "features_figure": draw_feature_boxes(result),
        "feature_columns": [name.replace("_", " ") for name in features.columns],
        "feature_rows": feature_rows(result, features),
        "features_csv": features_csv(features),
        **single_features_section(result, data),
        # How the p-value was made: a table with rows of a name and words ("readings"), one for
        # each proof that was tried, and one for the shuffles.
        "pvalue_readings": readings(result),
        "unequal_spreads": unequal_spread_sentences(result),
        # Data checks, and the paragraph of methods.
        "notes_and_preparations": result.checks(Severity.NOTE, Severity.PREPARED),
        **values_of_methods_template(result),
    }


def front_rows(result: SeparationTest) -> list[list[Any]]:
    """Cells for every number of features, in the order of `FRONT_COLUMNS`."""
    rows = []
    for point in result.front:
        band = "" if point.shuffled is None else str(point.shuffled)
        pvalue = "" if point.pvalue is None else point.pvalue
        rows.append((point.k, point.explained, band, pvalue, point.errors))
    return cells_to_read(rows)


def features_csv(features: pd.DataFrame) -> str:
    """The table of features as CSV; no spreadsheet takes a name in it for a formula."""
    columns_of_names = [name for name in ("feature", "surrogates") if name in features]
    harmless_columns = {name: features[name].map(harmless) for name in columns_of_names}
    return features.assign(**harmless_columns).to_csv(index=False)


def feature_rows(result: SeparationTest, features: pd.DataFrame) -> list[list[Any]]:
    """Cells of `result.to_frame()` to read, of all stand-ins the first few alone."""
    surrogates = []
    for name in features["feature"]:
        surrogates.append(surrogates_in_cell(surrogates_of(result, name)))
    return cells_to_read(features.assign(surrogates=surrogates).itertuples(index=False))


def draw_feature_boxes(result: SeparationTest) -> Drawings:
    """The features of the rule (or of the separating set) by class; empty if it has none."""
    rule = result.rule or result.separating
    if not rule.features:
        return {}
    return draw_for_page(lambda ax: draw_features(ax, result), "boxes", (7.5, 3.6))


def surrogates_in_cell(names: Sequence[str]) -> str:
    """The first names, and how many there are if these are not all."""
    text = listed(names, MAX_STAND_INS)
    if len(names) > MAX_STAND_INS:
        text += f" ({len(names)})"
    return text


def stage_sentence(result: SeparationTest) -> str:
    """The sentence, in the methods paragraph, about how the p-value was found.

    A stage is one of the steps of the test that can give the p-value: several proofs (bounds), then
    shuffled labels.
    """
    p = format_p(result.log10_pvalue)
    if result.stage is Stage.NOTHING:
        return f"No bound convinced and no labels were shuffled; p ≤ {p} is all that can be said."
    if result.stage is Stage.SHUFFLES:
        return shuffles_sentence(result, p)
    if result.stage is Stage.ONE_FEATURE:
        return (
            f"The p-value, at most {p}, is a rigorous bound for one feature, "
            f"{deciding_proof(result).features[0]}: an exponential bound on the tail of its sum "
            "over the positives, by values and by ranks, and a union over all features."
        )
    return bound_sentence(result, p)


def deciding_proof(result: SeparationTest) -> Proof:
    """The proof that gave the p-value."""
    return next(proof for proof in result.proofs if proof.stage is result.stage)


def features_with_names(features: Sequence[str]) -> str:
    """How many features, and their names: `2 features (a, b)`."""
    return f"{plural(len(features), 'feature')} ({listed(features)})"


def shuffles_sentence(result: SeparationTest, p: str) -> str:
    """The sentence, in the methods paragraph, about a p-value that shuffled labels gave.

    `p` is the p-value as text. The sentence also says which features carry the evidence.
    """
    features = features_with_names(result.evidence.features)
    if result.evidence.spread:  # no small set of features carries the evidence
        where_evidence_lies = "the evidence is spread over many features"
    elif result.evidence.convinces:
        where_evidence_lies = f"the smallest set that convinces by itself has {features}"
    else:
        where_evidence_lies = f"the evidence is largest for {features}"
    return (
        f"The p-value is that of the shuffles, {p} with what the proofs before them may spend; "
        f"{where_evidence_lies}."
    )


def bound_sentence(result: SeparationTest, p: str) -> str:
    """The sentence, in the methods paragraph, about a p-value that is a bound for a feature set.

    `p` is the p-value as text.
    """
    proof = deciding_proof(result)
    features = features_with_names(proof.features)
    errors = "without error"
    if proof.errors:
        errors = f"with {plural(proof.errors, 'error')}"

    # If the number of errors was not declared beforehand but counted on the data, the bound is
    # larger: each error costs a factor 2.
    price_of_counting = ""
    if result.stage is Stage.COUNTED_ERRORS:
        price_of_counting = ", errors counted after looking included (a factor 2 each)"

    # The set of the proof need not be the smallest one that is significant by itself.
    smaller_set = ""
    if result.evidence.features != proof.features:
        features_of_evidence = features_with_names(result.evidence.features)
        smaller_set = f" The smallest set that convinces by itself has {features_of_evidence}."
    return (
        f"The p-value, at most {p}, is a rigorous bound for {features} {errors}: the probability "
        "that any set of that size does as well, by Cover's count of separable labellings and the "
        f"union over all sets{price_of_counting}, whatever the dependence between features and "
        f"however the set was found.{smaller_set}"
    )


def unequal_spread_sentences(result: SeparationTest) -> list[str]:
    """A sentence for each feature whose standard deviation differs much between the classes.

    Only features that carry the evidence of the result are looked at.
    """
    sentences = []
    for name in result.evidence.features:
        values = result.columns[name]
        spread_of_negatives = values[result.labels < 0].std()
        spread_of_positives = values[result.labels > 0].std()
        smaller = min(spread_of_negatives, spread_of_positives)
        larger = max(spread_of_negatives, spread_of_positives)

        # If the feature is constant in one class, the ratio is infinite and says nothing.
        is_unequal = smaller > 0 and larger > UNEQUAL_SPREAD_RATIO * smaller
        if not is_unequal:
            continue

        negative_class, positive_class = result.class_names
        wider_class = negative_class
        if spread_of_positives > spread_of_negatives:
            wider_class = positive_class
        ratio = larger / smaller
        sentences.append(f"{name} varies {ratio:.1f} times as much in {wider_class}")
    return sentences
