"""Which classes differ: narrower questions from the same shuffles, corrected by the largest.

A contrast compares two sides. Its shuffles exchange samples of these two sides alone, in the order
that the keys of the shuffle give all samples, so that every contrast is tested under its own null
hypothesis and all together keep their dependence. Each has the combined statistic of the test. In
every shuffle the contrasts are compared by their places among all shuffles, which makes sides of
different sizes comparable, and the best place of a shuffle counts for all contrasts (Westfall and
Young 1993, single step).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.significance.combination import adjust_ranks, rank_losses
from chanceline.significance.outcomes.contrast import Contrast
from chanceline.significance.outcomes.orthonormal import orthonormal_columns
from chanceline.significance.outcomes.score_design import ScoreDesign
from chanceline.significance.outcomes.score_shuffles import ShuffledScores, shuffle_scores
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan
from chanceline.significance.unit_exchange import exchange_units

# Contrasts are many, and so many shuffles are enough for each.
MAX_CONTRAST_SHUFFLES = 999
# With more columns the paths of contrasts have no list of correlated pairs, which would be made
# anew for each.
MAX_COLUMNS_FOR_CONTRAST_PAIRS = 2_000
NO_MEMBER = -1  # the number of a unit that is none


@dataclass(frozen=True)
class ContrastReading:
    """What the shuffles say about one contrast.

    Attributes
    ----------
    words : what is compared.
    feature : the feature that tells the two sides apart best.
    pvalue : of this contrast alone.
    adjusted_pvalue : corrected for all contrasts.
    """

    words: str
    feature: str
    pvalue: float
    adjusted_pvalue: float


@dataclass(frozen=True, eq=False)
class ContrastDesign(ScoreDesign):
    """Exchange within the two sides of a contrast, by the keys of all units.

    Attributes
    ----------
    members : (units of the contrast,) their numbers among all units.
    all_blocks : (all units,) numbers of the blocks.
    """

    members: Ints
    all_blocks: Ints

    def permuted_scores(self, seed: int, draw_number: int) -> Floats:
        """As `ScoreDesign.permuted_scores`, for the units of the contrast: (1, samples)."""
        unit_scores = self.unit_scores
        if draw_number > 0:
            rng = np.random.default_rng([seed, draw_number])
            donors = exchange_units(self.all_blocks, rng)
            unit_scores = unit_scores[restricted_exchange(donors, self.members, self.block_of_unit)]
        return unit_scores[self.unit_of_sample].T


def restricted_exchange(donors: Ints, members: Ints, block_of_member: Ints) -> Ints:
    """A permutation of some units, the members, from one of all units: (members,).

    Within every block the members' donors are taken in the order in which the permutation of all
    units lists them, so that the permutation of the members is uniform if that of all is.

    Example with one block: the donors of units 0 … 3 are 2, 0, 3, 1, and the members are the units
    0, 1, 3, with the numbers 0, 1, 2. Without unit 2 the list of donors is 0, 3, 1. By their
    numbers that is 0, 2, 1, which is the result.

    Parameters
    ----------
    donors : (all units,) for every unit the one whose outcome it gets.
    members : (members,) the members among all units, rising.
    block_of_member : (members,) numbers of the blocks.

    Returns
    -------
    (members,) for every member the number of the one whose outcome it gets.
    """
    # The list of donors with members alone, by their numbers. In the example 0, 2, 1.
    member_of_unit = np.full(len(donors), NO_MEMBER)
    member_of_unit[members] = np.arange(len(members))
    member_of_donor = member_of_unit[donors]  # 0, 2, 1 and one that is none
    listed_members = member_of_donor[member_of_donor != NO_MEMBER]

    # Both the members as they are numbered and the list are put block after block; stable sorts
    # keep their order within blocks. At every position both have members of one block, and the
    # first gets the outcome of the second.
    receivers = np.argsort(block_of_member, kind="stable")
    listed_by_block = np.argsort(block_of_member[listed_members], kind="stable")
    donor_of_member = np.empty(len(members), dtype=np.int64)
    donor_of_member[receivers] = listed_members[listed_by_block]
    return donor_of_member


def contrast_design(design: ScoreDesign, contrast: Contrast) -> ContrastDesign | None:
    """The design of one contrast; None if nothing can be exchanged between its sides.

    Parameters
    ----------
    design : of the whole outcome, without covariate terms.
    contrast : whose signs are the same in all samples of a unit.
    """
    # The members: units of the two sides. Their blocks are numbered 0, 1, … without gaps.
    _, sample_of_unit = np.unique(design.unit_of_sample, return_index=True)
    sign_of_unit = contrast.signs[sample_of_unit]
    members = np.flatnonzero(sign_of_unit)
    block_of_member = np.unique(design.block_of_unit[members], return_inverse=True)[1]

    # Their scores: the signs ±1, centred within blocks. In a block of one side nothing is left.
    signs = sign_of_unit[members].astype(float)
    block_means = np.bincount(block_of_member, weights=signs) / np.bincount(block_of_member)
    centred_signs = signs - block_means[block_of_member]
    if np.abs(centred_signs).max() == 0:
        return None

    # The units of this design are the members: each sample has the number of its unit among these.
    samples = samples_of_contrast(contrast)
    member_of_sample = np.searchsorted(members, design.unit_of_sample[samples])
    return ContrastDesign(
        unit_scores=orthonormal_columns(centred_signs[:, None]),
        unit_of_sample=member_of_sample,
        block_of_unit=block_of_member.astype(np.int64),
        covariate_terms=None,
        log_permutations=0.0,  # not asked for
        encoder=design.encoder,
        block_categories=design.block_categories,
        # Draws are made of all units, and then restricted to the members.
        members=members,
        all_blocks=design.block_of_unit,
    )


def samples_of_contrast(contrast: Contrast) -> Bools:
    """(samples,) which samples have a part in it."""
    return contrast.signs != 0


@dataclass(frozen=True, eq=False)
class ContrastRun:
    """The shuffles of one contrast.

    Attributes
    ----------
    contrast : what is compared.
    shuffled : its shuffles.
    feature : the feature that its path takes first.
    """

    contrast: Contrast
    shuffled: ShuffledScores
    feature: int


def shuffle_contrasts(
    X: Floats,
    design: ScoreDesign,
    contrasts: tuple[Contrast, ...],
    plan: ShufflePlan,
    n_steps: int,
) -> list[ContrastRun]:
    """Shuffle every contrast; those between whose sides nothing can be exchanged are left out.

    Parameters
    ----------
    X : (samples, features) those that the test may use.
    design : of the whole outcome, without covariate terms.
    contrasts : of the outcome.
    plan : of the shuffles of the whole outcome; the first of them are used.
    n_steps : number of features at the end of the paths.
    """
    fewer = replace(plan, n_shuffles=min(plan.n_shuffles, MAX_CONTRAST_SHUFFLES))
    runs = []
    for contrast in contrasts:
        own_design = contrast_design(design, contrast)
        if own_design is None:
            continue
        columns = make_path_columns(
            X[samples_of_contrast(contrast)],
            own_design,
            intercept=True,
            max_columns_for_pairs=MAX_COLUMNS_FOR_CONTRAST_PAIRS,
        )
        shuffled = shuffle_scores(columns, own_design, fewer, n_steps)
        runs.append(ContrastRun(contrast, shuffled, int(shuffled.observed.chosen[0, 0])))
    return runs


def read_contrasts(
    runs: list[ContrastRun], feature_names: tuple[str, ...], overall_pvalue: float
) -> tuple[ContrastReading, ...]:
    """What the shuffles say about every contrast, with p-values corrected for all of them.

    In every shuffle the contrast that does best counts for all (Westfall and Young 1993).

    Parameters
    ----------
    runs : of all contrasts.
    feature_names : of the columns that the paths ran over.
    overall_pvalue : of the whole outcome; no contrast says more than that.
    """
    if not runs:
        return ()
    # A shuffle that was cut short has fewer draws.
    n_rows = min(len(run.shuffled.totals) for run in runs)
    # Statistics are large where sides differ, and losses small: (rows, contrasts).
    losses = np.column_stack([-run.shuffled.totals[:n_rows] for run in runs])
    ranks = rank_losses(losses)
    # The observed outcome is row 0.
    adjusted = adjust_ranks(ranks)[0] / n_rows
    readings = []
    for run, adjusted_pvalue in zip(runs, adjusted.tolist(), strict=True):
        readings.append(
            ContrastReading(
                words=run.contrast.words,
                feature=feature_names[run.feature],
                pvalue=run.shuffled.pvalue,
                adjusted_pvalue=max(adjusted_pvalue, run.shuffled.pvalue, overall_pvalue),
            )
        )
    return tuple(readings)
