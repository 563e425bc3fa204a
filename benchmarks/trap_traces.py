"""Ten null tables that leave a trace of what spoiled them, each with the remedy that the warning names.

Every trap is a function of a seed, as in `trap_tables`. Where the remedy needs a column that the table lacks, or the table as it was before it was
spoiled, the trap brings that table along. `python benchmarks/trap_traces.py [SETS]` prints what the test does with them.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from trap_tables import Trap, print_answers

FEATURES = 200
Outcome = np.ndarray  # "case" or "control" for each sample


def genes(values: np.ndarray, outcome: Outcome, **columns: object) -> pd.DataFrame:
    """A table of features gene0, gene1, …, the outcome and further columns."""
    names = [f"gene{j}" for j in range(values.shape[1])]
    return pd.DataFrame(values, columns=names).assign(outcome=outcome, **columns)


def halves(samples: int, rng: np.random.Generator) -> Outcome:
    """As many cases as controls, in any order."""
    return rng.permutation(np.repeat(["case", "control"], samples // 2))


def batch_and_values(seed: int, samples: int = 80) -> tuple[Outcome, np.ndarray, np.ndarray]:
    """Three of four cases are of batch 1, three of four controls of batch 2; 50 features differ between the batches."""
    rng = np.random.default_rng([seed, 11])
    outcome = halves(samples, rng)
    in_first = rng.random(samples) < np.where(outcome == "case", 0.75, 0.25)
    values = rng.normal(size=(samples, FEATURES))
    values[:, :50] += np.where(in_first, 0.8, -0.8)[:, None]
    return outcome, np.where(in_first, 1, 2), values


def text_batch(seed: int) -> Trap:
    """The kit with which samples were prepared goes with the label, and features with the kit."""
    outcome, batch, values = batch_and_values(seed)
    kit = np.where(batch == 1, "Qiagen", "Zymo")
    return Trap(genes(values, outcome, kit=kit), {"adjust": "kit"})


def numeric_batch(seed: int) -> Trap:
    """The same, but it is written as the number of a lab, among the features."""
    outcome, batch, values = batch_and_values(seed)
    return Trap(genes(values, outcome, lab=batch), {"adjust": "lab"})


def subjects(seed: int, noise: float) -> tuple[np.ndarray, Outcome, np.ndarray]:
    """30 subjects with 2 rows each: values that belong to the subject, and `noise` of every row."""
    rng = np.random.default_rng([seed, 12])
    subject = np.repeat(np.arange(30), 2)
    values = rng.normal(size=(30, FEATURES))[subject] + noise * rng.normal(size=(60, FEATURES))
    order = rng.permutation(60)
    return values[order], halves(30, rng)[subject][order], subject[order]


def jittered_replicates(seed: int) -> Trap:
    """Every sample was measured twice, with errors half as large as the differences between samples."""
    values, outcome, subject = subjects(seed, noise=0.5)
    return Trap(
        table=genes(values, outcome),
        settings={"groups": "subject"},
        named="groups=COLUMN",
        remedied=genes(values, outcome, subject=[f"S{one:02d}" for one in subject]),
        remark="column added",
    )


def subjects_in_names(seed: int) -> Trap:
    """The samples are called S07_a and S07_b."""
    values, outcome, subject = subjects(seed, noise=1.0)
    visit = pd.Series(subject).groupby(subject).cumcount()
    names = [f"S{one:02d}_{'ab'[which]}" for one, which in zip(subject, visit, strict=True)]
    return Trap(genes(values, outcome, sample=names), {"groups": "stem:sample"})


def noisy_copy(seed: int) -> Trap:
    """A score made from the outcome: ±1 and noise of standard deviation 0.8."""
    rng = np.random.default_rng([seed, 13])
    outcome = halves(60, rng)
    score = np.where(outcome == "case", 1.0, -1.0) + 0.8 * rng.normal(size=60)
    return Trap(genes(rng.normal(size=(60, FEATURES)), outcome, score=score), {"drop": "score"})


def drift(seed: int) -> Trap:
    """A third of the features drift along the rows, with two runs of cases and two of controls."""
    rng = np.random.default_rng([seed, 14])
    outcome = np.repeat(["case", "control", "case", "control"], [20, 10, 10, 20])
    time = np.linspace(-1, 1, 60)
    values = rng.normal(size=(60, FEATURES))
    values[:, :70] += 1.2 * time[:, None] * rng.choice([-1, 1], 70)
    table = genes(values, outcome)
    return Trap(
        table=table,
        settings={"adjust": "order"},
        named="adjust=COLUMN",
        remedied=table.assign(order=np.arange(60)),
        remark="column added",
    )


def depth_in_logs(seed: int) -> Trap:
    """Logarithms of counts with 1.6 times as many reads for the cases."""
    rng = np.random.default_rng([seed, 15])
    outcome = halves(60, rng)
    depth = np.where(outcome == "case", 1.6, 1.0) * rng.lognormal(0, 0.2, 60)
    dispersion = rng.gamma(2.5, 0.4, (60, FEATURES))
    counts = rng.poisson(depth[:, None] * rng.lognormal(4.0, 1.0, FEATURES) * dispersion)
    return Trap(genes(np.log2(counts + 1).round(4), outcome), {"transform": "centre"})


def filtered_by_label(seed: int) -> Trap:
    """The 200 of 5000 features that go best with the labels."""
    rng = np.random.default_rng([seed, 16])
    outcome = halves(60, rng)
    values = rng.normal(size=(60, 5000))
    differences = values[outcome == "case"].mean(axis=0) - values[outcome == "control"].mean(axis=0)
    best = np.argsort(-np.abs(differences))[:FEATURES]
    return Trap(
        genes(values[:, np.sort(best)], outcome), {"candidates": 5000}, named="candidates=NUMBER"
    )


def corrected_with_labels(seed: int) -> Trap:
    """Three batches of 20 with 4, 10 and 16 cases, taken out by a regression that keeps the labels."""
    rng = np.random.default_rng([seed, 17])
    batch = np.repeat(np.arange(3), 20)
    outcome = np.concatenate(
        [rng.permutation(np.repeat(["case", "control"], [n, 20 - n])) for n in (4, 10, 16)]
    )
    values = rng.normal(size=(60, FEATURES)) + rng.normal(size=(3, FEATURES))[batch]
    indicators = np.eye(3)[batch]
    terms = np.column_stack([indicators, outcome == "case"])
    weights = np.linalg.lstsq(terms, values, rcond=None)[0]
    corrected = values - indicators @ weights[:3]
    return Trap(
        table=genes(corrected, outcome),
        settings={"blocks": "batch"},
        named="blocks=COLUMN",
        remedied=genes(values, outcome, batch=batch),
        remark="the table before",
    )


def filled_with_class_means(seed: int) -> Trap:
    """A quarter of all cells were missing and hold the mean of their class."""
    rng = np.random.default_rng([seed, 18])
    outcome = halves(60, rng)
    table = genes(rng.normal(size=(60, FEATURES)).round(3), outcome)
    features = table.columns.drop("outcome")
    with_gaps = table.assign(**table[features].mask(rng.random((60, FEATURES)) < 0.25))
    class_means = with_gaps.groupby("outcome")[features].transform("mean")
    return Trap(
        table=with_gaps.fillna(class_means),
        settings={"missing": "median"},
        named="missing=",
        remedied=with_gaps,
        remark="gaps put back",
    )


TRAPS = {
    "text goes with the label, features with it": text_batch,
    "the same as a number": numeric_batch,
    "replicates with errors": jittered_replicates,
    "subjects in the samples' names": subjects_in_names,
    "a noisy copy of the label": noisy_copy,
    "drift, labels in runs": drift,
    "depth in logarithms": depth_in_logs,
    "features filtered by the labels": filtered_by_label,
    "batches corrected with the labels": corrected_with_labels,
    "gaps filled with class means": filled_with_class_means,
}


if __name__ == "__main__":
    print_answers(TRAPS, int(sys.argv[1]) if len(sys.argv) > 1 else 20)
