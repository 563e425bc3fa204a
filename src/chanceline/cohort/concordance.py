"""An exact rank test of scores that were fixed beforehand: do positive samples have larger ones?

The statistic counts the pairs of a positive and a negative sample of the same block that are in the
right order, ties as one half (Mann and Whitney 1947; blocks as van Elteren 1960, unweighted). Under
the null hypothesis every choice of the positives within a block is equally likely. Counts are
doubled here, so that they are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from chanceline._arrays import Bools, Floats, Ints

# Steps of the exact law up to which it is computed, about a second's worth; above, labels are
# shuffled, which is valid too, but gives no p-value below 1/(shuffles + 1).
MAX_EXACT_STEPS = 2e8
SHUFFLES_OF_LARGE_COHORT = 99_999
SHUFFLES_AT_ONCE = 2_000
SEED_OF_SHUFFLES = 0


@dataclass(frozen=True)
class ConcordanceTest:
    """Whether scores rank positive samples above negative ones.

    Attributes
    ----------
    area : share of pairs in the right order, ties one half; NaN if no block has both classes.
    pvalue : one-sided.
    n_shuffles : labels shuffled instead of counting all choices; 0 where it was counted.
    """

    area: float
    pvalue: float
    n_shuffles: int = 0


def concordance_test(scores: Floats, is_positive: Bools, block_of_sample: Ints) -> ConcordanceTest:
    """Test whether positive samples have larger scores than negative ones of the same block.

    The statistic U (Mann and Whitney) is the number of pairs, of a positive and a negative sample
    of one block, in which the positive one has the larger score; ties count one half. Ranks and U
    are doubled, so that both are whole numbers.

    Parameters
    ----------
    scores : the rule's score of every sample, (samples,)
    is_positive : which samples are positive, (samples,)
    block_of_sample : the number of every sample's block, (samples,); only samples of the same block
        are compared.
    """
    # For each block with samples of both classes: doubled ranks, and the number of positives.
    # Blocks of one class have no pairs to compare.
    ranks_of_blocks = []
    n_positives = []
    doubled_U = 0
    n_pairs = 0
    for block in np.unique(block_of_sample):
        in_block = block_of_sample == block
        is_positive_in_block = is_positive[in_block]
        n_positive = int(np.count_nonzero(is_positive_in_block))
        n_negative = len(is_positive_in_block) - n_positive
        if n_positive == 0 or n_negative == 0:
            continue
        ranks = doubled_ranks(scores[in_block])
        ranks_of_blocks.append(ranks)
        n_positives.append(n_positive)
        doubled_U += doubled_concordance(ranks, is_positive_in_block)
        n_pairs += n_positive * n_negative
    if n_pairs == 0:
        return ConcordanceTest(area=float("nan"), pvalue=1.0)

    # The area under the curve is the share of pairs in the right order, U/pairs. The p-value is the
    # probability of so large a U: exact, or by shuffles if that would take too long.
    area = doubled_U / (2 * n_pairs)
    if exact_steps(ranks_of_blocks, n_positives) <= MAX_EXACT_STEPS:
        law = concordance_law(ranks_of_blocks, n_positives)  # law[u] is P(2U = u)
        upper_tail = law[doubled_U:].sum()
        pvalue = float(min(upper_tail, 1.0))  # rounding may exceed 1
        return ConcordanceTest(area, pvalue)
    pvalue = shuffled_pvalue(ranks_of_blocks, n_positives, doubled_U)
    return ConcordanceTest(area, pvalue, n_shuffles=SHUFFLES_OF_LARGE_COHORT)


def doubled_ranks(scores: Floats) -> Ints:
    """Twice the rank of every score, equal ones sharing the mean of their ranks: whole numbers."""
    return np.rint(2 * rankdata(scores)).astype(np.int64)


def doubled_concordance(ranks: Ints, is_positive: Bools) -> int:
    """Twice the number of pairs in the right order, 2U = 2 Σ ranks of positives − n₁(n₁ + 1).

    Parameters
    ----------
    ranks : twice the rank of every sample, (samples,)
    is_positive : which samples are positive, (samples,)
    """
    n_positive = int(np.count_nonzero(is_positive))
    return int(ranks[is_positive].sum()) - n_positive * (n_positive + 1)


def exact_steps(ranks_of_blocks: list[Ints], n_positives: list[int]) -> float:
    """About how many additions the exact law takes; parameters as in `concordance_law`."""
    steps = 0.0
    for ranks, n_positive in zip(ranks_of_blocks, n_positives, strict=True):
        n_samples = len(ranks)
        n_chosen = min(n_positive, n_samples - n_positive)
        steps += n_samples * n_chosen * 2.0 * n_samples * n_chosen
    return steps


def concordance_law(ranks_of_blocks: list[Ints], n_positives: list[int]) -> Floats:
    """P(2U = 0, 1, …), U the number of pairs in the right order within blocks, (2 pairs + 1,).

    Parameters
    ----------
    ranks_of_blocks : for each block twice the ranks of its samples, (samples of the block,)
    n_positives : how many samples of each block are positive
    """
    law = np.ones(1)
    for ranks, n_positive in zip(ranks_of_blocks, n_positives, strict=True):
        law = np.convolve(law, block_law(ranks, n_positive))
    return law


def block_law(ranks: Ints, n_positive: int) -> Floats:
    """P(2U = 0, 1, …) in one block, (2 n₁n₂ + 1,); parameters as in `concordance_law`."""
    n_samples = len(ranks)
    n_negative = n_samples - n_positive
    if n_positive > n_negative:
        # Turned round, negatives are chosen and have the larger ranks: the same pairs are right.
        return block_law(2 * (n_samples + 1) - ranks, n_negative)
    rank_sums = law_of_rank_sum(ranks, n_positive)
    smallest = n_positive * (n_positive + 1)
    return rank_sums[smallest : smallest + 2 * n_positive * n_negative + 1]


def law_of_rank_sum(ranks: Ints, n_chosen: int) -> Floats:
    """Distribution of the sum of the ranks of `n_chosen` samples drawn without replacement.

    The samples i = 0, 1, …, n − 1 are visited in turn. If k of the samples before i were drawn,
    sample i is drawn with probability (n_chosen − k)/(n − i). So the distribution comes from sums
    of positive terms, and no digits cancel.

    Parameters
    ----------
    ranks : whole numbers, (samples,)
    n_chosen : how many samples are drawn

    Returns
    -------
    law : P(sum = 0, 1, …, largest sum), (largest sum + 1,)
    """
    n_samples = len(ranks)
    largest_ranks = np.sort(ranks)[n_samples - n_chosen :]
    largest_sum = int(largest_ranks.sum())
    n_drawn = np.arange(n_chosen + 1)  # k
    # law[k, s]: the probability that k of the samples so far were drawn, and that their ranks have
    # the sum s.
    law = np.zeros((n_chosen + 1, largest_sum + 1))
    law[0, 0] = 1.0
    for i, rank in enumerate(ranks.tolist()):
        # Clipped, because numbers k that cannot occur would give a probability outside 0 to 1.
        p_drawn = np.clip((n_chosen - n_drawn) / (n_samples - i), 0.0, 1.0)  # for every k
        law_if_drawn = law * p_drawn[:, None]
        law *= 1 - p_drawn[:, None]
        # A sample that is drawn leads from (k, s) to (k + 1, s + its rank).
        law[1:, rank:] += law_if_drawn[:-1, : largest_sum + 1 - rank]
    return law[n_chosen]


def shuffled_pvalue(
    ranks_of_blocks: list[Ints], n_positives: list[int], observed_doubled_U: int
) -> float:
    """The p-value of the statistic U (pairs in the right order), by shuffles within blocks.

    It is (1 + shuffles with as large a U)/(1 + shuffles). A block of n positives adds
    Σ r − n(n + 1) to 2U, where r are twice the ranks of its positives. The last term is the
    smallest possible sum, 2 + 4 + … + 2n, with which no pair is in the right order.

    Parameters
    ----------
    ranks_of_blocks : for each block twice the ranks of its samples, (samples of the block,)
    n_positives : n, how many samples of each block are positive
    observed_doubled_U : 2U of the true labels, twice the number of pairs in the right order
    """
    rng = np.random.default_rng(SEED_OF_SHUFFLES)
    n_as_large = 0
    n_remaining = SHUFFLES_OF_LARGE_COHORT
    while n_remaining > 0:
        # A batch of shuffles, of limited size because of memory.
        batch_size = min(n_remaining, SHUFFLES_AT_ONCE)
        doubled_U = np.zeros(batch_size, dtype=np.int64)  # of every shuffle
        for ranks, n_positive in zip(ranks_of_blocks, n_positives, strict=True):
            # Ranks are shuffled, which is the same as shuffling labels: in every shuffle the first
            # n_positive samples of the block count as positive.
            repeated_ranks = np.tile(ranks, (batch_size, 1))  # (shuffles, samples of the block)
            shuffled_ranks = rng.permuted(repeated_ranks, axis=1)
            rank_sums = shuffled_ranks[:, :n_positive].sum(axis=1)  # of positives, (shuffles,)
            smallest_sum = n_positive * (n_positive + 1)
            doubled_U += rank_sums - smallest_sum
        n_as_large += int(np.count_nonzero(doubled_U >= observed_doubled_U))
        n_remaining -= batch_size
    return (1 + n_as_large) / (1 + SHUFFLES_OF_LARGE_COHORT)
