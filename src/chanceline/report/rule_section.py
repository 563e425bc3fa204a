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
    """What the template shows of the rule, by the names that it uses.

    Empty where there is no rule, or one without features. `data` names the samples, if it is given.
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
    if rule.expected_error is not None:
        values |= expectation_values(result)
    return values


def expectation_values(result: SeparationTest) -> dict[str, object]:
    """What the template shows of the errors to expect: numbers, the ROC curve, the calibration."""
    assert result.rule is not None
    expected = result.rule.expected_error
    assert expected is not None
    is_positive = result.labels > 0
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
    """Cells for every sample on the wrong side of the rule: name, class, distance from 0."""
    names: Sequence[Any] = range(1, result.n_samples + 1)
    if data is not None and data.rows:
        names = data.rows
    rows = []
    for index in np.flatnonzero(samples.is_wrong).tolist():
        is_positive = result.labels[index] > 0
        class_name = result.class_names[int(is_positive)]
        rows.append((names[index], class_name, abs(float(samples.values[index]))))
    return cells_to_read(rows)
