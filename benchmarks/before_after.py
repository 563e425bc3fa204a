"""Before and after: an old commit and this checkout in turn, on the same problems, by CPU time.

Run `python benchmarks/before_after.py [COMMIT]`, the last commit of 0.1.0 unless named. The commit is checked out into a
temporary folder and removed afterwards. Compared are the mean K/N and the CPU time of `auto`, greedy-BIHT against its plain
NumPy transcription, and the CPU time of a first verdict on an empty compile cache and of a second one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import first_use

ROOT = Path(__file__).resolve().parents[1]
FIRST_SEED = 91_000

# The random problems and greedy-BIHT have moved since the oldest commits.
PRELUDE = """
import json, time
import numpy as np
import chanceline
try:
    from chanceline.select import random_problem
    from chanceline.select.methods.biht import gaussian_start, greedy_biht, greedy_biht_plain
except ModuleNotFoundError:
    from chanceline.search.generate import random_problem
    from chanceline.search.biht import gaussian_start, greedy_biht, greedy_biht_plain
from chanceline.{api} import search
"""

SEARCH = """
search(*random_problem(48, 1.0, 0), budget=3)
found = []
for seed in range({first}, {first} + {problems}):
    X, y = random_problem({n}, 1.0, seed)
    begin = time.process_time()
    size = search(X, y, seed=seed).n_selected
    found.append((size, time.process_time() - begin))
print(json.dumps(found))
"""

BIHT = """
found = []
for seed in range({first}, {first} + {problems}):
    X, y = random_problem({n}, 1.0, seed)
    columns, start = np.ascontiguousarray((X * y[:, None]).T), gaussian_start({n}, seed)
    *_, (fast, _, _) = greedy_biht(columns, start)
    begin = time.process_time()
    plain, _ = greedy_biht_plain(columns, start)
    slow = time.process_time() - begin
    times = []
    for _ in range(5):
        begin = time.process_time()
        *_, _ = greedy_biht(columns, start)
        times.append(time.process_time() - begin)
    found.append((slow / float(np.median(times)), bool(np.array_equal(np.flatnonzero(plain), np.flatnonzero(fast)))))
print(json.dumps(found))
"""


def run(source: Path, program: str, cache: str, **numbers: int) -> list[list[float]]:
    """The lists that the program prints, with the package of that folder."""
    api = "select.api" if (source / "chanceline" / "select").exists() else "search.api"
    text = PRELUDE.format(api=api) + program.format(first=FIRST_SEED, **numbers)
    environment = first_use.environment(source, cache)
    done = subprocess.run([sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, check=True)
    answer: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def describe(source: Path, n: int, problems: int) -> str:
    with tempfile.TemporaryDirectory() as cache:
        first, second = (first_use.cpu_seconds("test --example planted", source, cache) for _ in range(2))
        searches = run(source, SEARCH, cache, n=n, problems=problems)
        ratios = run(source, BIHT, cache, n=n, problems=5)
    return (
        f"  auto, N = {n}, α = 1, {problems} problems: mean K/N {mean([size for size, _ in searches]) / n:.4f}, "
        f"{mean([time for _, time in searches]):.2f} CPU s each\n"
        f"  greedy-BIHT: {min(ratio for ratio, _ in ratios):.0f} to {max(ratio for ratio, _ in ratios):.0f} times plain NumPy, "
        f"same support in {sum(bool(same) for _, same in ratios)} of {len(ratios)}\n"
        f"  first verdict {first:.1f} CPU s, second {second:.1f} CPU s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default="837ea76", help="the commit to compare with")
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--problems", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", given.commit, "src"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for name, source in ((given.commit, Path(folder) / "src"), ("this checkout", ROOT / "src")):
            print(f"{name}\n{describe(source, given.n, given.problems)}", flush=True)


if __name__ == "__main__":
    main()
