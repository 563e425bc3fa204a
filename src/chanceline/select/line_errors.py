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
    """Allocate the scratch arrays of line searches among `n_samples` samples."""
    return LineScratch(
        breakpoints=np.zeros(n_samples), is_rising=np.zeros(n_samples, dtype=np.bool_)
    )


@leaf_kernel()
def count_errors(margins: NDArray) -> int:
    """Count the margins, (samples,), that are not positive by more than rounding.

    A margin up to MARGIN_ROUNDING times the largest |margin| may be positive by rounding only, so
    it counts as an error.
    """
    largest = 0.0
    for sample in range(margins.size):
        if abs(margins[sample]) > largest:
            largest = abs(margins[sample])

    largest_rounding = MARGIN_ROUNDING * largest
    errors = 0
    for sample in range(margins.size):
        if not margins[sample] > largest_rounding:  # so that NaN is an error too
            errors += 1
    return errors


@leaf_kernel()
def find_breakpoints(margins: NDArray, direction: NDArray, line: Any) -> tuple[int, int]:
    """Find the steps t at which the margins m + t·d change sign, for a line search along d.

    The margin of a sample is zero at t = −m/d, its breakpoint. A margin that hardly changes along
    the line (|d| is very small) has no breakpoint: the sample is an error either for all t or for
    none.

    Parameters
    ----------
    margins, direction : (samples,) m and d.
    line : the `LineScratch`. Its `breakpoints` are filled with the steps, unsorted, and `is_rising`
        says whether the margin becomes positive there.

    Returns
    -------
    The number of breakpoints, and the number of errors at t → −∞.
    """
    breakpoints = line.breakpoints
    is_rising = line.is_rising

    # The largest |d|, with which the others are compared.
    steepest = 0.0
    for sample in range(direction.size):
        if abs(direction[sample]) > steepest:
            steepest = abs(direction[sample])

    # The breakpoints, and the errors where t is below all of them.
    n_breaks = ZERO  # a 64-bit integer, as all counts of compiled functions
    errors = ZERO
    for sample in range(margins.size):
        slope = direction[sample]
        if abs(slope) > MIN_RELATIVE_SLOPE * steepest:
            breakpoints[n_breaks] = -margins[sample] / slope
            is_rising[n_breaks] = slope > 0.0
            n_breaks += 1
            if slope > 0.0:  # the margin is −∞ at t → −∞
                errors += 1
        elif not margins[sample] > 0.0:  # so that NaN is an error too
            errors += 1
    return n_breaks, errors


@leaf_kernel()
def sort_breakpoints(line: Any, n_breaks: int) -> None:
    """Sort the first `n_breaks` breakpoints, and `is_rising` with them, in place by Shell's method.

    Entries that are `gap` places apart are sorted by insertion, for smaller and smaller gaps. The
    gaps shrink by a factor 5/11 (Gonnet and Baeza-Yates, "Handbook of Algorithms and Data
    Structures"). NumPy's sort is not used here, because it would take two seconds to compile.

    line : the `LineScratch` with both arrays, (samples,); changed.
    """
    breakpoints = line.breakpoints
    is_rising = line.is_rising
    gap = n_breaks
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for i in range(gap, n_breaks):
            # Insert entry i among those at i − gap, i − 2 gap, …, which are sorted already: larger
            # ones move up by one gap.
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
    """Return a step in the interval after breakpoint i, and whether the interval has room for it.

    The step is the middle of the interval, or lies well beyond its start if the interval is the
    last one and has no end. Only the part above `least_step` counts. There is no room if the
    interval is so narrow that rounding could close it, or lies below `least_step`.

    breakpoints : (samples,) sorted; the first `n_breaks` count.
    """
    # Comparisons are written with "not", so that they are true if a number is NaN.
    start = breakpoints[i]
    if not start > least_step:
        start = least_step
    if i + 1 == n_breaks:
        return start + (1.0 + abs(start)), True
    end = breakpoints[i + 1]
    has_room = not end - start <= NARROWEST_INTERVAL * (NEAR_ZERO + abs(start))
    return 0.5 * (start + end), has_room


@leaf_kernel()
def step_before(first_breakpoint: float, least_step: float) -> float:
    """Return a step before the first breakpoint, and above `least_step` where that is possible.

    It lies well before the breakpoint; if this would be below `least_step`, in the middle between
    the two.
    """
    step = first_breakpoint - (1.0 + abs(first_breakpoint))
    if step < least_step:
        step = 0.5 * (least_step + first_breakpoint)
    return step


@kernel()
def fewest_on_line(
    margins: NDArray, direction: NDArray, least_step: float, line: Any, random: NDArray
) -> LineMinimum:
    """Find the step t > `least_step` at which the margins m + t·d have the fewest errors.

    The number of errors changes only at breakpoints, the steps at which a margin is zero. So one
    step is tried in every interval between neighbouring breakpoints, and beyond both ends. Among
    intervals with equally few errors one is chosen at random.

    Parameters
    ----------
    margins, direction : (samples,) m and d.
    least_step : lower limit of the step; −∞ if every step is allowed.
    line : `LineScratch` for as many samples; overwritten.
    random : (1,) state of the random numbers; advanced.

    Returns
    -------
    The fewest errors, and the step: the middle of an interval, or well beyond the first or last
    breakpoint.
    """
    breakpoints = line.breakpoints  # (samples,) in the first `n_breaks` places
    is_rising = line.is_rising  # (samples,) whether the margin grows there, so that an error ends
    n_breaks, errors = find_breakpoints(margins, direction, line)  # `errors` at t → −∞
    if n_breaks == 0:
        return LineMinimum(errors, max(least_step, 0.0))  # all steps are equally good
    sort_breakpoints(line, n_breaks)

    # The interval before the first breakpoint. If it lies below the limit, it is not allowed. Then
    # it counts as having more errors than are possible, so that the first allowed one replaces it.
    fewest = errors
    best_step = step_before(breakpoints[0], least_step)
    if breakpoints[0] <= least_step:
        fewest = margins.size + 1

    # The interval after each breakpoint. `n_since_fewest` counts the intervals tried from the first
    # one with so few errors on, including that one.
    n_since_fewest = 1
    for i in range(n_breaks):
        # At the breakpoint one sample becomes correct or wrong.
        if is_rising[i]:
            errors -= 1
        else:
            errors += 1
        # A step inside the interval. There is no room for one if the interval is so narrow that
        # rounding could close it, or lies below `least_step`.
        step, has_room = step_after(breakpoints, i, n_breaks=n_breaks, least_step=least_step)
        if not has_room:
            continue

        n_since_fewest += 1
        if errors < fewest:
            fewest = errors
            best_step = step
            n_since_fewest = 1
        elif errors == fewest:
            # Replace the step chosen so far with probability 1/n, n = `n_since_fewest`. (The choice
            # is not uniform: intervals with more errors count in n too, so that earlier intervals
            # are somewhat more probable than later ones.)
            is_preferred = next_random(random) * n_since_fewest < 1.0
            if is_preferred:
                best_step = step
    return LineMinimum(fewest, best_step)


@leaf_kernel()
def descend(workspace: Any, weights: NDArray, margins: NDArray, line: Any) -> int:
    """Lower the number of errors of a rule by exact line searches, one weight after the other.

    In every round each weight is changed once, to a value at which the errors are fewest, beginning
    at a random weight. Steps that keep the number of errors are taken too, so that the rule wanders
    among equally good ones. The descent ends when there are no errors left, or after IDLE_ROUNDS
    rounds in a row without fewer errors.

    Parameters
    ----------
    workspace : a `Hinge`, the arrays of a fit. Its columns and support are read, and its random
        numbers advanced. Its own weights are not changed.
    weights : (capacity,) weights of the columns in the support, the start of the descent; changed.
    margins : (samples,) the margins of these weights; changed with them.
    line : `LineScratch` for as many samples; overwritten.

    Returns
    -------
    The number of errors left.
    """
    columns = workspace.data.columns  # (columns, samples)
    nonnegative = workspace.data.nonnegative  # (columns,)
    support = workspace.state.support  # (capacity,); the first `size` places are in use
    size = workspace.state.n_used[0]  # stored in an array of one entry
    random = workspace.state.random

    errors = count_errors(margins)
    n_idle = 0  # rounds in a row without fewer errors
    while n_idle < IDLE_ROUNDS and errors > 0:
        errors_before = errors
        # One round: change the weight at every place of the support, from a random place on.
        first_place = int(next_random(random) * size)
        for i in range(size):
            place = (first_place + i) % size
            used_column = support[place]
            column = columns[used_column]
            # A weight that must not be negative may be lowered to zero, but not further.
            least_step = -np.inf
            if nonnegative[used_column]:
                least_step = -weights[place]

            # With step t the weight becomes w + t, and the margins m + t · column.
            minimum = fewest_on_line(
                margins, direction=column, least_step=least_step, line=line, random=random
            )
            if minimum.errors <= errors:
                errors = minimum.errors
                weights[place] += minimum.step
                add_scaled(margins, minimum.step, column, margins.size)

        # Compute the margins anew from the weights, since rounding errors of many steps add up.
        combine(vectors=columns, chosen=support, factors=weights, count=size, out=margins)
        errors = count_errors(margins)
        if errors < errors_before:
            n_idle = 0
        else:
            n_idle += 1
    return errors
