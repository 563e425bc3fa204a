"""The old home of replica symmetry above the Cover–Gardner load; it has three modules now.

Import from `rs_equations`, `rs_branch` and `chance_line`; this module goes when the callers have
followed.
"""

from chanceline.theory.chance_line import Density, End, density_at as density, zero_entropy
from chanceline.theory.rs_branch import Branch, branch_start as beginning, entrance_overlap
from chanceline.theory.rs_equations import Order, RSState, equations

__all__ = [
    "Branch",
    "Density",
    "End",
    "Order",
    "RSState",
    "beginning",
    "density",
    "entrance_overlap",
    "equations",
    "zero_entropy",
]
