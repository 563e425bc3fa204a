"""Proofs that nothing separates some rows, from multipliers that floating point has found.

Rows a_μ are in conflict if Σ λ_μ a_μ = 0 for some λ ≥ 0, λ ≠ 0 (Gordan's theorem): then no w has
a_μ·w > 0 for all of them. `margin.py` finds such λ up to rounding. Three things can be said then:

- `conflict_is_certain`: where k + 1 rows of k columns carry λ and are not nearly dependent, the
  exact λ is proven to be positive too, rounding included;
- `conflict_is_exact`: where the columns are small integers, λ is computed in integers;
- `largest_gap`: else the conflict holds up to this gap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import (
    NONE,
    ZERO,
    counter,
    inner_kernel,
    kernel,
    leaf_kernel,
)
from chanceline.kernels.vectors import add_scaled, dot_first

UNIT_ROUNDOFF = 2.0**-53  # the largest relative error of one operation
# Rows are columns of X less their centre, divided by their scale: so many roundings an entry.
ENTRY_ROUNDINGS = 3.0
LENGTH_ROUNDINGS = 4.0  # of products, their length, and its division by the sum of multipliers
NEGLIGIBLE_MULTIPLIER = 1e-9  # of those of sum 1: it may be zero but for rounding
MAX_INTEGER = 4e18  # 64 bits hold it
MAX_INVERSE_ERROR = 0.5  # |C B − 1| below 1 proves that B has an inverse; below this it is useful
TINY_PIVOT = 1e-300
FIRST_PIVOT = counter(1)  # of Bareiss' elimination, before there is one


class Conflict(NamedTuple):
    """Rows that seem to be in conflict.

    rows : (rows, columns or more), patterns a_μ, then e_j for weights that must not be negative.
    multipliers : (rows,), λ ≥ 0 as `hard_margin` leaves them.
    n_patterns : how many of the rows are patterns.
    n_columns : how many places of a row count.
    """

    rows: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    n_patterns: int
    n_columns: int


@inner_kernel()
def largest_gap(conflict: Any, row_sum: NDArray) -> float:
    """Bound the gap between the classes from above, by the multipliers of a conflict.

    The rows a_r of a conflict are first the patterns a_μ (samples times labels ±1), then unit
    vectors e_j, one for each weight that must not be negative. The gap of weights w of length 1 is
    the smallest margin a_μ·w of a pattern. No weights have a larger gap than

        |Σ_{all rows r} λ_r a_r| / Σ_{patterns μ} λ_μ.

    The bound is derived in three steps, for any w of length 1:

        gap · Σ_patterns λ_μ ≤ Σ_patterns λ_μ a_μ·w     as the gap is the smallest a_μ·w
                             ≤ Σ_{all rows} λ_r a_r·w   as e_j·w = w_j ≥ 0
                             ≤ |Σ_{all rows} λ_r a_r|   as |w| = 1

    A bound of the rounding errors is added to the result.

    conflict : the `Conflict`: rows a_r, of which the first `n_patterns` are patterns, and their
        multipliers λ_r ≥ 0.
    row_sum : (≥ columns,) scratch, overwritten with Σ λ_r a_r.

    Returns
    -------
    The bound; ∞ if no pattern has λ > 0.
    """
    rows = conflict.rows
    multipliers = conflict.multipliers
    n_columns = conflict.n_columns

    # Σ λ_r a_r over all rows; over the patterns alone Σ λ_μ, and the squared length of the longest
    # one, which the bound of the rounding errors needs.
    for j in range(n_columns):
        row_sum[j] = 0.0
    pattern_multiplier_sum = 0.0
    longest_squared = 0.0
    for row in range(multipliers.size):
        if multipliers[row] > 0.0:
            add_scaled(row_sum, multipliers[row], rows[row], n_columns)
            is_pattern = row < conflict.n_patterns
            if is_pattern:
                pattern_multiplier_sum += multipliers[row]
                squared_length = dot_first(rows[row], rows[row], n_columns)
                longest_squared = max(longest_squared, squared_length)
    if pattern_multiplier_sum == 0.0:
        return np.inf

    length_of_sum = np.sqrt(dot_first(row_sum, row_sum, n_columns))
    bound = length_of_sum / pattern_multiplier_sum
    return bound + gap_rounding(n_columns, longest_squared)


@leaf_kernel()
def gap_rounding(n_columns: int, longest_squared: float) -> float:
    """Bound the rounding error of |Σ λ_μ a_μ| / Σ λ_μ, where at most columns + 1 rows have λ_μ > 0.

    Every entry of the vector Σ λ_μ a_μ / Σ λ_μ is a weighted mean of entries of patterns, and so
    not larger than the length L of the longest pattern. Each rounding of an entry is at most
    UNIT_ROUNDOFF · L, and over all entries the errors form a vector of length at most

        n_roundings · UNIT_ROUNDOFF · √columns · L.

    `longest_squared` is L².
    """
    n_additions = n_columns  # of columns + 1 rows
    # Twice the roundings, for their products with each other.
    n_roundings = 2.0 * (n_additions + LENGTH_ROUNDINGS + ENTRY_ROUNDINGS)
    return n_roundings * UNIT_ROUNDOFF * np.sqrt(n_columns * longest_squared)


@kernel()
def conflict_is_certain(conflict: Any, basis: NDArray, inverse: NDArray) -> bool:
    """Whether approximate multipliers prove that the rows are in conflict, all rounding included.

    A conflict means Σ λ_r a_r = 0 with λ > 0: then no weights separate. Only the rows a_r with
    λ_r > 0 count. They become the columns of a matrix B, each extended by one more entry: 1 for
    patterns, 0 for the unit vectors that follow the patterns (`fill_basis`). With the patterns'
    λ scaled to the sum 1, λ solves B λ = (0, …, 0, 1): the first equations say that the sum of the
    rows is zero in every column, and the last one that the patterns' λ have the sum 1.

    B has columns + 1 rows. If it is square and has an inverse, λ is unique: it is the last column
    of the inverse. The conflict is proven if every computed entry of this column is larger than its
    possible error.

    conflict : the `Conflict`, with the rows and the approximate multipliers.
    basis, inverse : (≥ columns + 1, ≥ columns + 1) scratch for B and its inverse.
    """
    # In B the patterns are scaled to a length of at most 1, for numerical stability. This does not
    # change which λ are positive. The factor is 0 if B would not be square.
    size = conflict.n_columns + 1
    pattern_factor = basis_scaling(conflict)
    is_square = pattern_factor > 0.0
    if not is_square:
        return False

    # Compute the inverse, which overwrites B.
    fill_basis(conflict, pattern_factor, basis)
    has_inverse = invert(basis, inverse, size)
    if not has_inverse:
        return False

    # Fill B a second time, to bound the error of the inverse; this overwrites B, too.
    fill_basis(conflict, pattern_factor, basis)
    multiplier_error = bound_multiplier_error(basis, inverse, size)

    last = size - 1
    for i in range(size):
        is_positive = inverse[i, last] > multiplier_error
        if not is_positive:
            return False
    return True


@inner_kernel()
def bound_multiplier_error(basis: NDArray, inverse: NDArray, size: int) -> float:
    """Bound the error of every entry of l, the last column of `inverse`; ∞ if that is too inexact.

    The exact λ solves B λ = e with e = (0, …, 0, 1). With C the computed inverse and R = C B − 1,

        C (B l − e) = C B (l − λ) = (1 + R) (l − λ),   so |l − λ| ≤ |C (B l − e)| / (1 − |R|).

    basis, inverse : B and C, in their leading size × size places. B is overwritten.
    """
    rounding = rounding_of_products(size)
    inverse_error = bound_inverse_error(basis, inverse, size, rounding)  # |R|
    if not inverse_error < MAX_INVERSE_ERROR:
        return np.inf
    residual_error = bound_solution_error(basis, inverse, size, rounding)  # |C (B l − e)|
    # The bound is enlarged a little, for its own rounding.
    return residual_error * ((1.0 + rounding) / (1.0 - inverse_error))


@leaf_kernel()
def rounding_of_products(size: int) -> float:
    """Bound the rounding of a sum of `size` products, relative to the sum of their absolute values.

    The sums are entries of B l − e and C B − 1: products of entries of a basis B and of its
    approximate inverse C, minus an entry of e or of the unit matrix.
    """
    n_roundings = size + 2.0  # a sum of n terms takes n + 1 roundings, and that entry is a term
    n_roundings += ENTRY_ROUNDINGS  # of the rows as they are given
    n_roundings += 1.0  # of the scaling of the rows in B
    # Twice the roundings, for their products with each other and for those of the bounds.
    return 2.0 * n_roundings * UNIT_ROUNDOFF


@inner_kernel()
def basis_scaling(conflict: Any) -> float:
    """Return the factor that scales the patterns of a conflict: 1 / length of the longest one.

    Only the rows with a positive multiplier count. `fill_basis` will make them the columns of a
    matrix B, with one more entry each, so that B has `n_columns` + 1 rows. B is to be inverted, so
    it must be square: `n_columns` + 1 rows must have a positive multiplier. If this is not so, or
    if all patterns among them are zero, the factor returned is 0.

    conflict : the `Conflict`; its rows from `n_patterns` on are unit vectors, not patterns. Of each
        row the first `n_columns` entries are used.
    """
    n_positive = 0  # rows with a positive multiplier
    longest_squared = 0.0
    for row in range(conflict.multipliers.size):
        if conflict.multipliers[row] > 0.0:
            n_positive += 1
            is_pattern = row < conflict.n_patterns
            if is_pattern:
                pattern = conflict.rows[row]
                squared_length = dot_first(pattern, pattern, conflict.n_columns)
                longest_squared = max(longest_squared, squared_length)

    is_square = n_positive == conflict.n_columns + 1
    if not is_square or longest_squared == 0.0:
        return 0.0
    return 1.0 / np.sqrt(longest_squared)


@inner_kernel()
def fill_basis(conflict: Any, pattern_factor: float, basis: NDArray) -> None:
    """Fill the columns of `basis` with the rows of the conflict whose multiplier is positive.

    A pattern is multiplied by `pattern_factor` and gets a 1 as additional last entry. The other
    rows, unit vectors e_j of weights that must not be negative, stay as they are and get a 0 there.
    The caller has checked that columns + 1 rows have a positive multiplier, so that they fill the
    leading (columns + 1) × (columns + 1) places of `basis`.
    """
    n_columns = conflict.n_columns
    basis_column = 0
    for row in range(conflict.multipliers.size):
        if conflict.multipliers[row] > 0.0:
            factor = 1.0
            last_entry = 0.0
            is_pattern = row < conflict.n_patterns
            if is_pattern:
                factor = pattern_factor
                last_entry = 1.0
            for j in range(n_columns):
                basis[j, basis_column] = factor * conflict.rows[row, j]
            basis[n_columns, basis_column] = last_entry
            basis_column += 1


@inner_kernel()
def invert(matrix: NDArray, inverse: NDArray, size: int) -> bool:
    """Fill `inverse` with an approximate inverse of the leading size × size places of `matrix`.

    Gauss–Jordan elimination with partial pivoting: row operations that turn `matrix` into the unit
    matrix are applied to a unit matrix as well, which becomes the inverse. `matrix` is overwritten.
    Returns False if a pivot vanishes.
    """
    # Start `inverse` as the unit matrix.
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 0.0
        inverse[i, i] = 1.0

    for column in range(size):
        # The pivot row is the one with the largest entry among the rows without a pivot, which are
        # the rows from number `column` on.
        pivot_row = column
        for i in range(column + 1, size):
            if abs(matrix[i, column]) > abs(matrix[pivot_row, column]):
                pivot_row = i
        pivot = matrix[pivot_row, column]
        if not abs(pivot) > TINY_PIVOT:  # zero, or NaN
            return False

        # Exchange the pivot row with row number `column`, so that the pivot is on the diagonal, and
        # divide the pivot row by the pivot.
        swap_and_divide(matrix, source=pivot_row, target=column, pivot=pivot, size=size)
        swap_and_divide(inverse, source=pivot_row, target=column, pivot=pivot, size=size)

        # Subtract multiples of the pivot row from all others, so that this column is zero there.
        for i in range(size):
            factor = matrix[i, column]
            if i != column and factor != 0.0:
                for j in range(size):
                    matrix[i, j] -= factor * matrix[column, j]
                    inverse[i, j] -= factor * inverse[column, j]
    return True


@inner_kernel()
def swap_and_divide(work: NDArray, source: int, target: int, pivot: float, size: int) -> None:
    """Exchange the rows `source` and `target`, then divide row `target` by the pivot."""
    for j in range(size):
        moved = work[source, j]
        work[source, j] = work[target, j]
        work[target, j] = moved / pivot


@inner_kernel()
def bound_inverse_error(basis: NDArray, inverse: NDArray, size: int, rounding: float) -> float:
    """Bound |C B − 1| in the row sum norm, rounding included; C is `inverse`, B is `basis`.

    Here 1 is the unit matrix, and the row sum norm of a matrix is the largest sum of the absolute
    entries of a row. If C is a good inverse of B, the norm is small. An entry of C B − 1 is a sum
    of products; its rounding error is at most `rounding` times the sum of the absolute values of
    these products. Of both matrices the leading size × size places are used.
    """
    largest_row_sum = 0.0
    for i in range(size):
        row_sum = 0.0
        for j in range(size):
            unit_entry = 0.0
            if i == j:
                unit_entry = 1.0
            # Bound |entry (i, j) of C B, minus the entry of the unit matrix|.
            row_sum += bound_product_difference(
                left=inverse,
                row=i,
                right=basis,
                column=j,
                subtracted=unit_entry,
                size=size,
                rounding=rounding,
            )
        largest_row_sum = max(largest_row_sum, row_sum)
    return largest_row_sum


@inner_kernel()
def bound_solution_error(basis: NDArray, inverse: NDArray, size: int, rounding: float) -> float:
    """Bound the largest entry of C (B l − e), rounding included; l approximates λ in B λ = e.

    B is `basis` and C its approximate inverse `inverse`; the leading size × size places of both are
    used. e is (0, …, 0, 1), and l = C e is the last column of C. The rounding error of a sum of
    products is at most `rounding` times the sum of their absolute values. B is overwritten.
    """
    last = size - 1
    # Bound |B l − e| entry by entry. To save an array, the bound of entry i is stored in the place
    # (i, 0) of B: only entry i needs row i of B, and at that point it has been used.
    for i in range(size):
        e_entry = 0.0
        if i == last:
            e_entry = 1.0
        # Entry i of B l − e, where l is column `last` of the inverse.
        entry_bound = bound_product_difference(
            left=basis,
            row=i,
            right=inverse,
            column=last,
            subtracted=e_entry,
            size=size,
            rounding=rounding,
        )
        basis[i, 0] = entry_bound

    # |C (B l − e)|_i ≤ Σ_m |C_im| |B l − e|_m, where basis[m, 0] now bounds |B l − e|_m.
    largest_bound = 0.0
    for i in range(size):
        bound = 0.0
        for m in range(size):
            bound += abs(inverse[i, m]) * basis[m, 0]
        largest_bound = max(largest_bound, bound)
    return largest_bound


@leaf_kernel()
def bound_product_difference(  # noqa: PLR0913
    left: NDArray,
    row: int,
    right: NDArray,
    column: int,
    subtracted: float,
    size: int,
    rounding: float,
) -> float:
    """Bound |(left · right)[row, column] − subtracted|, rounding included; `subtracted` is 0 or 1.

    The product of the two matrices is taken over their leading size × size places. The difference
    is computed up to `rounding` times the sum of the absolute values of its terms.
    """
    difference = -subtracted
    absolute = subtracted  # the sum of the absolute values of the terms
    for m in range(size):
        product = left[row, m] * right[m, column]
        difference += product
        absolute += abs(product)
    return abs(difference) + rounding * absolute


class IntegerConflict(NamedTuple):
    """Rows in small integers that seem to be in conflict, few enough that λ is unique.

    integer_values : (all columns, patterns), small integers in doubles, or NaN in a whole column.
    used_columns : (n_columns or more,), the columns in question.
    n_columns : how many of `used_columns` count.
    patterns : (·,), the patterns with λ > 0.
    unit_places : (·,), places j among the used columns whose e_j has λ > 0.
    """

    integer_values: NDArray[np.float64]
    used_columns: NDArray[np.int64]
    n_columns: int
    patterns: NDArray[np.int64]
    unit_places: NDArray[np.int64]


class IntegerReduction(NamedTuple):
    """A matrix of integers after elimination: pivots in `rank` rows, and one column without.

    Each of the rows 0 … rank − 1 has its pivot in a column of its own, where all other rows have
    zeros. Rows from `rank` on are zero.

    free_column : the column without a pivot; −1 where there is none or several, or integers became
        too large.
    rank : how many rows have a pivot.
    pivot : the value of all pivots.
    """

    free_column: int
    rank: int
    pivot: int


@kernel()
def conflict_is_exact(conflict: Any, work: NDArray) -> bool:
    """Whether rows in small integers are in conflict: Σ λ_i b_i = 0 with all λ_i > 0, exactly.

    The b_i are the patterns and unit vectors of the `IntegerConflict`. They become the columns of a
    matrix, and its null vector λ is found by elimination in integers.

    work : (≥ columns, ≥ patterns + unit vectors) scratch of 64-bit integers, overwritten.

    Returns
    -------
    True if the conflict is proven. False also if λ is not unique up to a factor, or if the integers
    become too large for 64 bits.
    """
    if not fill_integers(conflict, work):
        return False
    n_members = conflict.patterns.size + conflict.unit_places.size
    reduction = reduce_integers(work, conflict.n_columns, n_members)
    has_one_solution = reduction.free_column >= 0
    if not has_one_solution:
        return False

    # One column is free: it has no pivot. For each other column i the matrix has now one of its
    # rows 0 … rank − 1, which is zero except for `pivot` in column i and an `entry` in the free
    # column. The row says
    #     pivot · λ_i + entry · λ_free = 0,   so λ_i / λ_free = −entry / pivot.
    # With λ_free > 0, all λ_i are positive if every entry has the opposite sign of the pivot.
    pivot = reduction.pivot
    for row in range(reduction.rank):
        entry = work[row, reduction.free_column]
        has_opposite_sign = (entry < 0 and pivot > 0) or (entry > 0 and pivot < 0)
        if not has_opposite_sign:
            return False
    return True


@inner_kernel()
def fill_integers(conflict: Any, work: NDArray) -> bool:
    """Fill the columns of `work` with the rows in conflict; False if a value is no small integer.

    The patterns with λ > 0 come first, restricted to the used columns of the table. Then comes the
    unit vector e_j for every j in `conflict.unit_places`. `work` has the shape
    (≥ n_columns, ≥ patterns + unit vectors).

    `conflict.integer_values`, (all columns, all patterns), holds integers stored as doubles, and
    NaN in columns that cannot be written in small integers; NaN fails the comparison, too.
    """
    n_patterns = conflict.patterns.size
    for j in range(conflict.n_columns):
        column = conflict.used_columns[j]
        for i in range(n_patterns):
            value = conflict.integer_values[column, conflict.patterns[i]]
            if not abs(value) < MAX_INTEGER:
                return False
            work[j, i] = int(value)
        for i in range(conflict.unit_places.size):
            work[j, n_patterns + i] = int(conflict.unit_places[i] == j)
    return True


@inner_kernel()
def reduce_integers(work: NDArray, n_rows: int, n_columns: int) -> IntegerReduction:
    """Bareiss' fraction-free Gauss–Jordan elimination of a matrix of integers, in place.

    Only the leading n_rows × n_columns places of `work` are used. Column by column, a row that has
    no pivot yet gets its pivot in this column, and all other rows become zero there. All divisions
    are exact, and in the end all pivots are equal to the last one.

    A column that is zero in all rows without a pivot is free. The caller needs exactly one free
    column, which means a solution that is unique up to a factor. With a second free column, or
    where integers could exceed 64 bits, the reduction has failed: its `free_column` is −1.
    """
    # NONE is −1 and ZERO is 0, as 64-bit integers.
    failed = IntegerReduction(free_column=NONE, rank=ZERO, pivot=ZERO)
    rank = ZERO  # rows 0 … rank − 1 have pivots so far
    free_column = NONE
    last_pivot = FIRST_PIVOT  # 1: in the first step there is nothing to divide by
    for column in range(n_columns):
        # A column without a pivot is passed over: no row changes, and `last_pivot` stays the pivot
        # of the last step.
        pivot_row = first_nonzero(work, column, rank, n_rows)  # −1 if there is none
        has_no_pivot = pivot_row < 0
        if has_no_pivot:
            is_second_free_column = free_column >= 0
            if is_second_free_column:
                return failed
            free_column = column
            continue

        # Move the pivot row up to row number `rank`, directly below the rows that have pivots.
        for j in range(n_columns):
            moved_entry = work[pivot_row, j]
            work[pivot_row, j] = work[rank, j]
            work[rank, j] = moved_entry
        pivot = work[rank, column]

        # Make this column zero in all other rows. Their entries are divided by the pivot of the
        # step before, without a remainder. `eliminate_row` returns False if a product is too large.
        for row in range(n_rows):
            if row != rank:
                fits_in_64_bits = eliminate_row(
                    work,
                    row=row,
                    pivot_row=rank,
                    column=column,
                    n_columns=n_columns,
                    last_pivot=last_pivot,
                )
                if not fits_in_64_bits:
                    return failed
        last_pivot = pivot
        rank += 1
    return IntegerReduction(free_column=free_column, rank=rank, pivot=last_pivot)


@inner_kernel()
def first_nonzero(work: NDArray, column: int, start: int, stop: int) -> int:
    """The first of the rows start … stop − 1 with an entry in this column, −1 if there is none."""
    for j in range(start, stop):
        if work[j, column] != 0:
            return j
    return NONE


@inner_kernel()
def eliminate_row(  # noqa: PLR0913
    work: NDArray, row: int, pivot_row: int, column: int, n_columns: int, last_pivot: int
) -> bool:
    """Make one row zero in a column by Bareiss' fraction-free elimination, in place.

    With `pivot` and `factor` the entries of the pivot row and of this row in `column`,

        row ← (pivot · row − factor · pivot row) / last_pivot,

    where `last_pivot` is the pivot of the step before, and 1 in the first step. The division is
    exact. Returns False where products could exceed 64 bits; the row is then only partly changed,
    and `work` is of no further use.
    """
    # Both are read before the loop, which overwrites `factor` in the matrix with 0.
    pivot = work[pivot_row, column]
    factor = work[row, column]
    for j in range(n_columns):
        # Estimate the size of the products in floating point, where nothing overflows.
        own_product = abs(float(pivot) * float(work[row, j]))
        pivot_product = abs(float(factor) * float(work[pivot_row, j]))
        if own_product + pivot_product > MAX_INTEGER:
            return False
        work[row, j] = (pivot * work[row, j] - factor * work[pivot_row, j]) // last_pivot
    return True
