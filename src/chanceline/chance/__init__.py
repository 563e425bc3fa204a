"""Exact finite-size probabilities: Cover counts, union bounds and planning; every number here is rigorous."""

from chanceline.chance.bound import (
    Bound,
    FeaturePlan,
    SamplePlan,
    bound_curve,
    chance_bound,
    format_p,
    largest_convincing,
    samples_needed,
)
from chanceline.chance.counts import log_binomial, log_cover, log_hamming_ball, log_planar_sets

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
