"""Before and after: an old commit and this checkout on the same problems, by CPU time.

Run `python benchmarks/before_after.py [COMMIT]`, the last commit of 0.2.0 unless named, which goes into a temporary folder.
Compared are `auto` and `front` on random problems (quality and CPU time), commands on an empty compile cache and again, a test
with shuffles in two processes, the time to import the package, and its size. With `--data FOLDER` only the test on every
`.csv.gz` table there, classes in the last column: 99 shuffles and no rule for new samples in both, best of three.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import first_use
import numpy as np

ROOT = Path(__file__).resolve().parents[1]

SEARCH = """
import json, time
from chanceline import search
from chanceline.select import random_problem
search(*random_problem(48, 1.0, 0), budget=3)
found = []
for seed in range(91_000, 91_000 + {problems}):
    X, y = random_problem({n}, 1.0, seed)
    begin = time.process_time()
    size = search(X, y, seed=seed).n_selected
    found.append((size / {n}, time.process_time() - begin))
print(json.dumps(found))
"""
FRONT = """
import json, time
import numpy as np
from chanceline import front
found = []
for seed in range(-1, {problems}):
    generator = np.random.default_rng([92_000, seed + 1])
    X, y = generator.standard_normal((80, 300)), np.where(generator.permutation(80) % 2 == 0, 1.0, -1.0)
    begin = time.process_time()
    errors = sum(point.errors for point in front(X, y, max_features=6, seed=max(seed, 0)).points)
    found.append((errors, time.process_time() - begin))
print(json.dumps(found[1:]))
"""

TABLES = """
import gzip, json, sys, time, warnings
from pathlib import Path
from chanceline import separation_test
from chanceline.tables import load_data
warnings.simplefilter("ignore")
found = []
for path in sorted(Path(sys.argv[1]).glob("*.csv.gz")):
    with gzip.open(path, "rt") as lines:
        label = lines.readline().strip().rpartition(",")[2]
    data, spent = load_data(str(path), label=label), []
    for _ in range(3):
        begin = time.process_time()
        separation_test(data.X, data.y, permutations=99, expected_error=False)
        spent.append(time.process_time() - begin)
    found.append((path.name.partition(".")[0], min(spent)))
print(json.dumps(found))
"""


def published(source: Path, folder: str, data: str) -> list[tuple[str, float]]:
    command = [sys.executable, "-c", TABLES, data]
    done = subprocess.run(
        command, env=first_use.environment(source, folder), stdout=subprocess.PIPE, check=True
    )
    return [
        (f"test, {name}: CPU s", seconds)
        for name, seconds in json.loads(done.stdout.splitlines()[-1])
    ]


def run(source: Path, program: str, cache: str, **numbers: int) -> tuple[float, float]:
    """Means of what the program prints: quality and CPU seconds."""
    done = subprocess.run(
        [sys.executable, "-c", program.format(**numbers)],
        env=first_use.environment(source, cache),
        stdout=subprocess.PIPE,
        check=True,
    )
    quality, seconds = zip(*json.loads(done.stdout.splitlines()[-1]), strict=True)
    return statistics.mean(quality), statistics.mean(seconds)


def table(folder: str) -> str:
    """168 × 2905 values without structure, so that every shuffle is drawn."""
    generator = np.random.default_rng(1)
    values = np.column_stack(
        [generator.standard_normal((168, 2905)).round(4), generator.permutation(168) % 3 == 0]
    )
    path = Path(folder) / "wide.csv"
    names = ",".join([*(f"x{j}" for j in range(2905)), "y"])
    np.savetxt(path, values, "%.5g", ",", header=names, comments="")
    return str(path)


def describe(source: Path, folder: str, n: int, problems: int) -> list[tuple[str, float]]:
    figures = []
    with tempfile.TemporaryDirectory() as cache:
        first_use.cpu_seconds("search --random N=32,alpha=0.5,seed=0", source, cache)  # compiles
        for name, program, unit in (
            (f"auto, N = {n}, α = 1", SEARCH, "mean K/N"),
            ("front, 80 × 300", FRONT, "mean errors, K ≤ 6"),
        ):
            quality, seconds = run(source, program, cache, n=n, problems=problems)
            figures += [(f"{name}: {unit}", quality), (f"{name}: CPU s", seconds)]
        jobs = "--jobs" if (source / "chanceline" / "_parallel.py").exists() else "--workers"
        command = f"test {table(folder)} --label y --always-permute {jobs} 2"
        first_use.cpu_seconds(command, source, cache)  # compiles
        begin = time.perf_counter()
        cpu = first_use.cpu_seconds(command, source, cache)
        figures += [
            ("test, 168 × 2905, 2 jobs: CPU s", cpu),
            ("the same: seconds", time.perf_counter() - begin),
        ]
    first_use.noise_table(folder)
    for name, command in first_use.COMMANDS.items():
        with tempfile.TemporaryDirectory() as cache:
            for when in ("first", "again"):
                figures.append(
                    (
                        f"{name}, {when}: CPU s",
                        first_use.cpu_seconds(command, source, cache, folder),
                    )
                )
    spent = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        middle = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", "import chanceline"],
            env=first_use.environment(source, folder),
            check=True,
        )
        spent.append(time.perf_counter() - middle - (middle - begin))
    size = sum(
        path.stat().st_size
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return [
        *figures,
        ("import chanceline: seconds", statistics.median(spent)),
        ("installed size: MB", size / 1e6),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default="97f480f", help="the commit to compare with")
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument(
        "--data", help="a folder of tables: compare the test on these, and nothing else"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", given.commit, "src"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        trees = Path(folder) / "src", ROOT / "src"
        before, after = (
            published(source, folder, given.data)
            if given.data
            else describe(source, folder, given.n, given.problems)
            for source in trees
        )
    print(f"| figure | {given.commit} | this checkout | ratio |\n|---|---|---|---|")
    for (name, old), (_, new) in zip(before, after, strict=True):
        print(f"| {name} | {old:.4g} | {new:.4g} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
