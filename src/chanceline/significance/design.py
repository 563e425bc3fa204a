"""The design of the study: which labellings were as likely as the observed one under the null
hypothesis, and how to draw such a labelling.

Labels belong to *units*: samples, or groups of samples that share a label. Without covariates,
labels are exchanged within blocks; pairs are blocks of one unit of each class. With covariates

* categories (text, or numbers with few values) become blocks if there are enough units: labels are
  exchanged within them, which makes no assumption. Otherwise each level has an indicator in a
  logistic model of the labels;
* numbers have a linear and a quadratic term in the model, and further terms if labels or features
  depend on them (`adjustment`).

If there is a model, its terms are projected out of columns and labels before these are compared.
That makes small faults of the model harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Any, NamedTuple

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

# Categories become blocks if at least this share of the units is in blocks with both classes.
MIN_EXCHANGEABLE_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class NullDesign:
    """The null hypothesis: labels of units are exchangeable within blocks.

    The bounds on p-values count units, not samples. That is valid with groups: a rule that
    classifies every sample also classifies one representative of each group, so that rules realise
    no more labellings of n groups than of n points, and make no more errors on representatives than
    on samples.

    Attributes
    ----------
    y : (samples,) the observed labels ±1.
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    unit_labels : (units,) labels ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    null : "fixed" (labels are exchanged) or "coin" (each label is drawn by a fair coin).
    adjustment : for covariates that are not used as blocks; None if there are none. Labels are then
        drawn from its model instead of being exchanged, and its basis is projected out of columns
        and labels before they are compared.
    encoder : encodes the covariates as columns of numbers, for a rule that uses them too; None
        without covariates.
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
        """The model from which labels are drawn; None if labels are exchanged."""
        return None if self.adjustment is None else self.adjustment.model

    @property
    def covariate_basis(self) -> Floats | None:
        """(samples, terms) orthonormal columns that are projected out of columns and labels."""
        return None if self.adjustment is None else self.adjustment.basis

    @cached_property
    def sizes(self) -> NullSizes:
        """The numbers of units and of positive units, in all and in every block.

        These are all that the count of equally likely labellings needs. `blocks` has a pair (size,
        positives) for every block; it is None if all units are in one block.
        """
        is_positive = self.unit_labels > 0  # (units,)
        blocks = None
        has_several_blocks = self.block_of_unit.max() > 0
        if has_several_blocks:
            block_sizes = np.bincount(self.block_of_unit)
            block_positives = np.bincount(self.block_of_unit, weights=is_positive).astype(int)
            blocks = tuple(zip(block_sizes.tolist(), block_positives.tolist(), strict=True))
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
        """Number of blocks; 1 if none were declared."""
        return int(self.block_of_unit.max()) + 1

    @property
    def block_of_sample(self) -> Ints:
        """(samples,) numbers 0, 1, … of the blocks."""
        return self.block_of_unit[self.unit_of_sample]

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that any number of shuffles of this design can give."""
        if self.covariate_model is not None:
            return exp(self.covariate_model.log_probability)
        return self.sizes.smallest_p

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw a labelling ±1 under the null hypothesis: (samples,)."""
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
    """The null hypothesis of a study: which units could have exchanged their labels.

    The user may have declared four roles (`DeclaredRoles`):

    * groups: samples that share their label. They make up a unit, the smallest thing that has a
      label. Without groups every sample is a unit.
    * blocks: units exchange their labels only within a block. Without blocks, all units are in one.
    * pairs: blocks of two units, one of each class. There are either blocks or pairs.
    * covariates: they divide the blocks further, or enter a model from which labels are drawn
      (`_with_covariates`).

    The roles are checked against the labels; `InputError` says what is wrong.

    Parameters
    ----------
    y : (samples,) labels ±1.
    declared : blocks, groups, pairs and covariates, one value of each for every sample.
    null : "fixed" (labels are exchanged) or "coin" (each label is drawn by a fair coin).
    X : (samples, features) checked for dependence on covariates; without X only the labels are
        checked.
    """
    check_blocks_or_pairs(declared, null)

    # Units, and the first sample of each. This one stands for all samples of the unit: that they
    # have the same label, block and covariates is checked below.
    unit_of_sample = _number_units(declared, len(y))  # (samples,)
    _, sample_of_unit = np.unique(unit_of_sample, return_index=True)  # (units,)
    unit_labels = y[sample_of_unit]
    check_groups(y, unit_of_sample, unit_labels)

    # Blocks or pairs, within which labels are exchanged.
    block_of_sample = _number_blocks(declared, len(y))
    design_without_covariates = NullDesign(
        y=y,
        unit_of_sample=unit_of_sample,
        unit_labels=unit_labels,
        block_of_unit=block_of_sample[sample_of_unit],
        null=null,
    )
    _check_blocks(design_without_covariates, declared, block_of_sample, sample_of_unit)
    if not declared.covariates:
        return design_without_covariates

    no_features = np.zeros((len(y), 0))
    features = no_features if X is None else X
    return _with_covariates(
        design_without_covariates, sample_of_unit, declared.covariates, features
    )


def _number_units(declared: DeclaredRoles, n_samples: int) -> Ints:
    """(samples,) the number 0, 1, … of every sample's unit: its group, or itself without groups."""
    if declared.groups is not None:
        return number_values(declared.groups, n_samples, "groups")
    return np.arange(n_samples)


def _check_blocks(
    design: NullDesign,
    declared: DeclaredRoles,
    declared_block_of_sample: Ints,
    sample_of_unit: Ints,
) -> None:
    """Raise `InputError` if blocks or pairs do not suit the units and their labels.

    A unit (a sample, or a group of samples that share their label) must lie within one block. Pairs
    must have one unit of each class. Blocks must not look like subjects, and some block must have
    both classes.

    Parameters
    ----------
    design : units and blocks.
    declared : the user's names for groups, blocks and pairs.
    declared_block_of_sample : (samples,) numbers 0, 1, … of the declared blocks. They may differ
        within a unit, whereas the design gives every sample the block of its unit.
    sample_of_unit : (units,) one sample of each unit.
    """
    units_lie_within_blocks = np.array_equal(design.block_of_sample, declared_block_of_sample)
    if not units_lie_within_blocks:
        block_word = "block" if declared.pairs is None else "pair"
        raise InputError(f"every group must lie within one {block_word}.")

    # The labels in pairs or blocks.
    if declared.pairs is not None:
        pair_names = np.asarray(declared.pairs)[sample_of_unit]
        unit_word = "row" if declared.groups is None else "group"
        check_pairs(pair_names, design.block_of_unit, design.unit_labels, unit_word)
    if declared.blocks is not None:
        check_not_subjects(design.block_of_unit, design.unit_labels)
    if design.sizes.log_labellings == 0:  # ln 1: the observed labelling is the only one
        raise InputError(
            "every block holds one class only, so that no label can be exchanged; use larger "
            "blocks, or groups=COLUMN if the rows of a block are those of one subject."
        )


def _number_blocks(declared: DeclaredRoles, n_samples: int) -> Ints:
    """(samples,) the number 0, 1, … of every sample's block or pair; 0 if none are declared."""
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
    """The design with covariates added.

    A covariate is accounted for in one of two ways (`_blocks_and_model` chooses):

    * a category may divide the blocks, within which labels are exchanged;
    * any covariate may be in a logistic model of the labels (`fit_adjustment`).

    The encoder of the result encodes all covariates, because rules may use all of them.

    Parameters
    ----------
    design : without covariates; it is not changed.
    sample_of_unit : (units,) one sample of each unit.
    covariates : by name, each with one value for each sample.
    X : (samples, features) checked for dependence on covariates.
    """
    if design.null == COIN_NULL:
        raise InputError("covariates need the null with fixed class sizes.")
    columns = read_columns(covariates, len(design.y))
    # With `adjusting`, numbers with few values are categories, and other numbers get a quadratic
    # term.
    all_covariates = make_encoder(columns, adjusting=True)
    check_covariates_of_units(columns, design.unit_of_sample, sample_of_unit)

    block_of_unit, modelled_covariates = _blocks_and_model(
        design, all_covariates, columns, sample_of_unit
    )
    units = LabelledUnits(
        labels=design.unit_labels,
        block_of_unit=block_of_unit,
        unit_of_sample=design.unit_of_sample,
        sample_of_unit=sample_of_unit,
    )
    # The model of the labels; None if the blocks account for all covariates.
    adjustment = fit_adjustment(
        columns=columns,
        all_covariates=all_covariates,
        modelled_covariates=modelled_covariates,
        units=units,
        X=X,
    )
    return replace(
        design, block_of_unit=block_of_unit, encoder=all_covariates, adjustment=adjustment
    )


class _BlocksAndModel(NamedTuple):
    """How covariates are accounted for: by blocks, and by a model of the labels.

    Attributes
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    modelled_covariates : encodes the covariates that the model has.
    """

    block_of_unit: Ints
    modelled_covariates: CovariateEncoder


def _blocks_and_model(
    design: NullDesign,
    all_covariates: CovariateEncoder,
    columns: Mapping[str, NDArray[Any]],
    sample_of_unit: Ints,
) -> _BlocksAndModel:
    """Choose which covariates divide the blocks, and which ones are in a model of the labels.

    If there are enough units, the blocks of the design are divided into strata: the units of the
    same block and the same levels of all categories. The strata are then the blocks, and only
    numeric covariates are left for the model. Otherwise the blocks stay as they are, and all
    covariates are in the model.

    Parameters
    ----------
    design : with the blocks before covariates are added.
    all_covariates : the covariates, each a number or a category.
    columns : covariates by name, each with one value for each sample.
    sample_of_unit : (units,) one sample of each unit.
    """
    stratum_of_unit = _strata(design, all_covariates, columns, sample_of_unit)
    if can_be_blocks(stratum_of_unit, design.unit_labels):
        return _BlocksAndModel(stratum_of_unit, _numeric_covariates(all_covariates))
    return _BlocksAndModel(design.block_of_unit, all_covariates)


def _numeric_covariates(encoder: CovariateEncoder) -> CovariateEncoder:
    """The encoder without categories."""
    numeric = [covariate for covariate in encoder.covariates if not isinstance(covariate, Category)]
    return CovariateEncoder(tuple(numeric))


def _strata(
    design: NullDesign,
    encoder: CovariateEncoder,
    columns: Mapping[str, NDArray[Any]],
    sample_of_unit: Ints,
) -> Ints:
    """(units,) the number 0, 1, … of every unit's stratum.

    A stratum is the units of the same block and the same levels of all categories.

    Parameters
    ----------
    design : with the blocks of the units.
    encoder : the covariates, each a number or a `Category`.
    columns : covariates by name, each with one value for each sample.
    sample_of_unit : (units,) one sample of each unit.
    """
    block_and_levels = [design.block_of_unit]
    for covariate in encoder.covariates:
        if isinstance(covariate, Category):
            levels = covariate.codes(columns[covariate.name])
            block_and_levels.append(levels[sample_of_unit])
    combinations = np.column_stack(block_and_levels)  # (units, 1 + categories)
    _, strata = np.unique(combinations, axis=0, return_inverse=True)
    return strata.reshape(-1).astype(np.int64)


def can_be_blocks(strata: Ints, unit_labels: Floats) -> bool:
    """Whether there are enough units to exchange labels within the strata.

    The strata must have `MIN_MEAN_BLOCK_SIZE` units on average, and nearly all units must be in
    strata with both classes.

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
