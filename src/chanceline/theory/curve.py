"""Several points of the chance line in one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chanceline._results import Result
from chanceline.theory.numerics import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Curve(Result):
    """Capacities at several densities, or densities at several loads, in the order asked for; a sequence of its points."""

    points: tuple[Any, ...]

    kind = "asymptotic (replica method)"

    @property
    def rho(self) -> Array:
        """The densities ρ."""
        return np.array([point.rho for point in self.points])

    @property
    def alpha(self) -> Array:
        """The loads α."""
        return np.array([point.alpha for point in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> Any:
        return self.points[index]

    def summary(self) -> str:
        ends = [f"{name} from {min(line):g} to {max(line):g}" for name, line in (("ρ", self.rho), ("α", self.alpha)) if len(line)]
        return ", ".join([f"{len(self)} points", *ends])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": [point.to_dict() for point in self.points]}

    def to_frame(self) -> pd.DataFrame:
        """One row a point: α_VC, α_CG, α_VS with its error, union bound, ℓ₀-Gardner; for densities ρ_VS with its error.

        Columns for balance, margin, errors, signs and the threshold stand behind, where they are not the paper's.
        """
        import pandas as pd

        more = ["replicon_alpha"] if any(getattr(point, "replicon_alpha", None) for point in self.points) else []
        if not all(point.ensemble.plain for point in self.points):
            more += ["balance", "margin", "errors", "signs", "threshold"]
        rows = []
        for point in self.points:
            row = {"alpha": point.alpha, "rho": point.rho, "error": point.error}
            if hasattr(point, "bounds"):
                b = point.bounds
                row = {"rho": point.rho, "vc": b.vc, "cover_gardner": b.cover_gardner, "alpha_vs": point.alpha}
                row |= {"error": point.error, "union": b.union, "l0_gardner": b.l0_gardner}
            rows.append(row | {name: getattr(point, name) for name in more})
        return pd.DataFrame(rows)

    # Figures are built on results: a module below loads one above only when it is asked for.
    def plot(self, ax: Axes | None = None) -> Axes:
        """α against ρ, with the closed-form curves around capacities, on the given or on new axes."""
        import matplotlib.pyplot as plt

        from chanceline.figures.theory import draw_curve

        ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")[1] if ax is None else ax
        draw_curve(ax, self.to_frame().sort_values("rho"))
        return ax
