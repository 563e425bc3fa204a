"""Pictures of the experiments: every function draws tables on given axes and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chanceline.figures.style import COLOURS, legend_below

if TYPE_CHECKING:
    import pandas as pd

    Axes = Any

POINTS = {"linestyle": "none", "markersize": 4}
SIZES = {64: (COLOURS["union"], "o"), 128: (COLOURS["here"], "s"), 256: (COLOURS["rsb"], "^")}
LOADS = [COLOURS[name] for name in ("rs", "cover-gardner", "union", "here", "rsb", "l0", "vc")]
INPUTS = {"binary": (COLOURS["rs"], "o", "±1 inputs"), "sphere": (COLOURS["here"], "s", "inputs on the sphere")}
# Points of the two kinds of inputs stand side by side.
SHIFTS = {"binary": -0.006, "sphere": 0.006}


def draw_smallest(ax: Axes, points: pd.DataFrame, curve: pd.DataFrame, title: str, limits: pd.DataFrame | None = None) -> None:
    """The paper's capacity figure: markers at (mean K/N, α) over α_VS and α_CG.

    `points` has n, load, density, error, `curve` has rho, alpha_vs, cover_gardner, and `limits` (N → ∞) alpha, searched,
    searched_error.
    """
    ax.plot(curve["rho"], curve["alpha_vs"], color=COLOURS["rs"], label=r"$\alpha_{\rm VS}$, replica symmetric")
    ax.plot(curve["rho"], curve["cover_gardner"], color=COLOURS["cover-gardner"], label=r"$\alpha_{\rm CG}=2\rho$")
    for n, group in points.groupby("n"):
        colour, marker = SIZES.get(n, ("0.3", "D"))
        ax.errorbar(group["density"], group["load"], xerr=group["error"], color=colour, marker=marker, label=f"$N={n}$", **POINTS)
    if limits is not None and len(limits):
        style = {**POINTS, "color": "black", "marker": "x", "label": r"$N\to\infty$, extrapolated"}
        ax.errorbar(limits["searched"], limits["alpha"], xerr=limits["searched_error"], **style)
    ax.set(xlabel=r"density $\rho=K/N$", ylabel=r"load $\alpha=P/N$", xlim=(0, 1), ylim=(0, 2.05), title=title)
    ax.legend(loc="lower right")


def draw_entropy_limits(ax: Axes, limits: pd.DataFrame, curve: pd.DataFrame, rho: float) -> None:
    """Σ against α at one ρ: theory as a line (`curve` has alpha, rs), counts extrapolated to N → ∞ as points with error bars."""
    ax.plot(curve["alpha"], curve["rs"], color=COLOURS["rs"], label=r"$\Sigma$, replica symmetric")
    for inputs, group in limits[limits["rho"] == rho].groupby("inputs"):
        colour, marker, label = INPUTS[str(inputs)]
        for name, fill, what, apart in (("exact", "none", "exact counts", 3), ("both", colour, "with Monte Carlo", 1)):
            if group[name].notna().any():
                style = {**POINTS, "color": colour, "marker": marker, "mfc": fill, "capsize": 2, "label": f"{label}, {what}"}
                ax.errorbar(group["alpha"] + apart * SHIFTS[str(inputs)], group[name], group[f"{name}_error"], **style)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"$\ln$(supports)$/N$", title=rf"$\rho={rho:g}$")
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_ylim(bottom=-0.1 * ax.get_ylim()[1])
    ax.legend(loc="lower left", fontsize=8)


def draw_extrapolations(ax: Axes, points: pd.DataFrame, fits: pd.DataFrame, value: str) -> None:
    """What is extrapolated against 1/N, one colour for each load, with the fitted curves down to 1/N = 0.

    `points` has alpha, n, `value`, error; `fits` has alpha, n (inf at the limit), fitted, and theory at the limit.
    """
    for k, (alpha, group) in enumerate(points.groupby("alpha")):
        colour = LOADS[k % len(LOADS)]
        ax.errorbar(1 / group["n"], group[value], group["error"], color=colour, marker="o", **POINTS)
        fit = fits[fits["alpha"] == alpha]
        ax.plot(1 / fit["n"], fit["fitted"], color=colour, linewidth=1, label=rf"$\alpha={alpha:g}$")
        ax.plot([0], [fit["theory"].iloc[0]], color=colour, marker="*", markersize=11, clip_on=False, linestyle="none")
    ax.set(xlabel="$1/N$", xlim=(-0.001, None))
    ax.plot([], [], color=COLOURS["ink"], marker="*", markersize=9, linestyle="none", label="replica theory")
    legend_below(ax, 3)


def draw_capacity_limits(ax: Axes, limits: pd.DataFrame) -> None:
    """Extrapolated smallest share minus the symmetric ρ_VS against α, for both kinds of inputs."""
    ax.axhline(0, color=COLOURS["rs"], label=r"$\rho_{\rm VS}$, replica symmetric")
    theory = limits.drop_duplicates("alpha").sort_values("alpha")
    breaking = theory["rsb"] - theory["rs"]
    ax.plot(theory["alpha"], breaking, "--", color=COLOURS["rsb"], label=r"$\rho_{\rm VS}$, one step of breaking")
    for inputs, group in limits.groupby("inputs"):
        colour, marker, label = INPUTS[str(inputs)]
        style = {**POINTS, "color": colour, "marker": marker, "capsize": 2, "label": label}
        ax.errorbar(group["alpha"] + SHIFTS[str(inputs)], group["searched"] - group["rs"], group["searched_error"], **style)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"smallest share, $N\to\infty$, minus $\rho_{\rm VS}$")
    legend_below(ax, 4)
