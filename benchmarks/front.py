"""Training errors at K = 1 … 10 of the front and of its peers on the same tables, one core.

Run `python benchmarks/front.py --data FOLDER` on a folder of tables (CSV, the label last); the result is written to
docs/tables/front.md. Every peer selects K features by its own criterion. Its errors are counted twice: as the peer fitted its
rule, and refitted for few errors on its features (by `fewest_errors`, and by the front of these features alone).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from sklearn.feature_selection import RFE  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import chanceline  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.perceptron.rule import make_rule, rule_on  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "docs" / "tables" / "front.md"
MOST = 10
REFIT_SWAPS = 300

Rules = list[tuple[np.ndarray, np.ndarray, float]]  # supports, weights, thresholds


def coefficients(model: object) -> tuple[np.ndarray, np.ndarray, float]:
    weights = np.asarray(model.coef_).ravel()  # type: ignore[attr-defined]
    support = np.flatnonzero(weights)
    return support, weights[support], float(np.ravel(model.intercept_)[0])  # type: ignore[attr-defined]


def peer_abess(X: np.ndarray, y: np.ndarray) -> Rules:
    from abess import LogisticRegression as Abess

    sizes = range(1, min(MOST, X.shape[1]) + 1)
    return [coefficients(Abess(support_size=k, thread=1).fit(X, (y > 0).astype(int))) for k in sizes]


def gams_path(X: np.ndarray, y: np.ndarray, loss: str) -> Rules:
    """All supports of up to ten features on fastsparsegams' path of penalties."""
    import fastsparsegams

    # Local swaps over thousands of columns take minutes.
    algorithm = "CDPSI" if X.shape[1] <= 2500 else "CD"
    path = fastsparsegams.fit(X, y, loss=loss, penalty="L0", num_lambda=100, algorithm=algorithm, max_support_size=MOST)
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
        model = LogisticRegression(penalty="l1", solver="liblinear", C=strength, intercept_scaling=100.0, max_iter=300).fit(X, y)
        support = np.flatnonzero(model.coef_)
        if support.size > MOST:
            break
        if support.size:
            rules += [coefficients(model), logistic_on(X, y, support)]
    return rules


def logistic_on(X: np.ndarray, y: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    model = LogisticRegression(C=1e4, max_iter=1000).fit(X[:, support], y)
    return support, model.coef_.ravel(), float(model.intercept_[0])


def peer_rfe(X: np.ndarray, y: np.ndarray) -> Rules:
    """Recursive elimination by logistic regression: a tenth at a time down to fifty features, then one by one."""
    left = np.arange(X.shape[1])
    if left.size > 50:
        left = left[RFE(LogisticRegression(max_iter=300), n_features_to_select=50, step=0.1).fit(X, y).support_]
    ranking = RFE(LogisticRegression(max_iter=300), n_features_to_select=1).fit(X[:, left], y).ranking_
    return [logistic_on(X, y, np.sort(left[ranking <= k])) for k in range(1, min(MOST, left.size) + 1)]


def peer_forward(X: np.ndarray, y: np.ndarray) -> Rules:
    """Forward selection: add the feature of largest score statistic, refit logistic regression."""
    support = np.zeros(0, dtype=np.int64)
    rules: Rules = []
    probability = np.full(len(y), np.mean(y > 0))
    for _ in range(min(MOST, X.shape[1])):
        weight = np.maximum(probability * (1 - probability), 1e-9)
        basis = np.linalg.qr(np.sqrt(weight)[:, None] * np.column_stack([np.ones(len(y)), X[:, support]]))[0]
        scaled = np.sqrt(weight)[:, None] * X
        free = np.maximum((scaled**2).sum(axis=0) - ((basis.T @ scaled) ** 2).sum(axis=0), 1e-9)
        score = ((X.T @ ((y > 0) - probability)) ** 2) / free
        score[support] = -1.0
        support = np.sort(np.append(support, int(np.argmax(score))))
        rules.append(logistic_on(X, y, support))
        probability = 1 / (1 + np.exp(-np.clip(X[:, support] @ rules[-1][1] + rules[-1][2], -30, 30)))
    return rules


def peer_reweighted(X: np.ndarray, y: np.ndarray) -> Rules:
    """Reweighted L1 (Candès, Wakin and Boyd 2008): four rounds of L1 logistic regression, a feature's penalty 1/(|w| + ε)."""
    rules: Rules = []
    strongest = 2 * len(y) / np.abs(X.T @ (y - y.mean())).max() / len(y)
    for strength in strongest * np.geomspace(1.5, 300.0, 15):
        scale = np.ones(X.shape[1])
        for _ in range(4):
            inside = np.flatnonzero(scale)
            model = LogisticRegression(penalty="l1", solver="liblinear", C=strength, intercept_scaling=100.0, max_iter=300)
            weights = np.zeros(X.shape[1])
            weights[inside] = model.fit(X[:, inside] * scale[inside], y).coef_.ravel() * scale[inside]
            scale = np.where(weights != 0, np.abs(weights) + 0.1 * np.abs(weights).max(), 0.0)
            if not np.any(weights):
                break
        support = np.flatnonzero(weights)
        if 0 < support.size <= MOST:
            rules += [(support, weights[support], float(model.intercept_[0])), logistic_on(X, y, support)]
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
        constants, sets = pool.get_sparseDiversePool(gap_tolerance=0.05, select_top_m=50, maxAttempts=50)
        for start, values in zip(np.atleast_1d(constants), np.atleast_2d(sets), strict=True):
            support = np.flatnonzero(values)
            rules.append((support, values[support], float(start)))
    return rules


PEERS: dict[str, Callable[[np.ndarray, np.ndarray], Rules]] = {
    "abess": peer_abess,
    "fastsparsegams, logistic": lambda X, y: gams_path(X, y, "Logistic"),
    # Its exponential loss takes 0/1 features only.
    "fastsparsegams, squared hinge": lambda X, y: gams_path(X, y, "SquaredHinge"),
    "scikit-learn L1 logistic": peer_l1,
    "scikit-learn RFE logistic": peer_rfe,
    "forward selection": peer_forward,
    "reweighted L1 logistic": peer_reweighted,
    "FasterRisk, its pool": peer_fasterrisk,
}


@dataclass(frozen=True)
class Row:
    """Errors of one method on one table at K = 1 … 10 (as fitted, and refitted) and CPU seconds without refitting."""

    method: str
    own: np.ndarray
    refitted: np.ndarray
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
        alone = chanceline.front(X[:, columns], y, max_features=k, budget=REFIT_SWAPS).points[-1].errors
        refitted[k] = min(refitted[k], alone, rule_on(X, y, columns, True).errors)
    return np.minimum.accumulate(own)[1:], np.minimum.accumulate(refitted)[1:]


def measure_peers(X: np.ndarray, y: np.ndarray) -> list[Row]:
    rows = []
    for method, run in PEERS.items():
        start = time.process_time()
        rules = run(X, y)
        seconds = time.process_time() - start
        rows.append(Row(method, *judge(X, y, rules), seconds))
    return rows


def measure_front(X: np.ndarray, y: np.ndarray, budget: int | None) -> Row:
    """The front with its default budget, or with so many swaps."""
    start = time.process_time()
    found = chanceline.front(X, y, max_features=MOST, budget=budget)
    seconds = time.process_time() - start
    errors = np.zeros(MOST, dtype=np.int64)
    errors[: len(found.errors) - 1] = found.errors[1:]
    return Row("**front**" if budget is None else f"**front**, {budget} swaps", errors, errors, seconds)


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The table with unit columns, as most peers want them."""
    dataset = load_data(path, "-1")
    scale = dataset.X.std(axis=0)
    return (dataset.X - dataset.X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), dataset.y


def lines_for(name: str, shape: tuple[int, int], rows: list[Row]) -> list[str]:
    sizes = " | ".join(map(str, range(1, MOST + 1)))
    lines = [f"**{name}** ({shape[0]} × {shape[1]})", "", f"| errors at K = | {sizes} | CPU s |", "|---" * (MOST + 2) + "|"]
    for row in rows:
        cells = [str(a) if a <= b else f"{b} ({a})" for a, b in zip(row.own, row.refitted, strict=True)]
        lines.append(f"| {row.method} | " + " | ".join(cells) + f" | {row.seconds:.2g} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of tables")
    parser.add_argument("--tables", nargs="*", help="names of some of them")
    parser.add_argument("--longer", type=int, default=120_000, help="swaps of a second, longer run of the front")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # peers warn of convergence; their rules are counted all the same
    rng = np.random.default_rng(0)
    chanceline.front(rng.normal(size=(12, 5)), np.arange(12) % 2, budget=10)  # compile before the clock starts
    title = (
        "Training errors with at most K features and a threshold. Refitted for few errors where that helps; as fitted by the "
        "peer in brackets. The front has its default budget, then a longer one."
    )
    lines: list[str] = [title, ""]
    better = np.zeros(2, dtype=np.int64)
    for path in sorted(arguments.data.glob("*.csv.gz"), key=lambda path: path.stat().st_size):
        name = path.name.removesuffix(".csv.gz")
        if arguments.tables and name not in arguments.tables:
            continue
        X, y = read(path)
        mine = [measure_front(X, y, None), measure_front(X, y, arguments.longer)]
        peers = measure_peers(X, y)
        better += [sum(int(np.sum(peer.errors < front.errors)) for peer in peers) for front in mine]
        lines += lines_for(name, X.shape, [*mine, *peers])
        print("\n".join(lines_for(name, X.shape, [*mine, *peers])), flush=True)
        write_text(TABLE, "\n".join([*lines, summary(better)]) + "\n")
    print(summary(better))


def summary(better: np.ndarray) -> str:
    return (
        f"Points at which a peer has fewer errors than the front: {better[0]} with the default budget, "
        f"{better[1]} with the longer one."
    )


if __name__ == "__main__":
    main()
