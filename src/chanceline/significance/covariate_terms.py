"""The shapes in which labels or features may depend on covariates: steps, curves and products.

A term is a factor of one covariate, or the product of factors of two. The factors of a number are

* steps: 1 above a cut and 0 below;
* curves: cos(π k u), k = 1, 2, …, where u ∈ [0, 1] runs with the number's normal score, so that it
  does not matter in which units the number comes, nor whether it is skewed;
* the line: the normal score itself.

Those of a category are the indicators of its levels. Which terms a model needs, `term_choice` finds
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from chanceline._arrays import Floats
from chanceline.prediction.covariates import Category, CovariateEncoder, real_numbers

# Cuts of a number, at most; they lie at equally spaced quantiles.
MAX_CUTS = 60
# Units on either side of a cut, and of a level, at least.
MIN_UNITS_ON_A_SIDE = 4
# Curves have orders 1, 2, … up to this one.
MAX_CURVE_ORDER = 12
# In products: curves of these orders, and steps at these quantiles.
CURVE_ORDERS_IN_PRODUCTS = (2, 3)
STEP_QUANTILES_IN_PRODUCTS = (0.25, 0.5, 0.75)
# With more numbers than this only their lines are multiplied: there would be too many products.
MAX_NUMBERS_WITH_ALL_PRODUCTS = 12
# Normal scores are pulled in here, so that few extreme ranks do not span half of a curve.
MAX_NORMAL_SCORE = 2.5


class FactorShape(StrEnum):
    """How a factor runs with its covariate."""

    LINE = "line"
    CURVE = "curve"
    STEP = "step"
    LEVEL = "level"


@dataclass(frozen=True, eq=False)
class Factor:
    """A function of one covariate.

    Attributes
    ----------
    covariate : its name.
    shape : of the function.
    values : (units,) centred.
    order : of a curve, 1 for the slowest; 0 for other shapes.
    cut : of a step, which is up above it; None for other shapes.
    """

    covariate: str
    shape: FactorShape
    values: Floats
    order: int = 0
    cut: float | None = None


@dataclass(frozen=True, eq=False)
class Term:
    """A factor, or the product of factors of two covariates."""

    factors: tuple[Factor, ...]

    @cached_property
    def values(self) -> Floats:
        """(units,)"""
        values = np.ones(len(self.factors[0].values))
        for factor in self.factors:
            values = values * factor.values
        return values

    @property
    def covariates(self) -> tuple[str, ...]:
        """The names of its covariates."""
        return tuple(factor.covariate for factor in self.factors)


@dataclass(frozen=True, eq=False)
class TermLibrary:
    """All terms that a model may take up.

    Attributes
    ----------
    terms : of one covariate and of pairs.
    factors : all of every covariate, by its name; of many steps and curves only a few are in
        products among the terms.
    """

    terms: tuple[Term, ...]
    factors: Mapping[str, tuple[Factor, ...]]

    @cached_property
    def values(self) -> Floats:
        """The values of all terms: (units, terms)."""
        return np.column_stack([term.values for term in self.terms])


def make_library(encoder: CovariateEncoder, columns: Mapping[str, NDArray[Any]]) -> TermLibrary:
    """All terms that a model may take up: of single numbers, and products of two covariates.

    A category has no terms of its own here, because its levels are in the model already.

    Parameters
    ----------
    encoder : which covariates are categories.
    columns : one value for each unit, by the name of the covariate.
    """
    n_numbers = sum(not isinstance(covariate, Category) for covariate in encoder.covariates)
    has_all_products = n_numbers <= MAX_NUMBERS_WITH_ALL_PRODUCTS

    # The factors of every covariate, those of them that are multiplied with those of other
    # covariates, and the terms of one factor.
    factors_by_name: dict[str, tuple[Factor, ...]] = {}
    factors_for_products: list[list[Factor]] = []  # one list for each covariate
    single_terms: list[Term] = []
    for covariate in encoder.covariates:
        name = covariate.name
        values = columns[name]
        if isinstance(covariate, Category):
            levels = _level_factors(covariate, values)
            factors_by_name[name] = tuple(levels)
            factors_for_products.append(levels)
        else:
            number = _factors_of_number(name, real_numbers(values, name))
            factors_by_name[name] = number.all
            single_terms += [Term((factor,)) for factor in number.all]
            # With many numbers, there are products of the lines alone.
            for_products = number.for_products() if has_all_products else [number.line]
            factors_for_products.append(for_products)

    # Every pair of covariates: each factor of one times each factor of the other.
    products: list[Term] = []
    for first_factors, second_factors in combinations(factors_for_products, 2):
        products += [Term(pair) for pair in product(first_factors, second_factors)]
    return TermLibrary((*single_terms, *products), factors_by_name)


class NumberFactors(NamedTuple):
    """The factors of one number.

    line : its normal score.
    curves : of the orders 1, 2, …
    steps : from the lowest cut to the highest.
    """

    line: Factor
    curves: tuple[Factor, ...]
    steps: tuple[Factor, ...]

    @property
    def all(self) -> tuple[Factor, ...]:
        """All of them."""
        return (self.line, *self.curves, *self.steps)

    def for_products(self) -> list[Factor]:
        """Those that are multiplied with factors of another covariate."""
        factors = [self.line]
        factors += [self.curves[order - 1] for order in CURVE_ORDERS_IN_PRODUCTS]
        if self.steps:
            positions = np.quantile(np.arange(len(self.steps)), STEP_QUANTILES_IN_PRODUCTS)
            factors += [self.steps[index] for index in np.unique(positions.astype(int))]
        return factors


def _factors_of_number(name: str, numbers: Floats) -> NumberFactors:
    """The factors of a number, (units,)."""
    return NumberFactors(
        line=_line_factor(name, numbers),
        curves=_curve_factors(name, numbers),
        steps=_step_factors(name, numbers),
    )


def normal_scores(numbers: Floats) -> Floats:
    """The normal quantiles of the ranks, pulled in at `MAX_NORMAL_SCORE`: (units,)."""
    shares = (rankdata(numbers) - 0.5) / len(numbers)
    return np.clip(ndtri(shares), -MAX_NORMAL_SCORE, MAX_NORMAL_SCORE)


def _line_factor(name: str, numbers: Floats) -> Factor:
    """The normal score of a number."""
    return Factor(name, FactorShape.LINE, _centred(normal_scores(numbers)))


def _curve_factors(name: str, numbers: Floats) -> tuple[Factor, ...]:
    """Cosines of a number, from slow to fast."""
    scores = normal_scores(numbers)
    position = (scores - scores.min()) / np.ptp(scores)
    factors = []
    for order in range(1, MAX_CURVE_ORDER + 1):
        values = _centred(np.cos(np.pi * order * position))
        factors.append(Factor(name, FactorShape.CURVE, values, order=order))
    return tuple(factors)


def _step_factors(name: str, numbers: Floats) -> tuple[Factor, ...]:
    """Indicators that a number is above a cut, for up to `MAX_CUTS` evenly spread quantiles.

    Cuts with too few units on one side are left out.
    """
    quantiles = np.arange(1, MAX_CUTS + 1) / (MAX_CUTS + 1)
    cuts = np.unique(np.quantile(numbers, quantiles, method="lower"))
    factors = []
    for cut in cuts.tolist():
        is_above = numbers > cut
        if _has_both_sides(is_above):
            values = _centred(is_above.astype(float))
            factors.append(Factor(name, FactorShape.STEP, values, cut=cut))
    return tuple(factors)


def _level_factors(category: Category, values: NDArray[Any]) -> list[Factor]:
    """Indicators of the levels that have units enough; all but the first."""
    codes = category.codes(values)
    factors = []
    for code in range(1, len(category.levels)):
        in_level = codes == code
        if _has_both_sides(in_level):
            indicator = _centred(in_level.astype(float))
            factors.append(Factor(category.name, FactorShape.LEVEL, indicator))
    return factors


def _has_both_sides(is_inside: NDArray[np.bool_]) -> bool:
    """Whether there are units enough inside and outside."""
    n_inside = np.count_nonzero(is_inside)
    n_outside = len(is_inside) - n_inside
    return bool(min(n_inside, n_outside) >= MIN_UNITS_ON_A_SIDE)


def _centred(values: Floats) -> Floats:
    """The values less their mean."""
    return values - values.mean()
