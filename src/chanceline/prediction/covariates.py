"""Covariates as columns of numbers: how each of them enters a rule or a model of the labels.

An encoder is made once from the covariates of the training samples and keeps what it learnt of them
(levels, means, spreads), so that new samples are encoded in the same way, from what a user has.

* A `Category` (text) has an indicator for every level but the first.
* A `Number` enters as it is.
* A `QuadraticNumber` (a number that is adjusted for) has a linear and a quadratic term of its value
  in standard deviations, pulled in at `REACH` of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats, Ints
from chanceline._results import listed
from chanceline.errors import InputError, shown

# One value for each sample, of any type: (samples,)
Values = NDArray[Any]

# Numbers with no more different values are categories where they are adjusted for.
MAX_VALUES_OF_CATEGORY = 5
# Categories have so many samples on average, at least.
MIN_SAMPLES_PER_LEVEL = 8
# Numbers are pulled in at so many standard deviations: one outlier must not make the square.
REACH = 3.0
# Levels that a sentence lists.
MAX_LISTED_LEVELS = 8
# What a sentence says of cells that cannot be used.
HAS_GAPS = "has missing or infinite values; fill them in or leave those rows out."


@dataclass(frozen=True)
class Category:
    """An indicator for every level but the first.

    Attributes
    ----------
    name : of the covariate.
    levels : its values in the training samples, as text.
    """

    name: str
    levels: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column means."""
        return tuple(f"{self.name} = {level}" for level in self.levels[1:])

    def codes(self, values: Values) -> Ints:
        """The index of every value among the levels, (samples,).

        A missing value, or one that the training samples did not have, is an error.
        """
        code_of_level = {level: code for code, level in enumerate(self.levels)}
        categories = category_names(without_missing(values, self.name)).tolist()
        codes = []
        for row, category in enumerate(categories):
            if category not in code_of_level:
                levels_shown = listed(self.levels, MAX_LISTED_LEVELS)
                raise InputError(
                    f"covariate {self.name!r} has the category {category!r} in row {row + 1}, "
                    f"which the training samples did not have; they had {levels_shown}."
                )
            codes.append(code_of_level[category])
        return np.array(codes, dtype=np.int64)

    def transform(self, values: Values) -> Floats:
        """An indicator for every level but the first, (samples, levels − 1)."""
        later_codes = np.arange(1, len(self.levels))
        return (self.codes(values)[:, None] == later_codes).astype(float)


@dataclass(frozen=True)
class Number:
    """A number as it is, in its own units."""

    name: str

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column means."""
        return (self.name,)

    def transform(self, values: Values) -> Floats:
        """The number itself, (samples, 1)."""
        return real_numbers(values, self.name)[:, None]


@dataclass(frozen=True)
class QuadraticNumber:
    """z and z², z = (value − mean)/spread, pulled in at ±reach.

    Attributes
    ----------
    name : of the covariate.
    mean, spread : mean and standard deviation in the training samples.
    reach : the largest |z|.
    """

    name: str
    mean: float
    spread: float
    reach: float = REACH

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column means."""
        return (f"z({self.name})", f"z({self.name})²")

    def transform(self, values: Values) -> Floats:
        """z and z², (samples, 2)."""
        z = (real_numbers(values, self.name) - self.mean) / self.spread
        z = np.clip(z, -self.reach, self.reach)
        return np.column_stack([z, z**2])


Covariate = Category | Number | QuadraticNumber


@dataclass(frozen=True)
class CovariateEncoder:
    """How covariates become columns of numbers, as learnt from the training samples.

    Attributes
    ----------
    covariates : one entry each, in the order in which an array has them.
    """

    covariates: tuple[Covariate, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the covariates."""
        return tuple(covariate.name for covariate in self.covariates)

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column of `transform` means."""
        terms: list[str] = []
        for covariate in self.covariates:
            terms += covariate.terms
        return tuple(terms)

    def columns(self, values: Any, n_samples: int) -> dict[str, Values]:
        """The values of all covariates by name, (samples,) each; a missing one is an error.

        Parameters as in `transform`.
        """
        columns = read_columns(values, n_samples, self.names)
        missing = [name for name in self.names if name not in columns]
        if missing:
            raise InputError(
                f"the rule was made with the covariate {missing[0]!r}, which is not among the "
                f"columns given; add it to X, or give covariates= with {', '.join(self.names)}."
            )
        return columns

    def transform(self, values: Any, n_samples: int) -> Floats:
        """The terms of all covariates, (samples, terms).

        Parameters
        ----------
        values : a DataFrame or a mapping with the covariates by name, or an array in their order;
            text as text, and numbers in the units in which they were learnt.
        n_samples : how many samples there must be.
        """
        columns = self.columns(values, n_samples)
        # Begin with no columns at all, so that the shape is right even without covariates.
        terms = [np.zeros((n_samples, 0))]
        for covariate in self.covariates:
            terms.append(covariate.transform(columns[covariate.name]))
        return np.hstack(terms)


def make_encoder(columns: Mapping[str, Values], *, adjusting: bool = False) -> CovariateEncoder:
    """Learn from the training samples' covariates how to encode them.

    Parameters
    ----------
    columns : one value for each sample, by the name of the covariate.
    adjusting : numbers with few values are categories and other numbers curves, because what
        explains the labels need not be a line.
    """
    covariates = [
        _learn_covariate(name, values, adjusting=adjusting) for name, values in columns.items()
    ]
    return CovariateEncoder(tuple(covariates))


def _learn_covariate(name: str, values: Values, *, adjusting: bool) -> Covariate:
    """Decide how a covariate is encoded in a model of the labels, and learn its parameters.

    Text becomes a category, and a number enters as it is. When the labels are adjusted for the
    covariate, they may depend on a number by a curve. So a number with few different values becomes
    a category too, and any other number becomes a linear and a quadratic term.

    Parameters
    ----------
    name : of the covariate
    values : in the training samples, (samples,)
    adjusting : whether the labels are adjusted for the covariate
    """
    values = without_missing(values, name)
    n_different = len(np.unique(values))
    if adjusting and n_different < 2:
        raise InputError(
            f"covariate {name!r} has one value only, so there is nothing to adjust for; "
            "leave it out."
        )
    is_number = values.dtype.kind in "iuf"
    if is_number and not adjusting:
        return Number(name)
    if is_number and n_different > MAX_VALUES_OF_CATEGORY:
        numbers = real_numbers(values, name)
        return QuadraticNumber(name, mean=float(numbers.mean()), spread=float(numbers.std()))
    return _learn_category(name, values)


def _learn_category(name: str, values: Values) -> Category:
    """Make a category whose levels are the different values (samples,), sorted.

    It is an error if there are too few samples for so many levels.
    """
    distinct_values = np.unique(values)
    n_samples = len(values)
    most_levels = max(MAX_VALUES_OF_CATEGORY, n_samples / MIN_SAMPLES_PER_LEVEL)
    if len(distinct_values) > most_levels:
        raise InputError(
            f"covariate {name!r} has {len(distinct_values)} different values for {n_samples} "
            "samples, too many for categories; join rare ones, or write numbers."
        )
    # Values that differ by surrounding blanks have one name. A dictionary keeps each name once, in
    # the order of the values.
    levels = dict.fromkeys(category_names(distinct_values).tolist())
    return Category(name, tuple(levels))


def read_columns(
    values: Any,
    n_samples: int,
    names: Sequence[str] | None = None,
) -> dict[str, Values]:
    """The covariates that a user gave, by name: each an array (samples,).

    Parameters
    ----------
    values : a DataFrame (of pandas or polars), a mapping by name, or an array (samples, covariates)
    n_samples : how many values each covariate must have
    names : the covariates wanted; an array must have exactly these, in this order. A DataFrame or a
        mapping may have others, which are left out, or lack some, which are then missing from what
        is returned. None: all covariates are wanted, and those of an array are called "covariate
        0", "covariate 1", …
    """
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()

    # Take columns by name from a mapping or a DataFrame, and by position from an array.
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        columns = {str(name): np.asarray(values[name]) for name in values}
        if names is not None:
            columns = {name: columns[name] for name in names if name in columns}
    else:
        columns = _columns_of_array(np.asarray(values), names)

    for name, column in columns.items():
        if column.shape != (n_samples,):
            raise InputError(
                f"covariate {name!r} must hold one value for each of the {n_samples} samples, "
                f"not an array of shape {column.shape}."
            )
    return columns


def _columns_of_array(table: Values, names: Sequence[str] | None) -> dict[str, Values]:
    """The columns of an array by name, each (samples,).

    Parameters
    ----------
    table : (samples, covariates), or (samples,) for a single covariate
    names : of all columns, in their order; None: "covariate 0", "covariate 1", …
    """
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise InputError(f"covariates must have samples as rows, but have shape {table.shape}.")
    if names is None:
        names = [f"covariate {index}" for index in range(table.shape[1])]
    if table.shape[1] != len(names):
        raise InputError(
            f"covariates have {table.shape[1]} columns where {len(names)} are needed; give "
            f"{', '.join(names)} in this order, or by name in a DataFrame."
        )
    return {name: table[:, index] for index, name in enumerate(names)}


def without_missing(values: Values, name: str, role: str = "covariate") -> Values:
    """The values, none of which may be missing; objects become numbers or text.

    Parameters
    ----------
    values : (samples,)
    name, role : what a sentence calls them: covariate 'age'
    """
    if pd.isna(values).any():
        raise InputError(f"{role} {name!r} {HAS_GAPS}")
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    return values


def real_numbers(values: Values, name: str, role: str = "covariate") -> Floats:
    """The values as finite numbers, (samples,); text that spells a number is converted.

    A value that is missing, infinite or no number is an error.

    Parameters
    ----------
    values : of any type, (samples,)
    name, role : what the error calls the values: covariate 'age'
    """
    values = without_missing(values, name, role)
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        # NumPy does not say which cell it could not convert: find the first such cell.
        cells = values.tolist()
        row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
        culprit = f"{shown(cells[row])} in row {row + 1}"
        raise InputError(f"{role} {name!r} must hold numbers, but has {culprit}.") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{role} {name!r} {HAS_GAPS}")
    return numbers


def _is_number(value: Any) -> bool:
    """Whether a value is or spells a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def category_names(values: ArrayLike) -> NDArray[np.str_]:
    """Names of categories, (samples,); see `category_name`."""
    return np.array([category_name(value) for value in np.asarray(values).tolist()], dtype=str)


def category_name(value: Any) -> str:
    """`1` for 1 and 1.0, so that it does not matter how a table was read; text without blanks
    around it.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
