"""Logarithms of binomial coefficients, the alphabet of every count in this package.

All logarithms are natural.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

LOG2 = float(np.log(2.0))


def log_binomial(n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Natural logarithm of C(n, k) for 0 ≤ k ≤ n, and −∞ for other k.

    n and k are numbers or arrays, and are broadcast against each other.
    """
    n = np.asarray(n, dtype=float)
    k = np.asarray(k, dtype=float)
    is_valid = (k >= 0) & (k <= n)
    # Outside 0 ≤ k ≤ n the formula is computed for k = 0; the last line sets the result to −∞.
    valid_k = np.where(is_valid, k, 0.0)
    log_coefficient = gammaln(n + 1) - gammaln(valid_k + 1) - gammaln(n - valid_k + 1)

    # C(n, 0) = C(n, n) = 1 and C(n, 1) = C(n, n − 1) = n are set directly. There the difference of
    # large log-gammas would cancel and lose digits.
    is_one = (valid_k == 0) | (valid_k == n)
    is_n = (valid_k == 1) | (valid_k == n - 1)
    log_n = np.log(np.maximum(n, 1.0))  # the maximum avoids ln 0 for n = 0, where it is not used
    log_coefficient = np.where(is_one, 0.0, log_coefficient)
    log_coefficient = np.where(is_n, log_n, log_coefficient)
    return np.where(is_valid, log_coefficient, -np.inf)
