"""Sets of variables as bits, 64 members a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import leaf_kernel

WORD_BITS = 64
EMPTY_WORD = np.uint64(0)
ONE_BIT = np.uint64(1)

# Masks to count bits with.
EVERY_OTHER_BIT = np.uint64(0x5555555555555555)
EVERY_OTHER_PAIR = np.uint64(0x3333333333333333)
EVERY_OTHER_FOUR = np.uint64(0x0F0F0F0F0F0F0F0F)
ONE_PER_OCTET = np.uint64(0x0101010101010101)


def pack(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Write sets of variables, (sets, variables) bools, as bits: (words, sets).

    Variable j is bit j mod 64 of word j // 64. Bits beyond the last variable are zero.
    """
    n_sets, n_variables = members.shape
    n_words = -(-n_variables // WORD_BITS)  # rounded up
    padded = np.zeros((n_sets, WORD_BITS * n_words), dtype=np.bool_)
    padded[:, :n_variables] = members
    words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return np.ascontiguousarray(words.T)


def pack_set(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Write one set of variables, (variables,) bools, as bits: (words,)."""
    return pack(members[None])[:, 0].copy()


def unpack(words: NDArray[np.uint64], n_variables: int) -> NDArray[np.bool_]:
    """Convert bits, (words, sets), back to the sets (sets, variables) that `pack` was given."""
    n_words, n_sets = words.shape
    # The eight octets of each word, the lowest first.
    octets = np.ascontiguousarray(words.T).view(np.uint8).reshape(n_sets, 8 * n_words)
    members = np.unpackbits(octets, axis=1, bitorder="little")
    return members[:, :n_variables].astype(np.bool_)


@leaf_kernel()
def word_of(j: int) -> int:
    """The word that holds the bit of variable j: j // 64."""
    return j >> 6


@leaf_kernel()
def bit_of(j: int) -> Any:
    """A word with nothing but the bit of variable j: bit j mod 64."""
    return ONE_BIT << np.uint64(j & 63)


@leaf_kernel()
def bits_set(word: Any) -> Any:
    """Count the bits set in a word of 64, by adding up neighbouring groups of bits in parallel.

    A word is divided into pairs, groups of four, and octets (groups of eight). Each group holds the
    number of bits that are set in it, as a binary number.
    """
    # A pair of bits b₁ b₀ is the number 2 b₁ + b₀. So b₁ + b₀ is the pair less b₁.
    upper_bits = (word >> np.uint64(1)) & EVERY_OTHER_BIT
    pairs = word - upper_bits

    # Add the two pairs of every four, then the two fours of every octet.
    lower_pairs = pairs & EVERY_OTHER_PAIR
    upper_pairs = (pairs >> np.uint64(2)) & EVERY_OTHER_PAIR
    fours = lower_pairs + upper_pairs
    octets = (fours + (fours >> np.uint64(4))) & EVERY_OTHER_FOUR

    # Add the octets: the highest octet of this product is the sum of all eight.
    return np.int64((octets * ONE_PER_OCTET) >> np.uint64(56))


@leaf_kernel()
def lowest_place(word: Any) -> int:
    """Return the position of the lowest bit set in a word that is not empty."""
    lowest_bit = word & (~word + ONE_BIT)
    return bits_set(lowest_bit - ONE_BIT)  # that many bits are below it
