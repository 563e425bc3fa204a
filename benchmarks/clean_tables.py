"""How often a table that hides nothing is warned of: simulated tables of fourteen kinds.

A kind is a function of a seed that gives a data frame with the label `outcome`: noise or real structure, of numbers, counts or logarithms of these, with few
samples or unequal classes, with columns of text and whole numbers that have nothing to do with the label.
`python benchmarks/clean_tables.py [SETS]` (20 of each kind by default) prints how many get a warning, and which; `traps.py` writes that into its table.
`python benchmarks/clean_tables.py --tables ../shared/data` prints the warnings about published tables instead, where these are.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from trap_tables import answer

from chanceline.tables import load_data
from chanceline.tables.checks.advice import examine_dataset

Table = pd.DataFrame
LETTERS_SHOWN = 70  # of a warning
FIRST_SEED = 1000  # smaller ones were looked at when the limits of the checks were chosen


def finished(values: np.ndarray, positive: np.ndarray, **columns: object) -> Table:
    """A table of features m0, m1, …, the outcome and further columns."""
    frame = pd.DataFrame(values).add_prefix("m")
    return frame.assign(outcome=np.where(positive, "ill", "well"), **columns)


def sorted_halves(samples: int) -> np.ndarray:
    """All positives first, as many tables are sorted."""
    return np.arange(samples) < samples // 2


def gaussian(rng: np.random.Generator) -> Table:
    """Independent noise, of samples that are called S01 to S60."""
    names = [f"S{j:02d}" for j in range(1, 61)]
    return finished(rng.normal(size=(60, 300)), rng.permutation(sorted_halves(60)), sample=names)


def counts(rng: np.random.Generator) -> Table:
    """Counts of different depth, which has nothing to do with the classes."""
    depth = rng.lognormal(0, 0.3, (50, 1))
    means = depth * rng.lognormal(3, 1, 250) * rng.gamma(2, 0.5, (50, 250))
    return finished(rng.poisson(means), sorted_halves(50))


def logarithms_of_counts(rng: np.random.Generator) -> Table:
    """The same in logarithms."""
    table = counts(rng)
    features = table.columns.drop("outcome")
    return table.assign(**np.log2(table[features] + 1).round(3))


def correlated(rng: np.random.Generator) -> Table:
    """Three common factors, far larger than what each feature has for itself."""
    factors = rng.normal(size=(70, 3)) @ rng.normal(size=(3, 150))
    return finished(factors + 0.3 * rng.normal(size=(70, 150)), sorted_halves(70))


def spectra(rng: np.random.Generator) -> Table:
    """Sums of broad peaks, positive numbers, which differ between the classes."""
    positive = sorted_halves(80)
    heights = rng.lognormal(0, 0.5, (80, 12))
    heights[positive, :2] *= 1.5
    places = np.linspace(0, 1, 120)
    peaks = np.exp(-((places - rng.random((12, 1))) ** 2) / 0.005)
    return finished(heights @ peaks + 0.01 * rng.random((80, 120)), positive)


def many_good_features(rng: np.random.Generator) -> Table:
    """Real structure in a third of the features."""
    positive = sorted_halves(60)
    values = rng.normal(size=(60, 240))
    values[positive, :80] += rng.normal(0, 0.7, 80)
    return finished(values, positive)


def a_few_good_features(rng: np.random.Generator) -> Table:
    """Real structure in three features, with t-distributed noise."""
    positive = rng.random(90) < 0.4
    values = rng.standard_t(4, size=(90, 200))
    values[positive, :3] += rng.uniform(0.8, 1.6, 3)
    return finished(values.round(2), positive)


def few_samples(rng: np.random.Generator) -> Table:
    """Twenty samples of skewed values, written with two digits."""
    positive = rng.permutation(np.arange(20) < 8)
    return finished(rng.lognormal(0, 1, (20, 500)).round(2), positive)


def unequal_classes(rng: np.random.Generator) -> Table:
    """Ten of eighty are ill; sex and age are there and go with features, not with the class."""
    values = rng.normal(size=(80, 100))
    sex = rng.choice(["f", "m"], 80)
    age = rng.integers(30, 80, 80)
    values[:, :10] += np.where(sex == "f", 1.0, 0.0)[:, None]
    values[:, 10:20] += (age[:, None] - 55) / 15
    grade = rng.integers(1, 4, 80)
    return finished(values, rng.permutation(np.arange(80) < 10), sex=sex, age=age, grade=grade)


def subtypes(rng: np.random.Generator) -> Table:
    """Four kinds of tissue, two in each class, and some gaps filled with the column's median."""
    tissue = np.repeat(np.arange(4), 20)
    values = rng.normal(size=(80, 400)) + rng.normal(0, 0.7, (4, 400))[tissue]
    filled = pd.DataFrame(values).mask(rng.random((80, 400)) < 0.05)
    return finished(filled.fillna(filled.median()).to_numpy(), tissue < 2)


def all_features_good(rng: np.random.Generator) -> Table:
    """Thirty clinical measurements, all of which go with the class, some far better than others."""
    positive = sorted_halves(120)
    effects = rng.choice([-1, 1], 30) * rng.uniform(0.5, 2.0, 30)
    severity = 0.7 * rng.normal(size=(120, 1))
    values = rng.normal(size=(120, 30)) + severity * effects + np.outer(positive, effects)
    return finished(values.round(2), positive)


def survey(rng: np.random.Generator) -> Table:
    """Answers from 1 to 5, which lean on one attitude."""
    attitude = rng.normal(size=(100, 1))
    leaning = 3 + rng.uniform(0, 1, 40) * attitude + rng.normal(size=(100, 40))
    return finished(np.clip(leaning.round(), 1, 5), rng.permutation(sorted_halves(100)))


def drift_in_turns(rng: np.random.Generator) -> Table:
    """Features drift along the rows, but the classes were measured in turns."""
    time = np.linspace(-1, 1, 60)[:, None]
    values = rng.normal(size=(60, 200)) + time * rng.normal(size=200)
    return finished(values, np.tile([True, False], 30))


def centred_batches(rng: np.random.Generator) -> Table:
    """Batches, with equally many of each class, that were centred without the labels."""
    batch = np.repeat(np.arange(4), 16)
    values = rng.normal(size=(64, 200)) + rng.normal(size=(4, 200))[batch]
    means = pd.DataFrame(values).groupby(batch).transform("mean").to_numpy()
    positive = np.concatenate([rng.permutation(sorted_halves(16)) for _ in range(4)])
    return finished(values - means, positive, run=[f"r{one}" for one in batch])


KINDS: dict[str, Callable[[np.random.Generator], Table]] = {
    "independent noise, names S01 … S60": gaussian,
    "counts": counts,
    "logarithms of counts": logarithms_of_counts,
    "strongly correlated": correlated,
    "spectra": spectra,
    "a third of the features good": many_good_features,
    "three features good": a_few_good_features,
    "few samples": few_samples,
    "unequal classes, sex, age and grade": unequal_classes,
    "subtypes, gaps filled with medians": subtypes,
    "all features good": all_features_good,
    "answers of a survey": survey,
    "drift, classes in turns": drift_in_turns,
    "batches centred without the labels": centred_batches,
}


def warned(kind: str, seed: int) -> str:
    """What is warned of in one table, shortened; empty if nothing is."""
    position = list(KINDS).index(kind)
    table = KINDS[kind](np.random.default_rng([FIRST_SEED + seed, position]))
    said = answer(table, {})
    if said.verdict == "stops":
        return f"stops: {said.warnings[:LETTERS_SHOWN]}"
    return said.warnings[:LETTERS_SHOWN]


def count_warnings(sets: int) -> dict[str, Counter[str]]:
    """The warnings of so many tables of every kind, counted."""
    return {kind: Counter(warned(kind, seed) for seed in range(sets)) for kind in KINDS}


def warnings_of_file(path: Path) -> list[str]:
    """The warnings about a table whose last column is the label (of a sheet: the column `Class`)."""
    label = "Class" if path.suffix == ".xlsx" else "-1"
    settings = {"classes": "GC,HE", "missing": "median"} if path.suffix == ".xlsx" else {}
    data = load_data(path, label, **settings)
    findings = [*data.findings, *examine_dataset(data, np.arange(len(data.y)))]
    return [finding.message for finding in findings if finding.severity == "warning"]


def print_warnings_of_folder(folder: Path) -> None:
    """A line for every table of a folder."""
    for path in sorted([*folder.glob("*.csv.gz"), *folder.glob("*.xlsx")]):
        print(f"{path.name}: {warnings_of_file(path)}", flush=True)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--tables"]:
        print_warnings_of_folder(Path(arguments[1]))
        return
    sets = int(arguments[0]) if arguments else 20
    for kind, said in count_warnings(sets).items():
        print(f"{kind}: {sets - said['']} of {sets} warned {dict(said)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
