"""Noise with unequal classes: what the sweep `classes` found against `chance_size` and the exact first moment.

The rules are those of docs/chance-line.md, written before the run. Reads docs/tables/classes.csv (or a CSV made by
`chanceline sweep export`) and writes docs/tables/classes.md:

    python benchmarks/classes.py [FILE]
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import chanceline
from chanceline._io import write_text
from chanceline.chance.gaussian_cones import log_expected_supports

TABLE = Path(__file__).resolve().parent.parent / "docs" / "tables" / "classes.md"


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def search_rows(data: pd.DataFrame) -> list[str]:
    """Rule 1: mean K − ½ against `typical`, within two standard errors and five per cent."""
    rows = [
        "| N = P | balance | mean K − ½ | `typical` | apart | allowed | balanced line, Nρ |",
        "|---|---|---|---|---|---|---|",
    ]
    for (n, balance), group in data.groupby(["n", "balance"]):
        mean, error = mean_and_error(group["n_selected"].to_numpy(float))
        samples, positives = int(group["n_patterns"].iloc[0]), int(group["positives"].iloc[0])
        typical = chanceline.chance_size(samples, int(n), positives=positives).typical
        apart, allowed = mean - 0.5 - typical, 2 * error + 0.05 * typical
        line = n * chanceline.density(samples / n).rho
        found = f"{mean - 0.5:.2f} ± {error:.2f}"
        rows.append(
            f"| {n:.0f} | {balance:g} | {found} | {typical:.2f} | {apart:+.2f} | {allowed:.2f} | {line:.1f} |"
        )
    return rows


def error_rows(data: pd.DataFrame) -> list[str]:
    """Rule 2: fewest errors at each K against the smallest e with `typical` at most K, within 2 s.e. and one error."""
    found = np.array(
        [json.loads(text) if isinstance(text, str) else text for text in data["errors"]],
        dtype=float,
    )
    n, samples, positives = (int(data[name].iloc[0]) for name in ("n", "n_patterns", "positives"))
    rows = ["| K | fewest errors found | predicted | apart | allowed |", "|---|---|---|---|---|"]
    sizes: list[float] = []
    while not sizes or sizes[-1] > 1:
        sizes.append(
            chanceline.chance_size(samples, n, positives=positives, errors=len(sizes)).typical
        )
    for k in range(1, found.shape[1] + 1):
        mean, error = mean_and_error(found[:, k - 1])
        predicted = next(e for e, size in enumerate(sizes) if size <= k)
        rows.append(
            f"| {k} | {mean:.2f} ± {error:.2f} | {predicted} | {mean - predicted:+.2f} | {2 * error + 1:.2f} |"
        )
    return rows


def count_rows(data: pd.DataFrame) -> list[str]:
    """Rule 3: the mean exact count against the exact first moment, within three standard errors."""
    rows = [
        "| balance | mean exact count | exact first moment | apart, in standard errors |",
        "|---|---|---|---|",
    ]
    for balance, group in data.groupby("balance"):
        mean, error = mean_and_error(group["count"].to_numpy(float))
        n, alpha, selected, positives = (
            group[name].iloc[0] for name in ("n", "alpha", "selected", "positives")
        )
        expected = math.exp(
            log_expected_supports(round(alpha * n), int(n), int(positives), int(selected), 0)
        )
        rows.append(
            f"| {balance:g} | {mean:.2f} ± {error:.2f} | {expected:.2f} | {(mean - expected) / error:+.1f} |"
        )
    return rows


def main() -> None:
    data = pd.read_csv(sys.argv[1] if len(sys.argv) > 1 else TABLE.with_suffix(".csv"))
    parts = [
        ("Search, smallest support:", search_rows(data[data["kind"].str.endswith(":smallest")])),
        (
            "Fewest errors, N = P = 60, equal classes:",
            error_rows(data[data["kind"].str.endswith(":fewest_errors")]),
        ),
        (
            "Exact counts, N = 12, P = 18, four variables:",
            count_rows(data[data["kind"].str.endswith(":count")]),
        ),
    ]
    text = "\n\n".join(f"{title}\n\n" + "\n".join(rows) for title, rows in parts)
    write_text(TABLE, text + "\n\nMade by `python benchmarks/classes.py`.\n")
    print(text)


if __name__ == "__main__":
    main()
