"""What covariates explain of labels and features: the terms that are needed, a model of the labels
with these terms, and a check of what they leave.

Every number has a linear and a quadratic term, and every category that is no block an indicator of
each level. Steps, curves and products are added where labels or features ask for them
(`term_choice`). All of these are taken out of features and labels before they are compared, and
labels are drawn from a logistic model of the same terms (`covariate_model`).
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
from chanceline.significance.fit_check import LeftOver, find_left_overs
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.term_choice import choose_terms
from chanceline.significance.term_evidence import Responses, make_known_span

# At most this many features are looked at, evenly spread over the table.
MAX_FEATURES_LOOKED_AT = 5_000


@dataclass(frozen=True, eq=False)
class LabelledUnits:
    """Units with one label each, and the samples that they stand for.

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

    def feature_means(self, X: AnyTable) -> Floats:
        """The mean of some features, without outliers, in every unit: (units, features)."""
        n_features = X.shape[1]
        n_looked_at = min(n_features, MAX_FEATURES_LOOKED_AT)
        looked_at = np.linspace(0, n_features - 1, n_looked_at).astype(int)
        features = clip_outliers(X[:, looked_at].astype(float))
        if len(self.labels) == len(self.unit_of_sample):
            return features[self.sample_of_unit]
        n_samples_of_unit = np.bincount(self.unit_of_sample)
        return block_sums(features, self.unit_of_sample) / n_samples_of_unit[:, None]


@dataclass(frozen=True, eq=False)
class Adjustment:
    """What covariates explain.

    Attributes
    ----------
    model : of the labels.
    basis : (samples, terms) orthonormal columns that span what is taken out of columns and labels.
    added : the terms that labels or features asked for.
    left_out : a term that they asked for without units enough to take it up; None if there is none.
    left_overs : what they still have of covariates.
    """

    model: CovariateModel
    basis: Floats
    added: tuple[Term, ...]
    left_out: Term | None
    left_overs: tuple[LeftOver, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing was seen that the model does not follow."""
        return self.left_out is None and not self.left_overs


def fit_adjustment(
    columns: Mapping[str, NDArray[Any]],
    all_covariates: CovariateEncoder,
    modelled_covariates: CovariateEncoder,
    units: LabelledUnits,
    X: AnyTable,
) -> Adjustment | None:
    """Choose the terms of the covariates, fit a model of the labels on them, and check it.

    None if all terms are constant within blocks, so that there is nothing to model.

    Parameters
    ----------
    columns : one value for each sample, by the name of the covariate.
    all_covariates : turns covariates into columns of numbers.
    modelled_covariates : the same for those that are no blocks.
    units : labels, blocks and samples.
    X : (samples, features) whose dependence on the covariates is looked at.
    """
    # The terms that are in the model whatever the data say: lines, squares and levels of the
    # covariates that are no blocks.
    n_samples = len(units.unit_of_sample)
    terms_of_samples = modelled_covariates.transform(columns, n_samples)
    first_terms = terms_of_samples[units.sample_of_unit]  # (units, terms)
    first_span = make_known_span(first_terms, units.block_of_unit)
    if first_span.n_directions == 0:
        return None

    # Further terms of any covariates, where labels or features ask for them.
    values_of_units = {name: values[units.sample_of_unit] for name, values in columns.items()}
    responses = Responses(units.labels, units.feature_means(X))
    library = make_library(all_covariates, values_of_units)
    choice = choose_terms(library, first_span, responses)
    added_terms = [_in_standard_deviations(term) for term in choice.added]
    terms = np.column_stack([first_terms, *added_terms])  # (units, terms)
    left_overs = find_left_overs(all_covariates, values_of_units, choice.span, responses)

    # The model from which labels are drawn: each unit has one label.
    model = fit_covariate_model(
        names=all_covariates.names,
        terms=terms,
        labels=units.labels,
        block_of_unit=units.block_of_unit,
    )
    # What is taken out of the table's columns, which have a value for each sample.
    block_of_sample = units.block_of_unit[units.unit_of_sample]
    basis = residual_basis(terms[units.unit_of_sample], block_of_sample)
    return Adjustment(
        model=model,
        basis=basis,
        added=choice.added,
        left_out=choice.left_out,
        left_overs=left_overs,
    )


def _in_standard_deviations(term: Term) -> Floats:
    """The term's values in standard deviations, for the ridge of the model: (units,)."""
    return term.values / term.values.std()
