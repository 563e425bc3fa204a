"""Capacities of two other ensembles beside that of free weights: points −1, 0, 1, and correlated variables.

python benchmarks/ensembles.py            writes docs/tables/ensembles.md
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

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


# Shares of weights 0 from which the limit of none is extrapolated.
SHARES_LEFT_OUT = np.array([1e-4, 1e-5])


def largest_of_points() -> str:
    """The largest capacity with points, and where it is."""
    best = minimize_scalar(
        lambda rho: -POINTS.capacity(rho).alpha, bounds=(0.5, 0.75), method="bounded"
    )
    return f"{-best.fun:.5f} at ρ = {best.x:.4f}"


def limit_of_points() -> float:
    """The capacity with points ±1 alone, ρ → 1.

    The distance from it falls as δ ln 1/δ, the entropy of the share δ = 1 − ρ of weights 0; two
    shares give the limit.
    """
    near, nearer = POINTS.curve(1 - SHARES_LEFT_OUT).alpha
    entropy_near, entropy_nearer = -SHARES_LEFT_OUT * np.log(SHARES_LEFT_OUT)
    slope = (near - nearer) / (entropy_near - entropy_nearer)
    return float(nearer - slope * entropy_nearer)


def main() -> None:
    free = chanceline.capacity(DENSITIES).alpha
    pairs = [correlated_groups(r).curve(DENSITIES).alpha for r in CORRELATIONS]
    points = POINTS.curve(DENSITIES).alpha
    lines = [HEADER, "|---|---|---|---|---|---|"]
    for i, rho in enumerate(DENSITIES):
        loads = [free[i], *(curve[i] for curve in pairs), points[i], points_union_bound(rho)]
        lines.append(f"| {rho:g} | " + " | ".join(f"{load:.5f}" for load in loads) + " |")
    lines += ["", f"Points: largest {largest_of_points()}; {limit_of_points():.4f} as ρ → 1."]
    print("\n".join(lines))
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
