"""CPU time of the shuffles beside the matrix products that they cannot avoid.

    python benchmarks/front_test.py FOLDER

The products are Z (samples × columns, normalised) with ten columns for each of 999 labellings, by the same BLAS on one core.
Written to docs/tables/front-test.md.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.significance.config import TestSettings  # noqa: E402
from chanceline.significance.design import make_design  # noqa: E402
from chanceline.significance.path_columns import make_path_columns  # noqa: E402
from chanceline.significance.shuffles import BATCH_SIZE, ShufflePlan, shuffle_paths  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "front-test.md"
TABLES = ("breast_gravier", "cns_pomeroy", "breast_west", "colon_alon")
COLUMNS_PER_DRAW = 10
REPEATS = 3
PERMUTATIONS = 999


def product_seconds(columns: np.ndarray, draws: int) -> float:
    """Zᵀ times ten columns a draw, in batches of the same size as the test's."""
    rows = np.random.default_rng(0).normal(size=(COLUMNS_PER_DRAW * draws, len(columns)))
    out = np.empty((BATCH_SIZE * COLUMNS_PER_DRAW, columns.shape[1]))
    begin = time.process_time()
    for start in range(0, len(rows), len(out)):
        part = rows[start : start + len(out)]
        np.matmul(part, columns, out=out[: len(part)])
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    settings = TestSettings()
    lines = [
        f"CPU seconds on one core, best of {REPEATS}: {PERMUTATIONS} labellings, the front up to {settings.largest}",
        f"features, beside the products of the table with {COLUMNS_PER_DRAW} columns for each labelling.",
        "By `python benchmarks/front_test.py`.",
        "",
        "| table | samples × columns | once for the table | shuffles | products | shuffles/products |",
        "|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        data = load_data(parser.parse_args().folder / f"{name}.csv.gz", "label")
        design = make_design(data.y)
        begin = time.process_time()
        columns = make_path_columns(data.X, design, True)
        once = time.process_time() - begin
        shuffles, products = [], []
        for _ in range(REPEATS):
            begin = time.process_time()
            shuffle_paths(columns, design, ShufflePlan(PERMUTATIONS, seed=0), settings.largest)
            shuffles.append(time.process_time() - begin)
            products.append(product_seconds(columns.normalized, PERMUTATIONS))
        ratio = min(shuffles) / min(products)
        shape = " × ".join(map(str, columns.normalized.shape))
        lines.append(
            f"| {name} | {shape} | {once:.2f} | {min(shuffles):.2f} | {min(products):.2f} | {ratio:.1f} |"
        )
        print(lines[-1], flush=True)
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
