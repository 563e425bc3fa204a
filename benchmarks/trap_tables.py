"""Null tables as instruments and labs spoil them: nothing measured differs between the classes, but what surrounds it does.

Every trap is a function of a seed that gives a data frame with the label `outcome`, and the settings that the message of the test
names. `python benchmarks/trap_tables.py [SETS]` prints what the test does without options, and how often it says STRUCTURE at
level 0.05 with them (99 shuffles).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from chanceline import separation_test
from chanceline.errors import InputError

SAMPLES, FEATURES = 60, 200


class Trap(NamedTuple):
    """A null table, and the remedy.

    Attributes
    ----------
    table : with the label `outcome`.
    settings : those of the remedy; none where the command takes care without any.
    named : what the message says of the remedy; the settings themselves if empty.
    remedied : the table to test with these settings, if it is another one.
    remark : how that differs.
    """

    table: pd.DataFrame
    settings: dict[str, Any]
    named: str = ""
    remedied: pd.DataFrame | None = None
    remark: str = ""

    def option(self) -> str:
        """The settings in words."""
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())


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
    return Trap(table.assign(outcome=outcome), {"transform": "clr"})


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
    return Trap(table.assign(outcome=outcome), {"below": "half"})


def gaps_by_class(seed: int) -> Trap:
    """Skewed values; in a quarter of the columns 35 % of the cases are missing and 5 % of the controls."""
    rng = np.random.default_rng(seed)
    outcome = _labels()
    values = rng.lognormal(0.0, 1.0, (SAMPLES, FEATURES))
    share = np.where(outcome == "case", 0.35, 0.05)[:, None] * (np.arange(FEATURES) % 4 == 0)
    values[rng.random(values.shape) < share] = np.nan
    table = pd.DataFrame(values, columns=[f"metabolite{j}" for j in range(FEATURES)])
    return Trap(table.assign(outcome=outcome), {"missing": "columns"})


def identifier_by_class(seed: int) -> Trap:
    """A barcode that was given out to the cases first."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(SAMPLES, FEATURES)), columns=[f"gene{j}" for j in range(FEATURES)]
    )
    table.insert(0, "barcode", 100_000 + np.cumsum(rng.integers(1, 50, SAMPLES)))
    return Trap(table.assign(outcome=_labels()), {}, named="left out as identifiers")


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
    return Trap(table.assign(outcome=_labels()), {}, named="left out as")


TRAPS: dict[str, Callable[[int], Trap]] = {
    "sequencing depth": sequencing_depth,
    "limits of detection by class": detection_limit,
    "gaps by class": gaps_by_class,
    "identifier sorted by class": identifier_by_class,
    "date": date_by_class,
}


class Answer(NamedTuple):
    """What the test says of a table."""

    verdict: str  # or `stops`
    warnings: str  # or the sentence with which it stops
    notes: str = ""


def answer(table: pd.DataFrame, settings: dict[str, Any]) -> Answer:
    """The test at level 0.05 with 99 shuffles, and without swaps, which only the bound would see."""
    try:
        result = separation_test(
            table, label="outcome", permutations=99, expected_error=False, budget=0, **settings
        )
    except InputError as error:
        return Answer("stops", str(error))
    return Answer(
        verdict=str(result.verdict),
        warnings=" ".join(result.checks("warning")),
        notes=" ".join(result.checks("note")),
    )


class Outcome(NamedTuple):
    """What became of a trap."""

    verdict: str  # without options
    is_told: bool  # whether the message names the remedy
    verdict_with_remedy: str


def spring(trap: Trap) -> Outcome:
    """Test a trap without options, and with the remedy."""
    plain = answer(trap.table, {})
    table = trap.table if trap.remedied is None else trap.remedied
    remedied = answer(table, trap.settings)
    named = trap.named or trap.option()
    is_told = named in plain.warnings or named in plain.notes
    return Outcome(plain.verdict, is_told, remedied.verdict)


def print_answers(traps: dict[str, Callable[[int], Trap]], sets: int) -> None:
    """A line for every trap."""
    for name, trap in traps.items():
        outcomes = [spring(trap(seed)) for seed in range(sets)]
        told = sum(outcome.is_told for outcome in outcomes)
        without = Counter(outcome.verdict for outcome in outcomes)
        remedied = Counter(outcome.verdict_with_remedy for outcome in outcomes)
        print(
            f"{name} | told {told} | {dict(without)} | {trap(0).option()} | {dict(remedied)}",
            flush=True,
        )


if __name__ == "__main__":
    print_answers(TRAPS, int(sys.argv[1]) if len(sys.argv) > 1 else 20)
