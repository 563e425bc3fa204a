"""Write the tables that the explorer draws its lines from, so that the page needs no solver.

src/chanceline/data/diagram.csv: the lines of the (ρ, α) diagram for equal classes at Chebyshev nodes of logit ρ, interpolated to
about twelve digits between them. src/chanceline/data/chance_line.csv: the chance line for unequal classes and errors on a grid of
nodes, interpolated to two or three digits. Takes about three minutes: python scripts/make_diagram_table.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from chanceline._io import write_text
from chanceline.report.diagram_lines import (
    DIAGRAM_COLUMNS,
    DIAGRAM_TABLE,
    LARGEST_DENSITY,
    SMALLEST_DENSITY,
    UNEQUAL_TABLE,
    unequal_nodes,
)
from chanceline.theory.bounds import typical_load
from chanceline.theory.capacity import capacity_curve
from chanceline.theory.chance_line import zero_entropy
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.rs_branch import Branch

NODES = 96


def write_csv(target: Path, columns: tuple[str, ...], rows: list[tuple[float, ...]]) -> None:
    lines = [",".join(columns), *(",".join(repr(float(value)) for value in row) for row in rows)]
    write_text(target, "\n".join(lines) + "\n")
    print(f"{len(rows)} points in {target}")


def equal_classes() -> list[tuple[float, ...]]:
    """The lines at Chebyshev points of logit ρ, from large ρ to small."""
    first, last = logit(SMALLEST_DENSITY), logit(LARGEST_DENSITY)
    middle, half = (first + last) / 2, (last - first) / 2
    points = capacity_curve(
        expit(middle + half * np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)).tolist(),
        replicon=True,
    )
    return [
        (
            point.rho,
            point.replicon_alpha or float("nan"),
            point.alpha,
            point.bounds.union,
            point.bounds.l0_gardner,
        )
        for point in points
    ]


def unequal_classes() -> list[tuple[float, ...]]:
    """The chance line and the typical one alone: the union bound, which `capacity` solves too, is not drawn here."""
    densities, balances, shares = unequal_nodes()
    rows: list[tuple[float, ...]] = []
    for balance in balances:
        for share in shares:
            ensemble = Ensemble.checked(balance, 0.0, share * balance)
            typical, start = typical_load(ensemble), None
            for rho in densities:
                end = zero_entropy(Branch(rho, ensemble), start)
                start = end.solved.unknowns
                rows.append((rho, balance, share * balance, end.alpha, rho * typical))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the tables of the explorer.")
    parser.add_argument(
        "--unequal", action="store_true", help="only the one for unequal classes and errors"
    )
    if not parser.parse_args().unequal:
        write_csv(DIAGRAM_TABLE, DIAGRAM_COLUMNS, equal_classes())
    write_csv(UNEQUAL_TABLE, ("rho", "balance", "errors", "alpha", "typical"), unequal_classes())
