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


def concordance_test(scores: Floats, positive: Bools, block_of_sample: Ints) -> ConcordanceTest:
    """Test whether positive samples have larger scores than negative ones of their block.

    Parameters
    ----------
    scores : (samples,)
    positive : which samples are positive, (samples,)
    block_of_sample : numbers of the blocks, (samples,)
    """
    blocks = [block_of_sample == block for block in np.unique(block_of_sample)]
    # Blocks of one class have no pairs to compare.
    mixed = [rows for rows in blocks if 0 < np.count_nonzero(positive[rows]) < rows.sum()]
    if not mixed:
        return ConcordanceTest(area=float("nan"), pvalue=1.0)

    ranks = [doubled_ranks(scores[rows]) for rows in mixed]
    labels = [positive[rows] for rows in mixed]
    observed = sum(
        doubled_concordance(block_ranks, block_labels)
        for block_ranks, block_labels in zip(ranks, labels, strict=True)
    )
    n_positives = [int(np.count_nonzero(block_labels)) for block_labels in labels]
    n_negatives = [int(np.count_nonzero(~block_labels)) for block_labels in labels]
    n_pairs = sum(
        n_positive * n_negative
        for n_positive, n_negative in zip(n_positives, n_negatives, strict=True)
    )
    area = observed / (2 * n_pairs)
    if exact_steps(ranks, n_positives) <= MAX_EXACT_STEPS:
        law = concordance_law(ranks, n_positives)
        return ConcordanceTest(area, pvalue=float(min(law[observed:].sum(), 1.0)))
    pvalue = shuffled_pvalue(ranks, n_positives, observed)
    return ConcordanceTest(area, pvalue, n_shuffles=SHUFFLES_OF_LARGE_COHORT)


def doubled_ranks(scores: Floats) -> Ints:
    """Twice the rank of every score, equal ones sharing the mean of their ranks: whole numbers."""
    return np.rint(2 * rankdata(scores)).astype(np.int64)


def doubled_concordance(ranks: Ints, positive: Bools) -> int:
    """Twice the number of pairs in the right order, 2U = 2 Σ ranks of positives − n₁(n₁ + 1).

    Parameters
    ----------
    ranks : twice the rank of every sample, (samples,)
    positive : which samples are positive, (samples,)
    """
    n_positive = int(np.count_nonzero(positive))
    return int(ranks[positive].sum()) - n_positive * (n_positive + 1)


def exact_steps(ranks: list[Ints], n_positives: list[int]) -> float:
    """About how many additions the exact law takes; parameters as in `concordance_law`."""
    steps = 0.0
    for block_ranks, n_positive in zip(ranks, n_positives, strict=True):
        n_samples = len(block_ranks)
        n_chosen = min(n_positive, n_samples - n_positive)
        steps += n_samples * n_chosen * 2.0 * n_samples * n_chosen
    return steps


def concordance_law(ranks: list[Ints], n_positives: list[int]) -> Floats:
    """P(2U = 0, 1, …), U the number of pairs in the right order within blocks, (2 pairs + 1,).

    Parameters
    ----------
    ranks : for each block twice the ranks of its samples, (samples of the block,)
    n_positives : how many samples of each block are positive
    """
    law = np.ones(1)
    for block_ranks, n_positive in zip(ranks, n_positives, strict=True):
        law = np.convolve(law, block_law(block_ranks, n_positive))
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
    """P(sum = 0, 1, …) of the ranks of so many samples drawn without replacement.

    Samples are gone through one after the other. If k of those before sample i were drawn, it is
    drawn with probability (n_chosen − k)/(n − i): all terms are positive, and nothing cancels.

    Parameters
    ----------
    ranks : whole numbers, (samples,)
    n_chosen : how many are drawn
    """
    n_samples = len(ranks)
    largest = int(np.sort(ranks)[n_samples - n_chosen :].sum())
    n_drawn = np.arange(n_chosen + 1)
    # law[k, s]: the probability that k of the samples so far were drawn, with a sum of s.
    law = np.zeros((n_chosen + 1, largest + 1))
    law[0, 0] = 1.0
    for i, rank in enumerate(ranks.tolist()):
        p_drawn = np.clip((n_chosen - n_drawn) / (n_samples - i), 0.0, 1.0)
        drawn = law * p_drawn[:, None]
        law *= 1 - p_drawn[:, None]
        # A sample that is drawn leads from (k, s) to (k + 1, s + its rank).
        law[1:, rank:] += drawn[:-1, : largest + 1 - rank]
    return law[n_chosen]


def shuffled_pvalue(ranks: list[Ints], n_positives: list[int], observed: int) -> float:
    """(1 + shuffles that do as well)/(1 + shuffles), labels shuffled within blocks.

    Parameters
    ----------
    ranks, n_positives : as in `concordance_law`
    observed : twice the number of pairs in the right order
    """
    rng = np.random.default_rng(SEED_OF_SHUFFLES)
    n_as_good = 0
    n_left = SHUFFLES_OF_LARGE_COHORT
    while n_left > 0:
        n_now = min(n_left, SHUFFLES_AT_ONCE)
        concordance = np.zeros(n_now, dtype=np.int64)
        for block_ranks, n_positive in zip(ranks, n_positives, strict=True):
            shuffled = rng.permuted(np.tile(block_ranks, (n_now, 1)), axis=1)
            # Ranks are doubled, so that ties have whole numbers. The smallest sum of the positives'
            # ranks, 2 + 4 + … + 2n = n(n + 1), belongs to no pair in the right order.
            smallest_sum = n_positive * (n_positive + 1)
            concordance += shuffled[:, :n_positive].sum(axis=1) - smallest_sum
        n_as_good += int(np.count_nonzero(concordance >= observed))
        n_left -= n_now
    return (1 + n_as_good) / (1 + SHUFFLES_OF_LARGE_COHORT)
