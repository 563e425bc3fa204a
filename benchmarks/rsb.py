"""One step of breaking: a 50-point capacity curve from the shipped starts, and the same from scratch, in CPU seconds of one core.

Run `python benchmarks/rsb.py`; the table is written to docs/tables/rsb.md.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.theory.broken_capacity import capacity_1rsb  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from steps_of_breaking import capacities_along, capacity_from_scratch  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "rsb.md"
RHOS = np.linspace(0.02, 0.95, 50)


def main() -> None:
    start = time.process_time()
    shipped = [capacity_1rsb(float(rho)) for rho in RHOS]
    from_table = time.process_time() - start

    # From scratch: replica symmetry, its replicon line, the branch and Σ = 0 at the middle density, then along the curve.
    start = time.process_time()
    middle = int(np.argmin(abs(RHOS - 0.5)))
    first = capacity_from_scratch(float(RHOS[middle]))
    made = {middle: first}
    for indices in (range(middle - 1, -1, -1), range(middle + 1, len(RHOS))):
        for index, point in zip(
            indices, capacities_along([float(RHOS[i]) for i in indices], first), strict=True
        ):
            made[index] = point
    scratch = time.process_time() - start

    difference = max(abs(made[i].alpha - point.alpha) for i, point in enumerate(shipped))
    lines = [
        "| 50 densities, 0.02 ≤ ρ ≤ 0.95 | CPU seconds | largest error |",
        "|---|---|---|",
        f"| from the shipped table's starts | {from_table:.1f} | {max(point.error for point in shipped):.0e} |",
        f"| from scratch | {scratch:.1f} | {max(point.error for point in made.values()):.0e} |",
        "",
        f"Largest difference between the two curves: {difference:.0e}.",
        "",
    ]
    text = "\n".join(lines)
    print(text)
    write_text(TABLE, text)


if __name__ == "__main__":
    main()
