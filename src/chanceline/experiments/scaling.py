"""Finite-size scaling: from stored results to points with errors, and from finite sizes to N → ∞ beside theory.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq

from chanceline._results import Result
from chanceline.chance.counts import LOG2, log_binomial, log_cover_curve
from chanceline.errors import ChancelineError, InputError
from chanceline.experiments.store import Store, frame
from chanceline.experiments.sweeps import load_sweep
from chanceline.theory.capacity import capacity, density
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.first_moment import first_moment_density
from chanceline.theory.solve import solve

FEWEST_SIZES = 3  # for an extrapolation
SMALLEST_SIZE = (
    3.0  # of the first moment's K: below, the smallest K is a whole number that hardly varies
)
FEWEST_HITS = 20  # to know a share better than from Cover's count
MOST_UNSOLVED = (
    0.01  # of the problems of a size: beyond that their mean smallest support says little
)
ONE_SIGMA = stats.norm.cdf(1.0)
# Loads at which Monte Carlo curves are read; exact counts bring their own.
LOADS = tuple(np.arange(8, 29) / 16)
# Figure → the sweeps it is drawn from; `quick` ones are small versions made on the spot.
SWEEPS = {
    "paper-fig3": ("paper-fig3",),
    "best": ("best",),
    "entropy": ("entropy", "entropy-large"),
    "capacity": ("capacity",),
}
QUICK_SWEEPS = {
    "paper-fig3": ("quick-fig3",),
    "best": ("quick-best",),
    "entropy": ("quick-entropy",),
    "capacity": ("quick-capacity",),
}


@dataclass(frozen=True, repr=False)
class Extrapolation(Result):
    """The limit N → ∞ of values at finite N.

    Attributes
    ----------
    value : float
    statistical : float
        Standard error of the fit, from the errors of the points (enlarged when they scatter more than that).
    systematic : float
        Change of the limit when the smallest size is left out of the fit.
    coefficients : tuple of float
        Of 1, 1/N, 1/N², …
    chi2, dof : float, int
        Misfit and degrees of freedom.
    """

    value: float
    statistical: float
    systematic: float
    coefficients: tuple[float, ...]
    chi2: float
    dof: int
    kind = "extrapolated"
    _derived = ("error",)

    @property
    def error(self) -> float:
        """Both errors in quadrature."""
        return float(np.hypot(self.statistical, self.systematic))

    def at(self, n: ArrayLike) -> NDArray[np.float64]:
        """The fitted curve at finite N."""
        return np.asarray(
            np.polyval(self.coefficients[::-1], 1 / np.asarray(n, dtype=float)), dtype=np.float64
        )

    def summary(self) -> str:
        return (
            f"{self.value:.4f} ± {self.error:.4f} (statistical {self.statistical:.4f}, systematic "
            f"{self.systematic:.4f}; χ² = {self.chi2:.1f} for {self.dof} degrees of freedom)"
        )

    __str__ = summary


def typical(values: ArrayLike) -> tuple[float, float]:
    """The median and its standard error: a quarter of the width of its 95 % interval by order statistics.

    Values may be −∞ (the logarithm of no support at all): a mean of logarithms does not exist then, a median does as
    long as clearly fewer than half are infinite. With too many of them, or fewer than 10 samples, it is NaN.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    # The number of samples below the true median is binomial, with standard deviation √n / 2.
    low = int(np.floor(0.5 * len(ordered) - np.sqrt(len(ordered))))
    if len(ordered) < 10 or not np.isfinite(ordered[low]):
        return np.nan, np.nan
    return float(np.median(ordered)), float(ordered[-1 - low] - ordered[low]) / 4


def average(values: ArrayLike) -> tuple[float, float]:
    """The mean and its standard error, widened by Student's t: with few samples their scatter is uncertain too."""
    data = np.asarray(values, dtype=float)
    if len(data) < 2:
        return float(data[0]) if len(data) else np.nan, np.nan
    return float(data.mean()), float(stats.t.ppf(ONE_SIGMA, len(data) - 1) * stats.sem(data))


def extrapolate(
    sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, degree: int | None = None
) -> Extrapolation:
    """Weighted least squares in powers of 1/N, and the limit at 1/N = 0.

    Parameters
    ----------
    sizes, values, errors : arrays
        One entry a point; several points may have the same size.
    degree : int, optional
        Highest power of 1/N: by default 2 with five or more different sizes, 1 with fewer.

    Notes
    -----
    The systematic error is the change of the limit when the points of the smallest size are left out (0 when too few
    sizes are left to fit without them): what the chosen powers miss shows there first.
    """
    n, y, e = (np.asarray(part, dtype=float) for part in (sizes, values, errors))
    different = len(np.unique(n))
    if degree is None:
        degree = 2 if different >= 5 else 1
    if different <= degree:
        raise InputError(
            f"{different} sizes cannot fix {degree + 1} coefficients; give more sizes or a lower degree"
        )
    if not (np.all(np.isfinite(y)) and np.all(e > 0)):
        raise InputError(
            "every point of an extrapolation needs a finite value and a positive error"
        )
    coefficients, statistical, chi2 = _least_squares(n, y, e, degree)
    larger = n > n.min()
    without = (
        _least_squares(n[larger], y[larger], e[larger], degree)[0]
        if different > degree + 1
        else coefficients
    )
    return Extrapolation(
        value=float(coefficients[0]),
        statistical=statistical,
        systematic=float(abs(coefficients[0] - without[0])),
        coefficients=tuple(map(float, coefficients)),
        chi2=chi2,
        dof=len(n) - degree - 1,
    )


def _least_squares(
    n: NDArray[np.float64], y: NDArray[np.float64], e: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], float, float]:
    coefficients, covariance = np.polyfit(1 / n, y, degree, w=1 / e, cov="unscaled")
    chi2 = float(np.sum(((np.polyval(coefficients, 1 / n) - y) / e) ** 2))
    dof = len(n) - degree - 1
    scale = max(1.0, chi2 / dof) if dof else 1.0
    return coefficients[::-1], float(np.sqrt(scale * covariance[-1, -1])), chi2


def stored_points(
    figure: str, store: str | Path, sweeps: Sequence[str] | None = None
) -> pd.DataFrame:
    """The points of a figure from the results that a store has of its sweeps."""
    names = sweeps or SWEEPS[known_figure(figure)]
    wanted = {task.id for name in names for task in load_sweep(name).tasks}
    table = frame(record for record in Store(store).records() if record.task.id in wanted)
    if len(table) and figure != "entropy":
        table = capacity_points(table)
    elif len(table):
        parts = dict(iter(table.groupby("kind")))
        table = entropy_points(
            parts.get("count"), parts.get("log-count"), LOADS, parts.get("share")
        )
    if not len(table):
        raise InputError(
            f"{store} has too few results of {' and '.join(names)} to draw; run more of it first"
        )
    return table


def shipped_points(figure: str) -> pd.DataFrame:
    """The points of a figure from the run that comes with the package."""
    return pd.read_csv(
        Path(__file__).parents[1] / "data" / "experiments" / f"{known_figure(figure)}.csv"
    )


def known_figure(figure: str) -> str:
    if figure not in SWEEPS:
        raise InputError(f"there is no figure of {figure!r}; choose one of {', '.join(SWEEPS)}")
    return figure


def log_first_moment(n: int, patterns: int, m: Any) -> Any:
    """ln E Z = ln[C(N, M)·D(P, M)/2^P] at one M or several, exact for inputs in general position."""
    return log_binomial(n, m) + log_cover_curve(patterns, n)[m] - patterns * LOG2


def first_moment_size(n: int, patterns: int) -> float:
    """The size K where the first moment passes 1, between whole numbers by linear interpolation of its logarithm.

    By Markov's inequality smaller supports rarely separate. K/N goes to `first_moment_density` and carries the ln N corrections.
    """
    sizes = np.arange(1, n + 1)
    logs = log_first_moment(n, patterns, sizes)
    above = int(np.argmax(logs >= 0))
    if above == 0:
        return 1.0
    return float(sizes[above] - logs[above] / (logs[above] - logs[above - 1]))


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
    samples = [
        (
            row.inputs,
            row.rho,
            row.alpha,
            int(row.n),
            "exact",
            math.log(row.count) if row.count else -math.inf,
        )
        for row in (() if counts is None else counts.itertuples(index=False))
    ] + [
        (row.inputs, row.rho, alpha, int(row.n), "Monte Carlo", value)
        for row in (() if curves is None else curves.itertuples(index=False))
        for alpha in loads
        if (value := _on_curve(row, alpha)) is not None
    ]
    point = ["inputs", "rho", "alpha", "n", "source"]
    measured = (
        None
        if shares is None
        else shares.groupby(["inputs", "patterns", "m"])[["hits", "draws"]].sum()
    )
    rows = []
    for (inputs, rho, alpha, n, source), logs in pd.DataFrame(
        samples, columns=[*point, "log"]
    ).groupby(point)["log"]:
        value, error = typical(logs)
        moment, moment_error = _first_moment(
            n, (inputs, round(alpha * n), round(rho * n)), measured
        )
        rows.append(
            {
                **dict(zip(point, (inputs, rho, alpha, n, source), strict=True)),
                "problems": len(logs),
                "empty": float(np.mean(np.isneginf(logs))),
                "entropy": value / n,
                "error": error / n,
                "first_moment": moment,
                "first_moment_error": moment_error,
                "difference": value / n - moment,
            }
        )
    return pd.DataFrame(rows)


def _first_moment(
    n: int, problem: tuple[str, int, int], shares: pd.DataFrame | None
) -> tuple[float, float]:
    """ln E Z / N and its error, from the measured share of separable problems (inputs, P, M) where there is one."""
    _, patterns, m = problem
    hits, draws = (0, 1) if shares is None or problem not in shares.index else shares.loc[problem]
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


def entropy_limits(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate each (inputs, ρ, α) in 1/N, from exact counts, from Monte Carlo and from both; theory beside them."""
    rows = []
    for (inputs, rho, alpha), group in points.dropna(subset="entropy").groupby(
        ["inputs", "rho", "alpha"]
    ):
        row: dict[str, Any] = {"inputs": inputs, "rho": rho, "alpha": alpha}
        limit = first_moment_exponent(alpha, rho)
        for name, source in (("exact", "exact"), ("sampled", "Monte Carlo"), ("both", None)):
            part = group if source is None else group[group["source"] == source]
            if (fit := fit_differences(part)) is not None:
                row |= {
                    name: limit + fit.value,
                    f"{name}_error": fit.error,
                    f"{name}_chi2": fit.chi2,
                    f"{name}_dof": fit.dof,
                }
        rows.append(
            {
                **row,
                "rs": _theory_entropy(alpha, rho, "rs"),
                "rsb": _theory_entropy(alpha, rho, "1rsb"),
            }
        )
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
    rows = []
    for (inputs, method, alpha, n), group in smallest.groupby(["inputs", "method", "alpha", "n"]):
        separated = group["separates"].astype(bool)
        stopped = group["n_selected"] < n if str(method).startswith("greedy-biht") else separated
        solved = group.loc[stopped, "n_selected"]
        patterns = int(group["n_patterns"].iloc[0])
        moment = first_moment_size(n, patterns) / n
        unsolved = 1 - len(solved) / len(group)
        mean, error = average(solved / n)
        if unsolved > MOST_UNSOLVED or not np.isfinite(error):
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
                "density": mean,
                # Whole numbers that happen to agree are still known no better than to rounding.
                "error": max(error, 1 / (n * math.sqrt(12 * len(solved)))),
                "first_moment": moment,
                "difference": mean - moment,
            }
        )
    return pd.DataFrame(rows)


@cache
def broken_density(alpha: float) -> float:
    """ρ_VS(α) with one step of symmetry breaking between supports: the inverse of α_VS(ρ)."""
    symmetric = density(alpha).rho
    # Breaking lowers the capacity by a percent or so: a little more has to be selected.
    above = min(1.1 * symmetric, 0.5 * (1 + symmetric))
    return float(
        brentq(lambda rho: capacity(rho, ansatz="1rsb").alpha - alpha, symmetric, above, xtol=1e-9)
    )


def capacity_limits(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate the smallest K/N at each (inputs, α) in 1/N; ρ_VS, symmetric and with one step of breaking, beside it.

    Sizes where the first moment's K is below 3 are left out: so small a whole number does not follow a smooth curve.
    """
    rows = []
    large = points[points["first_moment"] * points["n"] >= SMALLEST_SIZE]
    for (inputs, alpha), group in large.groupby(["inputs", "alpha"]):
        if (fit := fit_differences(group)) is not None:
            rows.append(
                {
                    "inputs": inputs,
                    "alpha": alpha,
                    "searched": first_moment_density(alpha) + fit.value,
                    "searched_error": fit.error,
                    "chi2": fit.chi2,
                    "dof": fit.dof,
                    "rs": density(alpha).rho,
                    "rsb": broken_density(alpha),
                }
            )
    return pd.DataFrame(rows)
