"""The smallest count from which on something holds, though near there it may fail now and then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from chanceline.chance.shape import MAX_COUNT

# At most so many counts on either side of the crossing are looked at one by one.
_LONGEST_CYCLE = 50


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """The smallest count from which on all convince, None if more than 10⁷ would be needed.

    Rounding of the class sizes, or blocks taken in turn, makes a bound rise here and there; after
    `cycle` more counts the classes are in the same proportion again, about. So the crossing is
    bracketed by doubling, found by bisection, and the last failure within one cycle around it is
    what counts: after it the bound stays low.

    Parameters
    ----------
    convinces
        Whether a count is large enough.
    start
        The smallest count worth asking about.
    cycle
        Counts after which the proportions repeat.
    """
    # Double until one convinces.
    low = start
    high = 2 * start
    while not convinces(high):
        low = high
        high = 2 * high
        if high > MAX_COUNT:
            return None

    # Bisection, as if there were a single crossing.
    crossing = bisect_left(range(high), True, lo=low + 1, key=convinces)

    # The last failure around it.
    around = min(cycle, _LONGEST_CYCLE)
    nearby = range(max(2, crossing - around), crossing + around)
    failures = [count for count in nearby if not convinces(count)]
    if not failures:
        return crossing
    return failures[-1] + 1
