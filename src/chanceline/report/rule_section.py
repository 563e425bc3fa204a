"""The rule to use on the page of a test: the samples along it, and what to expect of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline.figures.left_out import draw_calibration, draw_roc
from chanceline.figures.significance import draw_samples
from chanceline.report.cells import cells_to_read
from chanceline.report.page import draw_for_page
from chanceline.significance.expected_numbers import expected_numbers
from chanceline.significance.left_out_scores import (
    SamplesAlongRule,
    calibration_bins,
    pooled_roc,
    samples_along_rule,
)
from chanceline.significance.result import SeparationTest
from chanceline.tables.dataset import Dataset

SAMPLES_SIZE = (7.5, 2.8)
SQUARE_SIZE = (3.9, 3.7)  # of the curve and of calibration, which stand side by side


def rule_section(result: SeparationTest, data: Dataset | None) -> dict[str, object]:
    """Values of the template's variables about the rule: name → value.

    The dict is empty if there is no rule or if it has no features. `data`, the table tested, is
    needed only for the names of samples.
    """
    rule = result.rule
    if rule is None or not rule.features:
        return {}
    samples = samples_along_rule(result)
    values: dict[str, object] = {
        "samples_figure": draw_for_page(
            lambda ax: draw_samples(ax, result), "samples", SAMPLES_SIZE
        ),
        "score_kind": samples.kind,
        "wrong_samples": wrong_samples(result, samples, data),
    }
    if rule.expected_error is not None:  # cross-validation was not switched off
        values |= expectation_values(result)
    return values


def expectation_values(result: SeparationTest) -> dict[str, object]:
    """Values of the template's variables about errors on new samples: name → value.

    They are estimated by cross-validation: numbers such as the accuracy, a ROC curve, and a plot of
    calibration. The result must have a rule that was cross-validated.
    """
    assert result.rule is not None
    expected = result.rule.expected_error
    assert expected is not None
    is_positive = result.labels > 0  # labels are ±1
    curve = pooled_roc(expected, is_positive)
    bins = calibration_bins(expected, is_positive)
    return {
        "expected_numbers": expected_numbers(expected, result.class_names),
        "roc_figure": draw_for_page(
            lambda ax: draw_roc(ax, curve, result.class_names), "roc", SQUARE_SIZE
        ),
        "calibration_figure": draw_for_page(
            lambda ax: draw_calibration(ax, bins, result.positive_class),
            "calibration",
            SQUARE_SIZE,
        ),
    }


def wrong_samples(
    result: SeparationTest, samples: SamplesAlongRule, data: Dataset | None
) -> list[list[Any]]:
    """The cells of a table of the samples that the rule puts into the wrong class.

    Each row has the sample's name (its number, counted from 1, if `data` gives no names), its true
    class, and the distance of its score from 0, the threshold between the classes.
    """
    names: Sequence[Any] = range(1, result.n_samples + 1)
    if data is not None and data.rows:
        names = data.rows
    rows = []
    for index in np.flatnonzero(samples.is_wrong).tolist():
        is_positive = result.labels[index] > 0
        class_name = result.class_names[int(is_positive)]  # the names are (negative, positive)
        distance = abs(float(samples.values[index]))
        rows.append((names[index], class_name, distance))
    return cells_to_read(rows)
