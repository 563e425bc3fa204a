"""What covariates explain of labels and features: the choice of terms, a model of the labels on
these terms, and a check of the residuals.

Every numeric covariate has a linear and a quadratic term. Every category that is not used as a
block has an indicator of each level. Steps, curves and products are added if labels or features
depend on them (`term_choice`). The span of all terms is projected out of features and labels before
these are compared, and labels are drawn from a logistic model of the same terms
(`covariate_model`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.significance.arrays import block_sums
from chanceline.significance.covariate_model import (
    CovariateModel,
    fit_covariate_model,
    residual_basis,
)
from chanceline.significance.covariate_terms import Term, make_library
from chanceline.significance.fit_check import MissedDependence, find_missed_dependences
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.term_choice import choose_terms
from chanceline.significance.term_evidence import Responses, make_known_span

# At most this many features are used to choose and check terms, evenly spread over the table.
MAX_FEATURES_LOOKED_AT = 5_000


@dataclass(frozen=True, eq=False)
class LabelledUnits:
    """Units with one label each, and which samples belong to which unit.

    A unit is a sample, or a group of samples that always share their label.

    Attributes
    ----------
    labels : (units,) ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    sample_of_unit : (units,) one sample of each unit.
    """

    labels: Floats
    block_of_unit: Ints
    unit_of_sample: Ints
    sample_of_unit: Ints

    def one_row_per_unit(self, values_of_samples: NDArray[Any]) -> NDArray[Any]:
        """(samples, …) → (units, …): the values of one sample of each unit.

        For values that are the same in all samples of a unit.
        """
        return values_of_samples[self.sample_of_unit]

    def one_row_per_sample(self, values_of_units: NDArray[Any]) -> NDArray[Any]:
        """(units, …) → (samples, …): every sample gets the values of its unit."""
        return values_of_units[self.unit_of_sample]

    def feature_means(self, X: AnyTable) -> Floats:
        """Means of features within units, outliers clipped: (units, features used).

        Of a wide table only `MAX_FEATURES_LOOKED_AT` features are used, evenly spread.

        Parameters
        ----------
        X : (samples, features)
        """
        n_features = X.shape[1]
        n_used = min(n_features, MAX_FEATURES_LOOKED_AT)
        columns_used = np.linspace(0, n_features - 1, n_used).astype(int)
        values = clip_outliers(X[:, columns_used].astype(float))  # (samples, features used)
        every_sample_is_a_unit = len(self.labels) == len(self.unit_of_sample)
        if every_sample_is_a_unit:
            return values[self.sample_of_unit]
        sums = block_sums(values, self.unit_of_sample)  # (units, features used)
        n_samples_of_unit = np.bincount(self.unit_of_sample)
        return sums / n_samples_of_unit[:, None]


@dataclass(frozen=True, eq=False)
class Adjustment:
    """The adjustment for covariates: what they explain of labels and features.

    Attributes
    ----------
    model : logistic model of the labels given the covariates.
    basis : (samples, terms) orthonormal columns; their span is projected out of columns and labels.
    added : the terms that were added because labels or features depend on them.
    left_out : a term that is needed, but for which there are too few units; None if there is none.
    missed_dependences : where labels or features still depend on covariates after the adjustment.
    """

    model: CovariateModel
    basis: Floats
    added: tuple[Term, ...]
    left_out: Term | None
    missed_dependences: tuple[MissedDependence, ...]

    @property
    def is_complete(self) -> bool:
        """Whether no dependence on covariates was found that the model misses."""
        return self.left_out is None and not self.missed_dependences


def fit_adjustment(
    columns: Mapping[str, NDArray[Any]],
    all_covariates: CovariateEncoder,
    modelled_covariates: CovariateEncoder,
    units: LabelledUnits,
    X: AnyTable,
) -> Adjustment | None:
    """Choose terms of the covariates, fit a model of the labels on these terms, and check it.

    A term is a function of one covariate, or a product of functions of two. A unit is a sample, or
    a group of samples that share their label and their covariates. All steps but the last have one
    row for each unit:

    1. Start with the basic terms, which are always in the model.
    2. Add further terms on which labels or features depend.
    3. Check whether the residuals of labels or features still depend on a covariate.
    4. Fit the model of the labels.
    5. Make the basis that is projected out of the table's columns, one row for each sample.

    A span (`KnownSpan`) is the space of all linear combinations of terms that are centred within
    blocks. Steps 2 and 3 look for dependence outside of it.

    Parameters
    ----------
    columns : covariates by name, each with one value for each sample; the same within a unit.
    all_covariates : encodes all covariates as columns of numbers.
    modelled_covariates : encodes those covariates that do not serve as blocks (within blocks labels
        are exchanged, so that these need no model).
    units : labels, blocks and samples of the units.
    X : (samples, features) checked for dependence on the covariates.

    Returns
    -------
    The model, the basis, and what the choice and the check found; None if all basic terms are
    constant within blocks, so that there is nothing to model.
    """
    # 1. The basic terms: lines, squares and indicators of levels.
    n_samples = len(units.unit_of_sample)
    basic_terms_of_samples = modelled_covariates.transform(columns, n_samples)
    basic_terms = units.one_row_per_unit(basic_terms_of_samples)  # (units, terms)
    basic_span = make_known_span(basic_terms, units.block_of_unit)
    all_are_constant_within_blocks = basic_span.n_directions == 0
    if all_are_constant_within_blocks:
        return None

    # 2. Further terms: steps, curves and products of all covariates. Those chosen are scaled for
    # the model's penalty.
    values_of_units = {name: units.one_row_per_unit(values) for name, values in columns.items()}
    responses = Responses(labels=units.labels, features=units.feature_means(X))
    library = make_library(all_covariates, values_of_units)
    choice = choose_terms(library, basic_span, responses)
    added_terms = [_in_standard_deviations(term) for term in choice.added]
    terms = np.column_stack([basic_terms, *added_terms])  # (units, terms)

    # 3. Residuals are what lies outside `choice.span`, the span of the basic and the added terms.
    missed_dependences = find_missed_dependences(
        all_covariates, values_of_units, choice.span, responses
    )

    # 4. Labels will be drawn from this model.
    model = fit_covariate_model(
        names=all_covariates.names,
        terms=terms,
        labels=units.labels,
        block_of_unit=units.block_of_unit,
    )

    # 5. Every sample has the terms and the block of its unit.
    terms_of_samples = units.one_row_per_sample(terms)  # (samples, terms)
    block_of_sample = units.one_row_per_sample(units.block_of_unit)
    basis = residual_basis(terms_of_samples, block_of_sample)
    return Adjustment(
        model=model,
        basis=basis,
        added=choice.added,
        left_out=choice.left_out,
        missed_dependences=missed_dependences,
    )


def _in_standard_deviations(term: Term) -> Floats:
    """The term's values divided by their standard deviation: (units,).

    On this scale the ridge penalty of the model treats all terms alike.
    """
    return term.values / term.values.std()
