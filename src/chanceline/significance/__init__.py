"""Is this perfect classification structure, or would noise allow it? Bound, permutation, verdict."""

from chanceline.significance.permutation import PermutationReading
from chanceline.significance.replica import ReplicaReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.separation import separation_test

__all__ = [
    "PermutationReading",
    "ReplicaReading",
    "SeparationTest",
    "separation_test",
]
