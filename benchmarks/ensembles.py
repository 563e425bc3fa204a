"""Capacities of two other ensembles beside that of free weights: points −1, 0, 1, and correlated variables.

python benchmarks/ensembles.py            writes docs/tables/ensembles.md
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import chanceline
from chanceline._io import write_text
from chanceline.theory.correlated import correlated_groups
from chanceline.theory.points import POINTS, points_union_bound

TABLE = Path(__file__).resolve().parent.parent / "docs" / "tables" / "ensembles.md"
DENSITIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6305)
CORRELATIONS = (0.5, 0.9)
HEADER = (
    r"| \(\rho\) | free weights | pairs, \(r = 0.5\) | pairs, \(r = 0.9\) "
    "| points | points, union bound |"
)


def main() -> None:
    free = chanceline.capacity(DENSITIES).alpha
    pairs = [correlated_groups(r).curve(DENSITIES).alpha for r in CORRELATIONS]
    points = POINTS.curve(DENSITIES).alpha
    lines = [HEADER, "|---|---|---|---|---|---|"]
    for i, rho in enumerate(DENSITIES):
        loads = [free[i], *(curve[i] for curve in pairs), points[i], points_union_bound(rho)]
        lines.append(f"| {rho:g} | " + " | ".join(f"{load:.5f}" for load in loads) + " |")
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
