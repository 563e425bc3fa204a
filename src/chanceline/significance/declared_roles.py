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

# Blocks are taken for subjects if there are at least this many, most of them of one class ...
MIN_BLOCKS_LIKE_SUBJECTS = 10
# ... and if blocks of one class are more than this many times as frequent as random labels make
# them.
MIN_RATIO_TO_RANDOM = 2


@dataclass(frozen=True, eq=False)
class DeclaredRoles:
    """What the user declares about the samples, one value for each; None where nothing is.

    Attributes
    ----------
    blocks : labels are exchanged within blocks only.
    groups : samples of a group share a label, which moves with the whole group.
    pairs : blocks of one unit of each class.
    covariates : what the labels may depend on, by name.
    """

    blocks: ArrayLike | None = None
    groups: ArrayLike | None = None
    pairs: ArrayLike | None = None
    covariates: Mapping[str, ArrayLike] | None = None


def check_blocks_or_pairs(declared: DeclaredRoles, null: str) -> None:
    """Refuse blocks together with pairs, and either of them under the null of fair coins."""
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
    """All samples of a group have one label."""
    differing = np.flatnonzero(unit_labels[unit_of_sample] != y)
    if len(differing):
        raise InputError(
            f"a group must have one label, but row {differing[0] + 1} differs from its group; "
            "groups with both labels belong in blocks instead."
        )


def check_covariates_of_units(
    columns: Mapping[str, NDArray[Any]], unit_of_sample: Ints, sample_of_unit: Ints
) -> None:
    """A covariate must have one value in all samples of a unit.

    Parameters
    ----------
    columns : one value for each sample, by name.
    unit_of_sample : (samples,) numbers of the units.
    sample_of_unit : (units,) one sample of each unit.
    """
    representatives = sample_of_unit[unit_of_sample]  # (samples,) the one of the sample's unit
    for name, values in columns.items():
        if np.any(values[representatives] != values):
            raise InputError(f"covariate {name!r} must be the same in all rows of a group.")


def check_pairs(
    pair_names: NDArray[Any], pair_of_unit: Ints, unit_labels: Floats, unit_word: str
) -> None:
    """Refuse pairs that do not have one unit of each class.

    Parameters
    ----------
    pair_names : (units,) what the user calls the pair of every unit.
    pair_of_unit : (units,) numbers 0, 1, … of the pairs.
    unit_labels : (units,) ±1.
    unit_word : what the sentence calls a unit.
    """
    positives = np.bincount(pair_of_unit, weights=unit_labels == 1).astype(int)
    negatives = np.bincount(pair_of_unit, weights=unit_labels == -1).astype(int)
    improper_pairs = np.flatnonzero((positives != 1) | (negatives != 1))
    if len(improper_pairs):
        pair = improper_pairs[0]
        name = pair_names[pair_of_unit == pair][0]
        raise InputError(
            f"a pair must have one {unit_word} of each class, but pair {str(name)!r} has "
            f"{positives[pair]} of the positive and {negatives[pair]} of the other class "
            f"({len(improper_pairs)} of {len(positives)} pairs are like that); leave them out, or "
            "use blocks instead."
        )


def check_not_subjects(block_of_unit: Ints, unit_labels: Floats) -> None:
    """Refuse blocks that look like subjects, whose rows nearly all have one label.

    Labels are exchanged within blocks, and a block of one class never changes. Some blocks have one
    class by chance. They are refused if there are many blocks, most of them have one class, and
    that is more than twice as many as labels dealt at random would give.

    Parameters
    ----------
    block_of_unit : (units,) numbers 0, 1, … of the blocks.
    unit_labels : (units,) ±1.
    """
    # Blocks of a single unit have one class anyway: they are not counted.
    block_sizes = np.bincount(block_of_unit)
    positives = np.bincount(block_of_unit, weights=unit_labels > 0)
    has_several_units = block_sizes > 1
    n_blocks = np.count_nonzero(has_several_units)
    is_one_class = has_several_units & ((positives == 0) | (positives == block_sizes))
    n_one_class = np.count_nonzero(is_one_class)
    most_have_one_class = 2 * n_one_class > n_blocks
    if n_blocks < MIN_BLOCKS_LIKE_SUBJECTS or not most_have_one_class:
        return

    expected = _expected_one_class_blocks(block_sizes[has_several_units], unit_labels)
    if n_one_class > MIN_RATIO_TO_RANDOM * expected:
        raise InputError(
            f"{n_one_class} of {n_blocks} blocks hold one class only, so that few labels can be "
            "exchanged; if the rows of a block are those of one subject, say groups=COLUMN instead "
            "of blocks, else leave those blocks out."
        )


def _expected_one_class_blocks(block_sizes: Ints, unit_labels: Floats) -> float:
    """How many blocks of these sizes hold one class, on average, if labels are dealt at random.

    All n labels of a block come from a class of k of the P units with probability
    C(k, n)/C(P, n).
    """
    n_units = len(unit_labels)
    expected = 0.0
    for label in (-1.0, 1.0):
        class_size = np.count_nonzero(unit_labels == label)
        log_p = log_binomial(class_size, block_sizes) - log_binomial(n_units, block_sizes)
        expected += float(np.exp(log_p).sum())
    return expected
