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
    """Derive a permutation of some units, the members, from a permutation of all units.

    A permutation is a list of donors: each unit gets the outcome of its donor. The list is first
    reduced to the donors that are members. Then, in each block, the donors left in the list go to
    the block's members in order: the first donor to the first member, and so on. So the permutation
    of the members is uniform within blocks if that of all units is.

    Example with one block: the members are the units 0, 1, 3 of the units 0 … 3, and the donors of
    all units are 2, 0, 3, 1. The donors that are members are 0, 3, 1; counted among the members,
    they are 0, 2, 1. This is the result.

    Parameters
    ----------
    donors : (all units,) the unit whose outcome each unit gets.
    members : (members,) the units that are members, ascending.
    block_of_member : (members,) the number of each member's block.

    Returns
    -------
    (members,) the donor of each member, as a number 0, 1, … among the members.
    """
    # Reduce the list to members, and turn numbers among all units into numbers among the members.
    # (In the example, the two steps give NO_MEMBER, 0, 2, 1 and then 0, 2, 1.)
    member_of_unit = np.full(len(donors), NO_MEMBER)
    member_of_unit[members] = np.arange(len(members))
    member_of_donor = member_of_unit[donors]
    donor_members = member_of_donor[member_of_donor != NO_MEMBER]  # every member, once

    # Go through the donors block by block, in each block in the order of the list.
    block_of_donor = block_of_member[donor_members]
    donor_order = np.argsort(block_of_donor, kind="stable")
    donors_by_block = donor_members[donor_order]

    # Go through the members, who receive, block by block in the same way. As every member is a
    # donor once, a block has as many donors as receivers, so that the two lists match.
    receivers_by_block = np.argsort(block_of_member, kind="stable")
    donor_of_member = np.empty(len(members), dtype=np.int64)
    donor_of_member[receivers_by_block] = donors_by_block
    return donor_of_member


def contrast_design(design: ScoreDesign, contrast: Contrast) -> ContrastDesign | None:
    """How to permute the two sides of one contrast, such as class A against class B.

    Units are exchanged within blocks. A unit is a sample, or a group of samples that share one
    outcome. The units of the two sides are called members, and are numbered anew, 0, 1, …. So there
    are two numberings: of all units (in `design`), and of the members (in the result). The result
    has only the samples of the two sides.

    Parameters
    ----------
    design : how the whole outcome is permuted, without covariates to regress on.
    contrast : its signs are 1 and −1 for the samples of the two sides, 0 for all others; they are
        the same in all samples of a unit.

    Returns
    -------
    The design; None if no block has units of both sides, so that nothing can be exchanged.
    """
    # All samples of a unit have the same sign: the first one tells it.
    _, first_sample_of_unit = np.unique(design.unit_of_sample, return_index=True)
    sign_of_unit = contrast.signs[first_sample_of_unit]  # (all units,)

    # The members, their signs, and their blocks, which are numbered anew without gaps.
    unit_of_member = np.flatnonzero(sign_of_unit)  # (members,) numbers among all units, ascending
    sign_of_member = sign_of_unit[unit_of_member].astype(float)
    old_block_of_member = design.block_of_unit[unit_of_member]
    block_of_member = np.unique(old_block_of_member, return_inverse=True)[1]

    # The scores to permute: the signs, less their mean in the block. In a block with members of one
    # side only, they are all 0.
    block_sizes = np.bincount(block_of_member)
    block_means = np.bincount(block_of_member, weights=sign_of_member) / block_sizes
    centred_signs = sign_of_member - block_means[block_of_member]
    if np.abs(centred_signs).max() == 0:
        return None

    # For each sample of the two sides, the member to which it belongs: the position of its unit in
    # `unit_of_member`, where it always occurs. `searchsorted` finds it, as the array is ascending.
    is_in_contrast = samples_of_contrast(contrast)  # (samples,)
    unit_of_kept_sample = design.unit_of_sample[is_in_contrast]
    member_of_kept_sample = np.searchsorted(unit_of_member, unit_of_kept_sample)
    return ContrastDesign(
        # In the new design the units are the members alone, in their own numbering.
        unit_scores=orthonormal_columns(centred_signs[:, None]),
        unit_of_sample=member_of_kept_sample,
        block_of_unit=block_of_member.astype(np.int64),
        covariate_terms=None,
        log_permutations=0.0,  # no contrast uses this number
        encoder=design.encoder,
        block_categories=design.block_categories,
        # A draw permutes all units, and is then restricted to the members: so the draws of all
        # contrasts belong together. These two are in the numbering of all units.
        members=unit_of_member,
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
    """Run the permutation test of every contrast, such as class A against class B.

    Contrasts without a block that has samples of both sides are left out.

    Parameters
    ----------
    X : (samples, features) the features that the test may use.
    design : how the whole outcome is permuted, without covariates to regress on.
    contrasts : the comparisons; each has the sign 1, −1 or 0 (no part in it) for every sample.
    plan : the shuffles of the whole outcome. Contrasts use at most the first
        `MAX_CONTRAST_SHUFFLES` of them.
    n_steps : number of features at the end of the stepwise paths.
    """
    plan_of_contrasts = replace(plan, n_shuffles=min(plan.n_shuffles, MAX_CONTRAST_SHUFFLES))
    runs = []
    for contrast in contrasts:
        design_of_contrast = contrast_design(design, contrast)
        if design_of_contrast is None:
            continue
        columns = make_path_columns(
            X[samples_of_contrast(contrast)],
            design_of_contrast,
            intercept=True,
            max_columns_for_pairs=MAX_COLUMNS_FOR_CONTRAST_PAIRS,
        )
        shuffled = shuffle_scores(columns, design_of_contrast, plan_of_contrasts, n_steps)
        first_feature = int(shuffled.observed.chosen[0, 0])  # of the observed path, its only row
        runs.append(ContrastRun(contrast, shuffled, first_feature))
    return runs


def read_contrasts(
    runs: list[ContrastRun], feature_names: tuple[str, ...], overall_pvalue: float
) -> tuple[ContrastReading, ...]:
    """The p-value of every contrast, alone and adjusted for the number of contrasts.

    The adjustment is Westfall and Young's (1993, single step): an adjusted p-value is the share of
    labellings in which some contrast has a rank as small as the observed rank of this one.

    Parameters
    ----------
    runs : the shuffles of every contrast. Row b of each is from the same shuffle of the whole
        outcome; row 0 is the observed outcome.
    feature_names : the names of the columns that the paths ran over.
    overall_pvalue : p-value of the whole outcome. No adjusted p-value may be below it, because the
        contrasts are asked after the question about the whole outcome.
    """
    if not runs:
        return ()

    # The statistic of every labelling in every contrast, (labellings, contrasts): large where the
    # two sides differ. A run that was cut short has fewer labellings: use those that all runs have.
    n_labellings = min(len(run.shuffled.totals) for run in runs)
    statistics = np.column_stack([run.shuffled.totals[:n_labellings] for run in runs])

    # Rank the labellings in each contrast. `rank_losses` gives the rank 1 to the smallest loss, so
    # that the negative statistic is the loss.
    ranks = rank_losses(-statistics)  # (labellings, contrasts)
    # For each rank, count the labellings whose smallest rank in any contrast is no larger. Only the
    # counts for the ranks of the observed outcome, in row 0, are needed.
    counts = adjust_ranks(ranks)  # (labellings, contrasts)
    single_step_pvalues = counts[0] / n_labellings

    results = []
    for run, single_step_pvalue in zip(runs, single_step_pvalues.tolist(), strict=True):
        pvalue_alone = run.shuffled.pvalue
        result = ContrastReading(
            words=run.contrast.words,
            feature=feature_names[run.feature],
            pvalue=pvalue_alone,
            adjusted_pvalue=max(single_step_pvalue, pvalue_alone, overall_pvalue),
        )
        results.append(result)
    return tuple(results)
