"""Designs that a column shows: one label in all rows of each value, or equally many of each class.

Both happen by chance, with a probability under shuffled labels that is counted exactly:
[z^{n₊}] Π_v (1 + z^{s_v})/C(P, n₊) for values of s_v rows that have one label each, and
Π_v C(s_v, k)/C(P, n₊) for k positives in each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.tables.partitions import determines
from chanceline.tables.roles import Role
from chanceline.tables.stems import Stems

LOG_SMALLEST_SHOWN = np.log(1e-300)
DESIGN_IN_WORDS = {
    Role.GROUPS: "one label in all rows of each, like subjects, whose rows are not independent",
    Role.PAIRS: "one row of each class in each, like pairs",
    Role.BLOCKS: "equally many rows of each class in each, like matched samples, whose labels "
    "belong together",
}


@dataclass(frozen=True)
class Design:
    """How the rows with one value of a column belong together.

    Attributes
    ----------
    role : as what the column is to be declared.
    log_chance : ln of the probability that shuffled labels look like it.
    """

    role: Role
    log_chance: float

    @property
    def in_words(self) -> str:
        """The design and its probability."""
        chance = f"{np.exp(self.log_chance):.1g}"
        if self.log_chance < LOG_SMALLEST_SHOWN:
            chance = "below 1e-300"
        return f"{DESIGN_IN_WORDS[self.role]} (probability {chance} by chance)"


def find_design(value_of_row: NDArray[np.int64], labels: Floats) -> Design | None:
    """The design that a column shows: how rows with the same value belong together.

    It is that of groups (subjects) if all rows with the same value have the same label; of pairs or
    blocks if all values that repeat have the same number of rows of each class; else None.

    Parameters
    ----------
    value_of_row : (samples,) the column, its values numbered 0, 1, …
    labels : ±1 of shape (samples,).
    """
    sizes = np.bincount(value_of_row)  # (values,)
    positives = np.bincount(value_of_row, weights=labels > 0).astype(int)
    have_one_label = np.all((positives == 0) | (positives == sizes))
    if have_one_label:
        log_chance = log_chance_one_label(sizes, n_positives=int(positives.sum()))
        return Design(Role.GROUPS, log_chance)
    repeats = sizes > 1
    return _matched_design(sizes[repeats], positives[repeats])


def _matched_design(sizes: NDArray[np.int64], positives: NDArray[np.int64]) -> Design | None:
    """The design of pairs or blocks, if all values have the same numbers of rows and of positives;
    else None.

    With sizes s_v and positives k_v, shuffled labels look like that with the probability
    Π_v C(s_v, k_v)/C(Σ s_v, Σ k_v).

    Parameters
    ----------
    sizes, positives : numbers of rows and of positive rows of each value that repeats, (values,).
    """
    if len(np.unique(sizes)) != 1 or len(np.unique(positives)) != 1:
        return None
    log_arrangements = float(np.sum(log_binomial(sizes, positives)))
    log_chance = log_arrangements - float(log_binomial(sizes.sum(), positives.sum()))
    if sizes[0] == 2:
        return Design(Role.PAIRS, log_chance)
    return Design(Role.BLOCKS, log_chance)


def log_chance_one_label(sizes: NDArray[np.int64], n_positives: int) -> float:
    """ln of the probability that after shuffling, all rows with the same value have the same label.

    Value v has s_v rows. The number of ways to choose values that have n₊ positive rows in all is
    the coefficient of z^{n₊} in Π_v (1 + z^{s_v}). Divided by C(Σ s_v, n₊), the number of all
    labellings, it is the probability.

    Parameters
    ----------
    sizes : s_v, the number of rows of each value, (values,).
    n_positives : n₊, the number of positive rows.
    """
    # The coefficients of the product up to z^{n₊}: ways to choose values with 0, 1, …, n₊ rows.
    ways = np.append(1.0, np.zeros(n_positives))
    for size in sizes:
        ways_with_this_value = np.append(np.zeros(size), ways)[: n_positives + 1]
        # Halved for every value, so that no number overflows; 2^{values} is put back below.
        ways = (ways + ways_with_this_value) / 2
    halved_ways = max(ways[-1], np.finfo(float).tiny)  # it may underflow, and 0 has no logarithm
    log_ways = float(np.log(halved_ways)) + len(sizes) * LOG2
    return log_ways - float(log_binomial(sizes.sum(), n_positives))


def design_of_stems(stems: Stems, labels: Floats) -> Design | None:
    """The design that rows with the same stem show (`P07` is the stem of `P07_a`); None if none.

    A design says how rows belong together: as groups (rows of one subject), pairs or blocks.
    Pairs and blocks are recognized only if a separator stands between stem and tail, and blocks
    only if the tails look like visits. Groups need neither.

    Parameters
    ----------
    stems : stems and tails of the rows' names.
    labels : ±1 of shape (samples,).
    """
    stem_of_row, _ = pd.factorize(np.array(stems.stems, dtype=object))  # numbers 0, 1, …
    design = find_design(stem_of_row, labels)
    if design is None or design.role == Role.GROUPS:
        return design
    if not stems.separated:
        return None  # `A1`, `A2` may be rows and columns of a plate
    if design.role == Role.BLOCKS and not _look_like_visits(stems, labels):
        return None
    return design


def _look_like_visits(stems: Stems, labels: Floats) -> bool:
    """Whether the rows of a stem look like visits of a subject, and not like wells of a plate.

    Their tails tell the class (`P07_before`), and no stem has as many rows as there are stems.
    """
    n_rows_of_largest = max(stems.sizes.values())
    return n_rows_of_largest < len(stems.sizes) and tails_tell_class(stems, labels)


def tails_tell_class(stems: Stems, labels: Floats) -> bool:
    """Whether all rows with one tail have one label, as those of `P01_T` and `P02_T` do."""
    return determines(pd.Series(stems.tails), pd.Series(labels))
