"""Compiled: which cuts of few patterns are still unmet, and the smallest of them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from chanceline.kernels.compile import NONE, inlined_kernel, leaf_kernel
from chanceline.select.bitsets import (
    EMPTY_WORD,
    ONE_BIT,
    WORD_BITS,
    bit_of,
    bits_set,
    lowest_place,
    word_of,
)
from chanceline.select.walk_state import EXCLUDED, OPEN


@leaf_kernel()
def set_status(variables: Any, j: int, status: int) -> None:
    """Set the status of variable j: OPEN, INCLUDED or EXCLUDED.

    `variables` holds the status of each variable, and the set of open ones also as bits.
    """
    bit = bit_of(j)
    w = word_of(j)
    variables.status[j] = status
    if status == OPEN:
        variables.open_words[w] |= bit
    else:
        variables.open_words[w] &= ~bit


@leaf_kernel()
def smallest_open_cut(unmet: Any, variables: Any, included: int, level: int, size: int) -> int:
    """Find the unmet cut with the fewest open variables; return how many it has.

    A cut is a set of variables of which every separating support contains at least one. It is met
    if one of its variables is included. The open variables of the smallest unmet cut are written to
    `unmet.smallest` as bits. At the last level, size − 1, one variable must meet all unmet cuts, so
    the variables that do are written instead. Without any cuts all open variables are written, and
    the number of all variables is returned.

    Parameters
    ----------
    unmet : the `UnmetCuts`; those of this level are filled in here.
    variables : the `Variables`, with the open ones as bits.
    included : the variable included at the level above; −1 at level 0.
    level : depth of the search, 0 … size − 1.
    size : number of variables of a support.
    """
    has_cuts = unmet.cuts.shape[2] > 0
    # Supports of one variable are walked without cuts: where there are cuts, the last level has one
    # above it.
    if has_cuts and level == size - 1:
        return open_in_all_cuts(
            cuts=unmet.cuts[level - 1],
            n_cuts=unmet.n_unmet[level - 1],
            j=included,
            open_words=variables.open_words,
            shared_words=unmet.smallest,
        )
    if level > 0:
        keep_unmet(unmet, included, level)
    return smallest_of_level(unmet, level, variables.open_words, variables.status.size)


@leaf_kernel()
def keep_unmet(unmet: Any, j: int, level: int) -> None:
    """Copy the cuts of the level above that variable j does not meet to this level.

    j was included at the level above. Cuts are bits, of shape (words, cuts) at each level. Those
    that contain j are met and left out; the others move up to fill the gaps.
    """
    bit = bit_of(j)
    words_with_j = unmet.cuts[level - 1, word_of(j)]  # (cuts,), for each cut the word with bit j
    for w in range(unmet.cuts.shape[1]):
        above = unmet.cuts[level - 1, w]
        here = unmet.cuts[level, w]
        n_kept = 0
        for i in range(unmet.n_unmet[level - 1]):
            # A cut that is met is copied too, but the next one overwrites it: faster than an `if`.
            here[n_kept] = above[i]
            is_unmet = (words_with_j[i] & bit) == EMPTY_WORD
            n_kept += is_unmet
        unmet.n_unmet[level] = n_kept  # the same for every word


@leaf_kernel()
def open_in_all_cuts(
    cuts: NDArray, n_cuts: int, j: int, open_words: NDArray, shared_words: NDArray
) -> int:
    """Find the open variables that belong to all cuts which variable j does not meet; count them.

    cuts : (words, cuts) as bits; the first `n_cuts` are looked at.
    open_words : (words,) the open variables as bits.
    shared_words : (words,) filled with the variables found, as bits.
    """
    bit = bit_of(j)
    word_with_j = word_of(j)
    n_shared = 0
    for w in range(open_words.size):
        shared = open_words[w]
        for i in range(n_cuts):
            is_unmet = (cuts[word_with_j, i] & bit) == EMPTY_WORD
            if is_unmet:
                shared &= cuts[w, i]
                if shared == EMPTY_WORD:
                    break
        shared_words[w] = shared
        n_shared += bits_set(shared)
    return n_shared


@leaf_kernel()
def smallest_of_level(unmet: Any, level: int, open_words: NDArray, n_features: int) -> int:
    """Find the cut of this level with the fewest open variables; return how many it has.

    Its open variables are written to `unmet.smallest` as bits. If there are no cuts, these are all
    open variables, and `n_features` is returned. If 0 is returned, no support can meet that cut any
    more.

    unmet : the `UnmetCuts`, as bits.
    open_words : (words,) the open variables as bits.
    """
    cuts = unmet.cuts[level]
    first_open = open_words[0]
    n_words = open_words.size
    smallest_size = n_features
    smallest_cut = NONE
    for i in range(unmet.n_unmet[level]):
        # Word 0 outside the loop, for speed: often it is the only one.
        size = bits_set(cuts[0, i] & first_open)
        for w in range(1, n_words):
            size += bits_set(cuts[w, i] & open_words[w])
        if size < smallest_size:
            smallest_size = size
            smallest_cut = i
            if size == 0:
                break

    # Write its open variables, or all open ones if there is no cut.
    for w in range(n_words):
        unmet.smallest[w] = open_words[w]
        if smallest_cut >= 0:
            unmet.smallest[w] &= cuts[w, smallest_cut]
    return smallest_size


@inlined_kernel()
def exclude_set(variables: Any, words: NDArray, members: NDArray) -> int:
    """Exclude the variables of a set of bits, and list them in `members`; return how many.

    words : (words,) the set: variable j is bit j mod 64 of word j // 64.
    members : filled with the numbers of the variables, in ascending order.
    """
    n_members = 0
    for w in range(words.size):
        word = words[w]
        while word != EMPTY_WORD:
            j = WORD_BITS * w + lowest_place(word)
            members[n_members] = j
            set_status(variables, j, EXCLUDED)
            word &= word - ONE_BIT  # without its lowest bit
            n_members += 1
    return n_members
