"""What the user declares about the samples (blocks, groups, pairs, covariates), checked against the
labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats, Ints
from chanceline.chance.binomial import log_binomial
from chanceline.errors import InputError
from chanceline.significance.null_sizes import COIN_NULL

# Blocks are taken for subjects if there are at least this many, most of them have one class, ...
MIN_BLOCKS_LIKE_SUBJECTS = 10
# ... and there are more than this many times as many blocks of one class as labels dealt at random
# would give.
MIN_RATIO_TO_RANDOM = 2


@dataclass(frozen=True, eq=False)
class DeclaredRoles:
    """What the user declares about the samples; None for a role that is not declared.

    Every role has one value for each sample.

    Attributes
    ----------
    blocks : names of blocks; labels are exchanged only within blocks.
    groups : names of groups; the samples of a group share a label and keep sharing it.
    pairs : names of pairs; a pair is a block of two units, one of each class.
    covariates : columns on which the labels may depend, by name.
    """

    blocks: ArrayLike | None = None
    groups: ArrayLike | None = None
    pairs: ArrayLike | None = None
    covariates: Mapping[str, ArrayLike] | None = None


def check_blocks_or_pairs(declared: DeclaredRoles, null: str) -> None:
    """Raise `InputError` if blocks or pairs are declared where they make no sense.

    Blocks and pairs exclude each other. Both need the null "fixed", under which labels are permuted
    with the class sizes kept; under the null "coin" every label is drawn by a fair coin.
    """
    if declared.blocks is not None and declared.pairs is not None:
        raise InputError(
            "pairs are blocks already: labels swap within each pair; give pairs or blocks, not "
            "both."
        )
    if null != COIN_NULL:
        return
    for role, values in (("blocks", declared.blocks), ("pairs", declared.pairs)):
        if values is not None:
            raise InputError(
                f"{role} restrict permutations and need the null with fixed class sizes."
            )


def check_groups(y: Floats, unit_of_sample: Ints, unit_labels: Floats) -> None:
    """Raise `InputError` if a group has samples of both labels.

    Parameters
    ----------
    y : (samples,) labels ±1.
    unit_of_sample : (samples,) numbers 0, 1, … of the groups.
    unit_labels : (groups,) the label of one sample of each group.
    """
    differing = np.flatnonzero(unit_labels[unit_of_sample] != y)
    if len(differing):
        raise InputError(
            f"a group must have one label, but row {differing[0] + 1} differs from its group; "
            "groups with both labels belong in blocks instead."
        )


def check_covariates_of_units(
    columns: Mapping[str, NDArray[Any]], unit_of_sample: Ints, sample_of_unit: Ints
) -> None:
    """Raise `InputError` if a covariate differs between samples of a unit (a group).

    Parameters
    ----------
    columns : covariates by name, each with one value for each sample.
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    sample_of_unit : (units,) one sample of each unit, its representative.
    """
    representatives = sample_of_unit[unit_of_sample]  # (samples,) that of each sample's unit
    for name, values in columns.items():
        if np.any(values[representatives] != values):
            raise InputError(f"covariate {name!r} must be the same in all rows of a group.")


def check_pairs(
    pair_names: NDArray[Any], pair_of_unit: Ints, unit_labels: Floats, unit_word: str
) -> None:
    """Raise `InputError` if a pair does not consist of one unit of each class.

    A unit is a sample, or a group of samples that share their label.

    Parameters
    ----------
    pair_names : (units,) the user's name for the pair of every unit.
    pair_of_unit : (units,) the same pairs as numbers 0, 1, …
    unit_labels : (units,) ±1.
    unit_word : what the message calls a unit, "row" or "group".
    """
    # Units of each class in every pair: (pairs,)
    positives = np.bincount(pair_of_unit, weights=unit_labels == 1).astype(int)
    negatives = np.bincount(pair_of_unit, weights=unit_labels == -1).astype(int)
    improper_pairs = np.flatnonzero((positives != 1) | (negatives != 1))
    if len(improper_pairs):
        pair = improper_pairs[0]  # the message gives the first as an example
        names_in_pair = pair_names[pair_of_unit == pair]
        name = names_in_pair[0]  # all units of a pair have the same name of the pair
        raise InputError(
            f"a pair must have one {unit_word} of each class, but pair {str(name)!r} has "
            f"{positives[pair]} of the positive and {negatives[pair]} of the other class "
            f"({len(improper_pairs)} of {len(positives)} pairs are like that); leave them out, or "
            "use blocks instead."
        )


def check_not_subjects(block_of_unit: Ints, unit_labels: Floats) -> None:
    """Raise `InputError` if the blocks look like subjects with several rows each.

    Labels are exchanged within blocks. The rows of one subject usually share their label, so that
    exchanging their labels changes nothing; such rows should be declared as a group instead. A
    block may have one class by chance, too. So blocks of several units are refused only if there
    are many, if most of them have one class, and if these are more than twice as many as expected
    with labels dealt at random.

    Parameters
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    unit_labels : (units,) ±1.
    """
    # Count the blocks with several units, as a single unit always has one class.
    block_sizes = np.bincount(block_of_unit)
    positives = np.bincount(block_of_unit, weights=unit_labels > 0)
    has_several_units = block_sizes > 1
    has_one_class = (positives == 0) | (positives == block_sizes)
    n_blocks = np.count_nonzero(has_several_units)
    n_one_class = np.count_nonzero(has_several_units & has_one_class)
    are_few = n_blocks < MIN_BLOCKS_LIKE_SUBJECTS
    most_have_one_class = 2 * n_one_class > n_blocks
    if are_few or not most_have_one_class:
        return

    expected_one_class = _expected_one_class_blocks(block_sizes[has_several_units], unit_labels)
    if n_one_class > MIN_RATIO_TO_RANDOM * expected_one_class:
        raise InputError(
            f"{n_one_class} of {n_blocks} blocks hold one class only, so that few labels can be "
            "exchanged; if the rows of a block are those of one subject, say groups=COLUMN instead "
            "of blocks, else leave those blocks out."
        )


def _expected_one_class_blocks(block_sizes: Ints, unit_labels: Floats) -> float:
    """The expected number of blocks of one class if the labels are dealt to units at random.

    A block of n units has only labels of a class of k of the P units with probability
    C(k, n)/C(P, n).

    Parameters
    ----------
    block_sizes : (blocks,) n.
    unit_labels : (units,) ±1.
    """
    n_units = len(unit_labels)
    expected = 0.0
    for label in (-1.0, 1.0):
        class_size = np.count_nonzero(unit_labels == label)
        log_p = log_binomial(class_size, block_sizes) - log_binomial(n_units, block_sizes)
        expected += float(np.exp(log_p).sum())
    return expected
