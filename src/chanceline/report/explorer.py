"""`chanceline explore`: one interactive page with the diagram, the live bound and the samples needed; works offline.

The lines of the (ρ, α) diagram come from the tables shipped with the package.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from chanceline._io import write_text
from chanceline.report.page import ENVIRONMENT, asset
from chanceline.theory.capacity_table import capacity_table

# Densities covered by the table; beyond them nothing is drawn and no value is given.
FIRST, LAST = 1e-6, 0.9995
NODES = 96
COLUMNS = ("rho", "replicon_alpha", "alpha_rs", "union", "l0_gardner")
TABLE = files("chanceline") / "data" / "diagram.csv"
# The chance line for unequal classes and errors: densities, smallest balance, largest errors as a share of the rarer class.
DENSITIES, LEAST_BALANCE, MOST_ERRORS = (1e-5, 0.99), 0.01, 0.8
GRID = (11, 6, 8)  # nodes for the density, the balance and the errors
UNEQUAL = files("chanceline") / "data" / "chance_line.csv"


def chebyshev_densities(nodes: int) -> list[float]:
    """Chebyshev points of logit ρ between `FIRST` and `LAST`, from large ρ to small."""
    middle, half = (logit(FIRST) + logit(LAST)) / 2, (logit(LAST) - logit(FIRST)) / 2
    positions = [middle + half * math.cos(math.pi * (k + 0.5) / nodes) for k in range(nodes)]
    return [1 / (1 + math.exp(-x)) for x in positions]


def lobatto(low: float, high: float, count: int) -> list[float]:
    """Chebyshev points with both ends, from `high` to `low`."""
    middle, half = (low + high) / 2, (high - low) / 2
    inner = [middle + half * math.cos(math.pi * k / (count - 1)) for k in range(1, count - 1)]
    return [high, *inner, low]


def logit(share: float) -> float:
    return math.log(share / (1 - share))


def unequal_nodes() -> tuple[list[float], list[float], list[float]]:
    """Densities, balances and errors (as a share of the rarer class) at which the chance line for unequal classes is solved."""
    densities = [1 / (1 + math.exp(-x)) for x in lobatto(logit(DENSITIES[0]), logit(DENSITIES[1]), GRID[0])]
    balances = [1 / (1 + math.exp(math.sqrt(x))) for x in lobatto(0.0, logit(LEAST_BALANCE) ** 2, GRID[1])]
    errors = [x**3 for x in lobatto(0.0, MOST_ERRORS ** (1 / 3), GRID[2])]
    return densities, balances, errors


def unequal_table() -> dict[str, Any]:
    """What the explorer draws for unequal classes and errors.

    `chance` is ln of the chance line over that of equal classes, by [balance][errors][density]; `typical` is ln of the typical
    line over 2ρ, by [balance][errors].
    """
    with UNEQUAL.open(encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    (n_densities, n_balances, n_errors), balanced = GRID, {}
    for row in rows:
        if row["balance"] == 0.5 and row["errors"] == 0:
            balanced[row["rho"]] = row["alpha"]
    chance = [round(math.log(row["alpha"] / balanced[row["rho"]]), 9) for row in rows]
    typical = [round(math.log(row["typical"] / (2 * row["rho"])), 9) for row in rows]
    places = [[(i * n_errors + j) * n_densities for j in range(n_errors)] for i in range(n_balances)]
    densities, balances, shares = unequal_nodes()
    return {
        "densities": densities,
        "balances": balances,
        "shares": shares,
        "chance": [[chance[at : at + n_densities] for at in row] for row in places],
        "typical": [[typical[at] for at in row] for row in places],
    }


def diagram_table() -> dict[str, Any]:
    """Every line at the nodes, column by column."""
    with TABLE.open(encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in COLUMNS}
    return {"first": FIRST, "last": LAST, "names": list(COLUMNS[1:]), **columns}


def interpolated_lines(rhos: Sequence[float]) -> dict[str, list[float]]:
    """Every line at given densities: polynomial in logit ρ through ln(α/2ρ) at the nodes, as in the explorer."""
    from scipy.interpolate import BarycentricInterpolator

    lines = diagram_table()
    wanted, nodes = np.asarray(rhos), np.asarray(lines["rho"])
    found = {"rho": wanted.tolist()}
    for name in lines["names"]:
        polynomial = BarycentricInterpolator(np.log(nodes / (1 - nodes)), np.log(np.asarray(lines[name]) / (2 * nodes)))
        found[name] = (2 * wanted * np.exp(polynomial(np.log(wanted / (1 - wanted))))).tolist()
    return found


def broken_ratio() -> list[list[float]]:
    """[ρ, α_VS with one step of symmetry breaking over α_VS with replica symmetry], by increasing ρ.

    The ratio changes slowly, so that straight lines between its values are accurate to six digits.
    """
    return [[row.rho, row.alpha_1rsb / row.alpha_rs] for row in capacity_table()]


def explorer_page() -> str:
    """The whole page as one HTML text: style, script and the table of lines inside."""
    data = {"table": diagram_table(), "broken": broken_ratio(), "unequal": unequal_table()}
    code = Markup("").join(map(asset, ("chance.js", "lines.js", "diagram.js", "explorer.js")))
    scripts = [Markup(f"const DATA = {htmlsafe_json_dumps(data)};"), code]
    return ENVIRONMENT.get_template("explorer.html").render(scripts=scripts)


def write_explorer(path: str | os.PathLike[str]) -> Path:
    """Write the explorer; the file is complete or not there."""
    write_text(Path(path), explorer_page())
    return Path(path)
