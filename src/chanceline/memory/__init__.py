"""A network of binary neurons that stores patterns with few, chosen couplings."""

from chanceline.memory.anatomy import Connectivity, connectivity
from chanceline.memory.basins import Retrieval, retrieval
from chanceline.memory.damage import Cutting, cutting
from chanceline.memory.loads import LargestLoads, hebbian_capacity, largest_loads, load_curve
from chanceline.memory.network import AssociativeMemory
from chanceline.memory.patterns import random_patterns
from chanceline.memory.report import StorageReport

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
