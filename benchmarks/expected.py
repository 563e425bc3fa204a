"""Does the interval of `expected_error` contain the true error of the rule that `fit_rule` gives? Is the rate unbiased?
How often is it said that the rule knows something, and that it is better than the larger class?

    python benchmarks/expected.py            every set that is not there yet, then docs/tables/coverage.md
    python benchmarks/expected.py --table    the table from what is there

Every set is a table drawn from a design; the true error of its rule is counted on 6,000 new samples. Sets are stored one by one
in benchmarks/results/expected.jsonl, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._io import write_text
from chanceline.prediction.crossval import EFFECTIVE_SHARE, expected_error
from chanceline.prediction.interval import clopper_pearson
from chanceline.prediction.metrics import area_under_curve, error_indicators
from chanceline.prediction.rule import fit_rule
from chanceline.significance.arrays import block_means

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "expected.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "coverage.md"
SETS, NEW = 240, 6_000
SEED, WIDTH = 31_001, 100

Floats = NDArray[np.float64]
Rng = np.random.Generator
# Values, labels, and the arguments of the design; without noise columns where `few` columns are enough.
Table = tuple[Floats, Floats, dict[str, Any]]


def coin(rng: Rng, score: Floats) -> Floats:
    """Labels ±1, positive with probability 1/(1 + e^−score)."""
    return np.where(rng.random(len(score)) < 0.5 + 0.5 * np.tanh(score / 2), 1.0, -1.0)


def three(rng: Rng, count: int, slope: float, offset: float = 0.0) -> Table:
    X = rng.normal(size=(count, WIDTH))
    return X, coin(rng, slope * X[:, :3].sum(axis=1) - offset), {}


def clean(rng: Rng, count: int) -> Table:
    X = rng.normal(size=(count, WIDTH))
    return X, np.where(X[:, 0] > X[:, 1], 1.0, -1.0), {}


def dense(rng: Rng, count: int) -> Table:
    y = np.where(rng.random(count) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(count, WIDTH))
    X[:, :40] += 0.25 * y[:, None]
    return X, y, {}


def none(rng: Rng, count: int) -> Table:
    """Noise, half of it positive."""
    return rng.normal(size=(count, WIDTH)), rng.permutation(np.tile([1.0, -1.0], count // 2)), {}


def batches(rng: Rng, count: int, slope: float) -> Table:
    """Three batches that shift all columns, with about 30, 50 and 70 % positives (exactly, without a signal)."""
    block = np.arange(count) % 3
    shift = np.random.default_rng(0).normal(size=(3, WIDTH))
    X = rng.normal(size=(count, WIDTH))
    level = np.array([-0.85, 0.0, 0.85])[block]
    if slope > 0:
        y = coin(rng, slope * X[:, :3].sum(axis=1) + 3 * level)
    else:
        place = np.argsort(np.argsort(rng.random(count) + block)) % (count // 3)
        y = np.where(place < np.array([0.3, 0.5, 0.7])[block] * (count // 3), 1.0, -1.0)
    return X + shift[block], y, {"blocks": block}


def pairs(rng: Rng, count: int) -> Table:
    """A case and its control, which share a level in every column."""
    level = np.repeat(rng.normal(size=(count // 2, WIDTH)), 2, axis=0)
    y = np.tile([1.0, -1.0], count // 2)
    X = rng.normal(size=(count, WIDTH)) + level
    X[:, :3] += 0.5 * y[:, None]
    return X, y, {"blocks": np.repeat(np.arange(count // 2), 2)}


def phonations(rng: Rng, count: int) -> Table:
    """Ten rows of every subject, who has a level of its own and rows of both classes."""
    level = np.repeat(rng.normal(size=(count // 10, WIDTH)), 10, axis=0)
    y = np.where(rng.random(count) < 0.33, 1.0, -1.0)
    X = rng.normal(size=(count, WIDTH)) + level
    X[:, :6] += 0.8 * (y[:, None] > 0)
    return X, y, {"blocks": np.repeat(np.arange(count // 10), 10)}


def subjects(rng: Rng, count: int) -> Table:
    """Three rows of every subject, which have more than half of the variance in common."""
    X = np.repeat(rng.normal(size=(count // 3, WIDTH)), 3, axis=0)
    y = coin(rng, 2.5 * X[::3, :3].sum(axis=1))
    return (
        X + 0.8 * rng.normal(size=X.shape),
        np.repeat(y, 3),
        {"groups": np.repeat(np.arange(count // 3), 3)},
    )


def factors(rng: Rng, count: int) -> Table:
    """Three factors that all columns share; the first goes with the labels."""
    factor = rng.normal(size=(count, 3))
    loadings = np.random.default_rng(5).normal(size=(3, WIDTH))
    X = 0.6 * factor @ loadings + rng.normal(size=(count, WIDTH))
    return X, coin(rng, 1.8 * factor[:, 0]), {}


def quarter(rng: Rng, count: int) -> Table:
    """Noise, a quarter of it positive."""
    y = np.where(np.arange(count) < count // 4, 1.0, -1.0)
    return rng.normal(size=(count, WIDTH)), rng.permutation(y), {}


def aged(rng: Rng, count: int) -> Table:
    """Age goes with the labels and with every column; two columns say more."""
    age = rng.normal(size=count)
    X = rng.normal(size=(count, WIDTH)) + 0.5 * age[:, None]
    y = coin(rng, age + 1.5 * (X[:, :2].sum(axis=1) - age))
    return X, y, {"covariates": {"age": age}}


def families(rng: Rng, count: int) -> Table:
    """Four rows of every family, alike, and labels of families that have nothing to do with them."""
    n_families = count // 4
    levels = rng.normal(size=(n_families, WIDTH))
    X = np.repeat(levels, 4, axis=0) + 0.7 * rng.normal(size=(count, WIDTH))
    y = rng.permutation(np.where(np.arange(n_families) % 2 == 0, 1.0, -1.0))
    return X, np.repeat(y, 4), {"groups": np.repeat(np.arange(n_families), 4)}


def sites(rng: Rng, count: int) -> Table:
    """Eight sites that shift all columns."""
    site = np.arange(count) % 8
    shift = np.random.default_rng(3).normal(size=(8, WIDTH))
    X = rng.normal(size=(count, WIDTH))
    y = coin(rng, 1.5 * X[:, :3].sum(axis=1))
    return X + shift[site], y, {"blocks": site}


DESIGNS: dict[str, tuple[int, Callable[[Rng, int], Table]]] = {
    "80 × 100, three true, slope 2": (80, lambda rng, count: three(rng, count, 2.0)),
    "80 × 100, three true, slope 0.7": (80, lambda rng, count: three(rng, count, 0.7)),
    "40 × 100, two true, noiseless": (40, clean),
    "80 × 100, forty weak": (80, dense),
    "60 × 100, none": (60, none),
    "100 × 100, 15 % positives, slope 2": (100, lambda rng, count: three(rng, count, 2.0, 4.7)),
    "90 × 100, three batches, slope 2": (90, lambda rng, count: batches(rng, count, 2.0)),
    "90 × 100, three batches, none": (90, lambda rng, count: batches(rng, count, 0.0)),
    "60 × 100, thirty pairs": (60, pairs),
    "90 × 100, thirty subjects": (90, subjects),
    "140 × 100, fourteen subjects of both classes": (140, phonations),
    "100 × 100, three factors": (100, factors),
    "60 × 100, a quarter positive, none": (60, quarter),
    "100 × 100, age beside two true": (100, aged),
    "120 × 100, thirty families, none": (120, families),
    "96 × 100, eight sites, slope 1.5": (96, sites),
}
# Blocks of new samples are new ones, each measured from its own mean.
NEW_BLOCKS = {"60 × 100, thirty pairs", "140 × 100, fourteen subjects of both classes"}


def run(design: str, number: int) -> dict[str, Any]:
    """One set: its rate, and the true error of its rule."""
    count, draw = DESIGNS[design]
    rng = np.random.default_rng([SEED, list(DESIGNS).index(design), number])
    X, y, arguments = draw(rng, count)
    started = time.process_time()
    expected = expected_error(X, y, **arguments, seed=number)
    rule = fit_rule(X, y, **arguments, seed=number)
    seconds = time.process_time() - started
    wrong = []
    areas = []
    for _ in range(10):
        fresh, labels, beside = draw(rng, NEW // 10)
        if design in NEW_BLOCKS:
            fresh = fresh - block_means(fresh, beside["blocks"]) + X.mean(axis=0)
            beside = {}
        scores = rule.scores(fresh, beside.get("blocks"), beside.get("covariates"))
        wrong.append(error_indicators(scores, labels).mean())
        areas.append(area_under_curve(scores, labels > 0))
    assert expected is not None
    # The interval of 0.3.0: four tenths of the independent samples.
    n_effective_before = 0.4 / EFFECTIVE_SHARE * expected.n_effective
    interval_before = clopper_pearson(expected.rate * n_effective_before, n_effective_before)
    return {
        "design": design,
        "set": number,
        "rate": expected.rate,
        "guess": expected.majority_error,
        "truth": float(np.mean(wrong)),
        "interval": expected.interval,
        "interval_before": interval_before,
        "auc": expected.auc,
        "auc_truth": float(np.mean(areas)),
        "auc_interval": expected.auc_interval,
        "knows": expected.knows_something,
        "better": expected.better_than_majority,
        "features": len(rule.support),
        "folds": expected.n_features,
        "seconds": seconds,
    }


def share(hits: NDArray[np.bool_]) -> str:
    """A share with its standard error and the number it is of."""
    mean = float(hits.mean()) if len(hits) else float("nan")
    return (
        f"{mean:.2f} (±{np.sqrt(mean * (1 - mean) / len(hits)):.2f}, {len(hits)})"
        if len(hits)
        else ""
    )


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "What `expected_error` says of the rule that `fit_rule` gives, against the truth on 6,000 new samples, by",
        "`python benchmarks/expected.py`. Interval of the error: mean length, beside that of 0.3.0 (four tenths of the independent",
        "samples), and the share of sets in which it contains the true error (±standard error, sets). Area under the curve (AUC): the same",
        "share for its interval. Shares of sets in which it is said that the rule knows something (AUC), that it is better than the larger",
        "class (sample by sample), and that it was clearly better than guessing in the words of 0.3.0; and the share of sets in which the",
        "true error is below that of the larger class by two points. Intervals and decisions were fixed before on other designs.",
        "",
        "| design | true error | rate | bias | features | length | 0.3.0 | coverage | AUC coverage | knows | better | 0.3.0 says | true |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        found = [row for row in rows if row["design"] == design]
        if found:
            lines.append(table_row(design, found))
    return "\n".join(lines) + "\n"


def table_row(design: str, found: list[dict[str, Any]]) -> str:
    """One design; `found` are its sets."""

    def column(key: str) -> Floats:
        return np.array([row[key] for row in found], dtype=float)

    truth = column("truth")
    rate = column("rate")
    majority = column("guess")
    low, high = column("interval").T
    low_before, high_before = column("interval_before").T
    low_area, high_area = column("auc_interval").T
    true_area = column("auc_truth")
    cells = [
        design,
        f"{truth.mean():.3f}",
        f"{rate.mean():.3f}",
        f"{rate.mean() - truth.mean():+.3f}",
        f"{np.median(column('features')):.0f}",
        f"{np.mean(high - low):.2f}",
        f"{np.mean(high_before - low_before):.2f}",
        share((low <= truth) & (truth <= high)),
        f"{np.mean((low_area <= true_area) & (true_area <= high_area)):.2f}",
        f"{column('knows').mean():.2f}",
        f"{column('better').mean():.2f}",
        f"{np.mean(high_before < majority):.2f}",
        f"{np.mean(truth < majority - 0.02):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument(
        "--only",
        nargs="*",
        type=int,
        default=range(len(DESIGNS)),
        help="designs, by their number from 0",
    )
    options = parser.parse_args()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {(row["design"], row["set"]) for row in rows}
    names = [list(DESIGNS)[place] for place in options.only]
    todo = [
        (design, number)
        for number in range(options.sets)
        for design in names
        if (design, number) not in done
    ]
    for pair in [] if options.table else todo:
        rows.append(run(*pair))
        with STORE.open("a") as store:
            store.write(json.dumps(rows[-1]) + "\n")
    write_text(TABLE, table(rows))


if __name__ == "__main__":
    main()
