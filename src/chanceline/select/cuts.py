"""Cuts of ±1 variables: every few patterns that cancel on a support refute it.

If Σ_μ λ_μ a_μj = 0 with λ ≥ 0 for all j of a support, nothing separates there (Gordan). So every separating support
contains a variable of the cut D = {j : Σ_μ λ_μ a_μj ≠ 0}. Two patterns cancel on half of the variables, four with equal
λ on 3/8, six on 5/16 of them; the latter are so many that they refute nearly every support too small to separate.
A variable whose weight must not be negative is in the cut only if Σ_μ λ_μ a_μj > 0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import inner_kernel, kernel
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import small_integers

MOST_SIGNS = 16  # on more variables few patterns cancel, and the hard margin gives smaller cuts
MOST_VARIABLES = 256
MOST_PATTERNS = 128  # that cuts are made of: their fours are ten million
SIXES_FROM = 9  # variables, from which the cuts of six patterns are worth their time
MOST_SIXES = 80_000_000  # those of 64 patterns
MOST_CUTS = 100_000

NOTHING = np.uint64(0)


def can_cut(problem: Problem, size: int) -> bool:
    """Whether cuts help to decide on the supports of this size."""
    few = problem.n_features + problem.kept <= MOST_VARIABLES and size + problem.kept <= MOST_SIGNS
    if size < 2 or not few or not np.all(np.abs(problem.columns) == 1.0):
        return False
    # Scaled columns are rounded: values of X that differ by less would look equal.
    return bool(np.all(np.abs(small_integers(problem)) <= 1.0))


def pack(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Sets (·, n) as bits, 64 members a word: (words, ·)."""
    count, n = members.shape
    padded = np.zeros((count, -(-n // 64) * 64), dtype=np.bool_)
    padded[:, :n] = members
    return np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little").view(np.uint64).T)


def unpack(words: NDArray[np.uint64], n: int) -> NDArray[np.bool_]:
    """The sets that `pack` has packed."""
    rows = np.ascontiguousarray(words.T).view(np.uint8).reshape(words.shape[1], 8 * len(words))
    return np.unpackbits(rows, axis=1, bitorder="little")[:, :n].astype(np.bool_)


@inner_kernel()
def bits_set(word: Any) -> Any:
    """The number of bits set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def cuts_of(
    signs: NDArray, few: int, always: NDArray, signed: NDArray, largest: int, cuts: NDArray
) -> NDArray[np.int64]:
    """How many cuts of `few` patterns have 0, 1, … variables; those up to `largest` are written to `cuts`.

    signs (words, P) has the bits of negative entries, signed those of weights that must not be negative. Cuts with a variable of
    `always` are met by every support, and left out.
    """
    sizes = np.zeros(64 * len(signs) + 1, dtype=np.int64)
    digits = np.zeros((4, few, len(signs)), dtype=np.uint64)
    write_cuts(signs, np.full(few, -1), always, signed, largest, cuts, sizes, digits)
    return sizes


@kernel()
def write_cuts(
    signs: NDArray,
    chosen: NDArray,
    always: NDArray,
    signed: NDArray,
    largest: int,
    cuts: NDArray,
    sizes: NDArray,
    digits: NDArray,
) -> None:
    """Cuts and sizes as in `cuts_of`, by all choices of patterns."""
    few, words, patterns, level, written = chosen.size, signs.shape[0], signs.shape[1], 1, 0
    # How many of the signs so far are −, as a binary number: ones, twos and fours, for every pattern chosen.
    ones, twos, fours, cut = digits[0], digits[1], digits[2], digits[3, 0]
    half_ones = ~NOTHING if few // 2 & 1 else NOTHING
    half_twos = ~NOTHING if few // 2 & 2 else NOTHING
    while level > 0:
        chosen[level] += 1
        if chosen[level] == (patterns if level == 1 else chosen[level - 1]):
            level -= 1
            continue
        for w in range(words):
            sign, carry = signs[w, chosen[level]], ones[level - 1, w] & signs[w, chosen[level]]
            ones[level, w] = ones[level - 1, w] ^ sign
            twos[level, w] = twos[level - 1, w] ^ carry
            fours[level, w] = fours[level - 1, w] | (twos[level - 1, w] & carry)
        if level < few - 1:
            level += 1
            chosen[level] = -1
            continue
        for last in range(chosen[level]):
            size, met = 0, NOTHING
            for w in range(words):
                carry = ones[level, w] & signs[w, last]
                one, two = ones[level, w] ^ signs[w, last], twos[level, w] ^ carry
                four = fours[level, w] | (twos[level, w] & carry)
                # They cancel where half of the signs are −, and where more are a signed weight does not help.
                cut[w] = (one ^ half_ones) | (two ^ half_twos) | four
                cut[w] &= ~(signed[w] & (four | (two & ~half_twos) | (one & two & ~half_ones)))
                met |= cut[w] & always[w]
                size += bits_set(cut[w])
            if met == NOTHING:
                sizes[size] += 1
                if size <= largest:
                    for w in range(words):
                        cuts[w, written] = cut[w]
                    written += 1


def smallest_cuts(problem: Problem, sixes: bool) -> NDArray[np.bool_]:
    """The smallest cuts of two, four and perhaps six patterns, at most MOST_CUTS, by rising size: rows of members."""
    n, some = problem.n_features, min(problem.n_samples, MOST_PATTERNS)
    signs = pack(problem.columns[:, :some].T < 0)
    always = pack(np.arange(n + problem.kept)[None] >= n)[:, 0].copy()
    signed = pack(problem.signed[None])[:, 0].copy()
    kinds = [2, 4] + [6] * (sixes and math.comb(some, 6) <= MOST_SIXES)
    # Bits beyond the variables are + for every pattern, and so in every cut.
    beyond = 64 * len(signs) - n - problem.kept
    nothing = np.zeros((len(signs), 0), dtype=np.uint64)
    sizes = [np.cumsum(cuts_of(signs, few, always, signed, -1, nothing)) for few in kinds]
    largest = int(np.searchsorted(np.sum(sizes, axis=0), MOST_CUTS, side="right")) - 1
    parts = [
        np.zeros((len(signs), int(size[largest]) if largest >= beyond else 0), dtype=np.uint64)
        for size in sizes
    ]
    for few, part in zip(kinds, parts, strict=True):
        cuts_of(signs, few, always, signed, largest if part.size else -1, part)
    cuts = unpack(np.concatenate(parts, axis=1), n)
    return cuts[np.argsort(cuts.sum(axis=1), kind="stable")]


@lru_cache(maxsize=2)
def arranged_cuts(problem: Problem, sixes: bool) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The variables by falling number of cuts that they meet, and the smallest cuts with bits in that order.

    Such a variable is tried first: its branch is one, and all those after it go without it.
    """
    cuts = smallest_cuts(problem, sixes)
    order = np.argsort(cuts.sum(axis=0), kind="stable")[::-1].copy()
    return order, pack(cuts[:, order])
