"""The old home of every count: each subject has a module of its own now.

Import from those; this module goes when the callers have followed.
"""

from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.chance.chernoff import log_tail_bound as log_tail
from chanceline.chance.cover import log_cover, log_cover_curve
from chanceline.chance.fixed_classes import (
    EXACT_ERRORS,
    log_fixed_class_labellings as log_fixed,
)
from chanceline.chance.gaussian_cones import (
    log_cone_share as log_share,
    log_expected_supports,
    log_intrinsic_volume as log_volume,
    log_separable,
)
from chanceline.chance.hamming import log_hamming_ball, log_neighbours
from chanceline.chance.planar_sets import log_planar_sets
from chanceline.chance.poisson_binomial import poisson_binomial_pmf as chance_of_sum

__all__ = [
    "EXACT_ERRORS",
    "LOG2",
    "chance_of_sum",
    "log_binomial",
    "log_cover",
    "log_cover_curve",
    "log_expected_supports",
    "log_fixed",
    "log_hamming_ball",
    "log_neighbours",
    "log_planar_sets",
    "log_separable",
    "log_share",
    "log_tail",
    "log_volume",
]
