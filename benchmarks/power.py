"""How often each test finds what is there, at level 0.05: the front against the tests people use.

    python benchmarks/power.py            every cell that is not there yet, then docs/tables/power.md
    python benchmarks/power.py --table    the table from what is there

Every cell is a design and a test; its sets are stored one by one in benchmarks/results/power.jsonl, so that a run can be stopped
and taken up again. All tests see the same sets. Permutations of the slow ones are few (39, or 19 for the largest design), which
is exact at level 0.05 and costs them a little power.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chanceline._io import write_text
from chanceline.significance.config import TestSettings
from chanceline.significance.design import make_scheme
from chanceline.significance.permutation import draw_front
from chanceline.significance.stepwise import make_columns

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "power.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "power.md"
LEVEL = 0.05
SETS = 100
SEED = 20_000
FAST, SLOW, SLOWEST = 199, 39, 19

Floats = NDArray[np.float64]
Rng = np.random.Generator


def coin(rng: Rng, z: Floats, slope: float, offset: float = 0.0) -> Floats:
    """Labels ±1, positive with probability 1/(1 + e^−(slope·z − offset))."""
    with np.errstate(over="ignore"):
        return np.where(rng.random(len(z)) < 1 / (1 + np.exp(offset - slope * z)), 1.0, -1.0)


def three(rng: Rng, slope: float, offset: float = 0.0) -> tuple[Floats, Floats]:
    X = rng.normal(size=(60, 500))
    z = X[:, :3].sum(axis=1) / np.sqrt(3)
    return X, np.where(z > 0, 1.0, -1.0) if np.isinf(slope) else coin(rng, z, slope, offset)


def difference(rng: Rng) -> tuple[Floats, Floats]:
    X = rng.normal(size=(60, 500))
    X[:, 1] = 0.99 * X[:, 0] + np.sqrt(1 - 0.99**2) * X[:, 1]
    return X, np.where(X[:, 0] > X[:, 1], 1.0, -1.0)


def tall(rng: Rng, slope: float) -> tuple[Floats, Floats]:
    X = rng.normal(size=(500, 60))
    return X, coin(rng, X[:, :3].sum(axis=1) / np.sqrt(3), slope)


def blocks(rng: Rng) -> tuple[Floats, Floats]:
    common = np.repeat(rng.normal(size=(60, 50)), 10, axis=1)
    X = np.sqrt(0.9) * common + np.sqrt(0.1) * rng.normal(size=(60, 500))
    return X, coin(rng, (X[:, 0] + X[:, 10] + X[:, 20]) / np.sqrt(3), 3.0)


def heavy(rng: Rng) -> tuple[Floats, Floats]:
    X = rng.standard_t(2, size=(60, 500))
    return X, coin(rng, X[:, :3].sum(axis=1) / np.sqrt(3), 1.5)


def weak(rng: Rng, n_samples: int, n_features: int, true: int) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n_samples, n_features))
    return X, coin(rng, X[:, :true].sum(axis=1) / np.sqrt(true), 1.5)


DESIGNS: dict[str, Callable[[Rng], tuple[Floats, Floats]]] = {
    "60 × 500, 3 true, noiseless": lambda rng: three(rng, np.inf),
    "60 × 500, 3 true, slope 3": lambda rng: three(rng, 3.0),
    "60 × 500, 3 true, slope 1.5": lambda rng: three(rng, 1.5),
    "60 × 500, difference of a pair of correlation .99": difference,
    "500 × 60, 3 true, slope 1": lambda rng: tall(rng, 1.0),
    "500 × 60, 3 true, slope 0.5": lambda rng: tall(rng, 0.5),
    "60 × 500, 20 % positives, slope 3": lambda rng: three(rng, 3.0, 3.2),
    "60 × 500, blocks of ten of correlation .9": blocks,
    "60 × 500, Student t₂ features": heavy,
    "100 × 300, thirty weak": lambda rng: weak(rng, 100, 300, 30),
    "200 × 2000, five weak": lambda rng: weak(rng, 200, 2000, 5),
}


def front(X: Floats, y: Floats, seed: int) -> float:
    """The default test's permutation reading."""
    scheme = make_scheme(y)
    columns = make_columns(X, scheme, True)
    draws, _ = draw_front(columns, scheme, permutations=FAST, steps=TestSettings().largest, seed=seed)
    return draws.reading().pvalue


def largest_t(X: Floats, y: Floats, seed: int) -> float:
    """Largest absolute correlation of a single feature with the labels."""
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    rng = np.random.default_rng([seed, 1])
    labels = np.array([y, *(rng.permutation(y) for _ in range(FAST))])
    largest = np.abs(labels @ Z).max(axis=1)
    return float(np.mean(largest >= largest[0] * (1 - 1e-12)))


def cross_validated(fit: Callable[[Floats, Floats, Floats], Floats], X: Floats, y: Floats, seed: int) -> float:
    """Area under the curve, mean of five stratified folds, everything inside them; labels permuted, folds dealt anew for each."""
    from scipy.stats import rankdata
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    rng = np.random.default_rng([seed, 2])
    areas = []
    for number in range(1 + (SLOWEST if X.size > 100_000 else SLOW)):
        labels = y if number == 0 else rng.permutation(y)
        area = 0.0
        for train, test in folds.split(X, labels):
            scale = X[train].std(axis=0)
            Z = (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
            ranks = rankdata(fit(Z[train], labels[train], Z[test]))
            positive = labels[test] > 0
            n = int(positive.sum())
            area += (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(test) - n))
        areas.append(area)
    return float(np.mean(np.array(areas) >= areas[0] - 1e-12))


def lasso(X: Floats, y: Floats, seed: int) -> float:
    from sklearn.linear_model import LogisticRegression

    def fit(Z: Floats, labels: Floats, new: Floats) -> Floats:
        model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.5, random_state=0).fit(Z, labels)
        return new @ model.coef_[0]

    return cross_validated(fit, X, y, seed)


def best_features(X: Floats, y: Floats, seed: int) -> float:
    from sklearn.linear_model import LogisticRegression

    def fit(Z: Floats, labels: Floats, new: Floats) -> Floats:
        # The order of f_classif is that of the absolute correlations.
        centred = Z - Z.mean(axis=0)
        score = np.abs((labels - labels.mean()) @ centred) / np.linalg.norm(centred, axis=0)
        best = np.argsort(-score)[:10]
        model = LogisticRegression(solver="liblinear").fit(Z[:, best], labels)
        return new[:, best] @ model.coef_[0]

    return cross_validated(fit, X, y, seed)


TESTS: dict[str, Callable[[Floats, Floats, int], float]] = {
    "front": front,
    "largest t": largest_t,
    "L1 logistic, cross-validated": lasso,
    "SelectKBest + logistic, cross-validated": best_features,
}


def make_set(design: str, number: int) -> tuple[Floats, Floats]:
    """Set `number` of a design; one with fewer than five in a class is drawn again."""
    for attempt in range(100):
        X, y = DESIGNS[design](np.random.default_rng([SEED, list(DESIGNS).index(design), number, attempt]))
        if min(np.sum(y > 0), np.sum(y < 0)) >= 5:
            return X, y
    raise RuntimeError(f"no set of {design} has two classes")


def read_store() -> dict[tuple[str, str, int], dict[str, float]]:
    if not STORE.exists():
        return {}
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {(row["design"], row["test"], row["set"]): row for row in rows}


def fill(sets: int, tests: list[str]) -> None:
    """Run what is missing, set by set, so that a run that is stopped leaves all cells equally full."""
    STORE.parent.mkdir(exist_ok=True)
    there = read_store()
    with STORE.open("a", encoding="utf-8") as store:
        for number, design, test in product(range(sets), DESIGNS, tests):
            if (design, test, number) in there:
                continue
            X, y = make_set(design, number)
            begin = time.process_time()
            pvalue = TESTS[test](X, y, number)
            row = {"design": design, "test": test, "set": number, "p": pvalue, "cpu": time.process_time() - begin}
            store.write(json.dumps(row) + "\n")
            store.flush()


def write_table() -> None:
    """Power with its standard error, and CPU seconds a set."""
    there = read_store()
    lines = [
        f"Share of sets with p ≤ {LEVEL:g} (standard error), and CPU seconds a set on one core, by `python benchmarks/power.py`;",
        f"{FAST} permutations for the first two tests, {SLOW} for the others ({SLOWEST} at 200 × 2000), all on the same sets.",
        "",
        "| design | sets | " + " | ".join(TESTS) + " |",
        "|---|---" + "|---" * len(TESTS) + "|",
    ]
    for design in DESIGNS:
        cells, count = [], 0
        for test in TESTS:
            rows = [row for (d, t, _), row in there.items() if (d, t) == (design, test)]
            count = max(count, len(rows))
            if not rows:
                cells.append("–")
                continue
            share = float(np.mean([row["p"] <= LEVEL + 1e-12 for row in rows]))
            error = np.sqrt(share * (1 - share) / len(rows))
            cpu = float(np.mean([row["cpu"] for row in rows]))
            missing = "" if len(rows) == count else f", {len(rows)} sets"
            cells.append(f"{share:.2f} (±{error:.2f}), {cpu:.2g} s{missing}")
        lines.append(f"| {design} | {count} | " + " | ".join(cells) + " |")
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--tests", nargs="*", choices=list(TESTS), default=list(TESTS))
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args()
    if not options.table:
        fill(options.sets, options.tests)
    write_table()


if __name__ == "__main__":
    main()
