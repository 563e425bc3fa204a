"""K/N and CPU time of every search method and of its peers on the same random problems, one core.

Run `python benchmarks/search.py`; the table is written to docs/tables/search.md. Peers select features by their own
criterion, and get the smallest of their supports that separates (checked by `chanceline.perceptron.rule.separate`).
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import biht  # noqa: E402
import numpy as np  # noqa: E402

import chanceline  # noqa: E402
from chanceline.select import random_problem, separate  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "search.md"
CELLS = [(n, alpha) for n in (64, 256) for alpha in (0.5, 1.0, 1.5)]
OWN = ("auto", "tabu", "amp", "omp", "reweighted-l1", "greedy-biht", "l1")
FIRST_SEED = 70_000  # none of the seeds below it were used while the methods were tuned here


def smallest(X: np.ndarray, y: np.ndarray, supports: Iterable[np.ndarray]) -> int | None:
    """Size of the smallest separating support among a peer's."""
    for support in sorted({tuple(np.flatnonzero(s)) for s in supports}, key=len):
        if len(support) and separate(X, y, np.array(support)).separates:
            return len(support)
    return None


def bisect_size(
    X: np.ndarray, y: np.ndarray, support_of_size: Callable[[int], np.ndarray]
) -> int | None:
    """Smallest size whose support separates, by bisection between 1 and P."""
    low, high = 0, min(X.shape)
    if not separate(X, y, np.flatnonzero(support_of_size(high))).separates:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if separate(X, y, np.flatnonzero(support_of_size(middle))).separates:
            high = middle
        else:
            low = middle
    return high


def peer_abess(X: np.ndarray, y: np.ndarray) -> int | None:
    from abess import LogisticRegression

    def support(size: int) -> np.ndarray:
        model = LogisticRegression(support_size=size, fit_intercept=False, thread=1)
        return model.fit(X, (y > 0).astype(int)).coef_.ravel() != 0

    return bisect_size(X, y, support)


def peer_fastsparsegams(X: np.ndarray, y: np.ndarray) -> int | None:
    import fastsparsegams

    most = min(X.shape)
    options = {
        "loss": "SquaredHinge",
        "penalty": "L0",
        "num_lambda": 100,
        "algorithm": "CDPSI",
        "intercept": False,
    }
    path = fastsparsegams.fit(X, y, max_support_size=most, **options)
    coefficients = path.coeff(include_intercept=False).toarray()
    return smallest(X, y, (column != 0 for column in coefficients.T))


def peer_skglm(X: np.ndarray, y: np.ndarray) -> int | None:
    from skglm import SparseLogisticRegression

    strongest = np.abs(X.T @ y).max() / (2 * len(y))
    strengths = strongest * np.geomspace(0.8, 1e-4, 40)
    models = (SparseLogisticRegression(alpha=a, fit_intercept=False).fit(X, y) for a in strengths)
    return smallest(X, y, [model.coef_.ravel() != 0 for model in models])


def peer_rfe(X: np.ndarray, y: np.ndarray) -> int | None:
    from sklearn.feature_selection import RFE
    from sklearn.svm import LinearSVC

    ranking = (
        RFE(LinearSVC(C=100.0, fit_intercept=False), n_features_to_select=1).fit(X, y).ranking_
    )
    return bisect_size(X, y, lambda size: ranking <= size)


def peer_l1_svm(X: np.ndarray, y: np.ndarray) -> int | None:
    from sklearn.svm import LinearSVC

    costs = np.geomspace(1e-3, 1e2, 40)
    models = (
        LinearSVC(penalty="l1", dual=False, C=c, fit_intercept=False, random_state=0).fit(X, y)
        for c in costs
    )
    return smallest(X, y, [model.coef_.ravel() != 0 for model in models])


PEERS = {
    "abess": peer_abess,
    "fastsparsegams": peer_fastsparsegams,
    "skglm L1 logistic": peer_skglm,
    "scikit-learn RFE": peer_rfe,
    "scikit-learn L1 SVM": peer_l1_svm,
}


def own(method: str) -> Callable[[np.ndarray, np.ndarray], int | None]:
    def run(X: np.ndarray, y: np.ndarray) -> int | None:
        outcome = chanceline.search(X, y, method=method)
        return outcome.n_selected if outcome.separates else None

    return run


@dataclass(frozen=True)
class Cell:
    """One method at one size and load: K for every problem (None where it failed) and mean CPU seconds."""

    n: int
    sizes: list[int | None]
    seconds: float

    def __str__(self) -> str:
        found = [size / self.n for size in self.sizes if size is not None]
        if not found:
            return f"none ({self.seconds:.2g} s)"
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        missing = f", {len(self.sizes) - len(found)} failed" if len(found) < len(self.sizes) else ""
        return f"{np.mean(found):.4f} ± {error:.4f} ({self.seconds:.2g} s{missing})"


def measure(
    run: Callable[[np.ndarray, np.ndarray], int | None], n: int, alpha: float, instances: int
) -> Cell:
    start = time.process_time()
    sizes = [
        run(*random_problem(n, alpha, seed)) for seed in range(FIRST_SEED, FIRST_SEED + instances)
    ]
    return Cell(n, sizes, (time.process_time() - start) / instances)


def fewer(cells: list[Cell], reference: list[Cell]) -> int:
    """Problems on which a method has fewer variables than the reference."""
    mine = [size for cell in cells for size in cell.sizes]
    theirs = [size for cell in reference for size in cell.sizes]
    return sum(a is not None and b is not None and a < b for a, b in zip(mine, theirs, strict=True))


def proofs(reference: Cell, alpha: float) -> str:
    """Whether `auto` has the minimum, by `exact`, on the problems of a cell."""
    start, proven, minimal = time.process_time(), 0, 0
    for seed, size in enumerate(reference.sizes, FIRST_SEED):
        outcome = chanceline.search(*random_problem(reference.n, alpha, seed), method="exact")
        proven += outcome.minimum_proven
        minimal += outcome.minimum_proven and outcome.n_selected == size
    seconds = (time.process_time() - start) / len(reference.sizes)
    return (
        f"`exact` at N = {reference.n}, α = {alpha:g} proves the minimum of {proven} of {len(reference.sizes)} problems "
        f"({seconds:.2g} s each); `auto` has it in {minimal}."
    )


def wide_input(shape: tuple[int, int]) -> str:
    """`auto` on Gaussian noise of many columns: variables, CPU seconds, and peak memory of this process."""
    patterns, n = shape
    X, y = random_problem(n, None, FIRST_SEED, "gaussian", n_patterns=patterns)
    start = time.process_time()
    outcome = chanceline.search(X, y, intercept=True)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"`auto` on {patterns} patterns of {n} Gaussian variables, with intercept: {outcome.n_selected} variables in "
        f"{seconds:.0f} s, {memory:.2f} GB at most."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=8, help="problems a cell")
    parser.add_argument(
        "--large",
        type=int,
        default=0,
        help="problems at N = 1024, α = 1 with auto; also two wide inputs",
    )
    parser.add_argument("--no-peers", action="store_true", help="only the methods here")
    arguments = parser.parse_args()
    warnings.simplefilter(
        "ignore"
    )  # peers warn of convergence; their supports are checked all the same
    runs = {method: own(method) for method in OWN} | ({} if arguments.no_peers else PEERS)
    X, y = random_problem(64, 1.0, 0)
    for run in runs.values():
        run(X, y)  # compile and import before the clock starts
    lines = [
        "| method | "
        + " | ".join(f"N = {n}, α = {alpha:g}" for n, alpha in CELLS)
        + " | fewer than `auto` |",
        "|---|" + "---|" * len(CELLS) + "---|",
    ]
    total = arguments.instances * len(CELLS)
    title = (
        f"Mean K/N ± standard error (CPU seconds a problem) on random ±1 problems, seeds from {FIRST_SEED}, the same "
        f"{arguments.instances} a cell for every method; last column: on how many of the {total} problems it found fewer."
    )
    reference: list[Cell] = []
    for label, run in runs.items():
        cells = [measure(run, n, alpha, arguments.instances) for n, alpha in CELLS]
        reference = reference or cells
        lines.append(
            f"| {label} | " + " | ".join(map(str, cells)) + f" | {fewer(cells, reference)} |"
        )
        print(lines[-1], flush=True)
        write([title, "", *lines, ""])
    notes = [proofs(reference[0], CELLS[0][1]), biht.compare()]
    if arguments.large:
        cell = measure(own("auto"), 1024, 1.0, arguments.large)
        notes.append(f"`auto` at N = 1024, α = 1: {cell}, {arguments.large} problems.")
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
            notes += fresh.map(wide_input, [(100, 20_000), (1_000, 5_000)])
    write([title, "", *lines, "", "\n\n".join(notes), ""])
    print("\n".join(notes))


def write(lines: list[str]) -> None:
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    temporary = TABLE.with_suffix(".tmp")
    temporary.write_text("\n".join(lines), encoding="utf-8")
    os.replace(temporary, TABLE)


if __name__ == "__main__":
    main()
