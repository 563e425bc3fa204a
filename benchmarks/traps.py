"""Null tables that lead a test astray: whether the message names the remedy, what the test says without it, and with it.

`python benchmarks/traps.py [SETS]` (100 by default) goes on where results/trap_outcomes.jsonl ends and writes docs/tables/traps.md. A
trap is a function of a seed: a data frame with the label `outcome` in which nothing measured differs between the classes, and the
remedy that the message names. The search for a separating set makes no swaps (`budget=0`), which only the bound would see. The
second table counts warnings about tables that hide nothing (`clean_tables.py`). The third is the study of a covariate: age drives 60
of 300 features and the label of 120 samples.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clean_tables import KINDS, warned
from trap_tables import TRAPS as OF_INSTRUMENTS, Trap, spring
from trap_traces import TRAPS as WITH_TRACES

from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

TREE = Path(__file__).resolve().parents[1]
STORE = TREE / "results" / "trap_outcomes.jsonl"
FEATURES = 200
CLEAN_SETS = 20  # of each kind


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
    names = [f"P{one:02d}" for one in patient]
    return Trap(table(values, outcome, patient=names), {"groups": "patient"})


def number_subjects(seed: int) -> Trap:
    values, outcome, _ = repeated(seed)
    order = np.argsort(outcome, kind="stable")
    numbers = np.repeat(np.arange(1, 16), 4)
    return Trap(table(values[order], outcome[order], patient_id=numbers), {"groups": "patient_id"})


def equal_rows(seed: int) -> Trap:
    """No column says so; with the option, one was added that does."""
    values, outcome, patient = repeated(seed, noise=0.1)
    return Trap(
        table=table(values, outcome),
        settings={"groups": "subject"},
        named="groups=COLUMN",
        remedied=table(values, outcome, subject=patient.tolist()),
        remark="column added",
    )


def pairs(seed: int) -> Trap:
    """30 subjects before and after, who differ from each other more than before from after."""
    rng = np.random.default_rng([seed, 2])
    subject = np.repeat(np.arange(30), 2)
    values = rng.normal(size=(30, FEATURES))[subject] + 0.3 * rng.normal(size=(60, FEATURES))
    names = [f"S{one}" for one in subject]
    return Trap(table(values, np.tile([1, -1], 30), subject=names), {"pairs": "subject"})


def site(seed: int) -> Trap:
    """Three of four cases come from site A, three of four controls from B; 50 features differ between the sites."""
    rng = np.random.default_rng([seed, 3])
    outcome = np.repeat([1, -1], 40)
    at_a = rng.random(80) < np.where(outcome > 0, 0.75, 0.25)
    values = rng.normal(size=(80, FEATURES))
    values[:, :50] += np.where(at_a, 0.8, -0.8)[:, None]
    return Trap(table(values, outcome, site=np.where(at_a, "A", "B")), {"adjust": "site"})


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
    return Trap(table(values, outcome, age=age.round(1)), {"adjust": "age"})


def quadratic_confounder(seed: int) -> Trap:
    values, outcome, age = covariate(seed, power=2)
    return Trap(table(values, outcome, age=age.round(1)), {"adjust": "age"})


def in_both_classes(seed: int) -> Trap:
    """12 of 60 samples stand in the table again, as the other class."""
    rng = np.random.default_rng([seed, 5])
    values, outcome = rng.normal(size=(60, FEATURES)), rng.permutation(np.repeat([1, -1], 30))
    again = rng.choice(60, 12, replace=False)
    copies = values[again] + 0.05 * rng.normal(size=(12, FEATURES))
    twice = table(np.vstack([values, copies]), np.append(outcome, -outcome[again]))
    return Trap(twice, {}, named="as if samples were in both")


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
    **WITH_TRACES,
}


def one(trap: str, seed: int) -> dict[str, Any]:
    """What the test says of one table without options and with the remedy that its message names."""
    table_and_remedy = TRAPS[trap](seed)
    outcome = spring(table_and_remedy)
    remark = f" ({table_and_remedy.remark})" if table_and_remedy.remark else ""
    return {
        "trap": trap,
        "seed": seed,
        "told": outcome.is_told,
        "plain": outcome.verdict,
        "remedy": f"`{table_and_remedy.option()}`{remark}" if table_and_remedy.settings else "none",
        "with": outcome.verdict_with_remedy,
    }


def row_of_table(trap: str, outcomes: list[dict[str, Any]]) -> str:
    """The line of one trap: how often it is told, and STRUCTURE without and with the remedy."""
    told = np.mean([outcome["told"] for outcome in outcomes])
    stopped = np.mean([outcome["plain"] == "stops" for outcome in outcomes])
    without = np.mean([outcome["plain"] == "structure" for outcome in outcomes])
    remedied = np.mean([outcome["with"] == "structure" for outcome in outcomes])
    before = "stops" if stopped == 1 else f"{without:.2f}"
    return f"| {trap} | {told:.2f} | {before} | {outcomes[0]['remedy']} | {remedied:.2f} |"


def lines_on_clean_tables() -> list[str]:
    """How many tables that hide nothing are warned of, kind by kind."""
    lines = ["", f"{CLEAN_SETS} tables of each kind that hide nothing:", ""]
    lines += ["| table | with a warning |", "|---|---|"]
    n_warned = 0
    for kind in KINDS:
        n_warned_of_kind = sum(warned(kind, seed) != "" for seed in range(CLEAN_SETS))
        lines.append(f"| {kind} | {n_warned_of_kind} |")
        n_warned += n_warned_of_kind
    lines.append(f"| all {CLEAN_SETS * len(KINDS)} | {n_warned} |")
    return lines


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
        "| trap | the message names the remedy | STRUCTURE without it | remedy | STRUCTURE with it |",
        "|---|---|---|---|---|",
    ]
    for trap in TRAPS:
        outcomes = [row for row in rows if row["trap"] == trap and row["seed"] < sets]
        lines.append(row_of_table(trap, outcomes))
    lines += lines_on_clean_tables()
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
