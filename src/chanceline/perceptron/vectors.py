"""LLVM's vectors for the loops that Numba compiles badly.

Numba can't know that two arrays don't overlap, so a short loop over rows asks at every row, takes its sums through
memory, and does what a vector leaves over one by one. A loop written in LLVM's vectors does not; LLVM translates them
to those of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chanceline.perceptron.linalg import FAST

VECTOR = 32  # bytes
FLAGS = tuple(sorted(FAST))


class Array:
    """An array argument of an intrinsic: where it begins, what it holds, and how long its rows are."""

    def __init__(self, context: Any, builder: Any, kind: Any, argument: Any) -> None:
        array = context.make_array(kind)(context, builder, argument)
        self.data, self.entry = array.data, context.get_data_type(kind.dtype)
        self.width = builder.extract_value(array.shape, kind.ndim - 1)


class Lanes:
    """Code for vectors of one kind of number."""

    def __init__(self, builder: Any, entry: Any) -> None:
        self.builder = builder
        self.count = 8 * VECTOR // (64 if isinstance(entry, ir.DoubleType) else entry.width)
        self.type = ir.VectorType(entry, self.count)
        self.zero = self.type(None)

    def _place(self, array: Array, index: Any) -> Any:
        start = self.builder.gep(array.data, [index])
        return self.builder.bitcast(start, ir.VectorType(array.entry, self.count).as_pointer())

    def load(self, array: Array, index: Any, align: int) -> Any:
        """The numbers from this index on, widened if the array's are narrower."""
        vector = self.builder.load(self._place(array, index), align=align)
        return vector if vector.type == self.type else self.builder.sext(vector, self.type)

    def store(self, vector: Any, array: Array, index: Any, align: int) -> None:
        self.builder.store(vector, self._place(array, index), align=align)

    def everywhere(self, array: Array, index: Any) -> Any:
        """One number of the array in every lane."""
        number, lane, undefined = self.builder.load(self.builder.gep(array.data, [index])), ir.IntType(32), ir.Undefined
        only_first = self.builder.insert_element(self.type(undefined), number, lane(0))
        return self.builder.shuffle_vector(only_first, self.type(undefined), ir.VectorType(lane, self.count)(None))

    def multiply_add(self, total: Any, left: Any, right: Any) -> Any:
        if isinstance(self.type.element, ir.DoubleType):
            return self.builder.fadd(total, self.builder.fmul(left, right, flags=FLAGS), flags=FLAGS)
        return self.builder.add(total, self.builder.mul(left, right))

    def sum(self, vector: Any) -> Any:
        """All lanes of a vector of floating-point numbers added."""
        lanes = [self.builder.extract_element(vector, ir.IntType(32)(lane)) for lane in range(self.count)]
        total = lanes[0]
        for number in lanes[1:]:
            total = self.builder.fadd(total, number, flags=FLAGS)
        return total

    def variables(self, count: int) -> list[Any]:
        """Vectors that may change in a loop; LLVM keeps them in registers."""
        return [cgutils.alloca_once(self.builder, self.type) for _ in range(count)]


@contextmanager
def loop(builder: Any, first: Any, last: Any, step: int = 1) -> Iterator[Any]:
    """for index in range(first, last, step)"""
    with cgutils.for_range_slice(builder, first, last, last.type(step)) as (index, _):
        yield index


def vector_code(emit: Callable[..., None]) -> Any:
    """The intrinsic whose code this function emits: it gets a builder, arrays as `Array`, and integers."""

    # Numba reads the number of arguments off the signature, which `wraps` passes on.
    @wraps(emit)
    def define(typing_context: Any, *kinds: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emit(
                builder,
                *(
                    Array(context, builder, kind, argument) if isinstance(kind, types.Array) else argument
                    for kind, argument in zip(signature.args, arguments, strict=True)
                ),
            )
            return context.get_dummy_value()

        return types.void(*(kind if isinstance(kind, types.Array) else types.intp for kind in kinds)), code

    return intrinsic(define)
