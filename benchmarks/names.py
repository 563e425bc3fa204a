"""Who is named in the first line: features that have nothing to do with the labels, before and after.

    python benchmarks/names.py              every design, then docs/tables/names.md
    python benchmarks/names.py --sets 20    fewer sets of each

Before: the features of the proof that gave the p-value; where shuffles did, those of the number of features with the smallest
adjusted p-value. After: the smallest set that convinces by itself, and beside it the features that add to it. Both are read from the
same result, and the verdict is the same. A first line is false if one of the features it names has no part in the labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chanceline import separation_test
from chanceline._io import write_text
from chanceline.significance.result import SeparationTest
from chanceline.significance.stages import Stage
from chanceline.significance.verdict import Verdict

TABLE = Path(__file__).resolve().parent.parent / "docs" / "tables" / "names.md"
SEED = 43_000
SETS = 100
SHUFFLES = 999
SHAPES = ((100, 300), (60, 500))  # samples, features

Floats = NDArray[np.float64]
Rng = np.random.Generator
Shape = tuple[int, int]


@dataclass(frozen=True)
class Design:
    """A kind of table: the first `n_true` columns go with the labels."""

    name: str
    n_true: int
    draw: Callable[[Rng, Shape], tuple[Floats, Floats]]


@dataclass(frozen=True)
class FirstLine:
    """Features by their columns: named before, named now, and those that add to the latter."""

    before: list[int]
    named: list[int]
    added: list[int]


def shifted(rng: Rng, shape: Shape, n_true: int, distance: float) -> tuple[Floats, Floats]:
    """Balanced classes whose means lie so many standard deviations apart in the first columns."""
    n_samples, _ = shape
    y = rng.permutation(np.repeat([1.0, -1.0], n_samples // 2))
    X = rng.normal(size=shape)
    X[:, :n_true] += distance / 2 * y[:, None]
    return X, y


def halfspace(rng: Rng, shape: Shape) -> tuple[Floats, Floats]:
    """The sign of the sum of two columns: they separate together, without error."""
    X = rng.normal(size=shape)
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)


def shift_design(n_true: int, distance: float) -> Design:
    """`one true, 1.5 SD`."""
    number = {0: "none", 1: "one true", 3: "three true"}[n_true]
    name = f"{number}, {distance} SD" if n_true else number
    return Design(name, n_true, lambda rng, shape: shifted(rng, shape, n_true, distance))


DESIGNS = (
    shift_design(1, 1.0),
    shift_design(1, 1.5),
    shift_design(1, 2.0),
    shift_design(3, 0.9),
    shift_design(3, 1.2),
    Design("two true, noiseless", 2, halfspace),
    shift_design(0, 0.0),
)


def names_by_smallest_p(result: SeparationTest) -> tuple[str, ...]:
    """The choice of former versions: of the proof that decided, or with the smallest p-value."""
    if result.stage is not Stage.SHUFFLES:
        return next(proof.features for proof in result.proofs if proof.stage is result.stage)
    surest = min(result.front, key=lambda point: (point.pvalue, point.k))
    is_spread = result.spread.pvalue < min(surest.pvalue, result.settings.level)
    return () if is_spread else surest.features


def first_line(X: Floats, y: Floats) -> FirstLine | None:
    """The features named for one table; None where structure is not found."""
    names = [str(column) for column in range(X.shape[1])]
    result = separation_test(X, y, feature_names=names, permutations=SHUFFLES, expected_error=False)
    if result.verdict is not Verdict.STRUCTURE:
        return None
    return FirstLine(
        before=[int(name) for name in names_by_smallest_p(result)],
        named=[int(name) for name in result.evidence.features],
        added=[int(addition.feature) for addition in result.evidence.additions],
    )


def false_share(sets_named: Iterable[list[int]], n_true: int) -> str:
    """Per cent of the first lines that name a column behind the first `n_true`."""
    has_false_name = [any(column >= n_true for column in columns) for columns in sets_named]
    return f"{100 * np.mean(has_false_name):.0f}"


def mean_size(sets_named: Iterable[list[int]]) -> str:
    return f"{np.mean([len(columns) for columns in sets_named]):.2f}"


def cells(design: Design, shape: Shape, n_sets: int) -> list[str]:
    """One row of the table."""
    lines = []
    for number in range(n_sets):
        rng = np.random.default_rng([SEED, *shape, number])
        line = first_line(*design.draw(rng, shape))
        if line is not None:
            lines.append(line)
    n_samples, n_features = shape
    row = [design.name, f"{n_samples} × {n_features}", f"{len(lines)} of {n_sets}"]
    if not lines:
        return [*row, *["–"] * 6]
    before = [line.before for line in lines]
    named = [line.named for line in lines]
    with_additions = [line.named + line.added for line in lines]
    false_names = [false_share(names, design.n_true) for names in (before, named, with_additions)]
    sizes = [mean_size(names) for names in (before, named, with_additions)]
    return row + false_names + sizes


def table(rows: Iterable[list[str]], n_sets: int) -> str:
    """The page: what is counted, and a row for every design and shape."""
    heading = [
        "columns with a part in the labels",
        "table",
        "structure found",
        "false before, %",
        "false now, %",
        "with additions, %",
        "K before",
        "K now",
        "with additions",
    ]
    text = (
        f"Of {n_sets} tables of each kind: how often structure is found, how many of these first lines name a column that has no "
        "part in\nthe labels, and the mean number of columns named, by `python benchmarks/names.py`. Before: the set with the smallest "
        "p-value; now:\nthe smallest set that convinces by itself; with additions: and the columns named beside it (“with g7 as "
        f"well”). The verdict is the\nsame in all three. {SHUFFLES} shuffles; SD: distance of the class means.\n\n"
    )
    lines = [heading, ["---"] * len(heading), *rows]
    return text + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    n_sets = parser.parse_args().sets
    rows = []
    for shape in SHAPES:
        for design in DESIGNS:
            rows.append(cells(design, shape, n_sets))
            print(" | ".join(rows[-1]), flush=True)
    write_text(TABLE, table(rows, n_sets))


if __name__ == "__main__":
    main()
