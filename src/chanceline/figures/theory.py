"""Pictures of the theory, with and without symmetry breaking between supports.

Every function draws a table on given axes and computes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from chanceline.figures.style import COLOURS
from chanceline.theory.distributions import StabilityLaw, WeightLaw

LOAD_LABEL = r"load $\alpha$"
PATTERNS_LABEL = r"load $\alpha=P/N$"
DENSITY_LABEL = r"density $\rho=M/N$"
WEIGHT_REACH = 3.0  # of the axis of weights, in root mean squares
STABILITY_REACH = 4.0  # of the axis of stabilities, in lengths of the weights
INSET_PLACE = (0.12, 0.14, 0.36, 0.36)  # left, bottom, width and height, as shares of the axes
# From dark to light, for lines at several balances.
BALANCE_SHADES = ("#0b2a4a", "#1f5f99", "#4f9bd9", "#9cc9ee")


def draw_overlaps(ax: Any, table: pd.DataFrame, rho: float) -> None:
    """Panel (a): q₁ and q₀ against α."""
    alpha = table["alpha"]
    _draw_line(ax, alpha, table["q1"], "$q_1$, same choice of variables", colour="rs")
    _draw_line(ax, alpha, table["q0"], "$q_0$, different choices", colour="cover-gardner")
    _mark_cover_gardner(ax, rho)
    _label(ax, "upper left", xlabel=LOAD_LABEL, ylabel="overlap", ylim=(0, 1.25 * rho))


def draw_response(ax: Any, table: pd.DataFrame, rho: float) -> None:
    """Draw panel (b) of the paper: how much two solutions on one choice of variables differ.

    A solution is a vector of weights that separates the patterns; q₁ is the overlap of two, and ρ
    if they are equal. Up to the load 2ρ (regime "typical") the difference ρ − q₁ is drawn, in an
    inset. At larger loads it vanishes with the number m → 0 of replicas, and its rate
    χ = lim (ρ − q₁)/m is drawn.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns alpha (the load), regime, q1 and chi.
    rho : the density ρ, the share of the variables that is chosen.
    """
    typical = table[table["regime"] == "typical"]
    selected = table[table["regime"] != "typical"]
    ax.semilogy(selected["alpha"], selected["chi"], color=COLOURS["rs"])
    _mark_cover_gardner(ax, rho)
    ax.set(xlabel=LOAD_LABEL, ylabel=r"$\chi=\lim_{m\to0}(\rho-q_1)/m$", xlim=(0, None))

    inset = ax.inset_axes(INSET_PLACE)
    inset.plot(typical["alpha"], rho - typical["q1"], color=COLOURS["cover-gardner"], linewidth=1.3)
    inset.set_title(r"$\rho-q_1$", fontsize=8)
    inset.tick_params(labelsize=7)


def draw_entropy(ax: Any, table: pd.DataFrame, rho: float, capacity: float) -> None:
    """Draw panel (c) of the paper: the entropy Σ of separating choices against the load α.

    About e^{NΣ} choices of variables separate αN random patterns. Two loads are marked: the
    capacity α_VS, where the entropy vanishes, and 2ρ, up to which typical choices separate.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns alpha and entropy.
    rho : the density ρ, the share of the variables that is chosen.
    capacity : α_VS.
    """
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
    ax.set(xlabel=LOAD_LABEL, ylabel=r"entropy $\Sigma$")


def draw_stability(ax: Any, table: pd.DataFrame, rho: float, crossing: float | None) -> None:
    """Draw panel (d) of the paper: whether replica-symmetric theory is stable, against the load.

    It is stable where two products, the replicons within a support (a choice of variables) and
    between supports, are below 1; drawn are the products less 1.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns alpha (the load), within and between (the two products).
    rho : the density ρ, the share of the variables that is chosen.
    crossing : the load where symmetry between supports becomes unstable; None if it stays stable.
    """
    alpha = table["alpha"]
    _draw_line(ax, alpha, table["within"] - 1, "within a support (the paper's)", colour="rs")
    _draw_line(ax, alpha, table["between"] - 1, "between supports", colour="breaks")
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
    _label(ax, "upper left", xlabel=LOAD_LABEL, ylabel=r"replicon product $-\,1$")


def draw_capacity(ax: Any, table: pd.DataFrame) -> None:
    """Draw the capacity α_VS against the density ρ, with two upper and two lower limits.

    All lines are loads, up to which some (α_VS), typical or all choices of ρN of N variables
    separate random patterns; the upper limits are two bounds on α_VS.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns rho; union and l0_gardner (the upper bounds); alpha_vs; cover_gardner (typical
        choices) and vc (all choices). Optional are replicon_alpha, the load up to which replica
        symmetry is stable, which is shaded; balance, if the classes have different sizes; and
        errors, the share of errors that is allowed.
    """
    # The formula 2ρ is for balanced classes, and the theorem for no errors.
    typical_label = r"$\alpha_{\rm CG}=2\rho$, typical choice"
    if "balance" in table:
        typical_label = r"$\alpha_{\rm CG}$, typical choice"
    l0_label = r"$\ell_0$-Gardner (rigorous for Gaussian inputs)"
    if "errors" in table and table["errors"].any():
        l0_label = r"$\ell_0$-Gardner"

    rho = table["rho"]
    _draw_line(ax, rho, table["union"], "union bound (rigorous)", colour="union", style=":")
    _draw_line(ax, rho, table["l0_gardner"], l0_label, colour="l0", style="--")
    _draw_line(ax, rho, table["alpha_vs"], r"$\alpha_{\rm VS}$, replica symmetric", colour="rs")
    _draw_line(ax, rho, table["cover_gardner"], typical_label, colour="cover-gardner")
    _draw_line(ax, rho, table["vc"], r"$\alpha_{\rm VC}=\rho$, every choice", colour="vc")
    if "replicon_alpha" in table:
        _shade_exact(ax, table, "replica symmetry is stable")
    _label(
        ax,
        "lower right",
        xlabel=DENSITY_LABEL,
        ylabel=PATTERNS_LABEL,
        xlim=(0, 1),
        ylim=(0, 1.1 * float(table["l0_gardner"].max())),
    )


def draw_curve(ax: Any, table: pd.DataFrame) -> None:
    """A `Curve`: the diagram of capacities, or densities at their loads."""
    if "alpha_vs" in table:
        draw_capacity(ax, table)
        return
    label = r"$\rho_{\rm VS}(\alpha)$, replica symmetric"
    ax.plot(table["rho"], table["alpha"], color=COLOURS["rs"], label=label)
    _label(ax, "lower right", xlabel=DENSITY_LABEL, ylabel=PATTERNS_LABEL)


def draw_balances(ax: Any, table: pd.DataFrame) -> None:
    """α_VS(ρ) for several shares of positives, one line each, on log axes."""
    lines = table.groupby("balance", sort=False)
    for shade, (balance, line) in zip(BALANCE_SHADES, lines, strict=False):
        ax.loglog(line["rho"], line["alpha_vs"], color=shade, label=f"balance {balance:g}")
    _label(ax, "lower right", xlabel=DENSITY_LABEL, ylabel=PATTERNS_LABEL)


def draw_signs(ax: Any, free: pd.DataFrame, given: pd.DataFrame) -> None:
    """Draw loads that can be separated against the density ρ, for free and given signs of weights.

    Each kind of signs has three lines: the loads of typical inputs and of the best choice of
    inputs, and an upper limit of the latter.

    Parameters
    ----------
    ax : matplotlib axes.
    free, given : tables for free signs and for signs given beforehand, with the columns rho,
        cover_gardner (typical inputs), alpha_vs (the best choice), union and l0_gardner (two upper
        bounds, of which the smaller one is drawn).
    """
    _draw_signs_of_one_kind(ax, free, "free signs", colour="rs")
    _draw_signs_of_one_kind(ax, given, "given signs", colour="cover-gardner")
    _label(
        ax,
        "lower right",
        xlabel=DENSITY_LABEL,
        ylabel=PATTERNS_LABEL,
        xlim=(0, 1),
        ylim=(0, 2.1),
    )


def _draw_signs_of_one_kind(ax: Any, table: pd.DataFrame, signs: str, *, colour: str) -> None:
    """The three lines of `draw_signs` for free or for given signs."""
    rho = table["rho"]
    limit = table[["union", "l0_gardner"]].min(axis=1)
    _draw_line(ax, rho, limit, f"{signs}: limit", colour=colour, style=":")
    _draw_line(ax, rho, table["alpha_vs"], f"{signs}: chosen inputs", colour=colour)
    _draw_line(
        ax, rho, table["cover_gardner"], f"{signs}: typical inputs", colour=colour, style="--"
    )


def draw_entropies(
    ax: Any, symmetric: pd.DataFrame, broken: pd.DataFrame, critical_load: float
) -> None:
    """Draw the entropy of separating choices against the load, with and without symmetry breaking.

    Parameters
    ----------
    ax : matplotlib axes.
    symmetric : columns alpha (the load) and entropy, by replica-symmetric theory.
    broken : the same columns, with one step of symmetry breaking.
    critical_load : the load where symmetry breaks. Below it replica symmetry is exact, if symmetry
        breaks continuously; that is so at densities ρ > 0.017.
    """
    # The range where replica symmetry is exact.
    ax.axvspan(
        symmetric["alpha"].min(),
        critical_load,
        color=COLOURS["rs"],
        alpha=0.08,
        linewidth=0,
        label="replica symmetry is exact",
    )
    _draw_line(ax, symmetric["alpha"], symmetric["entropy"], "replica symmetric", colour="rs")
    _draw_line(ax, broken["alpha"], broken["entropy"], "one step between supports", colour="rsb")
    ax.axhline(0, color="0.4", linewidth=0.8)
    _label(ax, "upper right", xlabel=LOAD_LABEL, ylabel=r"entropy $\Sigma$")


def draw_break_point(ax: Any, broken: pd.DataFrame) -> None:
    """Draw the two parameters x and K of one step of symmetry breaking against the load.

    K grows without limit towards the capacity. So x, 1/K and xK/10 are drawn, which stay finite.

    Parameters
    ----------
    ax : matplotlib axes.
    broken : columns alpha (the load), entropy, x (the break point of the step, between 0 and 1)
        and K (the field that sets the share of variables chosen).
    """
    load = broken["alpha"]
    x = broken["x"]
    K = broken["K"]
    _draw_line(ax, load, x, "$x$", colour="rsb")
    _draw_line(ax, load, 1 / K, "$1/K$", colour="cover-gardner")
    _draw_line(ax, load, x * K / 10, "$xK/10$", colour="union")

    # The capacity is the largest load at which the entropy of separating choices is not negative.
    has_entropy = broken["entropy"] >= 0
    capacity = load[has_entropy].max()
    ax.axvline(capacity, color="0.6", linewidth=0.9, linestyle=":")
    _label(ax, "best", xlabel=LOAD_LABEL, ylim=(0, None))


def draw_diagram(ax: Any, table: pd.DataFrame) -> None:
    """Draw the capacity against the density ρ, with and without symmetry breaking.

    The capacity is the load up to which some choice of variables separates. The loads at which
    replica symmetry is exact are shaded: those below the load where it becomes unstable. (This is
    right, because at all densities of the table symmetry breaks continuously, not by a jump.)

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns rho, replicon_alpha (the load where replica symmetry becomes unstable), alpha_rs
        and alpha_1rsb (the capacity, replica symmetric and with one step of breaking).
    """
    _shade_exact(ax, table, "replica symmetry is exact")
    rho = table["rho"]
    breaking_label = "symmetry between supports breaks"
    symmetric_label = r"$\alpha_{\rm VS}$, replica symmetric"
    one_step_label = r"$\alpha_{\rm VS}$, one step of breaking"
    _draw_line(ax, rho, table["replicon_alpha"], breaking_label, colour="breaks")
    _draw_line(ax, rho, table["alpha_rs"], symmetric_label, colour="rs", style="--")
    _draw_line(ax, rho, table["alpha_1rsb"], one_step_label, colour="rsb")
    _draw_line(ax, rho, 2 * rho, r"$\alpha_{\rm CG}=2\rho$", colour="cover-gardner")
    _label(
        ax,
        "lower right",
        xlabel=DENSITY_LABEL,
        ylabel=PATTERNS_LABEL,
        xlim=(0, 1),
        ylim=(0, 2.2),
    )


def draw_transition(ax: Any, table: pd.DataFrame, jump_density: float) -> None:
    """Draw at which loads symmetry between supports (choices of variables) breaks by a jump.

    At small densities ρ supports fall into groups at one load (α_d), and symmetry breaks by a jump
    at a larger one (α_K). Both are drawn against ρ, divided by the load where replica symmetry
    becomes unstable, which is called the replicon line and lies at height 1.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns rho, dynamic_alpha (α_d) and static_alpha (α_K), divided as said; NaN where
        symmetry breaks continuously.
    jump_density : the density above which symmetry breaks continuously.
    """
    rows_with_jump = table.dropna(subset=["static_alpha"])
    rho = rows_with_jump["rho"]
    dynamic_label = r"$\alpha_d$, supports fall into groups"
    static_label = r"$\alpha_K$, symmetry breaks by a jump"

    # "breaks", "rsb" and "rs" are names of colours in the palette of all figures.
    ax.axhline(1.0, color=COLOURS["breaks"], label="replica symmetry becomes unstable")
    _draw_line(ax, rho, rows_with_jump["static_alpha"], static_label, colour="rsb")
    _draw_line(ax, rho, rows_with_jump["dynamic_alpha"], dynamic_label, colour="rs", style="--")
    ax.axvline(jump_density, color="0.6", linewidth=0.9, linestyle=":")
    _label(
        ax,
        "lower right",
        xlabel=DENSITY_LABEL,
        ylabel=r"load $\alpha$ / replicon line",
        xscale="log",
        xlim=(table["rho"].min(), table["rho"].max()),
    )


def draw_corrections(ax: Any, table: pd.DataFrame) -> None:
    """Draw how far capacities with few steps of symmetry breaking lie above the full theory.

    The full theory has infinitely many steps; drawn are relative differences from its capacity.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns rho (the density), alpha_rs (the capacity without breaking), alpha_1rsb,
        alpha_2rsb and alpha_3rsb (with 1 to 3 steps), alpha_full (in the limit of infinitely many
        steps; rows without it are left out) and error_full (its error).
    """
    known = table.dropna(subset=["alpha_full"])
    rho = known["rho"]
    full = known["alpha_full"]
    symmetric = known["alpha_rs"] / full - 1
    _draw_line(ax, rho, symmetric, "replica symmetric", colour="rs", style="--")
    _draw_line(ax, rho, known["alpha_1rsb"] / full - 1, "1 step", colour="rsb")
    _draw_line(ax, rho, known["alpha_2rsb"] / full - 1, "2 steps", colour="union")
    _draw_line(ax, rho, known["alpha_3rsb"] / full - 1, "3 steps", colour="l0")
    error = known["error_full"] / full
    _draw_line(ax, rho, error, "error of the limit", colour="breaks", style=":")
    _label(
        ax,
        "best",
        xlabel=DENSITY_LABEL,
        ylabel=r"$\alpha_{\rm VS}/\alpha_{\rm VS}^{\rm full}-1$",
        xlim=(0, 1),
        yscale="log",
    )


def draw_weights(ax: Any, law: WeightLaw, label: str = "theory", *, colour: str = "rs") -> None:
    """The density of the weights of chosen variables; `colour` is a name of the palette."""
    weight = np.linspace(-WEIGHT_REACH, WEIGHT_REACH, 401)
    ax.plot(weight, law.density(weight), color=COLOURS[colour], label=label)
    _label(ax, "upper right", xlabel="weight / root mean square", ylabel="density", ylim=(0, None))


def draw_stabilities(ax: Any, law: StabilityLaw) -> None:
    """The density of the stabilities, and the share of patterns at the margin as a bar."""
    end = law.margin + STABILITY_REACH
    stability = np.linspace(law.margin, end, 400)[1:]
    ax.plot(stability, law.density(stability), color=COLOURS["rs"], label="above the margin")
    atom_label = f"{law.at_margin:.0%} of the patterns at the margin"
    ax.vlines(law.margin, 0, law.at_margin, color=COLOURS["breaks"], linewidth=3, label=atom_label)
    _label(ax, "upper right", xlabel="stability / |w|", ylabel="density", ylim=(0, None))


def _draw_line(  # noqa: PLR0913 (two by keyword)
    ax: Any, x: pd.Series, y: pd.Series, label: str, *, colour: str, style: str = "-"
) -> None:
    """Draw one line; `colour` is a name of the palette, `style` matplotlib's."""
    ax.plot(x, y, color=COLOURS[colour], linestyle=style, label=label)


def _label(ax: Any, legend: str, **labels: Any) -> None:
    """Set names and limits of the axes, and where the legend stands."""
    ax.set(**labels)
    ax.legend(loc=legend, fontsize=9)


def _shade_exact(ax: Any, table: pd.DataFrame, label: str) -> None:
    """Shade the loads below that where replica symmetry becomes unstable, at each density.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns rho (the density) and replicon_alpha (the load where symmetry becomes unstable).
    label : what the shade means, for the legend.
    """
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
    """Mark the load 2ρ, up to which typical choices separate."""
    ax.axvline(2 * rho, color="0.6", linewidth=0.9, linestyle=":")
