"""Make src/chanceline/data/capacity_table.csv anew: α_VS(ρ) with 0 to 3 steps of breaking and the limit of full breaking.

Takes about six minutes of one core. Starts from scratch at ρ = ½ (replica symmetry → replicon line → one step → Σ = 0 →
two steps → three steps) and follows each capacity in ρ both ways. A row that a follower does not reach is left empty and
says so on stderr.

Example: python scripts/make_capacity_table.py --out src/chanceline/data/capacity_table.csv
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

from chanceline.errors import ConvergenceError
from chanceline.theory.broken_capacity import RSBCapacity
from chanceline.theory.capacity import capacity
from steps_of_breaking import add_step, capacities_along, capacity_from_scratch, extrapolate

MIDDLE = 0.5
BELOW = [
    0.475, 0.45, 0.425, 0.4, 0.375, 0.35, 0.325, 0.3, 0.275, 0.25, 0.225, 0.2, 0.175, 0.15, 0.125, 0.1, 0.085, 0.07, 0.06,
    0.05, 0.04, 0.035, 0.03, 0.025, 0.02,
]  # fmt: skip
ABOVE = [
    0.525, 0.55, 0.575, 0.6, 0.625, 0.65, 0.675, 0.7, 0.725, 0.75, 0.775, 0.8, 0.82, 0.84, 0.86, 0.875, 0.89, 0.9, 0.91, 0.92,
    0.93, 0.94, 0.95,
]  # fmt: skip
# Towards ρ = 1 the steps differ by less and less (10⁻⁶ in α at ρ = 0.92) and the grids grow: three steps end here.
HIGHEST = {3: 0.92}
FULL = ("alpha_full", "error_full", "exponent")


def say(sentence: str) -> None:
    print(f"[{time.process_time():7.1f} s] {sentence}", file=sys.stderr, flush=True)


def sweep(middle: RSBCapacity) -> dict[float, RSBCapacity]:
    """The capacity with as many steps as `middle` has, at every ρ that the continuation reaches."""
    found = {middle.rho: middle}
    for side in (BELOW, [rho for rho in ABOVE if rho <= HIGHEST.get(middle.steps, 1.0)]):
        try:
            for point in capacities_along(side, middle):
                found[point.rho] = point
                say(
                    f"{point.steps} step(s), ρ = {point.rho:g}: α = {point.alpha:.10f} ± {point.error:.1e}"
                )
        except ConvergenceError as error:
            say(f"{middle.steps} step(s): {error}; the rows beyond stay empty")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to write")
    out: Path = parser.parse_args().out

    one = capacity_from_scratch(MIDDLE)
    two = add_step(one)
    three = add_step(two)
    tables = [sweep(middle) for middle in (one, two, three)]
    rows = []
    for rho in sorted(tables[0]):
        symmetric = capacity(rho)
        points = [table.get(rho) for table in tables]
        alphas = [None if point is None else point.alpha for point in points]
        row: dict[str, float | None] = {
            "rho": rho,
            "replicon_alpha": symmetric.replicon_alpha,
            "alpha_rs": symmetric.alpha,
            "error_rs": symmetric.error,
        }
        for steps, point in enumerate(points, start=1):
            row[f"alpha_{steps}rsb"] = None if point is None else point.alpha
            row[f"error_{steps}rsb"] = None if point is None else point.error
        if None not in alphas:
            row |= dict(zip(FULL, extrapolate(*alphas), strict=True))
        else:
            row |= dict.fromkeys(FULL)
        assert points[0] is not None
        state, order = points[0].state, points[0].state.order
        row |= {
            "replicon_inner": state.replicon_inner,
            "chi": order.chi,
            "K": order.K,
            "E": order.E,
            "F1": order.F1,
        }
        row |= {
            "p0": order.p[0],
            "p1": order.p[1],
            "G0": order.G[0],
            "G1": order.G[1],
            "x": order.x[0],
        }
        rows.append(row)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: "" if value is None else repr(float(value)) for key, value in row.items()}
            for row in rows
        )
    os.replace(temporary, out)
    say(f"wrote {len(rows)} rows to {out}")


if __name__ == "__main__":
    main()
