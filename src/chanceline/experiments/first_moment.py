"""The first moment at finite size: the mean number of separating supports, C(N, M)·D(P, M)/2^P.

D is Cover's count for inputs in general position. The first moment is known exactly at every N, and
carries most of the corrections like ln N / N that typical counts have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.chance.cover import log_cover_curve


def log_first_moment(n: int, patterns: int, m: Any) -> Any:
    """ln E Z = ln[C(N, M)·D(P, M)/2^P] at one M or at an array of them."""
    return log_binomial(n, m) + log_cover_curve(patterns, n)[m] - patterns * LOG2


def first_moment_size(n: int, patterns: int) -> float:
    """The size K where the first moment passes 1, by linear interpolation of its logarithm.

    By Markov's inequality smaller supports rarely separate. K/N goes to `first_moment_density` and
    carries the ln N corrections.
    """
    sizes = np.arange(1, n + 1)
    logs = log_first_moment(n, patterns, sizes)
    above = int(np.argmax(logs >= 0))
    if above == 0:
        return 1.0
    rise = logs[above] - logs[above - 1]
    return float(sizes[above] - logs[above] / rise)
