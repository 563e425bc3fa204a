"""Is this classification structure, or would noise allow it? Bounds, shuffled labels, verdict.

Names load on first use: the command line reads the settings without loading NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy
from chanceline.significance.config import TestSettings

_HOMES = {
    "FeatureBound": "chanceline.significance.single_feature",
    "feature_bound": "chanceline.significance.single_feature",
    "Outcome": "chanceline.significance.outcomes.outcome",
    "OutcomeTest": "chanceline.significance.outcomes.result",
    "PermutationReading": "chanceline.significance.readings",
    "ReplicaReading": "chanceline.significance.replica",
    "SeparationTest": "chanceline.significance.result",
    "judge": "chanceline.significance.run",
    "separation_test": "chanceline.significance.run",
    "SetTests": "chanceline.significance.set_result",
    "set_tests": "chanceline.significance.set_run",
}

__all__ = [
    "FeatureBound",
    "Outcome",
    "OutcomeTest",
    "PermutationReading",
    "ReplicaReading",
    "SeparationTest",
    "SetTests",
    "TestSettings",
    "feature_bound",
    "judge",
    "separation_test",
    "set_tests",
]

if TYPE_CHECKING:
    from chanceline.significance.outcomes.outcome import Outcome
    from chanceline.significance.outcomes.result import OutcomeTest
    from chanceline.significance.readings import PermutationReading
    from chanceline.significance.replica import ReplicaReading
    from chanceline.significance.result import SeparationTest
    from chanceline.significance.run import judge, separation_test
    from chanceline.significance.set_result import SetTests
    from chanceline.significance.set_run import set_tests
    from chanceline.significance.single_feature import FeatureBound, feature_bound

__getattr__ = lazy(__name__, _HOMES)
