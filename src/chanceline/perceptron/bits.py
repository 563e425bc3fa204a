"""Signs packed in 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray


def _popcount(typing_context: Any, word: Any) -> Any:
    """Number of ones in a 64-bit word, one machine instruction."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


def _first_one(typing_context: Any, word: Any) -> Any:
    """Place of the lowest one in a 64-bit word that has any."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), code


def _which_negative(typing_context: Any, values: Any, first: Any) -> Any:
    """A word with a one for each negative number among 64, beginning at values[first]."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.gep(context.make_array(values)(context, builder, arguments[0]).data, [arguments[1]])
        vector = ir.VectorType(context.get_data_type(values.dtype), 64)
        numbers = builder.load(builder.bitcast(start, vector.as_pointer()), align=vector.element.width // 8)
        return builder.bitcast(builder.icmp_signed("<", numbers, vector(None)), ir.IntType(64))

    return types.uint64(values, types.intp), code


popcount: Any = intrinsic(_popcount)
which_negative: Any = intrinsic(_which_negative)
first_one: Any = intrinsic(_first_one)


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
