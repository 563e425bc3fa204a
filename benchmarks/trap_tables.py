"""Null tables as instruments and labs spoil them: nothing measured differs between the classes, but what surrounds it does.

Every trap is a function of a seed that gives a data frame with the label `outcome`, and the settings that the message of the test
names. `python benchmarks/trap_tables.py [SETS]` prints what the test does without options, and how often it says STRUCTURE at
level 0.05 with them (99 shuffles).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from chanceline import separation_test
from chanceline.errors import InputError

Trap = tuple[pd.DataFrame, dict[str, Any]]
SAMPLES, FEATURES = 60, 200


def _labels() -> np.ndarray:
    return np.repeat(["case", "control"], SAMPLES // 2)


def sequencing_depth(seed: int) -> Trap:
    """Counts (negative binomial, dispersion 0.4) with 1.6 times as many reads for the cases."""
    rng = np.random.default_rng(seed)
    outcome = _labels()
    depth = np.where(outcome == "case", 1.6, 1.0) * rng.lognormal(0, 0.2, SAMPLES)
    means = (
        depth[:, None]
        * rng.lognormal(3.0, 1.2, FEATURES)
        * rng.gamma(2.5, 0.4, (SAMPLES, FEATURES))
    )
    table = pd.DataFrame(rng.poisson(means), columns=[f"taxon{j}" for j in range(FEATURES)])
    return table.assign(outcome=outcome), {"transform": "clr"}


def detection_limit(seed: int) -> Trap:
    """Skewed values; the cases' runs could not measure below 1, the controls' not below 0.5."""
    rng = np.random.default_rng(seed)
    outcome = _labels()
    values = rng.lognormal(0.5, 1.0, (SAMPLES, FEATURES))
    limits = np.broadcast_to(np.where(outcome == "case", 1.0, 0.5)[:, None], values.shape)
    cells = np.where(
        values < limits, np.char.add("<", limits.astype(str)), np.char.mod("%.4g", values)
    )
    table = pd.DataFrame(cells, columns=[f"protein{j}" for j in range(FEATURES)])
    return table.assign(outcome=outcome), {"below": "half"}


def gaps_by_class(seed: int) -> Trap:
    """Skewed values; in a quarter of the columns 35 % of the cases are missing and 5 % of the controls."""
    rng = np.random.default_rng(seed)
    outcome = _labels()
    values = rng.lognormal(0.0, 1.0, (SAMPLES, FEATURES))
    share = np.where(outcome == "case", 0.35, 0.05)[:, None] * (np.arange(FEATURES) % 4 == 0)
    values[rng.random(values.shape) < share] = np.nan
    table = pd.DataFrame(values, columns=[f"metabolite{j}" for j in range(FEATURES)])
    return table.assign(outcome=outcome), {"missing": "columns"}


def identifier_by_class(seed: int) -> Trap:
    """A barcode that was given out to the cases first."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(SAMPLES, FEATURES)), columns=[f"gene{j}" for j in range(FEATURES)]
    )
    table.insert(0, "barcode", 100_000 + np.cumsum(rng.integers(1, 50, SAMPLES)))
    return table.assign(outcome=_labels()), {}


def date_by_class(seed: int) -> Trap:
    """A day of sampling, as a date or as 20210304 by turns: the cases came first."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(SAMPLES, FEATURES)), columns=[f"gene{j}" for j in range(FEATURES)]
    )
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(
        np.cumsum(rng.integers(0, 4, SAMPLES)), unit="D"
    )
    table.insert(
        0, "sampled", days.strftime("%Y-%m-%d") if seed % 2 else days.strftime("%Y%m%d").astype(int)
    )
    return table.assign(outcome=_labels()), {}


TRAPS: dict[str, Callable[[int], Trap]] = {
    "sequencing depth": sequencing_depth,
    "limits of detection by class": detection_limit,
    "gaps by class": gaps_by_class,
    "identifier sorted by class": identifier_by_class,
    "date": date_by_class,
}


def answer(table: pd.DataFrame, settings: dict[str, Any]) -> str:
    """`stops`, `warns, VERDICT` or `VERDICT`."""
    try:
        result = separation_test(
            table, label="outcome", permutations=99, expected_error=False, budget=0, **settings
        )
    except InputError:
        return "stops"
    warned = any(finding.severity == "warning" for finding in result.findings)
    return f"warns, {result.verdict}" if warned else result.verdict


def main(sets: int) -> None:
    for name, trap in TRAPS.items():
        plain = Counter(answer(trap(seed)[0], {}) for seed in range(sets))
        with_option = Counter(answer(*trap(seed)) for seed in range(sets))
        structure = sum(count for said, count in with_option.items() if "structure" in said)
        print(
            f"{name} | {dict(plain)} | {trap(0)[1]} | {structure / sets:.2f} {dict(with_option)}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
