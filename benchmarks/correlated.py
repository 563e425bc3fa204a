"""Variables that `auto` needs where columns are correlated, beside the same columns made independent.

python benchmarks/correlated.py                  writes docs/tables/correlated.md
python benchmarks/correlated.py --with-errors    writes docs/tables/correlated-errors.md: searches that allow errors, and `front`

Columns are made independent by shuffling each by itself. Labels are fair coins. The published tables are read from
../shared/data, and left out where it is absent; peers (benchmarks/search.py) that are not installed are left out too.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import search as peers_module

import chanceline
from chanceline._io import write_text
from chanceline.perceptron import relatives
from chanceline.theory.correlated import correlated_groups

TREE = Path(__file__).resolve().parents[1]
TABLE = TREE / "docs" / "tables" / "correlated.md"
TABLE_WITH_ERRORS = TREE / "docs" / "tables" / "correlated-errors.md"
DATA = TREE.parent / "shared" / "data"
FIRST_SEED = 90_000  # none of these seeds was used while the search was changed
SIZE = 128  # N = P of the pairs
SMALLER_SIZE = 64  # N = P of other designs
PROVEN_SIZE = 24  # N = P, where the minimum can be proven
N_PROVEN = 30  # problems for each proven cell
OWN_SHARE = 0.1  # of a column's variance, in the factor model
PEER_CORRELATION = 0.98
OWN_METHODS = ("auto", "omp", "reweighted-l1", "l1")  # beside the peers
DESIGN_COLUMNS = [
    "columns",
    "N = P",
    "independent",
    "`auto`",
    "more",
    "theory, N → ∞",
    "ranked by gradient alone",
    "CPU time of both",
]
PROVEN_COLUMNS = [
    "columns",
    "proven",
    "mean minimum",
    "`auto` misses",
    "ranked by gradient alone misses",
]

ERRORS_COLUMNS = [
    "columns",
    "search",
    "relatives",
    "gradient alone",
    "difference",
    "CPU time of both",
]
SIZE_WITH_ERRORS = 40  # N = P
ALLOWED_ERRORS = 2
N_DESIGNS_WITH_ERRORS = 2  # of all, the first: pairs
FRONT_SIZE = 6  # largest number of variables of a front

Problem = tuple[np.ndarray, np.ndarray]


class Design(NamedTuple):
    """A kind of table.

    Attributes
    ----------
    name : for the table of results.
    draw : (n, generator) → X, (n, n): as many samples as columns.
    size : n, if minima are not to be proven.
    pair_correlation : r, if the columns come in pairs; theory knows what these need.
    """

    name: str
    draw: Callable[[int, np.random.Generator], np.ndarray]
    size: int
    pair_correlation: float | None = None


class Sizes(NamedTuple):
    """Variables needed on every problem of a design, and the mean CPU time of a search."""

    variables: np.ndarray
    seconds: float


# Designs.


def groups(n: int, generator: np.random.Generator, *, size: int, correlation: float) -> np.ndarray:
    """Gaussian columns in groups of `size`; any two of a group have this correlation."""
    n_groups = -(-n // size)
    common = np.repeat(generator.standard_normal((n, n_groups)), size, axis=1)[:, :n]
    own = generator.standard_normal((n, n))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def factors(n: int, generator: np.random.Generator, *, count: int) -> np.ndarray:
    """Gaussian columns that are mixtures of `count` common factors, and OWN_SHARE of their own."""
    loadings = generator.standard_normal((count, n))
    loadings /= np.linalg.norm(loadings, axis=0)
    common = generator.standard_normal((n, count)) @ loadings
    return np.sqrt(1 - OWN_SHARE) * common + np.sqrt(OWN_SHARE) * generator.standard_normal((n, n))


def resampled(n: int, generator: np.random.Generator, *, name: str) -> np.ndarray:
    """`n` samples and `n` columns of a published table, drawn by lot; columns standardised."""
    numbers = pd.read_csv(DATA / f"{name}.csv.gz").iloc[:, :-1].to_numpy(float)
    samples = generator.choice(numbers.shape[0], n, replace=False)
    varying = np.flatnonzero(numbers[samples].std(axis=0) > 0)
    columns = generator.choice(varying, n, replace=False)
    chosen = numbers[np.ix_(samples, columns)]
    return (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)


def designs() -> list[Design]:
    """All designs, those of the published tables where these are."""
    listed = []
    for r in (0.98, 0.9):
        draw = partial(groups, size=2, correlation=r)
        listed.append(Design(f"pairs, r = {r:g}", draw, SIZE, pair_correlation=r))
    fives = partial(groups, size=5, correlation=0.98)
    listed.append(Design("groups of five, r = 0.98", fives, SMALLER_SIZE))
    listed.append(Design("three factors", partial(factors, count=3), SMALLER_SIZE))
    for name, size in (("breast_gravier", SMALLER_SIZE), ("sonar", 60), ("wdbc", 30)):
        if (DATA / f"{name}.csv.gz").exists():
            listed.append(Design(name, partial(resampled, name=name), size))
    return listed


def problem_of(design: Design, size: int, seed: int) -> Problem:
    """A table of the design with `size` samples and columns, and labels by fair coin."""
    generator = np.random.default_rng(seed)
    X = design.draw(size, generator)
    y = np.where(generator.random(size) < 0.5, -1.0, 1.0)
    return X, y


def made_independent(X: np.ndarray, y: np.ndarray, seed: int) -> Problem:
    """The same columns, each shuffled by itself, and the same labels."""
    return np.random.default_rng(seed).permuted(X, axis=0), y


# Measurements.


@contextmanager
def without_relatives() -> Iterator[None]:
    """Let swaps rank all columns by their gradient alone."""
    limit = relatives.MAX_RELATED_COLUMNS
    relatives.MAX_RELATED_COLUMNS = 0
    try:
        yield
    finally:
        relatives.MAX_RELATED_COLUMNS = limit


def sizes_of(problems: list[Problem]) -> Sizes:
    """What `auto` needs."""
    start = time.process_time()
    variables = [chanceline.search(X, y).n_selected for X, y in problems]
    seconds = (time.process_time() - start) / len(problems)
    return Sizes(np.array(variables), seconds)


def with_error(values: np.ndarray) -> str:
    """The mean and its standard error."""
    return f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(values.size):.1f}"


def theory_shift(correlation: float, size: int) -> float:
    """How many variables more pairs of this correlation need at P = N = size, for N → ∞."""
    independent = chanceline.density(1.0).rho
    return size * (correlated_groups(correlation).density(1.0).rho - independent)


def design_row(design: Design, n_problems: int) -> str:
    """A row of the first table: `auto` on one design."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_problems)
    problems = [problem_of(design, design.size, seed) for seed in seeds]
    shuffled = [made_independent(X, y, seed) for (X, y), seed in zip(problems, seeds, strict=True)]
    independent = sizes_of(shuffled)
    found = sizes_of(problems)
    with without_relatives():
        by_gradient = sizes_of(problems)
    theory = ""
    if design.pair_correlation is not None:
        theory = f"{theory_shift(design.pair_correlation, design.size):.1f}"
    cells = [
        design.name,
        str(design.size),
        with_error(independent.variables),
        with_error(found.variables),
        with_error(found.variables - independent.variables),
        theory,
        with_error(by_gradient.variables),
        f"{found.seconds:.2g} s, {by_gradient.seconds:.2g} s",
    ]
    return "| " + " | ".join(cells) + " |"


def proven_row(design: Design) -> str:
    """A row of the second table: on how many small problems `auto` has the proven minimum."""
    seeds = range(FIRST_SEED, FIRST_SEED + N_PROVEN)
    problems = [problem_of(design, PROVEN_SIZE, seed) for seed in seeds]
    exact = [chanceline.search(X, y, method="exact") for X, y in problems]
    is_proven = np.array([outcome.minimum_proven for outcome in exact])
    minima = np.array([outcome.n_selected for outcome in exact])
    found = sizes_of(problems).variables
    with without_relatives():
        by_gradient = sizes_of(problems).variables
    cells = [
        design.name,
        f"{is_proven.sum()} of {N_PROVEN}",
        f"{minima[is_proven].mean():.2f}",
        str(np.count_nonzero(found[is_proven] > minima[is_proven])),
        str(np.count_nonzero(by_gradient[is_proven] > minima[is_proven])),
    ]
    return "| " + " | ".join(cells) + " |"


def peer_rows(n_problems: int) -> Iterator[str]:
    """The rows of the third table: others on pairs of strong correlation."""
    draw = partial(groups, size=2, correlation=PEER_CORRELATION)
    design = Design("pairs", draw, SIZE)
    problems = [problem_of(design, SIZE, FIRST_SEED + i) for i in range(n_problems)]
    own_methods = {name: peers_module.own(name) for name in OWN_METHODS}
    for name, run in (own_methods | peers_module.PEERS).items():
        try:
            sizes = [run(X, y) for X, y in problems]
        except ModuleNotFoundError:
            continue
        found = np.array([size for size in sizes if size is not None])
        cell = with_error(found)
        if found.size < len(sizes):
            cell += f", {len(sizes) - found.size} failed"
        yield f"| {name} | {cell} |"


def variables_with_errors(X: np.ndarray, y: np.ndarray) -> int:
    """What a search that allows errors needs."""
    return chanceline.search(X, y, errors=ALLOWED_ERRORS).n_selected


def errors_of_front(X: np.ndarray, y: np.ndarray) -> int:
    """The errors of the rules of all sizes, summed; a front that ends without errors adds none."""
    found = chanceline.front(X, y, max_features=FRONT_SIZE)
    return int(np.sum(found.errors))


def timed(measure: Callable[..., int], problems: list[Problem]) -> Sizes:
    """A measure of every problem, and its mean CPU time."""
    start = time.process_time()
    values = np.array([measure(X, y) for X, y in problems])
    return Sizes(values, (time.process_time() - start) / len(problems))


def errors_row(
    design: Design, name: str, measure: Callable[[np.ndarray, np.ndarray], int], n_problems: int
) -> str:
    """A row of the table with errors: swaps that know of relatives, and swaps that do not."""
    size = min(design.size, SIZE_WITH_ERRORS)
    seeds = range(FIRST_SEED, FIRST_SEED + n_problems)
    problems = [problem_of(design, size, seed) for seed in seeds]
    found = timed(measure, problems)
    with without_relatives():
        by_gradient = timed(measure, problems)
    cells = [
        design.name,
        name,
        with_error(found.variables),
        with_error(by_gradient.variables),
        with_error(found.variables - by_gradient.variables),
        f"{found.seconds:.2g} s, {by_gradient.seconds:.2g} s",
    ]
    return "| " + " | ".join(cells) + " |"


# The page.


class Page:
    """The lines of the page, written to its file with every new one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        print(line, flush=True)
        self.lines.append(line)
        write_text(self.path, "\n".join(self.lines) + "\n")

    def begin_table(self, caption: str, names: list[str]) -> None:
        """Start a table with these column names, after its caption."""
        if self.lines:
            self.add("")
        self.add(caption)
        self.add("")
        self.add("| " + " | ".join(names) + " |")
        self.add("|---" * len(names) + "|")


def write_table_with_errors(all_designs: list[Design], n_problems: int) -> None:
    """The page on searches that allow errors, and on fronts."""
    measures = {
        f"{ALLOWED_ERRORS} errors allowed: variables": variables_with_errors,
        f"front up to {FRONT_SIZE} variables: errors of all sizes": errors_of_front,
    }
    for measure in measures.values():
        timed(measure, [problem_of(all_designs[0], PROVEN_SIZE, 0)])  # compile before the clock
    page = Page(TABLE_WITH_ERRORS)
    page.begin_table(
        f"Mean ± standard error on {n_problems} problems of P = N ≤ {SIZE_WITH_ERRORS} samples with fair-coin labels, seeds from {FIRST_SEED}, "
        "where swaps know which columns are strongly correlated, and where they rank all by their gradient alone.",
        ERRORS_COLUMNS,
    )
    for design in all_designs[:N_DESIGNS_WITH_ERRORS]:
        for name, measure in measures.items():
            page.add(errors_row(design, name, measure, n_problems))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=20, help="for each design")
    parser.add_argument("--peer-problems", type=int, default=3, help="for each peer; 0: no peers")
    parser.add_argument("--with-errors", action="store_true", help="only that table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # peers warn of convergence; their supports are checked anyway
    all_designs = designs()
    sizes_of([problem_of(all_designs[0], SIZE, 0)])  # compile before the clock starts

    if arguments.with_errors:
        write_table_with_errors(all_designs, arguments.problems)
        return
    page = Page(TABLE)
    page.begin_table(
        f"Mean variables ± standard error on {arguments.problems} problems of P = N samples with fair-coin labels, seeds "
        f"from {FIRST_SEED}. Independent: the same columns, each shuffled by itself.",
        DESIGN_COLUMNS,
    )
    for design in all_designs:
        page.add(design_row(design, arguments.problems))
    page.begin_table(
        f"Proven minima at N = P = {PROVEN_SIZE}, and on how many problems they are missed:",
        PROVEN_COLUMNS,
    )
    for design in all_designs:
        page.add(proven_row(design))
    if arguments.peer_problems > 0:
        page.begin_table(
            f"Others on {arguments.peer_problems} of the problems with r = {PEER_CORRELATION:g}:",
            ["method", "variables"],
        )
        for row in peer_rows(arguments.peer_problems):
            page.add(row)


if __name__ == "__main__":
    main()
