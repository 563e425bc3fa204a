"""Covariates: is there structure beyond what age, sex and site explain?

Under the null the labels depend on the covariates alone. They are drawn anew from a logistic model of the label given the
covariates, **given the number of positives** (the conditional randomisation test: Candès, Fan, Janson and Lv 2018; Berrett et al.
2020), and columns and labels are compared after what the covariates explain linearly was taken out of both. Such a p-value is
valid if the labels depend on the covariates as the model says; taking the same terms out of the columns makes small faults of the
model harmless.

* Categories (text, or numbers with few values) are blocks where their counts allow it: labels are exchanged within them, which
  assumes nothing. Else each has an indicator in the model.
* Numbers have a linear and a quadratic term.

Π p_i^x_i (1 − p_i)^(1 − x_i), given Σ x_i = k, is drawn exactly by rejection: independent labels with odds such that Σ p_i = k,
until k of them are positive, which one of about √(2π Σ p_i (1 − p_i)) draws has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from chanceline.errors import ConvergenceError, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Numbers with so few values are categories.
FEW_VALUES = 5
# Categories are blocks if these have so many units on average, and this share of the units is in blocks of both classes.
BLOCK_SIZE = 8
EXCHANGED = 0.9
# Covariates that leave less than this share of the labels open nearly determine them.
LEAST_OPEN = 0.2
# Numbers are pulled in at so many standard deviations, so that one outlier does not make the quadratic term.
REACH = 3.0
# A slight ridge keeps covariates that separate the classes from infinite weights.
RIDGE = 0.01
ITERATIONS = 100
TRIALS = 64


@dataclass(frozen=True, eq=False)
class LabelModel:
    """Labels ±1 of units, independent but for the number of positives in every block.

    Attributes
    ----------
    names : of the covariates.
    labels : the observed ones.
    members, odds : units and their log-odds of being positive, block by block; blocks of one class, which never change, left out.
    """

    names: tuple[str, ...]
    labels: Floats
    members: tuple[Ints, ...]
    odds: tuple[Floats, ...]

    @property
    def kind(self) -> str:
        """Of what kind a p-value from such draws is."""
        return f"Monte Carlo, valid if the labels depend on {', '.join(self.names)} as a logistic model says"

    def draw(self, rng: np.random.Generator) -> Floats:
        """Labels from the model, given the number of positives."""
        labels = self.labels.copy()
        for members, odds in zip(self.members, self.odds, strict=True):
            hits, positive = np.zeros(0, dtype=np.int64), np.zeros((0, len(members)), dtype=bool)
            while not len(hits):
                positive = rng.random((TRIALS, len(members))) < expit(odds)
                hits = np.flatnonzero(np.count_nonzero(positive, axis=1) == np.count_nonzero(self.labels[members] > 0))
            labels[members] = np.where(positive[hits[0]], 1.0, -1.0)
        return labels

    @property
    def log_probability(self) -> float:
        """ln of the probability of the observed labelling: below it no p-value can be."""
        total = 0.0
        for members, odds in zip(self.members, self.odds, strict=True):
            # The probability of each number of positives, one unit after the other.
            numbers = np.append(1.0, np.zeros(np.count_nonzero(self.labels[members] > 0)))
            for share in expit(odds):
                numbers = numbers * (1 - share) + np.append(0.0, numbers[:-1]) * share
            total += float(log_expit(self.labels[members] * odds).sum() - np.log(numbers[-1]))
        return total

    @property
    def determined(self) -> str:
        """Why nothing can be told, if the covariates nearly determine the labels."""
        # Σ 4p(1 − p) counts a label that is wholly open as one.
        left, count = sum(float((4 * expit(odds) * expit(-odds)).sum()) for odds in self.odds), len(self.labels)
        if left >= LEAST_OPEN * count:
            return ""
        which = f"the covariates ({', '.join(self.names)}) nearly determine the labels"
        return f"{which}: they leave about {left:.0f} of {count} open, too few to tell what the features add"


def read_covariates(covariates: Mapping[str, ArrayLike], n_samples: int) -> tuple[dict[str, Ints], dict[str, Floats]]:
    """Categories as 0, 1, …, and numbers in units of their standard deviation."""
    categories: dict[str, Ints] = {}
    numbers: dict[str, Floats] = {}
    for name, given in covariates.items():
        values = np.asarray(given)
        values = values.astype(str) if values.dtype.kind == "O" else values
        if values.shape != (n_samples,):
            raise InputError(f"covariate {name!r} must hold one value for each of the {n_samples} samples, not {values.shape}.")
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) < 2:
            raise InputError(f"covariate {name!r} has one value only, so there is nothing to adjust for; leave it out.")
        if values.dtype.kind in "iuf" and len(levels) > FEW_VALUES:
            if not np.isfinite(values).all():
                raise InputError(f"covariate {name!r} has missing or infinite values; fill them in or leave those rows out.")
            numbers[name] = np.clip((values - values.mean()) / values.std(), -REACH, REACH)
            continue
        if len(levels) > max(FEW_VALUES, n_samples / BLOCK_SIZE):
            many = f"covariate {name!r} has {len(levels)} different values for {n_samples} samples"
            raise InputError(f"{many}, too many for categories; join rare ones, or write numbers.")
        categories[name] = codes.astype(np.int64)
    return categories, numbers


def model_terms(categories: Mapping[str, Ints], numbers: Mapping[str, Floats], n_samples: int) -> Floats:
    """Samples × terms: each number and its square, and an indicator for every category but the first."""
    terms = [term for values in numbers.values() for term in (values, values**2)]
    terms += [(codes == level).astype(float) for codes in categories.values() for level in range(1, codes.max() + 1)]
    return np.column_stack(terms) if terms else np.zeros((n_samples, 0))


def use_blocks(strata: Ints, labels: Floats) -> bool:
    """Whether there are units enough to exchange labels within the strata."""
    positives, sizes = np.bincount(strata, weights=labels > 0), np.bincount(strata)
    mixed = (positives > 0) & (positives < sizes)
    return bool(len(strata) >= BLOCK_SIZE * len(sizes) and sizes[mixed].sum() >= EXCHANGED * len(strata))


def fit_model(names: tuple[str, ...], terms: Floats, labels: Floats, block_of: Ints) -> LabelModel:
    """Logistic regression of the units' labels on the terms, with an intercept for every block of both classes."""
    blocks = [np.flatnonzero(block_of == block) for block in range(block_of.max() + 1)]
    members = tuple(block for block in blocks if len(np.unique(labels[block])) == 2)
    if len(members) > 1 and sum(map(len, members)) < BLOCK_SIZE * len(members):
        raise InputError(f"to adjust for {', '.join(names)} within blocks (or pairs) these need {BLOCK_SIZE} samples on average.")
    rows, which = np.concatenate(members), np.repeat(np.arange(len(members)), [len(block) for block in members])
    design = np.column_stack([which[:, None] == np.arange(len(members)), terms[rows]]).astype(float)
    odds = design @ _logistic(design, labels[rows] > 0, np.repeat([0.0, RIDGE], [len(members), terms.shape[1]]))
    return LabelModel(names, labels, members, tuple(_balanced(odds[which == k], labels[one]) for k, one in enumerate(members)))


def _logistic(design: Floats, positive: NDArray[np.bool_], ridge: Floats) -> Floats:
    """Weights of most likelihood less ½ Σ ridge·w², by Newton's method with steps of limited length."""
    weights = np.zeros(design.shape[1])
    for _ in range(ITERATIONS):
        share = expit(design @ weights)
        curvature = (design * (share * (1 - share))[:, None]).T @ design + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curvature, design.T @ (positive - share) - ridge * weights)
        size = float(np.abs(step).max())
        weights = weights + step * min(1.0, 2.0 / max(size, 1e-300))
        if size < 1e-6:
            return weights
    raise ConvergenceError("the logistic model of the labels given the covariates did not converge; adjust for fewer covariates.")


def _balanced(odds: Floats, labels: Floats) -> Floats:
    """The log-odds moved by a constant so that as many positives are expected as there are; the conditional law stays."""
    count, reach = np.count_nonzero(labels > 0), float(np.abs(odds).max()) + np.log(len(odds)) + 1
    return odds + brentq(lambda move: float(expit(odds + move).sum()) - count, -reach, reach)


def residual_basis(terms: Floats, block_of: Ints) -> Floats | None:
    """Orthonormal columns that span the terms within blocks; None if they are constant there."""
    centred = terms - pd.DataFrame(terms).groupby(block_of).transform("mean").to_numpy()
    span, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    span = span[:, sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))]
    return span if span.shape[1] else None
