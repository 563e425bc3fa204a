"""greedy-BIHT jitted against its plain NumPy transcription: same starts, same supports, one core.

Run `python benchmarks/biht.py`; `benchmarks/search.py` puts the same line into docs/tables/search.md.
"""

from __future__ import annotations

import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline.select import random_problem  # noqa: E402
from chanceline.select.biht import gaussian_start, greedy_biht, greedy_biht_plain  # noqa: E402

FIRST_SEED = 70_000
PROBLEMS, REPEATS = 5, 5


def compare(n: int = 256, alpha: float = 1.0) -> str:
    """One sentence: iterations, CPU times and their ratios, plain and jitted runs in turn."""
    ratios, fast_times, slow_times, steps, same = [], [], [], 0, 0
    for seed in range(FIRST_SEED, FIRST_SEED + PROBLEMS):
        X, y = random_problem(n, alpha, seed)
        columns = np.ascontiguousarray((X * y[:, None]).T)
        start = gaussian_start(n, seed)
        *_, (fast, _, iterations) = greedy_biht(columns, start)  # compiles, and warms the caches
        begin = time.process_time()
        plain, _ = greedy_biht_plain(columns, start)
        slow_times.append(time.process_time() - begin)
        repeats = []
        for _ in range(REPEATS):
            begin = time.process_time()
            *_, _ = greedy_biht(columns, start)
            repeats.append(time.process_time() - begin)
        fast_times.append(float(np.median(repeats)))
        ratios.append(slow_times[-1] / fast_times[-1])
        steps += iterations
        same += np.array_equal(np.flatnonzero(plain), np.flatnonzero(fast))
    return (
        f"greedy-BIHT at N = {n}, α = {alpha:g} on {PROBLEMS} problems ({steps / PROBLEMS:.0f} iterations each): plain NumPy "
        f"{np.mean(slow_times):.2f} s, jitted {np.mean(fast_times):.3f} s, {min(ratios):.0f} to {max(ratios):.0f} times faster, "
        f"same support in {same} of {PROBLEMS}."
    )


if __name__ == "__main__":
    print(compare())
