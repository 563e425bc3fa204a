"""What `auto` gives up when it stops early: random problems at α = 1, searched with patience and with the whole default budget.

Run `python benchmarks/patience.py [N [PROBLEMS]]`; the table goes to docs/tables/patience.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from chanceline._io import write_text
from chanceline.select import auto, random_problem, search

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "patience.md"


def main() -> None:
    n, problems = (*map(int, sys.argv[1:]), *(128, 60)[len(sys.argv) - 1 :])
    search(*random_problem(64, 1.0, 0), budget=3)  # compiles
    rows = [f"| N = P = {n}, {problems} problems | mean K/N | mean CPU s |", "|---|---|---|"]
    for name, patience in (("half of the budget without success", auto.PATIENCE), ("the whole budget", 1.0)):
        auto.PATIENCE, sizes, seconds = patience, [], []
        for seed in range(93_000, 93_000 + problems):
            X, y = random_problem(n, 1.0, seed)
            begin = time.process_time()
            sizes.append(search(X, y, seed=seed).n_selected / n)
            seconds.append(time.process_time() - begin)
        rows.append(f"| {name} | {statistics.mean(sizes):.5f} | {statistics.mean(seconds):.3f} |")
        print(rows[-1], flush=True)
    write_text(TABLE, "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
