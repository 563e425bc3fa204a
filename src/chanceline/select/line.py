"""The fewest errors along a line: exact line search on the number of errors, and descent along the coordinates.

Along w + t·d the margin of pattern μ is m_μ + t·d_μ, which changes sign once, at t = −m_μ/d_μ. Sorting these breakpoints
gives the number of errors on every interval between them. A point on the threshold counts as an error, so only open
intervals matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import inlined_kernel, inner_kernel, kernel
from chanceline.perceptron.hinge import next_random
from chanceline.perceptron.linalg import add_scaled, combine

NARROWEST = 1e-9  # intervals narrower than this, relative to their place, do not count: rounding could close them
ROUNDING = 1e-11  # margins below this, relative to the largest, count as errors


@kernel()
def count_errors(margins: NDArray) -> int:
    """Patterns whose margin is not safely positive."""
    largest = 0.0
    for pattern in range(margins.size):
        largest = max(largest, abs(margins[pattern]))
    errors = 0
    for pattern in range(margins.size):
        errors += not margins[pattern] > ROUNDING * largest
    return errors


@inner_kernel()
def fewest_on_line(margins: NDArray, direction: NDArray, breaks: NDArray, state: NDArray) -> tuple[int, float]:
    """(errors, step t) with the fewest errors of margins + t·direction; ties are drawn by lot."""
    turning, errors = 0, 0
    largest, rising = 0.0, np.empty(margins.size, dtype=np.bool_)
    for pattern in range(margins.size):
        largest = max(largest, abs(direction[pattern]))
    for pattern in range(margins.size):
        if abs(direction[pattern]) > 1e-12 * largest:
            breaks[turning] = -margins[pattern] / direction[pattern]
            rising[turning] = direction[pattern] > 0.0
            errors += rising[turning]
            turning += 1
        else:
            errors += not margins[pattern] > 0.0
    if turning == 0:
        return errors, 0.0
    # Shell's sort, both arrays at once: numpy's takes two seconds to compile.
    gap = turning // 2
    while gap > 0:
        for i in range(gap, turning):
            value, sign, j = breaks[i], rising[i], i
            while j >= gap and breaks[j - gap] > value:
                breaks[j], rising[j] = breaks[j - gap], rising[j - gap]
                j -= gap
            breaks[j], rising[j] = value, sign
        gap //= 2
    first = breaks[0]
    best, step, ties = errors, first - (1.0 + abs(first)), 1
    for i in range(turning):
        here = breaks[i]
        errors += -1 if rising[i] else 1
        if i + 1 < turning:
            there = breaks[i + 1]
            if there - here <= NARROWEST * (1e-3 + abs(here)):
                continue
            middle = 0.5 * (here + there)
        else:
            middle = here + (1.0 + abs(here))
        ties = 1 if errors < best else ties + 1
        if errors < best or (errors == best and next_random(state) * ties < 1.0):
            best, step = errors, middle
    return best, step


@inlined_kernel()
def descend(
    columns: NDArray, support: NDArray, k: int, weights: NDArray, margins: NDArray, breaks: NDArray, state: NDArray, rounds: int
) -> int:
    """Exact line searches along the coordinates, in random order, until `rounds` in a row gain nothing; the errors left.

    Changes weights and margins. Steps to intervals with equally many errors are taken too: they wander on the plateau.
    """
    errors = count_errors(margins)
    idle = 0
    while idle < rounds and errors > 0:
        before = errors
        start = int(next_random(state) * k)
        for i in range(k):
            place = (start + i) % k
            column = columns[support[place]]
            found, step = fewest_on_line(margins, column, breaks, state)
            if found <= errors:
                weights[place] += step
                add_scaled(margins, step, column, margins.size)
                errors = found
        combine(columns, support, weights, k, margins)
        errors = count_errors(margins)
        idle = 0 if errors < before else idle + 1
    return errors
