"""What `separation_test` gives back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.bound import Bound, bound_curve
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.replica import ReplicaReading
from chanceline.tables.doctor import Finding

# Fields that go into JSON as they are.
PLAIN = (
    "verdict",
    "reason",
    "pvalue",
    "log10_pvalue",
    "n_samples",
    "n_features",
    "n_distinct",
    "positives",
    "n_selected",
    "features",
    "support",
    "weights",
    "bias",
    "errors",
    "separates",
)


@dataclass(frozen=True, eq=False)
class SeparationTest:
    """Verdict, p-value and the three readings of one chance test.

    Attributes
    ----------
    verdict
        "structure", "chance allows this" or "cannot tell".
    pvalue, log10_pvalue
        The overall p-value (`chanceline.significance.verdict` has the proof that it is valid).
    n_selected, features, errors
        The best rule found: how many features, their names, samples it gets wrong.
    bound
        Rigorous bound for that rule, its `log10_p` including the price of errors counted after looking.
    permutation
        Monte Carlo reading, None if it was not run (`bound` convinced, or `permutations=0`).
    replica
        Asymptotic reading, None where it has no meaning.
    advice
        What would change the verdict.
    findings
        What the doctor saw in the data.
    settings
        Every default in force, and the seed.
    """

    verdict: str
    pvalue: float
    log10_pvalue: float
    reason: str
    n_samples: int
    n_features: int
    n_distinct: int
    positives: int
    n_selected: int
    features: tuple[str, ...]
    support: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float
    errors: int
    separates: bool
    bound: Bound
    permutation: PermutationReading | None
    replica: ReplicaReading | None
    largest_convincing: int
    samples_needed: int | None
    advice: tuple[str, ...]
    findings: tuple[Finding, ...]
    settings: dict[str, Any]

    @cached_property
    def null_distribution(self) -> NDArray[np.float64]:
        """Set sizes found on shuffled labels, ∞ where the search did not separate; empty without
        permutations.
        """
        sizes = self.permutation.null_sizes if self.permutation is not None else ()
        return np.array([np.inf if size is None else size for size in sizes], dtype=float)

    @cached_property
    def bound_curve(self) -> NDArray[np.float64]:
        """log₁₀ of the bound for the set sizes `bound_sizes`, for as many errors and the same null."""
        bound = self.bound
        return bound_curve(
            bound.n_samples,
            bound.n_features,
            positives=bound.positives,
            errors=bound.errors,
            null=bound.null,
            intercept=bound.intercept,
            blocks=bound.blocks,
        )[1:]

    @cached_property
    def bound_sizes(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.bound_curve) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, verdict first."""
        record: dict[str, Any] = {name: getattr(self, name) for name in PLAIN}
        record["bound"] = self.bound.to_dict()
        record["permutation"] = self.permutation.to_dict() if self.permutation is not None else None
        record["replica"] = self.replica.to_dict() if self.replica is not None else None
        record["null_distribution"] = list(self.permutation.null_sizes) if self.permutation is not None else []
        record["largest_convincing"] = self.largest_convincing
        record["samples_needed"] = self.samples_needed
        record["advice"] = list(self.advice)
        record["findings"] = [asdict(finding) for finding in self.findings]
        record["settings"] = self.settings
        return record

    def __str__(self) -> str:
        from chanceline.significance.text import render

        return render(self)
