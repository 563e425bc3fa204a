"""`chanceline explore`: one interactive page with the diagram, the live bound and the samples needed; works offline.

The lines of the (ρ, α) diagram come from the tables shipped with the package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from numpy.typing import NDArray
from scipy.interpolate import BarycentricInterpolator
from scipy.special import expit, logit

from chanceline._io import write_text
from chanceline.report.page import ENVIRONMENT, asset
from chanceline.theory.capacity_table import capacity_table

Floats = NDArray[np.float64]
# Densities covered by the table; beyond them nothing is drawn and no value is given.
FIRST, LAST = 1e-6, 0.9995
COLUMNS = ("rho", "replicon_alpha", "alpha_rs", "union", "l0_gardner")
# The chance line for unequal classes and errors: densities, smallest balance, largest errors as a share of the rarer class.
DENSITIES, LEAST_BALANCE, MOST_ERRORS = (1e-5, 0.99), 0.01, 0.8
GRID = (11, 6, 8)  # nodes for the density, the balance and the errors
DATA = Path(__file__).parents[1] / "data"
TABLE, UNEQUAL = DATA / "diagram.csv", DATA / "chance_line.csv"


def lobatto(low: float, high: float, count: int) -> Floats:
    """Chebyshev points with both ends, from `high` to `low`."""
    inner = (low + high) / 2 + (high - low) / 2 * np.cos(
        np.pi * np.arange(1, count - 1) / (count - 1)
    )
    return np.array([high, *inner, low])


def unequal_nodes() -> tuple[list[float], list[float], list[float]]:
    """Densities, balances and errors (as a share of the rarer class) at which the chance line for unequal classes is solved."""
    densities = expit(lobatto(logit(DENSITIES[0]), logit(DENSITIES[1]), GRID[0]))
    balances = expit(-np.sqrt(lobatto(0.0, logit(LEAST_BALANCE) ** 2, GRID[1])))
    return (
        densities.tolist(),
        balances.tolist(),
        (lobatto(0.0, MOST_ERRORS ** (1 / 3), GRID[2]) ** 3).tolist(),
    )


def unequal_table() -> dict[str, Any]:
    """What the explorer draws for unequal classes and errors.

    `chance` is ln of the chance line over that of equal classes, by balance, errors and density; `typical` is ln of the typical
    line over 2ρ, by balance and errors.
    """
    densities, balances, shares = unequal_nodes()
    table = np.genfromtxt(UNEQUAL, delimiter=",", names=True).reshape(
        len(balances), len(shares), len(densities)
    )
    # Equal classes without errors come last.
    chance = np.log(table["alpha"] / table["alpha"][-1, -1])
    typical = np.log(table["typical"] / (2 * table["rho"]))[:, :, 0]
    return {
        "densities": densities,
        "balances": balances,
        "shares": shares,
        "chance": chance.round(9).tolist(),
        "typical": typical.round(9).tolist(),
    }


def diagram_table() -> dict[str, Any]:
    """Every line at the nodes, column by column."""
    table = np.genfromtxt(TABLE, delimiter=",", names=True)
    return {
        "first": FIRST,
        "last": LAST,
        "names": list(COLUMNS[1:]),
        **{name: table[name].tolist() for name in COLUMNS},
    }


def interpolated_lines(rhos: Sequence[float]) -> dict[str, list[float]]:
    """Every line at given densities: polynomial in logit ρ through ln(α/2ρ) at the nodes, as in the explorer."""
    lines, wanted = diagram_table(), np.asarray(rhos)
    nodes = np.asarray(lines["rho"])
    found = {"rho": wanted.tolist()}
    for name in lines["names"]:
        polynomial = BarycentricInterpolator(
            logit(nodes), np.log(np.asarray(lines[name]) / (2 * nodes))
        )
        found[name] = (2 * wanted * np.exp(polynomial(logit(wanted)))).tolist()
    return found


def explorer_page(start: str = "", source: str = "") -> str:
    """The whole page as one HTML text: style, script and the table of lines inside.

    Parameters
    ----------
    start : numbers to begin with, `#N=2000&P=62&M=3…` (`SeparationTest.explorer`); by default none, and no verdict.
    source : whose numbers these are.
    """
    # What symmetry breaking makes of α_VS changes slowly: straight lines between the values are accurate to six digits.
    broken = [[row.rho, row.alpha_1rsb / row.alpha_rs] for row in capacity_table()]
    origin = {"address": start, "source": source}
    data = {"table": diagram_table(), "broken": broken, "unequal": unequal_table(), "start": origin}
    code = Markup("").join(map(asset, ("chance.js", "lines.js", "diagram.js", "explorer.js")))
    scripts = [Markup(f"const DATA = {htmlsafe_json_dumps(data)};"), code]
    return ENVIRONMENT.get_template("explorer.html").render(scripts=scripts)


def write_explorer(path: str | os.PathLike[str], start: str = "", source: str = "") -> Path:
    """Write the explorer (`explorer_page` has the parameters); the file is complete or not there."""
    write_text(Path(path), explorer_page(start, source))
    return Path(path)
