"""Write src/chanceline/data/diagram.csv: the lines of the (ρ, α) diagram at Chebyshev nodes of logit ρ.

Between these nodes the lines are interpolated to about twelve digits, so that the explorer needs no solver.
Takes about half a minute: python scripts/make_diagram_table.py
"""

from __future__ import annotations

from pathlib import Path

from chanceline.files import write_text
from chanceline.report.diagram import COLUMNS, NODES, TABLE, chebyshev_densities
from chanceline.theory.capacity import capacity_curve


def main() -> None:
    target = Path(str(TABLE))
    lines = [",".join(COLUMNS)]
    for point in capacity_curve(chebyshev_densities(NODES), replicon=True):
        bounds = point.bounds
        row = (point.rho, point.replicon_alpha, point.alpha, bounds.union, bounds.l0_gardner)
        lines.append(",".join(repr(float(value)) for value in row))
    write_text(target, "\n".join(lines) + "\n")
    print(f"{NODES} densities in {target}")


if __name__ == "__main__":
    main()
