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
def find_branching_variables(
    unmet: Any, variables: Any, last_included: int, level: int, size: int
) -> int:
    """Find the open variables to branch on at a level of the search; return how many.

    At each level the search includes one variable, and at the last level the support is complete. A
    variable is open if it is neither included nor excluded. A cut is a set of variables of which
    every separating support contains at least one. A cut is unmet as long as none of its variables
    is included. The variables to branch on are

    1. at the last level, size − 1, the open variables that all unmet cuts share, because the one
       variable that is still missing must meet all these cuts;
    2. at other levels the open variables of one unmet cut, the cut with the fewest of them, so that
       there are few branches;
    3. if no cut is unmet, or there are no cuts, all open variables. (In this case the number
       returned is that of all variables of the table, open or not. Callers take it as an upper
       limit on the size of a better cut.)

    Parameters
    ----------
    unmet : the `UnmetCuts`. The cuts that are unmet at this level are listed in it, except in case
        1; the level above must have listed its own.
    variables : the `Variables`, with the open ones as bits.
    last_included : the variable included at the level above; −1 at level 0.
    level : depth of the search, 0 … size − 1.
    size : number of variables of a support.

    Returns
    -------
    The number of variables to branch on, which are written to `unmet.branching_words` as bits. If
    it is 0, no support can meet all cuts.
    """
    has_cuts = unmet.cuts.shape[2] > 0
    is_last_level = level == size - 1
    if has_cuts and is_last_level:
        # Case 1. The level above has listed the cuts that were unmet there. If such a cut does not
        # contain the variable included there, it is unmet here too; these cuts need no list of
        # their own. (There is a level above: supports of one variable are searched without cuts.)
        level_above = level - 1
        return find_open_in_all_cuts(
            cuts=unmet.cuts[level_above],
            n_cuts=unmet.n_unmet[level_above],
            j=last_included,
            open_words=variables.open_words,
            shared_words=unmet.branching_words,
        )

    # Cases 2 and 3. List the cuts that are unmet here. At level 0 all cuts are listed already.
    if level > 0:
        list_unmet(unmet, last_included, level)
    return find_smallest_unmet_cut(unmet, level, variables.open_words, variables.status.size)


@leaf_kernel()
def list_unmet(unmet: Any, j: int, level: int) -> None:
    """List the cuts that are unmet at this level: those of the level above without variable j.

    The level above has included variable j, so the cuts that contain j are met. The other cuts of
    its list are copied to the front of the list of this level, and counted in `unmet.n_unmet`.

    unmet : the `UnmetCuts`. The list of a level, `unmet.cuts[level]`, has shape (words, cuts): each
        cut is a column, with the variables as bits of its words.
    """
    n_words = unmet.cuts.shape[1]
    n_cuts_above = unmet.n_unmet[level - 1]
    bit_of_j = bit_of(j)
    words_with_j = unmet.cuts[level - 1, word_of(j)]  # (cuts,), the word of each cut that has bit j
    for w in range(n_words):
        # Copy word w of every unmet cut, and leave no holes. This is done without an `if`, which is
        # faster: every cut is copied to place `n_unmet`, and only an unmet cut moves this place on.
        # So the next cut overwrites a cut that is met.
        words_above = unmet.cuts[level - 1, w]  # (cuts,)
        words_here = unmet.cuts[level, w]  # (cuts,)
        n_unmet = 0
        for cut in range(n_cuts_above):
            words_here[n_unmet] = words_above[cut]
            is_unmet = (words_with_j[cut] & bit_of_j) == EMPTY_WORD
            n_unmet += is_unmet  # by 0 or 1
        unmet.n_unmet[level] = n_unmet  # the same for every word


@leaf_kernel()
def find_open_in_all_cuts(
    cuts: NDArray, n_cuts: int, j: int, open_words: NDArray, shared_words: NDArray
) -> int:
    """Find the open variables that all cuts without variable j share; return how many there are.

    Sets of variables are bits in words of 64.

    cuts : (words, cuts) the sets; only the first `n_cuts` count.
    j : a variable; cuts that contain it are left out.
    open_words : (words,) the open variables.
    shared_words : (words,) filled with the variables found.
    """
    bit = bit_of(j)
    word_with_j = word_of(j)
    n_shared = 0
    for w in range(open_words.size):
        # Intersect word w of the open variables with that of each cut, until nothing is left.
        shared = open_words[w]
        for cut in range(n_cuts):
            lacks_j = (cuts[word_with_j, cut] & bit) == EMPTY_WORD
            if lacks_j:
                shared &= cuts[w, cut]
                if shared == EMPTY_WORD:
                    break
        shared_words[w] = shared
        n_shared += bits_set(shared)
    return n_shared


@leaf_kernel()
def find_smallest_unmet_cut(unmet: Any, level: int, open_words: NDArray, n_features: int) -> int:
    """Find the unmet cut of this level with the fewest open variables; return how many it has.

    A cut is a set of variables of which at least one must be included; it is unmet as long as none
    is. The open variables of the cut found are written to `unmet.branching_words`. If no cut is
    unmet, all open variables are written there, and `n_features` is returned. If 0 is returned, no
    support can meet the cut any more. Sets of variables are bits in words of 64.

    unmet : the `UnmetCuts`. The first `n_unmet[level]` columns of `cuts[level]`, (words, cuts), are
        the unmet cuts of this level.
    open_words : (words,) the open variables.
    n_features : number of all variables.
    """
    cuts = unmet.cuts[level]  # (words, cuts)
    first_open_word = open_words[0]
    n_words = open_words.size
    fewest_open = n_features
    smallest_cut = NONE
    for cut in range(unmet.n_unmet[level]):
        # Count the open variables of the cut. Word 0, often the only one, is counted before the
        # loop over the other words, for speed.
        n_open = bits_set(cuts[0, cut] & first_open_word)
        for w in range(1, n_words):
            n_open += bits_set(cuts[w, cut] & open_words[w])
        if n_open < fewest_open:
            fewest_open = n_open
            smallest_cut = cut
            if n_open == 0:
                break

    # Write the open variables, and keep only those of the smallest cut if there is one.
    for w in range(n_words):
        unmet.branching_words[w] = open_words[w]
        if smallest_cut != NONE:
            unmet.branching_words[w] &= cuts[w, smallest_cut]
    return fewest_open


@inlined_kernel()
def exclude_set(variables: Any, words: NDArray, members: NDArray) -> int:
    """Exclude the variables of a set of bits, and list them in `members`; return how many.

    words : (words,) the set: variable j is bit j mod 64 of word j // 64.
    members : filled with the numbers of the variables, in ascending order.
    """
    n_members = 0
    for w in range(words.size):
        remaining_bits = words[w]
        while remaining_bits != EMPTY_WORD:
            j = WORD_BITS * w + lowest_place(remaining_bits)
            members[n_members] = j
            n_members += 1
            set_status(variables, j, EXCLUDED)
            remaining_bits &= remaining_bits - ONE_BIT  # clear its lowest bit
    return n_members
