"""How often each test finds what is there, at level 0.05: twenty-four designs and noise, ours against the tests people use.

    python benchmarks/power.py            every cell that is not there yet, then docs/tables/power.md
    python benchmarks/power.py --table    the table from what is there

Every cell is a design and a test; its sets are stored one by one in benchmarks/results/power.jsonl, so that a run can be stopped
and taken up again. All tests see the same sets. Those that are made of products take all labellings at once and have 199 of them;
L1 logistic has 19 (exact at level 0.05, at the cost of some power) on fewer sets. The forest is not permuted: its out-of-bag
errors are compared with always naming the larger class by a binomial test, which is approximate, on fewer sets.
Two tests of any dependence, linear or not, on fewer sets as well: multiscale graph correlation (hyppo) and a forest whose trees
are permuted (treeple). treeple 0.10 loads with scikit-learn 1.6 alone, so that these two have an environment of their own:
pip install hyppo treeple 'scikit-learn<1.7', then --tests "hyppo, MGC" "treeple, forest"; the rest is run in the usual one.
With the covariate, all tests see columns without what it explains and labels drawn from the same model.
Rows of noise show the level, and have more sets for the quick tests. A cell of which nothing is stored keeps what the table says.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom, rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from chanceline._io import write_text
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import NullDesign, make_design
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "power.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "power.md"
LEVEL = 0.05
SETS = 100
SETS_OF_NOISE_PER_SET = 4
SEED = 20_000
FAST, SLOW = 199, 19
FEWER_SETS = 30
FOLDS, SHRINKAGES = 5, (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
TREES = 200
CPU_ROW = "*CPU seconds a set*"

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


def shifted(rng: Rng, true: int, shift: float) -> tuple[Floats, Floats]:
    """Class means of the first columns lie `shift` apart."""
    X, y = rng.normal(size=(100, 2000)), rng.permutation(np.repeat([1.0, -1.0], 50))
    X[:, :true] += shift / 2 * y[:, None]
    return X, y


def factors(rng: Rng) -> tuple[Floats, Floats]:
    """Five factors behind all columns; the classes lie 0.6 apart along the first."""
    y = rng.permutation(np.repeat([1.0, -1.0], 50))
    hidden = rng.normal(size=(100, 5))
    hidden[:, 0] += 0.3 * y
    return hidden @ rng.normal(size=(5, 2000)) + np.sqrt(5) * rng.normal(size=(100, 2000)), y


def twenties(rng: Rng) -> tuple[Floats, Floats]:
    common = rng.normal(size=(100, 100))
    X = np.sqrt(0.7) * np.repeat(common, 20, axis=1) + np.sqrt(0.3) * rng.normal(size=(100, 2000))
    return X, coin(rng, common[:, :3].sum(axis=1) / np.sqrt(3), 1.5)


def several(rng: Rng, true: int, slope: float, offset: float = 0.0) -> tuple[Floats, Floats]:
    X = rng.normal(size=(100, 2000))
    return X, coin(rng, X[:, :true].sum(axis=1) / np.sqrt(true), slope, offset)


def variances(rng: Rng) -> tuple[Floats, Floats]:
    """Equal means; the smaller class is wider."""
    y = rng.permutation(np.repeat([1.0, -1.0], [30, 70]))
    return rng.normal(size=(100, 500)) * np.where(y > 0, 1.5, 1.0)[:, None], y


def exclusive(rng: Rng) -> tuple[Floats, Floats]:
    X = rng.normal(size=(100, 200))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def counts(rng: Rng) -> tuple[Floats, Floats]:
    """Negative binomial counts, variance μ + μ²/2; five of a thousand are 2.2-fold in one class."""
    y = rng.permutation(np.repeat([1.0, -1.0], 50))
    mean = np.tile(np.exp(rng.normal(2.0, 1.0, size=1000)), (100, 1))
    mean[:, :5] *= np.where(y > 0, 2.2, 1.0)[:, None]
    return rng.poisson(mean * rng.gamma(2.0, 0.5, size=mean.shape)).astype(float), y


def covariate(rng: Rng) -> tuple[Floats, Floats, Floats]:
    """Age drives the label and sixty columns; three columns go with the label beyond that."""
    age, X = rng.normal(size=150), rng.normal(size=(150, 300))
    X[:, 3:63] += 0.8 * age[:, None]
    return X, coin(rng, age + X[:, :3].sum(axis=1), 1.0), age


def outside_factors(
    rng: Rng, n_samples: int, n_features: int, slope: float = np.inf
) -> tuple[Floats, Floats]:
    """Five factors behind all columns; the label follows a direction of small variance, in which the factors have no part."""
    loadings = rng.normal(size=(5, n_features)) / np.sqrt(5)
    own_parts = 0.3 * rng.normal(size=(n_samples, n_features))
    X = rng.normal(size=(n_samples, 5)) @ loadings + own_parts
    factor_space = np.linalg.qr(loadings.T)[0]
    direction = rng.normal(size=n_features)
    direction -= factor_space @ (factor_space.T @ direction)
    z = X @ direction
    return X, np.where(z > 0, 1.0, -1.0) if np.isinf(slope) else coin(rng, z / z.std(), slope)


def contrast(rng: Rng) -> tuple[Floats, Floats]:
    """All columns have the correlation .8; ten go up with the label and ten down."""
    X = np.sqrt(0.8) * rng.normal(size=(150, 1)) + np.sqrt(0.2) * rng.normal(size=(150, 300))
    z = X[:, :10].sum(axis=1) - X[:, 10:20].sum(axis=1)
    return X, coin(rng, z / np.sqrt(20 * 0.2), 6.0)


def noise(rng: Rng, X: Floats, positives: int) -> tuple[Floats, Floats]:
    """Labels that have nothing to do with the columns."""
    return X, rng.permutation(np.repeat([1.0, -1.0], [positives, len(X) - positives]))


# A design's sets depend on its place: new ones go to the end.
DESIGNS: dict[str, Callable[[Rng], tuple[Floats, ...]]] = {
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
    "100 × 2000, 200 shifted by .2": lambda rng: shifted(rng, 200, 0.2),
    "100 × 2000, all shifted by .07": lambda rng: shifted(rng, 2000, 0.07),
    "100 × 2000, five factors, one shifted by .6": factors,
    "100 × 2000, blocks of twenty of correlation .7": twenties,
    "100 × 2000, 10 true, slope 6": lambda rng: several(rng, 10, 6.0),
    "100 × 2000, 15 % positives, 3 true, slope 4": lambda rng: several(rng, 3, 4.0, 4.4),
    "100 × 500, equal means, unequal variances": variances,
    "100 × 200, exclusive or of two": exclusive,
    "100 × 1000 counts, 5 of them 2.2-fold": counts,
    "150 × 300, a covariate drives label and sixty columns": covariate,
    "60 × 500, noise: the level": lambda rng: noise(rng, rng.normal(size=(60, 500)), 30),
    "100 × 100, along a small variance among five factors' columns": lambda rng: outside_factors(
        rng, 100, 100
    ),
    "200 × 60, the same, slope 1": lambda rng: outside_factors(rng, 200, 60, 1.0),
    "80 × 150, the same, noiseless": lambda rng: outside_factors(rng, 80, 150),
    "150 × 300, contrast of twenty of correlation .8": contrast,
    "100 × 100, five factors, noise: the level": lambda rng: noise(
        rng, outside_factors(rng, 100, 100)[0], 40
    ),
    "500 × 60, noise: the level": lambda rng: noise(rng, rng.normal(size=(500, 60)), 150),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A set with its null: labels[0] observed, the rest drawn; Z the columns without the covariate, of length 1."""

    X: Floats
    scheme: NullDesign
    number: int

    @cached_property
    def labels(self) -> Floats:
        draws = (self.scheme.draw(np.random.default_rng([self.number, 1, b])) for b in range(FAST))
        return np.array([self.scheme.y, *draws])

    @cached_property
    def Z(self) -> Floats:
        Z = self.X - self.X.mean(axis=0)
        if self.scheme.covariate_basis is not None:
            Z -= self.scheme.covariate_basis @ (self.scheme.covariate_basis.T @ Z)
        length = np.linalg.norm(Z, axis=0)
        return Z / np.where(length > 1e-9, length, 1.0)

    @cached_property
    def correlations(self) -> Floats:
        labels = self.labels - self.labels.mean(axis=1, keepdims=True)
        return labels @ self.Z / np.linalg.norm(labels, axis=1, keepdims=True)


def share(values: Floats) -> float:
    """p of the first among values that are large where there is something."""
    return float(np.mean(values >= values[0] - 1e-12 * abs(values[0])))


def ours(case: Case) -> float:
    """The default test's permutation reading."""
    columns = make_path_columns(case.X, case.scheme, True)
    plan = ShufflePlan(n_shuffles=FAST, seed=case.number)
    draws, _ = shuffle_paths(columns, case.scheme, plan, TestSettings().largest)
    return draws.permutation_reading().pvalue


def largest_t(case: Case) -> float:
    return share(np.abs(case.correlations).max(axis=1))


def global_test(case: Case) -> float:
    """Sum of squared correlations (Goeman et al. 2004, with a linear model)."""
    return share((case.correlations**2).sum(axis=1))


def higher_criticism(case: Case) -> float:
    """Donoho and Jin 2004: the largest standardised excess of small p-values, over the smaller half and p ≥ 1/N."""
    count = case.correlations.shape[1]
    p = np.sort(2 * ndtr(-np.abs(case.correlations) * np.sqrt(len(case.Z) - 1)), axis=1)[
        :, : count // 2
    ]
    excess = (np.arange(1, p.shape[1] + 1) / count - p) / np.sqrt(np.maximum(p * (1 - p), 1e-300))
    return share(np.where(p >= 1 / count, excess, -np.inf).max(axis=1))


def energy(case: Case) -> float:
    """Energy distance of the classes (Székely and Rizzo 2013), Euclidean on standardised columns."""
    squares = (case.Z**2).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * case.Z @ case.Z.T, 0.0))
    means = [side / side.sum(axis=1, keepdims=True) for side in (case.labels > 0, case.labels < 0)]
    inner = [
        np.einsum("bi,ij,bj->b", one, distance, two, optimize=True)
        for one, two in (means, means[:1] * 2, means[1:] * 2)
    ]
    return share(2 * inner[0] - inner[1] - inner[2])


def centroids(case: Case) -> float:
    """Nearest shrunken centroids (Tibshirani et al. 2002): area under the curve of the held-out scores of five folds, the best of
    six shrinkages; folds are the same for all labellings, so that these go through as rows of one matrix.
    """
    fold_of = np.random.default_rng([case.number, 3]).permutation(len(case.Z)) % FOLDS
    scores = np.zeros((len(SHRINKAGES), *case.labels.shape))
    for fold in range(FOLDS):
        train, test = fold_of != fold, fold_of == fold
        Z = case.Z[train] - case.Z[train].mean(axis=0)
        sides = [(case.labels[:, train] * sign > 0).astype(float) for sign in (1, -1)]
        sizes = [np.maximum(side.sum(axis=1, keepdims=True), 1.0) for side in sides]
        middles = [side @ Z / size for side, size in zip(sides, sizes, strict=True)]
        between = sum(size * middle**2 for size, middle in zip(sizes, middles, strict=True))
        spread = np.sqrt(np.maximum((Z**2).sum(axis=0) - between, 1e-12) / (train.sum() - 2))
        spread += np.median(spread, axis=1, keepdims=True)
        scaled = [
            np.sqrt(1 / (1 / size - 1 / train.sum())) * middle / spread
            for size, middle in zip(sizes, middles, strict=True)
        ]
        most = np.maximum(*(np.abs(side).max(axis=1, keepdims=True) for side in scaled))
        new = case.Z[test] - case.Z[train].mean(axis=0)
        for place, shrinkage in enumerate(SHRINKAGES):
            shrunk = [np.sign(d) * np.maximum(np.abs(d) - shrinkage * most, 0.0) for d in scaled]
            plus, minus = (
                d * np.sqrt(1 / size - 1 / train.sum())
                for d, size in zip(shrunk, sizes, strict=True)
            )
            # Difference of the squared distances to the two centroids, in units of the spread.
            scores[place][:, test] = (
                2 * ((plus - minus) / spread) @ new.T + ((minus**2 - plus**2).sum(axis=1))[:, None]
            )
    return share(np.max([areas(of, case.labels) for of in scores], axis=0))


def areas(scores: Floats, labels: Floats) -> Floats:
    """Area under the curve of every row."""
    ranks, positive = rankdata(scores, axis=1), labels > 0
    sizes = positive.sum(axis=1)
    return ((ranks * positive).sum(axis=1) - sizes * (sizes + 1) / 2) / (
        sizes * (labels.shape[1] - sizes)
    )


def lasso(case: Case) -> float:
    """L1 logistic regression, C = 0.5: mean area under the curve of five stratified folds, dealt anew for each labelling."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=case.number)
    found = []
    for labels in case.labels[: 1 + SLOW]:
        held = []
        for train, test in folds.split(case.Z, labels):
            scale = case.Z[train].std(axis=0)
            Z = (case.Z - case.Z[train].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
            model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.5, random_state=0).fit(
                Z[train], labels[train]
            )
            held.append(areas((Z[test] @ model.coef_[0])[None], labels[None, test])[0])
        found.append(np.mean(held))
    return share(np.array(found))


def forest(case: Case) -> float:
    """Out-of-bag errors against the share of the smaller class, by a binomial test."""
    y = case.scheme.y
    model = RandomForestClassifier(TREES, oob_score=True, random_state=case.number).fit(case.Z, y)
    wrong = int(np.sum(np.where(model.oob_decision_function_[:, 1] > 0.5, 1.0, -1.0) != y))
    return float(binom.cdf(wrong, len(y), min(np.mean(y > 0), np.mean(y < 0))))


def multiscale(case: Case) -> float:
    """Multiscale graph correlation (Vogelstein et al. 2019) of the columns with the label."""
    from hyppo.independence import MGC

    return float(
        MGC().test(case.Z, case.scheme.y[:, None], reps=FAST, workers=1, random_state=case.number)[
            1
        ]
    )


def permuted_trees(case: Case) -> float:
    """Mutual information of the label with the votes of an honest forest, against forests mixed with one of permuted labels
    (Coleman, Peng and Mentch 2022), as in treeple's own example: 1.6 samples drawn for each, a third of the columns a split.
    """
    from treeple import HonestForestClassifier
    from treeple.stats import PermutationHonestForestClassifier, build_coleman_forest

    how = {
        "n_estimators": TREES,
        "bootstrap": True,
        "max_samples": 1.6,
        "max_features": 0.3,
        "random_state": case.number,
    }
    forests = HonestForestClassifier(**how), PermutationHonestForestClassifier(**how)
    labels = (case.scheme.y[:, None] > 0).astype(int)
    found = build_coleman_forest(
        *forests,
        case.Z,
        labels,
        metric="mi",
        n_repeats=FAST,
        return_posteriors=False,
        seed=case.number,
    )
    return float(found.pvalue)


TESTS: dict[str, Callable[[Case], float]] = {
    "ours": ours,
    "largest t": largest_t,
    "Σr²": global_test,
    "higher criticism": higher_criticism,
    "energy distance": energy,
    "shrunken centroids": centroids,
    "L1 logistic": lasso,
    "random forest": forest,
    "hyppo, MGC": multiscale,
    "treeple, forest": permuted_trees,
}
NOISE = "noise: the level"  # how the names of designs without signal end
FEWER = ("L1 logistic", "random forest", "hyppo, MGC", "treeple, forest")


def make_case(design: str, number: int) -> Case:
    """Set `number` of a design; one with fewer than five in a class is drawn again."""
    for attempt in range(100):
        X, y, *age = DESIGNS[design](
            np.random.default_rng([SEED, list(DESIGNS).index(design), number, attempt])
        )
        if min(np.sum(y > 0), np.sum(y < 0)) >= 5:
            declared = DeclaredRoles(covariates={"age": age[0]} if age else None)
            return Case(X, make_design(y, declared, X=X), number)
    raise RuntimeError(f"no set of {design} has two classes")


def read_store() -> dict[tuple[str, str, int], dict[str, float]]:
    if not STORE.exists():
        return {}
    rows = [
        json.loads(line)
        for line in STORE.read_text(encoding="utf-8").splitlines()
        if line.endswith("}")
    ]
    return {(row["design"], row["test"], row["set"]): row for row in rows}


def sets_wanted(design: str, slow: bool, sets: int) -> int:
    """How many sets of a design the quick or the slow tests see, if the quick ones see so many of most designs."""
    if slow:
        return min(sets, FEWER_SETS)
    if design.endswith(NOISE):
        return SETS_OF_NOISE_PER_SET * sets
    return sets


def fill(sets: int, tests: list[str], designs: list[str]) -> None:
    """Run what is missing, the quick tests first, set by set, so that a run that is stopped leaves the cells equally full."""
    STORE.parent.mkdir(exist_ok=True)
    there = read_store()
    with STORE.open("a", encoding="utf-8") as store:
        for slow, number, design in product(
            (False, True), range(SETS_OF_NOISE_PER_SET * sets), designs
        ):
            wanted = [
                test
                for test in tests
                if (test in FEWER) == slow and (design, test, number) not in there
            ]
            if not wanted or number >= sets_wanted(design, slow, sets):
                continue
            case = make_case(design, number)
            for test in wanted:
                begin = time.process_time()
                pvalue = TESTS[test](case)
                row = {
                    "design": design,
                    "test": test,
                    "set": number,
                    "p": pvalue,
                    "cpu": time.process_time() - begin,
                }
                store.write(json.dumps(row) + "\n")
            store.flush()


def read_table() -> dict[tuple[str, str], str]:
    """The cells of the table as it is, by the first cell of their row and the test."""
    if not TABLE.exists():
        return {}
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    header, *body = rows
    return {(row[0], test): cell for row in body for test, cell in zip(header, row, strict=True)}


def write_table() -> None:
    """Power with its standard error; and CPU seconds a set of the whole column."""
    there = read_store()
    before = read_table()
    lines = [
        f"Share of sets with p ≤ {LEVEL:g} (standard error in hundredths), by `python benchmarks/power.py`: {FAST} permutations,",
        f"all tests on the same sets. L1 logistic: {SLOW} permutations, {FEWER_SETS} sets. Random forest: not permuted, binomial",
        f"test of out-of-bag errors, {FEWER_SETS} sets. hyppo 0.5.2 and treeple 0.10.3: half of them or more, on another machine.",
        "Unequal variances: the classes differ, but hardly in what a linear rule could use on new samples. Exclusive or: no",
        "linear rule sees it; forests and MGC could. treeple's forest does not keep the level (60 × 500, noise): its column is no",
        f"power. Noise: {SETS_OF_NOISE_PER_SET * SETS} sets for the quick tests. –: fewer than half of the sets are done; run again.",
        "",
        "| design | sets | " + " | ".join(TESTS) + " |",
        "|---|---" + "|---" * len(TESTS) + "|",
    ]
    seconds: dict[str, list[float]] = {test: [] for test in TESTS}
    for design in DESIGNS:
        cells, count = [], 0
        for test in TESTS:
            rows = [row for (d, t, _), row in there.items() if (d, t) == (design, test)]
            count = max(count, len(rows))
            if len(rows) < (FEWER_SETS if test in FEWER else SETS) // 2:
                cells.append(before.get((design, test), "–"))
                continue
            seconds[test] += [row["cpu"] for row in rows]
            found = float(np.mean([row["p"] <= LEVEL + 1e-12 for row in rows]))
            cells.append(f"{found:.2f} ({100 * np.sqrt(found * (1 - found) / len(rows)):.0f})")
        lines.append(f"| {design} | {count} | " + " | ".join(cells) + " |")
    means = [
        f"{np.mean(values):.2g}" if values else before.get((CPU_ROW, test), "–")
        for test, values in seconds.items()
    ]
    lines.append(f"| {CPU_ROW} | | " + " | ".join(means) + " |")
    write_text(TABLE, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--tests", nargs="*", choices=list(TESTS), default=list(TESTS))
    parser.add_argument("--designs", nargs="*", choices=list(DESIGNS), default=list(DESIGNS))
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args()
    if not options.table:
        fill(options.sets, options.tests, options.designs)
    write_table()


if __name__ == "__main__":
    main()
