"""The paper's second reading, measured: an associative memory whose neurons choose their inputs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from chanceline.figures.memory import draw_capacity, draw_cutting, draw_retrieval
from chanceline.memory import (
    AssociativeMemory,
    Cutting,
    Retrieval,
    cutting,
    hebbian_capacity,
    load_curve,
    random_patterns,
    retrieval,
)
from chanceline.memory.choices import Wiring
from chanceline.reproduce.folder import Folder
from chanceline.theory.capacity import capacity, capacity_curve

RHO = 0.25
NOISES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
CUTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


# Seconds, a minute, or a quarter of an hour of one core.
SIZES = {
    "quick": SimpleNamespace(
        neurons=40, measured=10, budget=200, rhos=(0.1, 0.25, 0.5), loads=(0.1, 0.3), jobs=1
    ),
    "normal": SimpleNamespace(
        neurons=80,
        measured=20,
        budget=600,
        rhos=(0.05, 0.1, 0.2, 0.3, 0.5),
        loads=(0.1, 0.3, 0.8),
        jobs=1,
    ),
    "full": SimpleNamespace(
        neurons=150,
        measured=30,
        budget=2000,
        rhos=(0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7),
        loads=(0.1, 0.2, 0.3, 0.4, 0.8),
        jobs=-1,
    ),
}


def memory_capacity(folder: Folder) -> None:
    """Largest load against fan-in for the three wirings, beside 2ρ, α_VS(ρ) and the curve of Hebb's choice."""
    size = SIZES[folder.mode]
    loads = load_curve(
        size.neurons, size.rhos, seed=1, budget=size.budget, neurons=size.measured, n_jobs=size.jobs
    )
    table = pd.DataFrame([result.to_dict() for result in loads])
    lines = {
        "alpha_vs": [capacity(rho).alpha for rho in table["rho"]],
        "hebbian": table["rho"].map(hebbian_capacity),
    }
    table = table.assign(cover_gardner=2 * table["rho"], **lines)
    theory = capacity_curve(np.linspace(0.01, max(size.rhos) + 0.03, 40))
    folder.draw("memory_capacity", table, lambda ax: draw_capacity(ax, loads, theory.points))


def memory_stability(folder: Folder) -> None:
    """Recall from noisy probes, and storage after couplings were cut, with a quarter of the couplings."""
    size = SIZES[folder.mode]
    recalls: dict[tuple[str, float], Retrieval] = {}
    cuts: dict[str, list[Cutting]] = {}
    rows: list[dict[str, object]] = []
    for load in size.loads:
        patterns = random_patterns(size.neurons, load, seed=1)
        for wiring in Wiring:
            memory = AssociativeMemory(size.neurons, RHO, wiring, seed=1, budget=size.budget)
            report = memory.store(patterns, n_jobs=size.jobs)
            found = retrieval(memory, patterns, NOISES, seed=1)
            typical = float(np.median(report.stabilities))
            about = {
                "wiring": wiring,
                "load": load,
                "unsolved": report.unsolved.size,
                "kappa_min": report.stabilities.min(),
                "kappa_median": typical,
                # What the best choice of inputs could hold at this stability.
                "alpha_vs_at_kappa": capacity(RHO, margin=typical).alpha if typical > 0 else np.nan,
            }
            rows += [
                {
                    "measured": "overlap after recall",
                    **about,
                    "share": share,
                    "value": value,
                    "error": error,
                }
                for share, value, error in zip(
                    found.noises, found.overlaps, found.errors, strict=True
                )
            ]
            if load < 2 * RHO:
                recalls[wiring, load] = found
            if load == 0.3:
                cuts[wiring] = [
                    cutting(memory, patterns, CUTS, how, seed=1) for how in ("random", "weakest")
                ]
                rows += [
                    {
                        "measured": f"bits held, {result.how} cut",
                        **about,
                        "share": share,
                        "value": value,
                    }
                    for result in cuts[wiring]
                    for share, value in zip(result.shares, result.bits, strict=True)
                ]
    panels = (lambda ax: draw_retrieval(ax, recalls), lambda ax: draw_cutting(ax, cuts))
    folder.draw("memory_stability", pd.DataFrame(rows), *panels, size=(10, 5.6))


def memory_couplings(folder: Folder) -> None:
    """Couplings for each stored bit when every neuron keeps as few inputs as will do; dense couplings need 1/2 at best."""
    size = SIZES[folder.mode]
    load = 0.4
    patterns = random_patterns(size.neurons, load, seed=1)
    for wiring in Wiring:
        report = AssociativeMemory(
            size.neurons, "minimal", wiring, seed=1, budget=size.budget
        ).store(patterns, n_jobs=size.jobs)
        folder.number(
            f"couplings for a stored bit at load {load:g}, {size.neurons} neurons, {wiring} inputs",
            report.couplings_per_bit,
            None,
            "measured on one network; Gardner's dense limit is 0.5",
        )
