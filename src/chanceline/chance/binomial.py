"""Logarithms of binomial coefficients, the alphabet of every count in this package.

All logarithms are natural.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

LOG2 = float(np.log(2.0))


def log_binomial(n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """ln C(n, k) for 0 ≤ k ≤ n, and −∞ outside; n and k are broadcast against each other."""
    n = np.asarray(n, dtype=float)
    k = np.asarray(k, dtype=float)
    inside = (k >= 0) & (k <= n)
    # Where k is outside, k = 0 stands in for it, and the last line replaces the result by −∞.
    safe_k = np.where(inside, k, 0.0)
    value = gammaln(n + 1) - gammaln(safe_k + 1) - gammaln(n - safe_k + 1)

    # C(n, 0) = C(n, n) = 1 and C(n, 1) = n without the cancellation of large log-gammas.
    value = np.where((safe_k == 0) | (safe_k == n), 0.0, value)
    value = np.where((safe_k == 1) | (safe_k == n - 1), np.log(np.maximum(n, 1.0)), value)
    return np.where(inside, value, -np.inf)
