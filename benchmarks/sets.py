"""Tests of sets of features: how often chance gives any set (level), how often the right set is found (power), and the cost.

    python benchmarks/sets.py                    everything that is not there yet, then docs/tables/sets.md
    python benchmarks/sets.py --table            the table from what is there
    python benchmarks/sets.py --tables 200       fewer simulated tables for each design

Results stand in benchmarks/results/sets.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from chanceline import separation_test, set_tests  # noqa: E402
from chanceline._io import write_text  # noqa: E402

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "sets.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "sets.md"
LEVEL = 0.05
LABEL = "label"


@dataclass
class Study:
    """A simulated table: columns by name with the labels among them, its sets, and those that are true."""

    frame: pd.DataFrame
    sets: dict[str, list[str]]
    true_sets: tuple[str, ...] = ()
    options: dict[str, Any] | None = None


def names_of(columns: NDArray[np.int64] | range) -> list[str]:
    return [f"g{column}" for column in columns]


def make_study(
    X: NDArray[np.float64], labels: NDArray[Any], sets: list[Any], **options: Any
) -> Study:
    frame = pd.DataFrame(X, columns=names_of(range(X.shape[1])))
    frame[LABEL] = np.where(labels > 0, "ill", "well")
    return Study(
        frame, {f"set {k}": names_of(columns) for k, columns in enumerate(sets)}, options=options
    )


def neighbours(sizes: list[int]) -> list[range]:
    """Sets that follow each other in the table, without overlap."""
    ends = np.cumsum(sizes).tolist()
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def half_positive(n_samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.permutation(np.repeat([1.0, -1.0], n_samples // 2))


# Level: 50 samples, twelve sets of 1 to 30 features, labels that know nothing of them.
SIZES = [1, 1, 2, 3, 5, 8, 8, 12, 15, 20, 25, 30]


def independent_sets(rng: np.random.Generator) -> Study:
    X = rng.standard_normal((50, sum(SIZES)))
    return make_study(X, half_positive(50, rng), neighbours(SIZES))


def overlapping_sets(rng: np.random.Generator) -> Study:
    X = rng.standard_normal((50, 40))
    sets = [rng.choice(40, size=size, replace=False) for size in SIZES]
    return make_study(X, half_positive(50, rng), sets)


def correlated_sets(rng: np.random.Generator) -> Study:
    """One common factor, and one for each set."""
    n_columns = sum(SIZES)
    own = np.repeat(rng.standard_normal((50, len(SIZES))), SIZES, axis=1)
    X = rng.standard_normal((50, 1)) + own + rng.standard_normal((50, n_columns))
    return make_study(X, half_positive(50, rng), neighbours(SIZES))


def heavy_tails(rng: np.random.Generator) -> Study:
    X = rng.standard_t(1.5, size=(50, sum(SIZES)))
    return make_study(X, half_positive(50, rng), neighbours(SIZES))


def yes_or_no(rng: np.random.Generator) -> Study:
    X = (rng.random((50, sum(SIZES))) < 0.2).astype(float)
    return make_study(X, half_positive(50, rng), neighbours(SIZES))


def blocks(rng: np.random.Generator) -> Study:
    """Five sites that differ in all features and in the share of positives."""
    site = np.repeat(np.arange(5), 10)
    X = rng.standard_normal((50, sum(SIZES))) + 2 * rng.standard_normal((5, sum(SIZES)))[site]
    shares = rng.permutation([0.2, 0.3, 0.5, 0.7, 0.8])[site]
    labels = np.concatenate(
        [
            rng.permutation(np.where(np.arange(10) < 10 * shares[10 * k], 1.0, -1.0))
            for k in range(5)
        ]
    )
    study = make_study(X, labels, neighbours(SIZES), blocks="site")
    study.frame["site"] = [f"site {k}" for k in site]
    return study


def covariate(rng: np.random.Generator) -> Study:
    """Labels and all features depend on age."""
    age = rng.standard_normal(50)
    X = rng.standard_normal((50, sum(SIZES))) + age[:, None]
    labels = np.where(rng.random(50) < 1 / (1 + np.exp(-age)), 1.0, -1.0)
    study = make_study(X, labels, neighbours(SIZES), adjust="age")
    study.frame["age"] = 50 + 10 * age
    return study


LEVEL_DESIGNS: dict[str, Callable[[np.random.Generator], Study]] = {
    "independent sets": independent_sets,
    "overlapping sets": overlapping_sets,
    "correlated within and between sets": correlated_sets,
    "heavy tails (t, 1.5 degrees)": heavy_tails,
    "yes/no, one in five": yes_or_no,
    "blocks that differ": blocks,
    "adjusted for a covariate": covariate,
}


# Power: 60 samples, forty sets of 2 to 50 features; one of them knows the labels.
def power_study(
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[range]]:
    sizes = rng.choice([2, 5, 10, 20, 50], size=40).tolist()
    own = np.repeat(rng.standard_normal((60, 40)), sizes, axis=1)
    shared = rng.random(sum(sizes)) < 0.5
    X = rng.standard_normal((60, sum(sizes))) + 0.7 * own * shared
    return X, half_positive(60, rng), neighbours(sizes)


def one_feature(rng: np.random.Generator) -> Study:
    X, labels, sets = power_study(rng)
    X[:, sets[0][0]] += 0.75 * labels
    return with_first_true(make_study(X, labels, sets))


def every_feature(rng: np.random.Generator) -> Study:
    X, labels, sets = power_study(rng)
    X[:, list(sets[0])] += labels[:, None] / np.sqrt(len(sets[0]))
    return with_first_true(make_study(X, labels, sets))


def two_together(rng: np.random.Generator) -> Study:
    """Two features of the same size whose difference knows the labels."""
    X, labels, sets = power_study(rng)
    first, second = sets[0][0], sets[0][1]
    common = 3 * rng.standard_normal(60)
    X[:, first] = common + 0.7 * labels + rng.standard_normal(60) / 2
    X[:, second] = common - 0.2 * labels + rng.standard_normal(60) / 2
    return with_first_true(make_study(X, labels, sets))


def with_first_true(study: Study) -> Study:
    study.true_sets = ("set 0",)
    return study


POWER_DESIGNS: dict[str, Callable[[np.random.Generator], Study]] = {
    "one feature": one_feature,
    "every feature a little": every_feature,
    "two features together": two_together,
}


def run_study(study: Study, permutations: int, seed: int) -> dict[str, list[str]]:
    """Which sets pass the level, adjusted by us and by Bonferroni."""
    result = set_tests(
        study.frame,
        study.sets,
        label=LABEL,
        permutations=permutations,
        seed=seed,
        **(study.options or {}),
    )
    return {
        "ours": [item.name for item in result.sets if item.adjusted_pvalue <= LEVEL],
        "bonferroni": [
            item.name for item in result.sets if item.pvalue * len(result.sets) <= LEVEL
        ],
    }


def level_row(design: str, n_tables: int) -> dict[str, Any]:
    any_set = 0
    for number in range(n_tables):
        study = LEVEL_DESIGNS[design](np.random.default_rng([1, number]))
        any_set += bool(run_study(study, 199, number)["ours"])
    return {"kind": "level", "design": design, "tables": n_tables, "any_set": any_set}


def power_row(design: str, permutations: int, n_tables: int) -> dict[str, Any]:
    found = {"ours": 0, "bonferroni": 0}
    false_sets = 0
    for number in range(n_tables):
        study = POWER_DESIGNS[design](np.random.default_rng([2, number]))
        passed = run_study(study, permutations, number)
        for way in found:
            found[way] += study.true_sets[0] in passed[way]
        false_sets += bool(set(passed["ours"]) - set(study.true_sets))
    return {
        "kind": "power",
        "design": design,
        "permutations": permutations,
        "tables": n_tables,
        **found,
        "any_false": false_sets,
    }


def cost_row() -> dict[str, Any]:
    """CPU seconds of one test of the whole table and of 300 sets, one after the other in this process."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 20_000))
    labels = half_positive(100, rng)
    # As in collections of gene sets: 15 to 500 features, evenly in the logarithm, drawn with overlap.
    sizes = np.exp(rng.uniform(np.log(15), np.log(500), size=300)).astype(int)
    study = make_study(X, labels, [rng.choice(20_000, size=size, replace=False) for size in sizes])
    # What is compiled is compiled by a small table first.
    separation_test(study.frame.iloc[:, -60:], label=LABEL, permutations=19)
    begin = time.process_time()
    whole = separation_test(study.frame, label=LABEL)
    after_test = time.process_time()
    shuffles = whole.settings.permutations
    set_tests(study.frame, study.sets, label=LABEL, permutations=shuffles)
    after_sets = time.process_time()
    return {
        "kind": "cost",
        "design": "cost",
        "features_in_sets": int(sizes.sum()),
        "test": after_test - begin,
        "sets": after_sets - after_test,
        "shuffles": shuffles,
    }


def jobs(n_tables: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Key and work of every row."""
    yield "cost", cost_row
    for design in LEVEL_DESIGNS:
        yield f"level {design}", lambda design=design: level_row(design, n_tables)
    for design in POWER_DESIGNS:
        for permutations in (199, 999):
            yield (
                f"power {design} {permutations}",
                lambda design=design, permutations=permutations: power_row(
                    design, permutations, n_tables // 5
                ),
            )


def read_store() -> dict[str, dict[str, Any]]:
    if not STORE.exists():
        return {}
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    return {row["key"]: row for row in rows}


def write_table() -> None:
    rows = list(read_store().values())
    lines = ["By `python benchmarks/sets.py`, seeds fixed.", ""]
    for row in rows:
        if row["kind"] == "cost":
            ratio = row["sets"] / row["test"]
            lines += [
                f"**Cost.** 100 × 20,000 noise, 300 sets of 15 to 500 features ({row['features_in_sets']:,} in all, with overlap), {row['shuffles']} shuffles, one core: one test of the",
                f"whole table {row['test']:.1f} s, all sets {row['sets']:.1f} s, {ratio:.2f} times as much.",
                "",
            ]
    lines += [
        "**Level.** 50 samples, twelve sets of 1 to 30 features, 199 shuffles; the share of tables in which any set has an adjusted p of at most 0.05.",
        "",
        "| null design | tables | any set ≤ 0.05 | limit at 3 standard errors |",
        "|---|---|---|---|",
    ]
    for row in rows:
        if row["kind"] == "level":
            limit = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / row["tables"])
            share = row["any_set"] / row["tables"]
            lines.append(f"| {row['design']} | {row['tables']} | {share:.3f} | {limit:.3f} |")
    lines += [
        "",
        "**Power.** 60 samples, forty sets of 2 to 50 features, one of which knows the labels: the share of tables in which it passes 0.05, and in which any other set does.",
        "Bonferroni multiplies the same p-values by forty; 199 shuffles are then too few to say anything.",
        "",
        "| the set has | shuffles | tables | adjusted p | Bonferroni | any other set |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["kind"] == "power":
            n = row["tables"]
            shares = " | ".join(
                f"{row[key] / n:.2f}" for key in ("ours", "bonferroni", "any_false")
            )
            lines.append(f"| {row['design']} | {row['permutations']} | {n} | {shares} |")
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument(
        "--tables", type=int, default=1000, help="simulated tables for each null design"
    )
    parser.add_argument("--only", default="", help="rows whose key begins so")
    options = parser.parse_args()
    STORE.parent.mkdir(exist_ok=True)
    if not options.table:
        done = read_store()
        for key, work in jobs(options.tables):
            if key in done or not key.startswith(options.only):
                continue
            row = {"key": key, **work()}
            print(row, flush=True)
            with STORE.open("a", encoding="utf-8") as store:
                store.write(json.dumps(row) + "\n")
    write_table()


if __name__ == "__main__":
    main()
