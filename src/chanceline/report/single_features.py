"""The part of the page with all features one by one: a Manhattan plot."""

from __future__ import annotations

from chanceline.figures.single_features import draw_single_features, feature_axis
from chanceline.report.page import draw_for_page
from chanceline.significance.result import SeparationTest
from chanceline.significance.single_pvalues import single_pvalues
from chanceline.tables.dataset import Dataset

FEWEST_FEATURES = 300  # of fewer the table of features shows enough
FIGURE_SIZE = (7.5, 3.4)  # inches


def single_features_section(result: SeparationTest, data: Dataset | None) -> dict[str, object]:
    """What the template shows of the features one by one: their p-values as a Manhattan plot, and
    what stands below it.

    Parameters
    ----------
    result : names the features to mark.
    data : the table; without it, and for few features, there is no picture.
    """
    if data is None or len(data.feature_names) < FEWEST_FEATURES:
        return {"single_features_figure": {}, "single_features_along": ""}
    variants = None
    if data.variants is not None:
        variants = data.variants.of_features(data.feature_names)
    axis = feature_axis(len(data.feature_names), variants)
    pvalues = single_pvalues(data)
    marked_names = set(result.evidence.features)
    marked = [column for column, name in enumerate(data.feature_names) if name in marked_names]
    figure = draw_for_page(
        lambda ax: draw_single_features(
            ax, pvalues, axis=axis, names=data.feature_names, named=marked
        ),
        "single features",
        FIGURE_SIZE,
    )
    along = "in the order of the table"
    if variants is not None:
        along = "along the chromosomes"
    return {"single_features_figure": figure, "single_features_along": along}
