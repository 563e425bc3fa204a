"""Sums of rows of signs, in bytes and in 16 bits, held in vector registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.vectors import VECTOR, Array, Lanes, loop, vector_code

TOGETHER = 4  # vectors of sums that are held at a time
TILE = VECTOR * TOGETHER


def in_tiles(matrix: NDArray) -> NDArray[np.int8]:
    """A copy in bytes for the sums below: rows padded with zeros to whole tiles, the first one aligned to a vector."""
    rows, columns = matrix.shape[0], -(-matrix.shape[1] // TILE) * TILE
    room = np.zeros(rows * columns + VECTOR, dtype=np.int8)
    first = -room.ctypes.data % VECTOR
    padded = room[first : first + rows * columns].reshape(rows, columns)
    padded[:, : matrix.shape[1]] = matrix
    return padded


def _emit(builder: Any, rows: Array, chosen: Array, factors: Array | None, first: Any, last: Any, out: Array) -> None:
    """out = Σ_{first ≤ i < last} factor_i rows[chosen_i] in the precision of `out`; without factors all are one."""
    lanes = Lanes(builder, out.entry)
    sums = lanes.variables(TOGETHER)
    with loop(builder, last.type(0), rows.width, TOGETHER * lanes.count) as tile:
        for total in sums:
            builder.store(lanes.zero, total)
        with loop(builder, first, last) as i:
            row = builder.load(builder.gep(chosen.data, [i]))
            start = builder.add(builder.mul(row, rows.width), tile)
            factor = lanes.everywhere(factors, i) if factors else None
            for part, total in enumerate(sums):
                at = builder.add(start, start.type(part * lanes.count))
                term, so_far = lanes.load(rows, at, align=lanes.count), builder.load(total)
                more = lanes.multiply_add(so_far, term, factor) if factors else builder.add(so_far, term)
                builder.store(more, total)
        for part, total in enumerate(sums):
            lanes.store(builder.load(total), out, builder.add(tile, tile.type(part * lanes.count)), align=1)


@vector_code
def sum_rows(builder: Any, rows: Array, chosen: Array, first: Any, last: Any, out: Array) -> None:
    """out = Σ_{first ≤ i < last} rows[chosen_i]: bytes, so that the sums must fit in one; rows from `in_tiles`."""
    _emit(builder, rows, chosen, None, first, last, out)


@vector_code
def combine_rows(builder: Any, rows: Array, chosen: Array, factors: Array, count: Any, out: Array) -> None:
    """out = Σ_{i < count} factor_i rows[chosen_i], factors and sums in 16 bits; rows from `in_tiles`."""
    _emit(builder, rows, chosen, factors, count.type(0), count, out)
