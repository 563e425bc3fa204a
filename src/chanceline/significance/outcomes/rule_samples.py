"""The samples that a rule is made from, and what blocks and covariates take out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.samples import infinite_where_constant
from chanceline.significance.outcomes.outcome import Outcome


@dataclass(frozen=True, eq=False)
class RuleSamples:
    """Values, outcome and design.

    Attributes
    ----------
    X : (samples, features)
    outcome : of every sample.
    terms : (samples, terms) covariates as numbers; no columns without any.
    unit_of_sample : (samples,) samples that stay together in a fold have the same number.
    block_of_sample : (samples,) numbers 0, 1, … of the blocks.
    """

    X: Floats
    outcome: Outcome
    terms: Floats
    unit_of_sample: Ints
    block_of_sample: Ints

    def take(self, rows: Bools) -> RuleSamples:
        """The samples where `rows` is true."""
        return replace(
            self,
            X=self.X[rows],
            outcome=self.outcome.take(rows),
            terms=self.terms[rows],
            unit_of_sample=self.unit_of_sample[rows],
            block_of_sample=self.block_of_sample[rows],
        )


@dataclass(frozen=True, eq=False)
class Background:
    """What blocks and covariates say of some columns, as learnt from training samples.

    Attributes
    ----------
    block_means : (blocks, columns)
    term_means : (blocks, terms) of the covariates.
    slopes : (terms, columns) of the columns on the covariates, within blocks.
    """

    block_means: Floats
    term_means: Floats
    slopes: Floats

    def explained(self, block_of_sample: Ints, terms: Floats) -> Floats:
        """(samples, columns) of samples with these blocks and covariates."""
        term_deviations = terms - self.term_means[block_of_sample]
        return self.block_means[block_of_sample] + term_deviations @ self.slopes

    def of_columns(self, columns: Ints) -> Background:
        """The same of some of the columns alone."""
        return replace(
            self, block_means=self.block_means[:, columns], slopes=self.slopes[:, columns]
        )


def learn_background(
    columns: Floats, samples: RuleSamples, fallback_means: Floats | None = None
) -> Background:
    """Fit columns by the samples' blocks and covariates, to predict or remove that part of them.

    The fit has a mean for every block, and slopes on the covariates that are common to all blocks:
    least squares after the means of every block are subtracted from columns and covariates.

    Parameters
    ----------
    columns : (training samples, columns) to be fitted: features or targets.
    samples : the training samples. `samples.terms` (samples, terms) are the covariates as numbers.
        Block numbers are those among all samples, so that some may not occur.
    fallback_means : (blocks, columns) the means to use for blocks without training samples, with a
        row for every block; by default the mean of all training samples.
    """
    block_of_sample = samples.block_of_sample
    n_blocks = int(block_of_sample.max()) + 1
    if fallback_means is not None:
        # The blocks with the highest numbers may have no training samples.
        n_blocks = max(n_blocks, len(fallback_means))
    block_means = means_of_blocks(columns, block_of_sample, n_blocks, fallback_means)
    term_means = means_of_blocks(samples.terms, block_of_sample, n_blocks)

    # Slopes within blocks: (terms, columns).
    centred_terms = samples.terms - term_means[block_of_sample]
    centred_columns = columns - block_means[block_of_sample]
    slopes = np.linalg.lstsq(centred_terms, centred_columns, rcond=None)[0].astype(np.float64)
    return Background(block_means=block_means, term_means=term_means, slopes=slopes)


def means_of_blocks(
    columns: Floats, block_of_sample: Ints, n_blocks: int, fallback_means: Floats | None = None
) -> Floats:
    """The mean of every column in every block: (blocks, columns).

    Parameters
    ----------
    columns : (samples, columns)
    block_of_sample : (samples,)
    n_blocks : number of blocks, of which some may have no sample.
    fallback_means : (blocks, columns) the means to use for blocks without samples; by default the
        mean of all samples.
    """
    means = np.tile(columns.mean(axis=0), (n_blocks, 1))
    if fallback_means is not None:
        means[: len(fallback_means)] = fallback_means
    for block in np.unique(block_of_sample):
        means[block] = columns[block_of_sample == block].mean(axis=0)
    return means


def column_spreads(residuals: Floats, values: Floats) -> Floats:
    """Standard deviations of columns, infinite for those that are constant: (columns,).

    Parameters
    ----------
    residuals : (samples, columns) what is left of `values` by blocks and covariates.
    values : (samples, columns) beside which a small deviation is rounding.
    """
    return infinite_where_constant(residuals.std(axis=0), values)
