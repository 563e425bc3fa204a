"""Candidates for a rule: where its features come from, how many there are, how far they shrink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.prediction.paths import least_angle_path, stepwise_path

# The largest set of features that counts as small: a reader can take in a list of thirty.
MAX_SMALL_FEATURES = 30


class Family(Enum):
    """Where the features of a rule come from; the value is its name in sentences."""

    LEAST_ANGLE = "least angle regression"
    STEPWISE = "forward stepwise"
    DENSE = "many features"
    NAMED = "named beforehand"
    SINGLE = "best single feature"  # of halves of the samples only; no rule is made so


# (columns, target, max_columns) → supports of 0, 1, 2, … columns
PathFunction = Callable[[Floats, Floats, int], list[Ints]]
PATHS: dict[Family, PathFunction] = {
    Family.LEAST_ANGLE: least_angle_path,
    Family.STEPWISE: stepwise_path,
}


@dataclass(frozen=True, eq=False)
class RuleCandidate:
    """How a rule is made.

    Attributes
    ----------
    family : where its features come from.
    n_features : how many there are; of features named beforehand 0, as nothing is selected.
    penalty : the ridge λ on the weights of scaled columns. Of a dense rule it is in units of the
        mean eigenvalue.
    """

    family: Family
    n_features: int
    penalty: float

    @property
    def identity(self) -> tuple[Family, int, float]:
        """What makes it the same candidate in another assignment of the samples to folds."""
        return self.family, self.n_features, self.penalty


@dataclass(frozen=True, eq=False)
class DenseCandidate(RuleCandidate):
    """How a dense rule is made.

    Attributes
    ----------
    link : weights of the constant, of covariates and of the rule's score, from which probabilities
        are made, (nuisance + 1,)
    """

    link: Floats

    @property
    def n_nuisance(self) -> int:
        """Number of columns without a penalty: the constant and the terms of covariates."""
        return len(self.link) - 1


class ScoredCandidates(NamedTuple):
    """Candidates with what they say of samples that had no part in the fit.

    Attributes
    ----------
    candidates : the candidates.
    probabilities : out-of-fold probability of the positive class, (candidates, samples)
    """

    candidates: list[RuleCandidate]
    probabilities: Floats


def mean_penalty(candidates: Sequence[RuleCandidate]) -> float:
    """The geometric mean of their penalties."""
    penalties = np.array([candidate.penalty for candidate in candidates])
    if np.all(penalties == penalties[0]):
        # As it is, without the rounding of logarithms.
        return float(penalties[0])
    return float(np.exp(np.log(penalties).mean()))


def describe(candidates: Sequence[RuleCandidate]) -> str:
    """Where the features come from, and the ridge: of one candidate, or of several averaged."""
    family = candidates[0].family.value
    if len(candidates) == 1:
        return f"{family}, ridge {candidates[0].penalty:g}"
    penalties = [candidate.penalty for candidate in candidates]
    sizes = [candidate.n_features for candidate in candidates]
    ridges = _describe_penalties(min(penalties), max(penalties))
    features = _describe_sizes(min(sizes), max(sizes))
    return f"{family}, mean of {len(candidates)} rules with {ridges} on {features}"


def _describe_penalties(smallest: float, largest: float) -> str:
    if smallest == largest:
        return f"ridge {smallest:g}"
    return f"ridges {smallest:g}–{largest:g}"


def _describe_sizes(smallest: int, largest: int) -> str:
    if smallest == largest:
        return f"{smallest} features"
    return f"{smallest}–{largest} features"
