"""Which samples stay together, and how they are dealt to folds.

A *unit* is never split between folds. Units are the groups that the user declared (single samples,
where there are none). Columns are measured from the mean of their *block*, so a block of which few
samples remain for training has no usable mean: small blocks are held out whole, and so are all
blocks where these are as many as folds. Such a block is a unit too, together with every group that
reaches into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from chanceline._arrays import Bools, Floats, Ints

# Of the cross-validation that estimates the error of a rule.
N_OUTER_FOLDS = 10
# Of the one that chooses among candidates, within the training samples.
N_INNER_FOLDS = 5
# Smaller blocks are held out whole: the mean of those that stay would be no measure of the rest.
MIN_SPLIT_BLOCK = 8

# What a random generator is made from: the user's seed, a stream, and counters.
Seed = Sequence[int]


class Stream(IntEnum):
    """What random numbers are drawn for, so that no two purposes share them."""

    INNER_FOLDS = 0
    TUNING_SUBSAMPLE = 1
    OUTER_FOLDS = 2
    OUTER_TRAINING = 3
    HALVES = 5


def join_units(group_of_sample: Ints, block_of_sample: Ints) -> Ints:
    """The number of every sample's unit, (samples,): a unit is never split between folds.

    Samples of one group (a patient, say) are of one unit. So are samples of one block (a site), if
    the block is held out whole (`blocks_held_out_whole`): this is so for small blocks, and for all
    blocks if there are many. For example, if patients 1 and 2 were at site A and patient 3 at
    site B, there are two units. If patient 3 was at both sites, all samples are of one unit.

    Parameters
    ----------
    group_of_sample : number of every sample's group, 0, 1, …, (samples,)
    block_of_sample : number of every sample's block, 0, 1, …, (samples,)
    """
    # If all blocks may be split, the units are the groups.
    is_held_out_whole = blocks_held_out_whole(block_of_sample)  # (blocks,)
    if not is_held_out_whole.any():
        return group_of_sample

    # Otherwise a unit is a connected component of the graph in which every block held out whole is
    # connected with the groups that have samples in it.
    in_whole_block = is_held_out_whole[block_of_sample]  # (samples,)
    component_of_group = connected_groups(group_of_sample, block_of_sample, in_whole_block)
    component_of_sample = component_of_group[group_of_sample]
    n_whole_blocks = int(np.count_nonzero(is_held_out_whole))
    n_components = len(np.unique(component_of_sample[in_whole_block]))

    # An exception: groups may connect nearly all blocks with each other, as patients connect the
    # days on which they were seen. Then there are too few components to deal to folds: fewer than
    # half of what could be, the number of folds or of blocks held out whole. In this case blocks
    # are split after all, and the units are the groups.
    largest_useful_number = min(N_OUTER_FOLDS, n_whole_blocks)
    if n_components < largest_useful_number / 2:
        return group_of_sample

    # If every block is a component by itself, the units are the blocks, with their numbers.
    if is_held_out_whole.all() and n_components == n_whole_blocks:
        return block_of_sample
    return component_of_sample


def connected_groups(group_of_sample: Ints, block_of_sample: Ints, joins: Bools) -> Ints:
    """The number of every group's component, (groups,), where blocks connect groups.

    Parameters
    ----------
    group_of_sample, block_of_sample : numbers 0, 1, …, (samples,)
    joins : the samples that connect their group with their block, (samples,)
    """
    # A graph whose nodes are first the groups, then the blocks; its edges are samples.
    n_groups = int(group_of_sample.max()) + 1
    n_nodes = n_groups + int(block_of_sample.max()) + 1
    group_nodes = group_of_sample[joins]
    block_nodes = n_groups + block_of_sample[joins]
    edges = (np.ones(len(group_nodes)), (group_nodes, block_nodes))
    graph = coo_array(edges, shape=(n_nodes, n_nodes))
    component_of_node = connected_components(graph, directed=False)[1]
    return component_of_node[:n_groups].astype(np.int64)


def blocks_held_out_whole(block_of_sample: Ints) -> Bools:
    """True for every block that is never split between folds, (blocks,).

    These are the blocks of fewer than `MIN_SPLIT_BLOCK` samples; and all blocks, if they are as
    many as folds. Their number is counted as (Σ sizes)²/Σ sizes², so that a large block with crumbs
    beside it counts as one. A single block is always split.
    """
    sizes = np.bincount(block_of_sample)
    n_blocks = len(sizes)
    if n_blocks == 1:
        return np.array([False])
    effective_n_blocks = len(block_of_sample) ** 2 / np.sum(sizes**2)
    if effective_n_blocks >= N_OUTER_FOLDS:
        return np.full(n_blocks, True)
    return sizes < MIN_SPLIT_BLOCK


def deal_to_folds(
    labels: Floats,
    unit_of_sample: Ints,
    block_of_sample: Ints,
    *,
    n_folds: int,
    seed: Seed,
) -> Ints:
    """A fold for every sample, (samples,); units are dealt to folds in turn, as cards to players.

    A unit is a set of samples that stay in one fold. Units are dealt class by class, within a class
    block by block (a block is a site, say), and within a block in random order. Both classes begin
    with fold 0: a fold with one more positive unit than others tends to have one more negative unit
    too, so that the classes have nearly the same shares in all folds. Units with samples of both
    classes continue where the larger class ended. For example, three folds get four negative units,
    two positive units and two units of both classes in this way:

        negative 0 1 2 0,    positive 0 1,    both 1 2.

    Parameters
    ----------
    labels : ±1, (samples,)
    unit_of_sample, block_of_sample : numbers of units and blocks, (samples,)
    n_folds : number of folds; with few units the last folds stay empty
    seed : of the random order
    """
    # Number the units 0, 1, …, and find the class (−1, 1, or 0 for both) and block of each.
    units, first_sample, unit_of_sample = np.unique(
        unit_of_sample, return_index=True, return_inverse=True
    )
    n_units = len(units)
    class_of_unit = class_of_units(labels, unit_of_sample)
    block_of_unit = block_of_sample[first_sample]

    # The order in which units are dealt: by class, then block, then at random. (The last key of
    # `lexsort` is the main one.)
    random_key = np.random.default_rng(seed).random(n_units)
    dealing_order = np.lexsort((random_key, block_of_unit, class_of_unit))

    # Deal them to folds in turn, and go back to the numbers of the units, then to the samples.
    turns = turns_by_class(class_of_unit[dealing_order])
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[dealing_order] = turns % n_folds
    return fold_of_unit[unit_of_sample]


def turns_by_class(sorted_classes: Ints) -> Ints:
    """Number the units of every class 0, 1, 2, … in the order in which they are dealt: (units,).

    Units with samples of both classes (class 0) continue where the larger of the classes −1 and 1
    ended. `sorted_classes`, (units,), are the classes of the units in the order of dealing.
    """
    # As the classes are sorted, `searchsorted` tells for every unit where its class begins.
    start_of_class = np.searchsorted(sorted_classes, sorted_classes, side="left")  # (units,)
    turns = np.arange(len(sorted_classes)) - start_of_class

    n_negative = np.count_nonzero(sorted_classes < 0)
    n_positive = np.count_nonzero(sorted_classes > 0)
    turns[sorted_classes == 0] += max(n_negative, n_positive)
    return turns


def class_of_units(labels: Floats, unit_of_sample: Ints) -> Ints:
    """−1 or 1 for units of one class, 0 for those that hold both, (units,)."""
    n_positive = np.bincount(unit_of_sample, weights=labels > 0)
    n_samples = np.bincount(unit_of_sample)
    return np.select([n_positive == 0, n_positive == n_samples], [-1, 1], default=0)


def draw_units(unit_of_sample: Ints, n_samples: int, seed: Seed) -> Bools:
    """Which samples belong to units drawn at random, about `n_samples` of them: (samples,)."""
    units, unit_of_sample = np.unique(unit_of_sample, return_inverse=True)
    n_units_drawn = max(1, round(len(units) * n_samples / len(unit_of_sample)))
    rank_of_unit = np.random.default_rng(seed).permutation(len(units))
    return (rank_of_unit < n_units_drawn)[unit_of_sample]
