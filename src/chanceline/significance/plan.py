"""What is asked of which table, and which labellings were as likely as the observed one; fixed before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import InputError
from chanceline.perceptron.data import contradictions, distinct_columns, find_features
from chanceline.perceptron.fit import consistent_rows
from chanceline.significance.bounds import AlphaSpending, NullSizes, UnionBound
from chanceline.significance.config import TestSettings
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.diagnostics import examine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelScheme:
    """The null hypothesis: labels of *units* (samples, or groups that share a label) exchangeable within blocks.

    The bound sees units only. A rule that classifies every sample classifies one representative of each group, so the labellings
    of the groups that some rule realises are at most those of as many single points; errors on representatives are at most the
    errors on samples.
    """

    y: Floats
    unit_of: Ints
    unit_labels: Floats
    block_of: Ints
    null: str

    @cached_property
    def sizes(self) -> NullSizes:
        """What the bound sees."""
        n_units, positive, blocks = len(self.unit_labels), self.unit_labels > 0, None
        if self.block_of.max() > 0:
            pairs = np.bincount(self.block_of), np.bincount(self.block_of, weights=positive).astype(int)
            blocks = tuple(zip(*(column.tolist() for column in pairs), strict=True))
        return NullSizes(n_units, int(positive.sum()), blocks, self.null)

    def draw(self, rng: np.random.Generator) -> Floats:
        """A labelling from the null."""
        if self.null == "coin":
            return rng.choice([-1.0, 1.0], size=self.sizes.n_units)[self.unit_of]
        # Sorting random keys within blocks permutes each block uniformly.
        order = np.lexsort((rng.random(self.sizes.n_units), self.block_of))
        shuffled = np.empty(self.sizes.n_units)
        shuffled[self._places] = self.unit_labels[order]
        return shuffled[self.unit_of]

    @cached_property
    def _places(self) -> Ints:
        """Units in the order of their blocks."""
        return np.argsort(self.block_of, kind="stable")


def make_scheme(y: Floats, null: str = "fixed", blocks: ArrayLike | None = None, groups: ArrayLike | None = None) -> LabelScheme:
    """Check blocks and groups against the labels ±1."""
    if null == "coin" and blocks is not None:
        raise InputError("blocks restrict permutations and need the null with fixed class sizes.")
    unit_of = np.arange(len(y)) if groups is None else _codes(groups, len(y), "groups")
    first = np.unique(unit_of, return_index=True)[1]
    unit_labels = y[first]
    differs = np.flatnonzero(unit_labels[unit_of] != y)
    if len(differs):
        raise InputError(
            f"a group must have one label, but row {differs[0] + 1} differs from its group; groups with both labels "
            "belong in blocks instead."
        )
    sample_block = np.zeros(len(y), dtype=np.int64) if blocks is None else _codes(blocks, len(y), "blocks")
    block_of = sample_block[first]
    if not np.array_equal(block_of[unit_of], sample_block):
        raise InputError("every group must lie within one block.")
    scheme = LabelScheme(y, unit_of, unit_labels, block_of, null)
    if scheme.sizes.log_labellings == 0:
        raise InputError("every block holds one class only, so that no label can be exchanged; use larger blocks.")
    return scheme


def _codes(values: ArrayLike, n_samples: int, role: str) -> Ints:
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise InputError(f"{role} must hold one value for each of the {n_samples} samples, but have shape {array.shape}.")
    # Objects of several types cannot be sorted.
    return np.unique(array.astype(str) if array.dtype.kind == "O" else array, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Plan:
    """A checked table and everything that is fixed before its labels are looked at.

    Attributes
    ----------
    features : indices of the features named, None if the smallest set is searched.
    declared : errors allowed beforehand, None if they are counted after looking.
    distinct : one column of every set of equal ones, constants left out.
    findings : what is worth knowing about the table.
    bounds, spending : the bound under the freedoms that are used, and what it may spend.
    """

    data: Dataset
    settings: TestSettings
    scheme: LabelScheme
    features: Ints | None
    declared: int | None
    distinct: Ints
    findings: tuple[Finding, ...]
    bounds: UnionBound
    spending: AlphaSpending

    @property
    def named_after(self) -> bool:
        """The features were named after looking."""
        return self.features is not None and not self.settings.preregistered

    def names_of(self, support: Ints) -> tuple[str, ...]:
        return tuple(self.data.feature_names[j] for j in support)

    @property
    def unavoidable(self) -> str | None:
        """The errors that no rule can avoid, in words: equal rows with opposite labels."""
        X, y = self.data.X, self.data.y
        pairs = contradictions(X, y)
        if not pairs:
            return None
        first, second = pairs[0]
        wrong = len(y) - len(consistent_rows(X, y))
        return f"{wrong} of which cannot be avoided (rows {first + 1} and {second + 1} are equal but have opposite labels)"


def make_plan(data: Dataset, features: Sequence[int | str] | None, settings: TestSettings) -> Plan:
    """Look at the table, check what is asked, and fix what each stage may spend."""
    X, y, names = data.X, data.y, data.feature_names
    n_samples, n_features = X.shape
    found = (*data.findings, *examine(X, y, names, intercept=settings.intercept, level=settings.level))
    scheme = make_scheme(y, settings.null, data.blocks, data.groups)
    indices = None if features is None else find_features(features, names)
    if settings.errors is not None and settings.errors >= n_samples:
        raise InputError(f"the errors allowed must be between 0 and {n_samples - 1}, not {settings.errors}.")
    if settings.preregistered and indices is None:
        raise InputError("preregistered features have to be named; give them, or leave out preregistered.")
    distinct = distinct_columns(X, settings.intercept)
    if len(distinct) == 0:
        raise InputError("every feature is constant, so that there is nothing to separate with.")
    if settings.candidates is not None:
        if settings.candidates < n_features:
            raise InputError(
                f"the {n_features} features of the table are candidate features, so {settings.candidates} are too few."
            )
        # Shuffling cannot repeat a selection whose other candidates are not here.
        settings = replace(settings, permutations=0)
    declared = 0 if settings.errors is None and indices is None else settings.errors
    fixed = len(indices) if settings.preregistered and indices is not None else None
    bounds = UnionBound(scheme.sizes, settings.candidates or len(distinct), settings.intercept, declared, fixed)
    # About features named after looking the bound alone speaks, with the whole level.
    shuffles = 0 if indices is not None and fixed is None else settings.permutations
    spending = bounds.spending(settings.level, shuffles, later=indices is None and settings.errors is None)
    return Plan(data, settings, scheme, indices, declared, distinct, found, bounds, spending)
