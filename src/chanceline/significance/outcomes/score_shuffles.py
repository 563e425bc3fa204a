"""Permuting the rows of scores: in batches, interruptible, and the p-values that follow.

Draws, batches and the combination are those of two classes (`chanceline.significance.shuffles`,
`chanceline.significance.combination`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Floats
from chanceline.prediction.interval import clopper_pearson
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.combination import combine_losses
from chanceline.significance.followed_paths import FollowedPaths
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.outcomes.score_design import ScoreDesign
from chanceline.significance.outcomes.score_paths import (
    follow_score_paths,
    make_score_target,
)
from chanceline.significance.path_columns import PathColumns
from chanceline.significance.readings import Band, StopCause
from chanceline.significance.shuffled_paths import BAND_QUANTILES
from chanceline.significance.shuffles import BATCH_SIZE, ShufflePlan, progress_in_draws

OBSERVED_ROW = 0


@dataclass(frozen=True, eq=False)
class ShuffledScores:
    """Losses of the observed scores (row 0) and of the draws.

    Attributes
    ----------
    losses : of every member of the combination (permutations, columns).
    observed : the path of the observed scores, its only row.
    requested : how many draws were asked for.
    stopped_by : what ended drawing before that; None if nothing did.
    """

    losses: MemberArrays
    observed: FollowedPaths
    requested: int
    stopped_by: StopCause | None

    @property
    def done(self) -> int:
        """Number of draws."""
        return len(self.losses.path) - 1

    @property
    def n_as_good(self) -> int:
        """Number of draws that do as well as the observed scores."""
        return int(np.count_nonzero(combine_losses(self.losses).as_good)) - 1

    @property
    def pvalue(self) -> float:
        """(1 + draws that do as well)/(1 + draws)."""
        return (1 + self.n_as_good) / (1 + self.done)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the p-value that infinitely many draws would give."""
        return clopper_pearson(self.n_as_good, self.done)

    @property
    def totals(self) -> Floats:
        """(permutations,) the combined statistic, large where scores are explained well."""
        return combine_losses(self.losses).totals

    def adjusted_pvalues(self) -> MemberArrays:
        """Of every member (columns,); those of K = 1, 2, … features are its `path`."""
        return combine_losses(self.losses).adjusted_pvalues()

    def bands(self) -> list[Band]:
        """The range of R² on permuted scores, for every number of features."""
        explained = 1.0 - self.losses.path[1:]
        quantiles = np.quantile(explained, BAND_QUANTILES, axis=0)  # (quantiles, steps)
        return [Band(low, median, high) for low, median, high in quantiles.T.tolist()]

    def marginal_pvalues(self, columns: PathColumns, design: ScoreDesign) -> Floats:
        """Adjusted p-value of every column by itself, by the best column of every draw: (columns,).

        Parameters
        ----------
        columns, design : those that the paths were made of.
        """
        explained = explained_alone(columns, design)
        best_explained = np.sort(1 - self.losses.path[:, 0])
        n_below = np.searchsorted(best_explained, explained - ROUNDING_TOLERANCE, side="left")
        return (len(best_explained) - n_below) / len(best_explained)


def explained_alone(columns: PathColumns, design: ScoreDesign) -> Floats:
    """R² of every column alone, the share of all scores' squares that it explains: (columns,)."""
    observed = design.permuted_scores(seed=0, draw_number=0)
    target = make_score_target(columns, observed[None])
    products = target.coordinates[0].astype(columns.coordinates.dtype) @ columns.coordinates
    squares: Floats = (products.astype(float) ** 2).sum(axis=0)
    return squares / target.scale[0]


def shuffle_scores(
    columns: PathColumns, design: ScoreDesign, plan: ShufflePlan, n_steps: int
) -> ShuffledScores:
    """Fit the observed scores and their permutations, in batches that run in parallel.

    Scores are the numbers that stand for an outcome. Each permutation is fitted by the forward path
    (stepwise least squares) and by all features together.

    Parameters
    ----------
    columns : the columns of the table.
    design : how scores are permuted.
    plan : number of permutations, seed, processes, and the function to tell of progress.
    n_steps : number of features at the end of the paths.
    """
    # Batches are ranges of the numbers of permutations; number 0 are the observed scores.
    n_permutations = 1 + plan.n_shuffles
    starts = range(0, n_permutations, BATCH_SIZE)
    batches = [range(start, min(start + BATCH_SIZE, n_permutations)) for start in starts]
    # The runner calls `losses_of_batch(batch, *common)`.
    common = (columns, design, n_steps, plan.seed)
    runner = replace(plan.runner, progress=progress_in_draws(plan, batches))
    losses_of_batches, stopped_by = runner.collect(losses_of_batch, batches, common)

    # The observed path once more, because batches keep the losses only.
    observed_scores = design.permuted_scores(plan.seed, draw_number=0)
    observed = follow_score_paths(columns, observed_scores[None], n_steps)
    if not losses_of_batches:
        # Stopped within the first batch: there are the observed scores alone.
        losses_of_batches = [observed.member_losses]
    return ShuffledScores(
        losses=join_labellings(losses_of_batches),
        observed=observed,
        requested=plan.n_shuffles,
        stopped_by=stopped_by,
    )


def losses_of_batch(
    draw_numbers: range, columns: PathColumns, design: ScoreDesign, n_steps: int, seed: int
) -> MemberArrays:
    """The members' losses of the draws of these numbers; 0 is the observed one."""
    scores = [design.permuted_scores(seed, number) for number in draw_numbers]
    return follow_score_paths(columns, np.array(scores), n_steps).member_losses
