"""A model of the labels given covariates, from which labels are drawn under the null.

Is there structure beyond what age, sex and site explain? Under the null the labels depend on the
covariates alone. They are drawn from a logistic model of the labels given the covariates, **given
the number of positives** (the conditional randomisation test: Candès, Fan, Janson and Lv 2018;
Berrett et al. 2020). The p-value is valid if the labels depend on the covariates as the model says.
It is nearly valid if the features do, because the same terms are projected out of the features.

The labels x ∈ {0, 1} of one block have the probabilities

    Π p_i^x_i (1 − p_i)^(1 − x_i)   given Σ x_i = k,

and are drawn exactly by rejection: independent labels are proposed, with all log-odds shifted so
that Σ p_i = k, until k of them are positive. About one proposal in √(2π Σ p_i (1 − p_i)) is
accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from chanceline._arrays import Floats, Ints
from chanceline.chance.poisson_binomial import poisson_binomial_pmf
from chanceline.errors import InputError
from chanceline.prediction.covariates import MIN_SAMPLES_PER_LEVEL
from chanceline.prediction.ridge_logistic import fit_one_ridge_logistic
from chanceline.significance.arrays import block_means

# Blocks need at least so many units on average for a model of the labels within them.
MIN_MEAN_BLOCK_SIZE = MIN_SAMPLES_PER_LEVEL
# Covariates nearly determine the labels if they leave less than this share of them open.
MIN_OPEN_SHARE = 0.2
# A slight ridge penalty keeps weights finite if covariates separate the classes.
COVARIATE_RIDGE = 0.01
# Labellings that are proposed at once; about one in √(units) is accepted.
PROPOSALS = 64
# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class CovariateModel:
    """Labels ±1 of units, independent except that the number of positives in every block is fixed.

    A unit is a sample, or a group of samples that share their label. Blocks of one class never
    change and are left out of `block_members` and `block_log_odds`.

    Attributes
    ----------
    names : of the covariates.
    labels : (units,) the observed labels ±1.
    block_members : for every block, the indices of its units.
    block_log_odds : for every block, the log-odds of its units to be positive.
    """

    names: tuple[str, ...]
    labels: Floats
    block_members: tuple[Ints, ...]
    block_log_odds: tuple[Floats, ...]

    def draw(self, rng: np.random.Generator) -> Floats:
        """Labels ±1 from the model, given the number of positives in every block: (units,)."""
        labels = self.labels.copy()
        for members, log_odds in zip(self.block_members, self.block_log_odds, strict=True):
            n_positive = int(np.count_nonzero(self.labels[members] > 0))
            labels[members] = _draw_block(log_odds, n_positive, rng)
        return labels

    @property
    def log_probability(self) -> float:
        """ln of the probability of the observed labelling, below which no p-value can be.

        It is Σ ln P(label_i) over independent labels, less ln P(number of positives) in every
        block, on which the model conditions.
        """
        total = 0.0
        for members, log_odds in zip(self.block_members, self.block_log_odds, strict=True):
            labels = self.labels[members]
            n_positive = int(np.count_nonzero(labels > 0))
            log_independent = log_expit(labels * log_odds).sum()  # P(±1) = expit(±log-odds)
            log_condition = np.log(poisson_binomial_pmf(expit(log_odds), n_positive))
            total += float(log_independent - log_condition)
        return total

    @property
    def n_open(self) -> float:
        """Σ 4p(1 − p): how many labels the covariates leave open, a fair coin counting as one."""
        total = 0.0
        for log_odds in self.block_log_odds:
            total += float((4 * expit(log_odds) * expit(-log_odds)).sum())
        return total

    @property
    def nearly_determines(self) -> bool:
        """Whether the covariates leave so few labels open that the test can tell nothing."""
        return self.n_open < MIN_OPEN_SHARE * len(self.labels)

    def determined_sentence(self) -> str:
        """The sentence that says why the test can tell nothing (see `nearly_determines`)."""
        return (
            f"the covariates ({', '.join(self.names)}) nearly determine the labels: they leave "
            f"about {self.n_open:.0f} of {len(self.labels)} open, too few to tell what the "
            "features add."
        )


def _draw_block(log_odds: Floats, n_positive: int, rng: np.random.Generator) -> Floats:
    """Labels ±1 of one block with exactly `n_positive` positives, by rejection: (units,)."""
    probabilities = expit(log_odds)
    while True:
        proposals = rng.random((PROPOSALS, len(log_odds))) < probabilities
        accepted = np.flatnonzero(np.count_nonzero(proposals, axis=1) == n_positive)
        if len(accepted):
            return np.where(proposals[accepted[0]], 1.0, -1.0)


def fit_covariate_model(
    names: tuple[str, ...], terms: Floats, labels: Floats, block_of_unit: Ints
) -> CovariateModel:
    """Fit a logistic model of the labels on the terms, with an intercept for every block.

    Under the null, labels are drawn from the model with the number of positives in every block
    fixed. Blocks of one class are left out, because their labels cannot change.

    Parameters
    ----------
    names : of the covariates, for messages.
    terms : (units, terms) the covariates as numbers.
    labels : (units,) ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    """
    units_of_blocks = _blocks_of_both_classes(labels, block_of_unit)
    n_blocks = len(units_of_blocks)
    n_units = sum(len(units) for units in units_of_blocks)
    if n_blocks > 1 and n_units < MIN_MEAN_BLOCK_SIZE * n_blocks:
        raise InputError(
            f"to adjust for {', '.join(names)} within blocks (or pairs) these need "
            f"{MIN_MEAN_BLOCK_SIZE} samples on average."
        )

    # The fitted log-odds, shifted in every block so that labels can be drawn efficiently.
    fitted_log_odds = _fit_log_odds(terms, labels, units_of_blocks)
    block_log_odds = []
    for log_odds, units in zip(fitted_log_odds, units_of_blocks, strict=True):
        block_log_odds.append(_with_expected_count(log_odds, labels[units]))
    return CovariateModel(
        names=names,
        labels=labels,
        block_members=units_of_blocks,
        block_log_odds=tuple(block_log_odds),
    )


def _blocks_of_both_classes(labels: Floats, block_of_unit: Ints) -> tuple[Ints, ...]:
    """For every block with both classes, the indices of its units."""
    blocks = [np.flatnonzero(block_of_unit == k) for k in range(block_of_unit.max() + 1)]
    return tuple(units for units in blocks if len(np.unique(labels[units])) == 2)


def _fit_log_odds(terms: Floats, labels: Floats, units_of_blocks: tuple[Ints, ...]) -> list[Floats]:
    """The log-odds to be positive that a ridge logistic regression gives the units of every block.

    Parameters
    ----------
    terms : (units, terms)
    labels : (units,) ±1.
    units_of_blocks : for every block, the indices of its units; other units are not used.

    Returns
    -------
    For every block (units of the block,), in the order of `units_of_blocks`.
    """
    # The rows of the regression: the units of one block after those of another.
    n_blocks = len(units_of_blocks)
    units_in_rows = np.concatenate(units_of_blocks)
    block_sizes = [len(units) for units in units_of_blocks]
    block_of_row = np.repeat(np.arange(n_blocks), block_sizes)

    # Its columns (rows, blocks + terms): an indicator of every block, which is its intercept and
    # goes without a penalty, then the terms.
    is_in_block = block_of_row[:, None] == np.arange(n_blocks)
    model_matrix = np.column_stack([is_in_block, terms[units_in_rows]]).astype(float)
    weights = fit_one_ridge_logistic(
        model_matrix, labels[units_in_rows], penalty=COVARIATE_RIDGE, n_unpenalized=n_blocks
    )
    log_odds = model_matrix @ weights
    return [log_odds[block_of_row == block] for block in range(n_blocks)]


def _with_expected_count(log_odds: Floats, labels: Floats) -> Floats:
    """Shift all log-odds of a block so that the expected number of positives is the observed one.

    Labels are drawn independently at these odds, and a draw is rejected unless it has the observed
    number of positives. A constant shift does not change the probabilities of labellings with this
    number of positives. The shift chosen here makes the most draws accepted.

    Parameters
    ----------
    log_odds : (units of the block,)
    labels : (units of the block,) ±1, of both classes.
    """
    n_positive = np.count_nonzero(labels > 0)

    def excess_of_positives(shift: float) -> float:
        n_expected = float(expit(log_odds + shift).sum())
        return n_expected - n_positive

    # At −largest_shift fewer than one positive is expected, at +largest_shift fewer than one
    # negative. As both classes occur, the root lies between.
    largest_log_odds = float(np.abs(log_odds).max())
    largest_shift = largest_log_odds + np.log(len(log_odds)) + 1
    return log_odds + brentq(excess_of_positives, -largest_shift, largest_shift)


def residual_basis(terms: Floats, block_of_sample: Ints) -> Floats:
    """Orthonormal columns with the same span as the terms, centred within blocks.

    Parameters
    ----------
    terms : (samples, terms) the covariates as numbers.
    block_of_sample : (samples,) numbers 0, 1, … of the blocks.

    Returns
    -------
    (samples, rank of the terms within blocks)
    """
    within_blocks = terms - block_means(terms, block_of_sample)
    directions, singular_values, _ = np.linalg.svd(within_blocks, full_matrices=False)
    largest = max(1.0, float(singular_values.max(initial=0.0)))
    basis: Floats = directions[:, singular_values > RANK_TOLERANCE * largest]
    return basis
