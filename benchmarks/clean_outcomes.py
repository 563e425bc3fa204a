"""How often a table that hides nothing is warned of, where its outcome is a number, four classes or a time.

    python benchmarks/clean_outcomes.py [SETS]        20 tables of each kind by default; writes docs/tables/clean-outcomes.md

Tables are noise or real structure, of numbers, counts or logarithms of these, with gaps, dates, words and whole numbers that have nothing to do with
the outcome. Only what the checks say is looked at; nothing is tested. `clean_tables.py` does the same for two classes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from chanceline._io import write_text
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.outcomes.make_outcome import outcome_of_table
from chanceline.significance.outcomes.run import with_outcome_findings
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.tables.dataset import Finding, Severity
from chanceline.tables.outcome_table import OutcomeNames, OutcomeTable, load_any_outcome
from chanceline.tables.settings import TableSettings

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "clean-outcomes.md"
FIRST_SEED = 5000  # smaller ones were looked at when the limits of the checks were chosen
LETTERS_SHOWN = 90

Rng = np.random.Generator
Floats = np.ndarray
Table = pd.DataFrame


def named(values: Floats) -> Table:
    return pd.DataFrame(values).add_prefix("m")


def noise(rng: Rng, severity: Floats) -> Table:
    return named(rng.normal(size=(len(severity), 300)))


def counts(rng: Rng, severity: Floats) -> Table:
    """Counts of different depth, which has nothing to do with the outcome."""
    size = len(severity)
    means = rng.lognormal(0, 0.3, (size, 1)) * rng.lognormal(3, 1, 250)
    return named(rng.poisson(means * rng.gamma(2, 0.5, (size, 250))))


def logarithms_of_counts(rng: Rng, severity: Floats) -> Table:
    return np.log2(counts(rng, severity) + 1).round(3)


def three_factors(rng: Rng, severity: Floats) -> Table:
    """Three common factors, far larger than what each feature has for itself."""
    size = len(severity)
    factors = rng.normal(size=(size, 3)) @ rng.normal(size=(3, 150))
    return named(factors + 0.3 * rng.normal(size=(size, 150)))


def spectra(rng: Rng, severity: Floats) -> Table:
    """Sums of broad peaks, two of which go with the outcome."""
    heights = rng.lognormal(0, 0.5, (len(severity), 12))
    heights[:, :2] *= np.exp(0.3 * severity[:, None])
    places = np.linspace(0, 1, 120)
    peaks = np.exp(-((places - rng.random((12, 1))) ** 2) / 0.005)
    return named(heights @ peaks + 0.01 * rng.random((len(severity), 120)))


def many_good_features(rng: Rng, severity: Floats) -> Table:
    """Real structure in a third of the features."""
    values = rng.normal(size=(len(severity), 240))
    values[:, :80] += severity[:, None] * rng.normal(0, 0.4, 80)
    return named(values)


def one_good_feature(rng: Rng, severity: Floats) -> Table:
    values = rng.standard_t(4, size=(len(severity), 200))
    values[:, 0] += severity
    return named(values.round(2))


def clinical(rng: Rng, severity: Floats) -> Table:
    """Thirty measurements that all go with the outcome, some far better than others."""
    effects = rng.choice([-1, 1], 30) * rng.uniform(0.2, 1.5, 30)
    return named(severity[:, None] * effects + rng.normal(size=(len(severity), 30)))


def words_and_dates(rng: Rng, severity: Floats) -> Table:
    """A kit that changes the features, days and grades, none of which goes with the outcome."""
    size = len(severity)
    kit = rng.integers(0, 3, size)
    values = rng.normal(size=(size, 200)) + rng.normal(0, 0.7, (3, 200))[kit]
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 300, size), unit="D")
    return named(values).assign(
        kit=np.array(["Qiagen", "Zymo", "Roche"])[kit],
        day=days.strftime("%Y-%m-%d"),
        grade=rng.integers(1, 4, size),
    )


def gaps(rng: Rng, severity: Floats) -> Table:
    """Gaps at random, more of them in some rows and some columns."""
    size = len(severity)
    chance = rng.uniform(0, 0.15, (size, 1)) + rng.uniform(0, 0.15, 100)
    return named(rng.normal(size=(size, 100))).mask(rng.random((size, 100)) < chance)


def few_samples(rng: Rng, severity: Floats) -> Table:
    return named(rng.lognormal(0, 1, (len(severity), 500)).round(2)).iloc[:24]


def subtypes(rng: Rng, severity: Floats) -> Table:
    """Five kinds of tissue one after the other, which have nothing to do with the outcome."""
    tissue = np.arange(len(severity)) * 5 // len(severity)
    return named(rng.normal(size=(len(severity), 400)) + rng.normal(0, 0.7, (5, 400))[tissue])


KINDS: list[Callable[[Rng, Floats], Table]] = [
    noise,
    counts,
    logarithms_of_counts,
    three_factors,
    spectra,
    many_good_features,
    one_good_feature,
    clinical,
    words_and_dates,
    gaps,
    few_samples,
    subtypes,
]


def number_of(rng: Rng, severity: Floats) -> Table:
    return pd.DataFrame({"dose": np.round(severity + 0.5 * rng.normal(size=len(severity)), 4)})


def classes_of(rng: Rng, severity: Floats) -> Table:
    """Four classes, by severity; the table is sorted by them, as many are."""
    stages = np.array(["none", "mild", "severe", "worst"])
    return pd.DataFrame({"stage": stages[np.arange(len(severity)) * 4 // len(severity)]})


def survival_of(rng: Rng, severity: Floats) -> Table:
    times = rng.exponential(np.exp(-severity))
    followed = rng.exponential(1.6, size=len(severity))
    return pd.DataFrame(
        {"months": np.minimum(times, followed), "relapse": (times <= followed).astype(int)}
    )


OUTCOMES: dict[str, tuple[Callable[[Rng, Floats], Table], OutcomeNames]] = {
    "a number": (number_of, OutcomeNames(label="dose")),
    "four classes": (classes_of, OutcomeNames(label="stage")),
    "survival": (survival_of, OutcomeNames(time="months", event="relapse")),
}


def draw(outcome: str, kind: Callable[[Rng, Floats], Table], seed: int) -> Table:
    """A table of 80 samples; that of four classes is sorted by severity."""
    rng = np.random.default_rng([seed, list(OUTCOMES).index(outcome), KINDS.index(kind)])
    severity = rng.normal(size=80)
    if outcome == "four classes":
        severity = np.sort(severity)
    features = kind(rng, severity)
    answers = OUTCOMES[outcome][0](rng, severity[: len(features)])
    return pd.concat([features, answers], axis=1)


def warnings_about(table: Table, names: OutcomeNames) -> list[Finding]:
    """The warnings that a test of the table would show."""
    settings = TableSettings(missing="median")
    read = load_any_outcome(table, names, settings)
    assert isinstance(read, OutcomeTable)
    outcome = outcome_of_table(read)
    design = make_score_design(outcome, DeclaredRoles())
    examined = with_outcome_findings(read, outcome, design, has_all_candidates=True)
    return [item for item in examined.findings if item.severity == Severity.WARNING]


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    lines = [
        f"By `python benchmarks/clean_outcomes.py`: of {n_sets} simulated tables that hide nothing, how many get a warning.",
        "",
        f"| tables | {' | '.join(OUTCOMES)} |",
        f"|---|{'---|' * len(OUTCOMES)}",
    ]
    total = 0
    for kind in KINDS:
        cells = []
        for outcome, (_, names) in OUTCOMES.items():
            n_warned = 0
            for set_number in range(n_sets):
                warnings = warnings_about(draw(outcome, kind, FIRST_SEED + set_number), names)
                n_warned += bool(warnings)
                for warning in warnings:
                    print(kind.__name__, outcome, warning.message[:LETTERS_SHOWN], flush=True)
            cells.append(str(n_warned))
            total += n_warned
        lines.append(f"| {kind.__name__.replace('_', ' ')} | {' | '.join(cells)} |")
    n_tables = n_sets * len(KINDS) * len(OUTCOMES)
    lines += ["", f"Together {total} of {n_tables}."]
    write_text(TABLE, "\n".join(lines) + "\n")
    print(lines[-1])


if __name__ == "__main__":
    main()
