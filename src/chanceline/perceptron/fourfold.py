"""Four vectors at a time against a symmetric matrix, in its leading k places.

The matrix and the vectors have rows of whole tiles (`room_for`); what lies beyond k in a tile is worked on as well, and
must be no more than finite.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

from chanceline.perceptron.vectors import VECTOR, Array, Lanes, loop, vector_code

FOUR = 4
PARTS = 2  # vectors a tile
TILE = PARTS * VECTOR // 8  # numbers a tile


@njit(cache=True)
def whole_tiles(k: int) -> int:
    """k rounded up to whole tiles."""
    return -(-k // TILE) * TILE


def room_for(k: int) -> int:
    """The length of a row for k numbers: an odd number of tiles, so that the tiles of a column don't share cache lines."""
    return TILE * (-(-k // TILE) | 1)


class Emitter(Lanes):
    """Code for tiles of double precision."""

    def tile(self, array: Array, row: Any, column: Any) -> list[Any]:
        return [self.load(array, self.place(array, row, column, part), align=8) for part in range(PARTS)]

    def set_tile(self, parts: list[Any], array: Array, row: Any, column: Any) -> None:
        for part, vector in enumerate(parts):
            self.store(vector, array, self.place(array, row, column, part), align=8)

    def place(self, array: Array, row: int | Any, column: Any, part: int = 0) -> Any:
        row = column.type(row) if isinstance(row, int) else row
        start = self.builder.add(self.builder.mul(row, array.width), column)
        return self.builder.add(start, start.type(part * self.count))


@vector_code
def times_four(builder: Any, matrix: Array, vectors: Array, out: Array, k: Any) -> None:
    """out_b = M v_b, M symmetric."""
    emit = Emitter(builder, matrix.entry)
    sums = [emit.variables(PARTS) for _ in range(FOUR)]
    with loop(builder, k.type(0), k, TILE) as column:
        for b in range(FOUR):
            for total in sums[b]:
                builder.store(emit.zero, total)
        with loop(builder, k.type(0), k) as i:
            row = emit.tile(matrix, i, column)
            for b in range(FOUR):
                number = emit.everywhere(vectors, emit.place(vectors, b, i))
                for total, part in zip(sums[b], row, strict=True):
                    builder.store(emit.multiply_add(builder.load(total), number, part), total)
        for b in range(FOUR):
            emit.set_tile([builder.load(total) for total in sums[b]], out, b, column)


@vector_code
def add_products(builder: Any, matrix: Array, coupling: Array, vectors: Array, k: Any) -> None:
    """M += Σ_bc C_bc v_b v_cᵀ, C symmetric."""
    emit = Emitter(builder, matrix.entry)
    with loop(builder, k.type(0), k, TILE) as column:
        tiles = [emit.tile(vectors, b, column) for b in range(FOUR)]
        coupled = [[emit.zero] * PARTS for _ in range(FOUR)]
        for b in range(FOUR):
            for c in range(FOUR):
                factor = emit.everywhere(coupling, emit.place(coupling, b, k.type(c)))
                coupled[b] = [emit.multiply_add(t, factor, x) for t, x in zip(coupled[b], tiles[c], strict=True)]
        with loop(builder, k.type(0), k) as i:
            row = emit.tile(matrix, i, column)
            for b in range(FOUR):
                number = emit.everywhere(vectors, emit.place(vectors, b, i))
                row = [emit.multiply_add(t, number, x) for t, x in zip(row, coupled[b], strict=True)]
            emit.set_tile(row, matrix, i, column)


@vector_code
def overlaps(builder: Any, left: Array, right: Array, out: Array, k: Any) -> None:
    """out_bc = out_cb = u_b · v_c for c ≤ b; beyond k one of the two must be zero."""
    emit = Emitter(builder, left.entry)
    pairs = [(b, c) for b in range(FOUR) for c in range(b + 1)]
    sums = emit.variables(len(pairs))
    for total in sums:
        builder.store(emit.zero, total)
    with loop(builder, k.type(0), k, emit.count) as column:
        u, v = ([emit.load(four, emit.place(four, b, column), align=8) for b in range(FOUR)] for four in (left, right))
        for (b, c), total in zip(pairs, sums, strict=True):
            builder.store(emit.multiply_add(builder.load(total), u[b], v[c]), total)
    for (b, c), total in zip(pairs, sums, strict=True):
        number = emit.sum(builder.load(total))
        for row, column in ((b, c), (c, b)):
            builder.store(number, builder.gep(out.data, [emit.place(out, row, k.type(column))]))


@njit(cache=True)
def invert_four(matrix: NDArray, signs: NDArray, smallest: float) -> bool:
    """Invert in place by elimination in order; False if a pivot's share of its sign is below `smallest`."""
    for p in range(FOUR):
        pivot = matrix[p, p]
        if signs[p] * pivot < smallest:
            return False
        matrix[p, p] = 1.0
        for c in range(FOUR):
            matrix[p, c] /= pivot
        for r in range(FOUR):
            if r != p:
                factor = matrix[r, p]
                matrix[r, p] = 0.0
                for c in range(FOUR):
                    matrix[r, c] -= factor * matrix[p, c]
    return True
