"""What the search with errors, the front, the proofs and the large tables promise, measured on one core.

Small problems, pairs and noise with errors are fresh (seeds from 81000). The proofs are of seeds 0 to 9, some of which were
looked at while they were made faster; the large tables are those of benchmarks/search.py.

Run `python benchmarks/front_claims.py`, or name some: `python benchmarks/front_claims.py small exact`. Every claim is printed
with its limit, in CPU seconds; a run of all of them is written to docs/tables/front-claims.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

import chanceline  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.perceptron.problem import make_problem  # noqa: E402
from chanceline.select import random_problem  # noqa: E402
from chanceline.select.supports import all_supports  # noqa: E402
from chanceline.select.walk import FOUND  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "front-claims.md"
FIRST_SEED = 81_000
LARGE_SEED = 70_000  # the large tables of docs/tables/search.md
KINDS = ("noise", "planted", "ties", "unequal")


class Claim(NamedTuple):
    """One row of the table."""

    what: str
    limit: str
    measured: str
    holds: bool


def small_problem(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to 12 variables and 24 samples: noise, two variables with flipped labels, whole numbers, or unequal classes."""
    generator = np.random.default_rng(seed)
    n, patterns = int(generator.integers(6, 13)), int(generator.integers(12, 25))
    X = generator.normal(size=(patterns, n))
    y = generator.choice([-1.0, 1.0], size=patterns)
    if kind == "planted":
        y = np.where(X[:, 0] - X[:, 1] + 0.3 > 0, 1.0, -1.0)
        y[generator.choice(patterns, 3, replace=False)] *= -1
    elif kind == "ties":
        X = generator.integers(-1, 2, size=(patterns, n)).astype(float)
    elif kind == "unequal":
        y = np.where(np.arange(patterns) < patterns // 4, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return X, y


def small_fronts() -> Iterator[Claim]:
    """The front against all supports of its sizes, each decided by Gordan's certificates."""
    points = missed = 0
    for seed in range(60):
        X, y = small_problem(KINDS[seed % len(KINDS)], FIRST_SEED + seed)
        problem = make_problem(X, y, True, allow_contradictions=True)
        for point in chanceline.front(X, y, max_features=4).points[1:]:
            points += 1
            if point.errors > 0:
                *_, last = all_supports(problem, point.k, point.errors - 1)
                missed += last.verdict == FOUND or last.undecided > 0
    share = 1 - missed / points
    what = "front of 60 small problems (noise, planted with flipped labels, ties, unequal classes) against all supports"
    yield Claim(
        what,
        "minimum at 95 % of the points",
        f"{points - missed} of {points} points ({share:.1%})",
        share >= 0.95,
    )


def six_errors() -> Iterator[Claim]:
    """Gaussian noise, N = P = 128, no threshold, six errors allowed."""
    sizes, seconds = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + 12):
        X, y = random_problem(128, 1.0, seed, "gaussian")
        start = time.process_time()
        outcome = chanceline.search(X, y, errors=6, seed=seed)
        seconds.append(time.process_time() - start)
        assert outcome.errors <= 6
        sizes.append(outcome.n_selected / 128)
    measured = f"{np.mean(sizes):.4f} ± {np.std(sizes, ddof=1) / np.sqrt(12):.4f}, {max(seconds):.1f} s at most"
    holds = bool(np.mean(sizes) <= 0.118 and max(seconds) <= 10)
    yield Claim(
        "mean K/N, Gaussian noise, N = P = 128, six errors, 12 problems",
        "0.118, 10 s each",
        measured,
        holds,
    )


def correlated_pairs() -> Iterator[Claim]:
    """Two variables of correlation 0.99 whose difference decides."""
    for patterns, n in ((60, 500), (100, 100)):
        found = 0
        for seed in range(FIRST_SEED, FIRST_SEED + 20):
            X = np.random.default_rng(seed).normal(size=(patterns, n))
            X[:, 1] = 0.99 * X[:, 0] + np.sqrt(1 - 0.99**2) * X[:, 1]
            outcome = chanceline.search(X, np.where(X[:, 0] > X[:, 1], 1.0, -1.0), seed=seed)
            found += outcome.separates and outcome.n_selected == 2
        what = f"pair of correlation 0.99 whose difference decides, {patterns} × {n}"
        yield Claim(what, "M = 2 on 20 of 20", f"M = 2 on {found} of 20", found == 20)


def proven_minima() -> Iterator[Claim]:
    """`exact` at N = P = 48, ±1."""
    seconds, sizes, proven = [], [], 0
    for seed in range(10):
        X, y = random_problem(48, 1.0, seed)
        start = time.process_time()
        outcome = chanceline.search(X, y, method="exact")
        seconds.append(time.process_time() - start)
        sizes.append(outcome.n_selected)
        proven += outcome.minimum_proven
    measured = f"{proven} of 10 proven (M = {min(sizes)} to {max(sizes)}), {np.mean(seconds):.1f} s each, {max(seconds):.1f} s at most"
    yield Claim(
        "`exact`, N = P = 48, ±1, seeds 0 to 9",
        "25 s",
        measured,
        proven == 10 and max(seconds) <= 25,
    )


def run_alone(command: list[str]) -> tuple[bytes, float, float]:
    """What a process of its own prints, its CPU seconds and its largest memory in bytes."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return printed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024.0


def large_tables() -> Iterator[Claim]:
    """Gaussian noise from an .npz file at the command line, with a threshold; memory above that of the import."""
    imported = run_alone(
        ["-c", "import chanceline.cli.main, chanceline.select, chanceline.tables"]
    )[2]
    with tempfile.TemporaryDirectory() as folder:
        for patterns, n in ((1_000, 5_000), (1_000, 20_000), (100, 200_000)):
            path = Path(folder) / "noise.npz"
            X, y = random_problem(n, None, LARGE_SEED, "gaussian", n_patterns=patterns)
            np.savez(path, X=X, y=y)
            command = ["-m", "chanceline", "search", str(path), "--intercept", "--json", "--quiet"]
            printed, seconds, peak = run_alone(command)
            size, times = json.loads(printed)["n_selected"], (peak - imported) / X.nbytes
            narrow = n == 5_000
            holds = seconds <= 60 and size <= 101 if narrow else seconds <= 120 and times <= 3
            limit = "101 variables, 60 s" if narrow else "120 s, 3 times X"
            measured = (
                f"{size} variables, {seconds:.0f} s, {times:.2f} times X ({peak / 1e9:.2f} GB)"
            )
            yield Claim(
                f"`chanceline search` on noise, {patterns:,} × {n:,} (.npz)", limit, measured, holds
            )


CLAIMS: dict[str, Callable[[], Iterator[Claim]]] = {
    "small": small_fronts,
    "pairs": correlated_pairs,
    "exact": proven_minima,
    "six": six_errors,
    "large": large_tables,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("claims", nargs="*", help=f"some of {', '.join(CLAIMS)}; all unless named")
    chosen = parser.parse_args().claims or list(CLAIMS)
    if not set(chosen) <= set(CLAIMS):
        parser.error(f"choose among {', '.join(CLAIMS)}")
    lines = ["| claim | limit | measured (CPU time, one core) |", "|---|---|---|"]
    X, y = random_problem(30, 1.0, 0)
    for method in ("auto", "exact"):
        for errors in (0, 2):
            chanceline.search(
                X, y, method=method, errors=errors, budget=50
            )  # compiles before the clock starts
    for claim in (claim for each in chosen for claim in CLAIMS[each]()):
        lines.append(
            f"| {claim.what} | {claim.limit} | {claim.measured}{'' if claim.holds else ' (missed)'} |"
        )
        print(lines[-1], flush=True)
    if chosen == list(CLAIMS):
        write_text(TABLE, "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
