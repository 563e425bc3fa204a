"""Pictures of symmetry breaking between supports: every function draws a table on given axes and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chanceline.figures.style import COLOURS

if TYPE_CHECKING:
    import pandas as pd

    Axes = Any

STEPS = {
    "alpha_1rsb": (COLOURS["rsb"], "1 step"),
    "alpha_2rsb": (COLOURS["union"], "2 steps"),
    "alpha_3rsb": (COLOURS["l0"], "3 steps"),
}


def draw_entropies(ax: Axes, symmetric: pd.DataFrame, broken: pd.DataFrame, critical: float) -> None:
    """Σ(α) with and without breaking, and the load up to which replica symmetry is exact."""
    begin = symmetric["alpha"].min()
    ax.axvspan(begin, critical, color=COLOURS["rs"], alpha=0.08, linewidth=0, label="replica symmetry is exact")
    ax.plot(symmetric["alpha"], symmetric["entropy"], color=COLOURS["rs"], label="replica symmetric")
    ax.plot(broken["alpha"], broken["entropy"], color=COLOURS["rsb"], label="one step between supports")
    ax.axhline(0, color="0.4", linewidth=0.8)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"entropy $\Sigma$")
    ax.legend(loc="upper right", fontsize=9)


def draw_break_point(ax: Axes, broken: pd.DataFrame) -> None:
    """x, 1/K and xK/10 along the one-step branch: all finite where Σ = 0."""
    ax.plot(broken["alpha"], broken["x"], color=COLOURS["rsb"], label="$x$")
    ax.plot(broken["alpha"], 1 / broken["K"], color=COLOURS["cover-gardner"], label="$1/K$")
    ax.plot(broken["alpha"], broken["x"] * broken["K"] / 10, color=COLOURS["union"], label="$xK/10$")
    positive = broken[broken["entropy"] >= 0]
    ax.axvline(positive["alpha"].max(), color="0.6", linewidth=0.9, linestyle=":")
    ax.set(xlabel=r"load $\alpha$", ylim=(0, None))
    ax.legend(fontsize=9)


def draw_diagram(ax: Axes, table: pd.DataFrame) -> None:
    """The capacity diagram with and without breaking; below the replicon line replica symmetry is exact."""
    rho = table["rho"]
    ax.fill_between(
        rho, 0, table["replicon_alpha"], color=COLOURS["rs"], alpha=0.1, linewidth=0, label="replica symmetry is exact"
    )
    ax.plot(rho, table["replicon_alpha"], color=COLOURS["breaks"], linewidth=1.1, label="symmetry between supports breaks")
    ax.plot(rho, table["alpha_rs"], color=COLOURS["rs"], linestyle="--", label=r"$\alpha_{\rm VS}$, replica symmetric")
    ax.plot(rho, table["alpha_1rsb"], color=COLOURS["rsb"], label=r"$\alpha_{\rm VS}$, one step of breaking")
    ax.plot(rho, 2 * rho, color=COLOURS["cover-gardner"], label=r"$\alpha_{\rm CG}=2\rho$")
    ax.set(xlabel=r"density $\rho=M/N$", ylabel=r"load $\alpha=P/N$", xlim=(0, 1), ylim=(0, 2.2))
    ax.legend(loc="lower right", fontsize=9)


def draw_corrections(ax: Axes, table: pd.DataFrame) -> None:
    """How far each α_VS lies above the limit of infinitely many steps, relative to it; the band is the limit's error."""
    known = table.dropna(subset=["alpha_full"])
    rho, full = known["rho"], known["alpha_full"]
    ax.semilogy(rho, known["alpha_rs"] / full - 1, color=COLOURS["rs"], linestyle="--", label="replica symmetric")
    for column, (colour, label) in STEPS.items():
        ax.semilogy(rho, known[column] / full - 1, color=colour, label=label)
    ax.semilogy(rho, known["error_full"] / full, color="0.6", linestyle=":", label="error of the limit")
    ax.set(xlabel=r"density $\rho=M/N$", ylabel=r"$\alpha_{\rm VS}/\alpha_{\rm VS}^{\rm full}-1$", xlim=(0, 1))
    ax.legend(fontsize=9)
