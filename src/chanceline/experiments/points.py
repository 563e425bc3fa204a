"""From stored results to points with errors: typical entropies, mean smallest supports.

Each point stands beside the first moment of its size: what is extrapolated in 1/N is the difference
from it. For few ±1 inputs, which are far from general position, the share D/2^P of separable
problems is measured instead of Cover's; it goes to Cover's as M grows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from chanceline.chance.binomial import log_binomial
from chanceline.experiments.extrapolation import Estimate, mean_estimate, median_estimate
from chanceline.experiments.first_moment import first_moment_size, log_first_moment

MIN_HITS = 20  # separable problems that make a measured share better than Cover's count
MAX_UNSOLVED = (
    0.01  # share of a point's problems: beyond it their mean smallest support says little
)
# The paper's algorithm ends by its own rule, which lets patterns lie on the boundary.
STOPS_AT_TIES = "greedy-biht"
ENTROPY_POINT = ["inputs", "rho", "alpha", "n", "source"]  # columns that tell points apart
CAPACITY_POINT = ["inputs", "method", "alpha", "n"]


class Source(StrEnum):
    """How supports were counted."""

    EXACT = "exact"
    MONTE_CARLO = "Monte Carlo"


class LogCount(NamedTuple):
    """ln Z of one problem, Z the number of supports of M = ρN variables that separate it.

    It is −∞ if none does. The first five are the columns `ENTROPY_POINT`.
    """

    inputs: str  # the kind of inputs
    rho: float  # ρ = M/N
    alpha: float  # α, patterns per variable
    n: int  # N
    source: str  # a value of `Source`
    log_count: float


def entropy_points(
    counts: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    loads: Iterable[float],
    shares: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Typical ln Z / N at each (inputs, ρ, α, N), from exact counts and from Monte Carlo curves.

    Z is the number of supports of M = ρN of the N variables that separate the αN patterns of a
    problem. Typical means the median over problems: some problems have no separating support at
    all, and the mean of ln Z does not exist then. Median and mean differ by O(1/N).

    Parameters
    ----------
    counts, curves, shares : DataFrame or None
        Results of the kinds `count`, `log-count` and `share`, one row each.
    loads : iterable of float
        Where curves are read.

    Returns
    -------
    DataFrame
        inputs, rho, alpha, n, source ("exact" or "Monte Carlo"), problems, empty (share without any
        support), entropy, error, first_moment (its ln / N), first_moment_error (0 where Cover's
        count is used, else of the measured share), difference (entropy − first_moment).
    """
    # ln Z of every problem at every load, from both kinds of counts.
    samples: list[LogCount] = []
    if counts is not None:
        samples += _exact_log_counts(counts)
    if curves is not None:
        samples += _log_counts_on_curves(curves, list(loads))

    # Problems drawn, and how many of them were separable: (inputs, patterns, m) → both sums.
    hits_and_draws = None
    if shares is not None:
        hits_and_draws = shares.groupby(["inputs", "patterns", "m"])[["hits", "draws"]].sum()

    # One row for each point, from all its problems.
    rows = []
    table = pd.DataFrame(samples, columns=LogCount._fields)
    for values, log_counts in table.groupby(ENTROPY_POINT)["log_count"]:
        point = dict(zip(ENTROPY_POINT, values, strict=True))
        rows.append(point | _measure_entropy(point, log_counts, hits_and_draws))
    return pd.DataFrame(rows)


def _measure_entropy(
    point: Mapping[str, Any], log_counts: pd.Series[float], hits_and_draws: pd.DataFrame | None
) -> dict[str, Any]:
    """The typical entropy of the problems at one point, beside the first moment, as columns.

    `point` has the columns `ENTROPY_POINT`, `log_counts` the ln Z of every problem there; for
    `hits_and_draws` see `_first_moment_estimate`.
    """
    n = point["n"]
    median = median_estimate(log_counts)
    moment = _first_moment_estimate(
        n,
        patterns=round(point["alpha"] * n),
        m=round(point["rho"] * n),
        inputs=point["inputs"],
        hits_and_draws=hits_and_draws,
    )
    return {
        "problems": len(log_counts),
        "empty": float(np.mean(np.isneginf(log_counts))),
        "entropy": median.value / n,
        "error": median.error / n,
        "first_moment": moment.value,
        "first_moment_error": moment.error,
        "difference": median.value / n - moment.value,
    }


def _exact_log_counts(counts: pd.DataFrame) -> Iterator[LogCount]:
    """ln Z of every exact count, −∞ where Z = 0; Z is the number of supports that separate.

    `counts` has a row for each problem, with its Z in the column count.
    """
    for row in counts.itertuples(index=False):
        n_supports = row.count  # the column of this name, not the method of a tuple
        log_count = -math.inf
        if n_supports:
            log_count = math.log(n_supports)
        yield LogCount(
            inputs=row.inputs,
            rho=row.rho,
            alpha=row.alpha,
            n=int(row.n),
            source=Source.EXACT.value,
            log_count=log_count,
        )


def _log_counts_on_curves(curves: pd.DataFrame, loads: list[float]) -> Iterator[LogCount]:
    """ln Z at each load where a Monte Carlo curve has a point; Z counts separating supports.

    `curves` has a row for each problem, with the curve of ln Z over loads that was measured on it.
    Loads that the curve says nothing of are left out.
    """
    for curve in curves.itertuples(index=False):
        for alpha in loads:
            log_count = _log_count_on_curve(curve, alpha)
            if log_count is not None:
                yield LogCount(
                    inputs=curve.inputs,
                    rho=curve.rho,
                    alpha=alpha,
                    n=int(curve.n),
                    source=Source.MONTE_CARLO.value,
                    log_count=log_count,
                )


def _log_count_on_curve(curve: Any, alpha: float) -> float | None:
    """ln Z at the load `alpha` on a Monte Carlo curve; None where the curve says nothing.

    Z is the number of supports that separate alpha·n patterns of a problem. `curve` is a row of a
    table: entry k of its log_counts, a list or its JSON, is ln Z at first + k·rung patterns, up to
    the load curve.alpha.
    """
    n_variables = curve.n
    first_patterns = int(curve.first)
    patterns_per_rung = int(curve.rung)

    # The curve has no point where the number of patterns is not whole, is beyond the end of the
    # curve, lies between two of its points, or is before the first.
    n_patterns = round(alpha * n_variables)
    is_whole = math.isclose(n_patterns, alpha * n_variables)
    if not is_whole or alpha > curve.alpha:
        return None
    k, remainder = divmod(n_patterns - first_patterns, patterns_per_rung)
    if remainder or k < 0:
        return None

    # Where the list has ended already, or holds null, no support was found that separates.
    log_counts = curve.log_counts
    if isinstance(log_counts, str):
        log_counts = json.loads(log_counts)
    if k >= len(log_counts) or log_counts[k] is None:
        return -math.inf
    return float(log_counts[k])


def _first_moment_estimate(
    n: int, *, patterns: int, m: int, inputs: str, hits_and_draws: pd.DataFrame | None
) -> Estimate:
    """ln E[Z] / N and its error, Z the number of supports that separate a random problem.

    A support is a choice of m of the N = `n` variables, and E[Z] = C(N, m) · (the probability that
    one support separates so many `patterns`). The probability is measured as hits/draws, columns of
    `hits_and_draws`, whose index is (inputs, patterns, m). If there is no such row, or if it has
    few hits, Cover's count gives the value, without error.
    """
    point = (inputs, patterns, m)
    by_cover = Estimate(value=log_first_moment(n, patterns, m) / n, error=0.0)
    if hits_and_draws is None or point not in hits_and_draws.index:
        return by_cover
    hits, draws = hits_and_draws.loc[point]
    if hits < MIN_HITS:
        return by_cover
    share = hits / draws
    log_moment = float(log_binomial(n, m)) + math.log(share)
    # Hits are binomial: ln(share) has the variance (1 − share)/hits.
    return Estimate(value=log_moment / n, error=math.sqrt((1 - share) / hits) / n)


def capacity_points(smallest: pd.DataFrame) -> pd.DataFrame:
    """Mean smallest K/N at each (inputs, method, α, N), K the variables that a method chose.

    Only points are made where all but 1 % of the problems were solved. Solved means that the
    support separates; for the paper's greedy-BIHT, that it stopped by its own rule before K = N,
    which lets patterns lie on the boundary.

    Parameters
    ----------
    smallest : DataFrame
        Results of the kind `smallest`, one row each.

    Returns
    -------
    DataFrame
        inputs, method, alpha, n, load (P/N), problems, unsolved (their share), tied (share of
        problems with patterns on the boundary), density (mean K/N), error, first_moment (its K/N),
        difference (density − first_moment).
    """
    rows = []
    for point, group in smallest.groupby(CAPACITY_POINT):
        measured = _measure_smallest(group)
        if measured is not None:
            rows.append(dict(zip(CAPACITY_POINT, point, strict=True)) | measured)
    return pd.DataFrame(rows)


def _measure_smallest(group: pd.DataFrame) -> dict[str, Any] | None:
    """The mean smallest density of a group of problems, with its error, as columns of a table.

    `group` has one row for each problem; all have the same N variables, patterns and method. The
    density of a problem is K/N, K = `n_selected` the size of the smallest set of variables that was
    found to separate it. None if too many problems are unsolved, or too few are solved to know the
    error of their mean.
    """
    first = group.iloc[0]
    n_variables = int(first["n"])
    n_patterns = int(first["n_patterns"])
    separated = group["separates"].astype(bool)
    solved = separated
    if first["method"] == STOPS_AT_TIES:
        # This method has solved a problem when it stops with fewer than all variables, even where
        # patterns lie on the boundary and are not separated.
        solved = group["n_selected"] < n_variables

    sizes = group.loc[solved, "n_selected"]
    density = mean_estimate(sizes / n_variables)
    unsolved_share = 1 - len(sizes) / len(group)
    if unsolved_share > MAX_UNSOLVED or not np.isfinite(density.error):
        return None
    first_moment_density = first_moment_size(n_variables, n_patterns) / n_variables
    # Sizes K are whole numbers. Even if all happen to be equal, the error of their mean is at least
    # that of rounding, whose variance is 1/12.
    rounding_error = 1 / (n_variables * math.sqrt(12 * len(sizes)))
    return {
        "load": n_patterns / n_variables,
        "problems": len(group),
        "unsolved": unsolved_share,
        "tied": float((solved & ~separated).mean()),
        "density": density.value,
        "error": max(density.error, rounding_error),
        "first_moment": first_moment_density,
        "difference": density.value - first_moment_density,
    }
