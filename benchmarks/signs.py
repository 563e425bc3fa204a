"""Weights of given sign on Gaussian noise: theory, exact counts and search, by the rules of docs/signs.md.

Run `python benchmarks/signs.py`; every set is kept in results/signs.jsonl, so that a second run goes on where the first
ended, and the tables are written to docs/tables/signs.md. With --kept they are written from the sets that are there.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import chanceline  # noqa: E402
from chanceline._io import write_text  # noqa: E402
from chanceline.chance.binomial import LOG2, log_binomial  # noqa: E402
from chanceline.chance.cover import log_cover  # noqa: E402
from chanceline.experiments.extrapolation import mean_estimate, median_estimate  # noqa: E402
from chanceline.experiments.scaling import fit_differences  # noqa: E402
from chanceline.perceptron.random_patterns import random_problem  # noqa: E402
from chanceline.select import count  # noqa: E402
from chanceline.theory.closed_forms import first_moment_exponent  # noqa: E402
from chanceline.theory.ensemble import Ensemble  # noqa: E402
from chanceline.theory.first_moment import first_moment_density  # noqa: E402
from chanceline.theory.quadrature import QUADRATURE_STEP  # noqa: E402
from chanceline.theory.support_averages import VariableParameters, variable_law_at_nodes  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TABLE, KEPT = ROOT / "docs" / "tables" / "signs.md", ROOT / "results" / "signs.jsonl"
COUNTED = {12: 2000, 16: 2000, 20: 1000, 24: 400}  # N: sets
SEARCHED = {64: 100, 128: 40, 256: 20}
PROVEN = {32: 40, 64: 20}
COUNT_LOADS, DENSITY, SEARCH_LOAD = (0.5, 0.75), 0.25, 0.5
WORDS = {"free": "free signs", "given": "given signs"}


def measure(kind: str, n: int, load: float, seed: int) -> dict[str, float]:
    """One set of Gaussian noise: its supports counted, or its smallest set searched for or proven, with and without signs."""
    X, y = random_problem(n, seed=seed, inputs="gaussian", n_patterns=round(n * load))
    if kind == "count":
        size = round(DENSITY * n)
        return {"free": count(X, y, size).count, "given": count(X, y, size, signs=1).count}
    found = chanceline.search(X, y, signs=1, seed=seed).n_selected
    if kind == "exact":
        return {"given": found, "proven": chanceline.search(X, y, "exact", signs=1).n_selected}
    return {"given": found, "free": chanceline.search(X, y, seed=seed).n_selected}


def run(more: bool) -> pd.DataFrame:
    """Every set that is not kept yet, unless there shall be no more, then all of them."""
    KEPT.parent.mkdir(exist_ok=True)
    kept = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    known = {(row["kind"], row["n"], row["load"], row["seed"]) for row in kept}
    work = [("count", COUNTED, load) for load in COUNT_LOADS]
    work += [("smallest", SEARCHED, SEARCH_LOAD), ("exact", PROVEN, SEARCH_LOAD)]
    with KEPT.open("a") as file:
        for kind, sizes, load in work:
            for n, sets in sizes.items():
                for seed in range(sets if more else 0):
                    if (kind, n, load, seed) not in known:
                        row = {
                            "kind": kind,
                            "n": n,
                            "load": load,
                            "seed": seed,
                            **measure(kind, n, load, seed),
                        }
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                        kept.append(row)
    wanted = {(kind, n, load): sets for kind, sizes, load in work for n, sets in sizes.items()}
    return pd.DataFrame(
        [row for row in kept if row["seed"] < wanted.get((row["kind"], row["n"], row["load"]), 0)]
    )


def log_moment(n: int, patterns: int, size: int, signs: str) -> float:
    """ln of the expected number of separating sets of that size, exact for Gaussian noise: a given sign is one point more."""
    points = patterns + size * (signs == "given")
    return float(log_binomial(n, size)) + log_cover(points, size) - points * LOG2


def moment_size(n: int, patterns: int, signs: str) -> float:
    """The size where that number passes 1, between whole numbers by linear interpolation of its logarithm."""
    logs = [log_moment(n, patterns, size, signs) for size in range(1, n + 1)]
    above = next(i for i, value in enumerate(logs) if value >= 0)
    return above + 1 - logs[above] / (logs[above] - logs[above - 1]) if above else 1.0


def moment_limit(load: float, signs: str) -> float:
    """Of the same logarithm over N."""
    return first_moment_exponent(load + DENSITY * (signs == "given"), DENSITY)


def count_rows(data: pd.DataFrame, load: float) -> list[str]:
    """Rules 1 and 2, and the limit of Σ by the fit of docs/experiments.md: median ln Z/N less the first moment, in 1/N."""
    theory = {signs: chanceline.solve(load, DENSITY, signs=signs).entropy for signs in WORDS}
    gap, limit = (
        theory["free"] - theory["given"],
        moment_limit(load, "free") - moment_limit(load, "given"),
    )
    rows = [
        f"Counts at α = {load:g}, ρ = {DENSITY:g}; Σ is {gap:.4f} less with given signs:",
        "",
        "| N | sets | empty | mean given | exact | apart (s.e.) | ln(free/given)/N | from theory | allowed | corrected |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    points: list[dict[str, float | str]] = []
    for size_n, group in data[(data["kind"] == "count") & (data["load"] == load)].groupby("n"):
        n = int(size_n)
        patterns, size = round(load * n), round(DENSITY * n)
        moments = {signs: log_moment(n, patterns, size, signs) for signs in WORDS}
        for signs in WORDS:
            middle, error = median_estimate(
                [math.log(found) / n if found else -math.inf for found in group[signs]]
            )
            points.append(
                {"signs": signs, "n": n, "difference": middle - moments[signs] / n, "error": error}
            )
        mean, error = mean_estimate(group["given"])
        exact = math.exp(moments["given"])
        logs = np.log(group[["free", "given"]].clip(lower=0.5))
        value, spread = mean_estimate((logs["free"] - logs["given"]) / n)
        rest = (moments["free"] - moments["given"]) / n - limit
        cells = [
            n,
            len(group),
            f"{(group['given'] == 0).mean():.0%}",
            f"{mean:.1f} ± {error:.1f}",
            f"{exact:.1f}",
        ]
        cells += [
            f"{(mean - exact) / error:+.1f}",
            f"{value:.4f} ± {spread:.4f}",
            f"{value - gap:+.4f}",
        ]
        cells += [f"{2 * spread + 0.01:.4f}" if n > 12 else "–", f"{value - gap - rest:+.4f}"]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    for signs, words in WORDS.items():
        # Where half of the tables have very few sets, their median is a whole number without an error.
        known = pd.DataFrame(points).query("signs == @signs and error > 0").dropna()
        fit = fit_differences(known)
        if fit is not None:
            found = moment_limit(load, signs) + fit.value
            apart = (found - theory[signs]) / fit.error
            sizes = ", ".join(str(n) for n in known["n"])
            rows += [
                "",
                f"N → ∞ from N = {sizes}, {words}: Σ = {found:.3f} ± {fit.error:.3f}, theory {theory[signs]:.4f} ({apart:+.1f}).",
            ]
    return rows


def size_rows(data: pd.DataFrame) -> list[str]:
    """Rules 3 and 4."""
    rows = [
        f"Smallest sets at α = {SEARCH_LOAD:g}, the same tables with free and with given signs:",
        "",
        "| signs | N | sets | mean K/N | K₁/N + density ρ − union | above | smallest set's K₁/N |",
        "|---|---|---|---|---|---|---|",
    ]
    limits = []
    for signs, words in WORDS.items():
        line, union = (
            chanceline.density(SEARCH_LOAD, signs=signs).rho,
            first_moment_density(SEARCH_LOAD, Ensemble(signs=signs)),
        )
        points = []
        for n, group in data[data["kind"] == "smallest"].groupby("n"):
            value, error = mean_estimate(group[signs] / n)
            moment = moment_size(int(n), round(SEARCH_LOAD * n), signs) / n
            points.append({"n": n, "difference": value - moment, "error": error})
            predicted = moment + line - union
            cells = [
                signs,
                n,
                len(group),
                f"{value:.4f} ± {error:.4f}",
                f"{predicted:.4f}",
                f"{value / predicted - 1:+.1%}",
            ]
            rows.append(f"| {' | '.join(map(str, cells))} | {moment:.4f} |")
        fit = fit_differences(pd.DataFrame(points))
        if fit is not None:
            found = union + fit.value
            apart = f"{found / line - 1:+.1%} ± {fit.error / line:.1%}"
            limits += [
                "",
                f"N → ∞, {words}: {found:.4f} ± {fit.error:.4f}; density ρ = {line:.4f}, {apart} from it; union {union:.4f}.",
            ]
    rows += limits
    for n, group in data[data["kind"] == "exact"].groupby("n"):
        below, same = (
            (group["given"] < group["proven"]).sum(),
            (group["given"] == group["proven"]).sum(),
        )
        rows += [
            "",
            f"Of {len(group)} sets at N = {n}, search found the proven minimum in {same} and less in {below}.",
        ]
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
        order = VariableParameters(s.F0, s.F1 - s.F0, s.E - s.F1 + s.F0, s.K)
        law, rule = variable_law_at_nodes(order, QUADRATURE_STEP, signed=True)
        mean = float(rule.mean(law.slope)) / s.nonzero
        spread = math.sqrt(rho / s.nonzero - mean**2) / mean
        # Of the weight h/E > 0: N(h; u, V) e^{h²/2E − K}/(1 + e^{−K}B), averaged over u.
        h, V, u = np.linspace(0, 3 * s.E, 600)[:, None], s.F1 - s.F0, np.sqrt(s.F0) * rule.nodes
        law = (
            np.exp(-((h - u) ** 2) / (2 * V) + h**2 / (2 * s.E) - s.K - law.log_partition)
            @ rule.weights
        )
        share = end.alpha / chanceline.capacity(0.5, margin=margin, signs="given").alpha
        cells = [
            f"{rho:g} | {margin:g}",
            f"{end.alpha:.4f}",
            f"{share:.3f}",
            f"{1 - s.nonzero / rho:.4f}",
            f"{spread:.3f}",
        ]
        rows.append(f"| {' | '.join(cells)} | {law[0] / law.max():.3f} |")
    start = time.process_time()
    chanceline.capacity_curve(np.linspace(0.005, 0.49, 40), replicon=True, signs="given")
    seconds = time.process_time() - start
    return [
        *rows,
        "",
        f"40 densities from 0.005 to 0.49, with where symmetry breaks, take {seconds:.1f} s of processor time.",
    ]


def main() -> None:
    data = run(more="--kept" not in sys.argv)
    counts = [line for load in COUNT_LOADS for line in (*count_rows(data, load), "")]
    text = "\n".join([*weight_rows(), "", *counts, *size_rows(data), ""])
    print(text)
    write_text(TABLE, text)


if __name__ == "__main__":
    main()
