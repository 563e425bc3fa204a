"""What a test costs: CPU seconds and the most memory, beside the table's own.

    python benchmarks/cost.py                every table in memory that is not there yet, each in a process of its own, then docs/tables/cost.md
    python benchmarks/cost.py --wide         the same of very wide tables, which are simulated into a temporary folder and tested where they are
    python benchmarks/cost.py --one NAME     one table, its row as JSON
    python benchmarks/cost.py --small        small versions of the very wide tables, printed and kept nowhere
    python benchmarks/cost.py --table        the table from what is there

A small table is tested first in every process, so that compiling is not counted. Results stand in benchmarks/results/cost.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from wide_tables import WideCase  # noqa: E402

from chanceline import separation_test  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.chance.bound import format_p  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

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

# Tested where they are kept, with so many shuffles and processes; the limits are those that the docs promise.
WIDE_TABLES: dict[str, WideCase] = {
    "1000 × 1,000,000 genotypes from Zarr": WideCase(1000, 1_000_000, "zarr", 999, jobs=2),
    "1000 × 1,000,000 genotypes from .bed": WideCase(1000, 1_000_000, "bed", 999, jobs=2),
    "5000 × 1,000,000 genotypes from .bed": WideCase(5000, 1_000_000, "bed", 199, jobs=2),
    "2000 × 200,000 methylation, single precision, memory map": WideCase(2000, 200_000, "npy", 127),
}
SMALL_COLUMNS = 50_000  # of the small versions, with so many samples and shuffles at most:
SMALL_SAMPLES = 1000
SMALL_PERMUTATIONS = 99


class AnonymousMemory(threading.Thread):
    """The most memory that this process and its children had at a time, without files that are mapped."""

    def __init__(self, seconds: float = 0.1) -> None:
        super().__init__(daemon=True)
        self._seconds = seconds
        self._ended = threading.Event()
        self.most_bytes = 0

    def run(self) -> None:
        import psutil

        process = psutil.Process()
        while not self._ended.wait(self._seconds):
            everyone = [process, *process.children(recursive=True)]
            self.most_bytes = max(self.most_bytes, sum(map(self._of, everyone)))

    @staticmethod
    def _of(process: object) -> int:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0  # it has ended
        lines = [line for line in status.splitlines() if line.startswith("RssAnon")]
        return 1024 * sum(int(line.split()[1]) for line in lines)

    def stop(self) -> float:
        """The most memory in GB."""
        self._ended.set()
        self.join()
        return self.most_bytes / 1e9


def measure_wide(which: str, case: WideCase) -> dict[str, object]:
    """In this process: CPU and wall seconds from the file to the result, and the most memory of this process and its children."""
    separation_test(*noise(60, 40), permutations=19)
    with tempfile.TemporaryDirectory() as folder:
        file = case.write(Path(folder))
        memory = AnonymousMemory()
        memory.start()
        begin, cpu = time.perf_counter(), cpu_of_everyone()
        data = load_data(file.path, file.label, labels=file.labels)
        read = cpu_of_everyone() - cpu
        result = separation_test(data, permutations=case.permutations, n_jobs=case.jobs)
        seconds = time.perf_counter() - begin
        most = memory.stop()
    return {
        "table": which,
        "size": file.size / 1e9,
        "cpu": cpu_of_everyone() - cpu,
        "cpu_reading": read,
        "wall": seconds,
        "jobs": case.jobs,
        "memory": most,
        "log10_p": result.log10_pvalue,
        "verdict": result.verdict,
        "shuffles": 0 if result.permutation is None else result.permutation.done,
    }


def cpu_of_everyone() -> float:
    """CPU seconds of this process and its children that have ended, or are still there."""
    import psutil

    process = psutil.Process()
    times = [
        process.cpu_times(),
        *(child.cpu_times() for child in process.children(recursive=True)),
    ]
    ended = process.cpu_times()
    alive = sum(spent.user + spent.system for spent in times)
    return alive + ended.children_user + ended.children_system


def small_version(case: WideCase) -> WideCase:
    return replace(
        case,
        n_samples=min(case.n_samples, SMALL_SAMPLES),
        n_columns=SMALL_COLUMNS,
        permutations=SMALL_PERMUTATIONS,
        jobs=1,
    )


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
    lines += [table_line(name, of[name]) for name in TABLES if name in of]
    wide = [name for name in WIDE_TABLES if name in of]
    if wide:
        lines += [
            "",
            "Very wide tables, tested where they are kept; reading and checks are part of it, and memory is that of the process and "
            "its workers without mapped files. By `python benchmarks/cost.py --wide`.",
            "",
            "| table | its size (GB) | CPU seconds | of which reading | minutes | processes | memory (GB) | shuffles | p |",
            "|---|---|---|---|---|---|---|---|---|",
            *(wide_line(name, of[name]) for name in wide),
        ]
    write_text(TABLE, "\n".join(lines) + "\n")


def table_line(name: str, row: dict) -> str:
    cells = (
        f"{row['size']:.2g}",
        f"{row['cpu']:.1f}",
        f"{row['memory']:.1f}",
        row["shuffles"] or "none needed",
        pvalue_of(row),
    )
    return f"| {name} | {' | '.join(map(str, cells))} |"


def wide_line(name: str, row: dict) -> str:
    cells = (
        f"{row['size']:.2g}",
        f"{row['cpu']:.0f}",
        f"{row['cpu_reading']:.0f}",
        f"{row['wall'] / 60:.1f}",
        row["jobs"],
        f"{row['memory']:.1f}",
        row["shuffles"] or "none needed",
        pvalue_of(row),
    )
    return f"| {name} | {' | '.join(map(str, cells))} |"


def pvalue_of(row: dict) -> str:
    if row["shuffles"]:
        return f"{10 ** row['log10_p']:.2g}"
    return f"≤ {format_p(row['log10_p'])}, proven"


def measure_and_keep(names: list[str]) -> None:
    """Measure the tables that are not there yet, each in a process of its own."""
    STORE.parent.mkdir(exist_ok=True)
    there = STORE.read_text(encoding="utf-8") if STORE.exists() else ""
    done = {json.loads(line)["table"] for line in there.splitlines()}
    for name in names:
        if name in done:
            continue
        child = subprocess.run(
            [sys.executable, __file__, "--one", name],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        with STORE.open("a", encoding="utf-8") as store:
            store.write(child.stdout.splitlines()[-1] + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--wide", action="store_true", help="measure the very wide tables")
    parser.add_argument("--small", action="store_true", help="small versions of these, not kept")
    names = [*TABLES, *WIDE_TABLES]
    parser.add_argument("--one", choices=names, help="measure one table and print the row")
    options = parser.parse_args()
    if options.small:
        names = [options.one] if options.one else list(WIDE_TABLES)
        for name in names:
            print(json.dumps(measure_wide(name, small_version(WIDE_TABLES[name]))))
        return
    if options.one in TABLES:
        print(json.dumps(measure(options.one)))
        return
    if options.one:
        print(json.dumps(measure_wide(options.one, WIDE_TABLES[options.one])))
        return
    if not options.table:
        measure_and_keep(list(WIDE_TABLES if options.wide else TABLES))
    write_table()


if __name__ == "__main__":
    main()
