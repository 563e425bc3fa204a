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
    columns_in_steps,
    shuffle_pvalue,
)

# p-value up to which something is said to go with the outcome. There are about six such checks of
# a table, so that one of twenty that hide nothing is warned of.
LINK_LEVEL = 0.01
N_LINK_SHUFFLES = 499
SMALLEST_SCORE_LENGTH = 1e-9  # of a direction of scores, beside the longest; less is rounding


@dataclass(frozen=True, eq=False)
class ScoreLinks:
    """The scores of independent rows.

    Attributes
    ----------
    scores : (rows, q) orthonormal columns of mean 0 in every block.
    block_of_row : (rows,) numbers 0, 1, … of the blocks, all 0 without any.
    """

    scores: Floats
    block_of_row: Ints

    def explained(self, columns: Floats) -> Floats:
        """R² of every column of (rows, columns) on the scores: Σ_c (x·z_c)²/|x|², (columns,)."""
        products = self.scores.T @ self.unit_columns(columns)
        shares: Floats = np.sum(products**2, axis=0)
        return shares

    def residuals(self, columns: Floats) -> Floats:
        """What the scores, and the means of the blocks, leave of columns: (rows, columns)."""
        centred = centred_within(columns, self.block_of_row)
        return centred - self.scores @ (self.scores.T @ centred)

    def standardized_residuals(self, X: Floats) -> Floats:
        """What the scores leave of some columns, of variance 1, extremes clipped; columns of which
        nothing is left are left out.

        Parameters
        ----------
        X : (rows, features)
        """
        some_columns = columns_in_steps(X)
        left = self.residuals(some_columns)
        spread = left.std(axis=0)
        varies = spread > SMALLEST_RELATIVE_SPREAD * np.abs(some_columns).max(axis=0, initial=0.0)
        scaled = left[:, varies] / spread[varies]
        clipped = np.clip(scaled, -LARGEST_DEVIATION, LARGEST_DEVIATION)
        # Clipping has brought a little of the scores back.
        return self.residuals(clipped)

    def unit_columns(self, columns: Floats) -> Floats:
        """The columns with mean 0 in every block and length 1; zeros where nothing varies."""
        centred = centred_within(columns, self.block_of_row)
        lengths = np.linalg.norm(centred, axis=0)
        varies = lengths > SMALLEST_RELATIVE_SPREAD * np.abs(columns).max(axis=0, initial=0.0)
        return centred / np.where(varies, lengths, np.inf)

    def shuffled_scores(self, n_shuffles: int) -> Floats:
        """The observed scores, then shuffled ones: (1 + shuffles, rows, q)."""
        rng = np.random.default_rng(SHUFFLE_SEED)
        observed_order = np.arange(len(self.scores))
        orders = np.tile(observed_order, (n_shuffles, 1))
        for block in np.unique(self.block_of_row):
            in_block = np.flatnonzero(self.block_of_row == block)
            orders[:, in_block] = rng.permuted(orders[:, in_block], axis=1)
        return self.scores[np.vstack([observed_order, orders])]

    def shuffled_explained(self, columns: Floats, n_shuffles: int) -> Floats:
        """R² of every column on the observed scores, then on shuffled ones.

        Parameters
        ----------
        columns : (rows, columns)
        n_shuffles : how often the scores are shuffled.

        Returns
        -------
        (1 + shuffles, columns)
        """
        units = self.unit_columns(columns)
        explained = np.zeros((1 + n_shuffles, columns.shape[1]))
        scores = self.shuffled_scores(n_shuffles)
        for direction in range(scores.shape[2]):
            explained += (scores[:, :, direction] @ units) ** 2
        return explained

    def pvalue(self, columns: Floats) -> float:
        """The p-value of columns (rows, columns) that do not go with the scores, by the largest R²
        of any of them.
        """
        largest = self.shuffled_explained(columns, N_LINK_SHUFFLES).max(axis=1)
        return shuffle_pvalue(float(largest[0]), largest[1:])

    def normal_pvalues(self, explained: Floats) -> Floats:
        """The p-values that R² of normal columns have without shuffles, one by one.

        With q directions of scores and n rows in b blocks R² has Beta(q/2, (n − b − q)/2).

        Parameters
        ----------
        explained : (columns,)
        """
        n_rows, n_scores = self.scores.shape
        n_blocks = len(np.unique(self.block_of_row))
        n_left = max(n_rows - n_blocks - n_scores, 1)
        pvalues: Floats = betainc(n_left / 2, n_scores / 2, 1 - np.clip(explained, 0.0, 1.0))
        return pvalues


def make_score_links(scores: Floats, block_of_row: Ints) -> ScoreLinks | None:
    """Take the blocks out of scores and make them orthonormal; None if nothing is left.

    Parameters
    ----------
    scores : (rows, columns)
    block_of_row : (rows,) numbers 0, 1, … of the blocks.
    """
    centred = centred_within(scores, block_of_row)
    directions, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    is_left = lengths > SMALLEST_SCORE_LENGTH * max(float(np.abs(scores).max()), 1.0)
    if not is_left.any():
        return None
    return ScoreLinks(directions[:, is_left], block_of_row)
