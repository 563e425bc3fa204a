"""Find few variables whose perceptron classifies every pattern, and prove it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from chanceline.search.api import METHODS, iter_search
from chanceline.search.certificate import Certificate, certify, check_weights
from chanceline.search.exact import SupportCount, count
from chanceline.search.generate import random_problem
from chanceline.search.given import FewErrors, Separation, fewest_errors, separate
from chanceline.search.outcome import SearchOutcome

__all__ = [
    "METHODS",
    "Certificate",
    "FewErrors",
    "SearchOutcome",
    "Separation",
    "SupportCount",
    "certify",
    "check_weights",
    "count",
    "fewest_errors",
    "iter_search",
    "random_problem",
    "separate",
]


# `chanceline.search` is both this package and the function users call, so the package itself is callable.
class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> SearchOutcome:
        from chanceline.search.api import search

        return search(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
