"""The smallest count from which on something holds, though near there it may fail now and then."""

from __future__ import annotations

from collections.abc import Callable

from chanceline.chance.shape import MAX_COUNT

# At most so many counts on either side of the crossing are looked at one by one.
_LONGEST_CYCLE = 50


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """Find the smallest count from which on every count convinces; None if it is above 10⁷.

    A count is, for example, a number of samples. Small counts fail and large ones convince. Near
    the crossing failing and convincing counts alternate, because class sizes are rounded or blocks
    are taken in turn. No count fails that lies more than `cycle` above the crossing: after a cycle
    the classes are in about the same proportion again, and the bound is lower.

    The steps: double the count until one convinces, find a crossing by bisection, and ask every
    count near it. (Doubling asks 2·start first. So the start itself is asked at the end only, if
    the crossing comes near it.)

    Parameters
    ----------
    convinces
        Whether a count is large enough.
    start
        The smallest count worth asking about, at least 1.
    cycle
        Counts after which the proportions repeat, at least 1.
    """
    # Double until a count convinces. Then `high` convinces, and `low` has failed or is the start.
    low = start
    high = 2 * start
    while not convinces(high):
        low = high
        high = 2 * high
        if high > MAX_COUNT:
            return None

    # Bisection, as if there were a single crossing. In every pass `crossing` convinces, and the
    # count before `lowest` has failed, or is the start.
    lowest = low + 1
    crossing = high
    while lowest < crossing:
        middle = (lowest + crossing) // 2
        if convinces(middle):
            crossing = middle
        else:
            lowest = middle + 1

    # Ask every count within one cycle of the crossing. The result is the count after the last
    # failure.
    reach = min(cycle, _LONGEST_CYCLE)
    lowest_asked = max(start, crossing - reach)
    window = range(lowest_asked, crossing + reach)
    failures = [count for count in window if not convinces(count)]
    if failures:
        return failures[-1] + 1
    # The window contains the count before the crossing, because the crossing is above the start.
    # That count has failed in the bisection, or it is the start. As nothing in the window fails, it
    # is the start, which was asked just now and convinces.
    return start
