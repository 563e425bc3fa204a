"""Pictures of the associative memory: each function draws a result on a given ax and computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chanceline.figures.style import COLOURS, legend_below
from chanceline.memory import Cutting, LargestLoads, Retrieval, hebbian_capacity
from chanceline.theory.capacity import Capacity

# Okabe and Ito's colours, which people with any colour vision tell apart; markers say the same once more.
STYLES = {
    "selected": {"color": COLOURS["rs"], "marker": "o"},
    "hebbian-selected": {"color": COLOURS["cover-gardner"], "marker": "s"},
    "random": {"color": COLOURS["soft"], "marker": "^"},
}


def draw_capacity(ax: Any, loads: Sequence[LargestLoads], theory: Sequence[Capacity]) -> None:
    """Largest load against fan-in for each wiring, beside 2ρ, α_VS(ρ) and what Hebb's choice holds for N → ∞ at the same ρ.

    Bars reach down to what all neurons hold.
    """
    rhos = [0, *(point.rho for point in theory)]
    for loads_held, name, line in (
        ([0, *(point.alpha for point in theory)], r"$\alpha_{VS}(\rho)$", "-"),
        ([0, *(hebbian_capacity(point.rho) for point in theory)], "Hebb's choice", "-."),
        ([2 * rho for rho in rhos], r"$2\rho$", "--"),
    ):
        ax.plot(rhos, loads_held, color="black", ls=line)
        ax.annotate(name, (rhos[-1], loads_held[-1]), xytext=(4, -4), textcoords="offset points")
    for wiring, style in STYLES.items():
        points = sorted(
            (point for point in loads if point.wiring == wiring), key=lambda point: point.rho
        )
        if points:
            typical = np.array([point.typical for point in points])
            below = typical - [point.network for point in points]
            ax.errorbar(
                [point.rho for point in points],
                typical,
                yerr=[below, np.zeros_like(below)],
                ls="none",
                capsize=3,
                label=f"{wiring} inputs",
                **style,
            )
    sizes = ", ".join(map(str, sorted({point.n_neurons for point in loads})))
    ax.set(
        xlabel="density ρ, the share of inputs kept",
        ylabel="load α, patterns held for each input",
        title=f"Largest load of {sizes} neurons\n(half of the neurons hold it; bar: down to what all hold)",
        xlim=(0, None),
        ylim=(0, None),
    )
    ax.legend(loc="upper left", frameon=False)


def draw_retrieval(ax: Any, curves: Mapping[tuple[str, float], Retrieval]) -> None:
    """Overlap after recall against noise in the probe, for (wiring, load); darker lines are lower loads."""
    loads = sorted({load for _, load in curves})
    for (wiring, load), result in curves.items():
        ax.errorbar(
            result.noises,
            result.overlaps,
            yerr=result.errors,
            alpha=1 - 0.7 * loads.index(load) / len(loads),
            markersize=4,
            label=f"{wiring}, α = {load:g}",
            **STYLES[wiring],
        )
    noises = np.linspace(0, max(result.noises.max() for result in curves.values()), 2)
    ax.plot(noises, 1 - 2 * noises, color="black", ls=":", lw=1, label="the probe itself")
    ax.set(
        xlabel="share of flipped bits in the probe",
        ylabel="overlap after recall",
        title="Recall from noisy probes",
        ylim=(None, 1.03),
    )
    legend_below(ax)


def draw_cutting(ax: Any, curves: Mapping[str, Sequence[Cutting]]) -> None:
    """Share of bits that keep their sign against the share of couplings cut, for each wiring and way of cutting."""
    for wiring, results in curves.items():
        for result in results:
            ax.plot(
                result.shares,
                result.bits,
                ls="-" if result.how == "weakest" else ":",
                markersize=4,
                label=f"{wiring}, {result.how} cut",
                **STYLES[wiring],
            )
    ax.set(
        xlabel="share of couplings cut after learning",
        ylabel="share of bits still held",
        title="Robustness against lost couplings",
    )
    legend_below(ax)
