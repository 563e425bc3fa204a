"""Weights and stabilities at capacity, α = 1: replica symmetry, one step of breaking, and search.

Of each problem the smallest set that `auto` finds gives as many weights as variables, those of largest
margin, and as many stabilities as patterns. Errors are those of the mean over problems.

    python benchmarks/weights.py            writes docs/tables/weights.md and docs/images/weights.svg
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import chanceline
from chanceline._io import write_text
from chanceline.figures.theory import draw_stabilities, draw_weights
from chanceline.select import random_problem
from chanceline.theory.solution import ReplicaSolution

DOCS = Path(__file__).resolve().parent.parent / "docs"
TABLE = DOCS / "tables" / "weights.md"
PICTURE = DOCS / "images" / "weights.svg"
LIMITS = (0.25, 0.5, 1.0)
PROBLEMS = {128: 30, 256: 10}  # by N
# So near below the capacity the entropy is 0 for all purposes, and the branch is defined.
JUST_BELOW = 1 - 1e-9


class Found(NamedTuple):
    """What a search found on one problem."""

    weights: np.ndarray  # in root mean squares, (chosen,)
    stabilities: np.ndarray  # in lengths of the weights, (patterns,)


def search_one(n: int, seed: int) -> Found:
    X, y = random_problem(n, 1.0, seed=seed, inputs="gaussian")
    outcome = chanceline.search(X, y, seed=seed)
    weights = np.asarray(outcome.weights)
    fields = y * (X[:, outcome.support] @ weights)
    length = np.linalg.norm(weights)
    return Found(weights / np.sqrt(np.mean(weights**2)), fields / length)


def theory_row(name: str, solution: ReplicaSolution) -> str:
    weights = [solution.weights().share_below(limit) for limit in LIMITS]
    stabilities = [solution.stabilities().share_below(limit) for limit in LIMITS]
    cells = " | ".join(f"{share:.4f}" for share in (*weights, *stabilities))
    return f"| {name} | {solution.rho:.4f} | {cells} |"


def search_row(n: int, found: list[Found]) -> str:
    cells = []
    for name in ("weights", "stabilities"):
        for limit in LIMITS:
            shares = [np.mean(np.abs(getattr(one, name)) < limit) for one in found]
            error = np.std(shares, ddof=1) / np.sqrt(len(shares))
            cells.append(f"{np.mean(shares):.3f} ± {error:.3f}")
    rho = np.mean([len(one.weights) / n for one in found])
    return f"| search, N = {n}, {len(found)} problems | {rho:.4f} | " + " | ".join(cells) + " |"


def draw(symmetric: ReplicaSolution, broken: ReplicaSolution, found: list[Found]) -> None:
    """Both laws beside what the search found at the largest N."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    weights = np.concatenate([one.weights for one in found])
    left.hist(weights, bins=30, density=True, color="0.85", label="search")
    draw_weights(left, symmetric.weights(), "replica symmetric")
    draw_weights(left, broken.weights(), "one step of breaking", colour="rsb")
    stabilities = np.concatenate([one.stabilities for one in found])
    right.hist(stabilities, bins=40, density=True, color="0.85", label="search")
    draw_stabilities(right, broken.stabilities())
    plt.rcParams["svg.hashsalt"] = "chanceline"
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    symmetric = chanceline.solve(1.0, chanceline.density(1.0).rho)
    broken = chanceline.solve(JUST_BELOW, chanceline.density(1.0, "1rsb").rho, "1rsb")
    lines = [
        "| | density | weights below ¼ | ½ | 1 | stabilities below ¼ | ½ | 1 |",
        "|---|---|---|---|---|---|---|---|",
        theory_row("replica symmetric", symmetric),
        theory_row("one step of breaking", broken),
    ]
    for n, problems in PROBLEMS.items():
        found = [search_one(n, seed) for seed in range(problems)]
        lines.append(search_row(n, found))
    write_text(TABLE, "\n".join(lines) + "\n")
    draw(symmetric, broken, found)


if __name__ == "__main__":
    main()
