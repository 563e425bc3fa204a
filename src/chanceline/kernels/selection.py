"""The smallest of many values, without sorting them all."""

from __future__ import annotations

from numpy.typing import NDArray

from chanceline.kernels.compile import leaf_kernel


@leaf_kernel()
def smallest_first(values: NDArray, count: int) -> None:
    """Reorder `values` so that the `count` ≥ 1 smallest come first (Hoare's selection).

    Each round splits values[low … high] at a pivot and goes on in the part that holds the place
    `count` − 1; it ends when that place is between the parts. No value may be NaN.
    """
    wanted = count - 1  # the place that must get its value of the sorted order
    low = 0
    high = values.size - 1
    while low < high:
        # Values below the pivot go left, those above it go right. Neither scan can leave the range:
        # it stops at the pivot itself, or at a value that was exchanged before.
        pivot = values[(low + high) >> 1]
        left = low
        right = high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                moved = values[left]
                values[left] = values[right]
                values[right] = moved
                left += 1
                right -= 1

        # Now low … right are ≤ pivot, left … high are ≥ pivot, and what is between equals it.
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            return
