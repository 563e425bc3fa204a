"""What a test could not finish: the verdict stands without it, and the result says so."""

from __future__ import annotations

from enum import StrEnum

from chanceline._cluster import WorkersLostError
from chanceline.tables.dataset import Finding

# What the machine may do to work that comes after the p-value, which must not be lost then.
LATE_FAILURES = (MemoryError, WorkersLostError)


class Unfinished(StrEnum):
    """Why something is missing from a result."""

    LOST_WORKERS = "workers were lost"
    NO_MEMORY = "too little memory"


def cause_of(error: BaseException) -> Unfinished:
    """The kind of a late failure."""
    if isinstance(error, MemoryError):
        return Unfinished.NO_MEMORY
    return Unfinished.LOST_WORKERS


def missing_rule_finding(cause: Unfinished) -> Finding:
    """That there is no rule for new samples, and why."""
    if cause is Unfinished.NO_MEMORY:
        reason = "there was not enough memory"
    else:
        reason = "the workers died"
    return Finding.note(
        f"{reason} while the rule for new samples was made, so that there is none; the verdict and "
        "its p-value do not depend on it."
    )
