"""The test of an outcome other than two classes as a page.

What has no meaning there, such as separation, is not on the page.
"""

from __future__ import annotations

from pathlib import Path

from chanceline.figures.outcomes import draw_explained, draw_outcome
from chanceline.report.cells import cells_to_read
from chanceline.report.page import (
    ENVIRONMENT,
    Drawings,
    Page,
    draw_for_page,
    plain_paragraph,
)
from chanceline.report.separation import COLOUR_NAMES
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.outcomes.text import outcome_story, pvalue_sentences
from chanceline.tables.dataset import Severity

MAX_FEATURE_ROWS = 30  # of the table of features
REFERENCES = (
    "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993).",
    "Strasser H. and Weber C., “On the asymptotic theory of permutation statistics”, Mathematical "
    "Methods of Statistics 8:220 (1999).",
)
FREEDMAN_LANE = (
    "Freedman D. and Lane D., “A nonstochastic interpretation of reported significance levels”, "
    "Journal of Business & Economic Statistics 1:292 (1983)."
)


def write_outcome_report(result: OutcomeTest, path: str | Path) -> Path:
    """Write the result of a test of an outcome as one HTML file."""
    return outcome_page(result).write(path)


def outcome_page(result: OutcomeTest) -> Page:
    """The page with the test of an outcome that is not two classes, before it is written."""
    references = list(REFERENCES)
    if result.covariates:
        references.append(FREEDMAN_LANE)  # whose method adjusts shuffles for covariates
    return Page(
        template="outcome.html",
        title=f"Structure or chance? {result.source}",
        record=result.to_dict(),
        values=outcome_values(result),
        provenance={"seed": result.settings.seed, "data": result.source},
        references=tuple(references),
    )


def outcome_methods_paragraph(result: OutcomeTest) -> str:
    """The paragraph of methods of the page as plain text, to paste into a paper."""
    return plain_paragraph("outcome_methods.html", {"result": result})


def outcome_values(result: OutcomeTest) -> dict[str, object]:
    """The values of the template's variables: name → value."""
    features = result.to_frame().head(MAX_FEATURE_ROWS)
    # The contrasts, such as pairs of classes that were compared; the smallest p-value first.
    contrasts = sorted(result.contrasts, key=lambda contrast: contrast.adjusted_pvalue)
    contrast_rows = [
        (contrast.words, contrast.adjusted_pvalue, contrast.pvalue, contrast.feature)
        for contrast in contrasts
    ]
    return {
        "result": result,
        "colour": COLOUR_NAMES[result.verdict],
        "story": outcome_story(result)[1:],  # a box above shows the first sentence, the verdict
        "explained_figure": draw_for_page(lambda ax: draw_explained(ax, result), "explained"),
        "prediction_figure": prediction_drawings(result),
        "prediction_caption": prediction_caption(result),
        "front_rows": front_cells(result),
        "contrast_rows": cells_to_read(contrast_rows),
        "measure_rows": measure_cells(result),
        "feature_columns": list(features.columns),
        "feature_rows": cells_to_read(features.itertuples(index=False)),
        "pvalue_sentences": pvalue_sentences(result),
        "notes": result.checks(Severity.NOTE, Severity.PREPARED),
    }


def prediction_drawings(result: OutcomeTest) -> Drawings:
    """Predictions of samples left out; empty without a rule."""
    if result.held_out is None:
        return {}
    return draw_for_page(lambda ax: draw_outcome(ax, result), "predictions")


def prediction_caption(result: OutcomeTest) -> str:
    """What that picture shows."""
    if result.held_out is None:
        return ""
    return result.outcome.picture(result.held_out).caption


def front_cells(result: OutcomeTest) -> list[list[object]]:
    """Cells for every number of features."""
    rows = []
    for point in result.front:
        rows.append(
            (point.k, ", ".join(point.features), point.explained, str(point.shuffled), point.pvalue)
        )
    return cells_to_read(rows)


def measure_cells(result: OutcomeTest) -> list[list[object]]:
    """Cells for every measure of what to expect; none without a rule."""
    if result.expected is None:
        return []
    rows = []
    for measure in result.expected.measures:
        low, high = measure.interval
        rows.append((measure.name, measure.value, f"{low:.2f} to {high:.2f}", measure.guess))
    return cells_to_read(rows)


def outcome_card(result: OutcomeTest) -> str:
    """What the outcome is taken for, the verdict and the picture, for a notebook."""
    drawing = draw_for_page(lambda ax: draw_outcome(ax, result), "outcome")["wide"]
    return ENVIRONMENT.get_template("outcome_card.html").render(
        result=result,
        colour=COLOUR_NAMES[result.verdict],
        story=outcome_story(result),
        drawing=drawing,
    )
