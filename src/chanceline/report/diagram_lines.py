"""The lines of the (ρ, α) diagram, from tables shipped with the package.

`data/diagram.csv` has the lines for equal classes without errors, `data/chance_line.csv` the chance
line for unequal classes and errors. `scripts/make_diagram_table.py` solves both; here they are read
and interpolated, in the same way as in the explorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.special import expit, logit

from chanceline._arrays import Floats

DATA = Path(__file__).parents[1] / "data"
DIAGRAM_TABLE = DATA / "diagram.csv"
UNEQUAL_TABLE = DATA / "chance_line.csv"

# Densities that the diagram covers; beyond them nothing is drawn and no value is given.
SMALLEST_DENSITY = 1e-6
LARGEST_DENSITY = 0.9995
# The columns of the table are the density and the load of every line.
LINES = ("replicon_alpha", "alpha_rs", "union", "l0_gardner")
DIAGRAM_COLUMNS = ("rho", *LINES)

# Limits and numbers of the nodes for unequal classes and errors.
UNEQUAL_DENSITIES = (1e-5, 0.99)
SMALLEST_BALANCE = 0.01
LARGEST_ERROR_SHARE = 0.8  # of the rarer class
N_DENSITIES = 11
N_BALANCES = 6
N_ERROR_SHARES = 8


class UnequalNodes(NamedTuple):
    """Where the chance line for unequal classes is solved; errors are shares of the rarer class.

    Densities and error shares fall, balances rise to ½.
    """

    densities: list[float]
    balances: list[float]
    error_shares: list[float]


def lobatto_points(low: float, high: float, n_points: int) -> Floats:
    """Chebyshev points with both ends, from `high` to `low`: m + h·cos(πk/(n − 1)).

    m is the middle and h half the length of the interval.
    """
    middle = (low + high) / 2
    half = (high - low) / 2
    inner = middle + half * np.cos(np.pi * np.arange(1, n_points - 1) / (n_points - 1))
    # The ends are set as they are, without rounding.
    return np.array([high, *inner, low])


def unequal_nodes() -> UnequalNodes:
    """The grid on which the chance line is solved for unequal classes with errors.

    The chance line is the largest load at which some choice of features separates random labels.
    It depends on the density ρ (the share of features that are chosen), on the balance (the share
    of the rarer class in the samples) and on the errors allowed (as a share of the rarer class). To
    be interpolated by polynomials, it is solved at Chebyshev points (`lobatto_points`) of variables
    in which it is smooth: logit ρ, (logit balance)² and the cube root of the share of errors.
    """
    smallest, largest = UNEQUAL_DENSITIES
    density_logits = lobatto_points(logit(smallest), logit(largest), N_DENSITIES)

    # The line stays the same if the classes change places, balance ↔ 1 − balance. This changes the
    # sign of logit balance, so that the line is a function of its square. The balance of the rarer
    # class is at most ½, which makes its logit the negative root.
    squared_logits = lobatto_points(0.0, logit(SMALLEST_BALANCE) ** 2, N_BALANCES)
    balance_logits = -np.sqrt(squared_logits)

    cube_roots = lobatto_points(0.0, LARGEST_ERROR_SHARE ** (1 / 3), N_ERROR_SHARES)
    return UnequalNodes(
        densities=expit(density_logits).tolist(),
        balances=expit(balance_logits).tolist(),
        error_shares=(cube_roots**3).tolist(),
    )


def unequal_table() -> dict[str, Any]:
    """By which factors unequal classes and errors change two lines of the diagram, as logarithms.

    The lines are loads (samples per feature) at a density ρ (the share of features that are
    chosen). Up to the chance line some choice of features separates random labels, up to the
    typical line a typical choice does. The factor is the load of the line over that for equal
    classes without errors. The explorer interpolates ln(factor) between the nodes of a grid.

    Returns
    -------
    A dict, in which arrays are nested lists:
    "chance" : ln(factor) of the chance line, of shape (balances, error shares, densities).
    "typical" : ln(factor) of the typical line, of shape (balances, error shares).
    "densities", "balances", "shares" : the nodes along these axes: values of ρ, of the share of the
        rarer class in the samples, and of the number of errors over the size of the rarer class.
    """
    nodes = unequal_nodes()
    shape = (len(nodes.balances), len(nodes.error_shares), len(nodes.densities))
    # A structured array: `table["alpha"]` is the column alpha of the file, of this shape.
    table = np.genfromtxt(UNEQUAL_TABLE, delimiter=",", names=True).reshape(shape)

    chance_line = table["alpha"]  # (balances, error shares, densities)
    index_of_equal_classes = nodes.balances.index(0.5)
    index_of_no_errors = nodes.error_shares.index(0.0)
    plain_chance_line = chance_line[index_of_equal_classes, index_of_no_errors, :]  # (densities,)
    log_chance_factors = np.log(chance_line / plain_chance_line)

    # For equal classes without errors the typical line is 2ρ. The factor is the same at every
    # density, so only the factor at the first density is kept.
    plain_typical_line = 2 * table["rho"]
    log_typical_factors = np.log(table["typical"] / plain_typical_line)[:, :, 0]

    return {
        "densities": nodes.densities,
        "balances": nodes.balances,
        "shares": nodes.error_shares,
        "chance": log_chance_factors.round(9).tolist(),
        "typical": log_typical_factors.round(9).tolist(),
    }


def diagram_table() -> dict[str, Any]:
    """Every line at the nodes, column by column, and the densities that they cover."""
    table = np.genfromtxt(DIAGRAM_TABLE, delimiter=",", names=True)
    columns = {name: table[name].tolist() for name in DIAGRAM_COLUMNS}
    return {
        "first": SMALLEST_DENSITY,
        "last": LARGEST_DENSITY,
        "names": list(LINES),
        **columns,
    }


def interpolated_lines(rhos: Sequence[float]) -> dict[str, list[float]]:
    """Interpolate every line of the diagram at the densities `rhos`.

    A line gives a load α (samples per feature) for each density ρ (the share of features that are
    chosen). Its ln(α/2ρ) is smooth in logit ρ, and is interpolated by the polynomial through the
    values at the nodes, the densities where the line was solved.

    Returns
    -------
    name of the line → its loads at `rhos`; and "rho" → the densities.
    """
    table = diagram_table()
    nodes = np.asarray(table["rho"])
    densities = np.asarray(rhos)
    lines = {"rho": densities.tolist()}
    for name in LINES:
        loads_at_nodes = np.asarray(table[name])
        log_ratios = np.log(loads_at_nodes / (2 * nodes))
        polynomial = BarycentricInterpolator(logit(nodes), log_ratios)
        loads = 2 * densities * np.exp(polynomial(logit(densities)))
        lines[name] = loads.tolist()
    return lines
