"""Sums of matrix rows that stay in vector registers.

Numba can't know that two arrays don't overlap, so a loop over rows asks at every row, and takes its sums through
memory. Here the loop is written in LLVM's vectors, which it translates to those of the machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

VECTOR = 32  # bytes
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


class Memory(NamedTuple):
    """An array as LLVM sees it: where it begins, what it holds, its shape."""

    data: Any
    entry: Any
    shape: Any


def memory(context: Any, builder: Any, kind: Any, argument: Any) -> Memory:
    array = context.make_array(kind)(context, builder, argument)
    return Memory(array.data, context.get_data_type(kind.dtype), array.shape)


def _emit(
    builder: Any, rows: Memory, chosen: Memory, factors: Memory | None, first: Any, last: Any, out: Memory
) -> None:
    """out = Σ_{first ≤ i < last} factor_i rows[chosen_i] in the precision of `out`; without factors all are one."""
    width = builder.extract_value(rows.shape, 1)
    lanes = 8 * VECTOR // out.entry.width
    sum_type, is_narrow = ir.VectorType(out.entry, lanes), rows.entry != out.entry

    def place(array: Memory, at: Any, part: int) -> Any:
        first_lane = builder.gep(array.data, [builder.add(at, at.type(part * lanes))])
        return builder.bitcast(first_lane, ir.VectorType(array.entry, lanes).as_pointer())

    def in_every_lane(value: Any) -> Any:
        index, undefined = ir.IntType(32), sum_type(ir.Undefined)
        only_first = builder.insert_element(undefined, value, index(0))
        return builder.shuffle_vector(only_first, undefined, ir.VectorType(index, lanes)(None))

    sums = [cgutils.alloca_once(builder, sum_type) for _ in range(TOGETHER)]
    with cgutils.for_range_slice(builder, width.type(0), width, width.type(TOGETHER * lanes)) as (tile, _):
        for total in sums:
            builder.store(sum_type(None), total)
        with cgutils.for_range_slice(builder, first, last, first.type(1)) as (i, _):
            start = builder.add(builder.mul(builder.load(builder.gep(chosen.data, [i])), width), tile)
            factor = in_every_lane(builder.load(builder.gep(factors.data, [i]))) if factors else None
            for part, total in enumerate(sums):
                term = builder.load(place(rows, start, part), align=lanes)
                term = builder.sext(term, sum_type) if is_narrow else term
                term = builder.mul(term, factor) if factors else term
                builder.store(builder.add(builder.load(total), term), total)
        for part, total in enumerate(sums):
            builder.store(builder.load(total), place(out, tile, part), align=1)


def _sum_rows(typing: Any, rows: Any, chosen: Any, first: Any, last: Any, out: Any) -> Any:
    """out = Σ_{first ≤ i < last} rows[chosen_i]: bytes, so that the sums must fit in one; rows from `in_tiles`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, which, result = (memory(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4))
        _emit(builder, matrix, which, None, arguments[2], arguments[3], result)
        return context.get_dummy_value()

    return types.void(rows, chosen, types.intp, types.intp, out), code


def _combine_rows(typing: Any, rows: Any, chosen: Any, factors: Any, count: Any, out: Any) -> Any:
    """out = Σ_{i < count} factor_i rows[chosen_i], factors and sums in 16 bits; rows from `in_tiles`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, which, scale, result = (memory(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 4))
        _emit(builder, matrix, which, scale, arguments[3].type(0), arguments[3], result)
        return context.get_dummy_value()

    return types.void(rows, chosen, factors, types.intp, out), code


sum_rows: Any = intrinsic(_sum_rows)
combine_rows: Any = intrinsic(_combine_rows)
