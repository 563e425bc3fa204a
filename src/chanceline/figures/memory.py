"""Pictures of the associative memory: each function draws a result on given axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chanceline._lazy import lazy
from chanceline.figures.style import COLOURS, legend_below
from chanceline.memory import Cutting, LargestLoads, Retrieval, hebbian_capacity
from chanceline.memory.choices import CutOrder
from chanceline.theory.capacity import Capacity

__getattr__ = lazy(
    __name__, {}, moved={"draw_capacity": "chanceline.figures.memory:draw_largest_loads"}
)

# Okabe and Ito's colours, which people with any colour vision tell apart; markers say the same once
# more.
WIRING_STYLES = {
    "selected": {"color": COLOURS["rs"], "marker": "o"},
    "hebbian-selected": {"color": COLOURS["cover-gardner"], "marker": "s"},
    "random": {"color": COLOURS["soft"], "marker": "^"},
}

FADING = 0.7  # of the opacity, at most, from the lowest load to the highest


def draw_largest_loads(ax: Any, loads: Sequence[LargestLoads], theory: Sequence[Capacity]) -> None:
    """Draw the largest loads of an associative memory against the share ρ of inputs kept.

    The load is the number of stored patterns for each input. Points are the loads that half of the
    neurons hold; bars reach down to what all neurons hold.

    Parameters
    ----------
    ax : matplotlib axes.
    loads : results for several densities ρ and wirings (ways to choose the inputs of neurons).
    theory : the largest loads of the best choice of inputs, at ascending densities.
    """
    _draw_theory_lines(ax, theory)
    for wiring in WIRING_STYLES:  # the order of the legend
        points = [point for point in loads if point.wiring == wiring]
        if points:
            _draw_loads_of_wiring(ax, wiring, points)

    network_sizes = sorted({point.n_neurons for point in loads})
    sizes_in_words = ", ".join(str(n_neurons) for n_neurons in network_sizes)
    ax.set(
        xlabel="density ρ, the share of inputs kept",
        ylabel="load α, patterns held for each input",
        title=(
            f"Largest load of {sizes_in_words} neurons\n"
            "(half of the neurons hold it; bar: down to what all hold)"
        ),
        xlim=(0, None),
        ylim=(0, None),
    )
    ax.legend(loc="upper left", frameon=False)


def _draw_loads_of_wiring(ax: Any, wiring: str, points: Sequence[LargestLoads]) -> None:
    """Draw the largest loads of one wiring against the share ρ of inputs that neurons keep.

    Points are the loads (patterns for each input) that half of the neurons hold; bars reach down to
    what all neurons hold.

    Parameters
    ----------
    ax : matplotlib axes.
    wiring : how the inputs of neurons are chosen, a key of `WIRING_STYLES`.
    points : the loads at several densities ρ.
    """
    ascending = sorted(points, key=lambda point: point.rho)
    held_by_half = np.array([point.typical for point in ascending])
    held_by_all = np.array([point.network for point in ascending])
    # Lengths of the error bars below and above the points.
    length_below = held_by_half - held_by_all
    length_above = np.zeros_like(length_below)
    ax.errorbar(
        [point.rho for point in ascending],
        held_by_half,
        yerr=[length_below, length_above],
        ls="none",
        capsize=3,
        label=f"{wiring} inputs",
        **WIRING_STYLES[wiring],
    )


def _draw_theory_line(
    ax: Any, rhos: Sequence[float], loads: Sequence[float], *, name: str, linestyle: str
) -> None:
    """Draw a line of theory, with its name at its end."""
    ax.plot(rhos, loads, color="black", ls=linestyle)
    ax.annotate(name, (rhos[-1], loads[-1]), xytext=(4, -4), textcoords="offset points")


def _draw_theory_lines(ax: Any, best: Sequence[Capacity]) -> None:
    """Draw what the best, Hebb's and random choices of inputs hold, from the origin on."""
    rhos = [0.0, *(point.rho for point in best)]
    best_loads = [0.0, *(point.alpha for point in best)]
    hebbian_loads = [0.0, *(hebbian_capacity(point.rho) for point in best)]
    random_loads = [2 * rho for rho in rhos]  # two patterns for each input (Cover)
    _draw_theory_line(ax, rhos, best_loads, name=r"$\alpha_{VS}(\rho)$", linestyle="-")
    _draw_theory_line(ax, rhos, hebbian_loads, name="Hebb's choice", linestyle="-.")
    _draw_theory_line(ax, rhos, random_loads, name=r"$2\rho$", linestyle="--")


def draw_retrieval(ax: Any, curves: Mapping[tuple[str, float], Retrieval]) -> None:
    """Draw how well an associative memory recalls patterns, against the noise in the probe.

    A probe is a stored pattern with some bits flipped. Each line shows the overlap with the stored
    pattern after recall; darker lines are lower loads. A dotted line is the overlap of the probe
    itself.

    Parameters
    ----------
    ax : matplotlib axes.
    curves : (wiring, load) → the overlaps at several noises. The wiring says how the inputs of
        neurons are chosen; the load is the number of patterns for each input.
    """
    ascending_loads = sorted({load for _, load in curves})
    for (wiring, load), result in curves.items():
        # The opacity falls from 1 at the lowest load.
        share_of_lower_loads = ascending_loads.index(load) / len(ascending_loads)
        opacity = 1 - FADING * share_of_lower_loads
        ax.errorbar(
            result.noises,
            result.overlaps,
            yerr=result.errors,
            alpha=opacity,
            markersize=4,
            label=f"{wiring}, α = {load:g}",
            **WIRING_STYLES[wiring],
        )

    # Flipping a share f of the bits leaves the overlap 1 − 2f.
    largest_noise = max(result.noises.max() for result in curves.values())
    noises = np.array([0.0, largest_noise])
    ax.plot(noises, 1 - 2 * noises, color="black", ls=":", lw=1, label="the probe itself")
    ax.set(
        xlabel="share of flipped bits in the probe",
        ylabel="overlap after recall",
        title="Recall from noisy probes",
        ylim=(None, 1.03),
    )
    legend_below(ax)


def draw_cutting(ax: Any, curves: Mapping[str, Sequence[Cutting]]) -> None:
    """Draw the share of bits that a memory still holds against the share of its couplings cut.

    Parameters
    ----------
    ax : matplotlib axes.
    curves : for each wiring (how the inputs of neurons are chosen) a result for each order in which
        couplings are cut: the weakest first (solid lines), or at random (dotted).
    """
    for wiring, results in curves.items():
        for result in results:
            linestyle = ":"
            if result.how == CutOrder.WEAKEST:
                linestyle = "-"
            ax.plot(
                result.shares,
                result.bits,
                ls=linestyle,
                markersize=4,
                label=f"{wiring}, {result.how} cut",
                **WIRING_STYLES[wiring],
            )
    ax.set(
        xlabel="share of couplings cut after learning",
        ylabel="share of bits still held",
        title="Robustness against lost couplings",
    )
    legend_below(ax)
