"""The stages of `reproduce`, in their order. A stage is a function of the folder; it says what it draws and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline.experiments.run import iter_run
from chanceline.experiments.scaling import QUICK_SWEEPS, SWEEPS, shipped_points, stored_points
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import load_sweep
from chanceline.figures.experiments import draw_figure
from chanceline.figures.style import figure_style
from chanceline.figures.theory import (
    draw_balances,
    draw_break_point,
    draw_capacity,
    draw_corrections,
    draw_diagram,
    draw_entropies,
    draw_entropy,
    draw_overlaps,
    draw_response,
    draw_stability,
)
from chanceline.reproduce.folder import Folder
from chanceline.reproduce.memory import memory_capacity, memory_couplings, memory_stability
from chanceline.theory.capacity import capacity, capacity_curve, evenly_spaced
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.one_step import replicon_line, start_at
from chanceline.theory.rsb import RSBBranch
from chanceline.theory.solve import solve
from chanceline.theory.symmetric import branch_table, solve_rs

RHO = 0.5
RHOS = (0.1, 0.25, 0.5, 0.75, 0.9)
TELL_EVERY = 200  # tasks between two lines of progress


def panels(folder: Folder) -> None:
    """q₁ and q₀, χ, Σ and both stability conditions against α at ρ = 0.5."""
    table = branch_table(RHO, 60 if folder.mode == "quick" else 200)
    end = capacity(RHO)
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    axes = figure.subplots(2, 2).flat
    draw_overlaps(axes[0], table, RHO)
    draw_response(axes[1], table, RHO)
    draw_entropy(axes[2], table, RHO, end.alpha)
    draw_stability(axes[3], table, RHO, end.replicon_alpha)
    for letter, ax in zip("abcd", axes, strict=True):
        ax.set_title(f"({letter})", loc="left")
    folder.save("panels", figure, table)
    point = solve(1.2, RHO)
    folder.number(
        "entropy at alpha=1.2, rho=0.5", point.entropy, point.quadrature_error, "RS", "Fig. (c)"
    )
    folder.number(
        "load where symmetry between supports breaks at rho=0.5",
        end.replicon_alpha or float("nan"),
        None,
        "RS",
    )


def capacity_diagram(folder: Folder) -> None:
    """α_VS(ρ) with every closed-form curve."""
    table = capacity_curve(
        evenly_spaced(49 if folder.mode == "quick" else 199), replicon=True
    ).to_frame()
    folder.draw("capacity", table, lambda ax: draw_capacity(ax, table))
    for rho in RHOS:
        end = capacity(rho)
        folder.number(
            f"capacity at rho={rho:g}",
            end.alpha,
            end.error,
            "RS",
            "capacity figure, solid blue line",
        )


def unequal_classes(folder: Folder) -> None:
    """α_VS(ρ) for 50, 30, 10 and 2 per cent positives."""
    rhos = [float(rho) for rho in np.geomspace(0.001, 0.95, 20 if folder.mode == "quick" else 60)]
    parts = [
        capacity_curve(rhos, balance=balance).to_frame().assign(balance=balance)
        for balance in (0.5, 0.3, 0.1, 0.02)
    ]
    table = pd.concat(parts, ignore_index=True)
    folder.draw("unequal_classes", table, lambda ax: draw_balances(ax, table))
    for balance in (0.3, 0.1):
        end = capacity(0.1, balance=balance)
        folder.number(f"capacity at rho=0.1, balance {balance:g}", end.alpha, end.error, "RS")


def entropy_with_breaking(folder: Folder) -> None:
    """Σ(α) replica symmetric and with one step at ρ = 0.5, and how x and K go to their finite ends."""
    critical = replicon_line(RHO).state
    one_step = RSBBranch(RHO)
    end = one_step.at_zero_entropy(start_at(RHO))
    branch = [
        point.state
        for point in one_step.follow(end, 0.1, lambda state: state.alpha < critical.alpha + 0.003)
    ]
    beyond = one_step.at_chi(float(end.unknowns[0]) - 0.15, end.unknowns).state
    broken = pd.DataFrame(
        {
            "alpha": s.alpha,
            "entropy": s.entropy,
            "x": s.order.x[0],
            "K": s.order.K,
            "p1": s.order.p[1],
            "p0": s.order.p[0],
        }
        for s in [*reversed(branch), beyond]
    )
    loads = np.linspace(critical.alpha - 0.06, 1.8, 16 if folder.mode == "quick" else 40)
    symmetric = pd.DataFrame(
        {"alpha": alpha, "entropy": solve_rs(float(alpha), RHO).entropy} for alpha in loads
    )
    table = pd.concat([symmetric.assign(ansatz="rs"), broken.assign(ansatz="1rsb")])
    panels = (
        lambda ax: draw_entropies(ax, symmetric, broken, critical.alpha),
        lambda ax: draw_break_point(ax, broken),
    )
    folder.draw("entropy_breaking", table, *panels, size=(11, 4.4))


def capacity_with_breaking(folder: Folder) -> None:
    """The capacity diagram with and without breaking, from the shipped table."""
    table = pd.DataFrame.from_records(capacity_table())
    panels = (lambda ax: draw_diagram(ax, table), lambda ax: draw_corrections(ax, table))
    folder.draw("capacity_breaking", table, *panels, size=(12, 5))
    for row in capacity_table():
        if row.rho in RHOS:
            folder.number(
                f"capacity at rho={row.rho:g}, one step of breaking",
                row.alpha_1rsb,
                row.error_1rsb,
                "1RSB",
            )
            folder.number(
                f"capacity at rho={row.rho:g}, full breaking",
                row.alpha_full,
                row.error_full,
                "limit of 1, 2, 3 steps",
            )


def finite_size(folder: Folder) -> None:
    """The paper's finite-size figure, the same with the best search, and the limits N → ∞ of entropy and capacity beside theory.

    The quick mode makes small runs on the spot, the full mode runs or resumes all sweeps in a store inside the folder, and the
    normal mode draws the run that comes with the package.
    """
    quick = folder.mode == "quick"
    plan: Mapping[str, Sequence[str]] = QUICK_SWEEPS if quick else SWEEPS
    store = folder.path / ("experiments-quick.sqlite" if quick else "experiments.sqlite")
    for figure, names in plan.items():
        if folder.mode != "normal":
            for name in names:
                _run(folder, store, name)
            points = stored_points(figure, store, names)
        else:
            folder.say(
                f"{figure}: drawn from the run that comes with the package (the full mode computes it again)"
            )
            points = shipped_points(figure)
        picture, table = draw_figure(figure, points)
        if quick:
            picture.suptitle("from a small run made on the spot: large error bars", fontsize=9)
        # A name of its own: the theory has figures of capacity and entropy too.
        folder.save(f"experiments-{figure}", picture, table)


def _run(folder: Folder, store: Path, name: str) -> None:
    sweep = load_sweep(name)
    with Store(store, write=True) as results:
        missing = len({task.id for task in sweep.tasks} - results.finished())
        folder.say(
            f"{sweep}; {missing} to run"
            + (", a small run made on the spot" if folder.mode == "quick" else "")
        )
        for count, _ in enumerate(
            iter_run(sweep.tasks, n_jobs=-1, store=results, batch=sweep.batch), 1
        ):
            if count % TELL_EVERY == 0:
                folder.say(f"{name}: {count} of {missing}")


STAGES: tuple[Callable[[Folder], None], ...] = (
    panels,
    capacity_diagram,
    unequal_classes,
    entropy_with_breaking,
    capacity_with_breaking,
    finite_size,
    memory_capacity,
    memory_stability,
    memory_couplings,
)


def run_all(folder: Folder) -> None:
    """Every stage in turn, then numbers.csv and provenance.json."""
    with figure_style():
        for stage in STAGES:
            stage(folder)
    folder.finish()
