"""Large random problems, N = P: the variables that `omp` and `auto` find, and their CPU seconds.

Run `python benchmarks/large.py [N …]`. Results are appended to results/large.jsonl, and what is there is not computed again; the
table goes to docs/tables/large.md.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from chanceline._io import write_text
from chanceline.select import random_problem, search

ROOT = Path(__file__).resolve().parents[1]
RESULTS, TABLE = ROOT / "results" / "large.jsonl", ROOT / "docs" / "tables" / "large.md"
SIZES = (1024, 1536, 1900, 2048, 4096)


def measure(n: int, method: str) -> dict[str, float | str]:
    """One problem of n variables and n patterns."""
    X, y = random_problem(n, 1.0, 0)
    begin = time.process_time()
    found = search(X, y, method=method)
    return {
        "n": n,
        "method": method,
        "selected": found.n_selected,
        "seconds": time.process_time() - begin,
    }


def main() -> None:
    search(*random_problem(64, 1.0, 0), budget=3)  # compiles
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found = {(row["n"], row["method"]): row for row in map(json.loads, lines)}
    for n in map(int, sys.argv[1:] or SIZES):
        for method in ("omp", "auto"):
            if (n, method) not in found:
                found[n, method] = measure(n, method)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(found[n, method]) + "\n")
                print(found[n, method], flush=True)
    rows = ["| N = P | `omp`: K/N | CPU s | `auto`: K/N | CPU s |", "|---|---|---|---|---|"]
    for n in sorted({n for n, _ in found}):
        cells = [found[n, method] for method in ("omp", "auto") if (n, method) in found]
        rows.append(
            f"| {n} | "
            + " | ".join(f"{row['selected'] / n:.4f} | {row['seconds']:.1f}" for row in cells)
            + " |"
        )
    write_text(TABLE, "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
