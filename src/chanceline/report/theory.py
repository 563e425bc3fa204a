"""Replica theory as a page: a point of the diagram, or the capacity at one density."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chanceline.errors import InputError
from chanceline.figures.style import COLOURS
from chanceline.figures.theory import draw_capacity
from chanceline.report.explorer import interpolated_lines
from chanceline.report.page import Page, drawn
from chanceline.theory.capacity import curve_table, evenly_spaced
from chanceline.theory.closed_forms import binary_entropy, gardner
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.rs import Branch

if TYPE_CHECKING:
    import pandas as pd

REGIMES = {
    "typical": ("chance", "Typical choices separate", "random patterns are separated by typical choices of variables."),
    "selected": (
        "chance",
        "Chosen variables separate",
        "typical choices fail, but exponentially many rare ones separate random patterns.",
    ),
    "beyond": ("structure", "Beyond capacity", "no choice of variables separates random patterns at this load."),
}
ANSATZ = {
    "rs": "replica symmetry",
    "1rsb": "one step of replica symmetry breaking between supports",
    "full": "full replica symmetry breaking between supports (the limit of more and more steps)",
}


class TheoryResult(Protocol):
    """What `solve`, `capacity` and `density` give: every one of them lies somewhere on the diagram."""

    kind: str

    @property
    def alpha(self) -> float: ...

    @property
    def rho(self) -> float: ...

    @property
    def ensemble(self) -> Ensemble: ...

    def to_dict(self) -> dict[str, Any]: ...


def write_theory_report(result: TheoryResult, path: str | Path) -> Path:
    """Write the result of `solve`, `capacity` or `density` as one HTML file."""
    return theory_page(result).write(path)


def theory_page(result: TheoryResult) -> Page:
    """The page before it is written."""
    import pandas as pd

    record = result.to_dict()
    if "regime" not in record and "error" not in record:
        raise InputError("a theory report needs the result of solve, capacity or density.")
    ansatz, ensemble, rho, alpha = str(record.get("ansatz", "rs")), result.ensemble, result.rho, result.alpha
    # `density` is asked at a load, and has no bounds.
    found = f"α_VS({rho:g}) = {alpha:.8g}" if "bounds" in record else f"ρ_VS({alpha:g}) = {rho:.8g}"
    title = f"Replica solution at α = {alpha:g}, ρ = {rho:g}" if "regime" in record else f"The chance line: {found}"
    values = {
        "result": result,
        "numbers": record,
        "regime": REGIMES.get(record.get("regime", "")),
        "ansatz": ANSATZ.get(ansatz, ansatz),
        "found": found,
        "rows": [row for row in pd.json_normalize(record).to_dict("records")[0].items() if row[1] is not None],
        "position": drawn(lambda ax: _draw_position(ax, rho, alpha, ensemble), "position", (7.5, 5.2)),
    }
    if "regime" in record:
        values["entropy"] = drawn(lambda ax: _draw_entropy(ax, result, record["entropy"], ensemble), "entropy")
    return Page("theory.html", title, record, values)


def diagram_frame(ensemble: Ensemble = PLAIN) -> pd.DataFrame:
    """The lines as `figures.theory.draw_capacity` wants them: from the shipped table, or solved for other patterns."""
    import pandas as pd

    if not ensemble.plain:
        e = ensemble
        return curve_table(evenly_spaced(59), balance=e.balance, margin=e.margin, errors=e.error_rate).astype(float)
    lines = interpolated_lines([k / 200 for k in range(1, 200)])
    frame = pd.DataFrame(lines).rename(columns={"alpha_rs": "alpha_vs"})
    return frame.assign(vc=frame["rho"], cover_gardner=2 * frame["rho"])


def _draw_position(ax: Any, rho: float, alpha: float, ensemble: Ensemble) -> None:
    draw_capacity(ax, diagram_frame(ensemble))
    ax.plot([rho], [alpha], "o", color=COLOURS["here"], markersize=9, zorder=5)
    ax.annotate("here", (rho, alpha), xytext=(9, 7), textcoords="offset points", color=COLOURS["here"], weight="bold")


def _draw_entropy(ax: Any, result: TheoryResult, entropy: float, ensemble: Ensemble) -> None:
    import numpy as np
    from scipy.interpolate import CubicHermiteSpline

    rho = result.rho
    all_choices = binary_entropy(rho)
    branch = [point.state for point in Branch(rho, ensemble).from_entrance(lambda state: state.entropy < 0)]
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
    ax.plot(dense, CubicHermiteSpline(loads, values, slopes)(dense), color=COLOURS["rs"])
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.axvline(typical, color=COLOURS["cover-gardner"], linewidth=1, linestyle=":")
    ax.plot([result.alpha], [entropy], "o", color=COLOURS["here"], markersize=9)
    ax.set(xlabel="load α", ylabel="entropy of separating choices Σ")
