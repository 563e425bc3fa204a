"""The smallest count from which on something holds, though near there it may fail now and then."""

from __future__ import annotations

from collections.abc import Callable

from chanceline.chance.shape import MAX_COUNT

# At most so many counts on either side of the crossing are looked at one by one.
_LONGEST_CYCLE = 50


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """The smallest count from which on every count convinces; None if it would be above 10⁷.

    Rounding of the class sizes, or blocks taken in turn, makes a bound rise here and there, so that
    convincing and failing counts alternate around the crossing. After `cycle` more counts the
    classes are in about the same proportion again, and the bound is lower: failures further off
    than one cycle do not occur. Three steps:

    1. double the count until it convinces;
    2. bisect between there and the last failure, as if there were one crossing;
    3. ask every count within one cycle of the crossing, and return the one after the last failure.

    Parameters
    ----------
    convinces
        Whether a count is large enough.
    start
        The smallest count worth asking about, at least 1.
    cycle
        Counts after which the proportions repeat.
    """
    # Double until one convinces. Then `high` convinces; `low` does not, or is the start.
    low = start
    high = 2 * start
    while not convinces(high):
        low = high
        high = 2 * high
        if high > MAX_COUNT:
            return None

    # Bisection as if there were a single crossing: it lies between `lowest` and `crossing`.
    lowest = low + 1
    crossing = high
    while lowest < crossing:
        middle = (lowest + crossing) // 2
        if convinces(middle):
            crossing = middle
        else:
            lowest = middle + 1

    # The last failure within one cycle of the crossing.
    reach = min(cycle, _LONGEST_CYCLE)
    window = range(max(start, crossing - reach), crossing + reach)
    failures = [count for count in window if not convinces(count)]
    if not failures:
        # Then the start itself convinces; the bisection only looked above it.
        return start
    return failures[-1] + 1
