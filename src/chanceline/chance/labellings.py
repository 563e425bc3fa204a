"""How many labellings of a given class size, within e errors, one support of M features can realise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from chanceline.chance.counts import LOG2, log_cover_curve, log_hamming_ball, log_planar_sets

# Above this many errors the count per class size (quadratic in e) gives way to the larger plain Hamming ball.
EXACT_ERRORS = 1000


def log_coin(n_points: int, dimensions: NDArray[np.int64], errors: int) -> NDArray[np.float64]:
    """ln of the labellings, whatever their class sizes, within e errors of a rule in each of the dimensions.

    At most D(P, d) labellings are separable and each has Σ_{j≤e} C(P, j) neighbours.
    """
    curve = log_cover_curve(n_points, int(dimensions.max()))
    return np.minimum(curve[dimensions] + log_hamming_ball(n_points, errors), n_points * LOG2)


def log_neighbours(n_points: int, positives: int, errors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Class sizes k and ln w_k: the labellings with n₊ positives within e flips of one labelling with k
    positives.

    Flipping a of the k positives and b of the P − k negatives gives n₊ = k − a + b, so that

        w_k = Σ_{b} C(k, b + k − n₊) C(P − k, b),   0 ≤ 2b + k − n₊ ≤ e.
    """
    k = np.arange(max(0, positives - errors), min(n_points, positives + errors) + 1)
    excess = k - positives
    b = np.arange(errors + 1)
    a = excess[:, None] + b[None, :]
    allowed = (a >= 0) & (a + b <= errors) & (a <= k[:, None]) & (b <= (n_points - k)[:, None])
    a = np.where(allowed, a, 0)
    log_factorial = gammaln(np.arange(n_points + 2, dtype=float) + 1.0)
    rest = n_points - k
    b_safe = np.where(allowed, b[None, :], 0)
    terms = (
        log_factorial[k][:, None] - log_factorial[a] - log_factorial[k[:, None] - a]
        + log_factorial[rest][:, None] - log_factorial[b_safe] - log_factorial[rest[:, None] - b_safe]
    )  # fmt: skip
    return k, logsumexp(np.where(allowed, terms, -np.inf), axis=1)


def log_fixed(
    n_points: int, positives: int, selected: NDArray[np.int64], errors: int, intercept: bool
) -> tuple[NDArray[np.float64], list[str]]:
    """ln of the labellings with n₊ positives within e errors of a rule on M features, for each M, and which
    form won.

    Let c_k be the number of separable labellings with k positives. A rule and its opposite (−w, −b)
    separate opposite labellings, with an intercept and without, so c_k = c_{P−k} and Σ_k c_k ≤ D(P, d). The
    wanted count is at most Σ_k c_k w_k (`log_neighbours`), hence at most

    * "cover": D(P, d) · max_k (w_k + w_{P−k})/2. Without errors this is D/2 if n₊ ≠ P/2 and D if n₊ = P/2:
      a labelling and its opposite cannot both have n₊ positives unless the classes are equal;
    * "threshold" (M = 1 with an intercept): Σ_k c_k w_k with c_k = 2 for 0 < k < P, the k largest or the k
      smallest values; fewer with ties. The two coincide with neither P/2 special: for n₊ = P/2 the two
      directions are two different labellings. The empty and the full set count once;
    * "planar k-sets" (M = 2 with an intercept): Σ_k c_k w_k with `log_planar_sets`.
    """
    shift = 1 if intercept else 0
    curve = log_cover_curve(n_points, int(selected.max()) + shift)[selected + shift]
    if errors > EXACT_ERRORS:
        return curve + log_hamming_ball(n_points, errors), ["cover"] * len(selected)
    k, log_w = log_neighbours(n_points, positives, errors)
    opposite = np.full(len(k), -np.inf)
    mirrored = n_points - k - k[0]
    present = (mirrored >= 0) & (mirrored < len(k))
    opposite[present] = log_w[mirrored[present]]
    counts = curve + float(np.max(np.logaddexp(log_w, opposite))) - LOG2
    forms = ["cover"] * len(selected)
    if intercept:
        sharper = (
            (1, "threshold", np.where((k == 0) | (k == n_points), 0.0, LOG2)),
            (2, "planar k-sets", log_planar_sets(n_points, k)),
        )
        for m, form, log_c in sharper:
            value = float(logsumexp(log_c + log_w))
            for position in np.flatnonzero(selected == m):
                # Where both counts are the same, rounding must not choose the name.
                if value < counts[position] - 1e-12 * abs(value):
                    counts[position], forms[position] = value, form
    return counts, forms
