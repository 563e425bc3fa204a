"""The shipped table α_VS(ρ) with 0 to 3 steps of breaking and their limit; `scripts/make_capacity_table.py` makes it.

Its rows hold the order parameters of one step at Σ = 0, which start the solver at any density in between.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import logit

from chanceline.theory.steps import Breaking, pack

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TableRow:
    """One density. Where a follower did not arrive, the value is NaN."""

    rho: float
    replicon_alpha: float  # replica symmetry is exact up to here
    alpha_rs: float
    error_rs: float
    alpha_1rsb: float
    error_1rsb: float
    alpha_2rsb: float
    error_2rsb: float
    alpha_3rsb: float
    error_3rsb: float
    alpha_full: float  # extrapolated to infinitely many steps
    error_full: float
    exponent: float
    replicon_inner: float
    chi: float
    K: float
    E: float
    F1: float
    p0: float
    p1: float
    G0: float
    G1: float
    x: float

    @property
    def order(self) -> Breaking:
        """Order parameters of one step at Σ = 0."""
        return Breaking(self.chi, self.K, self.E, self.F1, (self.p0, self.p1), (self.G0, self.G1), (self.x,))


@lru_cache(maxsize=1)
def capacity_table() -> tuple[TableRow, ...]:
    """All rows, in order of ρ."""
    text = files("chanceline").joinpath("data/capacity_table.csv").read_text(encoding="utf-8")
    names = [field.name for field in fields(TableRow)]
    return tuple(TableRow(**{name: float(row[name] or "nan") for name in names}) for row in csv.DictReader(text.splitlines()))


def table_range() -> tuple[float, float]:
    """The densities that the table spans."""
    rows = capacity_table()
    return rows[0].rho, rows[-1].rho


@lru_cache(maxsize=1)
def _spline() -> CubicSpline:
    rows = capacity_table()
    return CubicSpline([logit(row.rho) for row in rows], [pack(row.order, row.rho) for row in rows])


def start_at(rho: float) -> Array:
    """A start for one step of breaking at Σ = 0, interpolated between the rows in logit ρ."""
    return np.asarray(_spline()(logit(rho)))


@lru_cache(maxsize=1)
def _full_spline() -> CubicSpline:
    rows = [row for row in capacity_table() if np.isfinite(row.alpha_full)]
    values = [(np.log(row.alpha_1rsb - row.alpha_full), np.log(row.error_full)) for row in rows]
    return CubicSpline([logit(row.rho) for row in rows], values)


def full_breaking(rho: float, alpha_1rsb: float) -> tuple[float, float]:
    """α_VS with full breaking and its error, from α_VS with one step: the table's difference is interpolated."""
    difference, error = np.exp(_full_spline()(logit(rho)))
    return float(alpha_1rsb - difference), float(error)
