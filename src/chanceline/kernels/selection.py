"""The smallest of many values, without sorting them all."""

from __future__ import annotations

from numpy.typing import NDArray

from chanceline.kernels.compile import leaf_kernel


@leaf_kernel()
def smallest_first(values: NDArray, count: int) -> None:
    """Reorder `values` in place so that the `count` smallest come first (Hoare's quickselect).

    Each round splits values[low … high] at a pivot value into a lower and an upper part, and
    continues with the part that contains index `count` − 1. The search ends when this index has the
    value that sorting would put there, with nothing larger before it.

    values : (n,) numbers, none of them NaN.
    count : how many smallest values are asked for, 1 … n.
    """
    wanted_index = count - 1  # it must get the value that it has in sorted order
    low = 0
    high = values.size - 1
    while low < high:
        # Split the range. At any time values[low … left − 1] ≤ pivot ≤ values[right + 1 … high].
        # Neither inner scan can run out of the range: it stops at the pivot itself, or at a value
        # exchanged before.
        pivot = values[(low + high) >> 1]  # the value in the middle of the range
        left = low
        right = high
        while left <= right:
            # Skip values that are on the correct side already.
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            # Exchange two values that are not (or equal the pivot).
            if left <= right:
                moved_value = values[left]
                values[left] = values[right]
                values[right] = moved_value
                left += 1
                right -= 1

        # Now right < left, and values[low … right] ≤ pivot ≤ values[left … high]. If there is an
        # index between these two parts, its value equals the pivot and is in its sorted place: if
        # that is the wanted index, all is done.
        if wanted_index <= right:
            high = right
        elif wanted_index >= left:
            low = left
        else:
            return
