"""Signs packed in 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray


def _popcount(typing_context: Any, word: Any) -> Any:
    """Number of ones in a 64-bit word, one machine instruction."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


popcount: Any = intrinsic(_popcount)


def pack_signs(columns: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Columns of ±1 as bits (1 for −1), 64 patterns a word; width 0 unless every entry is ±1."""
    n, patterns = columns.shape
    if not np.all(np.abs(columns) == 1.0):
        return np.zeros((n, 0), dtype=np.uint64)
    width = -(-patterns // 64)
    padded = np.zeros((n, width * 64), dtype=np.uint8)
    padded[:, :patterns] = columns < 0
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@njit(cache=True)
def gather_bits(flags: NDArray, words: NDArray) -> None:
    """One bit for each byte of 0 or 1: a multiplication moves eight of them into the top byte."""
    bytes_of_eight = flags.view(np.uint64)
    for word in range(words.size):
        total = np.uint64(0)
        for part in range(8):
            eight = (bytes_of_eight[8 * word + part] * np.uint64(0x0102040810204080)) >> np.uint64(56)
            total |= eight << np.uint64(8 * part)
        words[word] = total
