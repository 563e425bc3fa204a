"""Level and power of the test for a number, several classes and survival; coverage of what to expect.

    python benchmarks/outcomes.py                 every set that is not there yet, then docs/tables/outcomes.md
    python benchmarks/outcomes.py --table         the table from what is there
    python benchmarks/outcomes.py --design NAME   designs of this name alone
    python benchmarks/outcomes.py --part level    one part alone: level, power, lasso, contrasts or expected

Every set is a table drawn from a design. Sets are stored one by one in benchmarks/results/outcomes.jsonl, so that a run can
be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from permuted_lasso import lasso_pvalue
from scipy.special import chdtrc

from chanceline._io import write_text
from chanceline.prediction.folds import Stream
from chanceline.prediction.repeats import n_tuning_repeats
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.outcomes.cross_validate import hold_out_predictions, predict_samples
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.score_rule import train_score_rule
from chanceline.significance.outcomes.score_shuffles import explained_alone, shuffle_scores
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.significance.outcomes.shuffle_contrasts import read_contrasts, shuffle_contrasts
from chanceline.significance.outcomes.survival import SurvivalOutcome
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "outcomes.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "outcomes.md"
SEED = 40_001
LEVEL = 0.05
N_SHUFFLES = 99
N_STEPS = 6
NEW = 4_000

Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """A table with its outcome, and what is declared about its samples."""

    X: Floats
    outcome: Outcome
    declared: DeclaredRoles = field(default_factory=DeclaredRoles)


def number(values: Floats) -> NumberOutcome:
    return NumberOutcome(name="number", numbers=values)


def classes(codes: NDArray[np.int64]) -> ClassesOutcome:
    names = tuple(f"class {code}" for code in range(int(codes.max()) + 1))
    return ClassesOutcome(name="class", class_names=names, codes=codes)


def survival(times: Floats, censoring: Floats) -> SurvivalOutcome:
    """The event is seen where its time comes before that of censoring."""
    return SurvivalOutcome(
        name="time",
        event_name="event",
        times=np.minimum(times, censoring),
        events=times <= censoring,
    )


def null_outcome(kind: str, rng: Rng, count: int, shift: Floats, style: str) -> Outcome:
    """An outcome that depends on `shift` (samples,) alone."""
    if kind == "number":
        noise = rng.standard_t(2, size=count) if style == "heavy tails" else rng.normal(size=count)
        values = shift + noise
        return number(np.round(values) if style == "ties" else values)
    if kind == "classes":
        return classes(np.digitize(shift + rng.normal(size=count), [-0.6, 0.6]))
    times = rng.exponential(np.exp(-shift))
    censoring = rng.exponential(1.5, size=count)
    if style == "ties":
        times, censoring = np.ceil(4 * times), np.ceil(4 * censoring)
    return survival(times, censoring)


def draw_null(kind: str, style: str, rng: Rng, count: int = 60, width: int = 200) -> Drawn:
    """A table whose columns have nothing to do with the outcome, beyond blocks, groups or a covariate."""
    X = (
        rng.standard_t(2, size=(count, width))
        if style == "heavy tails"
        else rng.normal(size=(count, width))
    )
    if style == "ties":
        X = np.round(X)
    if style == "blocks":
        block = np.arange(count) % 4
        X = X + rng.normal(size=(4, width))[block]
        shift = np.array([-1.0, -0.3, 0.3, 1.0])[block]
        return Drawn(X, null_outcome(kind, rng, count, shift, style), DeclaredRoles(blocks=block))
    if style == "groups":
        group = np.repeat(np.arange(count // 2), 2)
        X = X + 2 * rng.normal(size=(count // 2, width))[group]
        outcome = null_outcome(kind, rng, count // 2, np.zeros(count // 2), style).take(group)
        return Drawn(X, outcome, DeclaredRoles(groups=group))
    if style == "covariate":
        age = rng.normal(size=count)
        if kind != "number":
            # Covariates of classes and times are categories.
            age = np.digitize(age, [-0.5, 0.5]).astype(float)
        X = X + age[:, None]
        return Drawn(
            X, null_outcome(kind, rng, count, age, style), DeclaredRoles(covariates={"age": age})
        )
    return Drawn(X, null_outcome(kind, rng, count, np.zeros(count), style))


def number_of_two(rng: Rng) -> Drawn:
    X = rng.normal(size=(60, 500))
    return Drawn(X, number(0.6 * (X[:, 0] + X[:, 1]) + rng.normal(size=60)))


def three_classes(rng: Rng) -> Drawn:
    codes = np.arange(90) % 3
    X = rng.normal(size=(90, 500))
    X[np.arange(90), codes] += 0.9
    return Drawn(X, classes(codes))


def survival_of_two(rng: Rng) -> Drawn:
    X = rng.normal(size=(75, 500))
    return Drawn(X, times_of(rng, 0.7 * (X[:, 0] - X[:, 1])))


def times_of(rng: Rng, log_hazard: Floats) -> SurvivalOutcome:
    """Exponential times, some 40 % of them cut off."""
    times = rng.exponential(np.exp(-log_hazard))
    return survival(times, rng.exponential(1.6, size=len(log_hazard)))


def number_of_forty(rng: Rng) -> Drawn:
    X = rng.normal(size=(80, 500))
    return Drawn(X, number(0.16 * X[:, :40].sum(axis=1) + rng.normal(size=80)))


def number_with_heavy_noise(rng: Rng) -> Drawn:
    X = rng.normal(size=(60, 500))
    return Drawn(X, number(1.2 * X[:, 0] + rng.standard_t(2, size=60)))


def one_of_four_classes(rng: Rng) -> Drawn:
    codes = np.arange(80) % 4
    X = rng.normal(size=(80, 500))
    X[codes == 3, 0] += 1.3
    return Drawn(X, classes(codes))


def weak_classes(rng: Rng) -> Drawn:
    codes = np.arange(90) % 3
    X = rng.normal(size=(90, 500))
    X[:, :60] += rng.normal(size=(3, 60))[codes] * 0.18
    return Drawn(X, classes(codes))


def survival_of_one(rng: Rng) -> Drawn:
    X = rng.normal(size=(80, 500))
    return Drawn(X, times_of(rng, 0.8 * X[:, 0]))


def survival_of_factor(rng: Rng) -> Drawn:
    """A factor that a tenth of the columns share."""
    X = rng.normal(size=(80, 500))
    factor = rng.normal(size=80)
    X[:, :50] += 0.5 * factor[:, None]
    return Drawn(X, times_of(rng, 0.8 * factor))


KINDS = ("number", "classes", "survival")
STYLES = ("plain", "blocks", "groups", "covariate", "heavy tails", "ties")
NULL_DESIGNS: dict[str, Callable[[Rng], Drawn]] = {
    f"{kind}, {style}": (lambda rng, kind=kind, style=style: draw_null(kind, style, rng))
    for kind in KINDS
    for style in STYLES
}
POWER_DESIGNS: dict[str, Callable[[Rng], Drawn]] = {
    "number, 60 × 500, two features, slope 0.6": number_of_two,
    "three classes, 90 × 500, one feature each, 0.9 SD": three_classes,
    "survival, 75 × 500, two features, log hazard ± 0.7": survival_of_two,
    "number, 80 × 500, forty weak features": number_of_forty,
    "number, 60 × 500, one feature, heavy tails": number_with_heavy_noise,
    "four classes, 80 × 500, one differs in one feature": one_of_four_classes,
    "three classes, 90 × 500, sixty features, 0.18 SD": weak_classes,
    "survival, 80 × 500, one feature, log hazard 0.8": survival_of_one,
    "survival, 80 × 500, a factor of fifty features": survival_of_factor,
}


def pvalue_of_column(losses: Floats) -> float:
    """The share of labellings whose loss is no larger than that of the observed one, row 0."""
    return float(np.mean(losses <= losses[0] + 1e-9))


def run_test(drawn: Drawn, number_of_set: int) -> dict[str, float]:
    """p-values of the test and of what people use, from the same permutations."""
    design = make_score_design(drawn.outcome, drawn.declared)
    columns = make_path_columns(drawn.X, design, intercept=True)
    plan = ShufflePlan(N_SHUFFLES, number_of_set)
    shuffled = shuffle_scores(columns, design, plan, N_STEPS)
    # Asymptotically n R² is χ² with as many degrees of freedom as columns of scores.
    n_times_r_squared = (len(drawn.X) - 1) * explained_alone(columns, design).max()
    n_scores = design.unit_scores.shape[1]
    bonferroni = len(columns.feature_of_column) * chdtrc(n_scores, n_times_r_squared * n_scores)
    return {
        "combined": shuffled.pvalue,
        "best": pvalue_of_column(shuffled.losses.path[:, 0]),
        "sum": pvalue_of_column(shuffled.losses.all_features[:, 0]),
        "bonferroni": float(min(1.0, bonferroni)),
    }


def split_pvalue(drawn: Drawn, number_of_set: int) -> float | None:
    """The p-value of two classes, split at the median; None for classes.

    Times are split as one must without survival: those cut off count as they are.
    """
    if isinstance(drawn.outcome, NumberOutcome):
        values = drawn.outcome.numbers
    elif isinstance(drawn.outcome, SurvivalOutcome):
        values = drawn.outcome.times
    else:
        return None
    labels = np.where(values > np.median(values), 1.0, -1.0)
    design = make_design(labels)
    columns = make_path_columns(drawn.X, design, intercept=True)
    losses, _ = shuffle_paths(columns, design, ShufflePlan(N_SHUFFLES, number_of_set), N_STEPS)
    return losses.permutation_reading().pvalue


def run_level(design: str, set_number: int, rng: Rng) -> dict[str, Any]:
    return run_test(NULL_DESIGNS[design](rng), set_number)


def run_power(design: str, set_number: int, rng: Rng) -> dict[str, Any]:
    drawn = POWER_DESIGNS[design](rng)
    return {**run_test(drawn, set_number), "split": split_pvalue(drawn, set_number)}


def run_lasso(design: str, set_number: int, rng: Rng) -> dict[str, Any]:
    """The p-value of a lasso that is cross-validated and permuted."""
    drawn = POWER_DESIGNS[design](rng)
    return {"lasso": lasso_pvalue(drawn.X, drawn.outcome, N_SHUFFLES, set_number)}


def four_classes(shift: float) -> Callable[[Rng], Drawn]:
    """The last of four classes differs in two features by `shift` standard deviations; the others do not."""

    def draw(rng: Rng) -> Drawn:
        codes = np.arange(60) % 4
        X = rng.normal(size=(60, 50))
        X[codes == 3, :2] += shift
        return Drawn(X, classes(codes))

    return draw


CONTRAST_DESIGNS: dict[str, Callable[[Rng], Drawn]] = {
    "four classes of noise": four_classes(0.0),
    "one of four differs by 1.5 SD": four_classes(1.5),
    "one of four differs by 4 SD": four_classes(4.0),
}


def run_contrasts(design: str, set_number: int, rng: Rng) -> dict[str, Any]:
    """The smallest adjusted p-value of comparisons that are true, and that are false, null hypotheses."""
    drawn = CONTRAST_DESIGNS[design](rng)
    score_design = make_score_design(drawn.outcome)
    plan = ShufflePlan(N_SHUFFLES, set_number)
    runs = shuffle_contrasts(drawn.X, score_design, drawn.outcome.contrasts, plan, N_STEPS)
    names = tuple(str(column) for column in range(drawn.X.shape[1]))
    readings = read_contrasts(runs, names, overall_pvalue=0.0)
    pairs = [item for item in readings if "the rest" not in item.words]
    differ = [item.adjusted_pvalue for item in pairs if "class 3" in item.words]
    alike = [item.adjusted_pvalue for item in pairs if "class 3" not in item.words]
    if design == "four classes of noise":
        alike = [item.adjusted_pvalue for item in readings]
        differ = []
    return {"alike": min(alike), "differ": differ}


def number_design(slope: float, width: int) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, count: int) -> Drawn:
        X = rng.normal(size=(count, width))
        return Drawn(X, number(slope * X[:, :2].sum(axis=1) + rng.normal(size=count)))

    return draw


def classes_design(shift: float, n_classes: int, width: int) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, count: int) -> Drawn:
        codes = np.arange(count) % n_classes
        X = rng.normal(size=(count, width))
        X[np.arange(count), codes] += shift
        return Drawn(X, classes(codes))

    return draw


def survival_design(log_hazard: float, width: int) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, count: int) -> Drawn:
        X = rng.normal(size=(count, width))
        return Drawn(X, times_of(rng, log_hazard * (X[:, 0] - X[:, 1])))

    return draw


EXPECTED_DESIGNS: dict[str, tuple[int, Callable[[Rng, int], Drawn]]] = {
    "number, 60 × 40, slopes 0.7": (60, number_design(0.7, 40)),
    "number, 120 × 200, slopes 0.4": (120, number_design(0.4, 200)),
    "number, 50 × 100, none": (50, number_design(0.0, 100)),
    "four classes, 80 × 40, 1.2 SD": (80, classes_design(1.2, 4, 40)),
    "three classes, 120 × 100, 0.7 SD": (120, classes_design(0.7, 3, 100)),
    "survival, 100 × 40, log hazards ± 0.7": (100, survival_design(0.7, 40)),
    "survival, 60 × 100, log hazards ± 1": (60, survival_design(1.0, 100)),
    "survival, 50 × 100, none": (50, survival_design(0.0, 100)),
}


def rule_samples(drawn: Drawn) -> RuleSamples:
    count = len(drawn.X)
    return RuleSamples(
        X=drawn.X,
        outcome=drawn.outcome,
        terms=np.zeros((count, 0)),
        unit_of_sample=np.arange(count),
        block_of_sample=np.zeros(count, dtype=np.int64),
    )


def run_expected(design: str, set_number: int, rng: Rng) -> dict[str, Any]:
    """What cross-validation says, and what the rule made from all samples does on new ones."""
    count, draw = EXPECTED_DESIGNS[design]
    samples = rule_samples(draw(rng, count))
    held_out = hold_out_predictions(samples, set_number)
    expected = samples.outcome.expectation(held_out)
    rule = train_score_rule(
        samples,
        np.ones(count, dtype=bool),
        [set_number, Stream.INNER_FOLDS],
        n_repeats=n_tuning_repeats(samples.X.size),
    )
    fresh = rule_samples(draw(rng, NEW))
    truth = fresh.outcome.expectation(
        HeldOutPredictions(
            predicted=predict_samples(rule, fresh, samples)[None],
            guessed=rule.guesses(fresh)[None],
            fold_of_sample=np.zeros((1, NEW), dtype=np.int64),
            unit_of_sample=np.arange(NEW),
            n_features=(len(rule.support),),
        )
    )
    measures = {}
    for found, true in zip(expected.measures, truth.measures, strict=True):
        measures[found.name] = [found.value, *found.interval, true.value]
    return {
        "measures": measures,
        "better": expected.better_than_guessing,
        "features": len(rule.support),
    }


class Part(NamedTuple):
    """One part of the table.

    Attributes
    ----------
    stream : of random numbers; parts with the same stream and designs draw the same tables.
    designs : their names.
    n_sets : of each design.
    run : what is stored of one set, from the design, the number of the set and random numbers.
    """

    stream: int
    designs: list[str]
    n_sets: int
    run: Callable[[str, int, Rng], dict[str, Any]]


PARTS: dict[str, Part] = {
    "level": Part(0, list(NULL_DESIGNS), 1_000, run_level),
    "power": Part(1, list(POWER_DESIGNS), 200, run_power),
    "lasso": Part(1, list(POWER_DESIGNS), 200, run_lasso),
    "contrasts": Part(2, list(CONTRAST_DESIGNS), 200, run_contrasts),
    "expected": Part(3, list(EXPECTED_DESIGNS), 100, run_expected),
}


def share(pvalues: list[float | None]) -> str:
    """The share of p-values that reach the level; empty where there are none."""
    found = [pvalue for pvalue in pvalues if pvalue is not None]
    if not found:
        return ""
    return f"{np.mean(np.array(found) <= LEVEL + 1e-12):.3f}"


def level_lines(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Level",
        "",
        "Share of null sets (60 × 200, 99 permutations) called structure at 0.05. Twice the binomial standard error is ±0.014 for",
        "1,000 sets.",
        "",
        f"| outcome | {' | '.join(STYLES)} | sets |",
        f"|---|{'---|' * (len(STYLES) + 1)}",
    ]
    for kind in KINDS:
        cells = []
        sets = []
        for style in STYLES:
            found = [row["combined"] for row in rows if row["design"] == f"{kind}, {style}"]
            cells.append(share(found))
            sets.append(len(found))
        lines.append(f"| {kind} | {' | '.join(cells)} | {min(sets)} each |")
    return lines


METHODS = {
    "combined": "this test",
    "best": "largest r², F or Cox score",
    "sum": "Σ of squares",
    "bonferroni": "best feature, Bonferroni",
    "split": "split at the median",
    "lasso": "lasso",
}


def power_lines(rows: list[dict[str, Any]], lasso_rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Power",
        "",
        "Share of sets called structure at 0.05 (99 permutations, the same for all but the lasso). The largest squared correlation, F or Cox",
        "score and the sum of squares over all features (the global test) are those of the scores that this test permutes, calibrated by",
        "permutation, the best feature by Bonferroni; the median splits numbers and times (whether cut off or not) into two classes for the",
        "test of two classes. A lasso (least squares, multinomial, Cox) is cross-validated in five folds over five penalties, and how far its",
        "best loss lies below guessing is calibrated by permutation. The last column but one is how much the best of the others finds beyond",
        "this test on the same sets, with the standard error of that difference.",
        "",
        f"| design | {' | '.join(METHODS.values())} | best other − this test | sets (lasso) |",
        f"|---|{'---|' * (len(METHODS) + 2)}",
    ]
    lasso_of_set = {(row["design"], row["set"]): row["lasso"] for row in lasso_rows}
    for design in POWER_DESIGNS:
        found = [
            {**row, "lasso": lasso_of_set.get((design, row["set"]))}
            for row in rows
            if row["design"] == design
        ]
        if found:
            n_lasso = sum(row["lasso"] is not None for row in found)
            cells = [share([row[method] for row in found]) for method in METHODS]
            cells += [lead_of_best_other(found), f"{len(found)} ({n_lasso})"]
            lines.append(f"| {design} | {' | '.join(cells)} |")
    return lines


def lead_of_best_other(found: list[dict[str, Any]]) -> str:
    """How much more often the best other method finds structure, on the sets that it has seen."""
    leads = []
    for method in METHODS:
        seen = [row for row in found if row[method] is not None]
        if method == "combined" or not seen:
            continue
        is_found = np.array([row[method] for row in seen]) <= LEVEL + 1e-12
        found_here = np.array([row["combined"] for row in seen]) <= LEVEL + 1e-12
        differences = is_found.astype(float) - found_here
        leads.append((differences.mean(), differences.std() / np.sqrt(len(seen))))
    lead, standard_error = max(leads)
    return f"{lead:+.3f} ± {standard_error:.3f}"


def contrast_lines(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Which classes differ",
        "",
        "Four classes, 60 × 50, adjusted p-values at 0.05 (99 shuffles). Share of sets in which some comparison of classes that do not",
        "differ is called different, and share of the comparisons of classes that differ that are.",
        "",
        "| design | some false | true found | sets |",
        "|---|---|---|---|",
    ]
    for design in CONTRAST_DESIGNS:
        found = [row for row in rows if row["design"] == design]
        if found:
            differ = [pvalue for row in found for pvalue in row["differ"]]
            cells = [share([row["alike"] for row in found]), share(differ)]
            lines.append(f"| {design} | {' | '.join(cells)} | {len(found)} |")
    return lines


def expected_lines(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## What to expect",
        "",
        "What cross-validation says of the rule, against the truth on 4,000 new samples: means, the mean length of the interval and the",
        "share of sets in which it contains the truth; and the share in which the rule is called better than guessing. How many samples an",
        "interval counts was fixed before on other designs.",
        "",
        "| design | measure | true | cross-validated | length | coverage | better | features | sets |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for design in EXPECTED_DESIGNS:
        found = [row for row in rows if row["design"] == design]
        if not found:
            continue
        better = np.mean([row["better"] for row in found])
        features = np.median([row["features"] for row in found])
        for name in found[0]["measures"]:
            value, low, high, truth = np.array([row["measures"][name] for row in found]).T
            covered = np.mean((low <= truth) & (truth <= high))
            lines.append(
                f"| {design} | {name} | {truth.mean():.2f} | {value.mean():.2f} | {np.mean(high - low):.2f} | {covered:.2f} "
                f"| {better:.2f} | {features:.0f} | {len(found)} |"
            )
    return lines


def table(rows: list[dict[str, Any]]) -> str:
    by_part = {part: [row for row in rows if row["part"] == part] for part in PARTS}
    lines = ["By `python benchmarks/outcomes.py`.", ""]
    lines += [
        *level_lines(by_part["level"]),
        "",
        *power_lines(by_part["power"], by_part["lasso"]),
        "",
    ]
    lines += [*contrast_lines(by_part["contrasts"]), "", *expected_lines(by_part["expected"])]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--part", choices=list(PARTS), action="append")
    parser.add_argument("--design", action="append", help="only designs of which this is the name")
    options = parser.parse_args()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {(row["part"], row["design"], row["set"]) for row in rows}
    for part in [] if options.table else options.part or list(PARTS):
        stream, designs, n_sets, run = PARTS[part]
        for set_number in range(n_sets):
            for place, design in enumerate(designs):
                is_asked_for = options.design is None or design in options.design
                if not is_asked_for or (part, design, set_number) in done:
                    continue
                rng = np.random.default_rng([SEED, stream, place, set_number])
                row = {"part": part, "design": design, "set": set_number}
                row.update(run(design, set_number, rng))
                rows.append(row)
                with STORE.open("a") as store:
                    store.write(json.dumps(row) + "\n")
    write_text(TABLE, table(rows))


if __name__ == "__main__":
    main()
