"""Signs packed in 64-bit words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def only_signs(columns: NDArray) -> bool:
    """Whether every entry is ±1."""
    return bool(np.all(np.abs(columns) == 1.0))


def pack_signs(columns: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Columns of ±1 as bits (1 for −1), 64 patterns a word; width 0 unless every entry is ±1."""
    n, patterns = columns.shape
    if not only_signs(columns):
        return np.zeros((n, 0), dtype=np.uint64)
    width = -(-patterns // 64)
    padded = np.zeros((n, width * 64), dtype=np.uint8)
    padded[:, :patterns] = columns < 0
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
