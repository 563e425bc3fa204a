"""Several points of the chance line in one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chanceline._results import Result
from chanceline.theory.chance_line import Density
from chanceline.theory.quadrature import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Curve(Result):
    """Capacities at several densities, or densities at several loads; a sequence of its points.

    The points are in the order asked for.
    """

    points: tuple[Any, ...]  # all of them `Capacity`, or all `Density`

    kind = "asymptotic (replica method)"

    @property
    def rho(self) -> Array:
        """The densities ρ, (points,)."""
        return np.array([point.rho for point in self.points])

    @property
    def alpha(self) -> Array:
        """The loads α, (points,)."""
        return np.array([point.alpha for point in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> Any:
        return self.points[index]

    def summary(self) -> str:
        """How many points there are, and their ranges of ρ and α, in one line."""
        parts = [f"{len(self)} points"]
        if self.points:
            parts.append(f"ρ from {min(self.rho):g} to {max(self.rho):g}")
            parts.append(f"α from {min(self.alpha):g} to {max(self.alpha):g}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": [point.to_dict() for point in self.points]}

    def to_frame(self) -> pd.DataFrame:
        """The curve as a table, one row per point.

        For capacities the columns are the density `rho`, the loads `vc` and `cover_gardner` (below
        which every choice of variables, or a typical one, separates), the capacity `alpha_vs` with
        its `error`, and its upper bounds `union` and `l0_gardner`. For densities they are the load
        `alpha`, and `rho` with its `error`. Columns that only some curves have come last.
        """
        import pandas as pd

        more_columns = self._more_columns()  # names of attributes of the points
        rows = []
        for point in self.points:
            row = _row_of_point(point)
            for name in more_columns:
                row[name] = getattr(point, name)
            rows.append(row)
        return pd.DataFrame(rows)

    def _more_columns(self) -> list[str]:
        """Names of the columns that only some curves have; each is an attribute of the points.

        The load where symmetry breaks, if it was found for a capacity; the numbers of the ensemble
        and the threshold, unless all points are of the paper's ensemble.
        """
        names = []
        capacities = [point for point in self.points if not isinstance(point, Density)]
        if any(point.replicon_alpha is not None for point in capacities):
            names.append("replicon_alpha")
        if not all(point.ensemble.plain for point in self.points):
            names += ["balance", "margin", "errors", "signs", "threshold"]
        return names

    # Figures are built on results: a module below loads one above only when it is asked for.
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw α against ρ, with the closed-form curves around capacities; the axes drawn on.

        They are `ax`, or new ones if there are none.
        """
        import matplotlib.pyplot as plt

        from chanceline.figures.theory import draw_curve

        if ax is None:
            _, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
        draw_curve(ax, self.to_frame().sort_values("rho"))
        return ax


def _row_of_point(point: Any) -> dict[str, Any]:
    """Return one row of the table of a curve: the columns that all points of its kind have.

    A `Density` is the smallest share of variables ρ with which a rule separates the patterns at a
    given load α, patterns per variable. A `Capacity` is the largest load at which this is possible
    with a given ρ; its row also has the loads of `Bounds` for comparison.
    """
    if isinstance(point, Density):
        return {
            "alpha": point.alpha,
            "rho": point.rho,
            "error": point.error,  # of ρ
        }
    bounds = point.bounds
    return {
        "rho": point.rho,
        # Below these loads every choice of ρN variables separates, or a typical choice.
        "vc": bounds.vc,
        "cover_gardner": bounds.cover_gardner,
        # The capacity and its numerical error.
        "alpha_vs": point.alpha,
        "error": point.error,
        # Upper bounds on the capacity: where the expected number of separating choices vanishes,
        # and where the replica-symmetric solutions end.
        "union": bounds.union,
        "l0_gardner": bounds.l0_gardner,
    }
