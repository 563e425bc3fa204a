"""How far columns go with the scores of an outcome, of which two classes have one column, ±1.

Rows of scores are shuffled against the columns, within blocks where there are any, so that nothing
is assumed about either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from chanceline._arrays import Floats, Ints
from chanceline.tables.checks.within_classes import (
    LARGEST_DEVIATION,
    SHUFFLE_SEED,
    SMALLEST_RELATIVE_SPREAD,
    centred_within,
    evenly_spaced_columns,
    shuffle_pvalue,
)

# p-value up to which something is said to go with the outcome. There are about six such checks of
# a table, so that one of twenty that hide nothing is warned of.
ASSOCIATION_LEVEL = 0.01
N_ASSOCIATION_SHUFFLES = 499
SMALLEST_SCORE_LENGTH = 1e-9  # of a direction of scores, beside the longest; less is rounding


@dataclass(frozen=True, eq=False)
class OutcomeAssociation:
    """Scores of an outcome in independent rows, with tests of whether columns are associated with
    them.

    Attributes
    ----------
    scores : (rows, q) orthonormal columns, of mean 0 in every block.
    block_of_row : (rows,) numbers 0, 1, … of the blocks; all 0 without blocks.
    """

    scores: Floats
    block_of_row: Ints

    def r_squared(self, columns: Floats) -> Floats:
        """R² of each column x on the scores z_c: Σ_c (x·z_c)²/|x|², of shape (columns,)."""
        products = self.scores.T @ self.unit_columns(columns)
        shares: Floats = np.sum(products**2, axis=0)
        return shares

    def residuals(self, columns: Floats) -> Floats:
        """The residuals of columns (rows, columns) after regression on scores and blocks."""
        centred = centred_within(columns, self.block_of_row)
        return centred - self.scores @ (self.scores.T @ centred)

    def standardized_residuals(self, X: Floats) -> Floats:
        """The residuals of columns after regression on the outcome's scores and the blocks,
        standardized, of shape (rows, columns).

        Of very wide tables, evenly spaced columns are taken. Columns that the scores explain
        entirely are left out. The others have residuals of variance 1 before extreme values are
        clipped.

        Parameters
        ----------
        X : numbers, (rows, features).
        """
        some_columns = evenly_spaced_columns(X)
        residuals = self.residuals(some_columns)
        spread = residuals.std(axis=0)
        # A spread that is tiny beside the values of the column is rounding.
        largest_magnitudes = np.abs(some_columns).max(axis=0, initial=0.0)
        varies = spread > SMALLEST_RELATIVE_SPREAD * largest_magnitudes
        scaled = residuals[:, varies] / spread[varies]
        clipped = np.clip(scaled, -LARGEST_DEVIATION, LARGEST_DEVIATION)
        # Clipped values are no longer quite orthogonal to the scores: take residuals again.
        return self.residuals(clipped)

    def unit_columns(self, columns: Floats) -> Floats:
        """The columns with mean 0 in every block and length 1; zeros for constant columns."""
        centred = centred_within(columns, self.block_of_row)
        lengths = np.linalg.norm(centred, axis=0)
        varies = lengths > SMALLEST_RELATIVE_SPREAD * np.abs(columns).max(axis=0, initial=0.0)
        return centred / np.where(varies, lengths, np.inf)

    def shuffled_scores(self, n_shuffles: int) -> Floats:
        """The observed scores, then scores whose rows are shuffled within blocks: (1 + shuffles,
        rows, q).
        """
        rng = np.random.default_rng(SHUFFLE_SEED)
        observed_order = np.arange(len(self.scores))
        orders = np.tile(observed_order, (n_shuffles, 1))
        for block in np.unique(self.block_of_row):
            in_block = np.flatnonzero(self.block_of_row == block)
            orders[:, in_block] = rng.permuted(orders[:, in_block], axis=1)
        return self.scores[np.vstack([observed_order, orders])]

    def shuffled_r_squared(self, columns: Floats, n_shuffles: int) -> Floats:
        """R² of each column on the observed scores, then on shuffled scores.

        Parameters
        ----------
        columns : numbers, (rows, columns).
        n_shuffles : how often the scores are shuffled.

        Returns
        -------
        (1 + shuffles, columns)
        """
        unit_columns = self.unit_columns(columns)
        r_squared = np.zeros((1 + n_shuffles, columns.shape[1]))
        scores = self.shuffled_scores(n_shuffles)  # (1 + shuffles, rows, q)
        for direction in range(scores.shape[2]):
            r_squared += (scores[:, :, direction] @ unit_columns) ** 2
        return r_squared

    def pvalue(self, columns: Floats) -> float:
        """The p-value of the hypothesis that columns (rows, columns) are independent of the scores.

        It is a permutation test, whose statistic is the largest R² of any column.
        """
        largest = self.shuffled_r_squared(columns, N_ASSOCIATION_SHUFFLES).max(axis=1)
        return shuffle_pvalue(float(largest[0]), largest[1:])

    def normal_pvalues(self, r_squared: Floats) -> Floats:
        """The p-value of each column, from its R², if columns are normal: (columns,).

        With q scores and n rows in b blocks, the R² of a normal column that is independent of the
        scores has the distribution Beta(q/2, (n − b − q)/2). No shuffles are needed.

        Parameters
        ----------
        r_squared : R² of each column, (columns,).
        """
        n_rows, n_scores = self.scores.shape
        n_blocks = len(np.unique(self.block_of_row))
        degrees_of_freedom = max(n_rows - n_blocks - n_scores, 1)
        # The upper tail of Beta(a, c) at R² is the lower tail of Beta(c, a) at 1 − R².
        unexplained = 1 - np.clip(r_squared, 0.0, 1.0)
        pvalues: Floats = betainc(degrees_of_freedom / 2, n_scores / 2, unexplained)
        return pvalues


def make_outcome_association(scores: Floats, block_of_row: Ints) -> OutcomeAssociation | None:
    """Centre scores in every block and make them orthonormal; None if they are constant there.

    Parameters
    ----------
    scores : numbers that stand for the outcome, (rows, columns).
    block_of_row : (rows,) numbers 0, 1, … of the blocks.
    """
    centred = centred_within(scores, block_of_row)
    singular_vectors, singular_values, _ = np.linalg.svd(centred, full_matrices=False)
    rounding = SMALLEST_SCORE_LENGTH * max(float(np.abs(scores).max()), 1.0)
    varies = singular_values > rounding
    if not varies.any():
        return None
    return OutcomeAssociation(singular_vectors[:, varies], block_of_row)
