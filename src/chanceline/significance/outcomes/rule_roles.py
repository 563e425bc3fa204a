"""The blocks and covariates that a rule knows, as users write them: names of blocks, age in years.

Levels of a category may be blocks, too, within the blocks that were declared. So the *stratum* of a
sample, for which a rule has an intercept of its own, is the name of its block (if any were
declared) with the levels of such categories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats, Ints
from chanceline.perceptron.validation import column_names
from chanceline.prediction.columns import covariates_in
from chanceline.prediction.covariates import Category, CovariateEncoder
from chanceline.prediction.samples import names_of
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.outcomes.score_design import ScoreDesign

# The name of the block, if any were declared, then the level of every category.
Stratum = tuple[str, ...]


@dataclass(frozen=True)
class RuleRoles:
    """Columns besides the features that a rule takes.

    Attributes
    ----------
    has_blocks : whether blocks or pairs were declared.
    block_column : the column that told them, where it had a name.
    encoder : how covariates become columns of numbers.
    block_categories : names of those whose levels are blocks, within the blocks declared.
    """

    has_blocks: bool = False
    block_column: str = ""
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    block_categories: tuple[str, ...] = ()

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The covariates whose levels are blocks."""
        return tuple(
            covariate
            for covariate in self.encoder.covariates
            if isinstance(covariate, Category) and covariate.name in self.block_categories
        )

    @cached_property
    def term_encoder(self) -> CovariateEncoder:
        """How the other covariates become terms."""
        return CovariateEncoder(
            tuple(
                covariate
                for covariate in self.encoder.covariates
                if covariate.name not in self.block_categories
            )
        )

    @property
    def stratum_columns(self) -> tuple[str, ...]:
        """What tells the stratum of a sample: its block, then its categories."""
        names = [category.name for category in self.categories]
        if self.has_blocks:
            names.insert(0, self.block_column or "block")
        return tuple(names)

    def strata(
        self, blocks: NDArray[np.str_] | None, covariates: Any, n_samples: int
    ) -> list[Stratum] | None:
        """The stratum of every sample, for example `("north", "female")`.

        A stratum is the name of the sample's block, if the rule has blocks, followed by the
        sample's level of every categorical covariate that acts as a block.

        Parameters
        ----------
        blocks : (samples,) the name of every sample's block; None if blocks are not known.
        covariates : as `CovariateEncoder.transform` takes them.
        n_samples : number of samples.

        Returns
        -------
        One tuple for each sample, empty tuples if nothing divides the samples. None if the rule has
        blocks, but those of the samples are not known.
        """
        if self.has_blocks and blocks is None:
            return None
        columns = self.encoder.columns(covariates, n_samples)
        # Each part of the strata is a list with a name for every sample.
        parts: list[list[str]] = []
        if self.has_blocks and blocks is not None:
            parts.append(blocks.tolist())
        for category in self.categories:
            codes = category.codes(columns[category.name]).tolist()
            parts.append([category.levels[code] for code in codes])
        if not parts:
            return [()] * n_samples
        return list(zip(*parts, strict=True))  # a tuple for each sample

    def terms(self, covariates: Any, n_samples: int) -> Floats:
        """The covariates that are no blocks as numbers: (samples, terms).

        Parameters as in `strata`.
        """
        columns = self.encoder.columns(covariates, n_samples)
        return self.term_encoder.transform(columns, n_samples)

    def in_words(self, stratum: Stratum) -> str:
        """`site = north, sex = f`."""
        pairs = zip(self.stratum_columns, stratum, strict=True)
        return ", ".join(f"{column} = {value}" for column, value in pairs)


class NewRoles(NamedTuple):
    """Blocks and covariates of new samples.

    Attributes
    ----------
    terms : (samples, terms) covariates that are no blocks, as numbers.
    strata : of every sample; None where the blocks are not known.
    """

    terms: Floats
    strata: list[Stratum] | None


def roles_of_new_samples(
    roles: RuleRoles, table: Any, blocks: ArrayLike | None = None, covariates: Any = None
) -> NewRoles:
    """Get blocks and covariates of new samples: from the arguments, else from columns of the table.

    A rule can use them beside the features; they are called the roles of columns.

    Parameters
    ----------
    roles : which blocks and covariates the rule uses, and the names of their columns.
    table : the new samples, a DataFrame or an array.
    blocks : (samples,) the block of each sample; None looks for the rule's block column in the
        table. If that is missing too, blocks are not known.
    covariates : as `CovariateEncoder.transform` takes them; None takes columns of the table.

    Returns
    -------
    `terms`, (samples, terms): the covariates as columns of numbers. `strata`: for every sample its
    stratum, the name of its block and its levels of the categorical covariates that act as blocks,
    for example `("north", "female")`; None if blocks are needed but not known.
    """
    n_samples = len(table)
    if covariates is None:
        covariates = covariates_in(table, roles.encoder)

    # If blocks were not given, they may be a column of the table. `block_column` is empty if the
    # rule's blocks had no name.
    names_in_table = column_names(table) or ()  # an array has no names
    table_has_blocks = bool(roles.block_column) and roles.block_column in names_in_table
    if blocks is None and table_has_blocks:
        blocks = table[roles.block_column]
    block_names = None
    if blocks is not None:
        block_names = names_of(blocks, n_samples, "blocks")
    return NewRoles(
        terms=roles.terms(covariates, n_samples),
        strata=roles.strata(block_names, covariates, n_samples),
    )


def roles_of_design(
    design: ScoreDesign, declared: DeclaredRoles, block_column: str = ""
) -> RuleRoles:
    """What a rule on the samples of a design takes besides features.

    Parameters
    ----------
    design : what is exchanged.
    declared : blocks, pairs and covariates.
    block_column : the column that told blocks or pairs, where it had a name.
    """
    return RuleRoles(
        has_blocks=declared.blocks is not None or declared.pairs is not None,
        block_column=block_column,
        encoder=design.encoder,
        block_categories=design.block_categories,
    )


def strata_of_design(
    roles: RuleRoles, declared: DeclaredRoles, block_of_sample: Ints
) -> tuple[Stratum, ...]:
    """The stratum that every block of a design is, by the block's number.

    Parameters
    ----------
    roles : of the design.
    declared : blocks, pairs and covariates.
    block_of_sample : (samples,) numbers 0, 1, … of the design's blocks.
    """
    n_samples = len(block_of_sample)
    blocks = declared.blocks if declared.pairs is None else declared.pairs
    names = None if blocks is None else names_of(blocks, n_samples, "blocks")
    strata = roles.strata(names, declared.covariates or {}, n_samples)
    assert strata is not None  # the names of declared blocks are known
    _, first_sample = np.unique(block_of_sample, return_index=True)
    return tuple(strata[sample] for sample in first_sample)
