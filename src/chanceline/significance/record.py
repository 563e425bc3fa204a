"""What the test found, as plain fields; `result.SeparationTest` adds what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.bound import Bound
from chanceline.significance.config import TestSettings
from chanceline.significance.expected_error import ExpectedError
from chanceline.significance.front_test import FrontReading
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.replica import ReplicaReading
from chanceline.significance.verdict import Shares
from chanceline.tables.dataset import Finding


@dataclass(frozen=True, eq=False, repr=False)
class TestRecord:
    """Verdict, p-value and the readings of one chance test.

    Attributes
    ----------
    verdict
        "structure", "chance allows this" or "cannot tell".
    pvalue, log10_pvalue
        The overall p-value (`chanceline.significance.verdict` has the proof that it is valid). For features named after looking
        it is the bound's, which alone speaks about them.
    n_selected, features, errors
        The rule reported: how many features, their names, samples it gets wrong.
    weights, bias
        The rule as it was found: the second class where x·w + b > 0.
    rule_text
        The rule as a sentence: its weights divided by the largest, with as many digits as it takes to classify the table as
        `predict` does.
    classes
        The two classes, the second of which the rule calls positive.
    scores, labels
        Every sample along the rule (x·w + b) and its label ±1.
    bound
        Rigorous bound for that rule, its `log10_p` including the price of errors counted after looking.
    front
        For every number of features: errors, errors on shuffled labels, adjusted p-value.
    decisive
        The point of the front on which the p-value of the shuffles rests, None where there are none or the features were named.
    permutation
        Monte Carlo reading, None if it was not run (`bound` convinced, or `permutations=0`).
    replica
        Asymptotic reading, None where it has no meaning. It never decides.
    expected_error
        What to expect on new samples, None if it was not asked for.
    largest_convincing, samples_needed
        The largest set that the bound would accept, and the samples (or groups) with which this one would convince.
    advice
        What would change the verdict.
    findings
        What the doctor saw in the data.
    interrupted
        Ctrl-C ended the shuffles or the cross-validation early; what is here is valid.
    settings
        Every setting in force; `shares` has what the stages of the test may spend of the level.
    """

    __test__ = False

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
    rule_text: str
    classes: tuple[Any, Any]
    scores: NDArray[np.float64]
    labels: NDArray[np.float64]
    bound: Bound
    front: tuple[FrontReading, ...]
    decisive: FrontReading | None
    permutation: PermutationReading | None
    replica: ReplicaReading | None
    expected_error: ExpectedError | None
    largest_convincing: int
    samples_needed: int | None
    advice: tuple[str, ...]
    findings: tuple[Finding, ...]
    interrupted: bool
    settings: TestSettings
    shares: Shares
    errors_declared: int | None
    n_units: int
    n_blocks: int
