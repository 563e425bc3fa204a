"""Does the interval of `confirm` contain the true error of a rule that was fixed beforehand? Are its p-values uniform?

    python benchmarks/confirm.py --data FOLDER               the splits that are not there yet, then docs/tables/confirm.md
    python benchmarks/confirm.py --data FOLDER --splits 20   fewer splits of each table
    python benchmarks/confirm.py                             the table from what is there

A rule is made from a random half of a table. The other half stands for the population: its error and its area under the curve by
that rule are the truth, and new samples are drawn from it with replacement, as many as it has. Under the null hypothesis the labels
of the other half are shuffled. FOLDER holds the tables as .csv.gz, the label in the last column. Splits are stored one by one in
benchmarks/results/confirm.jsonl, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from chanceline._io import write_text
from chanceline.cohort.concordance import concordance_test
from chanceline.cohort.confirmation import (
    ConfirmationUnits,
    error_interval,
    make_units,
    one_class_pvalue,
)
from chanceline.cohort.units import moved_columns, units_findings
from chanceline.prediction.area import area_interval
from chanceline.prediction.metrics import area_under_curve
from chanceline.prediction.rule import PredictionRule, fit_rule
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.rule_inputs import ranges_of
from chanceline.tables.load import load_data

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / "benchmarks" / "results" / "confirm.jsonl"
TABLE = ROOT / "docs" / "tables" / "confirm.md"
TABLES = ("colon_alon", "dlbcl_shipp", "breast_gravier", "sonar", "wdbc")
SEED = 42_000
SPLITS = 200
COHORTS = 20  # further cohorts drawn in every split, for a closer look at the coverage

Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Half:
    """The half of a table that the rule did not see: values, labels ±1, scores by the rule."""

    X: Floats
    y: Floats
    scores: Floats

    @property
    def positive(self) -> NDArray[np.bool_]:
        return self.y > 0

    @property
    def error(self) -> float:
        return float(np.mean((self.scores > 0) != self.positive))

    @property
    def area(self) -> float:
        return area_under_curve(self.scores, self.positive)

    def drawn(self, rng: Rng) -> Half:
        """As many samples drawn with replacement, of both classes."""
        while True:
            rows = rng.integers(len(self.y), size=len(self.y))
            if len(np.unique(self.y[rows])) == 2:
                return Half(self.X[rows], self.y[rows], self.scores[rows])

    def shuffled(self, rng: Rng) -> Half:
        """The same samples, their labels dealt anew."""
        return Half(self.X, rng.permutation(self.y), self.scores)

    def units(self) -> ConfirmationUnits:
        return make_units(self.scores, self.y, DeclaredRoles())


@dataclass(frozen=True)
class Split:
    """What one split of one table showed.

    `covered` and `area_covered` are for the first cohort, `shares` the same over further ones; `rank_p` and `class_p` are p-values
    under shuffled labels; `moved` says whether a column was taken for one of other units; `ranks` whether the rule has features, without
    which all samples are equal.
    """

    error: float
    length: float
    covered: bool
    area_covered: bool
    share: float
    area_share: float
    rank_p: float
    class_p: float
    moved: bool
    ranks: bool


def covers(interval: tuple[float, float], truth: float) -> bool:
    """Whether the truth lies in the interval, a rounding of it apart."""
    low, high = interval
    return low - 1e-12 <= truth <= high + 1e-12


def error_covered(cohort: Half, truth: float) -> bool:
    return covers(error_interval(cohort.units()), truth)


def area_covered(cohort: Half, truth: float) -> bool:
    n_positive = int(cohort.positive.sum())
    interval = area_interval(cohort.area, n_positive, len(cohort.y) - n_positive)
    return covers(interval, truth)


def looks_moved(rule: PredictionRule, training: Floats, other: Floats) -> bool:
    """Whether the other half seems to have other units in some column of the rule."""
    if len(rule.support) == 0:
        return False
    names = [str(column) for column in rule.support]
    tested = dict(zip(names, ranges_of(training[:, rule.support]), strict=True))
    moved = moved_columns(other[:, rule.support], names, tested)
    return bool(units_findings(moved, len(names)))


def run_split(X: Floats, y: Floats, rng: Rng) -> Split:
    """Make a rule from a half that has both classes, and confirm it on the other."""
    while True:
        in_training = rng.permutation(len(y)) < len(y) // 2
        if all(len(np.unique(y[rows])) == 2 for rows in (in_training, ~in_training)):
            break
    rule = fit_rule(X[in_training], y[in_training])
    other = Half(X[~in_training], y[~in_training], rule.scores(X[~in_training]))
    first = other.drawn(rng)
    cohorts = [other.drawn(rng) for _ in range(COHORTS)]
    chance = other.shuffled(rng)
    units = chance.units()
    low, high = error_interval(first.units())
    return Split(
        error=other.error,
        length=high - low,
        covered=error_covered(first, other.error),
        area_covered=area_covered(first, other.area),
        share=float(np.mean([error_covered(cohort, other.error) for cohort in cohorts])),
        area_share=float(np.mean([area_covered(cohort, other.area) for cohort in cohorts])),
        rank_p=concordance_test(units.scores, units.positive, units.block_of_unit).pvalue,
        class_p=one_class_pvalue(units),
        moved=looks_moved(rule, X[in_training], X[~in_training]),
        ranks=len(rule.support) > 0,
    )


def stored() -> dict[str, dict[int, Split]]:
    """The splits that were run: table → number → what it showed."""
    found: dict[str, dict[int, Split]] = {name: {} for name in TABLES}
    if STORE.exists():
        for line in STORE.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            found[record["table"]][record["number"]] = Split(**record["split"])
    return found


def run_missing(folder: Path, n_splits: int) -> None:
    """Run the splits that are not stored yet, the same number of every table in turn."""
    done = stored()
    datasets = {
        name: load_data(folder / f"{name}.csv.gz", "-1") for name in TABLES
    }  # the label is the last column
    STORE.parent.mkdir(exist_ok=True)
    for number in range(n_splits):
        for position, name in enumerate(TABLES):
            if number in done[name]:
                continue
            rng = np.random.default_rng([SEED, position, number])
            split = run_split(datasets[name].X, datasets[name].y, rng)
            record = {"table": name, "number": number, "split": asdict(split)}
            with STORE.open("a", encoding="utf-8") as store:
                store.write(json.dumps(record) + "\n")


def complete_splits() -> dict[str, list[Split]]:
    """The splits that every table has."""
    done = stored()
    n_splits = min(len(splits) for splits in done.values())
    return {name: [done[name][number] for number in range(n_splits)] for name in TABLES}


def table_row(name: str, splits: list[Split]) -> str:
    """One line of the table."""
    rank_p = np.array([split.rank_p for split in splits if split.ranks])
    class_p = np.array([split.class_p for split in splits])
    cells = [
        name,
        f"{np.mean([split.error for split in splits]):.3f}",
        f"{np.mean([split.length for split in splits]):.2f}",
        f"{sum(split.covered for split in splits)} of {len(splits)}",
        f"{100 * np.mean([split.share for split in splits]):.1f}",
        f"{sum(split.area_covered for split in splits)} of {len(splits)}",
        f"{100 * np.mean([split.area_share for split in splits]):.1f}",
        f"{np.sum(rank_p <= 0.05)}, {np.sum(rank_p <= 0.1)}, {np.sum(rank_p <= 0.5)} of {len(rank_p)}",
        f"{kstest(rank_p, 'uniform').pvalue:.2f}",
        f"{np.sum(class_p <= 0.05)}",
        f"{sum(split.moved for split in splits)}",
    ]
    return f"| {' | '.join(cells)} |"


def page(results: dict[str, list[Split]]) -> str:
    """The table with its heading."""
    n_splits = len(next(iter(results.values())))
    lines = [
        "A rule from a random half of a table, confirmed on samples drawn with replacement from the other half, whose error and area",
        f"under the curve (AUC) by this rule are the truth; {n_splits} splits of each table, by `python benchmarks/confirm.py --data FOLDER`. Splits in which the",
        f"exact 95 % interval of the error contains the true one, and per cent of {COHORTS} further cohorts in every split; the same for the",
        "interval of the AUC, which is an approximation. With shuffled labels: of the splits in which the rule has features, those in which",
        "the p-value of the exact rank test is at most 0.05, 0.1 and 0.5, and Kolmogorov and Smirnov's p-value that it is uniform (without",
        "features all samples are equal, and p = 1); splits in which the rule would be said to err less often",
        "than naming one class; and splits in which a column was taken for one of other units.",
        "",
        "| table | true error | length | covered | % | AUC covered | % | p ≤ 0.05, 0.1, 0.5 | uniform | one class | other units |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines += [table_row(name, splits) for name, splits in results.items()]
    everything = [split for splits in results.values() for split in splits]
    lines.append(table_row("all", everything))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--data", type=Path, help="folder of the tables; without it nothing is run")
    arguments = parser.parse_args()
    if arguments.data is not None:
        run_missing(arguments.data, arguments.splits)
    write_text(TABLE, page(complete_splits()))


if __name__ == "__main__":
    main()
