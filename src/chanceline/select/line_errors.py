"""The fewest errors along a line, and a descent on errors along the coordinates.

Along w + t·d the margin of sample μ is m_μ + t·d_μ, which changes sign once, at t = −m_μ/d_μ.
Sorting these breakpoints gives the number of errors on every interval between them. A sample on the
threshold counts as an error, so only open intervals matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import ZERO, counter, kernel, leaf_kernel
from chanceline.kernels.random import next_random
from chanceline.kernels.vectors import add_scaled, combine

NARROWEST_INTERVAL = 1e-9  # relative to its place: rounding could close a narrower one
NEAR_ZERO = 1e-3  # steps below this count as near 0, where no width is relative to the place
MIN_RELATIVE_SLOPE = 1e-12  # of a margin, to the steepest one: with less it counts as constant
MARGIN_ROUNDING = 1e-11  # margins below this, relative to the largest, count as errors
IDLE_ROUNDS = counter(2)  # of the descent on errors before it gives up


class LineScratch(NamedTuple):
    """Room for one line search among P samples.

    Attributes
    ----------
    breakpoints : (P,) the steps at which margins change sign.
    is_rising : (P,) bools, whether the margin becomes positive there.
    """

    breakpoints: NDArray[np.float64]
    is_rising: NDArray[np.bool_]


class LineMinimum(NamedTuple):
    """The fewest errors on a line, and a step that has so few."""

    errors: int
    step: float


def make_line_scratch(n_samples: int) -> LineScratch:
    """Make room for line searches among so many samples."""
    return LineScratch(
        breakpoints=np.zeros(n_samples), is_rising=np.zeros(n_samples, dtype=np.bool_)
    )


@leaf_kernel()
def count_errors(margins: NDArray) -> int:
    """How many of the margins, shape (P,), are not positive beyond rounding.

    What counts as rounding is relative to the largest |margin|.
    """
    largest = 0.0
    for sample in range(margins.size):
        if abs(margins[sample]) > largest:
            largest = abs(margins[sample])
    errors = 0
    for sample in range(margins.size):
        if not margins[sample] > MARGIN_ROUNDING * largest:
            errors += 1
    return errors


@leaf_kernel()
def find_breakpoints(margins: NDArray, direction: NDArray, line: Any) -> tuple[int, int]:
    """Write the steps t at which margins + t·direction, both (P,), change sign.

    Margins that hardly change have no breakpoint: they are errors everywhere or nowhere. At
    t → −∞ the rising ones, whose direction is positive, are errors.

    Parameters
    ----------
    line : `LineScratch`, whose `breakpoints` and `is_rising` are written.

    Returns
    -------
    How many breakpoints there are, and the errors at t → −∞.
    """
    breakpoints = line.breakpoints
    is_rising = line.is_rising

    steepest = 0.0
    for sample in range(direction.size):
        if abs(direction[sample]) > steepest:
            steepest = abs(direction[sample])

    n_breaks = ZERO
    errors = ZERO
    for sample in range(margins.size):
        slope = direction[sample]
        if abs(slope) > MIN_RELATIVE_SLOPE * steepest:
            breakpoints[n_breaks] = -margins[sample] / slope
            is_rising[n_breaks] = slope > 0.0
            n_breaks += 1
            if slope > 0.0:
                errors += 1
        elif not margins[sample] > 0.0:  # so that NaN is an error too
            errors += 1
    return n_breaks, errors


@leaf_kernel()
def sort_breakpoints(line: Any, n_breaks: int) -> None:
    """Sort the first `n_breaks` breakpoints, and `is_rising` with them, by Shell's method.

    Entries that are `gap` places apart are sorted by insertion, for smaller and smaller gaps, which
    shrink by 5/11 (Gonnet and Baeza-Yates, "Handbook of Algorithms and Data Structures"). NumPy's
    sort would take two seconds to compile.
    """
    breakpoints = line.breakpoints
    is_rising = line.is_rising
    gap = n_breaks
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for i in range(gap, n_breaks):
            inserted = breakpoints[i]
            inserted_is_rising = is_rising[i]
            place = i
            while place >= gap and breakpoints[place - gap] > inserted:
                breakpoints[place] = breakpoints[place - gap]
                is_rising[place] = is_rising[place - gap]
                place -= gap
            breakpoints[place] = inserted
            is_rising[place] = inserted_is_rising


@leaf_kernel()
def step_after(
    breakpoints: NDArray, i: int, n_breaks: int, least_step: float
) -> tuple[float, bool]:
    """A step in the interval after breakpoint i, above `least_step`; whether there is room for one.

    It is the middle of the interval. The last interval has no end: there the step lies well beyond
    its start. `breakpoints`, (P,), are sorted; the first `n_breaks` count. Comparisons with "not"
    are true for numbers that are not a number, too.
    """
    start = breakpoints[i]
    if not start > least_step:
        start = least_step
    if i + 1 == n_breaks:
        return start + (1.0 + abs(start)), True
    end = breakpoints[i + 1]
    is_wide = not end - start <= NARROWEST_INTERVAL * (NEAR_ZERO + abs(start))
    return 0.5 * (start + end), is_wide


@leaf_kernel()
def step_before(first_breakpoint: float, least_step: float) -> float:
    """A step well before the first breakpoint; if that is below `least_step`, between the two."""
    step = first_breakpoint - (1.0 + abs(first_breakpoint))
    if step < least_step:
        step = 0.5 * (least_step + first_breakpoint)
    return step


@kernel()
def fewest_on_line(
    margins: NDArray, direction: NDArray, least_step: float, line: Any, random: NDArray
) -> LineMinimum:
    """The fewest errors of margins + t·direction over all steps t > `least_step`.

    Errors change at the breakpoints only, so every interval between two of them is looked at once.
    Among intervals of equally many errors one is drawn by lot. The step is the middle of the
    interval, or lies well beyond the outermost breakpoint.

    Parameters
    ----------
    margins, direction : (P,) m and d.
    least_step : −∞ where every step is allowed.
    line : `LineScratch` for P samples.
    random : (1,) state of the random numbers.
    """
    breakpoints = line.breakpoints
    is_rising = line.is_rising
    n_breaks, errors = find_breakpoints(margins, direction, line)
    if n_breaks == 0:
        return LineMinimum(errors, max(least_step, 0.0))
    sort_breakpoints(line, n_breaks)

    # Before the first breakpoint.
    fewest = errors
    best_step = step_before(breakpoints[0], least_step)
    is_allowed = not breakpoints[0] <= least_step
    if not is_allowed:
        fewest = margins.size + 1  # more than there can be

    # After each breakpoint: one error less where a margin has risen above zero, else one more.
    # Intervals are counted from the first with the fewest errors so far, worse ones too. The n-th,
    # if it is as good, takes the place of the one chosen with probability 1/n; so earlier ones are
    # somewhat more probable than later ones.
    n_since_fewest = 1
    for i in range(n_breaks):
        if is_rising[i]:
            errors -= 1
        else:
            errors += 1
        step, is_wide = step_after(breakpoints, i, n_breaks=n_breaks, least_step=least_step)
        if not is_wide:
            continue

        n_since_fewest += 1
        if errors < fewest:
            fewest = errors
            best_step = step
            n_since_fewest = 1
        elif errors == fewest and next_random(random) * n_since_fewest < 1.0:
            best_step = step
    return LineMinimum(fewest, best_step)


@leaf_kernel()
def descend(hinge: Any, weights: NDArray, margins: NDArray, line: Any) -> int:
    """Lower the errors by exact line searches along the weights, one after the other.

    Rounds start at a random weight, until `IDLE_ROUNDS` in a row gain nothing. Steps to intervals
    of equally many errors are taken too: they wander on the plateau.

    Parameters
    ----------
    hinge : the workspace, for its support and random numbers; its weights stay as they are.
    weights : (capacity,) of the columns of the support, to start at; changed.
    margins : (P,) of these weights; changed.
    line : `LineScratch` for P samples.

    Returns
    -------
    The errors that are left.
    """
    columns = hinge.data.columns
    nonnegative = hinge.data.nonnegative
    support = hinge.state.support
    random = hinge.state.random
    size = hinge.state.n_used[0]

    errors = count_errors(margins)
    n_idle = 0
    while n_idle < IDLE_ROUNDS and errors > 0:
        errors_before = errors
        start = int(next_random(random) * size)
        for i in range(size):
            place = (start + i) % size
            column = columns[support[place]]
            # A nonnegative weight may fall to zero at most.
            least_step = -np.inf
            if nonnegative[support[place]]:
                least_step = -weights[place]
            minimum = fewest_on_line(margins, column, least_step, line, random)
            if minimum.errors <= errors:  # equal: a step on the plateau
                errors = minimum.errors
                weights[place] += minimum.step
                add_scaled(margins, minimum.step, column, margins.size)

        # Margins anew from the weights: rounding adds up.
        combine(columns, support, weights, size, margins)
        errors = count_errors(margins)
        if errors < errors_before:
            n_idle = 0
        else:
            n_idle += 1
    return errors
