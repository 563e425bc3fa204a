"""How many columns of a very wide table should stand for all, and does it help to renew them between rounds of swaps?

    python benchmarks/pool.py            docs/tables/pool.md, some minutes and 3 GB

Noise, 200 samples × 400,000 variables. `auto` ranks all columns once, along a greedy path, and swaps among the best of them, with
pools of two sizes. Renewed: the swaps are dealt to rounds; after each, all columns are ranked again, by their products with the
slack of the rule that failed last and of those with up to four variables fewer; the variables in use stay.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.perceptron.problem import Problem, make_problem  # noqa: E402
from chanceline.select import random_problem, search  # noqa: E402
from chanceline.select.auto import run_auto  # noqa: E402
from chanceline.select.column_pool import pooled_problem, rank_columns, slack_products  # noqa: E402
from chanceline.select.greedy import drop_cheapest, fit_greedily  # noqa: E402
from chanceline.select.outcome import Candidate  # noqa: E402
from chanceline.select.singles import single_errors  # noqa: E402
from chanceline.select.starts import candidate_of, start_from  # noqa: E402
from chanceline.select.tabu import swap_down  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "pool.md"
SAMPLES, VARIABLES, SEEDS = 200, 400_000, range(5)
# Columns in the pool: what it was, and what it is.
WIDTHS = (10_000, 2_500)
# Columns in the pool, rounds, and swaps in all.
RENEWED = ((2_500, 1, 60_000), (2_500, 5, 60_000), (2_500, 20, 60_000))
DEPTH = 4


def renewed(problem: Problem, width: int, rounds: int, swaps: int) -> int:
    """The number of variables that swaps in renewed pools find."""
    pool = rank_columns(problem, SAMPLES, single_errors(problem)).pool(width)
    hinge, _ = fit_greedily(pooled_problem(problem, pool))
    found = candidate_of(hinge, hinge.n_selected)
    for number in range(rounds):
        hinge, _ = start_from(pooled_problem(problem, pool), found)
        for event in swap_down(hinge, swaps // rounds, seed=number):
            found = event if isinstance(event, Candidate) else found
        used = pool[found.support]
        promise = np.zeros(VARIABLES)
        while hinge.n_selected > max(1, len(used) - 1 - DEPTH):
            slack = hinge.state.active * (1.0 - hinge.state.margins)
            np.maximum(promise, slack_products(problem, slack) / np.linalg.norm(slack), out=promise)
            drop_cheapest(hinge)
        # Those in use first, in whatever number, then the others by rank.
        promise[used] = np.inf
        pool = np.sort(np.argsort(-promise, kind="stable")[: max(width, len(used))])
        found = found._replace(support=np.searchsorted(pool, used))
    return len(used)


def plain(problem: Problem, width: int) -> int:
    """The number of variables that `auto` finds."""
    return min(
        event.support.size
        for event in run_auto(problem, None, 0, pool=width)
        if isinstance(event, Candidate)
    )


def main() -> None:
    search(*random_problem(64, 1.0, 0), budget=3)  # compiles
    ways: dict[str, tuple[Callable[..., int], tuple[int, ...]]] = {
        **{f"`auto`, pool of {width:,}": (plain, (width,)) for width in WIDTHS},
        **{
            f"pool of {way[0]:,}, {way[2]:,} swaps, rounds: {way[1]}": (renewed, way)
            for way in RENEWED
        },
    }
    sizes: dict[str, list[int]] = {way: [] for way in ways}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        problem = make_problem(
            rng.standard_normal((SAMPLES, VARIABLES), dtype=np.float32),
            rng.choice([-1, 1], SAMPLES),
            False,
        )
        for way, (run, arguments) in ways.items():
            begin = time.process_time()
            sizes[way].append(run(problem, *arguments))
            seconds[way].append(time.process_time() - begin)
            print(seed, way, sizes[way][-1], f"{seconds[way][-1]:.1f}", flush=True)
    lines = [
        f"| noise, {SAMPLES} × {VARIABLES:,}, {len(SEEDS)} tables | variables | mean CPU s |",
        "|---|---|---|",
    ]
    lines += [
        f"| {way} | {', '.join(map(str, sizes[way]))} | {np.mean(seconds[way]):.1f} |"
        for way in ways
    ]
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
