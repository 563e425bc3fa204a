"""Exact finite-size probabilities: Cover counts, union bounds and planning.

Every number here is rigorous.
"""

from chanceline.chance.binomial import log_binomial
from chanceline.chance.bound import Bound, bound_curve, chance_bound, format_p
from chanceline.chance.cover import log_cover
from chanceline.chance.hamming import log_hamming_ball
from chanceline.chance.planar_sets import log_planar_sets
from chanceline.chance.planning import FeaturePlan, SamplePlan, largest_convincing, samples_needed

__all__ = [
    "Bound",
    "FeaturePlan",
    "SamplePlan",
    "bound_curve",
    "chance_bound",
    "format_p",
    "largest_convincing",
    "log_binomial",
    "log_cover",
    "log_hamming_ball",
    "log_planar_sets",
    "samples_needed",
]
