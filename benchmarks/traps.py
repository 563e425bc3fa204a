"""Thirteen null tables that lead a test astray: what the command does without options, and with the option that it names.

`python benchmarks/traps.py [SETS]` (100 by default) goes on where results/traps.jsonl ends and writes docs/tables/traps.md. A
trap is a function of a seed: a data frame with the label `outcome` in which nothing measured differs between the classes, and the
settings that the message names. The search for a separating set makes no swaps (`budget=0`), which only the bound would see. The
second table is the study of a covariate: age drives 60 of 300 features and the label of 120 samples.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from trap_tables import TRAPS as OF_INSTRUMENTS, Trap, answer

from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

TREE = Path(__file__).resolve().parents[1]
STORE = TREE / "results" / "traps.jsonl"
FEATURES = 200


def table(values: np.ndarray, outcome: np.ndarray, **columns: Any) -> pd.DataFrame:
    names = [f"gene{j}" for j in range(values.shape[1])]
    return pd.DataFrame(values, columns=names).assign(
        outcome=np.where(outcome > 0, "case", "control"), **columns
    )


def repeated(seed: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """15 patients with 4 rows each: values that belong to the patient, and `noise` of every row."""
    rng = np.random.default_rng([seed, 1])
    patient = np.repeat(np.arange(15), 4)
    values = rng.normal(size=(15, FEATURES))[patient] + noise * rng.normal(size=(60, FEATURES))
    return values, rng.permutation(np.repeat([1, -1], [7, 8]))[patient], patient


def text_subjects(seed: int) -> Trap:
    values, outcome, patient = repeated(seed)
    return table(values, outcome, patient=[f"P{one:02d}" for one in patient]), {"groups": "patient"}


def number_subjects(seed: int) -> Trap:
    values, outcome, _ = repeated(seed)
    order = np.argsort(outcome, kind="stable")
    return table(values[order], outcome[order], patient_id=np.repeat(np.arange(1, 16), 4)), {
        "groups": "patient_id"
    }


def equal_rows(seed: int) -> Trap:
    """No column says so; with the option, one was added that does."""
    values, outcome, patient = repeated(seed, noise=0.1)
    return table(values, outcome), {"groups": "subject", "added": {"subject": patient.tolist()}}


def pairs(seed: int) -> Trap:
    """30 subjects before and after, who differ from each other more than before from after."""
    rng = np.random.default_rng([seed, 2])
    subject = np.repeat(np.arange(30), 2)
    values = rng.normal(size=(30, FEATURES))[subject] + 0.3 * rng.normal(size=(60, FEATURES))
    return table(values, np.tile([1, -1], 30), subject=[f"S{one}" for one in subject]), {
        "pairs": "subject"
    }


def site(seed: int) -> Trap:
    """Three of four cases come from site A, three of four controls from B; 50 features differ between the sites."""
    rng = np.random.default_rng([seed, 3])
    outcome = np.repeat([1, -1], 40)
    at_a = rng.random(80) < np.where(outcome > 0, 0.75, 0.25)
    values = rng.normal(size=(80, FEATURES))
    values[:, :50] += np.where(at_a, 0.8, -0.8)[:, None]
    return table(values, outcome, site=np.where(at_a, "A", "B")), {"adjust": "site"}


def covariate(
    seed: int, power: int = 1, signal: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Age (or its square) drives 60 of 300 features and the label of 120 samples; `signal`: three other features do too."""
    rng = np.random.default_rng([seed, 4])
    age = rng.normal(size=120)
    driver = age if power == 1 else (age**2 - 1) / np.sqrt(2)
    values = rng.normal(size=(120, 300))
    values[:, :60] += 0.75 * driver[:, None]
    odds = 1.2 * driver + signal * values[:, 100:103].sum(axis=1)
    return values, np.where(rng.random(120) < 1 / (1 + np.exp(-odds)), 1, -1), 55 + 12 * age


def linear_confounder(seed: int) -> Trap:
    values, outcome, age = covariate(seed)
    return table(values, outcome, age=age.round(1)), {"adjust": "age"}


def quadratic_confounder(seed: int) -> Trap:
    values, outcome, age = covariate(seed, power=2)
    return table(values, outcome, age=age.round(1)), {"adjust": "age"}


def in_both_classes(seed: int) -> Trap:
    """12 of 60 samples stand in the table again, as the other class."""
    rng = np.random.default_rng([seed, 5])
    values, outcome = rng.normal(size=(60, FEATURES)), rng.permutation(np.repeat([1, -1], 30))
    again = rng.choice(60, 12, replace=False)
    copies = values[again] + 0.05 * rng.normal(size=(12, FEATURES))
    return table(np.vstack([values, copies]), np.append(outcome, -outcome[again])), {}


TRAPS = {
    "repeated subjects, text": text_subjects,
    "repeated subjects, numbers": number_subjects,
    "repeated subjects, no column": equal_rows,
    "pairs as independent rows": pairs,
    "site goes with the label": site,
    "age goes with the label": linear_confounder,
    "age² goes with the label": quadratic_confounder,
    **OF_INSTRUMENTS,
    "samples in both classes": in_both_classes,
}


def one(trap: str, seed: int) -> dict[str, Any]:
    """What the test says of one table without options and with those that its message names."""
    data, settings = TRAPS[trap](seed)
    added = settings.pop("added", {})
    named = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return {
        "trap": trap,
        "seed": seed,
        "plain": answer(data, {}),
        "option": named + (" (column added)" if added else ""),
        "with": answer(data.assign(**added), settings),
    }


def rate(sets: int, *, adjusted: bool, permutations: int = 199, **design: Any) -> float:
    """Share of p-values ≤ 0.05 of the shuffles."""
    hits = 0
    for seed in range(sets):
        X, y, age = covariate(seed, **design)
        declared = DeclaredRoles(covariates={"age": age} if adjusted else None)
        null_design = make_design(y.astype(float), declared, X=X)
        columns = make_path_columns(X, null_design, True)
        draws, _ = shuffle_paths(columns, null_design, ShufflePlan(permutations, seed), 6)
        hits += draws.permutation_reading().pvalue <= 0.05
    return hits / sets


def main(sets: int) -> None:
    STORE.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {(row["trap"], row["seed"]) for row in rows}
    with STORE.open("a") as store:
        for seed in range(sets):
            for trap in TRAPS:
                if (trap, seed) not in done:
                    rows.append(one(trap, seed))
                    store.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
                    store.flush()
    lines = [
        f"{sets} null tables of each kind, 99 shuffles, level 0.05.",
        "",
        "| trap | without options | the option it names | STRUCTURE with it |",
        "|---|---|---|---|",
    ]
    for trap in TRAPS:
        mine = [row for row in rows if row["trap"] == trap and row["seed"] < sets]
        plain = ", ".join(
            f"{said} ({count})"
            for said, count in Counter(row["plain"] for row in mine).most_common()
        )
        structure = np.mean(["structure" in row["with"] for row in mine])
        option = f"`{mine[0]['option']}`" if mine[0]["option"] else "none"
        lines.append(f"| {trap} | {plain} | {option} | {structure:.2f} |")
    lines += [
        "",
        f"Age drives 60 of 300 features and the label of 120 samples ({sets} sets, 199 shuffles, share of p ≤ 0.05):",
        "",
        '| | ignored | `adjust="age"` |',
        "|---|---|---|",
    ]
    designs = {
        "null, label follows age": {},
        "null, label follows age²": {"power": 2},
        "three other features matter": {"signal": 1.2},
    }
    for name, design in designs.items():
        lines.append(
            f"| {name} | {rate(sets, adjusted=False, **design):.2f} | {rate(sets, adjusted=True, **design):.2f} |"
        )
    (TREE / "docs" / "tables" / "traps.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
