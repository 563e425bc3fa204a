"""Which permutations of an outcome were as likely as the observed one, and how to draw another.

Outcomes belong to *units*: samples, or groups of samples that share one. They are exchanged within
blocks; pairs are blocks of two units. Of covariates, categories become blocks where these are large
enough. The rest is taken out by least squares, and what it leaves of the scores is permuted
(Freedman and Lane 1983), where the outcome allows that: the p-value is approximate then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline._results import listed
from chanceline.errors import InputError
from chanceline.prediction.covariates import Category, CovariateEncoder, make_encoder, read_columns
from chanceline.prediction.samples import number_values
from chanceline.significance.arrays import block_means
from chanceline.significance.covariate_model import MIN_MEAN_BLOCK_SIZE, residual_basis
from chanceline.significance.declared_roles import DeclaredRoles, check_covariates_of_units
from chanceline.significance.outcomes.orthonormal import orthonormal_columns
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.unit_exchange import exchange_units
from chanceline.tables.wording import plural

EXACT_KIND = "Monte Carlo"
FREEDMAN_LANE_KIND = "Monte Carlo, residuals permuted (Freedman and Lane), approximate"
# What is left of scores, as a share of them, below which blocks and covariates explain all.
MIN_SHARE_LEFT = 1e-9


@dataclass(frozen=True, eq=False)
class ScoreDesign:
    """The null hypothesis: outcomes of units are exchangeable within blocks.

    Attributes
    ----------
    unit_scores : (units, q) what blocks and covariates leave of the scores, as orthonormal columns,
        so that all directions count alike.
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    covariate_terms : (samples, terms) the covariates that are no blocks; None without any.
    log_permutations : ln of the number of different outcomes that can be drawn.
    encoder : how covariates become columns of numbers, for a rule that uses them too.
    block_categories : names of covariates whose levels are blocks, within those declared.
    """

    unit_scores: Floats
    unit_of_sample: Ints
    block_of_unit: Ints
    covariate_terms: Floats | None
    log_permutations: float
    encoder: CovariateEncoder
    block_categories: tuple[str, ...]

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.block_of_unit)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, 1 where there are none."""
        return int(self.block_of_unit.max()) + 1

    @property
    def block_of_sample(self) -> Ints:
        """(samples,) numbers 0, 1, … of the blocks."""
        return self.block_of_unit[self.unit_of_sample]

    @property
    def covariate_basis(self) -> Floats | None:
        """(samples, terms) orthonormal columns that are taken out of columns and scores."""
        if self.covariate_terms is None:
            return None
        return residual_basis(self.covariate_terms, self.block_of_sample)

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """Of all covariates."""
        return self.encoder.names

    @property
    def kind(self) -> str:
        """What the p-value is."""
        if self.covariate_terms is None:
            return EXACT_KIND
        return FREEDMAN_LANE_KIND

    def permuted_scores(self, seed: int, draw_number: int) -> Floats:
        """The observed scores as number 0, and draw 1, 2, … from the null: (q, samples)."""
        unit_scores = self.unit_scores
        if draw_number > 0:
            donors = exchange_units(self.block_of_unit, np.random.default_rng([seed, draw_number]))
            unit_scores = unit_scores[donors]
        return unit_scores[self.unit_of_sample].T


def make_score_design(outcome: Outcome, declared: DeclaredRoles = DeclaredRoles()) -> ScoreDesign:
    """Decide what the test permutes, and check that the outcome allows it.

    The test permutes scores, the numbers that stand for the outcome. They belong to units: samples,
    or groups of samples that share one outcome. Units are permuted within blocks.

    Parameters
    ----------
    outcome : the outcome of every sample.
    declared : the blocks, groups, pairs and covariates that the user declared.
    """
    units = _number_units(outcome, declared)
    declared_blocks = _number_blocks_of_units(declared, units)  # (units,)
    covariates = _read_covariates(outcome, declared, units, declared_blocks)

    # The blocks to permute within: the declared ones, which `_read_covariates` has split further by
    # categorical covariates if the parts are large enough.
    block_of_unit = covariates.block_of_unit  # (units,)
    # All other covariates as columns of numbers for a regression, (units, terms) and
    # (samples, terms); None if there are none.
    unit_terms = covariates.unit_terms
    sample_terms = None
    if unit_terms is not None:
        sample_terms = unit_terms[units.unit_of_sample]

    # The scores to permute: residuals of the scores on blocks and on these covariates.
    scores_of_units = outcome.scores[units.sample_of_unit]
    unit_scores = _residual_scores(scores_of_units, block_of_unit, unit_terms)
    return ScoreDesign(
        unit_scores=unit_scores,
        unit_of_sample=units.unit_of_sample,
        block_of_unit=block_of_unit,
        covariate_terms=sample_terms,
        log_permutations=_log_permutations(unit_scores, block_of_unit),
        encoder=covariates.encoder,
        block_categories=covariates.block_categories,
    )


class _Units(NamedTuple):
    """What one outcome belongs to: every sample by itself, or groups.

    Attributes
    ----------
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    sample_of_unit : (units,) one sample of each unit.
    """

    unit_of_sample: Ints
    sample_of_unit: Ints


def _number_units(outcome: Outcome, declared: DeclaredRoles) -> _Units:
    """The groups declared, which must have one outcome each; else every sample is a unit."""
    n_samples = len(outcome.scores)
    unit_of_sample = np.arange(n_samples)
    if declared.groups is not None:
        unit_of_sample = number_values(declared.groups, n_samples, "groups")
    _, sample_of_unit = np.unique(unit_of_sample, return_index=True)
    _check_outcome_of_groups(outcome, representative=sample_of_unit[unit_of_sample])
    return _Units(unit_of_sample, sample_of_unit)


def _check_outcome_of_groups(outcome: Outcome, representative: Ints) -> None:
    """All samples of a group have one outcome.

    Parameters
    ----------
    outcome : of every sample.
    representative : (samples,) one sample of each sample's group.
    """
    values = outcome.values.reshape(len(representative), -1)
    differing = np.flatnonzero(np.any(values[representative] != values, axis=1))
    if len(differing):
        raise InputError(
            f"a group must have one value of {outcome.name!r}, but row {differing[0] + 1} differs "
            "from its group; groups with several values belong in blocks instead."
        )


def _number_blocks_of_units(declared: DeclaredRoles, units: _Units) -> Ints:
    """The number of every unit's declared block or pair: (units,); 0 for all if there are none.

    Parameters
    ----------
    declared : the blocks or pairs, and the groups, that the user declared.
    units : samples, or groups of samples. `InputError` is raised unless each unit lies within one
        block, and each pair has two units.
    """
    # A unit has many samples if it is a group: one of them stands for the unit.
    representative_of_unit = units.sample_of_unit  # (units,) numbers of samples
    unit_of_sample = units.unit_of_sample  # (samples,) numbers of units
    block_of_sample = _number_blocks_of_samples(declared, len(unit_of_sample))
    block_of_unit = block_of_sample[representative_of_unit]

    # All samples of a unit must be in the same block as its representative.
    block_of_representative = block_of_unit[unit_of_sample]  # (samples,)
    if not np.all(block_of_representative == block_of_sample):
        raise InputError("every group must lie within one block or pair.")
    if declared.pairs is not None:
        pair_name_of_unit = np.asarray(declared.pairs)[representative_of_unit]
        _check_pairs_of_two(pair_name_of_unit, block_of_unit)
    return block_of_unit


def _number_blocks_of_samples(declared: DeclaredRoles, n_samples: int) -> Ints:
    """The number of every sample's block or pair, 0 if there are none: (samples,)."""
    if declared.blocks is not None and declared.pairs is not None:
        raise InputError("pairs are blocks already; give pairs or blocks, not both.")
    if declared.pairs is not None:
        return number_values(declared.pairs, n_samples, "pairs")
    if declared.blocks is not None:
        return number_values(declared.blocks, n_samples, "blocks")
    return np.zeros(n_samples, dtype=np.int64)


def _check_pairs_of_two(pair_names: NDArray[Any], pair_of_unit: Ints) -> None:
    """Every pair has two units.

    Parameters
    ----------
    pair_names : (units,) what the user calls the pair of every unit.
    pair_of_unit : (units,) numbers 0, 1, … of the pairs.
    """
    sizes = np.bincount(pair_of_unit)
    improper = np.flatnonzero(sizes != 2)
    if len(improper):
        name = pair_names[pair_of_unit == improper[0]][0]
        raise InputError(
            f"a pair must have two rows (or groups), but pair {str(name)!r} has "
            f"{sizes[improper[0]]}; leave such pairs out, or use blocks instead."
        )


@dataclass(frozen=True, eq=False)
class _Covariates:
    """What covariates become.

    Attributes
    ----------
    block_of_unit : (units,) blocks, with categories among them where these are large enough.
    unit_terms : (units, terms) the rest as numbers; None if there is nothing left.
    encoder : how all of them become columns of numbers.
    block_categories : names of those whose levels are blocks.
    """

    block_of_unit: Ints
    unit_terms: Floats | None = None
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    block_categories: tuple[str, ...] = ()


def _read_covariates(
    outcome: Outcome, declared: DeclaredRoles, units: _Units, declared_blocks: Ints
) -> _Covariates:
    """Decide for each covariate whether it defines blocks or is taken out by regression.

    Categorical covariates split the declared blocks into strata, one for each combination of
    levels. Units are then permuted within strata, and only numeric covariates enter the regression.
    If strata would be too small on average, the declared blocks stay as they are, and all
    covariates enter the regression.

    Parameters
    ----------
    outcome : the outcome, which says whether residuals of a regression may be permuted.
    declared : what the user declared, with a column of values for each covariate.
    units : the samples, or groups of samples, that are permuted.
    declared_blocks : (units,) the numbers of the declared blocks, 0 for all if there are none.
    """
    if not declared.covariates:
        return _Covariates(declared_blocks)

    # Each covariate has one value for every sample, which must be the same for all samples of a
    # unit: so one sample of each unit gives the unit's value.
    values_of_samples = read_columns(declared.covariates, len(units.unit_of_sample))
    check_covariates_of_units(values_of_samples, units.unit_of_sample, units.sample_of_unit)
    values_of_units = {}  # by the name of a covariate, (units,)
    for name, values in values_of_samples.items():
        values_of_units[name] = values[units.sample_of_unit]

    # How covariates become columns of numbers, and which of them are categorical.
    encoder = make_encoder(values_of_units, adjusting=True)
    categories = []
    numeric_covariates = []
    for covariate in encoder.covariates:
        if isinstance(covariate, Category):
            categories.append(covariate)
        else:
            numeric_covariates.append(covariate)

    # Strata define the blocks if they have enough units on average.
    stratum_of_unit = _strata(declared_blocks, categories, values_of_units)  # 0, 1, …
    n_strata = stratum_of_unit.max() + 1
    strata_are_large = len(stratum_of_unit) >= MIN_MEAN_BLOCK_SIZE * n_strata
    if strata_are_large:
        encoder_of_numeric = CovariateEncoder(tuple(numeric_covariates))
        return _Covariates(
            block_of_unit=stratum_of_unit,
            # The regression needs the numeric covariates only. `encoder` has all of them: a rule
            # for new samples needs the categories, too.
            unit_terms=_regression_terms(outcome, encoder_of_numeric, values_of_units),
            encoder=encoder,
            block_categories=tuple(category.name for category in categories),
        )
    return _Covariates(
        block_of_unit=declared_blocks,
        unit_terms=_regression_terms(outcome, encoder, values_of_units),
        encoder=encoder,
    )


def _strata(
    block_of_unit: Ints,
    categories: Sequence[Category],
    values_of_units: Mapping[str, NDArray[Any]],
) -> Ints:
    """(units,) numbers 0, 1, …, the same for units of one block and of equal levels throughout."""
    block_and_levels = [block_of_unit]
    for category in categories:
        block_and_levels.append(category.codes(values_of_units[category.name]))
    strata = np.unique(np.column_stack(block_and_levels), axis=0, return_inverse=True)[1]
    return strata.reshape(-1).astype(np.int64)


def _regression_terms(
    outcome: Outcome, encoder: CovariateEncoder, values_of_units: Mapping[str, NDArray[Any]]
) -> Floats | None:
    """Covariates as columns of numbers for a regression, (units, terms); None without covariates.

    The test permutes the residuals of the outcome in this regression. Raise `InputError` if there
    are covariates, but residuals of this kind of outcome may not be permuted.

    Parameters
    ----------
    outcome : the outcome to be permuted.
    encoder : the covariates to use, and how each becomes columns of numbers.
    values_of_units : by the name of a covariate, its values (units,).
    """
    if not encoder.covariates:
        return None
    # Residuals are exchangeable if the outcome is a number plus noise.
    if not outcome.residuals_are_exchangeable:
        raise InputError(
            f"adjusting for {listed(encoder.names)} needs residuals that can be exchanged, which "
            f"{outcome.noun} do not have; cut it into few categories of at least "
            f"{MIN_MEAN_BLOCK_SIZE} rows each, within which rows are exchanged."
        )
    n_units = len(next(iter(values_of_units.values())))
    return encoder.transform(values_of_units, n_units)


def _residual_scores(unit_scores: Floats, block_of_unit: Ints, unit_terms: Floats | None) -> Floats:
    """Residuals of the scores on blocks and covariates, as orthonormal columns: (units, q).

    Parameters
    ----------
    unit_scores : (units, columns) the numbers that stand for the outcome.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    unit_terms : (units, terms) covariates as numbers; None without any.
    """
    # Each row less the mean of its block.
    residuals = unit_scores - block_means(unit_scores, block_of_unit)
    if unit_terms is not None:
        # An orthonormal basis of the covariates, which are centred within blocks, too.
        basis = residual_basis(unit_terms, block_of_unit)  # (units, dimensions)
        residuals = residuals - basis @ (basis.T @ residuals)
    # Up to rounding, blocks and covariates may explain the scores completely.
    largest_residual = np.abs(residuals).max()
    largest_score = np.abs(unit_scores).max()
    if largest_residual <= MIN_SHARE_LEFT * largest_score:
        raise InputError(
            "the outcome is constant within every block (or given the covariates), so that nothing "
            "can be exchanged; use larger blocks, or fewer covariates."
        )
    return orthonormal_columns(residuals)


def _log_permutations(unit_scores: Floats, block_of_unit: Ints) -> float:
    """ln of how many different outcomes the permutations within blocks give.

    n!/Π m! in a block of n units, m the numbers of units with equal scores.
    """
    total = 0.0
    for block in range(block_of_unit.max() + 1):
        scores = np.round(unit_scores[block_of_unit == block], 12)
        multiplicities = np.unique(scores, axis=0, return_counts=True)[1]
        total += lgamma(len(scores) + 1)
        total -= sum(lgamma(multiplicity + 1) for multiplicity in multiplicities)
    return total


def exchange_in_words(outcome: Outcome, design: ScoreDesign, declared: DeclaredRoles) -> str:
    """What is permuted under the null: `the values of 60 samples, permuted within 4 blocks`.

    With groups it is `the values of 12 groups, whose rows keep one, permuted`: all rows of a group
    keep one value in common.

    Parameters
    ----------
    outcome : its noun says what is permuted, such as `values` or `classes`.
    design : how units are permuted: within blocks, and perhaps residuals on covariates.
    declared : whether the user declared groups and pairs.
    """
    if declared.groups is None:
        units = plural(design.n_units, "sample")
    else:
        units = f"{plural(design.n_units, 'group')}, whose rows keep one"
    permuted_values = f"the {outcome.noun} of {units}"
    if design.covariate_terms is not None:
        # Residuals of a regression on the covariates.
        covariates = listed(design.covariate_names)
        permuted_values = f"what is left of {permuted_values} given {covariates}"
    words = f"{permuted_values}, permuted"
    if design.n_blocks > 1:
        places = "pairs" if declared.pairs is not None else "blocks"
        words += f" within {design.n_blocks} {places}"
    return words
