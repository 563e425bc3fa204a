"""Pictures of the theory: every function draws a table on given axes and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chanceline.figures.style import COLOURS

if TYPE_CHECKING:
    import pandas as pd

    Axes = Any


def draw_overlaps(ax: Axes, table: pd.DataFrame, rho: float) -> None:
    """Panel (a): q₁ and q₀ against α."""
    ax.plot(table["alpha"], table["q1"], color=COLOURS["rs"], label="$q_1$, same choice of variables")
    ax.plot(table["alpha"], table["q0"], color=COLOURS["cover-gardner"], label="$q_0$, different choices")
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=r"load $\alpha$", ylabel="overlap", ylim=(0, 1.25 * rho))
    ax.legend(loc="upper left")


def draw_response(ax: Axes, table: pd.DataFrame, rho: float) -> None:
    """Panel (b): χ = lim (ρ − q₁)/m above 2ρ; ρ − q₁ below in the inset."""
    above = table[table["regime"] != "typical"]
    below = table[table["regime"] == "typical"]
    ax.semilogy(above["alpha"], above["chi"], color=COLOURS["rs"])
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"$\chi=\lim_{m\to0}(\rho-q_1)/m$", xlim=(0, None))
    inset = ax.inset_axes((0.12, 0.14, 0.36, 0.36))
    inset.plot(below["alpha"], rho - below["q1"], color=COLOURS["cover-gardner"], linewidth=1.3)
    inset.set_title(r"$\rho-q_1$", fontsize=8)
    inset.tick_params(labelsize=7)


def draw_entropy(ax: Axes, table: pd.DataFrame, rho: float, capacity: float) -> None:
    """Panel (c): the entropy of separating choices, and where it vanishes."""
    ax.plot(table["alpha"], table["entropy"], color=COLOURS["rs"])
    ax.axhline(0, color="0.4", linewidth=0.8)
    ax.plot([capacity], [0], "o", color=COLOURS["breaks"])
    ax.annotate(rf"$\alpha_{{\rm VS}}={capacity:.4f}$", (capacity, 0), xytext=(-8, 10), textcoords="offset points", ha="right")
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"entropy $\Sigma$")


def draw_stability(ax: Axes, table: pd.DataFrame, rho: float, crossing: float | None) -> None:
    """Panel (d): both replicon products less 1. The paper's (within a support) is exactly marginal above 2ρ."""
    ax.plot(table["alpha"], table["within"] - 1, color=COLOURS["rs"], label="within a support (the paper's)")
    ax.plot(table["alpha"], table["between"] - 1, color=COLOURS["breaks"], label="between supports")
    ax.axhline(0, color="0.4", linewidth=0.8)
    if crossing is not None:
        ax.annotate(
            rf"unstable from $\alpha={crossing:.4f}$", (crossing, 0), xytext=(-8, 16), textcoords="offset points", ha="right"
        )
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"replicon product $-\,1$")
    ax.legend(loc="upper left")


def draw_capacity(ax: Axes, table: pd.DataFrame) -> None:
    """The capacity diagram: α_VS(ρ) between its closed-form neighbours."""
    rho = table["rho"]
    typical = r"$\alpha_{\rm CG}$, typical choice" if "balance" in table else r"$\alpha_{\rm CG}=2\rho$, typical choice"
    ax.plot(rho, table["union"], color=COLOURS["union"], linestyle=":", label="union bound (rigorous)")
    ax.plot(rho, table["l0_gardner"], color=COLOURS["l0"], linestyle="--", label=r"$\ell_0$-Gardner")
    ax.plot(rho, table["alpha_vs"], color=COLOURS["rs"], linewidth=2.4, label=r"$\alpha_{\rm VS}$, replica symmetric")
    ax.plot(rho, table["cover_gardner"], color=COLOURS["cover-gardner"], label=typical)
    ax.plot(rho, table["vc"], color=COLOURS["vc"], label=r"$\alpha_{\rm VC}=\rho$, every choice")
    if "replicon_alpha" in table:
        ax.fill_between(
            rho, 0, table["replicon_alpha"], color=COLOURS["rs"], alpha=0.08, linewidth=0, label="replica symmetry is stable"
        )
    ax.set(xlabel=r"density $\rho=M/N$", ylabel=r"load $\alpha=P/N$", xlim=(0, 1))
    ax.set_ylim(0, 1.1 * float(table["l0_gardner"].max()))
    ax.legend(loc="lower right", fontsize=9)


def draw_balances(ax: Axes, table: pd.DataFrame) -> None:
    """α_VS(ρ) for several shares of positives, one line each, on log axes."""
    shades = ("#0b2a4a", "#1f5f99", "#4f9bd9", "#9cc9ee")
    for shade, (balance, line) in zip(shades, table.groupby("balance", sort=False), strict=False):
        ax.loglog(line["rho"], line["alpha_vs"], color=shade, label=f"balance {balance:g}")
    ax.set(xlabel=r"density $\rho=M/N$", ylabel=r"load $\alpha=P/N$")
    ax.legend(loc="lower right", fontsize=9)


def _mark_cover_gardner(ax: Axes, rho: float) -> None:
    ax.axvline(2 * rho, color="0.6", linewidth=0.9, linestyle=":")
