"""A network of binary neurons that stores patterns with few, chosen couplings."""

from chanceline.memory.measurement import (
    Cutting,
    LargestLoads,
    Retrieval,
    cutting,
    largest_loads,
    load_curve,
    random_patterns,
    retrieval,
)
from chanceline.memory.network import AssociativeMemory, StorageReport

__all__ = [
    "AssociativeMemory",
    "Cutting",
    "LargestLoads",
    "Retrieval",
    "StorageReport",
    "cutting",
    "largest_loads",
    "load_curve",
    "random_patterns",
    "retrieval",
]
