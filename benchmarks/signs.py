"""Weights of given sign on Gaussian noise: theory, exact counts and search, by the rules of docs/signs.md.

Run `python benchmarks/signs.py`; every set is kept in results/signs.jsonl, so that a second run goes on where the first
ended, and the tables are written to docs/tables/signs.md.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import chanceline  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.chance.counts import LOG2, log_binomial, log_cover  # noqa: E402
from chanceline.experiments.scaling import average, fit_differences, log_first_moment  # noqa: E402
from chanceline.perceptron.problem import random_problem  # noqa: E402
from chanceline.select import count  # noqa: E402
from chanceline.theory.bounds import first_moment_density  # noqa: E402
from chanceline.theory.ensemble import Ensemble, first_moment_exponent  # noqa: E402
from chanceline.theory.kernels import support_on_rule  # noqa: E402
from chanceline.theory.numerics import STEP  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TABLE, KEPT = ROOT / "docs" / "tables" / "signs.md", ROOT / "results" / "signs.jsonl"
GIVEN = Ensemble(signs="given")
COUNTED = {12: 600, 16: 600, 20: 400, 24: 200}  # N: sets
SEARCHED = {64: 60, 128: 40, 256: 20}
PROVEN = {32: 40, 64: 20}
LOAD, DENSITY, SEARCH_LOAD = 0.75, 0.25, 0.5


def measure(kind: str, n: int, seed: int) -> dict[str, float]:
    """One set of Gaussian noise: its supports counted, or its smallest set searched for or proven."""
    X, y = random_problem(n, seed=seed, inputs="gaussian", n_patterns=round(n * (LOAD if kind == "count" else SEARCH_LOAD)))
    if kind == "count":
        size = round(DENSITY * n)
        return {"free": count(X, y, size).count, "given": count(X, y, size, signs=1).count}
    found = chanceline.search(X, y, signs=1, seed=seed)
    proven = chanceline.search(X, y, "exact", signs=1).n_selected if kind == "exact" else 0
    return {"size": found.n_selected, "proven": proven}


def run() -> pd.DataFrame:
    """Every set that is not kept yet, then all of them."""
    KEPT.parent.mkdir(exist_ok=True)
    kept = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    known = {(row["kind"], row["n"], row["seed"]) for row in kept}
    with KEPT.open("a") as file:
        for kind, sizes in (("count", COUNTED), ("smallest", SEARCHED), ("exact", PROVEN)):
            for n, sets in sizes.items():
                for seed in range(sets):
                    if (kind, n, seed) not in known:
                        row = {"kind": kind, "n": n, "seed": seed, **measure(kind, n, seed)}
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                        kept.append(row)
    return pd.DataFrame(kept)


def log_moment(n: int, patterns: int, size: int) -> float:
    """ln of the expected number of sets of that size with separating weights of the given signs, exact for Gaussian noise."""
    points = patterns + size
    return float(log_binomial(n, size)) + log_cover(points, size) - points * LOG2


def moment_size(n: int, patterns: int) -> float:
    """The size where that number passes 1, between whole numbers by linear interpolation of its logarithm."""
    logs = [log_moment(n, patterns, size) for size in range(1, n + 1)]
    above = next(i for i, value in enumerate(logs) if value >= 0)
    return above + 1 - logs[above] / (logs[above] - logs[above - 1]) if above else 1.0


def count_rows(data: pd.DataFrame) -> list[str]:
    """Rules 1 and 2."""
    theory = [chanceline.solve(LOAD, DENSITY, signs=signs).entropy for signs in ("free", "given")]
    gap = theory[0] - theory[1]
    # The first moments' own difference: with given signs it is that of P + M patterns.
    limit = first_moment_exponent(LOAD, DENSITY) - first_moment_exponent(LOAD + DENSITY, DENSITY)
    both = f"Σ = {theory[0]:.6f} with free signs, {theory[1]:.6f} with given ones, {gap:.4f} less"
    rows = [
        f"Counts at α = {LOAD:g}, ρ = {DENSITY:g}; {both}:",
        "",
        "| N | sets | empty | mean given | exact | apart (s.e.) | ln(free/given)/N | from theory | allowed | corrected |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n, group in data[data["kind"] == "count"].groupby("n"):
        mean, error = average(group["given"])
        patterns, size = round(LOAD * n), round(DENSITY * n)
        log_exact = log_moment(int(n), patterns, size)
        exact = math.exp(log_exact)
        rest = (log_first_moment(int(n), patterns, size) - log_exact) / n - limit
        logs = np.log(group[["free", "given"]].clip(lower=0.5))
        value, spread = average((logs["free"] - logs["given"]) / n)
        cells = [
            n,
            len(group),
            f"{(group['given'] == 0).mean():.0%}",
            f"{mean:.1f} ± {error:.1f}",
            f"{exact:.1f}",
            f"{(mean - exact) / error:+.1f}",
        ]
        cells += [
            f"{value:.4f} ± {spread:.4f}",
            f"{value - gap:+.4f}",
            f"{2 * spread + 0.01:.4f}" if n > 12 else "–",
            f"{value - gap - rest:+.4f}",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return rows


def size_rows(data: pd.DataFrame) -> list[str]:
    """Rules 3 and 4."""
    line, union = chanceline.density(SEARCH_LOAD, signs="given").rho, first_moment_density(SEARCH_LOAD, GIVEN)
    rows = [
        f"Smallest sets at α = {SEARCH_LOAD:g}; density ρ = {line:.4f}, union bound {union:.4f}:",
        "",
        "| N | sets | mean K/N | K₁/N + density ρ − union | above | smallest set's K₁/N |",
        "|---|---|---|---|---|---|",
    ]
    points = []
    for n, group in data[data["kind"] == "smallest"].groupby("n"):
        value, error = average(group["size"] / n)
        moment = moment_size(int(n), round(SEARCH_LOAD * n)) / n
        points.append({"n": n, "difference": value - moment, "error": error})
        predicted = moment + line - union
        cells = [
            n,
            len(group),
            f"{value:.4f} ± {error:.4f}",
            f"{predicted:.4f}",
            f"{value / predicted - 1:+.1%}",
            f"{moment:.4f}",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    fit = fit_differences(pd.DataFrame(points))
    if fit is not None:
        rows += ["", f"N → ∞: {union + fit.value:.4f} ± {fit.error:.4f}, {(union + fit.value) / line - 1:+.1%} from density ρ."]
    for n, group in data[data["kind"] == "exact"].groupby("n"):
        below, same = (group["size"] < group["proven"]).sum(), (group["size"] == group["proven"]).sum()
        rows += ["", f"Of {len(group)} sets at N = {n}, search found the proven minimum in {same} and less in {below}."]
    return rows


def weight_rows() -> list[str]:
    """What the chosen inputs' weights look like where Σ = 0."""
    rows = [
        "Weights of the chosen inputs at capacity (replica symmetric); with all inputs half are silent and the CV is 0.756:",
        "",
        "| ρ | κ | load α | share of all inputs' load | silent among the chosen | CV of the others | density at 0 over peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for rho, margin in ((0.1, 0.0), (0.25, 0.0), (0.4, 0.0), (0.25, 0.5), (0.25, 1.0)):
        end = chanceline.capacity(rho, margin=margin, signs="given")
        s = chanceline.solve(end.alpha, rho, margin=margin, signs="given")
        side, rule = support_on_rule(s.F0, s.F1 - s.F0, s.E - s.F1 + s.F0, s.K, STEP, True)
        mean = float(rule.mean(side.slope)) / s.nonzero
        spread = math.sqrt(rho / s.nonzero - mean**2) / mean
        # Of the weight h/E > 0: N(h; u, V) e^{h²/2E − K}/(1 + e^{−K}B), averaged over u.
        h, V, u = np.linspace(0, 3 * s.E, 600)[:, None], s.F1 - s.F0, np.sqrt(s.F0) * rule.nodes
        law = np.exp(-((h - u) ** 2) / (2 * V) + h**2 / (2 * s.E) - s.K - side.log_one_plus) @ rule.weights
        share = end.alpha / chanceline.capacity(0.5, margin=margin, signs="given").alpha
        cells = [f"{rho:g} | {margin:g}", f"{end.alpha:.4f}", f"{share:.3f}", f"{1 - s.nonzero / rho:.4f}", f"{spread:.3f}"]
        rows.append(f"| {' | '.join(cells)} | {law[0] / law.max():.3f} |")
    return rows


def main() -> None:
    data = run()
    text = "\n".join([*weight_rows(), "", *count_rows(data), "", *size_rows(data), ""])
    print(text)
    write_text(TABLE, text)


if __name__ == "__main__":
    main()
