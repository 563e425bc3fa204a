"""Columns as the training samples see them: centred by block, scaled, and without covariates.

Columns are measured from the mean of their block (there is one where none are declared) among the
training samples, so that differences between blocks tell nothing. The columns of a block that the
training samples do not know are measured from its own mean: a new sample comes with its block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.samples import Samples, infinite_where_constant

# A column of which covariates leave less, in standard deviations, is explained by them.
MIN_RESIDUAL_SPREAD = 1e-6


class ColumnScale(NamedTuple):
    """How training samples see columns: (x − mean of the block)/spread.

    Attributes
    ----------
    block_means : (blocks, columns)
    spreads : standard deviations within blocks, infinite for constant columns, (columns,)
    """

    block_means: Floats
    spreads: Floats

    def take(self, columns: Ints) -> ColumnScale:
        """The scale of these columns alone."""
        return ColumnScale(self.block_means[:, columns], self.spreads[columns])

    def transform(self, values: Floats, block_of_sample: Ints) -> Floats:
        """Scaled values, (samples, columns), in the precision of the values."""
        scaled = values - self.means_of(block_of_sample)
        scaled /= self.spreads
        return scaled

    def means_of(self, block_of_sample: Ints) -> Floats:
        """The means of every sample's block, (samples, columns); (1, columns) of a single block."""
        return _means_of_samples(self.block_means, block_of_sample)


def _means_of_samples(block_means: Floats, block_of_sample: Ints) -> Floats:
    """The row of `block_means`, (blocks, columns), for every sample: (samples, columns).

    A single block has one row for all samples, (1, columns).
    """
    if len(block_means) == 1:
        return block_means
    return block_means[block_of_sample]


def fit_scale(samples: Samples, training: Bools) -> ColumnScale:
    """Compute the `ColumnScale` that centres and scales columns: (x − mean of its block)/spread.

    Blocks (sites, say) have means of their own. Means and spreads are those of the training
    samples.

    Parameters
    ----------
    samples : all of them; a block without training samples gets the mean of its other samples, as
        these come with their block.
    training : which samples are for training, (samples,)

    Returns
    -------
    scale : means (blocks, columns), and standard deviations within blocks (columns,), which are
        infinite for constant columns
    """
    # Which samples the mean of each block is taken over: its training samples, or if it has none,
    # all of its samples. All masks are (blocks, samples).
    block_numbers = np.arange(samples.n_blocks)[:, None]  # (blocks, 1)
    is_in_block = samples.block_of_sample == block_numbers
    is_training_in_block = is_in_block & training
    has_training_samples = is_training_in_block.any(axis=1, keepdims=True)  # (blocks, 1)
    is_averaged = np.where(has_training_samples, is_training_in_block, is_in_block)

    # Means of all blocks by one product with the weights of the samples, (blocks, samples). A block
    # number may have no samples (in a subset of the samples): divided by 1 instead of 0, its mean
    # is 0, which is never used.
    n_averaged = is_averaged.sum(axis=1, keepdims=True)  # (blocks, 1)
    averaging_weights = (is_averaged / np.maximum(n_averaged, 1)).astype(samples.X.dtype)
    block_means = averaging_weights @ samples.X  # (blocks, columns)

    # Standard deviations of the training samples around the means of their blocks.
    training_means = _means_of_samples(block_means, samples.block_of_sample[training])
    centred = samples.X[training] - training_means  # (training samples, columns)
    spreads = np.sqrt(np.einsum("ij,ij->j", centred, centred) / len(centred))
    return ColumnScale(block_means=block_means, spreads=infinite_where_constant(spreads, samples.X))


def scaled_columns(samples: Samples, scale: ColumnScale, support: Ints) -> Floats:
    """The scaled columns of a support, (samples, support)."""
    return scale.take(support).transform(samples.X[:, support], samples.block_of_sample)


def design_of(samples: Samples, scale: ColumnScale, support: Ints) -> Floats:
    """The nuisance columns and the scaled columns of a support, (samples, nuisance + support)."""
    return np.hstack([samples.nuisance, scaled_columns(samples, scale, support)])


class Residualized(NamedTuple):
    """Columns and labels without what the constant and covariates explain of them.

    Attributes
    ----------
    columns : of length 1, or 0 if nothing is left, (samples, features), in the samples' precision
    target : labels ±1 less what is explained, (samples,)
    lengths : of the columns before they were given length 1; infinite if nothing is left,
        (features,)
    """

    columns: Floats
    target: Floats
    lengths: Floats


def residualize(samples: Samples, scale: ColumnScale) -> Residualized:
    """Replace scaled columns and labels by their residuals, and give the columns length 1.

    The residuals are those of least squares on the nuisance columns: the constant and the terms of
    covariates. A column that these explain, up to rounding, becomes zero.

    Parameters
    ----------
    samples : the training samples
    scale : means and spreads of their columns
    """
    columns = scale.transform(samples.X, samples.block_of_sample)  # (samples, features)

    # Subtract the projections on an orthonormal basis of the nuisance columns, (samples, nuisance).
    basis, _ = np.linalg.qr(samples.nuisance)
    target = samples.y - basis @ (basis.T @ samples.y)
    rounded_basis = basis.astype(columns.dtype)  # columns may be in single precision
    columns -= rounded_basis @ (rounded_basis.T @ columns)

    # Scaled columns have length √samples; a residual much shorter than that is rounding. Its length
    # is set to infinity: divided by it, the column is zero.
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    has_residual = lengths > MIN_RESIDUAL_SPREAD * np.sqrt(samples.n_samples)
    lengths = np.where(has_residual, lengths, np.inf).astype(columns.dtype)
    columns /= lengths
    return Residualized(columns, target, lengths)
