"""The design of the study: which labellings were as likely as the observed one, and how to draw another.

**Covariates**: is there structure beyond what age, sex and site explain?
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
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from chanceline.chance.counts import LOG2, log_binomial
from chanceline.errors import InputError
from chanceline.prediction.covariates import (
    FEWEST_IN_LEVEL,
    Category,
    CovariateEncoder,
    make_encoder,
    read_columns,
)
from chanceline.prediction.rule import ridge_logistic
from chanceline.prediction.samples import codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Categories are blocks if these have so many units on average, and this share of the units is in blocks of both classes.
BLOCK_SIZE = FEWEST_IN_LEVEL
EXCHANGED = 0.9
# So many blocks, most of them of one class, are subjects.
MANY_BLOCKS = 10
# Covariates that leave less than this share of the labels open nearly determine them.
LEAST_OPEN = 0.2
# A slight ridge keeps covariates that separate the classes from infinite weights.
RIDGE = 0.01
TRIALS = 64


@dataclass(frozen=True)
class NullSizes:
    """What the bound sees of a null hypothesis: units (samples or groups) and positives, in all and as (size, positives) of every
    block (None if there is one).
    """

    n_units: int
    positives: int
    blocks: tuple[tuple[int, int], ...] | None
    null: str

    @property
    def log_labellings(self) -> float:
        """ln of the number of equally likely labellings."""
        if self.null == "coin":
            return self.n_units * LOG2
        return sum(float(log_binomial(*pair)) for pair in self.blocks or ((self.n_units, self.positives),))

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that all shuffles together could give: one labelling of all, or two where the classes are of equal
        size (in every block), because the opposite labelling is as likely then and fits as well.
        """
        pairs = self.blocks or ((self.n_units, self.positives),)
        mirrored = self.null == "coin" or all(size == 2 * positives for size, positives in pairs)
        return min(1.0, exp(mirrored * LOG2 - self.log_labellings))

    def of_count(self, count: int) -> NullSizes:
        """`count` units of the same balance, or `count` blocks like the given ones in turn."""
        if self.blocks is None:
            return NullSizes(count, min(max(round(count * self.positives / self.n_units), 1), max(count - 1, 1)), None, self.null)
        blocks = tuple(islice(cycle(self.blocks), count))
        return NullSizes(sum(size for size, _ in blocks), sum(number for _, number in blocks), blocks, self.null)


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


@dataclass(frozen=True, eq=False)
class LabelScheme:
    """The null hypothesis: labels of *units* (samples, or groups that share a label) exchangeable within blocks.

    The bound sees units only. A rule that classifies every sample classifies one representative of each group, so the labellings
    of the groups that some rule realises are at most those of as many single points; errors on representatives are at most the
    errors on samples.

    With covariates that are no blocks, labels are drawn from a `model` of the label given the covariates instead of being
    exchanged, and `basis` (orthonormal, by samples) spans what is taken out of columns and labels before they are compared.
    `encoder` tells how covariates become columns of numbers, for a rule that has them besides.
    """

    y: Floats
    unit_of: Ints
    unit_labels: Floats
    block_of: Ints
    null: str
    model: LabelModel | None = None
    basis: Floats | None = None
    encoder: CovariateEncoder | None = None

    @cached_property
    def sizes(self) -> NullSizes:
        """What the bound sees."""
        n_units, positive, blocks = len(self.unit_labels), self.unit_labels > 0, None
        if self.block_of.max() > 0:
            pairs = np.bincount(self.block_of), np.bincount(self.block_of, weights=positive).astype(int)
            blocks = tuple(zip(*(column.tolist() for column in pairs), strict=True))
        return NullSizes(n_units, int(positive.sum()), blocks, self.null)

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that shuffles of this design can give, however many there are."""
        return self.sizes.smallest_p if self.model is None else exp(self.model.log_probability)

    def draw(self, rng: np.random.Generator) -> Floats:
        """A labelling from the null."""
        if self.model is not None:
            return self.model.draw(rng)[self.unit_of]
        if self.null == "coin":
            return rng.choice([-1.0, 1.0], size=self.sizes.n_units)[self.unit_of]
        # Sorting random keys within blocks permutes each block uniformly.
        keys = rng.random(self.sizes.n_units)
        order = np.argsort(keys) if self.sizes.blocks is None else np.lexsort((keys, self.block_of))
        shuffled = np.empty(self.sizes.n_units)
        shuffled[np.argsort(self.block_of, kind="stable")] = self.unit_labels[order]
        return shuffled[self.unit_of]


def make_scheme(
    y: Floats,
    null: str = "fixed",
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
) -> LabelScheme:
    """Check blocks, groups, pairs (blocks of one unit of each class) and covariates against the labels ±1."""
    if blocks is not None and pairs is not None:
        raise InputError("pairs are blocks already: labels swap within each pair; give pairs or blocks, not both.")
    role, within = ("blocks", blocks) if pairs is None else ("pairs", pairs)
    if null == "coin" and within is not None:
        raise InputError(f"{role} restrict permutations and need the null with fixed class sizes.")
    unit_of = np.arange(len(y)) if groups is None else codes(groups, len(y), "groups")
    first = np.unique(unit_of, return_index=True)[1]
    unit_labels = y[first]
    differs = np.flatnonzero(unit_labels[unit_of] != y)
    if len(differs):
        raise InputError(
            f"a group must have one label, but row {differs[0] + 1} differs from its group; groups with both labels "
            "belong in blocks instead."
        )
    sample_block = np.zeros(len(y), dtype=np.int64) if within is None else codes(within, len(y), role)
    block_of = sample_block[first]
    if not np.array_equal(block_of[unit_of], sample_block):
        raise InputError(f"every group must lie within one {'block' if pairs is None else 'pair'}.")
    if pairs is not None:
        _check_pairs(np.asarray(pairs)[first], block_of, unit_labels, "row" if groups is None else "group")
    if blocks is not None:
        _check_blocks(block_of, unit_labels)
    scheme = LabelScheme(y, unit_of, unit_labels, block_of, null)
    if covariates:
        scheme = _adjusted(scheme, first, covariates)
    if scheme.sizes.log_labellings == 0:
        raise InputError(
            "every block holds one class only, so that no label can be exchanged; use larger "
            "blocks, or groups=COLUMN if the rows of a block are those of one subject."
        )
    return scheme


def _adjusted(scheme: LabelScheme, first: Ints, given: Mapping[str, ArrayLike]) -> LabelScheme:
    """The scheme with covariates: categories as blocks where counts allow, the rest in a model. `first`: a row of each unit."""
    if scheme.null == "coin":
        raise InputError("covariates need the null with fixed class sizes.")
    columns = read_columns(given, len(scheme.y))
    encoder = make_encoder(columns, adjusting=True)
    for name, values in columns.items():
        if np.any(values[first][scheme.unit_of] != values):
            raise InputError(f"covariate {name!r} must be the same in all rows of a group.")
    categories = [one for one in encoder.covariates if isinstance(one, Category)]
    numbers = [one for one in encoder.covariates if not isinstance(one, Category)]
    level_of = [one.codes(columns[one.name])[first] for one in categories]
    alike = np.column_stack([scheme.block_of, *level_of])
    strata = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    block_of = scheme.block_of
    in_model = encoder
    if use_blocks(strata, scheme.unit_labels):
        block_of = strata
        in_model = CovariateEncoder(tuple(numbers))
    scheme = replace(scheme, block_of=block_of, encoder=encoder)
    terms = in_model.transform(columns, len(scheme.y))
    basis = residual_basis(terms, scheme.block_of[scheme.unit_of])
    if basis is None:
        return scheme
    return replace(scheme, basis=basis, model=fit_model(tuple(given), terms[first], scheme.unit_labels, scheme.block_of))


def _check_pairs(names: NDArray[Any], pair_of: Ints, labels: Floats, unit: str) -> None:
    """Every pair has one unit of each class."""
    counts = np.array([np.bincount(pair_of, weights=labels == side) for side in (1, -1)], dtype=int)
    odd = np.flatnonzero(np.any(counts != 1, axis=0))
    if len(odd):
        (positive, negative), which = counts[:, odd[0]], names[pair_of == odd[0]][0]
        raise InputError(
            f"a pair must have one {unit} of each class, but pair {str(which)!r} has {positive} of the positive and {negative} "
            f"of the other class ({len(odd)} of {counts.shape[1]} pairs are like that); leave them out, or use blocks instead."
        )


def _check_blocks(block_of: Ints, labels: Floats) -> None:
    """Blocks must not be subjects, most of whom have one label in all of their rows.

    Blocks of one class never change when labels are exchanged. Some have one class by chance; where
    most of many have, and more than twice as many as labels dealt at random would make, the block
    determines the label.
    """
    sizes = np.bincount(block_of)
    positives = np.bincount(block_of, weights=labels > 0)
    of_several = sizes > 1
    of_one_class = of_several & ((positives == 0) | (positives == sizes))
    n_one_class = np.count_nonzero(of_one_class)
    n_blocks = np.count_nonzero(of_several)
    n_labels = len(labels)
    if n_blocks < MANY_BLOCKS or 2 * n_one_class <= n_blocks:
        return
    by_chance = 0.0
    for side in (-1.0, 1.0):
        n_side = np.count_nonzero(labels == side)
        chosen = sizes[of_several]
        log_chance = log_binomial(n_side, chosen) - log_binomial(n_labels, chosen)
        by_chance += float(np.exp(log_chance).sum())
    if n_one_class > 2 * by_chance:
        raise InputError(
            f"{n_one_class} of {n_blocks} blocks hold one class only, so that few labels can be "
            "exchanged; if the rows of a block are those of one subject, say groups=COLUMN instead "
            "of blocks, else leave those blocks out."
        )


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
    odds = design @ ridge_logistic(design[None], labels[rows], np.ones((1, len(rows))), np.array([RIDGE]), len(members))[0, 0]
    return LabelModel(names, labels, members, tuple(_balanced(odds[which == k], labels[one]) for k, one in enumerate(members)))


def _balanced(odds: Floats, labels: Floats) -> Floats:
    """The log-odds moved by a constant so that as many positives are expected as there are; the conditional law stays."""
    count, reach = np.count_nonzero(labels > 0), float(np.abs(odds).max()) + np.log(len(odds)) + 1
    return odds + brentq(lambda move: float(expit(odds + move).sum()) - count, -reach, reach)


def residual_basis(terms: Floats, block_of: Ints) -> Floats | None:
    """Orthonormal columns that span the terms within blocks; None if they are constant there."""
    centred = terms - block_means(terms, block_of)
    span, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    span = span[:, sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))]
    return span if span.shape[1] else None


def block_means(values: Floats, block_of: Ints) -> Floats:
    """Mean of every column over the block of each row."""
    sums = np.zeros((block_of.max() + 1, values.shape[1]))
    np.add.at(sums, block_of, values)
    return (sums / np.bincount(block_of)[:, None])[block_of]
