"""The old home of the numerical methods; each has a module of its own now.

Import from those; this module goes when the callers have followed.
"""

from chanceline.theory.continuation import ChiBranch, first_success, follow
from chanceline.theory.newton import Newton, OutsideDomain, Solved, difference_jacobian
from chanceline.theory.quadrature import (
    REACH,
    STEP,
    Array,
    GaussianRule,
    centred_rule,
    focused_rule,
    gaussian_rule,
    rule_for,
)

__all__ = [
    "REACH",
    "STEP",
    "Array",
    "ChiBranch",
    "GaussianRule",
    "Newton",
    "OutsideDomain",
    "Solved",
    "centred_rule",
    "difference_jacobian",
    "first_success",
    "focused_rule",
    "follow",
    "gaussian_rule",
    "rule_for",
]
