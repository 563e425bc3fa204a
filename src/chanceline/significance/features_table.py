"""A result as a table, with one row for every feature that it mentions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from chanceline.prediction.metrics import area_under_curve, standardized_difference
from chanceline.prediction.stability import FeatureReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import RuleToUse

NOT_IN_RULE = -1  # in place of a column of X, for a feature that is not in the rule


def features_table(result: SeparationTest) -> pd.DataFrame:
    """The table that `SeparationTest.to_frame` describes.

    Features come in the order of their absolute weight in the rule for new samples.
    """
    weights = weights_for_one_sd(result)
    heaviest_first = sorted(weights, key=lambda name: -abs(weights[name]))
    return pd.DataFrame([feature_row(result, name, weights[name]) for name in heaviest_first])


def weights_for_one_sd(result: SeparationTest) -> dict[str, float]:
    """The weight of every feature in the rule for new samples, times its standard deviation.

    The weight is 0 for a feature that the rule does not have.
    """
    weights: dict[str, float] = {}
    if result.rule is not None:
        weights = dict(zip(result.rule.features, result.rule.weights.tolist(), strict=True))
    return {
        name: weights.get(name, 0.0) * float(values.std())
        for name, values in result.columns.items()
    }


def feature_row(result: SeparationTest, name: str, weight: float) -> dict[str, Any]:
    """One row of `features_table`: column of the table → value for this feature.

    Parameters
    ----------
    result : of the test.
    name : of the feature.
    weight : in the rule for new samples, times the feature's standard deviation.

    Returns
    -------
    Among others `selected`, the share of random halves of the samples that select the feature;
    `difference`, of its class means in standard deviations; `adjusted_p`, NaN if shuffles did not
    test it; whether the feature is in the `evidence`, the `rule` and the `separating` set; and
    `surrogates`, features that could replace it in the rule.
    """
    selection_and_effect = selection_and_effect_of(result, name)
    # The evidence is the features that the first line of the result may name.
    is_in_evidence = name in result.evidence.names_in_line
    is_in_rule = result.rule is not None and name in result.rule.features
    is_in_separating_set = name in result.separating.features
    names_of_surrogates = surrogates_of(result, name)
    return {
        "feature": name,
        "weight": weight,
        "selected": selection_and_effect.selected,
        "difference": selection_and_effect.difference,
        "auc": selection_and_effect.auc,
        "adjusted_p": result.marginal_pvalues.get(name, np.nan),
        "evidence": is_in_evidence,
        "rule": is_in_rule,
        "separating": is_in_separating_set,
        "surrogates": ", ".join(names_of_surrogates),
    }


def surrogates_of(result: SeparationTest, name: str) -> tuple[str, ...]:
    """Features that could replace this one in the rule for new samples.

    The tuple is empty if the rule does not have the feature.
    """
    if result.rule is None:
        return ()
    return result.rule.surrogates.get(name, ())


def selection_and_effect_of(result: SeparationTest, name: str) -> FeatureReading:
    """How stably a feature is selected, and its effect by itself.

    For a feature of the rule for new samples, both are known if its stability was measured. For any
    other feature only the effect is computed: `selected` is NaN and `feature` is `NOT_IN_RULE`.
    """
    if result.rule is not None:
        readings = readings_by_name(result.rule)
        if name in readings:
            return readings[name]
    values = result.columns[name]
    is_positive = result.labels > 0
    return FeatureReading(
        feature=NOT_IN_RULE,
        selected=np.nan,
        difference=standardized_difference(values, is_positive),
        auc=area_under_curve(values, is_positive),
        surrogates=(),
    )


def readings_by_name(rule: RuleToUse) -> dict[str, FeatureReading]:
    """Name → reading, for those features of the rule whose stability was measured."""
    name_of_column = dict(zip(rule.support.tolist(), rule.features, strict=True))
    return {name_of_column[reading.feature]: reading for reading in rule.stability.readings}
