"""New samples as a rule takes them: read, matched by name, without gaps, in the rule's units."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats
from chanceline.cohort.new_columns import (
    ColumnFinder,
    transformed_features,
    untransformed_features,
)
from chanceline.cohort.units import moved_columns, units_findings
from chanceline.errors import InputError
from chanceline.prediction.covariates import CovariateEncoder, category_names
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import read_source, source_name
from chanceline.tables.recipe import TableRecipe
from chanceline.tables.roles import STEM_PREFIX, Role, find_role
from chanceline.tables.second_file import attach_second_file
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import plural, quoted

# Said instead of a column: rows do not belong together here.
NO_COLUMN = "none"


@dataclass(frozen=True, eq=False)
class NewTable:
    """A table of new samples as it was read.

    Attributes
    ----------
    raw : the cells of the table.
    source : what it is called.
    roles : how blocks, groups and pairs are declared, by role: as for the table tested, unless the
        user said something else.
    settings : how it was read.
    findings : what reading it found.
    """

    raw: RawTable
    source: str
    roles: Mapping[str, str]
    settings: TableSettings
    findings: tuple[Finding, ...]

    def has_role(self, role: Role) -> bool:
        """Whether the column that was declared as this role is there."""
        if role not in self.roles:
            return False
        name = self.roles[role]
        if name in self.raw.column_names:
            return True
        while name.startswith(STEM_PREFIX):
            name = name.removeprefix(STEM_PREFIX).strip()
        return self.raw.column(name) is not None

    def role_values(self, role: Role) -> NDArray[np.str_]:
        """The names in the column of a role, (samples,); a column that is not there is an error."""
        declared: dict[str, Any] = {role.value: self.roles[role]}
        settings = replace(self.settings, **declared)
        column = find_role(self.raw, role, settings)
        assert column is not None  # the settings name one
        return category_names(column.to_numpy())

    def with_rows(self, is_kept: Bools) -> NewTable:
        """The table with only the rows that are marked, (samples,)."""
        return replace(self, raw=self.raw.with_rows(is_kept))


@dataclass(frozen=True, eq=False)
class NewSamples:
    """The samples that a rule can be applied to.

    Attributes
    ----------
    columns : the features of the rule in its units, (samples, features).
    covariates : by name, one value for each sample.
    blocks : the block or pair of every sample; None where there is none.
    is_complete : which rows of the table they are, (rows,); the others have gaps.
    findings : what is worth knowing, other units first.
    """

    columns: Floats
    covariates: dict[str, NDArray[Any]]
    blocks: NDArray[np.str_] | None
    is_complete: Bools
    findings: tuple[Finding, ...]


def read_new_table(
    data: Any, label: str | None, inputs: RuleInputs, settings: TableSettings
) -> NewTable:
    """Read a table of new samples, and what a second file says about them.

    Parameters
    ----------
    data : the path of a file, or a table in memory.
    label : the column of the classes; None if it is not needed.
    inputs : what the rules need to know of a table's columns.
    settings : how to read the file; also names the columns of blocks, groups and pairs, if they
        have other names than in the table tested.
    """
    # Texts that meant a gap (`na`) in the table tested mean one here, too.
    gap_texts = (*settings.na, *inputs.recipe.na)
    settings = replace(settings, na=gap_texts)
    raw = read_source(data, label, settings)
    findings = list(raw.findings)
    # A second file (`labels`) may hold further columns about the samples.
    if settings.labels is not None:
        second_file = Path(settings.labels)
        raw, second_file_findings = attach_second_file(raw, second_file, settings)
        findings += second_file_findings
    return NewTable(
        raw=raw,
        source=source_name(data),
        roles=_roles_in_force(inputs.recipe.roles, settings),
        settings=settings,
        findings=tuple(findings),
    )


def _roles_in_force(of_test: Mapping[str, str], settings: TableSettings) -> dict[str, str]:
    """How blocks, groups and pairs are declared, by role; `NO_COLUMN` takes a role away.

    Parameters
    ----------
    of_test : as for the table tested.
    settings : of the new table, which come first.
    """
    roles = {}
    for role in Role:
        column = getattr(settings, role) or of_test.get(role, NO_COLUMN)
        if column != NO_COLUMN:
            roles[role.value] = column
    return roles


class FixedRule(Protocol):
    """What a rule needs of new samples: features, covariates and blocks."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of its features."""

    @property
    def encoder(self) -> CovariateEncoder:
        """How covariates become terms."""

    @property
    def block_names(self) -> Collection[str]:
        """The blocks that it knows; empty if it has none."""

    @property
    def block_noun(self) -> str:
        """What it has of its own for every block."""


def new_samples(table: NewTable, rule: FixedRule, inputs: RuleInputs) -> NewSamples:
    """Turn the complete rows of a table into samples that a rule can be applied to.

    There are two sets of features. Those of the rule are what it adds up. Those of the recipe, from
    which they are made, are the same, in the same order, unless the transform looks at whole rows
    (as counts per million do): then they are all features of the table that the rule was made from.

    Parameters
    ----------
    table : the new samples; rows with a gap in what the rule needs are left out.
    rule : knows which features, covariates and blocks it needs.
    inputs : how cells became numbers in the table that the rule was made from (`recipe`), and the
        ranges of its numbers.
    """
    # The columns of the table that the recipe and the covariates need.
    recipe = inputs.recipe.for_features(rule.features)
    columns = _columns_of_recipe(table, recipe, rule.encoder.names)
    covariates = {name: columns[name] for name in rule.encoder.names}

    # Make the features of the recipe, and keep the complete rows: the samples.
    features_with_gaps = untransformed_features(columns, recipe, n_rows=len(table.raw.values))
    is_complete = _complete_rows(features_with_gaps, covariates, table.source)  # (rows,)
    untransformed = features_with_gaps[is_complete]  # (samples, features of the recipe)
    sample_covariates = {
        name: column.to_numpy()[is_complete] for name, column in covariates.items()
    }

    # Transform them, and select the features of the rule.
    transformed = transformed_features(untransformed, recipe, inputs.ranked_values)
    rule_positions = recipe.column_numbers(rule.features)  # among the features of the recipe
    rule_columns = np.ascontiguousarray(transformed[:, rule_positions])  # (samples, rule features)

    # Numbers that lie far from the ranges of the first table may have other units. They are
    # compared in the form in which the ranges were taken: after a transform that looks at whole
    # rows, and before any other. In the second case the features of the recipe are those of the
    # rule, so that `rule.features` names the columns of either array.
    compared_numbers = untransformed
    if recipe.looks_at_rows:
        compared_numbers = rule_columns
    unit_findings = _warn_of_other_units(compared_numbers, rule.features, inputs)
    gap_findings = _warn_of_gaps(is_complete, columns)
    blocks, block_findings = _blocks_of_samples(table, rule, is_complete)
    return NewSamples(
        columns=rule_columns,
        covariates=sample_covariates,
        blocks=blocks,
        is_complete=is_complete,
        findings=(*unit_findings, *gap_findings, *block_findings),
    )


def _columns_of_recipe(
    table: NewTable, recipe: TableRecipe, covariates: Sequence[str]
) -> dict[str, pd.Series]:
    """The columns of the file that a recipe and covariates need, by name, each once.

    Parameters
    ----------
    table : new samples.
    recipe : how columns become features.
    covariates : their names.
    """
    sources = [column.source for column in recipe.columns]
    needed = list(dict.fromkeys([*sources, *covariates]))
    with_needed = table.raw.in_memory(set(needed))
    return ColumnFinder(with_needed).find_all(needed, table.source)


def _complete_rows(features: Floats, covariates: Mapping[str, pd.Series], source: str) -> Bools:
    """Which rows have all that the rule needs, (rows,); at least one must.

    Parameters
    ----------
    features : NaN in gaps, (rows, features).
    covariates : the columns of the covariates, by name.
    source : what the sentence calls the table.
    """
    is_complete = np.all(np.isfinite(features), axis=1)
    for column in covariates.values():
        is_complete = is_complete & column.notna().to_numpy(dtype=bool)
    if not is_complete.any():
        raise InputError(
            f"every row of {source} has a gap in a column that the rule needs; fill them in."
        )
    return is_complete


def _warn_of_other_units(
    compared: Floats, names: Sequence[str], inputs: RuleInputs
) -> list[Finding]:
    """A warning of features that seem to have other units; see `units`."""
    if not names:
        return []
    return units_findings(moved_columns(compared, names, inputs.ranges), len(names))


def _warn_of_gaps(is_complete: Bools, columns: Mapping[str, pd.Series]) -> list[Finding]:
    """A warning of rows that are left out because of gaps, with columns that have some."""
    n_left_out = int(np.count_nonzero(~is_complete))
    if n_left_out == 0:
        return []
    with_gaps = [name for name, column in columns.items() if column.isna().any()]
    where = f" ({quoted(with_gaps)})" if with_gaps else ""
    rows = plural(n_left_out, "row")
    return [Finding.warning(f"{rows} left out because of gaps in what the rule needs{where}.")]


def _blocks_of_samples(
    table: NewTable, rule: FixedRule, is_complete: Bools
) -> tuple[NDArray[np.str_] | None, list[Finding]]:
    """Find the block (a site, say) or pair of every sample, if the rule has blocks.

    Parameters
    ----------
    table : the new samples.
    rule : knows the names of the blocks of the table tested.
    is_complete : which rows of the table are samples, (rows,).

    Returns
    -------
    blocks : the name of every sample's block, (samples,); None if the rule has no blocks, or the
        table does not tell them
    findings : a warning if the table does not tell blocks; a note if some blocks are new
    """
    if not rule.block_names:
        return None, []

    # Pairs are blocks of two samples.
    role = Role.BLOCKS
    if Role.PAIRS in table.roles:
        role = Role.PAIRS
    if not table.has_role(role):
        return None, [_warning_of_absent_blocks(table, rule, role)]

    blocks = table.role_values(role)[is_complete]
    names_here = set(blocks.tolist())
    new_names = names_here - set(rule.block_names)
    if not new_names:
        return blocks, []
    noun = role.removesuffix("s")  # block or pair
    note = (
        f"{len(new_names)} of {plural(len(names_here), noun)} "
        "not in the table tested: their samples are measured from their own mean (a single sample "
        "from the average)."
    )
    return blocks, [Finding.note(note)]


def _warning_of_absent_blocks(table: NewTable, rule: FixedRule, role: Role) -> Finding:
    """The warning that the table does not tell the blocks or pairs that the rule knows."""
    column = table.roles.get(role, "")
    called = f" (column {column!r})" if column else ""
    return Finding.warning(
        f"the rule has {rule.block_noun} for every one of its {role}{called}, which "
        f"{table.source} does not tell; that of the average one is used."
    )
