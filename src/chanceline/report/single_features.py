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
    """Values of the template's variables about the p-values of single features: name → value.

    They are a Manhattan plot of the p-values, and the words in its caption that say in which order
    the features stand. Without `data`, or with few features, there is no plot.

    Parameters
    ----------
    result : the result of the test. The plot marks the features that carry its evidence.
    data : the table tested; None if it is not known.
    """
    if data is None or len(data.feature_names) < FEWEST_FEATURES:
        return {"single_features_figure": {}, "single_features_along": ""}

    # If the places of all features on chromosomes are known (genetic variants), they stand along
    # the chromosomes, else in the order of the table.
    variants = None
    if data.variants is not None:
        variants = data.variants.of_features(data.feature_names)
    words_for_order = "in the order of the table"
    if variants is not None:
        words_for_order = "along the chromosomes"
    axis = feature_axis(len(data.feature_names), variants)

    pvalues = single_pvalues(data)  # (features,)
    names_to_mark = set(result.evidence.features)
    marked_columns = [
        column for column, name in enumerate(data.feature_names) if name in names_to_mark
    ]
    figure = draw_for_page(
        lambda ax: draw_single_features(
            ax, pvalues, axis=axis, names=data.feature_names, named=marked_columns
        ),
        "single features",
        FIGURE_SIZE,
    )
    return {"single_features_figure": figure, "single_features_along": words_for_order}
