"""The first count from which on all convince, against asking every count."""

from __future__ import annotations

import pytest

from chanceline.chance.first_count import first_convincing


def last_failure_by_asking(convinces, start, end):
    """One after the last count from `start` on that fails; `start` if none does."""
    failures = [count for count in range(start, end) if not convinces(count)]
    return max(failures, default=start - 1) + 1


@pytest.mark.parametrize("start", [1, 2, 5])
@pytest.mark.parametrize("threshold", [1, 2, 5, 6, 7, 40, 41, 99])
@pytest.mark.parametrize("cycle", [1, 3, 7])
def test_every_count_asked_gives_the_same(start, threshold, cycle):
    """Below the threshold none convinces; within a cycle above it every other count fails."""

    def convinces(count):
        if count >= threshold + cycle:
            return True
        return count >= threshold and (count - threshold) % 2 == 0

    expected = last_failure_by_asking(convinces, start, 400)
    assert first_convincing(convinces, start, cycle) == expected


def test_out_of_reach():
    assert first_convincing(lambda count: False, 2, 3) is None
