"""Whether the columns of new samples look as if they were measured in other units.

A column is named if the middle halves of its values, here and in the table tested, do not overlap,
and the medians differ by a factor of at least `MIN_FACTOR` (or have different signs). Of few new
samples the halves say little: then all their values must lie far outside what was tested, farther
than that ranges itself. Of a rule on many features some columns move by chance, and a warning needs
a tenth of them. Kilograms and pounds, inches and centimetres, mmol/l and mg/dl, logarithms and
numbers differ so; samples of one population hardly ever do (`benchmarks/confirm.py` counts it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats
from chanceline.significance.rule_inputs import ColumnRange, ranges_of
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural

# Natural logarithms and those to base 2 differ by 1.44.
MIN_FACTOR = 1.4
# With fewer new samples their quartiles are not taken for those of a population.
MIN_SAMPLES_FOR_QUARTILES = 8
# A rule on more features has many; that share of their columns must have moved.
MANY_FEATURES = 100
MIN_SHARE_OF_MANY = 0.1
MAX_COLUMNS_NAMED = 4


@dataclass(frozen=True)
class MovedColumn:
    """A column whose values lie elsewhere than in the table tested.

    Attributes
    ----------
    name : of the feature.
    tested_median, new_median : the medians in the table tested, and of the new samples.
    """

    name: str
    tested_median: float
    new_median: float

    @property
    def factor(self) -> float | None:
        """By what the median was multiplied; None where a factor says nothing."""
        if self.tested_median * self.new_median <= 0:
            return None
        return self.new_median / self.tested_median

    def in_words(self) -> str:
        """`'glucose' (median 5.4 here, 97 in the table tested: a factor of 0.056)`."""
        medians = f"median {self.new_median:.3g} here, {self.tested_median:.3g} in the table tested"
        if self.factor is None:
            return f"{self.name!r} ({medians})"
        return f"{self.name!r} ({medians}: a factor of {self.factor:.2g})"


def moved_columns(
    values: Floats, names: Sequence[str], tested_ranges: Mapping[str, ColumnRange]
) -> list[MovedColumn]:
    """The columns of new samples that look as if they were measured in other units.

    Such a column lies apart from its values in the table that was tested, and its median differs
    from the median there by a large factor, or in sign.

    Parameters
    ----------
    values : the features of the new samples, (samples, features), without gaps.
    names : the names of the features.
    tested_ranges : minimum, quartiles and maximum of each feature in the table that was tested, by
        the feature's name.
    """
    # Compare the middle halves of the values (from quartile to quartile); or all values, if there
    # are too few for quartiles.
    has_enough_for_quartiles = len(values) >= MIN_SAMPLES_FOR_QUARTILES
    suspect_columns = []
    for name, new_range in zip(names, ranges_of(values), strict=True):
        tested_range = tested_ranges[name]
        if has_enough_for_quartiles:
            is_apart = _halves_apart(new_range, tested_range)
        else:
            is_apart = _far_outside(new_range, tested_range)
        column = MovedColumn(name, tested_median=tested_range.median, new_median=new_range.median)
        if is_apart and _median_has_jumped(column):
            suspect_columns.append(column)
    return suspect_columns


def _halves_apart(new: ColumnRange, tested: ColumnRange) -> bool:
    """Whether the middle halves of two columns do not overlap."""
    is_above = new.lower_quartile > tested.upper_quartile
    is_below = new.upper_quartile < tested.lower_quartile
    return is_above or is_below


def _far_outside(new: ColumnRange, tested: ColumnRange) -> bool:
    """Whether all new values lie far above, or all far below, the values of the table tested.

    Far means farther away than the range of those values is long.
    """
    length = tested.maximum - tested.minimum
    return new.minimum > tested.maximum + length or new.maximum < tested.minimum - length


def _median_has_jumped(column: MovedColumn) -> bool:
    """Whether the median was multiplied by much, or has another sign."""
    if column.factor is None:
        return True
    return bool(abs(np.log(column.factor)) >= np.log(MIN_FACTOR))


def units_findings(suspect_columns: Sequence[MovedColumn], n_features: int) -> list[Finding]:
    """A warning that names the columns that seem to have other units, as a list of one or none.

    If a rule has many features, a few columns lie elsewhere by chance, and there is no warning.

    Parameters
    ----------
    suspect_columns : the columns that seem to have other units.
    n_features : how many columns were compared.
    """
    if not suspect_columns:
        return []
    if n_features > MANY_FEATURES and len(suspect_columns) < MIN_SHARE_OF_MANY * n_features:
        return []
    columns_in_words = "; ".join(
        column.in_words() for column in suspect_columns[:MAX_COLUMNS_NAMED]
    )
    if len(suspect_columns) > MAX_COLUMNS_NAMED:
        columns_in_words += "; …"
    verb = "looks" if len(suspect_columns) == 1 else "look"
    features = plural(n_features, "feature")
    return [
        Finding.warning(
            f"{len(suspect_columns)} of {features} {verb} as if measured in other units: "
            f"{columns_in_words}. Scores, classes and probabilities mean nothing if so; convert "
            "the column first."
        )
    ]
