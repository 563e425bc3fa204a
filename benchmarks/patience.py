"""What `auto` gives up when it stops early: random problems at α = 1, searched with the whole
default budget.

A search with patience is the beginning of the one without, swap for swap. So one run gives both:
the fewest variables and the CPU seconds at every moment are kept, and read off where a search with
patience would have ended.

Run `python benchmarks/patience.py [N [PROBLEMS]]`; traces are appended to results/patience.jsonl,
and those there are not made again; the table goes to docs/tables/patience.md.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chanceline._io import write_text
from chanceline.perceptron.problem import make_problem
from chanceline.select import auto, random_problem, search
from chanceline.select.outcome import Candidate
from chanceline.select.tabu import swap_down

ROOT = Path(__file__).resolve().parents[1]
RESULTS, TABLE = ROOT / "results" / "patience.jsonl", ROOT / "docs" / "tables" / "patience.md"
SHARES = (1.0, 0.5, 0.4, 0.3, 0.2)


def trace(n: int, seed: int) -> dict[str, Any]:
    """One whole search: (swaps done, CPU seconds, variables) at every success and every chunk of
    swaps."""
    problem = make_problem(*random_problem(n, 1.0, seed), False)
    row: dict[str, Any] = {"n": n, "seed": seed, "trace": []}

    def whole(
        hinge: Any, budget: int, seed: int, earlier_iterations: int, patience: float
    ) -> Iterator[Any]:
        row["budget"] = budget
        for event in swap_down(hinge, budget, seed, earlier_iterations=earlier_iterations):
            done = event.iterations if isinstance(event, Candidate) else event
            size = event.support.size if isinstance(event, Candidate) else row["trace"][-1][2]
            row["trace"].append((done - earlier_iterations, time.process_time() - begin, int(size)))
            yield event

    auto.swap_down = whole
    begin = time.process_time()
    for _ in auto.run_auto(problem, None, seed):
        pass
    auto.swap_down = swap_down
    return row


def ending(row: dict[str, Any], share: float) -> tuple[int, float]:
    """Variables and CPU seconds of the search that ends after this share of its budget without
    success."""
    swaps, seconds, sizes = (np.array(column) for column in zip(*row["trace"], strict=True))
    successes = np.flatnonzero(np.append(True, np.diff(sizes) < 0))
    ends = np.minimum(swaps[successes] + int(share * row["budget"]), row["budget"])
    late = np.flatnonzero(swaps[successes[1:]] > ends[:-1])
    last = late[0] if late.size else len(successes) - 1
    return int(sizes[successes[last]]), float(np.interp(ends[last], swaps, seconds))


def main() -> None:
    n, problems = (*map(int, sys.argv[1:]), *(256, 60)[len(sys.argv) - 1 :])
    search(*random_problem(64, 1.0, 0), budget=3)  # compiles
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    kept = {(row["n"], row["seed"]): row for row in map(json.loads, lines)}
    rows = []
    for seed in range(93_000, 93_000 + problems):
        if (n, seed) not in kept:
            kept[n, seed] = trace(n, seed)
            with RESULTS.open("a") as file:
                file.write(json.dumps(kept[n, seed]) + "\n")
        rows.append(kept[n, seed])
    out = [
        f"| N = P = {n}, {problems} problems: ends after | mean K/N | mean CPU s |",
        "|---|---|---|",
    ]
    for share in SHARES:
        found, seconds = zip(*(ending(row, share) for row in rows), strict=True)
        name = "the whole budget" if share == 1.0 else f"{share:.0%} of it without success"
        name += " (default)" if share == auto.PATIENCE else ""
        out.append(
            f"| {name} | {statistics.mean(found) / n:.5f} | {statistics.mean(seconds):.3f} |"
        )
    print("\n".join(out))
    write_text(TABLE, "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
