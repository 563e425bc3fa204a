"""The shipped table of capacities, which also starts the solvers with breaking."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np


@lru_cache(maxsize=1)
def capacity_table() -> Any:
    """The shipped table α_VS(ρ) with 0 to 3 steps of breaking and their limit, as a record array.

    Rows are in order of the density ρ. They also hold the order parameters of one step of breaking
    where the entropy is 0, which start the solver at any density in between. A value that no solver
    found is NaN.
    `scripts/make_capacity_table.py` makes it.
    """
    with files("chanceline").joinpath("data/capacity_table.csv").open(encoding="utf-8") as file:
        return np.genfromtxt(file, delimiter=",", names=True).view(np.recarray)
