"""The paper's second reading, measured: an associative memory whose neurons choose their inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from chanceline.figures.memory import draw_cutting, draw_largest_loads, draw_retrieval
from chanceline.memory import (
    AssociativeMemory,
    Cutting,
    Retrieval,
    StorageReport,
    cutting,
    hebbian_capacity,
    load_curve,
    random_patterns,
    retrieval,
)
from chanceline.memory.choices import CutOrder, Wiring
from chanceline.reproduce.folder import Folder, Mode
from chanceline.theory.capacity import capacity, capacity_curve

SEED = 1
KEPT_SHARE = 0.25  # of the inputs, where recall and cutting are measured
# What so many random inputs hold (Cover); above, not all wirings have something to recall.
LOAD_OF_RANDOM_INPUTS = 2 * KEPT_SHARE
PROBE_NOISES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
CUT_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# One of all `recall_loads`, where all wirings hold their patterns before couplings are cut.
CUTTING_LOAD = 0.3
MINIMAL_LOAD = 0.4  # where couplings for each bit are counted


@dataclass(frozen=True)
class MemorySize:
    """How large the networks of a mode are, and what is measured on them.

    Attributes
    ----------
    n_neurons : of each network.
    n_measured : neurons whose largest load is measured.
    budget : of the search, in swaps a neuron.
    rhos : shares of inputs at which the largest load is measured.
    recall_loads : loads at which recall is measured.
    n_jobs : processes, as in joblib.
    """

    n_neurons: int
    n_measured: int
    budget: int
    rhos: tuple[float, ...]
    recall_loads: tuple[float, ...]
    n_jobs: int


MEMORY_SIZES = {
    # Seconds.
    Mode.QUICK: MemorySize(
        n_neurons=40,
        n_measured=10,
        budget=200,
        rhos=(0.1, 0.25, 0.5),
        recall_loads=(0.1, 0.3),
        n_jobs=1,
    ),
    # A minute.
    Mode.NORMAL: MemorySize(
        n_neurons=80,
        n_measured=20,
        budget=600,
        rhos=(0.05, 0.1, 0.2, 0.3, 0.5),
        recall_loads=(0.1, 0.3, 0.8),
        n_jobs=1,
    ),
    # A quarter of an hour of one core.
    Mode.FULL: MemorySize(
        n_neurons=150,
        n_measured=30,
        budget=2000,
        rhos=(0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7),
        recall_loads=(0.1, 0.2, 0.3, 0.4, 0.8),
        n_jobs=-1,
    ),
}


def memory_capacity(folder: Folder) -> None:
    """Draw the largest load that neurons hold against their share of inputs, for the three wirings.

    Beside it are lines of theory: 2ρ (random inputs), α_VS(ρ) (the best inputs) and the load of
    Hebb's choice, ρ being the share of inputs kept. The mode of the folder sets sizes and effort.
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    loads = load_curve(
        settings.n_neurons,
        settings.rhos,
        seed=SEED,
        budget=settings.budget,
        neurons=settings.n_measured,  # of all n_neurons, the first few
        n_jobs=settings.n_jobs,
    )

    # What is measured, and what theory says at the same densities.
    table = pd.DataFrame([result.to_dict() for result in loads])
    table["cover_gardner"] = 2 * table["rho"]
    table["alpha_vs"] = [capacity(rho).alpha for rho in table["rho"]]
    table["hebbian"] = table["rho"].map(hebbian_capacity)

    # Lines of theory, from near the origin to a little beyond the last point.
    theory = capacity_curve(np.linspace(0.01, max(settings.rhos) + 0.03, 40))
    folder.draw("memory_capacity", table, lambda ax: draw_largest_loads(ax, loads, theory.points))


def memory_stability(folder: Folder) -> None:
    """Draw recall from noisy probes, and storage after couplings are cut, for the three wirings.

    At each load a network of each wiring stores the same random patterns. The table beside the
    figure has all that was measured.
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    recalls: dict[tuple[str, float], Retrieval] = {}
    cuts: dict[str, list[Cutting]] = {}
    rows: list[dict[str, Any]] = []
    for load in settings.recall_loads:
        patterns = random_patterns(settings.n_neurons, load, seed=SEED)
        for wiring in Wiring:
            memory = AssociativeMemory(
                settings.n_neurons, KEPT_SHARE, wiring, seed=SEED, budget=settings.budget
            )
            report = memory.store(patterns, n_jobs=settings.n_jobs)
            shared_columns = _network_columns(wiring, load, report)

            recall = retrieval(memory, patterns, PROBE_NOISES, seed=SEED)
            rows += _recall_rows(shared_columns, recall)
            every_wiring_holds_it = load < LOAD_OF_RANDOM_INPUTS
            if every_wiring_holds_it:
                recalls[wiring, load] = recall

            if load == CUTTING_LOAD:
                cuts[wiring] = [
                    cutting(memory, patterns, shares=CUT_SHARES, how=order, seed=SEED)
                    for order in CutOrder
                ]
                for result in cuts[wiring]:
                    rows += _cutting_rows(shared_columns, result)
    folder.draw(
        "memory_stability",
        pd.DataFrame(rows),
        lambda ax: draw_retrieval(ax, recalls),
        lambda ax: draw_cutting(ax, cuts),
        size=(10, 5.6),
    )


def _network_columns(wiring: str, load: float, report: StorageReport) -> dict[str, Any]:
    """The columns that all rows of one network share: wiring, load, and how stable its neurons are.

    `alpha_vs_at_kappa` is the load that the best choice of inputs could hold at the median
    stability of its neurons; NaN where that is not positive.
    """
    median_stability = float(np.median(report.stabilities))
    # What the best choice of inputs could hold at this stability.
    reachable_load = np.nan
    if median_stability > 0:
        reachable_load = capacity(KEPT_SHARE, margin=median_stability).alpha
    return {
        "wiring": str(wiring),
        "load": load,
        "unsolved": report.unsolved.size,
        "kappa_min": report.stabilities.min(),
        "kappa_median": median_stability,
        "alpha_vs_at_kappa": reachable_load,
    }


def _recall_rows(shared_columns: dict[str, Any], recall: Retrieval) -> list[dict[str, Any]]:
    """One row of the table for each noise; all have the columns of the network."""
    rows = []
    for share, value, error in zip(recall.noises, recall.overlaps, recall.errors, strict=True):
        measured = {"share": share, "value": value, "error": error}
        rows.append({"measured": "overlap after recall", **shared_columns, **measured})
    return rows


def _cutting_rows(shared_columns: dict[str, Any], result: Cutting) -> list[dict[str, Any]]:
    """One row of the table for each share of couplings cut, with the network's columns."""
    rows = []
    for share, value in zip(result.shares, result.bits, strict=True):
        measured = {"share": share, "value": value}
        rows.append({"measured": f"bits held, {result.how} cut", **shared_columns, **measured})
    return rows


def memory_couplings(folder: Folder) -> None:
    """Note how many couplings a stored bit takes when every neuron keeps as few inputs as will do.

    It is measured on one network for each wiring. Dense couplings need 1/2 at best.
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    patterns = random_patterns(settings.n_neurons, MINIMAL_LOAD, seed=SEED)
    for wiring in Wiring:
        memory = AssociativeMemory(
            settings.n_neurons, fan_in="minimal", wiring=wiring, seed=SEED, budget=settings.budget
        )
        report = memory.store(patterns, n_jobs=settings.n_jobs)
        folder.number(
            f"couplings for a stored bit at load {MINIMAL_LOAD:g}, {settings.n_neurons} neurons, "
            f"{wiring} inputs",
            report.couplings_per_bit,
            source="measured on one network; Gardner's dense limit is 0.5",
        )
