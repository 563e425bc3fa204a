"""Training errors at K = 1 … 10 of the front and of its peers on the same tables, one core.

Run `python benchmarks/front.py --data FOLDER` on a folder of tables (the label last); the result is written to
docs/tables/front.md. Every peer selects K features by its own criterion. Its errors are counted twice: as the peer fitted its
rule, and refitted for few errors on its features (by `fewest_errors`, and by the front of these features alone). Rows are kept
in results/front.jsonl and not measured again; `--renew` measures those of the front again.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from sklearn.feature_selection import RFE  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import chanceline  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.perceptron.few_errors import rule_on  # noqa: E402
from chanceline.perceptron.rule import make_rule  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TABLE, RESULTS = ROOT / "docs" / "tables" / "front.md", ROOT / "results" / "front.jsonl"
MOST = 10
REFIT_SWAPS = 300
EL0PS_SECONDS = 10.0  # of the clock, for each penalty
OPTIONS: dict[str, dict[str, Any]] = {
    "gastric_nmr": {"label": "Class", "classes": ("GC", "HE"), "missing": "median"}
}

Rules = list[tuple[np.ndarray, np.ndarray, float]]  # supports, weights, thresholds


def coefficients(model: object) -> tuple[np.ndarray, np.ndarray, float]:
    weights = np.asarray(model.coef_).ravel()  # type: ignore[attr-defined]
    support = np.flatnonzero(weights)
    return support, weights[support], float(np.ravel(model.intercept_)[0])  # type: ignore[attr-defined]


def peer_abess(X: np.ndarray, y: np.ndarray) -> Rules:
    from abess import LogisticRegression as Abess

    sizes = range(1, min(MOST, X.shape[1]) + 1)
    return [
        coefficients(Abess(support_size=k, thread=1).fit(X, (y > 0).astype(int))) for k in sizes
    ]


def gams_path(X: np.ndarray, y: np.ndarray, loss: str) -> Rules:
    """All supports of up to ten features on fastsparsegams' path of penalties."""
    import fastsparsegams

    # Local swaps over thousands of columns take minutes.
    algorithm = "CDPSI" if X.shape[1] <= 2500 else "CD"
    path = fastsparsegams.fit(
        X, y, loss=loss, penalty="L0", num_lambda=100, algorithm=algorithm, max_support_size=MOST
    )
    values = path.coeff().toarray()
    rules = []
    for column in values.T:
        support = np.flatnonzero(column[1:])
        if 0 < support.size <= MOST:
            rules.append((support, column[1:][support], float(column[0])))
    return rules


def peer_l1(X: np.ndarray, y: np.ndarray) -> Rules:
    """scikit-learn's L1 logistic regression along its path, and logistic regression on its supports."""
    rules: Rules = []
    strongest = 2 * len(y) / np.abs(X.T @ (y - y.mean())).max() / len(y)
    for strength in strongest * np.geomspace(1.0, 300.0, 40):
        model = LogisticRegression(
            penalty="l1", solver="liblinear", C=strength, intercept_scaling=100.0, max_iter=300
        ).fit(X, y)
        support = np.flatnonzero(model.coef_)
        if support.size > MOST:
            break
        if support.size:
            rules += [coefficients(model), logistic_on(X, y, support)]
    return rules


def logistic_on(
    X: np.ndarray, y: np.ndarray, support: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    model = LogisticRegression(C=1e4, max_iter=1000).fit(X[:, support], y)
    return support, model.coef_.ravel(), float(model.intercept_[0])


def peer_rfe(X: np.ndarray, y: np.ndarray) -> Rules:
    """Recursive elimination by logistic regression: a tenth at a time down to fifty features, then one by one."""
    left = np.arange(X.shape[1])
    if left.size > 50:
        left = left[
            RFE(LogisticRegression(max_iter=300), n_features_to_select=50, step=0.1)
            .fit(X, y)
            .support_
        ]
    ranking = (
        RFE(LogisticRegression(max_iter=300), n_features_to_select=1).fit(X[:, left], y).ranking_
    )
    return [
        logistic_on(X, y, np.sort(left[ranking <= k])) for k in range(1, min(MOST, left.size) + 1)
    ]


def peer_forward(X: np.ndarray, y: np.ndarray) -> Rules:
    """Forward selection: add the feature of largest score statistic, refit logistic regression."""
    support = np.zeros(0, dtype=np.int64)
    rules: Rules = []
    probability = np.full(len(y), np.mean(y > 0))
    for _ in range(min(MOST, X.shape[1])):
        weight = np.maximum(probability * (1 - probability), 1e-9)
        basis = np.linalg.qr(
            np.sqrt(weight)[:, None] * np.column_stack([np.ones(len(y)), X[:, support]])
        )[0]
        scaled = np.sqrt(weight)[:, None] * X
        free = np.maximum((scaled**2).sum(axis=0) - ((basis.T @ scaled) ** 2).sum(axis=0), 1e-9)
        score = ((X.T @ ((y > 0) - probability)) ** 2) / free
        score[support] = -1.0
        support = np.sort(np.append(support, int(np.argmax(score))))
        rules.append(logistic_on(X, y, support))
        probability = 1 / (
            1 + np.exp(-np.clip(X[:, support] @ rules[-1][1] + rules[-1][2], -30, 30))
        )
    return rules


def peer_reweighted(X: np.ndarray, y: np.ndarray) -> Rules:
    """Reweighted L1 (Candès, Wakin and Boyd 2008): four rounds of L1 logistic regression, a feature's penalty 1/(|w| + ε)."""
    rules: Rules = []
    strongest = 2 * len(y) / np.abs(X.T @ (y - y.mean())).max() / len(y)
    for strength in strongest * np.geomspace(1.5, 300.0, 15):
        scale = np.ones(X.shape[1])
        for _ in range(4):
            inside = np.flatnonzero(scale)
            model = LogisticRegression(
                penalty="l1", solver="liblinear", C=strength, intercept_scaling=100.0, max_iter=300
            )
            weights = np.zeros(X.shape[1])
            weights[inside] = (
                model.fit(X[:, inside] * scale[inside], y).coef_.ravel() * scale[inside]
            )
            scale = np.where(weights != 0, np.abs(weights) + 0.1 * np.abs(weights).max(), 0.0)
            if not np.any(weights):
                break
        support = np.flatnonzero(weights)
        if 0 < support.size <= MOST:
            rules += [
                (support, weights[support], float(model.intercept_[0])),
                logistic_on(X, y, support),
            ]
    return rules


def peer_fasterrisk(X: np.ndarray, y: np.ndarray) -> Rules:
    """FasterRisk's beam search and its pool of diverse sets, before the weights are rounded."""
    from fasterrisk.fasterrisk import RiskScoreOptimizer

    rules: Rules = []
    for k in range(1, min(MOST, X.shape[1]) + 1):
        model = RiskScoreOptimizer(X=X, y=y, k=k)
        beam, pool = model.sparseLogRegModel_object, model.sparseDiversePoolLogRegModel_object
        beam.get_sparse_sol_via_OMP(k=k, parent_size=model.parent_size, child_size=model.child_size)
        constant, weights, products = beam.get_beta0_betas_ExpyXB()
        pool.warm_start_from_beta0_betas_ExpyXB(beta0=constant, betas=weights, ExpyXB=products)
        constants, sets = pool.get_sparseDiversePool(
            gap_tolerance=0.05, select_top_m=50, maxAttempts=50
        )
        for start, values in zip(np.atleast_1d(constants), np.atleast_2d(sets), strict=True):
            support = np.flatnonzero(values)
            rules.append((support, values[support], float(start)))
    return rules


def peer_el0ps(X: np.ndarray, y: np.ndarray) -> Rules:
    """El0ps' branch and bound on the squared hinge, a small ridge and a path of ℓ₀ penalties, some seconds for each of them.

    It knows no threshold: the last column is one, whose weight is penalised but not counted.
    """
    from el0ps.datafit import Squaredhinge
    from el0ps.penalty import L2norm
    from el0ps.solver import BnbSolver
    from el0ps.utils import compute_lmbd_max

    table, loss, ridge = (
        np.asfortranarray(np.column_stack([X, np.ones(len(y))])),
        Squaredhinge(y),
        L2norm(0.1 * len(y)),
    )
    compiles(BnbSolver, loss.__class__, ridge.__class__)
    start, rules = None, []
    for penalty in compute_lmbd_max(loss, ridge, table) * np.geomspace(0.3, 0.001, 16):
        found = BnbSolver(time_limit=EL0PS_SECONDS).solve(loss, ridge, table, penalty, x_init=start)
        start = found.x
        support = np.flatnonzero(found.x[:-1])
        if support.size > MOST:
            break
        if support.size:
            rules.append((support, found.x[support], float(found.x[-1])))
    return rules


@cache
def compiles(solver: Any, loss: Any, ridge: Any) -> None:
    """Once, before it counts: El0ps compiles its classes at the first call, for ten seconds and more."""
    rng = np.random.default_rng(0)
    solver().solve(
        loss(np.resize([1.0, -1.0], 12)),
        ridge(1.0),
        np.asfortranarray(rng.normal(size=(12, 3))),
        0.1,
    )


PEERS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], Rules]]] = {
    "abess": ("abess", peer_abess),
    "fastsparsegams, logistic": ("fastsparsegams", lambda X, y: gams_path(X, y, "Logistic")),
    # Its exponential loss takes 0/1 features only.
    "fastsparsegams, squared hinge": (
        "fastsparsegams",
        lambda X, y: gams_path(X, y, "SquaredHinge"),
    ),
    "scikit-learn L1 logistic": ("scikit-learn", peer_l1),
    "scikit-learn RFE logistic": ("scikit-learn", peer_rfe),
    "forward selection": ("scikit-learn", peer_forward),
    "reweighted L1 logistic": ("scikit-learn", peer_reweighted),
    "FasterRisk, its pool": ("fasterrisk", peer_fasterrisk),
    "El0ps, squared hinge": ("el0ps", peer_el0ps),
}


@dataclass(frozen=True)
class Row:
    """Errors of one method on one table at K = 1 … 10 (as fitted, and refitted) and CPU seconds without refitting."""

    table: str
    method: str
    package: str
    own: list[int]
    refitted: list[int]
    seconds: float

    @property
    def errors(self) -> np.ndarray:
        return np.minimum(self.own, self.refitted)


def judge(X: np.ndarray, y: np.ndarray, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """The fewest errors with at most K features, as fitted and refitted for few errors."""
    own, refitted = (np.full(MOST + 1, len(y)) for _ in range(2))
    own[0] = refitted[0] = min(np.sum(y > 0), np.sum(y < 0))
    for support, weights, bias in rules:
        k = support.size
        own[k] = min(own[k], make_rule(X, y, support, weights, bias).errors)
    for support in {tuple(support.tolist()) for support, _, _ in rules}:
        k, columns = len(support), np.array(support)
        alone = (
            chanceline.front(X[:, columns], y, max_features=k, budget=REFIT_SWAPS).points[-1].errors
        )
        refitted[k] = min(refitted[k], alone, rule_on(X, y, columns, True).errors)
    return np.minimum.accumulate(own)[1:], np.minimum.accumulate(refitted)[1:]


def measure_peer(table: str, method: str, X: np.ndarray, y: np.ndarray) -> Row:
    package, run = PEERS[method]
    version = f"{package} {importlib.metadata.version(package)}"
    run(X[:, :3].copy(), y)  # what it compiles or imports does not count
    start = time.process_time()
    rules = run(X, y)
    seconds = time.process_time() - start
    own, refitted = judge(X, y, rules)
    return Row(table, method, version, own.tolist(), refitted.tolist(), seconds)


def measure_front(table: str, X: np.ndarray, y: np.ndarray, budget: int | None) -> Row:
    """The front with its default budget, or with so many swaps."""
    start = time.process_time()
    found = chanceline.front(X, y, max_features=MOST, budget=budget)
    seconds = time.process_time() - start
    errors = np.zeros(MOST, dtype=np.int64)
    errors[: len(found.errors) - 1] = found.errors[1:]
    method = "**front**" if budget is None else f"**front**, {budget} swaps"
    return Row(
        table,
        method,
        f"chanceline {chanceline.__version__}",
        errors.tolist(),
        errors.tolist(),
        seconds,
    )


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The table with unit columns and without constant ones, as most peers want them."""
    dataset = load_data(path, **{"label": "-1", **OPTIONS.get(path.name.partition(".")[0], {})})
    X = dataset.X[:, np.ptp(dataset.X, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), dataset.y


def lines_for(name: str, shape: tuple[int, int], rows: list[Row]) -> list[str]:
    sizes = " | ".join(map(str, range(1, MOST + 1)))
    lines = [
        f"**{name}** ({shape[0]} × {shape[1]})",
        "",
        f"| errors at K = | {sizes} | CPU s |",
        "|---" * (MOST + 2) + "|",
    ]
    for row in rows:
        cells = [
            str(a) if a <= b else f"{b} ({a})" for a, b in zip(row.own, row.refitted, strict=True)
        ]
        lines.append(f"| {row.method} | " + " | ".join(cells) + f" | {row.seconds:.2g} |")
    return [*lines, ""]


def kept_rows() -> dict[tuple[str, str], Row]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(row.table, row.method): row for row in (Row(**json.loads(line)) for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of tables")
    parser.add_argument("--tables", nargs="*", help="names of some of them")
    parser.add_argument(
        "--longer",
        type=int,
        default=120_000,
        help="swaps of a second run of the front, longer on large tables",
    )
    parser.add_argument("--renew", action="store_true", help="measure the rows of the front again")
    arguments = parser.parse_args()
    warnings.simplefilter(
        "ignore"
    )  # peers warn of convergence; their rules are counted all the same
    rng = np.random.default_rng(0)
    chanceline.front(
        rng.normal(size=(12, 5)), np.arange(12) % 2, budget=10
    )  # compile before the clock starts
    RESULTS.parent.mkdir(exist_ok=True)
    lines: list[str] = []
    better, versions = np.zeros(2, dtype=np.int64), set()
    paths = [*arguments.data.glob("*.csv.gz"), *arguments.data.glob("*.xlsx")]
    for path in sorted(paths, key=lambda path: path.stat().st_size):
        name = path.name.partition(".")[0]
        if arguments.tables and name not in arguments.tables:
            continue
        X, y = read(path)
        rows, kept = [], kept_rows()
        for method in ("**front**", f"**front**, {arguments.longer} swaps", *PEERS):
            row, ours = kept.get((name, method)), method not in PEERS
            if (
                row is None
                and not ours
                and not find_spec(PEERS[method][0].replace("scikit-learn", "sklearn"))
            ):
                print(f"{method} is not installed here (docs/dependencies.md): left out")
                continue
            if row is None or (ours and arguments.renew):
                budget = arguments.longer if "swaps" in method else None
                row = (
                    measure_front(name, X, y, budget) if ours else measure_peer(name, method, X, y)
                )
                with RESULTS.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            rows.append(row)
            versions.add(row.package)
        better += [
            sum(int(np.sum(peer.errors < mine.errors)) for peer in rows[2:]) for mine in rows[:2]
        ]
        lines += lines_for(name, X.shape, rows)
        print("\n".join(lines_for(name, X.shape, rows)), flush=True)
        write_text(
            TABLE,
            "\n".join([*heading(sorted(versions)), *lines, summary(better, arguments.longer)])
            + "\n",
        )
    print(summary(better, arguments.longer))


def heading(versions: list[str]) -> list[str]:
    title = (
        "Training errors with at most K features and a threshold. Refitted for few errors where that helps; as fitted by the "
        "peer in brackets. The front has its default budget, then the swaps named, on small tables fewer than by default."
    )
    return [title, f"Versions: {', '.join(versions)}.", ""]


def summary(better: np.ndarray, swaps: int) -> str:
    default, named = better
    return f"Points at which a peer has fewer errors than the front: {default} by default, {named} with {swaps:,} swaps."


if __name__ == "__main__":
    main()
