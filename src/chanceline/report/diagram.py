"""The lines of the (ρ, α) diagram as the explorer draws them, from the tables shipped with the package."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from chanceline.theory.capacity_table import capacity_table

# Densities covered by the table; beyond them nothing is drawn and no value is given.
FIRST, LAST = 1e-6, 0.9995
NODES = 96
COLUMNS = ("rho", "replicon_alpha", "alpha_rs", "union", "l0_gardner")
TABLE = files("chanceline") / "data" / "diagram.csv"


def chebyshev_densities(nodes: int) -> list[float]:
    """Chebyshev points of logit ρ between `FIRST` and `LAST`, from large ρ to small."""

    def logit(rho: float) -> float:
        return math.log(rho / (1 - rho))

    middle, half = (logit(FIRST) + logit(LAST)) / 2, (logit(LAST) - logit(FIRST)) / 2
    positions = [middle + half * math.cos(math.pi * (k + 0.5) / nodes) for k in range(nodes)]
    return [1 / (1 + math.exp(-x)) for x in positions]


def diagram_table() -> dict[str, Any]:
    """Every line at the nodes, column by column."""
    with TABLE.open(encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in COLUMNS}
    return {"first": FIRST, "last": LAST, "names": list(COLUMNS[1:]), **columns}


def interpolated_lines(rhos: Sequence[float]) -> dict[str, list[float]]:
    """Every line at given densities: polynomial in logit ρ through ln(α/2ρ) at the nodes, as in the explorer."""
    import numpy as np
    from scipy.interpolate import BarycentricInterpolator
    from scipy.special import logit

    lines = diagram_table()
    wanted, nodes = np.asarray(rhos), np.asarray(lines["rho"])
    found = {"rho": wanted.tolist()}
    for name in lines["names"]:
        polynomial = BarycentricInterpolator(logit(nodes), np.log(np.asarray(lines[name]) / (2 * nodes)))
        found[name] = (2 * wanted * np.exp(polynomial(logit(wanted)))).tolist()
    return found


def broken_ratio() -> list[list[float]]:
    """[ρ, α_VS with one step of symmetry breaking over α_VS with replica symmetry], by increasing ρ.

    The ratio changes slowly, so that straight lines between its values are accurate to six digits.
    """
    return [[row.rho, row.alpha_1rsb / row.alpha_rs] for row in capacity_table()]
