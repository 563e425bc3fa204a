"""Logistic regression with a ridge on few columns, many training sets and penalties at once.

    minimise Σ_μ m_μ ln(1 + exp(−y_μ η_μ)) + λ/2 Σ_j w_j²,    η = Dw

by Newton's method, all fits in one stack of small matrices. m is 1 on the training samples and 0 on the rest; the leading columns
of D (the constant, covariates) go without a penalty but for a trace that keeps them finite where classes separate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TRACE = 1e-3
MOST_STEPS = 40
# No score moves farther in one step, so that none overshoots; below the second number all have arrived.
FARTHEST, NEAR = 6.0, 1e-4


def ridge_logistic(design: Floats, y: Floats, training: Floats, penalties: Floats, free: int) -> Floats:
    """Weights of every fit (training sets × penalties × columns).

    Parameters
    ----------
    design : training sets × samples × columns, scaled.
    y : labels ±1.
    training : training sets × samples, 1 or 0.
    penalties : one λ for each fit of a training set.
    free : number of leading columns without a penalty.
    """
    count, _, width = design.shape
    ridge = np.where(np.arange(width) < free, TRACE, penalties[:, None])
    weights = np.zeros((count, len(penalties), width))
    turned = np.ascontiguousarray(design.transpose(0, 2, 1))
    positive, masks, places = (y > 0).astype(float), training[:, None, :], np.arange(width)
    for _ in range(MOST_STEPS):
        chances = probability(weights @ turned)
        slope = ((chances - positive) * masks) @ design + ridge * weights
        curvature = (turned[:, None] * (chances * (1 - chances) * masks)[:, :, None, :]) @ design[:, None]
        curvature[..., places, places] += ridge
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        moved = np.abs(step @ turned).max(axis=2)
        weights -= step * np.minimum(1.0, FARTHEST / np.maximum(moved, NEAR))[..., None]
        if moved.max() < NEAR:
            break
    return weights


def probability(scores: Floats) -> Floats:
    """1/(1 + e^−η)."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))
