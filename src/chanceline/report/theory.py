"""Replica theory as a page: a point of the diagram, or the capacity at one density."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from chanceline.figures.style import COLOURS
from chanceline.figures.theory import draw_capacity
from chanceline.report.explorer import interpolated_lines
from chanceline.report.page import Page, drawn
from chanceline.theory.capacity import Capacity, capacity_curve, evenly_spaced
from chanceline.theory.chance_line import Density
from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.rs_branch import Branch
from chanceline.theory.solution import ReplicaSolution

Floats = NDArray[np.float64]
REGIMES = {
    "typical": (
        "chance",
        "Typical choices separate",
        "random patterns are separated by typical choices of variables.",
    ),
    "selected": (
        "chance",
        "Chosen variables separate",
        "typical choices fail, but exponentially many rare ones separate random patterns.",
    ),
    "beyond": (
        "structure",
        "Beyond capacity",
        "no choice of variables separates random patterns at this load.",
    ),
}
ANSATZ = {
    "rs": "replica symmetry",
    "1rsb": "one step of replica symmetry breaking between supports",
    "full": "full replica symmetry breaking between supports (the limit of more and more steps)",
}


# What `solve`, `capacity` and `density` give: every one of them lies somewhere on the diagram.
TheoryResult = ReplicaSolution | Capacity | Density


def write_theory_report(result: TheoryResult, path: str | Path) -> Path:
    """Write the result of `solve`, `capacity` or `density` as one HTML file."""
    record, rho, alpha = result.to_dict(), result.rho, result.alpha
    diagram = diagram_frame(result.ensemble)
    values: dict[str, Any] = {
        "result": result,
        "numbers": record,
        "ansatz": ANSATZ[record.get("ansatz", "rs")],
        "rows": [
            row
            for row in pd.json_normalize(record).to_dict("records")[0].items()
            if row[1] is not None
        ],
        "position": drawn(
            lambda ax: _draw_position(ax, diagram, rho, alpha), "position", (7.5, 5.2)
        ),
    }
    if isinstance(result, ReplicaSolution):
        curve, entropy = entropy_curve(rho, result.ensemble), result.entropy
        values["regime"] = REGIMES[result.regime]
        values["entropy"] = drawn(lambda ax: _draw_entropy(ax, *curve, alpha, entropy), "entropy")
        return Page(
            "theory.html", f"Replica solution at α = {alpha:g}, ρ = {rho:g}", record, values
        ).write(path)
    found = (
        f"α_VS({rho:g}) = {alpha:.8g}"
        if isinstance(result, Capacity)
        else f"ρ_VS({alpha:g}) = {rho:.8g}"
    )
    return Page(
        "theory.html", f"The chance line: {found}", record, {**values, "found": found}
    ).write(path)


def diagram_frame(ensemble: Ensemble = PLAIN) -> pd.DataFrame:
    """The lines as `figures.theory.draw_capacity` wants them: from the shipped table, or solved for other patterns."""
    if not ensemble.plain:
        e = ensemble
        table = capacity_curve(
            evenly_spaced(59),
            balance=e.balance,
            margin=e.margin,
            errors=e.error_rate,
            signs=e.signs,
        ).to_frame()
        return table.drop(columns="signs").astype(float)
    frame = pd.DataFrame(interpolated_lines([k / 200 for k in range(1, 200)])).rename(
        columns={"alpha_rs": "alpha_vs"}
    )
    return frame.assign(vc=frame["rho"], cover_gardner=2 * frame["rho"])


def entropy_curve(rho: float, ensemble: Ensemble) -> tuple[float, Floats, Floats]:
    """The load up to which typical choices separate, and loads and replica-symmetric entropies from 0 to beyond capacity."""
    all_choices = binary_entropy(rho)
    # With given signs and half of the inputs or more the entropy stays positive up to the load of all of them.
    all_reached = 1e-4 if rho >= ensemble.widest else 0.0
    whole = Branch(rho, ensemble).from_entrance(
        lambda state: state.entropy < 0 or state.to_gardner < all_reached
    )
    branch = [point.state for point in whole]
    typical = rho * gardner(ensemble).load
    if ensemble.error_rate:
        # It counts from where there are fewer choices than all of them.
        branch = [state for state in branch if state.entropy < all_choices]
        typical = min(typical, 0.98 * branch[0].alpha)
    # The branch is followed in long steps; its slope is known at each of them.
    loads = [0.0, typical, *(state.alpha for state in branch)]
    values = [all_choices] * 2 + [state.entropy for state in branch]
    slopes = [0.0, 0.0, *(state.entropy_by_alpha for state in branch)]
    dense = np.linspace(0, loads[-1], 400)
    return typical, dense, CubicHermiteSpline(loads, values, slopes)(dense)


def _draw_position(ax: Any, diagram: pd.DataFrame, rho: float, alpha: float) -> None:
    draw_capacity(ax, diagram)
    ax.plot([rho], [alpha], "o", color=COLOURS["here"], markersize=9, zorder=5)
    ax.annotate(
        "here",
        (rho, alpha),
        xytext=(9, 7),
        textcoords="offset points",
        color=COLOURS["here"],
        weight="bold",
    )


def _draw_entropy(
    ax: Any, typical: float, loads: Floats, entropies: Floats, alpha: float, entropy: float
) -> None:
    ax.plot(loads, entropies, color=COLOURS["rs"])
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.axvline(typical, color=COLOURS["cover-gardner"], linewidth=1, linestyle=":")
    ax.plot([alpha], [entropy], "o", color=COLOURS["here"], markersize=9)
    ax.set(xlabel="load α", ylabel="entropy of separating choices Σ")
