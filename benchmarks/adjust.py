"""How often `adjust` alarms where the label and the features depend on the covariates alone, and how often it finds what is there.

    python benchmarks/adjust.py [--sets 500] [--samples 100]      writes docs/tables/adjust.md

A confounder drives a fifth of 60 features and the label; the covariates that the test is told of determine the confounder, in a
shape that each study has of its own. "Other shapes" were run once, on twenty sets of another seed, before the last changes of the
adjustment; "fresh shapes" not before everything was fixed. "lines and squares" is the model without any of the terms that the
adjustment takes up.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._io import write_text
from chanceline.prediction.covariates import make_encoder, read_columns
from chanceline.significance.adjustment import Adjustment
from chanceline.significance.config import TestSettings
from chanceline.significance.covariate_model import fit_covariate_model, residual_basis
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import NullDesign, make_design
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "adjust.md"
LEVEL = 0.05
SHUFFLES = 99
FEATURES = 60
SHARE_DRIVEN = 0.2
SEED = 39_000

Floats = NDArray[np.float64]
Rng = np.random.Generator


class Study(NamedTuple):
    """What drives the label and the features of each unit, and what the test is told of.

    driver : (units,) the confounder.
    covariates : by name, one value for each unit.
    rows_of_unit : samples with the same label and covariates.
    blocks : (units,) within which labels are exchanged; None for no blocks.
    """

    driver: Floats
    covariates: dict[str, NDArray[Any]]
    rows_of_unit: int = 1
    blocks: NDArray[Any] | None = None


Shape = Callable[[Rng, int], Study]


def of_one(function: Callable[[Floats], Floats]) -> Shape:
    """The confounder is a function of age, in standard deviations."""

    def study(rng: Rng, n_units: int) -> Study:
        z = rng.normal(size=n_units)
        return Study(function(z), {"age": 50 + 10 * z})

    return study


def of_two(function: Callable[[Floats, Floats], Floats]) -> Shape:
    """The confounder is a function of age and weight, in standard deviations."""

    def study(rng: Rng, n_units: int) -> Study:
        z, w = rng.normal(size=(2, n_units))
        return Study(function(z, w), {"age": 50 + 10 * z, "weight": 70 + 9 * w})

    return study


def collinear(rng: Rng, n_units: int) -> Study:
    z, w = rng.normal(size=(2, n_units))
    return Study(z, {"age": z, "years": z + 0.1 * w})


def ten(rng: Rng, n_units: int) -> Study:
    values = rng.normal(size=(n_units, 10))
    return Study(values[:, :3].sum(axis=1), {f"c{j}": values[:, j] for j in range(10)})


def rare_sites(rng: Rng, n_units: int) -> Study:
    """Two large sites and ten with three in a hundred each, and age."""
    site = rng.choice(12, size=n_units, p=[0.4, 0.3, *[0.03] * 10])
    z = rng.normal(size=n_units)
    names = np.array([f"site {k}" for k in site])
    return Study(rng.normal(size=12)[site] + z, {"site": names, "age": z})


def groups(rng: Rng, n_units: int) -> Study:
    z = rng.normal(size=n_units)
    return Study(z, {"age": z}, rows_of_unit=2)


def blocks(rng: Rng, n_units: int) -> Study:
    z, number = rng.normal(size=n_units), np.arange(n_units) % 4
    return Study(z + 0.5 * number, {"age": z}, blocks=number)


def stepped_groups(rng: Rng, n_units: int) -> Study:
    z = rng.normal(size=n_units)
    return Study(np.sign(z - 0.3), {"age": z}, rows_of_unit=2)


def skewed(function: Callable[[Floats], Floats], exponent: float) -> Shape:
    """A log-normal covariate, of whose logarithm the confounder is a function."""

    def study(rng: Rng, n_units: int) -> Study:
        z = rng.normal(size=n_units)
        return Study(function(z), {"crp": np.exp(exponent * z)})

    return study


def opposite_by_sex(rng: Rng, n_units: int) -> Study:
    z, is_male = rng.normal(size=n_units), rng.random(n_units) < 0.5
    return Study(np.where(is_male, z, -z), {"age": z, "sex": np.where(is_male, "m", "f")})


def step_by_sex(rng: Rng, n_units: int) -> Study:
    z, is_male = rng.normal(size=n_units), rng.random(n_units) < 0.5
    driver = np.sign(z - np.where(is_male, -0.6, 0.6))
    return Study(driver, {"age": z, "sex": np.where(is_male, "m", "f")})


def even_wave(rng: Rng, n_units: int) -> Study:
    """One and a half periods, which begin anywhere."""
    position, begin = rng.random(n_units), rng.random()
    return Study(np.sin(2 * np.pi * (1.5 * position + begin)), {"hour": 24 * position})


def cauchy(rng: Rng, n_units: int) -> Study:
    values = rng.standard_cauchy(n_units)
    return Study(np.tanh(values), {"dose": values})


def three_together(rng: Rng, n_units: int) -> Study:
    values = rng.normal(size=(n_units, 3))
    return Study(np.sign(values.prod(axis=1)), {f"c{j}": values[:, j] for j in range(3)})


def with_error(rng: Rng, n_units: int) -> Study:
    z, w = rng.normal(size=(2, n_units))
    return Study(z, {"age": z + 0.5 * w})


LINES_ARE_ENOUGH: dict[str, Shape] = {
    "line": of_one(lambda z: z),
    "cubic": of_one(lambda z: z**3),
    "two covariates, collinear": collinear,
    "ten covariates": ten,
    "rare categories": rare_sites,
    "groups of two rows": groups,
    "four blocks": blocks,
}
LOOKED_AT: dict[str, Shape] = {
    "step": of_one(lambda z: np.sign(z - 0.3)),
    "sine": of_one(lambda z: np.sin(3 * z)),
    "product of two covariates": of_two(lambda z, w: z * w),
    "log-normal covariate": skewed(lambda z: z, exponent=1.5),
    "two steps": of_one(lambda z: np.where(np.abs(z - 0.1) < 0.6, 1.0, -1.0)),
    "both above a cut": of_two(lambda z, w: np.where((z > 0) & (w > 0), 1.0, 0.0)),
    "one above a cut, not both": of_two(lambda z, w: np.sign(z * w)),
    "opposite in two sexes": opposite_by_sex,
}
SEEN_EARLY: dict[str, Shape] = {
    "exponential": of_one(np.exp),
    "V": of_one(lambda z: np.abs(z + 0.2)),
    "bell": of_one(lambda z: np.exp(-4 * (z - 0.5) ** 2)),
    "line above a cut": of_one(lambda z: np.maximum(z - 0.8, 0)),
    "step in groups of two rows": stepped_groups,
    "step of a log-normal covariate": skewed(lambda z: np.sign(z + 0.5), exponent=1.0),
    "Cauchy covariate": cauchy,
    "square above a cut of the other": of_two(lambda z, w: np.where(z > 0.2, w**2, 0.0)),
}
FRESH: dict[str, Shape] = {
    "plateau between two values": of_one(lambda z: np.clip(z, -0.4, 0.6)),
    "two bells": of_one(lambda z: np.exp(-6 * (np.abs(z) - 1) ** 2)),
    "the larger of two": of_two(np.maximum),
    "wave of a difference": of_two(lambda z, w: np.cos(1.5 * (z - w))),
    "steep growth": of_one(lambda z: 1 / (1 + np.exp(-6 * (z - 0.5)))),
    "wave of an evenly spread covariate": even_wave,
    "step of a sum of two": of_two(lambda z, w: np.sign(z + w)),
    "step at another age in each sex": step_by_sex,
}
OUT_OF_REACH: dict[str, Shape] = {
    "sawtooth": of_one(lambda z: np.mod(1.2 * z, 1.0)),
    "disc": of_two(lambda z, w: np.where(z**2 + w**2 < 1.4, 1.0, 0.0)),
    "product of three signs": three_together,
    "covariate measured with error": with_error,
}


class Set(NamedTuple):
    """One simulated table: X (samples, features), labels y ±1 (samples,), and what is declared."""

    X: Floats
    y: Floats
    declared: DeclaredRoles


def simulate(shape: Shape, seed: int, n_samples: int, signal: float = 0.0) -> Set:
    """The driver in a fifth of the features and in the label; `signal`: three other features have a part in the label."""
    rng = np.random.default_rng([SEED, seed])
    study = shape(rng, n_samples)
    driver = (study.driver - study.driver.mean()) / study.driver.std()
    row = np.repeat(np.arange(n_samples), study.rows_of_unit)
    own = rng.normal(size=(n_samples, FEATURES))
    own[:, : int(SHARE_DRIVEN * FEATURES)] += driver[:, None]
    log_odds = 1.5 * driver + signal * own[:, -3:].sum(axis=1)
    y = np.where(rng.random(n_samples) < 1 / (1 + np.exp(-log_odds)), 1.0, -1.0)
    X = own[row]
    if study.rows_of_unit > 1:
        X = X + 0.5 * rng.normal(size=X.shape)
    declared = DeclaredRoles(
        covariates={name: values[row] for name, values in study.covariates.items()},
        groups=row if study.rows_of_unit > 1 else None,
        blocks=None if study.blocks is None else study.blocks[row],
    )
    return Set(X, y[row], declared)


def lines_and_squares(table: Set, design: NullDesign) -> NullDesign:
    """The design with the model that takes up no further terms."""
    columns = read_columns(table.declared.covariates, len(table.y))
    encoder = make_encoder(columns, adjusting=True)
    in_blocks = design.sizes.blocks is not None and table.declared.blocks is None
    if in_blocks:
        # Categories are blocks here.
        encoder = make_encoder(
            {name: values for name, values in columns.items() if values.dtype.kind == "f"},
            adjusting=True,
        )
    terms = encoder.transform(columns, len(table.y))
    sample_of_unit = np.unique(design.unit_of_sample, return_index=True)[1]
    model = fit_covariate_model(
        names=encoder.names,
        terms=terms[sample_of_unit],
        labels=design.unit_labels,
        block_of_unit=design.block_of_unit,
    )
    basis = residual_basis(terms, design.block_of_sample)
    plain = Adjustment(model=model, basis=basis, added=(), left_out=None, missed_dependences=())
    return NullDesign(
        y=design.y,
        unit_of_sample=design.unit_of_sample,
        unit_labels=design.unit_labels,
        block_of_unit=design.block_of_unit,
        null=design.null,
        adjustment=plain,
    )


def is_alarm(table: Set, design: NullDesign, seed: int) -> bool:
    """Whether p ≤ 0.05."""
    columns = make_path_columns(table.X, design, True)
    draws, _ = shuffle_paths(columns, design, ShufflePlan(SHUFFLES, seed), TestSettings().largest)
    return draws.permutation_reading().pvalue <= LEVEL


class Shares(NamedTuple):
    """Of the sets: alarms of the plain model and of ours, and sets with a warning of the check."""

    plain: float
    adjusted: float
    warned: float


def measure(shape: Shape, sets: int, n_samples: int, signal: float = 0.0) -> Shares:
    outcomes = []
    for seed in range(sets):
        table = simulate(shape, seed, n_samples, signal)
        design = make_design(table.y, table.declared, X=table.X)
        outcomes.append(
            (
                is_alarm(table, lines_and_squares(table, design), seed),
                is_alarm(table, design, seed),
                not design.adjustment.is_complete,
            )
        )
    return Shares(*np.mean(outcomes, axis=0).tolist())


HEAD = ["| {} | lines and squares | `adjust` | warned |", "|---|---|---|---|"]


def rows(title: str, shapes: dict[str, Shape], **options: Any) -> list[str]:
    """The rows of a table, one for each shape."""
    lines = [HEAD[0].format(title), HEAD[1]]
    for name, shape in shapes.items():
        shares = measure(shape, **options)
        lines.append(
            f"| {name} | {shares.plain:.3f} | {shares.adjusted:.3f} | {shares.warned:.2f} |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    size = {"sets": arguments.sets, "n_samples": arguments.samples}
    lines = [
        f"{arguments.sets} sets of {arguments.samples} × {FEATURES}, {SHUFFLES} shuffles: share of p ≤ {LEVEL} where nothing but the covariates "
        "matters, and share of sets in which the check of the fit warns.",
        "",
    ]
    lines += rows("lines are enough", LINES_ARE_ENOUGH, **size)
    lines += rows("they are not", LOOKED_AT, **size)
    lines += rows("other shapes", SEEN_EARLY, **size)
    lines += rows("fresh shapes", FRESH, **size)
    lines += rows("out of reach", OUT_OF_REACH, **size)
    small = {"sets": arguments.sets, "n_samples": 40}
    lines += rows(
        "40 samples",
        {"line": of_one(lambda z: z), "ten covariates": ten, "step": LOOKED_AT["step"]},
        **small,
    )
    lines += ["The same where three features matter as well (power):", ""]
    lines += rows(
        "three features", {"line": of_one(lambda z: z), "ten covariates": ten}, signal=0.8, **size
    )
    write_text(arguments.table, "\n".join(lines))


if __name__ == "__main__":
    main()
