"""CPU seconds of commands on an empty compile cache, and of the same commands again.

Run `python benchmarks/first_use.py`; the table is written to docs/tables/first-use.md. Every command starts with a cache of its
own; of three such runs the least is reported, since neighbours on the machine cost time too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from chanceline._io import write_text

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "tables" / "first-use.md"
RUNS = 3
COMMANDS = {
    "`test --example planted` (the bound decides)": "test --example planted",
    "`test --example noise` (with shuffles)": "test --example noise",
    "`search --random N=64,alpha=0.5,seed=0`": "search --random N=64,alpha=0.5,seed=0",
    "the same with `--method exact`": "search --random N=64,alpha=0.5,seed=0 --method exact",
    "`front` on a table of 24 × 30": "front noise.csv --label y",
    "`memory --neurons 60 --load 0.6 --fan-in 0.3`": "memory --neurons 60 --load 0.6 --fan-in 0.3",
}


def environment(source: Path, cache: str) -> dict[str, str]:
    """The package of that folder, one thread, and a place for what is compiled."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return os.environ | threads | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}


def cpu_seconds(command: str, source: Path, cache: str, folder: str | None = None) -> float:
    """What `chanceline COMMAND --quiet` takes, its workers included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-m", "chanceline", *command.split(), "--quiet"]
    subprocess.run(
        arguments, env=environment(source, cache), cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def noise_table(folder: str) -> None:
    """noise.csv, 24 × 30."""
    generator = np.random.default_rng(0)
    values = np.column_stack([generator.standard_normal((24, 30)), generator.permutation(24) % 2])
    names = ",".join([*(f"x{j}" for j in range(30)), "y"])
    np.savetxt(
        Path(folder) / "noise.csv", values, delimiter=",", header=names, comments="", fmt="%.6g"
    )


def main() -> None:
    lines = ["| command | first | again |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        noise_table(folder)
        for name, command in COMMANDS.items():
            times = []
            for _ in range(RUNS):
                with tempfile.TemporaryDirectory() as cache:
                    times.append(
                        [cpu_seconds(command, ROOT / "src", cache, folder) for _ in range(2)]
                    )
            first, again = np.min(times, axis=0)
            lines.append(f"| {name} | {first:.0f} | {again:.0f} |")
            print(lines[-1], flush=True)
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
