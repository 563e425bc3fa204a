"""A model of the labels given covariates, from which labels are drawn under the null.

Is there structure beyond what age, sex and site explain? Under the null the labels depend on the
covariates alone. They are drawn from a logistic model of the label given the covariates, **given
the number of positives** (the conditional randomisation test: Candès, Fan, Janson and Lv 2018;
Berrett et al. 2020). Such a p-value is valid if the labels depend on the covariates as the model
says, and nearly so if the features do, of which the same terms are taken out.

The law of the labels x ∈ {0, 1} of one block,

    Π p_i^x_i (1 − p_i)^(1 − x_i)   given Σ x_i = k,

is drawn exactly by rejection: independent labels, with the odds moved so that Σ p_i = k, until k
of them are positive. About one draw in √(2π Σ p_i (1 − p_i)) is accepted.
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

# The units that blocks need on average for a model of the labels within them.
MIN_MEAN_BLOCK_SIZE = MIN_SAMPLES_PER_LEVEL
# Covariates that leave less than this share of the labels open nearly determine them.
MIN_OPEN_SHARE = 0.2
# A slight ridge keeps covariates that separate the classes from infinite weights.
COVARIATE_RIDGE = 0.01
# Labellings that are proposed at once; one of some √(units) is accepted.
PROPOSALS = 64
# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class CovariateModel:
    """Labels ±1 of units, independent but for the number of positives in every block.

    Blocks of one class never change and are left out of `block_members` and `block_log_odds`.

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
        """ln of the probability of the observed labelling: no p-value can be below it."""
        total = 0.0
        for members, log_odds in zip(self.block_members, self.block_log_odds, strict=True):
            labels = self.labels[members]
            n_positive = int(np.count_nonzero(labels > 0))
            log_independent = log_expit(labels * log_odds).sum()
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
        """Whether the covariates leave so few labels open that nothing can be told."""
        return self.n_open < MIN_OPEN_SHARE * len(self.labels)

    def determined_sentence(self) -> str:
        """Why nothing can be told where the covariates nearly determine the labels."""
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
    """Logistic regression of the labels on the terms, with an intercept for every block.

    Blocks of one class are left out: their labels cannot change.

    Parameters
    ----------
    names : of the covariates.
    terms : (units, terms) the covariates as numbers.
    labels : (units,) ±1.
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    """
    units_of_blocks = _blocks_of_both_classes(labels, block_of_unit)
    n_blocks = len(units_of_blocks)
    units = np.concatenate(units_of_blocks)  # block after block
    if n_blocks > 1 and len(units) < MIN_MEAN_BLOCK_SIZE * n_blocks:
        raise InputError(
            f"to adjust for {', '.join(names)} within blocks (or pairs) these need "
            f"{MIN_MEAN_BLOCK_SIZE} samples on average."
        )

    # An indicator of every block comes first and goes without a penalty.
    block_sizes = [len(block_units) for block_units in units_of_blocks]
    block_of_row = np.repeat(np.arange(n_blocks), block_sizes)
    indicators = block_of_row[:, None] == np.arange(n_blocks)
    # Shape (units, blocks + terms).
    model_matrix = np.column_stack([indicators, terms[units]]).astype(float)
    weights = fit_one_ridge_logistic(
        model_matrix, labels[units], penalty=COVARIATE_RIDGE, n_unpenalized=n_blocks
    )
    log_odds = model_matrix @ weights

    # Labels will be drawn at these odds, and a draw is thrown away unless the block has as many
    # positives as it had. A constant added to all log odds of a block does not change how likely
    # the draws are among those kept. So it is chosen to keep many: the expected number of positives
    # is made the right one.
    block_log_odds = []
    for block, block_units in enumerate(units_of_blocks):
        log_odds_in_block = log_odds[block_of_row == block]
        block_log_odds.append(_with_expected_count(log_odds_in_block, labels[block_units]))
    return CovariateModel(
        names=names,
        labels=labels,
        block_members=units_of_blocks,
        block_log_odds=tuple(block_log_odds),
    )


def _blocks_of_both_classes(labels: Floats, block_of_unit: Ints) -> tuple[Ints, ...]:
    """The units of every block in which labels can change."""
    blocks = [np.flatnonzero(block_of_unit == k) for k in range(block_of_unit.max() + 1)]
    return tuple(units for units in blocks if len(np.unique(labels[units])) == 2)


def _with_expected_count(log_odds: Floats, labels: Floats) -> Floats:
    """The log-odds moved by a constant, so that as many positives are expected as there are.

    The law given the number of positives does not change; more proposals are accepted.
    """
    n_positive = np.count_nonzero(labels > 0)

    def excess(shift: float) -> float:
        return float(expit(log_odds + shift).sum()) - n_positive

    # Moved so far, fewer than one positive, or than one negative, is expected.
    farthest = float(np.abs(log_odds).max()) + np.log(len(log_odds)) + 1
    return log_odds + brentq(excess, -farthest, farthest)


def residual_basis(terms: Floats, block_of_sample: Ints) -> Floats:
    """Orthonormal columns that span the terms within blocks.

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
