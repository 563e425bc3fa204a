"""Cuts of ±1 variables: every few patterns that cancel on a support refute it.

If Σ_μ λ_μ a_μj = 0 with λ ≥ 0 for all j of a support, nothing separates there (Gordan's theorem).
So every separating support contains a variable of the cut D = {j : Σ_μ λ_μ a_μj ≠ 0}. Two
patterns cancel on half of the variables, four with equal λ on 3/8, six on 5/16 of them; the
latter are so many that they refute nearly every support too small to separate. A variable whose
weight must not be negative is in the cut only if Σ_μ λ_μ a_μj > 0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import inlined_kernel, kernel, leaf_kernel
from chanceline.perceptron.integers import small_integers
from chanceline.perceptron.problem import Problem
from chanceline.select.bitsets import EMPTY_WORD, WORD_BITS, bits_set, pack, pack_set, unpack

MAX_CUT_PATTERNS = 128  # that cuts are made of: their fours are ten million
MAX_SIXES = 80_000_000  # those of 64 patterns

# In the place of `max_size` of `list_cuts`: no cut is as small, so all are counted, none written.
WRITE_NO_CUTS = -1

# In the place of the bits of a cut: the patterns exclude no support.
NOT_A_CUT = -1


class CutLimits(NamedTuple):
    """Where cuts of few patterns are used, and how many.

    max_size : on larger supports few patterns cancel, and the hard margin gives smaller cuts.
    max_variables : of the problem.
    max_cuts : the smallest are taken.
    sixes_from : size of a support from which cuts of six patterns are worth their time.
    """

    max_size: int = 16
    max_variables: int = 256
    max_cuts: int = 100_000
    sixes_from: int = 9


DEFAULT_LIMITS = CutLimits()


class CutPatterns(NamedTuple):
    """The patterns that cuts are made of; sets of columns are bits in words of 64.

    negative : (words, patterns), the bits of the negative entries of each pattern.
    always : (words,), the unpenalized columns, which belong to every support: a cut with one of
        them is met by all, and refutes none.
    nonnegative : (words,), the columns whose weight must not be negative.
    n_padding : bits of the last word that belong to no column. No pattern is negative there, so
        they never cancel: they are in every cut.
    """

    negative: NDArray[np.uint64]
    always: NDArray[np.uint64]
    nonnegative: NDArray[np.uint64]
    n_padding: int


def pack_patterns(problem: Problem) -> CutPatterns:
    """Pack the signs of the first patterns, at most MAX_CUT_PATTERNS, into bits to make cuts of."""
    n_columns = problem.n_features + problem.n_unpenalized
    negative = pack(problem.columns[:, :MAX_CUT_PATTERNS].T < 0)
    return CutPatterns(
        negative=negative,
        always=pack_set(np.arange(n_columns) >= problem.n_features),
        nonnegative=pack_set(problem.nonnegative),
        n_padding=WORD_BITS * len(negative) - n_columns,
    )


class CutScratch(NamedTuple):
    """Scratch of `write_cuts`, with an entry for every level: 1 … order − 1 patterns are chosen.

    chosen : (order,), the pattern chosen at each level; place 0 is not used.
    ones, twos, fours : (order, words), how many of the patterns chosen so far are negative, for
        every variable, as the digits of a binary number. At level 0, with no pattern, zeros.
    cut : (words,), the cut that was filled last, as bits.
    """

    chosen: NDArray[np.int64]
    ones: NDArray[np.uint64]
    twos: NDArray[np.uint64]
    fours: NDArray[np.uint64]
    cut: NDArray[np.uint64]


def make_cut_scratch(order: int, n_words: int) -> CutScratch:
    """Allocate scratch for cuts of `order` patterns, with variables as bits of `n_words` words."""
    return CutScratch(
        chosen=np.full(order, -1),
        ones=np.zeros((order, n_words), dtype=np.uint64),
        twos=np.zeros((order, n_words), dtype=np.uint64),
        fours=np.zeros((order, n_words), dtype=np.uint64),
        cut=np.zeros(n_words, dtype=np.uint64),
    )


def pattern_cuts_help(problem: Problem, size: int, limits: CutLimits = DEFAULT_LIMITS) -> bool:
    """Whether cuts of few patterns help to decide on supports of this size.

    A cut is a set of variables of which every separating support contains at least one. Cuts of a
    few patterns exist if all values are ±1. They help if the supports and the number of variables
    are small enough (`limits`).
    """
    n_unpenalized = problem.n_unpenalized  # 1 with an intercept, else 0
    if size < 2 or size + n_unpenalized > limits.max_size:
        return False  # supports of one variable are searched without cuts
    if problem.n_features + n_unpenalized > limits.max_variables:
        return False

    all_plus_or_minus_one = np.all(np.abs(problem.columns) == 1.0)
    if not all_plus_or_minus_one:
        return False
    # Scaled columns are rounded, so that values of X which differ very little would look equal. So
    # X itself is tested too: `small_integers` has NaN, which is not ≤ 1, for a variable whose
    # values are not small integers.
    are_small_integers = np.all(np.abs(small_integers(problem)) <= 1.0)
    return bool(are_small_integers)


@lru_cache(maxsize=2)
def arranged_cuts(
    problem: Problem, sixes: bool, max_cuts: int = DEFAULT_LIMITS.max_cuts
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the smallest cuts, and an order of the variables that suits them.

    A cut is a set of variables of which every separating support contains at least one. Variables
    are ordered by the number of cuts they belong to, the most frequent first. Such a variable is
    tried first in a search, so that all later branches do without it.

    Parameters
    ----------
    sixes : whether cuts of six patterns are wanted, besides those of two and four.
    max_cuts : the largest number of cuts.

    Returns
    -------
    The order, (features,), and the cuts as bits in that order, (words, cuts).
    """
    cuts = smallest_cuts(problem, sixes, max_cuts)
    n_cuts_with = cuts.sum(axis=0)  # (features,)
    order = np.argsort(n_cuts_with, kind="stable")[::-1].copy()
    return order, pack(cuts[:, order])


def smallest_cuts(
    problem: Problem, allow_six_patterns: bool, max_cuts: int = DEFAULT_LIMITS.max_cuts
) -> NDArray[np.bool_]:
    """Return the smallest cuts made of two, four and, if wanted, six patterns, sorted by size.

    A pattern is a sample times its label, here with values ±1. If some patterns sum to zero on all
    variables of a support, nothing separates there. So every separating support has one of the
    variables where the sum is not zero (where it is positive, if the weight must not be negative).
    These variables are the cut that the patterns make; its size is their number. Only an even
    number of values ±1 can sum to zero, hence two, four or six patterns.

    There are far too many cuts to write all of them down. So they are first counted by size, which
    gives the largest size up to which there are at most `max_cuts` cuts. Then all cuts up to this
    size are written.

    Parameters
    ----------
    allow_six_patterns : whether to make cuts of six patterns too, if there are not too many
        combinations of six.
    max_cuts : the largest number of cuts.

    Returns
    -------
    (cuts, variables) bools: whether the variable is in the cut.
    """
    packed_patterns = pack_patterns(problem)
    n_patterns = packed_patterns.negative.shape[1]
    orders = [2, 4]  # how many patterns a cut is made of
    if allow_six_patterns and math.comb(n_patterns, 6) <= MAX_SIXES:
        orders.append(6)

    # Count. For each order there is an array, whose entry s is the number of cuts with at most s
    # variables. The sum of these arrays, one number for each s, says how large cuts may be.
    n_cuts_up_to_size = {order: count_cuts(packed_patterns, order) for order in orders}
    n_cuts_of_all_orders = np.sum(list(n_cuts_up_to_size.values()), axis=0)
    max_size = _largest_size_within(n_cuts_of_all_orders, max_cuts)
    if max_size < 0:  # even those of size 0 are too many
        return np.zeros((0, problem.n_features), dtype=np.bool_)

    # Write the cuts of each order up to this size. A cut is a column of 64-bit words, in which each
    # variable has one bit.
    cuts_of_orders = []
    for order in orders:
        n_cuts = int(n_cuts_up_to_size[order][max_size])
        cuts_of_order = _cuts_of_order(packed_patterns, order, max_size, n_cuts)
        cuts_of_orders.append(cuts_of_order)
    packed_cuts = np.concatenate(cuts_of_orders, axis=1)  # (words, cuts)

    # Unpack the bits, and sort.
    cuts = unpack(packed_cuts, problem.n_features)  # (cuts, variables) bools
    sizes = cuts.sum(axis=1)
    smallest_first = np.argsort(sizes, kind="stable")
    return cuts[smallest_first]


def _cuts_of_order(
    patterns: CutPatterns, order: int, max_size: int, n_cuts: int
) -> NDArray[np.uint64]:
    """Return all cuts of `order` patterns with at most `max_size` variables, as bits.

    n_cuts : how many there are, from `count_cuts`.

    Returns
    -------
    (words, cuts) the cuts, with the variables as bits in words of 64.
    """
    n_words = len(patterns.negative)
    cuts = np.zeros((n_words, n_cuts), dtype=np.uint64)
    list_cuts(patterns, order, max_size, cuts)  # fills the array
    return cuts


def _largest_size_within(n_cuts_up_to: NDArray[np.int64], max_cuts: int) -> int:
    """Return the largest size up to which there are at most `max_cuts` cuts; −1 if there is none.

    n_cuts_up_to : (sizes,) the number of cuts with at most 0, 1, … variables, which never
        decreases.
    """
    n_sizes_within = int(np.searchsorted(n_cuts_up_to, max_cuts, side="right"))
    return n_sizes_within - 1  # sizes begin at 0


def count_cuts(patterns: CutPatterns, order: int) -> NDArray[np.int64]:
    """Count the cuts made of `order` patterns with at most 0, 1, … variables; shape (sizes,)."""
    no_room = np.zeros((len(patterns.negative), 0), dtype=np.uint64)
    n_of_size = list_cuts(patterns, order, WRITE_NO_CUTS, no_room)
    return np.cumsum(n_of_size)


def list_cuts(
    patterns: CutPatterns, order: int, max_size: int, cuts: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Write the cuts of `order` patterns with at most `max_size` variables; count all cuts by size.

    A cut is a set of variables, written as bits in words of 64. The last word also has bits that
    belong to no variable, the padding. They are set in every cut.

    patterns : the patterns (samples times labels) as bits.
    order : how many patterns a cut is made of: 2, 4 or 6.
    max_size : larger cuts are counted, but not written; with WRITE_NO_CUTS none is written.
    cuts : (words, cuts) filled with the cuts; it must have room for all that are written.

    Returns
    -------
    (sizes,) the number of cuts with exactly 0, 1, … variables.
    """
    n_words = len(patterns.negative)
    n_padding = patterns.n_padding
    n_cuts_of_bits = np.zeros(WORD_BITS * n_words + 1, dtype=np.int64)  # with 0, 1, … bits
    write_cuts(
        patterns,
        max_bits=max_size + n_padding,
        cuts=cuts,
        n_cuts_of_bits=n_cuts_of_bits,
        scratch=make_cut_scratch(order, n_words),  # `write_cuts` takes the order from its size
    )
    # A cut of s variables has s + n_padding bits, so its count is at this index.
    return n_cuts_of_bits[n_padding:]


@kernel()
def write_cuts(
    patterns: Any, max_bits: int, cuts: NDArray, n_cuts_of_bits: NDArray, scratch: Any
) -> None:
    """Go through all combinations of `order` patterns, count their cuts, and write the small ones.

    The cut of a few patterns consists of the variables on which the patterns do not sum to zero.
    The combinations are visited by nested loops, one for each level 1 … order − 1, and an innermost
    loop for the last pattern. For order 4 they would be:

        for chosen[1] in 0, 1, …, n_patterns − 1:
            for chosen[2] in 0, 1, …, chosen[1] − 1:
                for chosen[3] in 0, 1, …, chosen[2] − 1:
                    for last in 0, 1, …, chosen[3] − 1: the cut of these four patterns

    As the number of loops depends on the order, all but the innermost loop are written as a single
    `while`. Each of its passes advances the loop of the present `level` to its next pattern. Then
    the next inner loop starts; or, if the loop has ended, the level falls to the loop around it.

    The cut depends only on how many of its patterns are negative on each variable. `add_pattern`
    keeps these counts in `scratch`, for every level: those of level l are those of level l − 1 plus
    one pattern. So when a loop goes on to its next pattern, nothing has to be subtracted.

    Parameters
    ----------
    patterns : the `CutPatterns`: the negative entries of each pattern as bits in words of 64.
    max_bits : cuts of at most so many bits are written.
    cuts : (words, cuts) filled with these cuts; a bit is 1 for a variable of the cut. It must have
        room for all of them.
    n_cuts_of_bits : (bits + 1,) entry b is increased by the number of cuts with b bits.
    scratch : a `CutScratch`. `order` is the size of its `chosen`; what its arrays contain at the
        beginning does not matter, except the zeros of level 0 (no pattern is chosen).
    """
    chosen = scratch.chosen
    order = chosen.size
    n_patterns = patterns.negative.shape[1]
    n_written = 0
    level = 1
    chosen[level] = -1  # before the first pattern
    while level > 0:
        # Advance the loop of this level to its next pattern. The loop of level 1 goes through all
        # patterns, the others through those before the pattern of the loop around them.
        n_choices = n_patterns
        if level > 1:
            n_choices = chosen[level - 1]
        chosen[level] += 1
        if chosen[level] == n_choices:
            level -= 1  # this loop has ended: advance the one around it
            continue

        # Write the counts of this level to `scratch`: for each variable, how many of the patterns
        # chosen at the levels 1 … `level` are negative.
        add_pattern(patterns.negative, chosen[level], level, scratch)

        # Start the next inner loop, unless all levels have a pattern.
        if level < order - 1:
            level += 1
            chosen[level] = -1
            continue

        # The innermost loop. `fill_cut` writes the cut to `scratch.cut`, and returns its number of
        # bits, or NOT_A_CUT if every support meets the cut anyway. Count the cut, and write it if
        # it is small. (This loop would be slower by 10 % as a function of its own, even an inlined
        # one.)
        for last in range(chosen[level]):
            n_bits = fill_cut(patterns, last, level, half=order // 2, scratch=scratch)
            if n_bits != NOT_A_CUT:
                n_cuts_of_bits[n_bits] += 1
                if n_bits <= max_bits:
                    for w in range(scratch.cut.size):
                        cuts[w, n_written] = scratch.cut[w]
                    n_written += 1


@leaf_kernel()
def add_bit(one: Any, two: Any, four: Any, bit: Any) -> tuple[Any, Any, Any]:
    """Add a bit to 64 three-digit binary numbers at once; return their new digits.

    Bit i of `one`, `two` and `four` are the binary digits of number i, and bit i of `bit` is added
    to it. Results of eight or more do not occur. Returns the words one, two, four.
    """
    carry_to_two = one & bit
    carry_to_four = two & carry_to_two
    return one ^ bit, two ^ carry_to_two, four | carry_to_four


@inlined_kernel()
def add_pattern(negative: NDArray, pattern: int, level: int, scratch: Any) -> None:
    """Count for every variable how many of the chosen patterns are negative, with one pattern more.

    The counts at `level` are those at level − 1, plus one for each variable on which the new
    pattern is negative. A count is a binary number of three digits. These are stored in
    `scratch.ones`, `twos` and `fours`, each of shape (levels, words). Bit i of a word is the digit
    of its i-th variable, so 64 variables are counted at once.

    negative : (words, patterns) a bit is 1 where the pattern is negative.
    pattern : index of the pattern to add.
    level : the number of patterns chosen, with the new one.
    scratch : the `CutScratch`; its digits at `level` are overwritten.
    """
    ones = scratch.ones
    twos = scratch.twos
    fours = scratch.fours
    for w in range(negative.shape[0]):
        one, two, four = add_bit(
            ones[level - 1, w], twos[level - 1, w], fours[level - 1, w], negative[w, pattern]
        )
        ones[level, w] = one
        twos[level, w] = two
        fours[level, w] = four


@inlined_kernel()
def fill_cut(patterns: Any, last: int, level: int, half: int, scratch: Any) -> int:
    """Fill `scratch.cut` with the cut of the chosen patterns and one last one; count its bits.

    Patterns are ±1. Let s_j be the sum of the patterns on variable j: it is zero if exactly half of
    them are negative, and positive if fewer are. With weights w the margins of the patterns sum to
    Σ_j w_j s_j, which must be positive for weights that separate. So these need a variable with
    s_j ≠ 0; or, if w_j must not be negative, with s_j > 0. All such variables are the cut.

    64 variables are treated at once, one in each bit of a word. How many patterns are negative, at
    most six, is a binary number of three digits. So there are three words, `one`, `two` and `four`:
    bit i of them are the digits of variable i of the word.

    Parameters
    ----------
    patterns : the `CutPatterns`.
    last : the last pattern.
    level : `scratch` has the counts of the chosen patterns at this level, as `add_pattern` left
        them.
    half : half the number of patterns, 1, 2 or 3.

    Returns
    -------
    The number of bits of the cut; NOT_A_CUT if it contains a column that belongs to every support
    (the intercept): every support meets such a cut.
    """
    # The two binary digits of `half`, which is at most 3, each repeated for the 64 variables.
    half_ones = repeated_bit(half & 1)
    half_twos = repeated_bit(half & 2)

    n_bits = 0
    met_by_every_support = EMPTY_WORD  # bits of the cut that belong to every support
    for w in range(scratch.cut.size):
        # Count the negative patterns: those chosen before, and the last one.
        one, two, four = add_bit(
            scratch.ones[level, w],
            scratch.twos[level, w],
            scratch.fours[level, w],
            patterns.negative[w, last],
        )

        # The sum is not zero if the count is not half, so if one of its digits differs (the digit
        # four of half is 0). It is negative if the count is above half.
        sum_not_zero = (one ^ half_ones) | (two ^ half_twos) | four
        sum_negative = is_above_half(one, two, four, half_ones, half_twos)

        # The variables of the cut, without those whose weight would have to be negative.
        needs_forbidden_sign = patterns.nonnegative[w] & sum_negative
        word_of_cut = sum_not_zero & ~needs_forbidden_sign
        scratch.cut[w] = word_of_cut
        met_by_every_support |= word_of_cut & patterns.always[w]
        n_bits += bits_set(word_of_cut)
    if met_by_every_support != EMPTY_WORD:
        return NOT_A_CUT
    return n_bits


@leaf_kernel()
def repeated_bit(bit: int) -> Any:
    """Return a word with all 64 bits set if `bit` is not 0, else the empty word."""
    if bit != 0:
        return ~EMPTY_WORD
    return EMPTY_WORD


@leaf_kernel()
def is_above_half(one: Any, two: Any, four: Any, half_ones: Any, half_twos: Any) -> Any:
    """Compare 64 numbers, given by their binary digits four, two, one, with half = 1, 2 or 3.

    Bit i of the result is 1 if number i is larger than half.

        half   its digits   larger numbers   condition
        1      01           2, 3, 4, …       four or two
        2      10           3, 4, …          four, or two and one
        3      11           4, …             four
    """
    return four | (two & ~half_twos) | (two & one & ~half_ones)
