"""Old names, until the callers follow."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from chanceline.prediction._types import Bools, Floats
from chanceline.prediction.candidates import Family
from chanceline.prediction.crossval import ExpectedError, expected_error
from chanceline.prediction.interval import clopper_pearson
from chanceline.prediction.metrics import (
    area_under_curve,
    area_within_folds,
    best_threshold,
    error_indicators,
    standardized_difference,
)
from chanceline.prediction.scorecard import Scorecard, scorecard
from chanceline.prediction.stability import (
    N_LARGEST_WEIGHTS,
    FeatureReading,
    SelectionStability,
    selection_stability,
)

__all__ = [
    "LOOKED_AT",
    "ExpectedError",
    "FeatureReading",
    "Firmness",
    "Scorecard",
    "area",
    "clopper_pearson",
    "cut",
    "effect",
    "error_of",
    "expected_error",
    "firmness",
    "scorecard",
]

LOOKED_AT = N_LARGEST_WEIGHTS
Firmness = SelectionStability
area = area_within_folds
cut = best_threshold
error_of = error_indicators


def effect(column: Floats, positive: Bools) -> tuple[float, float]:
    """`standardized_difference` and `area_under_curve` of a column."""
    return standardized_difference(column, positive), area_under_curve(column, positive)


def firmness(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    *,
    kind: str = "",
    **options: Any,
) -> SelectionStability:
    """`selection_stability` with the rule's `kind` in the place of its `family`."""
    name = kind.partition(",")[0]
    family = Family(name) if name else Family.LEAST_ANGLE
    return selection_stability(X, y, support, family=family, **options)
