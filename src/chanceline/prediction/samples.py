"""The samples that a rule is made from: checked values, labels, covariates, units and blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_arrays
from chanceline.prediction.covariates import (
    CovariateEncoder,
    category_names,
    make_encoder,
    read_columns,
)
from chanceline.prediction.folds import Seed, deal_to_folds, draw_units, join_units

# Columns that vary less than this share of their largest value are constant.
CONSTANT_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Samples:
    """Checked values, labels and the design.

    Attributes
    ----------
    X : (samples, features)
    y : labels ±1, (samples,)
    nuisance : the columns that every rule has without a penalty, (samples, 1 + terms): the
        constant, then the terms of covariates, each of mean 0 and SD 1, so that it does not matter
        in which units they were measured.
    unit_of_sample : samples that stay together in a fold have the same number, (samples,); see
        `chanceline.prediction.folds.join_units`.
    block_of_sample : number of every sample's block, 0 where there are none, (samples,)
    encoder : how covariates become terms.
    term_means, term_spreads : the terms' means and standard deviations before they were
        standardized, (terms,)
    """

    X: Floats
    y: Floats
    nuisance: Floats
    unit_of_sample: Ints
    block_of_sample: Ints
    encoder: CovariateEncoder
    term_means: Floats
    term_spreads: Floats

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_nuisance(self) -> int:
        """Number of columns without a penalty: the constant and the terms of covariates."""
        return self.nuisance.shape[1]

    @property
    def n_blocks(self) -> int:
        return int(self.block_of_sample.max()) + 1

    @property
    def positive(self) -> Bools:
        """Which samples belong to the positive class, (samples,)."""
        return self.y > 0

    @property
    def all_rows(self) -> Bools:
        """True for every sample, where all of them are training samples."""
        return np.ones(self.n_samples, dtype=bool)

    def take(self, rows: Bools) -> Samples:
        """The samples where `rows` is true."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            nuisance=self.nuisance[rows],
            unit_of_sample=self.unit_of_sample[rows],
            block_of_sample=self.block_of_sample[rows],
        )

    def assign_folds(self, n_folds: int, seed: Seed) -> Ints:
        """A fold for every sample, (samples,); see `chanceline.prediction.folds.deal_to_folds`."""
        return deal_to_folds(
            self.y,
            self.unit_of_sample,
            self.block_of_sample,
            n_folds=n_folds,
            seed=seed,
        )

    def subsample(self, n_samples: int, seed: Seed) -> Samples:
        """About so many of the samples, by whole units; all of them if there are no more."""
        if self.n_samples <= n_samples:
            return self
        return self.take(draw_units(self.unit_of_sample, n_samples, seed))


def make_samples(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
) -> Samples:
    """Check everything, encode covariates, and decide what stays together.

    Parameters
    ----------
    X, y : values (samples, features), and labels of two classes (samples,)
    groups, blocks : one name for each sample, or None
    covariates : a DataFrame, a mapping by name, or an array (samples, covariates); or None
    encoder : how covariates become terms; by default numbers enter as they are
    """
    values, labels, _ = check_arrays(X, y)
    return samples_from_checked_values(
        values, labels, groups=groups, blocks=blocks, covariates=covariates, encoder=encoder
    )


def samples_from_checked_values(  # noqa: PLR0913
    values: Floats,
    labels: Floats,
    *,
    groups: ArrayLike | None,
    blocks: ArrayLike | None,
    covariates: Any,
    encoder: CovariateEncoder | None,
) -> Samples:
    """Make samples from values (samples, features) and labels ±1 that are checked already.

    Covariates become standardized columns (*terms*), and the names of blocks and groups become
    numbers. Parameters as in `make_samples`.
    """
    n_samples = len(labels)

    # The terms of all covariates, (samples, terms), standardized to mean 0 and SD 1. A constant
    # term has an infinite spread: divided by it, the term is 0 and has no part in a rule.
    covariate_columns: dict[str, NDArray[Any]] = {}
    if covariates is not None:
        covariate_columns = read_columns(covariates, n_samples)
    if encoder is None:
        encoder = make_encoder(covariate_columns)
    terms = encoder.transform(covariate_columns, n_samples)
    term_means = terms.mean(axis=0)
    term_spreads = infinite_where_constant(terms.std(axis=0), terms)
    standardized_terms = (terms - term_means) / term_spreads

    # Numbers of blocks and groups, (samples,). Without blocks there is one for all samples; without
    # groups every sample is a group.
    block_of_sample = np.zeros(n_samples, dtype=np.int64)
    if blocks is not None:
        block_of_sample = number_names(names_of(blocks, n_samples, "blocks"))
    group_of_sample = np.arange(n_samples)
    if groups is not None:
        group_of_sample = number_names(names_of(groups, n_samples, "groups"))

    return Samples(
        X=values,
        y=labels,
        nuisance=np.column_stack([np.ones(n_samples), standardized_terms]),
        unit_of_sample=join_units(group_of_sample, block_of_sample),
        block_of_sample=block_of_sample,
        encoder=encoder,
        term_means=term_means,
        term_spreads=term_spreads,
    )


def infinite_where_constant(spreads: Floats, values: Floats) -> Floats:
    """The spreads of columns, (columns,), with infinity for columns that vary by rounding only.

    Divided by infinity, such a column becomes 0. `values` are the columns, (samples, columns).
    """
    # The largest absolute value of each column, computed without a copy of all values.
    largest = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0))
    return np.where(spreads > CONSTANT_SHARE * largest, spreads, np.inf).astype(spreads.dtype)


def number_names(names: NDArray[Any]) -> Ints:
    """0, 1, … for the different names, in their order: (samples,)."""
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def names_of(values: ArrayLike, n_samples: int, role: str) -> NDArray[np.str_]:
    """The names of blocks or groups, one for each sample: 1 and 1.0 are the same."""
    return category_names(check_one_per_sample(values, n_samples, role))


def number_values(values: ArrayLike, n_samples: int, role: str) -> Ints:
    """0, 1, … for the different values, in their order: (samples,)."""
    array = check_one_per_sample(values, n_samples, role)
    if array.dtype.kind == "O":
        # Objects of several types cannot be sorted.
        array = array.astype(str)
    return number_names(array)


def check_one_per_sample(values: ArrayLike, n_samples: int, role: str) -> NDArray[Any]:
    """The values as an array, if there is one for each sample; `role` is their name in errors."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise InputError(
            f"{role} must hold one value for each of the {n_samples} samples, "
            f"not an array of shape {array.shape}."
        )
    return array
