"""Is this classification structure, or would noise allow it? Bounds, shuffled labels, verdict.

Names load on first use: the command line reads the settings without loading NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy
from chanceline.significance.config import TestSettings

_HOMES = {
    "FeatureBound": "chanceline.significance.plan",
    "feature_bound": "chanceline.significance.plan",
    "PermutationReading": "chanceline.significance.permutation",
    "ReplicaReading": "chanceline.significance.replica",
    "SeparationTest": "chanceline.significance.result",
    "judge": "chanceline.significance.run",
    "separation_test": "chanceline.significance.run",
}

__all__ = [
    "FeatureBound",
    "PermutationReading",
    "ReplicaReading",
    "SeparationTest",
    "TestSettings",
    "feature_bound",
    "judge",
    "separation_test",
]

if TYPE_CHECKING:
    from chanceline.significance.permutation import PermutationReading
    from chanceline.significance.plan import FeatureBound, feature_bound
    from chanceline.significance.replica import ReplicaReading
    from chanceline.significance.result import SeparationTest
    from chanceline.significance.run import judge, separation_test

__getattr__ = lazy(__name__, _HOMES)
