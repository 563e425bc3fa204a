"""Covariates as columns of numbers: how each of them enters a rule or a model of the labels.

An encoder is made once from the covariates of the training samples and keeps what it learnt of them
(levels, means, spreads), so that new samples are encoded in the same way, from what a user has.

* A `Category` (text) has an indicator for every level but the first.
* A `Number` enters as it is.
* A `Curve` (a number that is adjusted for) has a linear and a quadratic term of its value in
  standard deviations, pulled in at `REACH` of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._results import listed
from chanceline.errors import InputError, shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Values = NDArray[Any]

# Numbers with so few values are categories where they are adjusted for.
FEW_VALUES = 5
# Categories have so many samples on average, at least.
FEWEST_IN_LEVEL = 8
# Numbers are pulled in at so many standard deviations: one outlier must not make the square.
REACH = 3.0
# Levels that a sentence lists.
MOST_LISTED = 8
MISSING = "has missing or infinite values; fill them in or leave those rows out."


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
        """The place of every value among the levels, of shape (samples,)."""
        places = {level: place for place, level in enumerate(self.levels)}
        names = texts(without_missing(values, self.name)).tolist()
        codes = np.array([places.get(name, -1) for name in names], dtype=np.int64)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            row = int(unknown[0])
            raise InputError(
                f"covariate {self.name!r} has the category {names[row]!r} in row {row + 1}, "
                "which the training samples did not have; they had "
                f"{listed(self.levels, MOST_LISTED)}."
            )
        return codes

    def transform(self, values: Values) -> Floats:
        """Samples × terms."""
        later_levels = np.arange(1, len(self.levels))
        return (self.codes(values)[:, None] == later_levels).astype(float)


@dataclass(frozen=True)
class Number:
    """A number as it is, in its own units."""

    name: str

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column means."""
        return (self.name,)

    def transform(self, values: Values) -> Floats:
        """Samples × 1."""
        return real_numbers(values, self.name)[:, None]


@dataclass(frozen=True)
class Curve:
    """z and z², z = (value − mean)/spread, pulled in at ±reach."""

    name: str
    mean: float
    spread: float
    reach: float = REACH

    @property
    def terms(self) -> tuple[str, ...]:
        """What each column means."""
        return (f"z({self.name})", f"z({self.name})²")

    def transform(self, values: Values) -> Floats:
        """Samples × 2."""
        z = (real_numbers(values, self.name) - self.mean) / self.spread
        z = np.clip(z, -self.reach, self.reach)
        return np.column_stack([z, z**2])


Covariate = Category | Number | Curve


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
        return tuple(term for covariate in self.covariates for term in covariate.terms)

    def transform(self, values: Any, n_samples: int) -> Floats:
        """Samples × terms.

        Parameters
        ----------
        values : a DataFrame or a mapping with the covariates by name, or an array in their order;
            text as text, and numbers in the units in which they were learnt.
        n_samples : how many samples there must be.
        """
        columns = read_columns(values, n_samples, self.names)
        missing = [name for name in self.names if name not in columns]
        if missing:
            raise InputError(
                f"the rule was made with the covariate {missing[0]!r}, which is not among the "
                f"columns given; add it to X, or give covariates= with {', '.join(self.names)}."
            )
        parts = [covariate.transform(columns[covariate.name]) for covariate in self.covariates]
        return np.hstack([np.zeros((n_samples, 0)), *parts])


def make_encoder(columns: Mapping[str, Values], *, adjusting: bool = False) -> CovariateEncoder:
    """Learn from the training samples' covariates how to encode them.

    Parameters
    ----------
    columns : one value for each sample, by the name of the covariate.
    adjusting : numbers with few values are categories and other numbers curves, because what
        explains the labels need not be a line.
    """
    learnt = [_learn(name, values, adjusting) for name, values in columns.items()]
    return CovariateEncoder(tuple(learnt))


def _learn(name: str, given: Values, adjusting: bool) -> Covariate:
    """How one covariate is encoded."""
    values = without_missing(given, name)
    different = np.unique(values)
    if adjusting and len(different) < 2:
        why = "has one value only, so there is nothing to adjust for; leave it out"
        raise InputError(f"covariate {name!r} {why}.")
    is_number = values.dtype.kind in "iuf"
    if is_number and not adjusting:
        return Number(name)
    if is_number and len(different) > FEW_VALUES:
        numbers = real_numbers(values, name)
        return Curve(name, float(numbers.mean()), float(numbers.std()))
    if len(different) > max(FEW_VALUES, len(values) / FEWEST_IN_LEVEL):
        raise InputError(
            f"covariate {name!r} has {len(different)} different values for {len(values)} samples, "
            "too many for categories; join rare ones, or write numbers."
        )
    # Text that differs by blanks only is one level.
    return Category(name, tuple(dict.fromkeys(texts(different).tolist())))


def read_columns(
    values: Any,
    n_samples: int,
    names: Sequence[str] | None = None,
) -> dict[str, Values]:
    """The columns of a DataFrame, a mapping or an array, by name.

    Parameters
    ----------
    values : what a user gave.
    n_samples : how many values each column must have.
    names : of the columns wanted, which those of an array have in this order; by default all are
        wanted, and those of an array are called "covariate 0", "covariate 1", …
    """
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
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
    """The columns of an array (samples × covariates, or the samples of one), by name."""
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise InputError(f"covariates must have samples as rows, but have shape {table.shape}.")
    if names is None:
        names = [f"covariate {place}" for place in range(table.shape[1])]
    if table.shape[1] != len(names):
        raise InputError(
            f"covariates have {table.shape[1]} columns where {len(names)} are needed; give "
            f"{', '.join(names)} in this order, or by name in a DataFrame."
        )
    return {name: table[:, place] for place, name in enumerate(names)}


def without_missing(values: Values, name: str, role: str = "covariate") -> Values:
    """The values, objects as what they are (numbers, or text); none may be missing."""
    if pd.isna(values).any():
        raise InputError(f"{role} {name!r} {MISSING}")
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    return values


def real_numbers(values: Values, name: str, role: str = "covariate") -> Floats:
    """The values as finite numbers; text that spells a number will do."""
    filled = without_missing(values, name, role)
    try:
        numbers = filled.astype(float)
    except (TypeError, ValueError):
        row = next(row for row, value in enumerate(filled.tolist()) if not _is_number(value))
        found = f"{shown(filled.tolist()[row])} in row {row + 1}"
        raise InputError(f"{role} {name!r} must hold numbers, but has {found}.") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{role} {name!r} {MISSING}")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def texts(values: ArrayLike) -> NDArray[np.str_]:
    """Names of categories, of shape (samples,): `1` for 1 and 1.0, text without blanks around."""
    return np.array([as_text(value) for value in np.asarray(values).tolist()], dtype=str)


def as_text(value: Any) -> str:
    """One spelling for a category, whether its number was read as 1 or as 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
