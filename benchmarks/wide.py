"""What a test of a table costs that is wider than memory: CPU and wall seconds, and the most memory.

    python benchmarks/wide.py             every table that is not there yet, each in a process of its own, then docs/tables/wide.md
    python benchmarks/wide.py --table     the table from what is there
    python benchmarks/wide.py --one NAME  one table; names are shown by --help

Genotypes and methylation are simulated without signal, so that all shuffles are made. Files are written to --folder, which
needs 6 GB, and are taken away. Results stand in benchmarks/results/wide.jsonl. Memory is what the process and its workers
have for themselves; pages of a file that is mapped are not counted. The least work is that of the products of all shuffled
labels with all columns at every step of the path, at the rate of a matrix product that is measured beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from chanceline import separation_test  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "wide.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "wide.md"
SEED = 1
COLUMNS_AT_A_TIME = 4_000
GIGABYTE = 1e9
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class WideTable:
    """A table to test: how it is kept, its shape, and with how many shuffles and jobs."""

    suffix: str
    n_samples: int
    n_columns: int
    shuffles: int
    jobs: int = 2


TABLES = {
    "1,000 × 1,000,000 genotypes, .bed": WideTable(".bed", 1_000, 1_000_000, 999),
    "1,000 × 1,000,000 genotypes, Zarr": WideTable(".zarr", 1_000, 1_000_000, 999),
    "5,000 × 1,000,000 genotypes, .bed": WideTable(".bed", 5_000, 1_000_000, 199),
    "2,000 × 200,000 methylation, .npy": WideTable(".npy", 2_000, 200_000, 127, jobs=1),
    "1,000 × 200,000 genotypes, .bed": WideTable(".bed", 1_000, 200_000, 999),
    "200 × 50,000 genotypes, .bed": WideTable(".bed", 200, 50_000, 199),
}
Chunk = NDArray[np.int8] | NDArray[np.float32]


def genotypes(rng: np.random.Generator, n_samples: int, n_columns: int) -> NDArray[np.int8]:
    """Two alleles of each variant, drawn with its own frequency."""
    frequency = rng.uniform(0.05, 0.5, n_columns).astype(np.float32)
    first = rng.random((n_samples, n_columns), dtype=np.float32) < frequency
    second = rng.random((n_samples, n_columns), dtype=np.float32) < frequency
    return first.astype(np.int8) + second


def methylation(rng: np.random.Generator, n_samples: int, n_columns: int) -> NDArray[np.float32]:
    """Logits of shares, about a level of each site."""
    level = rng.normal(0, 2, n_columns).astype(np.float32)
    return level + rng.standard_normal((n_samples, n_columns), dtype=np.float32)


def write_npy(path: Path, table: WideTable, chunk: Callable[[int], Chunk]) -> None:
    shape = (table.n_samples, table.n_columns)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    for start in range(0, table.n_columns, COLUMNS_AT_A_TIME):
        array[:, start : start + COLUMNS_AT_A_TIME] = chunk(start)
    array.flush()


def write_zarr(path: Path, table: WideTable, chunk: Callable[[int], Chunk]) -> None:
    import zarr

    array = zarr.create_array(
        str(path),
        shape=(table.n_samples, table.n_columns),
        chunks=(table.n_samples, COLUMNS_AT_A_TIME),
        dtype="int8",
    )
    for start in range(0, table.n_columns, COLUMNS_AT_A_TIME):
        array[:, start : start + COLUMNS_AT_A_TIME] = chunk(start)


def write_bed(path: Path, table: WideTable, chunk: Callable[[int], Chunk]) -> None:
    """Two bits for a genotype, four samples in a byte, the first in the lowest bits."""
    bits_of_genotype = np.array([3, 2, 0], dtype=np.uint8)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    with path.open("wb") as file:
        file.write(bytes([0x6C, 0x1B, 0x01]))
        for start in range(0, table.n_columns, COLUMNS_AT_A_TIME):
            bits = bits_of_genotype[chunk(start)].T
            in_fours = bits.reshape(len(bits), -1, 4) << shifts
            file.write(np.bitwise_or.reduce(in_fours, axis=2).tobytes())
    with path.with_suffix(".bim").open("w", encoding="utf-8") as file:
        file.writelines(f"1 rs{column} 0 {column} G A\n" for column in range(table.n_columns))


WRITERS = {".npy": write_npy, ".zarr": write_zarr, ".bed": write_bed}


def write_files(path: Path, table: WideTable) -> None:
    """The table, and labels that have nothing to do with it."""

    def chunk(start: int) -> Chunk:
        rng = np.random.default_rng([SEED, start])
        n_columns = min(COLUMNS_AT_A_TIME, table.n_columns - start)
        simulate = methylation if table.suffix == ".npy" else genotypes
        return simulate(rng, table.n_samples, n_columns)

    WRITERS[table.suffix](path, table, chunk)
    codes = np.random.default_rng(SEED).permutation(np.arange(table.n_samples) % 2) + 1
    if table.suffix == ".bed":
        lines = [f"F{i} s{i} 0 0 0 {code}\n" for i, code in enumerate(codes)]
        path.with_suffix(".fam").write_text("".join(lines), encoding="utf-8")
    else:
        lines = [f"{code}\n" for code in codes]
        path.with_name("labels.txt").write_text("group\n" + "".join(lines), encoding="utf-8")


class MemoryWatch(threading.Thread):
    """The most memory that this process and its workers have for themselves, in GB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0

    def run(self) -> None:
        this = psutil.Process()
        while True:
            own = 0
            for process in [this, *this.children(recursive=True)]:
                try:
                    info = process.memory_info()
                    own += info.rss - info.shared
                except psutil.Error:
                    continue  # it has ended meanwhile
            self.most = max(self.most, own / GIGABYTE)
            time.sleep(SECONDS_BETWEEN_LOOKS)


def cpu_seconds() -> float:
    """Of this process, and of its workers, which live on."""
    times = os.times()
    seconds = times.user + times.system + times.children_user + times.children_system
    for worker in psutil.Process().children(recursive=True):
        worker_times = worker.cpu_times()
        seconds += worker_times.user + worker_times.system
    return seconds


def seconds_per_multiplication() -> float:
    """Of a product in single precision on one core."""
    size = 1_000
    matrix = np.ones((size, size), dtype=np.float32)
    begin = time.process_time()
    for _ in range(5):
        matrix @ matrix
    return (time.process_time() - begin) / 5 / size**3


def measure(which: str, folder: Path) -> dict[str, object]:
    """In this process: what reading and testing the table cost."""
    table = TABLES[which]
    path = folder / f"table{table.suffix}"
    write_files(path, table)
    small = np.random.default_rng(SEED).normal(size=(60, 40))
    separation_test(small, np.arange(60) % 2, permutations=19)  # compiling is not counted
    watch = MemoryWatch()
    watch.start()
    begin, begin_cpu = time.monotonic(), cpu_seconds()
    if table.suffix == ".bed":
        dataset = load_data(path, "phenotype")
    else:
        dataset = load_data(path, labels=folder / "labels.txt")
    result = separation_test(
        dataset, permutations=table.shuffles, n_jobs=table.jobs, always_permute=True
    )
    n_steps = len(result.front)
    multiplications = (1 + table.shuffles) * n_steps * table.n_samples * table.n_columns
    return {
        "table": which,
        **asdict(table),
        "cpu": cpu_seconds() - begin_cpu,
        "wall": time.monotonic() - begin,
        "memory": watch.most,
        "least": multiplications * seconds_per_multiplication(),
        "p": result.pvalue,
    }


def write_table() -> None:
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    row_of = {row["table"]: row for row in rows}
    lines = [
        "Reading and testing tables that are read by tiles, without signal; `least` is the CPU time of the products of all",
        "shuffled labels with all columns at every step of the path. By `python benchmarks/wide.py`.",
        "",
        "| table | shuffles | jobs | minutes | CPU seconds | least | memory (GB) | p |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for which in TABLES:
        if which in row_of:
            row = row_of[which]
            costs = f"{row['wall'] / 60:.1f} | {row['cpu']:.0f} | {row['least']:.0f} | {row['memory']:.1f}"
            lines.append(
                f"| {which} | {row['shuffles']} | {row['jobs']} | {costs} | {row['p']:.2g} |"
            )
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--one", choices=list(TABLES), help="measure one table and print the row")
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
    done = {json.loads(line)["table"] for line in there.splitlines()}
    missing = [] if options.table else [which for which in TABLES if which not in done]
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
