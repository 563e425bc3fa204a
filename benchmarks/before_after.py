"""Before and after: an old commit and this checkout on the same problems, by CPU time.

    python benchmarks/before_after.py [COMMIT] [--rounds 5] [--only search front]

The old commit goes into a temporary folder. Every task runs in a process of its own, first once to
compile, then `--rounds` times, old and new in turn, so that a busy machine slows both alike; the
least CPU seconds of each are compared. Then what a newcomer waits for: the first verdict on an
empty compile cache, and `import chanceline`.
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
from typing import NamedTuple

import first_use

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "c34447e"  # the last commit before the code was written anew

# Each task ends with `task()`, which is called once untimed and once timed.
TASKS = {
    "search, 256 × 256, six problems": """
from chanceline import search
from chanceline.select import random_problem
problems = [random_problem(256, 1.0, seed) for seed in range(6)]
def task():
    return [search(X, y, seed=0).n_selected for X, y in problems]
""",
    "front, 80 × 300, six tables": """
import numpy as np
from chanceline import front
tables = []
for seed in range(6):
    generator = np.random.default_rng([92_000, seed])
    y = np.where(generator.permutation(80) % 2 == 0, 1.0, -1.0)
    tables.append((generator.standard_normal((80, 300)), y))
def task():
    fronts = [front(X, y, max_features=6, seed=0) for X, y in tables]
    return [sum(point.errors for point in found.points) for found in fronts]
""",
    "exact, 48 × 48, ten problems": """
from chanceline import search
from chanceline.select import random_problem
problems = [random_problem(48, 0.8, seed) for seed in range(10)]
def task():
    return [search(X, y, "exact", seed=0).n_selected for X, y in problems]
""",
    "test, 40 × 500": """
import numpy as np
from chanceline import separation_test
generator = np.random.default_rng(1)
X = generator.standard_normal((40, 500))
y = generator.permutation(40) % 2
def task():
    return separation_test(X, y, seed=0).pvalue
""",
    "test, 168 × 2905": """
import numpy as np
from chanceline import separation_test
generator = np.random.default_rng(1)
X = generator.standard_normal((168, 2905))
y = (generator.permutation(168) % 3 == 0).astype(int)
def task():
    return separation_test(X, y, seed=0).pvalue
""",
    "test, 100 × 20,000": """
import numpy as np
from chanceline import separation_test
generator = np.random.default_rng(1)
X = generator.standard_normal((100, 20_000))
y = generator.permutation(100) % 2
def task():
    return separation_test(X, y, seed=0).pvalue
""",
    "capacity_curve, 60 points": """
import numpy as np
from chanceline import capacity_curve
rho = np.linspace(0.02, 0.98, 60)
def task():
    return float(np.sum(capacity_curve(rho).alpha))
""",
}

TIMED = """
import json, time, warnings
warnings.simplefilter("ignore")
{setup}
task()
begin = time.process_time()
value = task()
print(json.dumps([value, time.process_time() - begin]))
"""


class Timed(NamedTuple):
    """What a task gave, and the CPU seconds of its second call."""

    value: object
    seconds: float


def run_task(setup: str, source: Path, cache: str) -> Timed:
    """One run of a task with the package of that folder."""
    finished = subprocess.run(
        [sys.executable, "-c", TIMED.format(setup=setup)],
        env=first_use.environment(source, cache),
        stdout=subprocess.PIPE,
        check=True,
    )
    value, seconds = json.loads(finished.stdout.splitlines()[-1])
    return Timed(value, seconds)


def compare_task(setup: str, sources: tuple[Path, Path], rounds: int) -> tuple[Timed, Timed]:
    """The fastest run of the old and of the new package, which take turns."""
    with tempfile.TemporaryDirectory() as old_cache, tempfile.TemporaryDirectory() as new_cache:
        caches = (old_cache, new_cache)
        for source, cache in zip(sources, caches, strict=True):
            run_task(setup, source, cache)  # compiles
        runs: tuple[list[Timed], list[Timed]] = ([], [])
        for _ in range(rounds):
            for collected, source, cache in zip(runs, sources, caches, strict=True):
                collected.append(run_task(setup, source, cache))
    fastest_old, fastest_new = (min(each, key=lambda timed: timed.seconds) for each in runs)
    return fastest_old, fastest_new


def first_verdict_seconds(source: Path) -> float:
    """CPU seconds of a test with shuffles on an empty compile cache, the least of three."""
    seconds = []
    for _ in range(first_use.RUNS):
        with tempfile.TemporaryDirectory() as cache:
            seconds.append(first_use.cpu_seconds("test --example noise", source, cache))
    return min(seconds)


def import_seconds(source: Path) -> float:
    """Seconds of `import chanceline`, without the interpreter's start; the median of nine."""
    spent = []
    for _ in range(9):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        middle = time.perf_counter()
        environment = first_use.environment(source, str(source))
        subprocess.run([sys.executable, "-c", "import chanceline"], env=environment, check=True)
        end = time.perf_counter()
        spent.append((end - middle) - (middle - begin))
    return statistics.median(spent)


def print_row(name: str, old: float, new: float, note: str = "") -> None:
    print(f"| {name} | {old:.3g} | {new:.3g} | {new / old:.2f} | {note} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default=BEFORE, help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", nargs="*", help="tasks whose names begin so; not what comes after"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", options.commit, "src"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        sources = (Path(folder) / "src", ROOT / "src")

        print(f"| CPU seconds | {options.commit} | this checkout | ratio | result |")
        print("|---|---|---|---|---|")
        for name, setup in TASKS.items():
            if options.only and not name.startswith(tuple(options.only)):
                continue
            old, new = compare_task(setup, sources, options.rounds)
            note = "equal" if old.value == new.value else f"{old.value} → {new.value}"
            print_row(name, old.seconds, new.seconds, note)
        if not options.only:
            old_first, new_first = (first_verdict_seconds(source) for source in sources)
            print_row("first verdict, empty cache", old_first, new_first)
            old_import, new_import = (import_seconds(source) for source in sources)
            print_row("`import chanceline`, seconds", old_import, new_import)


if __name__ == "__main__":
    main()
