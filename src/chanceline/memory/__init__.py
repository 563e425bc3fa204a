"""A network of binary neurons that stores patterns with few, chosen couplings."""

from chanceline.memory.measurement import (
    Connectivity,
    Cutting,
    LargestLoads,
    Retrieval,
    connectivity,
    cutting,
    hebbian_capacity,
    largest_loads,
    load_curve,
    random_patterns,
    retrieval,
)
from chanceline.memory.network import AssociativeMemory, StorageReport

__all__ = [
    "AssociativeMemory",
    "Connectivity",
    "Cutting",
    "LargestLoads",
    "Retrieval",
    "StorageReport",
    "connectivity",
    "cutting",
    "hebbian_capacity",
    "largest_loads",
    "load_curve",
    "random_patterns",
    "retrieval",
]
