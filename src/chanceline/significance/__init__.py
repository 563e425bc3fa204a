"""Is this classification structure, or would noise allow it? Bound, front on shuffled labels, verdict."""

from chanceline.significance.permutation import PermutationReading
from chanceline.significance.replica import ReplicaReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.separation import judge, separation_test
from chanceline.significance.settings import TestSettings

__all__ = [
    "PermutationReading",
    "ReplicaReading",
    "SeparationTest",
    "TestSettings",
    "judge",
    "separation_test",
]
