"""Orthonormal columns that span given ones."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats

# Singular values below this share of the largest are rounding.
RANK_SHARE = 1e-9


def orthonormal_columns(columns: Floats) -> Floats:
    """The left singular vectors of the columns (samples, columns): (samples, rank)."""
    directions, singular_values, _ = np.linalg.svd(columns, full_matrices=False)
    is_left = singular_values > RANK_SHARE * singular_values.max(initial=0.0)
    spanning: Floats = directions[:, is_left]
    return spanning
