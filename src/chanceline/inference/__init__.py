"""Is this perfect classification structure, or would noise allow it? Data, permutation, verdict."""

from chanceline.inference.data import Dataset, load_data
from chanceline.inference.doctor import Finding, examine
from chanceline.inference.permutation import PermutationReading
from chanceline.inference.replica import ReplicaReading
from chanceline.inference.result import SeparationTest
from chanceline.inference.separation import separation_test

__all__ = [
    "Dataset",
    "Finding",
    "PermutationReading",
    "ReplicaReading",
    "SeparationTest",
    "examine",
    "load_data",
    "separation_test",
]
