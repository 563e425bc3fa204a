"""The power that `plan --effect` foresees, against the test's decisions on simulated tables.

    python benchmarks/plan_effect.py            what is missing, then docs/tables/plan-effect.md
    python benchmarks/plan_effect.py --table    the table from what is there

Tables have independent Gaussian features. The decision is that of the shuffles alone, with what the proofs leave of the level: no rule
is fitted and nothing is cross-validated. Tables are stored one by one in benchmarks/results/plan_effect.jsonl, so that a run can be
stopped and taken up again; cells that cost more have fewer tables.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from chanceline._io import write_text
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.drawn_statistics import EffectDesign
from chanceline.significance.effect_power import PowerPlan, level_of_shuffles, power_of_effect
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "plan_effect.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "plan-effect.md"
LEVEL = 0.05
# So many labellings, the observed one among them, are just below the level; it takes 404 to 448
# shuffles.
RANK_AT_LEVEL = 20
SEED = 40_000
ROUNDS = 50
MIN_TABLES = 20  # of a cell that is shown


class Cell(NamedTuple):
    """A design and the number of tables that are drawn of it."""

    n_samples: int
    n_features: int
    features_with_effect: int
    balance: float
    effect: float
    tables: int

    @property
    def name(self) -> str:
        return (
            f"{self.n_samples} × {self.n_features}, {self.features_with_effect}, "
            f"balance {self.balance:g}, effect {self.effect:g}"
        )

    @property
    def n_shuffles(self) -> int:
        """The fewest of which a share just below the level is a whole number."""
        return ceil(RANK_AT_LEVEL / level_of_shuffles(self.design, LEVEL)) - 1

    @property
    def design(self) -> EffectDesign:
        return EffectDesign(
            n_samples=self.n_samples,
            positives=round(self.balance * self.n_samples),
            n_features=self.n_features,
            effect=self.effect,
            features_with_effect=self.features_with_effect,
        )


CELLS = (
    Cell(40, 100, 1, 0.5, 1.4, 500),
    Cell(40, 100, 5, 0.2, 1.0, 500),
    Cell(40, 2000, 5, 0.5, 1.1, 500),
    Cell(40, 2000, 1, 0.2, 2.4, 500),
    Cell(100, 100, 5, 0.5, 0.5, 500),
    Cell(100, 2000, 1, 0.5, 1.1, 500),
    Cell(100, 2000, 5, 0.2, 0.9, 500),
    Cell(200, 500, 1, 0.2, 0.8, 500),
    Cell(200, 500, 5, 0.5, 0.4, 500),
    Cell(400, 100, 1, 0.5, 0.4, 500),
    Cell(400, 2000, 5, 0.2, 0.45, 300),
    Cell(100, 20000, 1, 0.5, 1.25, 50),
    Cell(400, 20000, 5, 0.5, 0.45, 30),
)


def read_store() -> dict[str, list[float]]:
    """Of every cell the p-values of its tables."""
    pvalues: dict[str, list[float]] = {}
    if STORE.exists():
        for line in STORE.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            pvalues.setdefault(row["cell"], []).append(row["p"])
    return pvalues


def shuffled_pvalue(design: EffectDesign, n_shuffles: int, seed: int) -> float:
    """The p-value of the shuffles on one table of a design."""
    rng = np.random.default_rng([SEED, seed])
    y = np.where(np.arange(design.n_samples) < design.positives, 1.0, -1.0)
    X = rng.standard_normal((design.n_samples, design.n_features))
    X[:, : design.features_with_effect] += np.outer(
        y > 0, np.full(design.features_with_effect, design.effect)
    )
    null_design = make_design(y, DeclaredRoles(), X=X)
    columns = make_path_columns(X, null_design, intercept=True)
    plan = ShufflePlan(n_shuffles=n_shuffles, seed=seed)
    n_steps = min(TestSettings().largest, design.n_features)
    losses, _ = shuffle_paths(columns, null_design, plan, n_steps)
    return losses.permutation_reading().pvalue


def fill(share: float) -> None:
    """Run what is missing of a share of all tables, a fiftieth of every cell at a time."""
    STORE.parent.mkdir(exist_ok=True)
    n_there = {name: len(pvalues) for name, pvalues in read_store().items()}
    for part in range(1, round(ROUNDS * share) + 1):
        for cell in CELLS:
            first = n_there.get(cell.name, 0)
            wanted = round(cell.tables * part / ROUNDS)
            for number in range(first, wanted):
                row = {
                    "cell": cell.name,
                    "p": shuffled_pvalue(cell.design, cell.n_shuffles, number),
                }
                with STORE.open("a", encoding="utf-8") as store:
                    store.write(json.dumps(row) + "\n")
            n_there[cell.name] = max(first, wanted)


def foreseen(cell: Cell) -> PowerPlan:
    return power_of_effect(
        cell.n_samples,
        cell.n_features,
        cell.effect,
        features_with_effect=cell.features_with_effect,
        balance=cell.balance,
        level=LEVEL,
    )


def write_table() -> None:
    lines = [
        f"By `python benchmarks/plan_effect.py`: level {LEVEL:g}, 404 to 448 shuffles, in hundredths, ± standard errors of the draws.",
        "",
        "| samples × features | with effect | balance | effect | foreseen | simulated | difference | tables |",
        "|---|---|---|---|---|---|---|---|",
    ]
    there = read_store()
    for cell in CELLS:
        pvalues = np.array(there.get(cell.name, []))
        if len(pvalues) < MIN_TABLES:
            continue
        plan = foreseen(cell)
        left = level_of_shuffles(cell.design, LEVEL)
        share = float(np.mean(pvalues <= left))
        error = float(np.sqrt(share * (1 - share) / len(pvalues)))
        difference = plan.power - share
        both_errors = float(np.hypot(plan.error, error))
        lines.append(
            f"| {cell.n_samples} × {cell.n_features} | {cell.features_with_effect} | {cell.balance:g} | {cell.effect:g} "
            f"| {100 * plan.power:.1f} ± {100 * plan.error:.1f} | {100 * share:.1f} ± {100 * error:.1f} "
            f"| {100 * difference:+.1f} ± {100 * both_errors:.1f} | {len(pvalues)} |"
        )
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of all tables")
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args()
    if not options.table:
        fill(options.share)
    write_table()


if __name__ == "__main__":
    main()
