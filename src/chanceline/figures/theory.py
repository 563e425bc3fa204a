"""Pictures of the theory, with and without symmetry breaking between supports: tables drawn on given axes, nothing computed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from chanceline.figures.style import COLOURS

LOAD, DENSITY, LOAD_OF = r"load $\alpha$", r"density $\rho=M/N$", r"load $\alpha=P/N$"


def draw_overlaps(ax: Any, table: pd.DataFrame, rho: float) -> None:
    """Panel (a): q₁ and q₀ against α."""
    _draw_lines(
        ax,
        table["alpha"],
        (table["q1"], "rs", "-", "$q_1$, same choice of variables"),
        (table["q0"], "cover-gardner", "-", "$q_0$, different choices"),
    )
    _mark_cover_gardner(ax, rho)
    _label(ax, "upper left", xlabel=LOAD, ylabel="overlap", ylim=(0, 1.25 * rho))


def draw_response(ax: Any, table: pd.DataFrame, rho: float) -> None:
    """Panel (b): χ = lim (ρ − q₁)/m above 2ρ; ρ − q₁ below in the inset."""
    typical = table["regime"] == "typical"
    ax.semilogy(table["alpha"][~typical], table["chi"][~typical], color=COLOURS["rs"])
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=LOAD, ylabel=r"$\chi=\lim_{m\to0}(\rho-q_1)/m$", xlim=(0, None))
    inset = ax.inset_axes((0.12, 0.14, 0.36, 0.36))
    inset.plot(
        table["alpha"][typical],
        rho - table["q1"][typical],
        color=COLOURS["cover-gardner"],
        linewidth=1.3,
    )
    inset.set_title(r"$\rho-q_1$", fontsize=8)
    inset.tick_params(labelsize=7)


def draw_entropy(ax: Any, table: pd.DataFrame, rho: float, capacity: float) -> None:
    """Panel (c): the entropy of separating choices, and where it vanishes."""
    ax.plot(table["alpha"], table["entropy"], color=COLOURS["rs"])
    ax.plot([capacity], [0], "o", color=COLOURS["breaks"])
    ax.annotate(
        rf"$\alpha_{{\rm VS}}={capacity:.4f}$",
        (capacity, 0),
        xytext=(-8, 10),
        textcoords="offset points",
        ha="right",
    )
    _mark_cover_gardner(ax, rho)
    ax.axhline(0, color="0.4", linewidth=0.8)
    ax.set(xlabel=LOAD, ylabel=r"entropy $\Sigma$")


def draw_stability(ax: Any, table: pd.DataFrame, rho: float, crossing: float | None) -> None:
    """Panel (d): both replicon products less 1. The paper's (within a support) is exactly marginal above 2ρ."""
    _draw_lines(
        ax,
        table["alpha"],
        (table["within"] - 1, "rs", "-", "within a support (the paper's)"),
        (table["between"] - 1, "breaks", "-", "between supports"),
    )
    if crossing is not None:
        ax.annotate(
            rf"unstable from $\alpha={crossing:.4f}$",
            (crossing, 0),
            xytext=(-8, 16),
            textcoords="offset points",
            ha="right",
        )
    _mark_cover_gardner(ax, rho)
    ax.axhline(0, color="0.4", linewidth=0.8)
    _label(ax, "upper left", xlabel=LOAD, ylabel=r"replicon product $-\,1$")


def draw_capacity(ax: Any, table: pd.DataFrame) -> None:
    """The capacity diagram: α_VS(ρ) between its closed-form neighbours."""
    typical = (
        r"$\alpha_{\rm CG}$, typical choice"
        if "balance" in table
        else r"$\alpha_{\rm CG}=2\rho$, typical choice"
    )
    _draw_lines(
        ax,
        table["rho"],
        (table["union"], "union", ":", "union bound (rigorous)"),
        (table["l0_gardner"], "l0", "--", r"$\ell_0$-Gardner"),
        (table["alpha_vs"], "rs", "-", r"$\alpha_{\rm VS}$, replica symmetric"),
        (table["cover_gardner"], "cover-gardner", "-", typical),
        (table["vc"], "vc", "-", r"$\alpha_{\rm VC}=\rho$, every choice"),
    )
    if "replicon_alpha" in table:
        _shade_exact(ax, table, "replica symmetry is stable")
    _label(
        ax,
        "lower right",
        xlabel=DENSITY,
        ylabel=LOAD_OF,
        xlim=(0, 1),
        ylim=(0, 1.1 * float(table["l0_gardner"].max())),
    )


def draw_curve(ax: Any, table: pd.DataFrame) -> None:
    """A `Curve`: the diagram of capacities, or densities at their loads."""
    if "alpha_vs" in table:
        return draw_capacity(ax, table)
    ax.plot(
        table["rho"],
        table["alpha"],
        color=COLOURS["rs"],
        label=r"$\rho_{\rm VS}(\alpha)$, replica symmetric",
    )
    _label(ax, "lower right", xlabel=DENSITY, ylabel=LOAD_OF)
    return None


def draw_balances(ax: Any, table: pd.DataFrame) -> None:
    """α_VS(ρ) for several shares of positives, one line each, on log axes."""
    shades = ("#0b2a4a", "#1f5f99", "#4f9bd9", "#9cc9ee")
    for shade, (balance, line) in zip(shades, table.groupby("balance", sort=False), strict=False):
        ax.loglog(line["rho"], line["alpha_vs"], color=shade, label=f"balance {balance:g}")
    _label(ax, "lower right", xlabel=DENSITY, ylabel=LOAD_OF)


def draw_signs(ax: Any, free: pd.DataFrame, given: pd.DataFrame) -> None:
    """α against ρ with free and with given signs: typical and chosen inputs, and the smaller of both upper bounds."""
    for table, colour, whose in (
        (free, "rs", "free signs"),
        (given, "cover-gardner", "given signs"),
    ):
        limit = table[["union", "l0_gardner"]].min(axis=1)
        lines = (
            (limit, ":", "limit"),
            (table["alpha_vs"], "-", "chosen inputs"),
            (table["cover_gardner"], "--", "typical inputs"),
        )
        _draw_lines(
            ax,
            table["rho"],
            *((values, colour, style, f"{whose}: {name}") for values, style, name in lines),
        )
    _label(ax, "lower right", xlabel=DENSITY, ylabel=LOAD_OF, xlim=(0, 1), ylim=(0, 2.1))


def draw_entropies(ax: Any, symmetric: pd.DataFrame, broken: pd.DataFrame, critical: float) -> None:
    """Σ(α) with and without breaking, and the load up to which replica symmetry is exact."""
    ax.axvspan(
        symmetric["alpha"].min(),
        critical,
        color=COLOURS["rs"],
        alpha=0.08,
        linewidth=0,
        label="replica symmetry is exact",
    )
    ax.plot(
        symmetric["alpha"], symmetric["entropy"], color=COLOURS["rs"], label="replica symmetric"
    )
    ax.plot(
        broken["alpha"], broken["entropy"], color=COLOURS["rsb"], label="one step between supports"
    )
    ax.axhline(0, color="0.4", linewidth=0.8)
    _label(ax, "upper right", xlabel=LOAD, ylabel=r"entropy $\Sigma$")


def draw_break_point(ax: Any, broken: pd.DataFrame) -> None:
    """x, 1/K and xK/10 along the one-step branch: all finite where Σ = 0."""
    x, K = broken["x"], broken["K"]
    _draw_lines(
        ax,
        broken["alpha"],
        (x, "rsb", "-", "$x$"),
        (1 / K, "cover-gardner", "-", "$1/K$"),
        (x * K / 10, "union", "-", "$xK/10$"),
    )
    ax.axvline(
        broken["alpha"][broken["entropy"] >= 0].max(), color="0.6", linewidth=0.9, linestyle=":"
    )
    _label(ax, "best", xlabel=LOAD, ylim=(0, None))


def draw_diagram(ax: Any, table: pd.DataFrame) -> None:
    """The capacity diagram with and without breaking; below the replicon line replica symmetry is exact."""
    _shade_exact(ax, table, "replica symmetry is exact")
    _draw_lines(
        ax,
        table["rho"],
        (table["replicon_alpha"], "breaks", "-", "symmetry between supports breaks"),
        (table["alpha_rs"], "rs", "--", r"$\alpha_{\rm VS}$, replica symmetric"),
        (table["alpha_1rsb"], "rsb", "-", r"$\alpha_{\rm VS}$, one step of breaking"),
        (2 * table["rho"], "cover-gardner", "-", r"$\alpha_{\rm CG}=2\rho$"),
    )
    _label(ax, "lower right", xlabel=DENSITY, ylabel=LOAD_OF, xlim=(0, 1), ylim=(0, 2.2))


def draw_corrections(ax: Any, table: pd.DataFrame) -> None:
    """How far each α_VS lies above the limit of infinitely many steps, relative to it; the last line is the limit's error."""
    known = table.dropna(subset=["alpha_full"])
    full = known["alpha_full"]
    _draw_lines(
        ax,
        known["rho"],
        (known["alpha_rs"] / full - 1, "rs", "--", "replica symmetric"),
        (known["alpha_1rsb"] / full - 1, "rsb", "-", "1 step"),
        (known["alpha_2rsb"] / full - 1, "union", "-", "2 steps"),
        (known["alpha_3rsb"] / full - 1, "l0", "-", "3 steps"),
        (known["error_full"] / full, "breaks", ":", "error of the limit"),
    )
    _label(
        ax,
        "best",
        xlabel=DENSITY,
        ylabel=r"$\alpha_{\rm VS}/\alpha_{\rm VS}^{\rm full}-1$",
        xlim=(0, 1),
        yscale="log",
    )


def _draw_lines(ax: Any, x: pd.Series, *lines: tuple[Any, str, str, str]) -> None:
    """Values, name of the colour, style and label of each line."""
    for values, colour, style, label in lines:
        ax.plot(x, values, color=COLOURS[colour], linestyle=style, label=label)


def _label(ax: Any, legend: str, **labels: Any) -> None:
    """Names and limits of the axes, and where the legend stands."""
    ax.set(**labels)
    ax.legend(loc=legend, fontsize=9)


def _shade_exact(ax: Any, table: pd.DataFrame, label: str) -> None:
    ax.fill_between(
        table["rho"],
        0,
        table["replicon_alpha"],
        color=COLOURS["rs"],
        alpha=0.1,
        linewidth=0,
        label=label,
    )


def _mark_cover_gardner(ax: Any, rho: float) -> None:
    ax.axvline(2 * rho, color="0.6", linewidth=0.9, linestyle=":")
