"""The smallest count from which on something holds, though near there it may fail now and then."""

from __future__ import annotations

from collections.abc import Callable

from chanceline.chance.shape import MAX_COUNT

# At most so many counts on either side of the crossing are looked at one by one.
_LONGEST_CYCLE = 50


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """The smallest count from which on every count convinces; None if it would be above 10⁷.

    Around the crossing failing and convincing counts alternate, as class sizes are rounded or
    blocks taken in turn. Failures further from it than `cycle` do not occur: after so many more
    counts the classes are in about the same proportion again, and the bound is lower.

    Parameters
    ----------
    convinces
        Whether a count is large enough.
    start
        The smallest count worth asking about, at least 1.
    cycle
        Counts after which the proportions repeat, at least 1.
    """
    # Double until one convinces. Then `high` convinces; `low` does not, or is the start.
    low = start
    high = 2 * start
    while not convinces(high):
        low = high
        high = 2 * high
        if high > MAX_COUNT:
            return None

    # Bisection as if there were a single crossing: it lies between `lowest` and `crossing`. The
    # count before `lowest` has failed, or is the start, which was not asked.
    lowest = low + 1
    crossing = high
    while lowest < crossing:
        middle = (lowest + crossing) // 2
        if convinces(middle):
            crossing = middle
        else:
            lowest = middle + 1

    # Ask every count within one cycle of the crossing: the result comes after the last failure. The
    # window holds the count before the crossing, which has failed, or is the start. So if none
    # fails, that count is the start, and convinces.
    reach = min(cycle, _LONGEST_CYCLE)
    window = range(max(start, crossing - reach), crossing + reach)
    failures = [count for count in window if not convinces(count)]
    if not failures:
        return start
    return failures[-1] + 1
