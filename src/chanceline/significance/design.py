"""The design of the study: which labellings were as likely as the observed one, and how to draw another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.chance.counts import LOG2, log_binomial
from chanceline.errors import InputError
from chanceline.significance.covariates import LabelModel, fit_model, model_terms, read_covariates, residual_basis, use_blocks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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
            share = self.positives / self.n_units
            return NullSizes(count, min(max(round(share * count), 1), max(count - 1, 1)), None, self.null)
        blocks = tuple(islice(cycle(self.blocks), count))
        return NullSizes(sum(size for size, _ in blocks), sum(number for _, number in blocks), blocks, self.null)


@dataclass(frozen=True, eq=False)
class LabelScheme:
    """The null hypothesis: labels of *units* (samples, or groups that share a label) exchangeable within blocks.

    The bound sees units only. A rule that classifies every sample classifies one representative of each group, so the labellings
    of the groups that some rule realises are at most those of as many single points; errors on representatives are at most the
    errors on samples.

    With covariates that are no blocks, labels are drawn from a `model` of the label given the covariates instead of being
    exchanged, and `basis` (orthonormal, by samples) spans what is taken out of columns and labels before they are compared.
    `terms` are all covariates as numbers, for a rule that has them besides its features.
    """

    y: Floats
    unit_of: Ints
    unit_labels: Floats
    block_of: Ints
    null: str
    model: LabelModel | None = None
    basis: Floats | None = None
    terms: Floats | None = None

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
        order = np.lexsort((rng.random(self.sizes.n_units), self.block_of))
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
    unit_of = np.arange(len(y)) if groups is None else _codes(groups, len(y), "groups")
    first = np.unique(unit_of, return_index=True)[1]
    unit_labels = y[first]
    differs = np.flatnonzero(unit_labels[unit_of] != y)
    if len(differs):
        raise InputError(
            f"a group must have one label, but row {differs[0] + 1} differs from its group; groups with both labels "
            "belong in blocks instead."
        )
    sample_block = np.zeros(len(y), dtype=np.int64) if within is None else _codes(within, len(y), role)
    block_of = sample_block[first]
    if not np.array_equal(block_of[unit_of], sample_block):
        raise InputError(f"every group must lie within one {'block' if pairs is None else 'pair'}.")
    if pairs is not None:
        _check_pairs(np.asarray(pairs)[first], block_of, unit_labels, "row" if groups is None else "group")
    scheme = LabelScheme(y, unit_of, unit_labels, block_of, null)
    if covariates:
        scheme = _adjusted(scheme, first, covariates)
    if scheme.sizes.log_labellings == 0:
        raise InputError("every block holds one class only, so that no label can be exchanged; use larger blocks.")
    return scheme


def _adjusted(scheme: LabelScheme, first: Ints, given: Mapping[str, ArrayLike]) -> LabelScheme:
    """The scheme with covariates: categories as blocks where counts allow, the rest in a model. `first`: a row of each unit."""
    if scheme.null == "coin":
        raise InputError("covariates need the null with fixed class sizes.")
    categories, numbers = read_covariates(given, len(scheme.y))
    for name, values in (categories | numbers).items():
        if np.any(values[first][scheme.unit_of] != values):
            raise InputError(f"covariate {name!r} must be the same in all rows of a group.")
    alike = np.column_stack([scheme.block_of, *(codes[first] for codes in categories.values())])
    strata = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    as_blocks = use_blocks(strata, scheme.unit_labels)
    terms = model_terms({} if as_blocks else categories, numbers, len(scheme.y))
    scheme = replace(
        scheme, block_of=strata if as_blocks else scheme.block_of, terms=model_terms(categories, numbers, len(scheme.y))
    )
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


def _codes(values: ArrayLike, n_samples: int, role: str) -> Ints:
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise InputError(f"{role} must hold one value for each of the {n_samples} samples, but have shape {array.shape}.")
    # Objects of several types cannot be sorted.
    return np.unique(array.astype(str) if array.dtype.kind == "O" else array, return_inverse=True)[1].astype(np.int64)
