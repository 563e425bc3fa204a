"""Tables of the theory: the capacity diagram's curves, and the order parameters along one density."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from chanceline.theory.capacity import capacity_curve
from chanceline.theory.closed_forms import l0_gardner
from chanceline.theory.symmetric import solve_rs

if TYPE_CHECKING:
    import pandas as pd


def evenly_spaced(points: int) -> list[float]:
    """ρ = 1/(n+1), …, n/(n+1)."""
    return [(i + 1) / (points + 1) for i in range(points)]


def curve_table(
    rhos: Iterable[float], replicon: bool = False, *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0
) -> pd.DataFrame:
    """One row a density: α_VC, α_CG, α_VS with its error, union bound, ℓ₀-Gardner.

    Patterns other than the paper's add their balance, margin and errors, and the threshold.
    """
    import pandas as pd

    rows = []
    for point in capacity_curve(rhos, replicon=replicon, balance=balance, margin=margin, errors=errors):
        row: dict[str, float | None] = {
            "rho": point.rho,
            "vc": point.bounds.vc,
            "cover_gardner": point.bounds.cover_gardner,
            "alpha_vs": point.alpha,
            "error": point.error,
            "union": point.bounds.union,
            "l0_gardner": point.bounds.l0_gardner,
        }
        if replicon:
            row["replicon_alpha"] = point.replicon_alpha
        if (balance, margin, errors) != (0.5, 0.0, 0.0):
            row |= {"balance": balance, "margin": margin, "errors": errors, "threshold": point.threshold}
        rows.append(row)
    return pd.DataFrame(rows)


def branch_table(rho: float, points: int) -> pd.DataFrame:
    """Order parameters, entropy and stability from α near 0 to near the end of the branch, at one density."""
    import pandas as pd

    end = 2 * rho + 0.98 * (l0_gardner(rho) - 2 * rho)
    rows = []
    for alpha in sorted({*np.linspace(end / points, end, points - 1).tolist(), 2 * rho}):
        solution = solve_rs(alpha, rho)
        rows.append(
            {
                "alpha": solution.alpha,
                "regime": solution.regime,
                "q1": solution.q1,
                "q0": solution.q0,
                "chi": solution.chi,
                "entropy": solution.entropy,
                "K": solution.K,
                "within": solution.stability.within,
                "between": solution.stability.between,
            }
        )
    return pd.DataFrame(rows)
