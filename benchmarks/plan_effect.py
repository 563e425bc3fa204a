"""The power that `plan --effect` foresees, against the test's decisions on simulated tables.

    python benchmarks/plan_effect.py            what is missing, then docs/tables/plan-effect.md
    python benchmarks/plan_effect.py --table    the table from what is there
    python benchmarks/plan_effect.py --cell 3 --tables 5000 --shuffled 1500    one cell on fresh tables: its row, printed

Tables have independent Gaussian features. The decision is that of the shuffles alone, with what the proofs leave of the level: no rule
is fitted and nothing is cross-validated. Two things make a table cheap:

* Shuffles end as soon as they leave hardly any doubt about the decision.
* Most tables are not shuffled. They are compared with draws of pure noise instead, the same for all tables of a cell, which decides
  alike in nine tables of ten. The power is the share seen in this way among all tables, and how much more (or less) often the shuffles
  see the effect in the tables that have both decisions: a control variate. It does not matter how good the draws are.

Tables are stored one by one in benchmarks/results/plan_effect_tables.jsonl, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from chanceline._arrays import Floats
from chanceline._io import write_text
from chanceline.significance.combination import combine_losses
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.drawn_statistics import (
    EffectDesign,
    draw_member_losses,
    make_ridge_model,
)
from chanceline.significance.effect_power import (
    PowerPlan,
    level_of_shuffles,
    permutation_pvalues,
    power_of_effect,
)
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import BATCH_SIZE, labelling

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "plan_effect_tables.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "plan-effect.md"
LEVEL = 0.05
# So many labellings, the observed one among them, are just below the level; it takes 404 to 448
# shuffles.
RANK_AT_LEVEL = 20
# Shuffles end where so few or so many of them do as well as the labels that, were the p-value at the
# level, this would happen with no larger probability.
DOUBT = 0.002
SEED = 40_000
NOISE_SEED = 2
NOISE_DRAWS = 6000
N_STEPS = TestSettings().largest
ROUNDS = 50
MIN_TABLES = 20  # of a cell that is shown
# The number of the first table of a fresh row, far above those of the stored ones.
FIRST_FRESH_TABLE = 1_000_000
TABLES_AT_ONCE = 100


class Cell(NamedTuple):
    """A design, the number of tables that are drawn of it, and how many of these are shuffled."""

    n_samples: int
    n_features: int
    features_with_effect: int
    balance: float
    effect: float
    tables: int
    shuffled: int

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
    Cell(40, 100, 1, 0.5, 1.4, 5000, 530),
    Cell(40, 100, 5, 0.2, 1.0, 5000, 660),
    Cell(40, 2000, 5, 0.5, 1.1, 5000, 700),
    Cell(40, 2000, 1, 0.2, 2.4, 5000, 560),
    Cell(100, 100, 5, 0.5, 0.5, 5000, 640),
    Cell(100, 2000, 1, 0.5, 1.1, 4000, 560),
    Cell(100, 2000, 5, 0.2, 0.9, 4000, 560),
    Cell(200, 500, 1, 0.2, 0.8, 4000, 660),
    Cell(200, 500, 5, 0.5, 0.4, 4000, 680),
    Cell(400, 100, 1, 0.5, 0.4, 4000, 620),
    Cell(400, 2000, 5, 0.2, 0.45, 2000, 460),
    Cell(100, 20000, 1, 0.5, 1.25, 1200, 500),
)


def read_store() -> dict[str, list[dict[str, Any]]]:
    """The tables of every cell, in their order."""
    rows: dict[str, list[dict[str, Any]]] = {}
    if STORE.exists():
        for line in STORE.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.setdefault(row["cell"], []).append(row)
    return rows


def draw_table(design: EffectDesign, seed: int) -> tuple[Floats, Floats]:
    """A table of a design, (samples, features), and its labels ±1, (samples,)."""
    rng = np.random.default_rng([SEED, seed])
    y = np.where(np.arange(design.n_samples) < design.positives, 1.0, -1.0)
    X = rng.standard_normal((design.n_samples, design.n_features))
    X[:, : design.features_with_effect] += np.outer(
        y > 0, np.full(design.features_with_effect, design.effect)
    )
    return X, y


class Decision(NamedTuple):
    """Whether the shuffles see the effect in a table, and how many of them said so."""

    seen: bool
    shuffles: int


def decide(design: EffectDesign, n_shuffles: int, seed: int) -> Decision:
    """Shuffle one table of a design until its p-value is no larger than the level, or is not.

    Parameters
    ----------
    design : of the table.
    n_shuffles : at most.
    seed : of the table and of the shuffles.
    """
    X, y = draw_table(design, seed)
    null_design = make_design(y, DeclaredRoles(), X=X)
    columns = make_path_columns(X, null_design, intercept=True)
    level = level_of_shuffles(design, LEVEL)
    batches = []
    for start in range(0, 1 + n_shuffles, BATCH_SIZE):
        numbers = range(start, min(start + BATCH_SIZE, 1 + n_shuffles))
        labels = np.array([labelling(null_design, seed, number) for number in numbers])
        batches.append(follow_paths(columns, labels, N_STEPS, with_errors=False).member_losses)
        as_good = combine_losses(join_labellings(batches)).as_good
        n_done = len(as_good) - 1  # the labels themselves are the first
        n_as_good = np.count_nonzero(as_good) - 1
        if binom.cdf(n_as_good, n_done, level) <= DOUBT:
            return Decision(seen=True, shuffles=n_done)
        if binom.sf(n_as_good - 1, n_done, level) <= DOUBT:
            return Decision(seen=False, shuffles=n_done)
    return Decision(seen=bool(as_good.mean() <= level), shuffles=n_done)


@cache
def draws_of_noise(design: EffectDesign) -> MemberArrays:
    """The losses of tables of pure noise, the same ones whenever they are asked for."""
    rng = np.random.default_rng(NOISE_SEED)
    ridge_model = make_ridge_model(design.n_dimensions, design.n_features, rng)
    return draw_member_losses(
        design.without_effect(), ridge_model, NOISE_DRAWS, n_steps=N_STEPS, rng=rng
    )


def seen_beside_noise(design: EffectDesign, numbers: Sequence[int]) -> list[bool]:
    """Whether the effect is seen in each of some tables, beside draws of noise instead of shuffles.

    The list of correlated pairs, which takes longest in wide tables, is left out.
    """
    losses = []
    for number in numbers:
        X, y = draw_table(design, number)
        columns = make_path_columns(
            X,
            make_design(y, DeclaredRoles(), X=X),
            intercept=True,
            features=np.arange(design.n_features),
            max_columns_for_pairs=0,
        )
        losses.append(follow_paths(columns, y[None], N_STEPS, with_errors=False).member_losses)
    pvalues = permutation_pvalues(join_labellings(losses), draws_of_noise(design))
    return (pvalues <= level_of_shuffles(design, LEVEL)).tolist()


def run_tables(cell: Cell, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What is stored of some tables of a cell."""
    beside_noise = seen_beside_noise(cell.design, numbers)
    for number, seen in zip(numbers, beside_noise, strict=True):
        row: dict[str, Any] = {"cell": cell.name, "beside_noise": seen}
        if number < cell.shuffled:
            row.update(decide(cell.design, cell.n_shuffles, number)._asdict())
        yield row


def fill(share: float) -> None:
    """Run what is missing of a share of all tables, a fiftieth of every cell at a time."""
    STORE.parent.mkdir(exist_ok=True)
    n_there = {name: len(rows) for name, rows in read_store().items()}
    for part in range(1, round(ROUNDS * share) + 1):
        for cell in CELLS:
            first = n_there.get(cell.name, 0)
            wanted = round(cell.tables * part / ROUNDS)
            if wanted <= first:
                continue
            for row in run_tables(cell, range(first, wanted)):
                with STORE.open("a", encoding="utf-8") as store:
                    store.write(json.dumps(row) + "\n")
            n_there[cell.name] = wanted


class Share(NamedTuple):
    """A share of tables, and its standard error."""

    value: float
    error: float


def share_seen(rows: list[dict[str, Any]]) -> Share:
    """How often the shuffles see the effect, from all tables and those that are shuffled."""
    beside_noise = np.array([float(row["beside_noise"]) for row in rows])
    differences = np.array(
        [float(row["seen"]) - float(row["beside_noise"]) for row in rows if "seen" in row]
    )
    value = beside_noise.mean() + differences.mean()
    variance = beside_noise.var() / len(beside_noise) + differences.var() / len(differences)
    return Share(float(value), float(np.sqrt(variance)))


def foreseen(cell: Cell) -> PowerPlan:
    return power_of_effect(
        cell.n_samples,
        cell.n_features,
        cell.effect,
        features_with_effect=cell.features_with_effect,
        balance=cell.balance,
        level=LEVEL,
    )


def row_of_table(cell: Cell, plan: PowerPlan, rows: list[dict[str, Any]]) -> str:
    """What is foreseen of a cell beside what its tables show."""
    n_shuffled = sum("seen" in row for row in rows)
    simulated = share_seen(rows)
    difference = plan.power - simulated.value
    both_errors = float(np.hypot(plan.error, simulated.error))
    return (
        f"| {cell.n_samples} × {cell.n_features} | {cell.features_with_effect} | {cell.balance:g} | {cell.effect:g} "
        f"| {100 * plan.power:.1f} ± {100 * plan.error:.1f} | {100 * simulated.value:.1f} ± {100 * simulated.error:.1f} "
        f"| {100 * difference:+.1f} ± {100 * both_errors:.1f} | {len(rows)} ({n_shuffled}) |"
    )


def print_fresh_row(cell: Cell, n_tables: int, n_shuffled: int) -> None:
    """A row from tables that no other run has drawn; it is not stored."""
    fresh = cell._replace(shuffled=FIRST_FRESH_TABLE + n_shuffled)
    rows: list[dict[str, Any]] = []
    for start in range(0, n_tables, TABLES_AT_ONCE):
        stop = min(start + TABLES_AT_ONCE, n_tables)
        rows += run_tables(fresh, range(FIRST_FRESH_TABLE + start, FIRST_FRESH_TABLE + stop))
    print(row_of_table(cell, foreseen(cell), rows))


def write_table() -> None:
    lines = [
        f"By `python benchmarks/plan_effect.py`: level {LEVEL:g}, at most 404 to 448 shuffles, in hundredths, ± standard errors of the draws.",
        "",
        "| samples × features | with effect | balance | effect | foreseen | simulated | difference | tables (shuffled) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    there = read_store()
    for cell in CELLS:
        rows = there.get(cell.name, [])
        if sum("seen" in row for row in rows) >= MIN_TABLES:
            lines.append(row_of_table(cell, foreseen(cell), rows))
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of all tables")
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--cell", type=int, help="the number of one cell, from 0; fresh tables")
    parser.add_argument("--tables", type=int, default=5000, help="of the cell")
    parser.add_argument("--shuffled", type=int, default=1500, help="of these tables")
    options = parser.parse_args()
    if options.cell is not None:
        print_fresh_row(CELLS[options.cell], options.tables, options.shuffled)
        return
    if not options.table:
        fill(options.share)
    write_table()


if __name__ == "__main__":
    main()
