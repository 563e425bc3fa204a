"""A very wide table on a Dask cluster: wall seconds, the most memory of client and workers, and whether the result is the same.

    python benchmarks/wide_cluster.py             all that is not there yet, then docs/tables/wide_cluster.md
    python benchmarks/wide_cluster.py --table     the table from what is there
    python benchmarks/wide_cluster.py --one NAME  one run; names are shown by --help

Methylation is simulated without signal and written to a .npy file in --folder, which is taken away; the largest needs 6 GB.
Workers are processes of their own, with one thread and a limit of memory, as `dask worker` starts them. One of them may be
killed when the first shuffles are done. Results stand in benchmarks/results/wide_cluster.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from wide import (  # noqa: E402
    COLUMNS_AT_A_TIME,
    GIGABYTE,
    SECONDS_BETWEEN_LOOKS,
    SEED,
    methylation,
)

from chanceline import separation_test  # noqa: E402
from chanceline._cluster import active_client, cluster  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.significance import SeparationTest  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "wide_cluster.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "wide_cluster.md"
MEMORY_OF_WORKER = "2GB"


@dataclass(frozen=True)
class Run:
    """A table, and who works on it: workers, or with 0 this process alone."""

    n_samples: int
    n_columns: int
    dtype: str
    shuffles: int
    n_workers: int
    kills_a_worker: bool = False

    @property
    def gigabytes(self) -> float:
        return self.n_samples * self.n_columns * np.dtype(self.dtype).itemsize / GIGABYTE


LARGE = (500, 1_500_000, "float64", 255)
MIDDLE = (500, 300_000, "float32", 255)
SMALL = (200, 50_000, "float32", 255)
RUNS = {
    "large, one process": Run(*LARGE, n_workers=0),
    "large, three workers, one killed": Run(*LARGE, n_workers=3, kills_a_worker=True),
    "middle, one process": Run(*MIDDLE, n_workers=0),
    "middle, one worker": Run(*MIDDLE, n_workers=1),
    "middle, two workers": Run(*MIDDLE, n_workers=2),
    "small, one process": Run(*SMALL, n_workers=0),
    "small, two workers": Run(*SMALL, n_workers=2),
}


def write_files(folder: Path, run: Run) -> None:
    """The table, and labels that have nothing to do with it."""
    shape = (run.n_samples, run.n_columns)
    array = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=run.dtype, shape=shape)
    for start in range(0, run.n_columns, COLUMNS_AT_A_TIME):
        n_columns = min(COLUMNS_AT_A_TIME, run.n_columns - start)
        rng = np.random.default_rng([SEED, start])
        array[:, start : start + n_columns] = methylation(rng, run.n_samples, n_columns)
    array.flush()
    labels = np.random.default_rng(SEED).permutation(np.arange(run.n_samples) % 2)
    lines = [f"{label}\n" for label in labels]
    (folder / "labels.txt").write_text("group\n" + "".join(lines), encoding="utf-8")


@contextmanager
def dask_processes(folder: Path, n_workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, each under a nanny that ends it beyond its limit."""
    file = folder / "scheduler.json"
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    limits = ["--nthreads", "1", "--memory-limit", MEMORY_OF_WORKER]
    with ExitStack() as stack:

        def start(*arguments: str) -> None:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, *common],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("scheduler", "--port", "0")
        while not file.exists() or not file.read_text().strip().endswith("}"):
            time.sleep(0.1)
        for number in range(n_workers):
            start("worker", *limits, "--local-directory", str(folder / f"worker{number}"))
        yield json.loads(file.read_text())["address"]


class ProcessWatch(threading.Thread):
    """The most memory that any of some processes has for itself, in GB."""

    def __init__(self, pids: Iterable[int]) -> None:
        super().__init__(daemon=True)
        self._processes = [psutil.Process(pid) for pid in pids]
        self.most = 0.0

    def run(self) -> None:
        while True:
            for process in self._processes:
                try:
                    info = process.memory_info()
                except psutil.Error:
                    continue  # it was killed
                self.most = max(self.most, (info.rss - info.shared) / GIGABYTE)
            time.sleep(SECONDS_BETWEEN_LOOKS)


def measure(which: str, folder: Path) -> dict[str, object]:
    """With this process as the client: what reading and testing the table cost."""
    run = RUNS[which]
    write_files(folder, run)
    small = np.random.default_rng(SEED).normal(size=(60, 40))
    separation_test(small, np.arange(60) % 2, permutations=19)  # compiling is not counted
    with ExitStack() as stack:
        pids: list[int] = []
        if run.n_workers > 0:
            address = stack.enter_context(dask_processes(folder, run.n_workers))
            stack.enter_context(cluster(address))
            client = active_client()
            client.wait_for_workers(run.n_workers, timeout=300)
            pids = list(client.run(os.getpid).values())
        of_workers, of_client = ProcessWatch(pids), ProcessWatch([os.getpid()])
        of_workers.start()
        of_client.start()
        begin = time.monotonic()
        dataset = load_data(folder / "X.npy", labels=folder / "labels.txt")
        result = separation_test(
            dataset,
            permutations=run.shuffles,
            n_jobs=-1 if pids else 1,
            always_permute=True,
            progress=kill_once(pids[0]) if run.kills_a_worker else None,
        )
        wall = time.monotonic() - begin
    return {
        "run": which,
        "wall": wall,
        "load": os.getloadavg()[1],
        "client": of_client.most,
        "worker": of_workers.most,
        "p": result.pvalue,
        "result": digest(result),
    }


def kill_once(pid: int) -> Callable[[int, int], None]:
    """A `progress` that kills a process when it is called for the first time."""
    alive = [pid]

    def kill(_done: int, _total: int) -> None:
        if alive:
            os.kill(alive.pop(), signal.SIGKILL)

    return kill


def digest(result: SeparationTest) -> str:
    """The same for results that are equal to the last digit."""
    everything = [result.to_dict(), result.marginal_pvalues]
    return sha256(json.dumps(everything, default=str).encode()).hexdigest()[:12]


def write_table() -> None:
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    row_of = {row["run"]: row for row in rows}
    lines = [
        "Methylation without signal, read and tested from a .npy file by workers with one thread and a limit of",
        f"{MEMORY_OF_WORKER} each, on two processors that other work shares as the load says. Results of equal names are",
        "equal to the last digit. By `python benchmarks/wide_cluster.py`.",
        "",
        "| table (GB) | shuffles | who works | minutes | load of the machine | client (GB) | largest worker (GB) | result |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for which, run in RUNS.items():
        if which in row_of:
            row = row_of[which]
            table = f"{run.n_samples:,} × {run.n_columns:,} {run.dtype} ({run.gigabytes:.2g})"
            who = which.partition(", ")[2]
            worker = f"{row['worker']:.1f}" if run.n_workers > 0 else ""
            lines.append(
                f"| {table} | {run.shuffles} | {who} | {row['wall'] / 60:.1f} | {row['load']:.0f} | {row['client']:.1f} | {worker} | {row['result']} |"
            )
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--one", choices=list(RUNS), help="measure one run and print the row")
    parser.add_argument(
        "--folder", type=Path, help="where files are written; by default a temporary folder"
    )
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(json.dumps(measure(options.one, Path(folder))))
        return
    STORE.parent.mkdir(exist_ok=True)
    there = STORE.read_text(encoding="utf-8") if STORE.exists() else ""
    done = {json.loads(line)["run"] for line in there.splitlines()}
    missing = [] if options.table else [which for which in RUNS if which not in done]
    for which in missing:
        command = [sys.executable, __file__, "--one", which]
        if options.folder is not None:
            command += ["--folder", str(options.folder)]
        child = subprocess.run(command, check=True, capture_output=True, text=True)
        with STORE.open("a", encoding="utf-8") as store:
            store.write(child.stdout.splitlines()[-1] + "\n")
    write_table()


if __name__ == "__main__":
    main()
