"""Fewest errors on two variables: the exact sweep against enumeration, a published optimum and its own program, and its time.

Run `python benchmarks/plane.py`; the table is written to docs/tables/plane.md. With e01loss and cvxopt installed (He and
Little, arXiv 2306.12344) the table of 704 voices that comes with it is solved by both programs in the same run.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.select.plane import best_split  # noqa: E402

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests" / "select"))
from test_plane import enumerated, table  # noqa: E402

PUBLISHED = 19  # errors of 704, README of XiHegrt/E01Loss


def timed(function, *arguments):
    start = time.process_time()
    return function(*arguments), time.process_time() - start


def main() -> None:
    kinds = ("real", "grid", "decimals")
    equal = sum(
        best_split(X, y, bool(seed % 2)).errors == enumerated(X, y, bool(seed % 2))
        for kind in kinds
        for seed in range(1000, 1100)
        for X, y in [table(seed, kind)]
    )
    rows = [
        (
            "300 tables of 4 to 8 samples, a third on a grid, a third in decimals",
            f"{equal} of 300 equal to enumeration",
            "",
        )
    ]
    if find_spec("e01loss"):
        import e01loss.exact_classify01loss as peer

        data = np.genfromtxt(
            Path(peer.__file__).parent / "test" / "voicepath_data.csv", delimiter=","
        )
        X, y = data[:, :2], np.where(data[:, 2] > 0, 1.0, -1.0)
        split, seconds = timed(best_split, X, y)
        answer, theirs = timed(
            lambda: peer.exact_classify01loss_cell(X, y, display=False, max_margin=True)
        )
        found = f"{split.errors} errors, published {PUBLISHED}, e01loss {int(answer[1])}"
        rows.append(("704 voices of e01loss", found, f"{seconds:.2f} (e01loss {theirs:.1f})"))
    rng = np.random.default_rng(0)
    for samples in (1000, 5000):
        X = rng.normal(size=(samples, 2))
        split, seconds = timed(best_split, X, np.sign(X[:, 0] + rng.normal(size=samples)))
        rows.append(
            (
                f"{samples:,} noisy Gaussian samples",
                f"{split.errors} errors, none fewer than {split.lower_bound}",
                f"{seconds:.2f}",
            )
        )
    lines = [
        "| two variables | errors | CPU s |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    write_text(TREE / "docs" / "tables" / "plane.md", "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
