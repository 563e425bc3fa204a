"""In which precision numbers are computed with: single where that holds them exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats


def single_if_exact(values: NDArray[Any]) -> Floats:
    """The numbers in single precision if it holds every one of them exactly, else in double.

    That depends on the numbers alone: genotypes have single precision, as whatever type they are
    stored. No copy is made of what is in that precision already.
    """
    single: Floats = values.astype("float32", copy=False)
    is_exact_type = np.can_cast(values.dtype, np.float32)
    if is_exact_type or np.array_equal(single, values):
        return single
    return values.astype(float, copy=False)
