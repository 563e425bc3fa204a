"""The old home of the closed inner integrals and their averages; each has a module of its own now.

Import from `patterns`, `pattern_averages`, `supports` and `support_averages`; this module goes when
the callers have followed.
"""

from chanceline.theory.pattern_averages import PatternMeans, pattern_means
from chanceline.theory.patterns import PatternSide, pattern_side
from chanceline.theory.quadrature import GaussianRule
from chanceline.theory.support_averages import (
    SupportMeans,
    SupportOrder,
    resolved_support_side,
    support_means,
)
from chanceline.theory.supports import SupportSide, support_side

__all__ = [
    "PatternMeans",
    "PatternSide",
    "SupportMeans",
    "SupportSide",
    "pattern_means",
    "pattern_side",
    "support_means",
    "support_on_rule",
    "support_side",
]


def support_on_rule(
    F0: float, V: float, d: float, K: float, step: float, signed: bool
) -> tuple[SupportSide, GaussianRule]:
    """The old form of `support_averages.resolved_support_side`, until the callers follow."""
    return resolved_support_side(SupportOrder(F0, V, d, K), step, signed)
