"""What a rule takes in: how cells become its numbers, and which numbers the table tested had.

New samples are treated by it as the samples of the table were, and compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats
from chanceline.tables.dataset import Dataset
from chanceline.tables.outcome_table import OutcomeTable
from chanceline.tables.recipe import TableRecipe, plain_recipe

# Enough that no two different rows of any table have the same digest.
DIGEST_BYTES = 8


class ColumnRange(NamedTuple):
    """Five numbers about the values of a column."""

    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What the rules of a result take in.

    Attributes
    ----------
    recipe : from the cells of a file to the numbers of the features.
    means : of the features as rules take them, by name.
    ranges : of the features, by name: before the transform; after it where that looks at rows.
    ranked_values : the values among which ranks are counted, in order, by name of the feature;
        empty unless features are ranks.
    source : the file that was tested.
    row_digests : one for each sample tested, of the features of the first rule, by which rows are
        known again that the rule was made from.
    """

    recipe: TableRecipe
    means: dict[str, float]
    ranges: dict[str, ColumnRange]
    ranked_values: dict[str, Floats]
    source: str
    row_digests: tuple[str, ...] = ()


def rule_inputs(
    data: Dataset | OutcomeTable, features: Sequence[str], of_first_rule: Sequence[str]
) -> RuleInputs:
    """Collect what must be kept of a table to apply its rules to new samples.

    This is: the recipe, which turns the cells of a file into the numbers of the table; the ranges
    of the features, to warn of unusual new values; and digests of the rows, to recognise samples
    that the rule was made from.

    Parameters
    ----------
    data : the table tested.
    features : names of the features of all rules.
    of_first_rule : names of the features of the rule to use, in its order.
    """
    # Without a recipe of its own, the table takes numbers as they are.
    recipe = data.recipe or plain_recipe(data.feature_names)
    column_of_name = {name: column for column, name in enumerate(data.feature_names)}
    columns = [column_of_name[name] for name in features]
    columns_of_first_rule = [column_of_name[name] for name in of_first_rule]
    values_for_rules = data.X[:, columns]  # (samples, features of all rules)

    # Ranges are those of the values in the file, before a transform such as a logarithm. If the
    # transform works on whole rows, such as dividing by the row's sum, they are those after it.
    values_of_file = values_for_rules
    if recipe.values_before_transform is not None and not recipe.looks_at_rows:
        values_of_file = recipe.values_before_transform[:, recipe.column_numbers(features)]

    # If features are ranks, a new value gets its rank among the sorted values of the table.
    ranked_values: dict[str, Floats] = {}
    if recipe.transform == "rank":
        sorted_columns = np.sort(values_of_file, axis=0).T  # (features, samples)
        ranked_values = dict(zip(features, sorted_columns, strict=True))

    means = values_for_rules.mean(axis=0).tolist()
    ranges = ranges_of(values_of_file)
    return RuleInputs(
        recipe=recipe.for_features(features),
        means=dict(zip(features, means, strict=True)),
        ranges=dict(zip(features, ranges, strict=True)),
        ranked_values=ranked_values,
        source=data.source,
        row_digests=digests_of_rows(data.X[:, columns_of_first_rule]),
    )


def digests_of_rows(values: Floats) -> tuple[str, ...]:
    """A short text for each row, the same for equal rows; none without columns.

    Parameters
    ----------
    values : (samples, columns).
    """
    if values.shape[1] == 0:
        return ()
    # Adding 0 makes 0 of −0.
    rows = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return tuple(blake2b(row.tobytes(), digest_size=DIGEST_BYTES).hexdigest() for row in rows)


def ranges_of(values: Floats) -> list[ColumnRange]:
    """Smallest, largest, quartiles and median of every column, from (samples, columns)."""
    quantiles = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0)
    return [ColumnRange(*column) for column in quantiles.T.tolist()]
