"""Find few variables whose perceptron classifies every pattern, and prove it.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

_HOMES = {
    "METHODS": "chanceline.select.api",
    "Certificate": "chanceline.perceptron.certificate",
    "Rule": "chanceline.perceptron.rule",
    "SearchOutcome": "chanceline.select.outcome",
    "SupportCount": "chanceline.select.counting",
    "certify": "chanceline.perceptron.certificate",
    "check_weights": "chanceline.perceptron.certificate",
    "count": "chanceline.select.counting",
    "fewest_errors": "chanceline.perceptron.few_errors",
    "iter_search": "chanceline.select.api",
    "random_problem": "chanceline.perceptron.random_patterns",
    "search": "chanceline.select.api",
    "separate": "chanceline.perceptron.separate",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from chanceline.perceptron.certificate import (
        Certificate as Certificate,
        certify as certify,
        check_weights as check_weights,
    )
    from chanceline.perceptron.few_errors import fewest_errors as fewest_errors
    from chanceline.perceptron.random_patterns import random_problem as random_problem
    from chanceline.perceptron.rule import Rule as Rule
    from chanceline.perceptron.separate import separate as separate
    from chanceline.select.api import (
        METHODS as METHODS,
        iter_search as iter_search,
        search as search,
    )
    from chanceline.select.counting import SupportCount as SupportCount, count as count
    from chanceline.select.outcome import SearchOutcome as SearchOutcome

__getattr__ = lazy(__name__, _HOMES)
