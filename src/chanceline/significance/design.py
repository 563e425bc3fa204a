"""The design of the study: which labellings were as likely as the observed one, and how to draw
another.

Labels belong to *units*: samples, or groups of samples that share a label. Without covariates they
are exchanged within blocks; pairs are blocks of one unit of each class. With covariates

* categories (text, or numbers with few values) are blocks where their counts allow it: labels are
  exchanged within them, which assumes nothing. Otherwise each has an indicator in a model;
* numbers have a linear and a quadratic term in the model, and further ones where labels or features
  ask for them (`adjustment`).

Where there is a model, columns and labels are compared after what its terms explain was taken out
of both, which makes small faults of the model harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.errors import InputError
from chanceline.prediction.covariates import (
    Category,
    CovariateEncoder,
    make_encoder,
    read_columns,
)
from chanceline.prediction.samples import number_values
from chanceline.significance.adjustment import Adjustment, LabelledUnits, fit_adjustment
from chanceline.significance.covariate_model import MIN_MEAN_BLOCK_SIZE, CovariateModel
from chanceline.significance.declared_roles import (
    DeclaredRoles,
    check_blocks_or_pairs,
    check_covariates_of_units,
    check_groups,
    check_not_subjects,
    check_pairs,
)
from chanceline.significance.null_sizes import COIN_NULL, FIXED_NULL, NullSizes
from chanceline.significance.unit_exchange import exchange_units

# Categories become blocks if at least this share of the units is in blocks of both classes.
MIN_EXCHANGEABLE_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class NullDesign:
    """The null hypothesis: labels of units are exchangeable within blocks.

    The bound sees units only. A rule that classifies every sample classifies one representative of
    each group, so the labellings of the groups that some rule realises are at most those of as many
    single points; errors on representatives are at most the errors on samples.

    Attributes
    ----------
    y : (samples,) the observed labels ±1.
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    unit_labels : (units,) labels ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    null : "fixed" (labels are exchanged) or "coin" (each is drawn by a fair coin).
    adjustment : with covariates that are no blocks, labels are drawn from its model instead of
        being exchanged, and its basis is taken out of columns and labels before they are compared.
    encoder : how covariates become columns of numbers, for a rule that uses them too; None without
        covariates.
    """

    y: Floats
    unit_of_sample: Ints
    unit_labels: Floats
    block_of_unit: Ints
    null: str
    adjustment: Adjustment | None = None
    encoder: CovariateEncoder | None = None

    @property
    def covariate_model(self) -> CovariateModel | None:
        """From which labels are drawn; None if they are exchanged."""
        return None if self.adjustment is None else self.adjustment.model

    @property
    def covariate_basis(self) -> Floats | None:
        """(samples, terms) orthonormal columns that are taken out of columns and labels."""
        return None if self.adjustment is None else self.adjustment.basis

    @cached_property
    def sizes(self) -> NullSizes:
        """Numbers of units and of positives, in all and in every block, which the bound sees.

        Where all units are in one block, `blocks` is None.
        """
        is_positive = self.unit_labels > 0
        blocks = None
        if self.block_of_unit.max() > 0:
            block_sizes = np.bincount(self.block_of_unit).tolist()
            block_positives = np.bincount(self.block_of_unit, weights=is_positive)
            blocks = tuple(zip(block_sizes, block_positives.astype(int).tolist(), strict=True))
        return NullSizes(
            n_units=len(self.unit_labels),
            positives=int(is_positive.sum()),
            blocks=blocks,
            null=self.null,
        )

    @property
    def has_groups(self) -> bool:
        """Whether some samples belong together and always have the same label."""
        return len(self.unit_labels) < len(self.unit_of_sample)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, 1 where there are none."""
        return int(self.block_of_unit.max()) + 1

    @property
    def block_of_sample(self) -> Ints:
        """(samples,) numbers 0, 1, … of the blocks."""
        return self.block_of_unit[self.unit_of_sample]

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that shuffles of this design can give, however many there are."""
        if self.covariate_model is not None:
            return exp(self.covariate_model.log_probability)
        return self.sizes.smallest_p

    def draw(self, rng: np.random.Generator) -> Floats:
        """A labelling ±1 from the null: (samples,)."""
        if self.covariate_model is not None:
            unit_labels = self.covariate_model.draw(rng)
        elif self.null == COIN_NULL:
            unit_labels = rng.choice([-1.0, 1.0], size=self.sizes.n_units)
        else:
            unit_labels = self.unit_labels[exchange_units(self.block_of_unit, rng)]
        return unit_labels[self.unit_of_sample]


def make_design(
    y: Floats,
    declared: DeclaredRoles = DeclaredRoles(),
    null: str = FIXED_NULL,
    X: AnyTable | None = None,
) -> NullDesign:
    """The null hypothesis of a study: which labels could have been exchanged.

    What was declared is checked against the labels.

    Parameters
    ----------
    y : (samples,) labels ±1.
    declared : blocks, groups, pairs and covariates.
    null : "fixed" or "coin".
    X : (samples, features) whose dependence on covariates is looked at; by default only that of the
        labels is.
    """
    check_blocks_or_pairs(declared, null)

    # Units are groups, or samples if there are no groups. They are numbered 0, 1, … without gaps.
    if declared.groups is None:
        unit_of_sample = np.arange(len(y))
    else:
        unit_of_sample = number_values(declared.groups, len(y), "groups")
    # Entry u is the first sample of unit u.
    _, sample_of_unit = np.unique(unit_of_sample, return_index=True)
    unit_labels = y[sample_of_unit]
    check_groups(y, unit_of_sample, unit_labels)

    # Labels are exchanged within blocks.
    block_of_sample = _number_blocks(declared, len(y))
    design = NullDesign(
        y=y,
        unit_of_sample=unit_of_sample,
        unit_labels=unit_labels,
        block_of_unit=block_of_sample[sample_of_unit],
        null=null,
    )
    _check_blocks(design, declared, block_of_sample, sample_of_unit)
    if not declared.covariates:
        return design
    # Covariates become blocks where labels can be exchanged within them, else terms of a model.
    features = np.zeros((len(y), 0)) if X is None else X
    return _with_covariates(design, sample_of_unit, declared.covariates, features)


def _check_blocks(
    design: NullDesign,
    declared: DeclaredRoles,
    declared_block_of_sample: Ints,
    sample_of_unit: Ints,
) -> None:
    """Refuse blocks that cut through units, improper pairs, and blocks that leave no exchange.

    Parameters
    ----------
    design : units and blocks.
    declared : what the user calls them.
    declared_block_of_sample : (samples,) numbers of the blocks as declared. They may differ within
        a unit, whereas in the design every sample has the block of its unit.
    sample_of_unit : (units,) one sample of each unit.
    """
    if not np.array_equal(design.block_of_sample, declared_block_of_sample):
        block_word = "block" if declared.pairs is None else "pair"
        raise InputError(f"every group must lie within one {block_word}.")
    if declared.pairs is not None:
        pair_names = np.asarray(declared.pairs)[sample_of_unit]
        unit_word = "row" if declared.groups is None else "group"
        check_pairs(pair_names, design.block_of_unit, design.unit_labels, unit_word)
    if declared.blocks is not None:
        check_not_subjects(design.block_of_unit, design.unit_labels)
    if design.sizes.log_labellings == 0:
        raise InputError(
            "every block holds one class only, so that no label can be exchanged; use larger "
            "blocks, or groups=COLUMN if the rows of a block are those of one subject."
        )


def _number_blocks(declared: DeclaredRoles, n_samples: int) -> Ints:
    """The number of every sample's block or pair, 0 if there are none: (samples,)."""
    if declared.pairs is not None:
        return number_values(declared.pairs, n_samples, "pairs")
    if declared.blocks is not None:
        return number_values(declared.blocks, n_samples, "blocks")
    return np.zeros(n_samples, dtype=np.int64)


def _with_covariates(
    design: NullDesign,
    sample_of_unit: Ints,
    covariates: Mapping[str, ArrayLike],
    X: AnyTable,
) -> NullDesign:
    """The design with covariates: as blocks where counts allow, and the rest in a model.

    Parameters
    ----------
    design : without covariates.
    sample_of_unit : (units,) one sample of each unit.
    covariates : one value for each sample, by name.
    X : (samples, features) whose dependence on covariates is looked at.
    """
    if design.null == COIN_NULL:
        raise InputError("covariates need the null with fixed class sizes.")
    columns = read_columns(covariates, len(design.y))
    encoder = make_encoder(columns, adjusting=True)
    check_covariates_of_units(columns, design.unit_of_sample, sample_of_unit)

    # Units of the same block and the same categories. If labels can be exchanged within these, they
    # are the blocks, and only numbers are left for the model.
    strata = _strata(design, encoder, columns, sample_of_unit)
    if can_be_blocks(strata, design.unit_labels):
        block_of_unit = strata
        numbers = [item for item in encoder.covariates if not isinstance(item, Category)]
        modelled = CovariateEncoder(tuple(numbers))
    else:
        block_of_unit = design.block_of_unit
        modelled = encoder

    # The model of the labels on what is left.
    units = LabelledUnits(
        labels=design.unit_labels,
        block_of_unit=block_of_unit,
        unit_of_sample=design.unit_of_sample,
        sample_of_unit=sample_of_unit,
    )
    return replace(
        design,
        block_of_unit=block_of_unit,
        encoder=encoder,
        adjustment=fit_adjustment(columns, encoder, modelled, units, X),
    )


def _strata(
    design: NullDesign,
    encoder: CovariateEncoder,
    columns: Mapping[str, NDArray[Any]],
    sample_of_unit: Ints,
) -> Ints:
    """Numbers 0, 1, … of the strata, units of the same block and the same categories: (units,).

    Parameters
    ----------
    design : its blocks.
    encoder : which covariates are categories.
    columns : one value for each sample, by name.
    sample_of_unit : (units,) one sample of each unit.
    """
    block_and_levels = [design.block_of_unit]
    for covariate in encoder.covariates:
        if isinstance(covariate, Category):
            levels = covariate.codes(columns[covariate.name])
            block_and_levels.append(levels[sample_of_unit])
    combinations = np.column_stack(block_and_levels)
    strata = np.unique(combinations, axis=0, return_inverse=True)[1]
    return strata.reshape(-1).astype(np.int64)


def can_be_blocks(strata: Ints, unit_labels: Floats) -> bool:
    """Whether there are units enough to exchange labels within the strata.

    Parameters
    ----------
    strata : (units,) numbers 0, 1, … of the strata.
    unit_labels : (units,) ±1.
    """
    n_units = len(strata)
    sizes = np.bincount(strata)
    positives = np.bincount(strata, weights=unit_labels > 0)
    if n_units < MIN_MEAN_BLOCK_SIZE * len(sizes):
        return False
    has_both_classes = (positives > 0) & (positives < sizes)
    n_exchangeable = sizes[has_both_classes].sum()
    return bool(n_exchangeable >= MIN_EXCHANGEABLE_SHARE * n_units)
