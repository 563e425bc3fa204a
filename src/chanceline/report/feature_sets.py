"""The tests of sets of features as a page, and their table as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chanceline._results import harmless
from chanceline.figures.feature_sets import draw_sets, size_of_sets
from chanceline.report.cells import cells_to_read
from chanceline.report.page import PAPER, Page, draw_for_page, hash_arrays, plain_paragraph
from chanceline.significance.set_result import SetTests
from chanceline.significance.set_text import (
    carriers_in_words,
    carriers_legend,
    first_sentences,
    method_sentence,
)
from chanceline.tables.dataset import Dataset, Severity
from chanceline.tables.outcome_table import OutcomeTable

WESTFALL_YOUNG = (
    "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993)."
)
SET_COLUMNS = ("set", "adjusted p", "p", "features tested", "features named", "carried by")


def write_sets_report(
    result: SetTests, path: str | Path, data: Dataset | OutcomeTable | None = None
) -> Path:
    """Write the result of `set_tests` as one HTML file.

    Parameters
    ----------
    result
        What the tests gave.
    path
        The file to write.
    data
        The data tested; with it the page names the file and holds a hash of the numbers.
    """
    return sets_page(result, data).write(path)


def sets_page(result: SetTests, data: Dataset | OutcomeTable | None = None) -> Page:
    """The page with the result of `set_tests`, which tests sets of features, before it is written.

    If `data`, the table tested, is given, the page names its file and holds a hash of its numbers.
    """
    table_name = f"{result.n_samples} samples × {result.n_features} features"
    record = result.to_dict()
    provenance: dict[str, object] = {"seed": result.settings.seed}
    if data is not None:
        table_name = data.source
        digest = hash_arrays(data.X)
        # Both show the keys in this order, so those about the data are put first.
        record = {"source": table_name, "sha256": digest, **record}
        provenance = {"data": table_name, "SHA-256 of the numbers": digest, **provenance}
    return Page(
        template="sets.html",
        title=f"Which sets of features? {table_name}",
        record=record,
        values=template_values(result),
        provenance=provenance,
        references=(PAPER, WESTFALL_YOUNG),
    )


def sets_methods_paragraph(result: SetTests) -> str:
    """The paragraph of methods of the page as plain text, to paste into a paper."""
    return plain_paragraph("sets_methods.html", {"result": result})


def template_values(result: SetTests) -> dict[str, object]:
    """The values of the variables in the template of the page, "sets.html": name → value."""
    first_sentence, *further_sentences = first_sentences(result)
    # The colour of the verdict, by its name in the palette of the page: whether any set convinces.
    colour_name = "unclear"
    if result.convincing:
        colour_name = "structure"
    return {
        "result": result,
        "colour": colour_name,
        "first_sentence": first_sentence,
        "further_sentences": further_sentences,
        "sets_figure": draw_for_page(
            lambda ax: draw_sets(ax, result), "sets", size_of_sets(result)
        ),
        "set_columns": SET_COLUMNS,
        "set_rows": set_rows(result),
        "sets_csv": sets_csv(result),
        "carriers_legend": carriers_legend(result),
        "method_sentence": method_sentence(result),
        "notes_and_preparations": result.checks(Severity.NOTE, Severity.PREPARED),
    }


def set_rows(result: SetTests) -> list[list[Any]]:
    """The cells of the table of sets: one row for each set, its columns as in `SET_COLUMNS`."""
    rows = []
    for tested_set in result.sets:
        # The features of the set that carry its evidence.
        carriers = carriers_in_words(tested_set, result.settings.level)
        rows.append(
            (
                tested_set.name,
                tested_set.adjusted_pvalue,
                tested_set.pvalue,
                tested_set.n_features,
                tested_set.n_named,
                carriers,
            )
        )
    return cells_to_read(rows)


def sets_csv(result: SetTests) -> str:
    """The table of sets as CSV; no spreadsheet takes a name in it for a formula."""
    table = result.to_frame()
    names = table["set"].map(harmless)
    carriers = table["carriers"].map(harmless)
    return table.assign(set=names, carriers=carriers).to_csv(index=False)
