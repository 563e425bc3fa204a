"""The shapes in which labels or features may depend on covariates: lines, steps, curves, products.

A term is a factor of one covariate, or the product of factors of two. A factor is a function of one
covariate. The factors of a numeric covariate are

* the line: its normal score (the normal quantile of its rank);
* curves: cos(π k u) for the orders k = 1, 2, …, where u ∈ [0, 1] is the rescaled normal score; so
  neither the covariate's unit of measurement nor its skewness matters;
* steps: 1 above a cut and 0 below.

The factors of a category are the indicators of its levels. `term_choice` finds out which terms a
model needs.
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

# The largest number of cuts of a numeric covariate; they lie at equally spaced quantiles.
MAX_CUTS = 60
# A cut needs at least so many units on either side; a level as many inside and outside.
MIN_UNITS_ON_A_SIDE = 4
# Curves have orders 1, 2, … up to this one.
MAX_CURVE_ORDER = 12
# Factors that take part in products: curves of these orders, and steps at these quantiles of the
# steps.
CURVE_ORDERS_IN_PRODUCTS = (2, 3)
STEP_QUANTILES_IN_PRODUCTS = (0.25, 0.5, 0.75)
# With more numeric covariates than this, only their lines take part in products, because there
# would be too many otherwise.
MAX_NUMBERS_WITH_ALL_PRODUCTS = 12
# Normal scores are clipped here, so that a few extreme ranks do not take up half of a curve.
MAX_NORMAL_SCORE = 2.5


class FactorShape(StrEnum):
    """The function of its covariate that a factor is."""

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
    shape : the kind of function.
    values : (units,) centred.
    order : for a curve, the number k of half periods over the range of the covariate; 0 for other
        shapes.
    cut : for a step, the value above which it is 1; None for other shapes.
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
    terms : of one covariate, then products of two.
    factors : all factors of every covariate, by its name. Only a few of the steps and curves take
        part in products.
    """

    terms: tuple[Term, ...]
    factors: Mapping[str, tuple[Factor, ...]]

    @cached_property
    def values(self) -> Floats:
        """The values of all terms: (units, terms)."""
        return np.column_stack([term.values for term in self.terms])


def make_library(encoder: CovariateEncoder, columns: Mapping[str, NDArray[Any]]) -> TermLibrary:
    """All terms that a model of labels or features may take up.

    A factor is a function of one covariate: a line, curves and steps of a numeric one, indicators
    of the levels of a category. A term is one factor of a numeric covariate, or the product of
    factors of two covariates. A single factor of a category is not a term here, because its levels
    are in the model already.

    Parameters
    ----------
    encoder : the covariates, each a number or a `Category`.
    columns : covariates by name, each with one value for each unit (sample or group).
    """
    # With many numeric covariates only their lines are multiplied.
    n_numeric = sum(not isinstance(covariate, Category) for covariate in encoder.covariates)
    only_lines_in_products = n_numeric > MAX_NUMBERS_WITH_ALL_PRODUCTS

    # For every covariate: all factors, the factors that take part in products, and the terms of one
    # factor.
    factors_by_name: dict[str, tuple[Factor, ...]] = {}
    factors_for_products: list[list[Factor]] = []  # one list for each covariate
    single_terms: list[Term] = []
    for covariate in encoder.covariates:
        name = covariate.name
        values = columns[name]
        if isinstance(covariate, Category):
            level_factors = _level_factors(covariate, values)
            factors_by_name[name] = tuple(level_factors)
            factors_for_products.append(level_factors)
            continue

        factors = _factors_of_number(name, real_numbers(values, name))
        factors_by_name[name] = factors.all
        single_terms += [Term((factor,)) for factor in factors.all]
        if only_lines_in_products:
            factors_for_products.append([factors.line])
        else:
            factors_for_products.append(factors.for_products())

    # For every pair of covariates, each factor of the one times each factor of the other.
    products: list[Term] = []
    for first_factors, second_factors in combinations(factors_for_products, 2):
        pairs_of_factors = product(first_factors, second_factors)
        products += [Term(pair) for pair in pairs_of_factors]
    return TermLibrary((*single_terms, *products), factors_by_name)


class NumberFactors(NamedTuple):
    """The factors of one numeric covariate.

    line : its normal score.
    curves : cosines of the orders 1, 2, …, in this order.
    steps : from the lowest cut to the highest.
    """

    line: Factor
    curves: tuple[Factor, ...]
    steps: tuple[Factor, ...]

    @property
    def all(self) -> tuple[Factor, ...]:
        """All factors: the line, the curves and the steps."""
        return (self.line, *self.curves, *self.steps)

    def for_products(self) -> list[Factor]:
        """The factors that are multiplied with factors of another covariate.

        These are the line, curves of some orders, and three of the steps, evenly spread.
        """
        factors = [self.line]
        factors += [self.curves[order - 1] for order in CURVE_ORDERS_IN_PRODUCTS]  # orders from 1
        if self.steps:
            positions = np.quantile(np.arange(len(self.steps)), STEP_QUANTILES_IN_PRODUCTS)
            factors += [self.steps[index] for index in np.unique(positions.astype(int))]
        return factors


def _factors_of_number(name: str, numbers: Floats) -> NumberFactors:
    """The factors of a numeric covariate with these values: (units,)."""
    return NumberFactors(
        line=_line_factor(name, numbers),
        curves=_curve_factors(name, numbers),
        steps=_step_factors(name, numbers),
    )


def normal_scores(numbers: Floats) -> Floats:
    """The normal quantiles of the ranks, clipped at ±`MAX_NORMAL_SCORE`: (units,)."""
    shares = (rankdata(numbers) - 0.5) / len(numbers)
    return np.clip(ndtri(shares), -MAX_NORMAL_SCORE, MAX_NORMAL_SCORE)


def _line_factor(name: str, numbers: Floats) -> Factor:
    """The normal score of a number."""
    return Factor(name, FactorShape.LINE, _centred(normal_scores(numbers)))


def _curve_factors(name: str, numbers: Floats) -> tuple[Factor, ...]:
    """cos(π k u) for the orders k = 1, 2, …, where u is the normal score rescaled to [0, 1]."""
    scores = normal_scores(numbers)
    position = (scores - scores.min()) / np.ptp(scores)  # u
    factors = []
    for order in range(1, MAX_CURVE_ORDER + 1):
        values = _centred(np.cos(np.pi * order * position))
        factors.append(Factor(name, FactorShape.CURVE, values, order=order))
    return tuple(factors)


def _step_factors(name: str, numbers: Floats) -> tuple[Factor, ...]:
    """Indicators that a number is above a cut, for up to `MAX_CUTS` cuts at spread-out quantiles.

    A quantile is taken as a value that occurs (the lower neighbour), so that tied numbers give the
    same cut only once. Cuts with too few units on one side are left out.

    Parameters
    ----------
    name : of the covariate.
    numbers : (units,) its values.

    Returns
    -------
    The factors from the lowest cut to the highest, their values centred.
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
    """Indicators of the levels with enough units, centred.

    The first level is left out: it is the reference, as in dummy coding.
    """
    codes = category.codes(values)  # (units,) 0 for the first level
    factors = []
    for code in range(1, len(category.levels)):
        in_level = codes == code
        if _has_both_sides(in_level):
            indicator = _centred(in_level.astype(float))
            factors.append(Factor(category.name, FactorShape.LEVEL, indicator))
    return factors


def _has_both_sides(is_inside: NDArray[np.bool_]) -> bool:
    """Whether at least `MIN_UNITS_ON_A_SIDE` units are inside, and as many outside."""
    n_inside = np.count_nonzero(is_inside)
    n_outside = len(is_inside) - n_inside
    return bool(min(n_inside, n_outside) >= MIN_UNITS_ON_A_SIDE)


def _centred(values: Floats) -> Floats:
    """The values less their mean."""
    return values - values.mean()
