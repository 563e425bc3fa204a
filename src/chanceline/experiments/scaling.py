"""Finite-size scaling: from points at finite sizes to N → ∞, beside theory.

Entropy: Σ(α, ρ) against the typical ln Z / N, Z the number of separating supports of M = ρN
variables, by exact counts and by Monte Carlo. Capacity: ρ_VS(α) against the smallest K/N.

Finite sizes carry corrections like ln N / N and 1/N. Most of them are those of the first moment,
which is known exactly at every N; what is extrapolated in 1/N is the difference from it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from chanceline.errors import ChancelineError
from chanceline.experiments.extrapolation import Extrapolation, extrapolate
from chanceline.experiments.points import Source
from chanceline.theory.capacity import capacity, density
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.first_moment import first_moment_density
from chanceline.theory.solve import solve

MIN_SIZES = 3  # different N, for an extrapolation
# Below this K of the first moment the smallest K is a whole number that hardly varies.
MIN_FIRST_MOMENT_SIZE = 3.0


def fit_differences(points: pd.DataFrame) -> Extrapolation | None:
    """The difference from the first moment, extrapolated in 1/N with all errors of the points.

    `points` has the columns n, difference and error, and may have first_moment_error. None with
    fewer than three sizes.
    """
    if points["n"].nunique() < MIN_SIZES:
        return None
    return extrapolate(points["n"], points["difference"], difference_errors(points))


def difference_errors(points: pd.DataFrame) -> pd.Series[float]:
    """Errors of the differences: of the values, and of the first moment where it was measured."""
    return np.hypot(points["error"], points.get("first_moment_error", 0.0))


def entropy_limits(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate the entropy Σ = ln(number of separating supports)/N to N → ∞.

    The difference of Σ from the first moment, ln(expected number)/N, is small and smooth in N. So
    the difference is extrapolated in 1/N, and the known limit of the first moment is added. This is
    done from exact counts, from Monte Carlo counts, and from both together.

    Parameters
    ----------
    points : DataFrame
        As `entropy_points` makes it.

    Returns
    -------
    DataFrame
        One row for each kind of inputs, density ρ and load α, with the columns inputs, rho and
        alpha; exact, sampled and both: the limit of Σ from these counts, each with _error, _chi2
        and _dof (missing if there are too few sizes); rs and rsb: Σ by replica theory, symmetric
        and with one step of symmetry breaking (NaN where it has no solution).
    """
    rows = []
    known = points.dropna(subset="entropy")
    for (inputs, rho, alpha), group in known.groupby(["inputs", "rho", "alpha"]):
        row: dict[str, Any] = {"inputs": inputs, "rho": rho, "alpha": alpha}
        limit_of_first_moment = first_moment_exponent(alpha, rho)
        points_of_source = {
            "exact": group[group["source"] == Source.EXACT.value],
            "sampled": group[group["source"] == Source.MONTE_CARLO.value],
            "both": group,
        }
        for name, points_to_fit in points_of_source.items():
            fit = fit_differences(points_to_fit)
            if fit is not None:
                row[name] = limit_of_first_moment + fit.value
                row[f"{name}_error"] = fit.error
                row[f"{name}_chi2"] = fit.chi2
                row[f"{name}_dof"] = fit.dof
        row["rs"] = _theory_entropy(alpha, rho, "rs")
        row["rsb"] = _theory_entropy(alpha, rho, "1rsb")
        rows.append(row)
    return pd.DataFrame(rows)


def _theory_entropy(alpha: float, rho: float, ansatz: str) -> float:
    """Σ(α, ρ) of the theory; NaN where it has no solution."""
    try:
        return float(solve(alpha, rho, ansatz=ansatz).entropy)
    except ChancelineError:
        return math.nan


def capacity_limits(points: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate the smallest share K/N of the variables that separates the classes to N → ∞.

    The first moment also gives a smallest share: the one at which the expected number of separating
    supports is 1. The difference of K/N from that share is smooth in N. So the difference is
    extrapolated in 1/N, and the known limit of the first moment is added. Sizes N where the first
    moment gives a K below 3 are left out: so small a whole number does not follow a smooth curve.

    Parameters
    ----------
    points : DataFrame
        As `capacity_points` makes it.

    Returns
    -------
    DataFrame
        One row for each kind of inputs and load α, with the columns inputs and alpha; searched,
        searched_error, chi2 and dof: the limit and its fit; rs and rsb: the share by replica
        theory, symmetric and with one step of symmetry breaking.
    """
    rows = []
    first_moment_sizes = points["first_moment"] * points["n"]  # K by the first moment
    large = points[first_moment_sizes >= MIN_FIRST_MOMENT_SIZE]
    for (inputs, alpha), group in large.groupby(["inputs", "alpha"]):
        fit = fit_differences(group)
        if fit is None:  # too few sizes N
            continue
        row = {
            "inputs": inputs,
            "alpha": alpha,
            "searched": first_moment_density(alpha) + fit.value,
            "searched_error": fit.error,
            "chi2": fit.chi2,
            "dof": fit.dof,
            "rs": density(alpha).rho,
            "rsb": broken_density(alpha),
        }
        rows.append(row)
    return pd.DataFrame(rows)


@cache
def broken_density(alpha: float) -> float:
    """ρ_VS(α) with one step of symmetry breaking between supports: the inverse of α_VS(ρ)."""
    symmetric = density(alpha).rho
    # Breaking lowers the capacity by a percent or so: a little more has to be selected.
    upper = min(1.1 * symmetric, 0.5 * (1 + symmetric))

    def excess_load(rho: float) -> float:
        return capacity(rho, ansatz="1rsb").alpha - alpha

    return float(brentq(excess_load, symmetric, upper, xtol=1e-9))
