"""A result as a table: one row for every feature that it speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from chanceline.prediction.metrics import area_under_curve, standardized_difference
from chanceline.prediction.stability import FeatureReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import RuleToUse

NOT_IN_RULE = -1  # column of a feature that the rule to use does not have


def features_table(result: SeparationTest) -> pd.DataFrame:
    """What `SeparationTest.to_frame` describes, the heaviest features of the rule first."""
    weights = weights_for_one_sd(result)
    heaviest_first = sorted(weights, key=lambda name: -abs(weights[name]))
    return pd.DataFrame([feature_row(result, name, weights[name]) for name in heaviest_first])


def weights_for_one_sd(result: SeparationTest) -> dict[str, float]:
    """The weight of every feature in the rule to use, times its standard deviation; else 0."""
    weights: dict[str, float] = {}
    if result.rule is not None:
        weights = dict(zip(result.rule.features, result.rule.weights.tolist(), strict=True))
    return {
        name: weights.get(name, 0.0) * float(values.std())
        for name, values in result.columns.items()
    }


def feature_row(result: SeparationTest, name: str, weight: float) -> dict[str, Any]:
    """A feature's row in `features_table`; `difference` is that of its class means."""
    reading = reading_of(result, name)
    return {
        "feature": name,
        "weight": weight,
        "selected": reading.selected,
        "difference": reading.difference,
        "auc": reading.auc,
        "adjusted_p": result.marginal_pvalues.get(name, np.nan),
        "evidence": name in result.evidence.names_in_line,
        "rule": result.rule is not None and name in result.rule.features,
        "separating": name in result.separating.features,
        "surrogates": ", ".join(surrogates_of(result, name)),
    }


def surrogates_of(result: SeparationTest, name: str) -> tuple[str, ...]:
    """Features that replace this one in the rule to use; none if the rule does not have it."""
    if result.rule is None:
        return ()
    return result.rule.surrogates.get(name, ())


def reading_of(result: SeparationTest, name: str) -> FeatureReading:
    """How stable the choice of a feature is, and its effect alone.

    Only the effect is known of a feature that the rule does not have, or whose stability was not
    looked at.
    """
    if result.rule is not None:
        readings = readings_by_name(result.rule)
        if name in readings:
            return readings[name]
    values = result.columns[name]
    is_positive = result.labels > 0
    return FeatureReading(
        feature=NOT_IN_RULE,  # in place of a column; the table has the name
        selected=np.nan,
        difference=standardized_difference(values, is_positive),
        auc=area_under_curve(values, is_positive),
        surrogates=(),
    )


def readings_by_name(rule: RuleToUse) -> dict[str, FeatureReading]:
    """Name → reading of those features of the rule that were looked at."""
    name_of_column = dict(zip(rule.support.tolist(), rule.features, strict=True))
    return {name_of_column[reading.feature]: reading for reading in rule.stability.readings}
