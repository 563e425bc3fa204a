"""What a test with default settings costs: CPU seconds and the most memory, beside the table's own.

    python benchmarks/cost.py           every table that is not there yet, each in a process of its own, then docs/tables/cost.md
    python benchmarks/cost.py --table   the table from what is there

A small table is tested first in every process, so that compiling is not counted. Results stand in benchmarks/results/cost.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from chanceline import separation_test  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.chance.bound import format_p  # noqa: E402

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "cost.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "cost.md"
SEED = 1
# Of the label and a normal feature that is cut at zero: √(2/π) times that of the two normals.
CORRELATION = 0.2

Table = tuple[NDArray[np.floating], NDArray[np.float64]]


def noise(n_samples: int, n_features: int, kind: type = np.float64) -> Table:
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal(size=(n_samples, n_features), dtype=kind)
    return X, rng.permutation(np.repeat([1.0, -1.0], n_samples // 2))


def one_feature() -> Table:
    X, _ = noise(5000, 500)
    share = CORRELATION / np.sqrt(2 / np.pi)
    return X, np.sign(
        share * X[:, 0]
        + np.sqrt(1 - share**2) * np.random.default_rng(SEED + 1).standard_normal(len(X))
    )


TABLES: dict[str, Callable[[], Table]] = {
    "100 × 5000, noise": lambda: noise(100, 5000),
    "20,000 × 100, noise": lambda: noise(20_000, 100),
    "500 × 400,000 in single precision, noise": lambda: noise(500, 400_000, np.float32),
    f"5000 × 500, one feature of correlation {CORRELATION:g}": one_feature,
}


def measure(which: str) -> dict[str, object]:
    """In this process: CPU seconds of the test, the most memory of the process (the table given is part of it), and p."""
    separation_test(*noise(60, 40), permutations=19)
    X, y = TABLES[which]()
    begin = time.process_time()
    result = separation_test(X, y)
    return {
        "table": which,
        "size": X.nbytes / 1e9,
        "cpu": time.process_time() - begin,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "log10_p": result.log10_pvalue,
        "verdict": result.verdict,
        "shuffles": 0 if result.permutation is None else result.permutation.done,
    }


def write_table() -> None:
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    of = {row["table"]: row for row in rows}
    lines = [
        "`separation_test` with default settings, one core; memory is the most that the process had, the table among it.",
        "By `python benchmarks/cost.py`.",
        "",
        "| table | its size (GB) | CPU seconds | memory (GB) | shuffles | p |",
        "|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        if name in of:
            row = of[name]
            p = (
                f"{10 ** row['log10_p']:.2g}"
                if row["shuffles"]
                else f"≤ {format_p(row['log10_p'])}, proven"
            )
            numbers = f"{row['size']:.2g} | {row['cpu']:.1f} | {row['memory']:.1f} | {row['shuffles'] or 'none needed'}"
            lines.append(f"| {name} | {numbers} | {p} |")
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--one", choices=list(TABLES), help="measure one table and print the row")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    STORE.parent.mkdir(exist_ok=True)
    there = STORE.read_text(encoding="utf-8") if STORE.exists() else ""
    done = {json.loads(line)["table"] for line in there.splitlines()}
    for name in () if options.table else TABLES:
        if name not in done:
            child = subprocess.run(
                [sys.executable, __file__, "--one", name],
                check=True,
                capture_output=True,
                text=True,
            )
            with STORE.open("a", encoding="utf-8") as store:
                store.write(child.stdout.splitlines()[-1] + "\n")
    write_table()


if __name__ == "__main__":
    main()
