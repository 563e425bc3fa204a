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
    """The typical entropy ln Z / N at each (inputs, ρ, α, N), from counts on random problems.

    Z is the number of supports (sets of M = ρN of the N variables) that separate the αN patterns of
    a problem. Typical means the median over problems. (If a problem has no separating support, the
    mean of ln Z does not exist. Otherwise median and mean differ by O(1/N).)

    Parameters
    ----------
    counts : DataFrame or None
        Exact counts: results of tasks of the kind `count`, one row each.
    curves : DataFrame or None
        Monte Carlo counts at many loads: results of the kind `log-count`, one row each.
    loads : iterable of float
        The loads α at which values are taken from `curves`.
    shares : DataFrame or None
        Numbers of separable problems: results of the kind `share`, one row each.

    Returns
    -------
    DataFrame
        One row for each point, with the columns inputs, rho, alpha, n, source ("exact" or "Monte
        Carlo"), problems (their number), empty (the share of problems without a support), entropy,
        error, first_moment (ln E[Z] / N), first_moment_error (that of a measured share; 0 where
        Cover's count is used), difference (entropy − first_moment).
    """
    # ln Z of every problem at every load, from both kinds of counts.
    samples: list[LogCount] = []
    if counts is not None:
        samples += _exact_log_counts(counts)
    if curves is not None:
        samples += _log_counts_on_curves(curves, list(loads))

    # For each (inputs, patterns, m), add up the problems drawn and those that were separable.
    hits_and_draws = None
    if shares is not None:
        hits_and_draws = shares.groupby(["inputs", "patterns", "m"])[["hits", "draws"]].sum()

    # Measure each point from the values of ln Z of all its problems.
    rows = []
    table = pd.DataFrame(samples, columns=LogCount._fields)
    for key, log_counts in table.groupby(ENTROPY_POINT)["log_count"]:
        point = dict(zip(ENTROPY_POINT, key, strict=True))
        rows.append(point | _measure_entropy(point, log_counts, hits_and_draws))
    return pd.DataFrame(rows)


def _measure_entropy(
    point: Mapping[str, Any], log_counts: pd.Series[float], hits_and_draws: pd.DataFrame | None
) -> dict[str, Any]:
    """Columns of one point: its typical entropy ln Z / N, and the first moment to compare it with.

    Z is the number of supports (sets of ρN of the N variables) that separate the αN patterns of a
    problem. The typical ln Z is the median over problems; the first moment is ln E[Z] / N.

    Parameters
    ----------
    point : what the problems have in common: inputs (the kind of the random inputs), rho (ρ), alpha
        (α), n (N) and source (how supports were counted).
    log_counts : ln Z of every problem at this point, −∞ where Z = 0.
    hits_and_draws : how many random problems were separable (column hits) of how many drawn (column
        draws), for each (inputs, number of patterns, number of variables), the index; None if this
        was not measured.
    """
    n_variables = point["n"]
    median_log_count = median_estimate(log_counts)
    first_moment = _first_moment_estimate(
        n_variables,
        patterns=round(point["alpha"] * n_variables),
        m=round(point["rho"] * n_variables),
        inputs=point["inputs"],
        hits_and_draws=hits_and_draws,
    )
    share_without_support = float(np.mean(np.isneginf(log_counts)))
    entropy = median_log_count.value / n_variables
    return {
        "problems": len(log_counts),
        "empty": share_without_support,
        "entropy": entropy,
        "error": median_log_count.error / n_variables,
        "first_moment": first_moment.value,
        "first_moment_error": first_moment.error,
        "difference": entropy - first_moment.value,
    }


def _exact_log_counts(counts: pd.DataFrame) -> Iterator[LogCount]:
    """Yield ln Z of every problem whose separating supports were counted exactly; −∞ where Z = 0.

    `counts` has one row for each problem. Its column count holds Z, the number of supports.
    """
    for row in counts.itertuples(index=False):
        n_supports = row.count  # the column called count; it hides the method of tuples
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
    """Yield ln Z of every problem at those of the `loads` at which Monte Carlo measured it.

    Z is the number of separating supports. `curves` has one row for each problem, with a list of
    ln Z at ascending loads.
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
    """ln Z at the load `alpha`, from a Monte Carlo curve; None if the curve has no point there.

    Z is the number of supports that separate alpha·n patterns of a problem; −∞ is returned if none
    was found. `curve` is a row of a table with these columns: n variables; log_counts, a list (or
    its JSON text) whose entry k is ln Z at first + k·rung patterns; and alpha, the largest load
    measured.
    """
    n_variables = curve.n
    first_patterns = int(curve.first)
    patterns_per_rung = int(curve.rung)

    # Does the curve have a point at this load? Its points are whole numbers of patterns, from the
    # first on in steps of a rung, and end at the load curve.alpha.
    n_patterns = round(alpha * n_variables)
    is_whole = math.isclose(n_patterns, alpha * n_variables)
    is_beyond_end = alpha > curve.alpha
    if not is_whole or is_beyond_end:
        return None
    k, remainder = divmod(n_patterns - first_patterns, patterns_per_rung)
    is_between_points = remainder > 0
    is_before_first = k < 0
    if is_between_points or is_before_first:
        return None

    # If the list is shorter, or has None there, Monte Carlo found no support that separates.
    log_counts = curve.log_counts
    if isinstance(log_counts, str):
        log_counts = json.loads(log_counts)
    if k >= len(log_counts) or log_counts[k] is None:
        return -math.inf
    return float(log_counts[k])


def _first_moment_estimate(
    n: int, *, patterns: int, m: int, inputs: str, hits_and_draws: pd.DataFrame | None
) -> Estimate:
    """ln E[Z] / N and its error; Z is the number of supports that separate a random problem.

    A support is a choice of m of the N = `n` variables, and

        E[Z] = C(N, m) · (probability that m variables separate so many `patterns`).

    The probability is estimated as hits/draws. `hits_and_draws` has these two columns, and the
    index (inputs, patterns, m). If it has no row for this point, or one with few hits, the
    probability is taken from Cover's count, without error.
    """
    point = (inputs, patterns, m)
    by_cover = Estimate(value=log_first_moment(n, patterns, m) / n, error=0.0)
    if hits_and_draws is None or point not in hits_and_draws.index:
        return by_cover
    hits, draws = hits_and_draws.loc[point]
    if hits < MIN_HITS:  # the measured share would be less accurate than Cover's count
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
    """Columns of one point: the mean density K/N of the smallest supports, its error, and others.

    K is the size of the smallest set of variables that was found to separate a problem.

    Parameters
    ----------
    group : one row for each problem, with K in the column n_selected. All problems have the same
        number N of variables, number of patterns, and method of search.

    Returns
    -------
    column → value; None if too many problems are unsolved, or too few are solved to know the error
    of the mean.
    """
    first = group.iloc[0]
    n_variables = int(first["n"])
    n_patterns = int(first["n_patterns"])
    separated = group["separates"].astype(bool)
    solved = separated
    if first["method"] == STOPS_AT_TIES:
        # This method counts patterns on the boundary as correct. It has solved a problem if it
        # stops before it has taken all variables, even if some patterns lie on the boundary.
        solved = group["n_selected"] < n_variables

    sizes = group.loc[solved, "n_selected"]
    density = mean_estimate(sizes / n_variables)
    unsolved_share = 1 - len(sizes) / len(group)
    if unsolved_share > MAX_UNSOLVED or not np.isfinite(density.error):
        return None
    # The K at which the expected number of separating supports is 1.
    first_moment_density = first_moment_size(n_variables, n_patterns) / n_variables
    # All K may happen to be equal, as they are whole numbers; their scatter would give an error of
    # 0. So the error is at least that of rounding: the variance of K by rounding is 1/12, and that
    # of a mean over problems is 1/12 over their number.
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
