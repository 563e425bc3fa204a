"""Find few variables whose perceptron classifies every pattern, and prove it."""

from __future__ import annotations

from chanceline.perceptron.certificate import Certificate, certify, check_weights
from chanceline.perceptron.data import random_problem
from chanceline.perceptron.fit import fewest_errors, separate
from chanceline.perceptron.rule import Rule
from chanceline.select.api import METHODS, iter_search, search
from chanceline.select.exact import SupportCount, count
from chanceline.select.outcome import SearchOutcome

__all__ = [
    "METHODS",
    "Certificate",
    "Rule",
    "SearchOutcome",
    "SupportCount",
    "certify",
    "check_weights",
    "count",
    "fewest_errors",
    "iter_search",
    "random_problem",
    "search",
    "separate",
]
