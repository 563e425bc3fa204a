"""Excitatory and inhibitory neurons: what the wiring of a network looks like after learning, for three wirings.

`python benchmarks/memory.py` stores a load of 0.2 in 200 neurons with 50 inputs each, with couplings of any sign and with 80 % of
the neurons excitatory, and writes docs/tables/memory.md.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.memory import AssociativeMemory, connectivity, random_patterns  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "memory.md"
NEURONS, FAN_IN, LOAD, EXCITATORY, SEED = 200, 50, 0.2, 0.8, 0
WIRINGS = {"selected": "selected", "hebbian-selected": "Hebbian-selected", "random": "random"}


def row(wiring: str, excitatory: float | None) -> str:
    """One network, learned on one core."""
    memory = AssociativeMemory(NEURONS, FAN_IN, wiring, SEED, excitatory=excitatory)
    start = time.process_time()
    report = memory.store(random_patterns(NEURONS, LOAD, SEED))
    seconds = time.process_time() - start
    read, sizes = connectivity(memory), np.abs(memory.couplings.data)
    sizes = sizes[sizes > 0]
    cells = [
        WIRINGS[wiring],
        "any" if excitatory is None else f"{100 * excitatory:.0f} % excitatory",
        NEURONS - len(report.unsolved),
        f"{np.median(report.stabilities):.2f}",
        f"{sizes.size / NEURONS:.0f}",
        f"{100 * read.silent:.0f} %",
        f"{sizes.std() / sizes.mean():.2f}",
        f"{read.reciprocal:.2f}",
        f"{read.strength:.2f}",
        f"{seconds:.1f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    heads = [
        "wiring",
        "signs",
        "solved",
        "median κ",
        "inputs used",
        "silent",
        "CV of \\(\\lvert w\\rvert\\)",
    ]
    heads += ["reciprocal pairs : chance", "their strength", "CPU s"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [row(wiring, share) for wiring in WIRINGS for share in (None, EXCITATORY)]
    print("\n".join(lines))
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
