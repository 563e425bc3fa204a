"""Three witnesses of one number: replica theory, counting, and search.

Entropy: Σ(α, ρ) against the typical ln Z / N, Z the number of separating supports of M = ρN variables, by exact counts
and by Monte Carlo. Capacity: ρ_VS(α) against the smallest K/N.

Finite sizes carry corrections like ln N / N and 1/N. Most of them are those of the first moment
E Z = C(N, M)·D(P, M)/2^P, which is known exactly at every N; what is extrapolated in 1/N is the difference from it.
D is Cover's count for general position. A few ±1 inputs are far from it, so for them the share D/2^P is measured on
random problems instead; it goes to Cover's as M grows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from chanceline.chance.counts import LOG2, log_binomial, log_cover, log_cover_curve
from chanceline.errors import ChancelineError
from chanceline.experiments.fits import Extrapolation, average, extrapolate, typical
from chanceline.theory.capacity import capacity, density
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.solve import solve

if TYPE_CHECKING:
    import pandas as pd

FEWEST_SIZES = 3  # for an extrapolation
SMALLEST_SIZE = 3.0  # of the first moment's K: below, the smallest K is a whole number that hardly varies
FEWEST_HITS = 20  # to know a share better than from Cover's count
MOST_UNSOLVED = 0.01  # of the problems of a size: beyond that their mean smallest support says little


def log_first_moment(n: int, patterns: int, m: int) -> float:
    """ln E Z = ln[C(N, M)·D(P, M)/2^P], exact for inputs in general position."""
    return float(log_binomial(n, m)) + log_cover(patterns, m) - patterns * LOG2


def first_moment_size(n: int, patterns: int) -> float:
    """The size K where the first moment passes 1, between whole numbers by linear interpolation of its logarithm.

    By Markov's inequality smaller supports rarely separate: K grows like ρ_union N and carries the ln N corrections.
    """
    sizes = np.arange(1, n + 1)
    logs = log_binomial(n, sizes) + log_cover_curve(patterns, n)[1:] - patterns * LOG2
    above = int(np.argmax(logs >= 0))
    if above == 0:
        return 1.0
    low, high = logs[above - 1], logs[above]
    return float(sizes[above] - high / (high - low))


def union_density(alpha: float) -> float:
    """ρ where the first-moment exponent vanishes: the limit of `first_moment_size`/N."""
    return float(brentq(lambda rho: first_moment_exponent(alpha, rho), 1e-9, alpha / 2 * (1 - 1e-12)))


def fit_differences(points: pd.DataFrame) -> Extrapolation | None:
    """The difference from the first moment, extrapolated in 1/N with all errors of the points; None with too few sizes."""
    if points["n"].nunique() < FEWEST_SIZES:
        return None
    return extrapolate(points["n"], points["difference"], errors_of(points))


def errors_of(points: pd.DataFrame) -> pd.Series[float]:
    """Errors of the differences: those of the values, and of the first moment where it was measured."""
    return np.hypot(points["error"], points.get("first_moment_error", 0.0))


def entropy_points(
    counts: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    loads: Iterable[float],
    shares: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Typical ln Z / N at each (inputs, ρ, α, N), from exact counts and from Monte Carlo curves.

    Typical means the median over problems: some problems have no separating support at all, and the mean of ln Z does
    not exist then. Median and mean differ by O(1/N).

    Returns
    -------
    DataFrame
        inputs, rho, alpha, n, source ("exact" or "Monte Carlo"), problems, empty (share without any support),
        entropy, error, first_moment (its ln / N), first_moment_error (0 where Cover's count is used, else of the
        measured share), difference (entropy − first_moment).
    """
    import pandas as pd

    samples: dict[tuple[str, float, float, int, str], list[float]] = {}
    if counts is not None:
        for row in counts.itertuples(index=False):
            key = (row.inputs, row.rho, row.alpha, int(row.n), "exact")
            samples.setdefault(key, []).append(math.log(row.count) if row.count else -math.inf)
    if curves is not None:
        for row in curves.itertuples(index=False):
            for alpha in loads:
                value = _on_curve(row, alpha)
                if value is not None:
                    samples.setdefault((row.inputs, row.rho, alpha, int(row.n), "Monte Carlo"), []).append(value)
    measured: dict[str, pd.DataFrame] = {}
    if shares is not None:
        for inputs, group in shares.groupby("inputs"):
            measured[inputs] = group.groupby(["patterns", "m"])[["hits", "draws"]].sum()
    rows = []
    for (inputs, rho, alpha, n, source), logs in sorted(samples.items()):
        estimate = typical(logs)
        moment, moment_error = _first_moment(n, round(alpha * n), round(rho * n), measured.get(inputs))
        rows.append(
            {
                "inputs": inputs,
                "rho": rho,
                "alpha": alpha,
                "n": n,
                "source": source,
                "problems": estimate.samples,
                "empty": float(np.mean(np.isneginf(logs))),
                "entropy": estimate.value / n,
                "error": estimate.error / n,
                "first_moment": moment,
                "first_moment_error": moment_error,
                "difference": estimate.value / n - moment,
            }
        )
    return pd.DataFrame(rows)


def _first_moment(n: int, patterns: int, m: int, shares: pd.DataFrame | None) -> tuple[float, float]:
    """ln E Z / N and its error, from the measured share of separable P × M problems where there is one."""
    hits, draws = (0, 1) if shares is None or (patterns, m) not in shares.index else shares.loc[(patterns, m)]
    if hits < FEWEST_HITS:
        return log_first_moment(n, patterns, m) / n, 0.0
    value = float(log_binomial(n, m)) + math.log(hits / draws)
    return value / n, math.sqrt((1 - hits / draws) / hits) / n


def _on_curve(row: Any, alpha: float) -> float | None:
    """ln Z at a load on a Monte Carlo curve; −∞ above its end, None where no rung stands."""
    place, rest = divmod(alpha * row.n - row.first, row.rung)
    if rest or place < 0 or alpha > row.alpha:
        return None
    curve = json.loads(row.log_counts) if isinstance(row.log_counts, str) else row.log_counts
    return curve[int(place)] if place < len(curve) and curve[int(place)] is not None else -math.inf


def entropy_witness(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate each (inputs, ρ, α) in 1/N, from exact counts, from Monte Carlo and from both; theory beside them."""
    import pandas as pd

    rows = []
    for (inputs, rho, alpha), group in points.dropna(subset="entropy").groupby(["inputs", "rho", "alpha"]):
        row: dict[str, Any] = {"inputs": inputs, "rho": rho, "alpha": alpha}
        limit = first_moment_exponent(alpha, rho)
        for name, source in (("exact", "exact"), ("sampled", "Monte Carlo"), ("both", None)):
            part = group if source is None else group[group["source"] == source]
            fit = fit_differences(part)
            if fit is None:
                continue
            row |= {name: limit + fit.value, f"{name}_error": fit.error, f"{name}_chi2": fit.chi2, f"{name}_dof": fit.dof}
        rows.append({**row, "rs": _theory_entropy(alpha, rho, "rs"), "rsb": _theory_entropy(alpha, rho, "1rsb")})
    return pd.DataFrame(rows)


def _theory_entropy(alpha: float, rho: float, ansatz: str) -> float:
    try:
        return float(solve(alpha, rho, ansatz=ansatz).entropy)
    except ChancelineError:
        return math.nan


def capacity_points(smallest: pd.DataFrame) -> pd.DataFrame:
    """Mean smallest K/N at each (inputs, method, α, N), where all but 1 % of the problems were solved.

    Solved means that the support separates; for the paper's greedy-BIHT, that it stopped by its own rule before K = N,
    which lets patterns lie on the boundary (`tied` is the share of problems where some do).
    """
    import pandas as pd

    rows = []
    for (inputs, method, alpha, n), group in smallest.groupby(["inputs", "method", "alpha", "n"]):
        separated = group["separates"].astype(bool)
        stopped = group["n_selected"] < n if str(method).startswith("greedy-biht") else separated
        solved = group.loc[stopped, "n_selected"]
        patterns = int(group["n_patterns"].iloc[0])
        moment = first_moment_size(n, patterns) / n
        unsolved = 1 - len(solved) / len(group)
        estimate = average(solved / n)
        # Whole numbers that happen to agree are still known no better than to rounding.
        error = max(estimate.error, 1 / (n * math.sqrt(12 * max(len(solved), 1))))
        if unsolved > MOST_UNSOLVED or not np.isfinite(estimate.error):
            continue
        rows.append(
            {
                "inputs": inputs,
                "method": method,
                "alpha": alpha,
                "n": n,
                "load": patterns / n,
                "problems": len(group),
                "unsolved": unsolved,
                "tied": float((stopped & ~separated).mean()),
                "density": estimate.value,
                "error": error,
                "first_moment": moment,
                "difference": estimate.value - moment,
            }
        )
    return pd.DataFrame(rows)


@cache
def broken_density(alpha: float) -> float:
    """ρ_VS(α) with one step of symmetry breaking between supports: the inverse of α_VS(ρ)."""
    symmetric = density(alpha).rho
    # Breaking lowers the capacity by a percent or so: a little more has to be selected.
    above = min(1.1 * symmetric, 0.5 * (1 + symmetric))
    return float(brentq(lambda rho: capacity(rho, ansatz="1rsb").alpha - alpha, symmetric, above, xtol=1e-9))


def capacity_witness(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate the smallest K/N at each (inputs, α) in 1/N; ρ_VS, symmetric and with one step of breaking, beside it.

    Sizes where the first moment's K is below 3 are left out: so small a whole number does not follow a smooth curve.
    """
    import pandas as pd

    rows = []
    large = points[points["first_moment"] * points["n"] >= SMALLEST_SIZE]
    for (inputs, alpha), group in large.groupby(["inputs", "alpha"]):
        fit = fit_differences(group)
        if fit is None:
            continue
        rows.append(
            {
                "inputs": inputs,
                "alpha": alpha,
                "searched": union_density(alpha) + fit.value,
                "searched_error": fit.error,
                "chi2": fit.chi2,
                "dof": fit.dof,
                "rs": density(alpha).rho,
                "rsb": broken_density(alpha),
            }
        )
    return pd.DataFrame(rows)
