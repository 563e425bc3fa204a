"""How symmetry between supports breaks: the break point, and the loads of the jump below ρ*.

python benchmarks/transition.py            writes docs/tables/transition.md and docs/images/transition.svg
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from chanceline._io import write_text
from chanceline.figures.theory import draw_transition
from chanceline.theory.break_point import jump_density
from chanceline.theory.transition import transition_at

DOCS = Path(__file__).resolve().parent.parent / "docs"
TABLE = DOCS / "tables" / "transition.md"
PICTURE = DOCS / "images" / "transition.svg"
DENSITIES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.014, 0.02, 0.05, 0.1, 0.5)
MARGINS = (0.0, 0.2, 0.4, 0.5, 0.7, 1.0)


def transitions() -> pd.DataFrame:
    """One row a density; loads of the jump are relative to the replicon line."""
    rows = []
    for rho in DENSITIES:
        transition = transition_at(rho)
        row: dict[str, float | None] = {
            "rho": rho,
            "replicon_alpha": transition.replicon_alpha,
            "break_point": transition.break_point,
        }
        for name in ("dynamic_alpha", "static_alpha"):
            load = getattr(transition, name)
            row[name] = None
            if load is not None:
                row[name] = load / transition.replicon_alpha
        rows.append(row)
    return pd.DataFrame(rows)


def density_rows(table: pd.DataFrame) -> list[str]:
    """The rows of the first table."""
    lines = [
        r"| \(\rho\) | replicon line | \(x_c\) | \(\alpha_d\) / line | \(\alpha_K\) / line |",
        "|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        jump = "| | |"
        if pd.notna(row.static_alpha):
            jump = f"| {row.dynamic_alpha:.5f} | {row.static_alpha:.5f} |"
        lines.append(f"| {row.rho:g} | {row.replicon_alpha:.6f} | {row.break_point:.6f} {jump}")
    return lines


def margin_rows() -> list[str]:
    """The rows of the second table: ρ*(κ)."""
    names = " | ".join(f"{margin:g}" for margin in MARGINS)
    values = " | ".join(f"{jump_density(margin):.6f}" for margin in MARGINS)
    rule = "|---" * (len(MARGINS) + 1) + "|"
    return [rf"| margin \(\kappa\) | {names} |", rule, rf"| \(\rho^*(\kappa)\) | {values} |"]


def main() -> None:
    table = transitions()
    write_text(TABLE, "\n".join([*density_rows(table), "", *margin_rows()]) + "\n")
    figure, ax = plt.subplots(figsize=(6.5, 4.0), layout="constrained")
    draw_transition(ax, table, jump_density())
    plt.rcParams["svg.hashsalt"] = "chanceline"
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
