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
        # Move values below the pivot to the left and those above it to the right. Neither inner
        # scan can run out of the range: it stops at the pivot itself, or at a value exchanged
        # before.
        pivot = values[(low + high) >> 1]  # the value in the middle of the range
        left = low
        right = high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                moved_value = values[left]
                values[left] = values[right]
                values[right] = moved_value
                left += 1
                right -= 1

        # Now values[low … right] ≤ pivot ≤ values[left … high]. A value between these two parts
        # equals the pivot and is in its sorted place: if that is the wanted index, all is done.
        if wanted_index <= right:
            high = right
        elif wanted_index >= left:
            low = left
        else:
            return
