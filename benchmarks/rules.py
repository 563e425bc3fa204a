"""Rules for new samples: `SparseRule` beside L1 and ridge logistic regression, shrunken centroids, abess and FasterRisk.

    python benchmarks/rules.py            every cell that is not there yet, then docs/tables/rules.md
    python benchmarks/rules.py --table    the table from what is there
    python benchmarks/rules.py --tables ../shared/data    where the published tables are

All are tuned inside by five-fold cross-validation. Published tables: ten folds around everything, the same for all; designs: ten
sets, the true error on 100,000 new samples. Rows are stored one by one in benchmarks/results/rules.jsonl, so that a run can be
stopped and taken up again. Rows of the others, which do not change with this package, lie beside this script and are not made
again: benchmarks/rules_of_peers.jsonl.gz. The sizes of `SparseRule` over twenty seeds, and over twenty subsamples of 90 % of the samples of each
class, are of rules made from the whole table. FasterRisk pins old versions of others (pip install --no-deps fasterrisk requests; NumPy < 2.3).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chanceline._io import write_text
from chanceline.sklearn import SparseRule

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "rules.jsonl"
TABLE = HERE.parent / "docs" / "tables" / "rules.md"
PEERS = HERE / "rules_of_peers.jsonl.gz"
SHARED = HERE.parents[1] / "shared" / "data"
# Of a table, or sets of a design; new samples in all and at a time.
FOLDS, NEW, PIECE = 10, 100_000, 5_000
# Seeds and subsamples over which sizes are compared.
N_SIZES, SUBSAMPLE = 20, 0.9
SEED = 32_000

Floats = NDArray[np.float64]
Rng = np.random.Generator
Draw = Callable[[Rng, int], tuple[Floats, Floats]]


class Abess(ClassifierMixin, BaseEstimator):
    """abess: best subset by splicing, size up to thirty and ridge by cross-validation."""

    def fit(self, X: Floats, y: Floats) -> Abess:
        from abess.linear import LogisticRegression

        self.classes_ = np.unique(y)
        most = min(30, X.shape[1], len(y) // 3)
        self.model_ = LogisticRegression(
            support_size=range(most + 1), cv=5, alpha=[0.0, 0.1, 1.0]
        ).fit(X, (y > 0).astype(int))
        return self

    def predict(self, X: Floats) -> Floats:
        return np.where(self.model_.predict(X) > 0, 1.0, -1.0)

    @property
    def n_selected(self) -> int:
        return int(np.count_nonzero(self.model_.coef_))


class Faster(ClassifierMixin, BaseEstimator):
    """FasterRisk: whole weights of at most 5 in size, `sparsity` features."""

    def __init__(self, sparsity: int = 5) -> None:
        self.sparsity = sparsity

    def fit(self, X: Floats, y: Floats) -> Faster:
        from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

        self.classes_ = np.unique(y)
        with contextlib.redirect_stdout(io.StringIO()):
            search = RiskScoreOptimizer(
                X=X, y=y, k=min(self.sparsity, X.shape[1]), parent_size=5, child_size=5
            )
            search.optimize()
            scale, intercept, weights = search.get_models(model_index=0)
        self.model_ = RiskScoreClassifier(scale, intercept, weights)
        self.n_selected = int(np.count_nonzero(weights))
        return self

    def predict(self, X: Floats) -> Floats:
        return np.asarray(self.model_.predict(X), dtype=float)


def logistic(ratio: float) -> Any:
    """Logistic regression with an L1 (1) or ridge (0) penalty, tuned by the likelihood."""
    how = {"penalty": "l1" if ratio else "l2", "solver": "liblinear" if ratio else "lbfgs"}
    return make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000, **how),
    )


METHODS: dict[str, Callable[[], Any]] = {
    "SparseRule": SparseRule,
    "L1 logistic": lambda: logistic(1.0),
    "ridge logistic": lambda: logistic(0.0),
    "shrunken centroids": lambda: make_pipeline(
        StandardScaler(),
        GridSearchCV(
            NearestCentroid(), {"shrink_threshold": [None, *np.arange(0.25, 4.1, 0.25)]}, cv=5
        ),
    ),
    "abess": lambda: make_pipeline(StandardScaler(), Abess()),
    "FasterRisk": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(Faster(), {"sparsity": [2, 4, 8]}, cv=3)
    ),
}


def features_of(model: Any) -> int:
    """The number of features that a fitted model looks at."""
    last = model if isinstance(model, SparseRule) else model[-1]
    last = getattr(last, "best_estimator_", last)
    if isinstance(last, NearestCentroid):
        return int(np.count_nonzero(np.ptp(last.centroids_, axis=0) > 1e-12))
    return last.n_selected if hasattr(last, "n_selected") else int(np.count_nonzero(last.coef_))


def linear(true: int, slope: float, width: int) -> Draw:
    """Labels from the sum of some features, slope each; noiseless for an infinite slope."""

    def draw(rng: Rng, count: int) -> tuple[Floats, Floats]:
        X = rng.normal(size=(count, width))
        total = X[:, :true].sum(axis=1)
        chance = (total > 0) if np.isinf(slope) else 0.5 + 0.5 * np.tanh(slope * total / 2)
        return X, np.where(rng.random(count) < chance, 1.0, -1.0)

    return draw


def shifted(moved: int, shift: float, width: int, common: float = 0.0) -> Draw:
    """Some features shifted between the classes; columns in blocks of twenty with a common part."""

    def draw(rng: Rng, count: int) -> tuple[Floats, Floats]:
        y = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        X = np.sqrt(1 - common) * rng.normal(size=(count, width))
        if common:
            X += np.sqrt(common) * np.repeat(rng.normal(size=(count, width // 20)), 20, axis=1)
        X[:, :moved] += shift / 2 * y[:, None]
        return X, y

    return draw


DESIGNS: dict[str, tuple[int, Draw]] = {
    "60 × 500, two true, noiseless": (60, linear(2, np.inf, 500)),
    "200 × 500, three true, slope 1.5": (200, linear(3, 1.5, 500)),
    "400 × 2000, three true, slope 1.5": (400, linear(3, 1.5, 2000)),
    "120 × 300, three true, slope 2": (120, linear(3, 2.0, 300)),
    "60 × 200, two true, noiseless": (60, linear(2, np.inf, 200)),
    "120 × 300, sixty shifted by 0.4": (120, shifted(60, 0.4, 300)),
    "100 × 300, none": (100, shifted(0, 0.0, 300)),
    "100 × 500, forty shifted by 0.8, correlation .7": (100, shifted(40, 0.8, 500, 0.7)),
    "100 × 500, all shifted by 0.1": (100, shifted(500, 0.1, 500)),
}
PUBLISHED = (
    "golub38", "colon_alon", "cns_pomeroy", "golub72", "breast_west", "dlbcl_shipp", "breast_gravier", "sonar", "wdbc",
    "gastric_nmr", "microbiome_crc", "microbiome_ibd", "prostate_singh", "lung_gordon",
)  # fmt: skip


def load(name: str, folder: Path) -> tuple[Floats, Floats]:
    """A published table; counts as centred log-ratios, NMR as logarithms with medians for what is missing."""
    if name == "gastric_nmr":
        frame = pd.read_excel(folder / "gastric_nmr.xlsx", sheet_name=0)
        frame = frame[frame["Class"].isin(["GC", "HE"])]
        values = frame[
            [
                column
                for column in frame.columns
                if str(column).startswith("M") and str(column)[1:].isdigit()
            ]
        ]
        values = np.log(values.where(values > 0))
        return values.fillna(values.median()).to_numpy(float), np.where(
            frame["Class"] == "GC", 1.0, -1.0
        )
    frame = pd.read_csv(folder / f"{name}.csv.gz")
    label = "label" if "label" in frame.columns else frame.columns[-1]
    X = frame.drop(columns=label).select_dtypes("number").to_numpy(float)
    if name.startswith("microbiome"):
        logs = np.log(X + 0.5)
        X = logs - logs.mean(axis=1, keepdims=True)
    return X[:, X.std(axis=0) > 0], np.where(frame[label] == np.unique(frame[label])[1], 1.0, -1.0)


def run(name: str, part: int, methods: list[str], folder: Path) -> list[dict[str, Any]]:
    """Errors on one fold of a table, or the true error of the rules from one set of a design."""
    if name in PUBLISHED:
        X, y = load(name, folder)
        training, rest = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))[
            part
        ]
        fresh = iter([(X[rest], y[rest])])
        X, y = X[training], y[training]
    else:
        count, draw = DESIGNS[name]
        rng = np.random.default_rng([SEED, list(DESIGNS).index(name), part])
        X, y = draw(rng, count)
        fresh = (draw(rng, PIECE) for _ in range(NEW // PIECE))
    models, rows = {}, []
    for method in methods:
        started = time.process_time()
        models[method] = METHODS[method]().fit(X, y)
        seconds, features = round(time.process_time() - started, 2), features_of(models[method])
        rows.append(
            {"name": name, "part": part, "method": method, "seconds": seconds, "features": features}
        )
    wrong = [
        [(model.predict(values) != labels).astype(float) for model in models.values()]
        for values, labels in fresh
    ]
    for row, pieces in zip(rows, zip(*wrong, strict=True), strict=True):
        errors = np.concatenate(pieces)
        row["errors"] = errors.tolist() if name in PUBLISHED else [float(errors.mean())]
    return rows


def size_of_rule(name: str, how: str, number: int, folder: Path) -> dict[str, Any]:
    """The number of features of a rule made from a table with another seed, or from a subsample of it."""
    X, y = load(name, folder)
    if how == "subsample":
        rng = np.random.default_rng([SEED, 7, number])
        X, y = subsample(rng, X, y)
    seed = number if how == "seed" else 0
    model = SparseRule(random_state=seed).fit(X, y)
    return {"name": name, "part": number, "method": how, "features": features_of(model)}


def subsample(rng: Rng, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Nine tenths of the samples of each class, drawn at random."""
    kept = []
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        kept.append(members[: round(SUBSAMPLE * len(members))])
    rows = np.sort(np.concatenate(kept))
    return X[rows], y[rows]


def sizes_in_words(sizes: list[int]) -> str:
    """`9 (6–12), 18 of 20`: the median, the range, and how many lie in the best window of a factor two."""
    if not sizes:
        return ""
    values = np.array(sizes)
    # A rule without features is alike only to another one without.
    within = max(np.sum((values >= low) & (values <= 2 * low)) for low in np.unique(values))
    return f"{np.median(values):.0f} ({values.min()}–{values.max()}), {within} of {len(values)}"


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "Error on new samples and median number of features, by `python benchmarks/rules.py`: ten-fold cross-validation around",
        "all for published tables, 100,000 new samples for designs (ten sets each). Last: the difference to the best of the",
        "others with its standard error, over samples for tables, over sets for designs. SparseRule's candidates and constants",
        "were chosen by looking at these tables and sets, so that its column is somewhat flattered. Sizes of its rule made from a whole",
        "table, over twenty seeds and over twenty subsamples of 90 %: median, range, and how many lie within a factor two.",
        "",
        f"| table or design | {' | '.join(METHODS)} | difference | sizes over seeds | over subsamples |",
        f"|---|{'---|' * (len(METHODS) + 3)}",
    ]
    for name in (*PUBLISHED, *DESIGNS):
        found = {(row["part"], row["method"]): row for row in rows if row["name"] == name}
        parts = [
            part for part in range(FOLDS) if all((part, method) in found for method in METHODS)
        ]
        if not parts:
            continue
        errors = {
            method: np.concatenate([found[part, method]["errors"] for part in parts])
            for method in METHODS
        }
        sizes = {
            method: np.median([found[part, method]["features"] for part in parts])
            for method in METHODS
        }
        best = min(list(METHODS)[1:], key=lambda method: errors[method].mean())
        beyond = errors["SparseRule"] - errors[best]
        spread = beyond.std(ddof=1) / np.sqrt(len(beyond))
        cells = [f"{errors[method].mean():.3f} ({sizes[method]:.0f})" for method in METHODS]
        compared: dict[str, str] = {}
        known = "" if len(parts) == FOLDS else f" ({len(parts)} of {FOLDS} parts)"
        for how in ("seed", "subsample"):
            sizes_found = [row["features"] for key, row in found.items() if key[1] == how]
            compared[how] = sizes_in_words(sizes_found)
        difference = f"{beyond.mean():+.3f} (±{spread:.3f}), {best}"
        lines.append(f"| {name}{known} | {' | '.join([*cells, difference, *compared.values()])} |")
    return "\n".join(lines) + "\n"


def stored_rows() -> list[dict[str, Any]]:
    """The rows of the others that lie beside this script, and those of earlier runs here."""
    lines = gzip.decompress(PEERS.read_bytes()).decode().splitlines()
    if STORE.exists():
        lines += STORE.read_text().splitlines()
    return [json.loads(line) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--tables", type=Path, default=SHARED)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--methods",
        nargs="*",
        default=list(METHODS),
        help="the others do not change with this package",
    )
    options = parser.parse_args()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    rows = stored_rows()
    done = {(row["name"], row["part"], row["method"]) for row in rows}
    names = [name for name in (*PUBLISHED, *DESIGNS) if not options.only or name in options.only]
    for part, name in [] if options.table else product(range(FOLDS), names):
        missing = [method for method in options.methods if (name, part, method) not in done]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run(name, part, missing, options.tables) if missing else []
        rows += found
        with STORE.open("a") as store:
            store.writelines(json.dumps(row) + "\n" for row in found)
    tables = [name for name in names if name in PUBLISHED]
    for number, name, how in product(range(N_SIZES), tables, ("seed", "subsample")):
        if options.table or (name, number, how) in done:
            continue
        rows.append(size_of_rule(name, how, number, options.tables))
        with STORE.open("a") as store:
            store.write(json.dumps(rows[-1]) + "\n")
    write_text(TABLE, table(rows))


if __name__ == "__main__":
    main()
