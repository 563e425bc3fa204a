"""The planted line against simulated tables: from how many samples on do unrelated sets do worse than the true one?

    python benchmarks/planted.py            what is missing, then docs/tables/planted.md and docs/images/planted.svg
    python benchmarks/planted.py --table    table and picture from what is there
    python benchmarks/planted.py --row "200 2 0.05 True" --tables 300    more tables of one row

Each row is a rule on M of N features with some noise. At 0.9, 1 and 1.1 of the predicted number of samples (0.7, 1 and 1.3 with much noise), tables are drawn, and in
each the best set without a true feature is searched for. The measured number is where a logistic curve through all of them reaches one
half. Tables are stored one by one in benchmarks/results/planted.jsonl, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from chanceline._io import write_text
from chanceline.figures.planted import draw_planted_lines
from chanceline.figures.style import draw_to_file
from chanceline.significance.planted import (
    ALONE_RATIO,
    PlantedRule,
    SampleCount,
    samples_to_beat_all,
    samples_to_beat_unrelated,
    unrelated_set_does_as_well,
)

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "planted.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "planted.md"
PICTURE = HERE.parent / "docs" / "images" / "planted.svg"
TABLES = 100  # for each number of samples
ALONE_TABLES = 40
# Of the predicted number of samples; with much noise the probability rises slowly.
RATIOS = (0.9, 1.0, 1.1)
RATIOS_OF_MUCH_NOISE = (0.7, 1.0, 1.3)
MUCH_NOISE = 0.2
SEED = 31_000
RULES = (
    PlantedRule(n_features=50, n_true=3, noise=0.0, intercept=False),
    PlantedRule(n_features=50, n_true=3, noise=0.1, intercept=False),
    PlantedRule(n_features=500, n_true=3, noise=0.1, intercept=False),
    PlantedRule(n_features=50, n_true=3, noise=0.2, intercept=False),
    PlantedRule(n_features=500, n_true=3, noise=0.2, intercept=False),
    # Rows at which the method had not been tried before.
    PlantedRule(n_features=2000, n_true=3, noise=0.1, intercept=True),
    PlantedRule(n_features=200, n_true=2, noise=0.05, intercept=True),
    PlantedRule(n_features=100, n_true=4, noise=0.1, intercept=True),
    PlantedRule(n_features=1000, n_true=2, noise=0.0, intercept=True),
    # Rows drawn after the theory was corrected for sets that share features ...
    PlantedRule(n_features=150, n_true=5, noise=0.05, intercept=True),
    PlantedRule(n_features=1000, n_true=3, noise=0.05, intercept=False),
    PlantedRule(n_features=100, n_true=2, noise=0.1, intercept=False),
    PlantedRule(n_features=5000, n_true=2, noise=0.0, intercept=False),
    PlantedRule(n_features=300, n_true=1, noise=0.1, intercept=True),
    # ... and after it was corrected for the splits of one set too.
    PlantedRule(n_features=400, n_true=2, noise=0.1, intercept=True),
    PlantedRule(n_features=80, n_true=3, noise=0.05, intercept=False),
)
PICTURE_FEATURES = (20, 50, 200, 500, 2000)
PICTURE_NOISES = (0.0, 0.1, 0.2)


def ratios_of(rule: PlantedRule) -> tuple[float, ...]:
    return RATIOS_OF_MUCH_NOISE if rule.noise >= MUCH_NOISE else RATIOS


def key_of(rule: PlantedRule) -> str:
    return f"{rule.n_features} {rule.n_true} {rule.noise:g} {rule.intercept}"


def read_store() -> dict[str, dict[str, float]]:
    if not STORE.exists():
        return {}
    lines = STORE.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return {row["key"]: row for row in rows}


def append(row: dict[str, object]) -> None:
    STORE.parent.mkdir(exist_ok=True)
    with STORE.open("a", encoding="utf-8") as store:
        store.write(json.dumps(row) + "\n")


@cache
def predicted_line(rule: PlantedRule) -> float:
    """The predicted number of samples."""
    return samples_to_beat_unrelated(rule).samples


def samples_at(rule: PlantedRule, ratio: float) -> int:
    """So many samples have the tables at a ratio to the line.

    It is the line as it was predicted when the first of them was drawn: a change of the theory does
    not throw tables away.
    """
    key = f"line {key_of(rule)}"
    there = read_store()
    if key not in there:
        append({"key": key, "samples": predicted_line(rule)})
    return round(ratio * float(read_store()[key]["samples"]))


def fill(rules: Sequence[PlantedRule], tables: int) -> None:
    """Run what is missing of these rows, a few tables of each at a time."""
    there = read_store()
    for number in range(tables):
        for rule in rules:
            for ratio in ratios_of(rule):
                key = f"table {key_of(rule)} {ratio:g} {number}"
                if key in there:
                    continue
                n_samples = samples_at(rule, ratio)
                seed = SEED + 1000 * number + ratios_of(rule).index(ratio)
                table = rule.draw(n_samples, n_columns=rule.n_features, seed=seed)
                as_well = unrelated_set_does_as_well(rule, table)
                append({"key": key, "samples": n_samples, "beats": int(not as_well)})


def fill_alone() -> None:
    """From how many samples on the true set is the only one, for every row."""
    there = read_store()
    for rule in RULES:
        key = f"alone {key_of(rule)}"
        if key not in there:
            alone = samples_to_beat_all(
                rule, ALONE_RATIO * predicted_line(rule), ALONE_TABLES, seed=SEED
            )
            append({"key": key, "samples": alone.samples, "error": alone.error})


def outcomes(rule: PlantedRule) -> Iterator[tuple[float, int]]:
    """The number of samples and whether the true set beats all unrelated ones, for every table."""
    prefixes = tuple(f"table {key_of(rule)} {ratio:g} " for ratio in ratios_of(rule))
    for key, row in read_store().items():
        if key.startswith(prefixes):
            yield row["samples"], int(row["beats"])


def half_point(samples: np.ndarray, beats: np.ndarray) -> SampleCount:
    """Where a logistic curve in ln(samples) reaches one half, by maximum likelihood."""
    x = np.log(samples)
    centre = x.mean()

    def loss(parameters: np.ndarray) -> float:
        z = parameters[0] + parameters[1] * (x - centre)
        return float(np.sum(np.logaddexp(0.0, z) - beats * z))

    intercept, slope = minimize(loss, np.array([0.0, 1.0])).x
    z = intercept + slope * (x - centre)
    weights = 1 / (2 + np.exp(z) + np.exp(-z))
    design = np.column_stack([np.ones_like(x), x - centre])
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    # The half point is centre − intercept/slope; its variance by the delta method.
    half = centre - intercept / slope
    gradient = np.array([-1 / slope, intercept / slope**2])
    error = float(np.sqrt(gradient @ covariance @ gradient))
    return SampleCount(samples=float(np.exp(half)), error=float(np.exp(half)) * error)


def table_row(rule: PlantedRule) -> str:
    samples, beats = (np.array(values) for values in zip(*outcomes(rule), strict=True))
    predicted = predicted_line(rule)
    measured = half_point(samples, beats)
    shares = []
    for ratio in ratios_of(rule):
        there = beats[samples == samples_at(rule, ratio)]
        error = np.sqrt(there.mean() * (1 - there.mean()) / len(there))
        shares.append(f"{there.mean():.2f} ± {error:.2f} at {samples_at(rule, ratio)}")
    distance = (predicted - measured.samples) / measured.error
    alone = read_store().get(f"alone {key_of(rule)}")
    alone_text = "–"
    if alone is not None:
        alone_text = f"{alone['samples']:.1f} ± {alone['error']:.1f}"
    threshold = "with" if rule.intercept else "without"
    return (
        f"| {rule.n_features}, {rule.n_true}, {rule.noise:g}, {threshold} | {predicted:.1f} "
        f"| {measured.samples:.1f} ± {measured.error:.1f} | {distance:+.1f} | {', '.join(shares)} | {len(beats)} | {alone_text} |"
    )


def write_table() -> None:
    lines = [
        f"Samples, by `python benchmarks/planted.py`; rules are fitted with or without a threshold. Last column: {ALONE_TABLES} studies, –: not run.",
        "",
        "| N, M, noise, threshold | predicted | measured | difference in standard errors | true set beats all unrelated ones | tables | only one from |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [table_row(rule) for rule in RULES]
    write_text(TABLE, "\n".join(lines) + "\n")


def write_picture() -> None:
    """Lines against N for three true features, and what was measured there."""
    lines = {}
    for noise in PICTURE_NOISES:
        rules = [PlantedRule(n, 3, noise, intercept=False) for n in PICTURE_FEATURES]
        lines[noise] = [predicted_line(rule) for rule in rules]
    shown = [
        rule
        for rule in RULES
        if rule.n_true == 3 and not rule.intercept and rule.noise in PICTURE_NOISES
    ]
    measured = []
    for rule in shown:
        samples, beats = (np.array(values) for values in zip(*outcomes(rule), strict=True))
        measured.append((rule.n_features, rule.noise, half_point(samples, beats)))
    alone = []
    for rule in shown:
        row = read_store().get(f"alone {key_of(rule)}")
        if row is not None:
            alone.append((rule.n_features, rule.noise, SampleCount(row["samples"], row["error"])))
    draw_to_file(
        lambda ax: draw_planted_lines(ax, PICTURE_FEATURES, lines, measured, alone), PICTURE
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument(
        "--row",
        help='only this one: features, true ones, noise, threshold, such as "200 2 0.05 True"',
    )
    parser.add_argument("--table", action="store_true", help="only write table and picture")
    options = parser.parse_args()
    if options.row is not None:
        fill([rule for rule in RULES if key_of(rule) == options.row], options.tables)
        return
    if not options.table:
        fill(RULES, options.tables)
        fill_alone()
    write_table()
    write_picture()


if __name__ == "__main__":
    main()
