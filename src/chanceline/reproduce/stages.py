"""The stages of `reproduce`, in their order; each writes figures and numbers into the folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline.experiments.figure_points import (
    QUICK_SWEEPS,
    SWEEPS,
    ScalingFigure,
    shipped_points,
    stored_points,
)
from chanceline.experiments.run import iter_run
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
from chanceline.reproduce.clusters import clusters
from chanceline.reproduce.folder import Folder, Mode
from chanceline.reproduce.memory import memory_capacity, memory_couplings, memory_stability
from chanceline.theory.break_point import replicon_line
from chanceline.theory.capacity import Capacity, capacity, capacity_curve, evenly_spaced
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.one_step import start_at
from chanceline.theory.rsb import RSBBranch, RSBState
from chanceline.theory.solve import solve
from chanceline.theory.symmetric import branch_table, solve_rs

PANEL_RHO = 0.5  # the density of the paper's panels
NUMBER_LOAD = 1.2  # at which the entropy is listed
NUMBER_RHOS = (0.1, 0.25, 0.5, 0.75, 0.9)  # densities whose capacity is listed
BALANCES = (0.5, 0.3, 0.1, 0.02)  # shares of positives
NUMBER_BALANCES = (0.3, 0.1)  # of these, those whose capacity is listed
BALANCE_RHO = 0.1  # at this density
LOAD_BEFORE_BREAKING = 0.06  # the drawn curve without breaking begins so far below it
LARGEST_ENTROPY_LOAD = 1.8  # and ends here, above the capacity
TASKS_BETWEEN_LINES = 200  # of progress
# What stands above figures of the quick mode.
NOTE_ON_SMALL_RUN = "from a small run made on the spot: large error bars"
NOTE_ON_BOTH_RUNS = (
    "hollow: the run that comes with the package; "
    "filled: a small run made on the spot, large error bars"
)
FIRST_LOG_CHI_STEP = 0.1  # of ln χ along the branch with breaking; later steps adapt
# The branch with breaking is followed down to this distance above the load where symmetry breaks;
# nearer to it the branch ends.
LOAD_ABOVE_BREAKING = 0.003
# How far ln χ lies below that of zero entropy at the one point beyond it.
LOG_CHI_BEYOND_ZERO_ENTROPY = 0.15


def panels(folder: Folder) -> None:
    """Draw the paper's four panels, the replica-symmetric solution against the load α at ρ = 0.5.

    They are the overlaps, the response, the entropy and the stability. Two numbers are added to the
    folder: the entropy at one load, and the load where symmetry breaks.
    """
    table = branch_table(PANEL_RHO, _resolution(folder, quick=60, fine=200))
    at_capacity = capacity(PANEL_RHO)
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    draw_overlaps(axes[0], table, PANEL_RHO)
    draw_response(axes[1], table, PANEL_RHO)
    draw_entropy(axes[2], table, PANEL_RHO, at_capacity.alpha)
    draw_stability(axes[3], table, PANEL_RHO, at_capacity.replicon_alpha)
    for letter, ax in zip("abcd", axes, strict=True):
        ax.set_title(f"({letter})", loc="left")
    folder.save("panels", figure, table)
    _note_panel_numbers(folder, at_capacity)


def _note_panel_numbers(folder: Folder, at_capacity: Capacity) -> None:
    """Add two numbers at the density ρ = 0.5 to the folder.

    They are the entropy at one load, and the load where replica symmetry breaks. The second one
    comes from `at_capacity`: None if symmetry does not break, which is written as NaN.
    """
    point = solve(NUMBER_LOAD, PANEL_RHO)
    folder.add_number(
        f"entropy at alpha={NUMBER_LOAD:g}, rho={PANEL_RHO:g}",
        point.entropy,
        error=point.quadrature_error,
        source="RS",
        paper="Fig. (c)",
    )
    folder.add_number(
        f"load where symmetry between supports breaks at rho={PANEL_RHO:g}",
        at_capacity.replicon_alpha or float("nan"),
        source="RS",
    )


def _resolution(folder: Folder, *, quick: int, fine: int) -> int:
    """The number of points of a curve: `quick` in the quick mode, `fine` in the others."""
    if folder.mode == Mode.QUICK:
        return quick
    return fine


def capacity_diagram(folder: Folder) -> None:
    """Draw the capacity α_VS against the density ρ, with all bounds and lines in closed form.

    The capacity is the largest load (patterns per variable) at which some choice of ρN of the N
    variables separates random patterns. At a few densities it is added to the folder's numbers, to
    be compared with the paper's figure.
    """
    rhos = evenly_spaced(_resolution(folder, quick=49, fine=199))
    table = capacity_curve(rhos, replicon=True).to_frame()
    folder.draw("capacity", table, lambda ax: draw_capacity(ax, table))
    for rho in NUMBER_RHOS:
        at_capacity = capacity(rho)
        folder.add_number(
            f"capacity at rho={rho:g}",
            at_capacity.alpha,
            error=at_capacity.error,
            source="RS",
            paper="capacity figure, solid blue line",
        )


def unequal_classes(folder: Folder) -> None:
    """Draw the capacity α_VS against the density ρ for 50, 30, 10 and 2 per cent positive patterns.

    At one density, the capacity for some of these shares is added to the folder's numbers.
    """
    rhos = np.geomspace(0.001, 0.95, _resolution(folder, quick=20, fine=60)).tolist()
    curves = []
    for balance in BALANCES:
        curve = capacity_curve(rhos, balance=balance).to_frame()
        curves.append(curve.assign(balance=balance))
    table = pd.concat(curves, ignore_index=True)
    folder.draw("unequal_classes", table, lambda ax: draw_balances(ax, table))
    for balance in NUMBER_BALANCES:
        at_capacity = capacity(BALANCE_RHO, balance=balance)
        folder.add_number(
            f"capacity at rho={BALANCE_RHO:g}, balance {balance:g}",
            at_capacity.alpha,
            error=at_capacity.error,
            source="RS",
        )


def entropy_with_breaking(folder: Folder) -> None:
    """Draw the entropy of separating choices against the load at ρ = 0.5, by two approximations.

    In one of them all choices of variables that separate the classes are alike (replica symmetry,
    "rs"). In the other they fall into groups from some load on (one step of replica symmetry
    breaking, "1rsb"). A second panel shows two parameters of the latter, the break point x and the
    price K of a variable: they stay finite at the load where the entropy vanishes.
    """
    critical_load = replicon_line(PANEL_RHO).state.alpha  # where symmetry breaks
    broken_solutions = _broken_branch(critical_load)

    # The symmetric solutions, from a little below this load to beyond the capacity.
    n_loads = _resolution(folder, quick=16, fine=40)
    first_load = critical_load - LOAD_BEFORE_BREAKING
    loads = np.linspace(first_load, LARGEST_ENTROPY_LOAD, n_loads).tolist()
    entropies = [solve_rs(load, PANEL_RHO).entropy for load in loads]
    symmetric_solutions = pd.DataFrame({"alpha": loads, "entropy": entropies})

    # The table has the solutions of both approximations, marked by the column `ansatz`.
    symmetric_part = symmetric_solutions.assign(ansatz="rs")
    broken_part = broken_solutions.assign(ansatz="1rsb")
    table = pd.concat([symmetric_part, broken_part])
    folder.draw(
        "entropy_breaking",
        table,
        lambda ax: draw_entropies(ax, symmetric_solutions, broken_solutions, critical_load),
        lambda ax: draw_break_point(ax, broken_solutions),
        size=(11, 4.4),
    )


def _broken_branch(critical_load: float) -> pd.DataFrame:
    """The solutions with one step of replica symmetry breaking at ρ = 0.5, by ascending load.

    Parameters
    ----------
    critical_load : the load where symmetry breaks.

    Returns
    -------
    DataFrame
        One row for each solution: alpha (the load), entropy, x (the break point of the step), K
        (the price of a variable), p1 and p0 (the overlaps of two choices of variables in the same
        group of choices and in different groups).
    """
    rows = []
    for state in _broken_states(critical_load):
        parameters = state.order
        row = {
            "alpha": state.alpha,
            "entropy": state.entropy,
            "x": parameters.x[0],
            "K": parameters.K,
            "p1": parameters.p[1],
            "p0": parameters.p[0],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _broken_states(critical_load: float) -> list[RSBState]:
    """Solve the theory with one step of symmetry breaking at several loads, in ascending order.

    The loads go from just above `critical_load`, where symmetry breaks, to a little beyond the load
    where the entropy is zero. The equations are solved at chosen values of ln χ, not of the load;
    χ, the response of the weights, falls as the load grows.
    """
    # Start at the solution of zero entropy, and go to smaller loads by raising ln χ in steps.
    branch = RSBBranch(PANEL_RHO)
    zero_entropy = branch.at_zero_entropy(start_at(PANEL_RHO))

    def is_near_breaking(state: RSBState) -> bool:
        return state.alpha < critical_load + LOAD_ABOVE_BREAKING

    solutions = branch.follow(zero_entropy, step=FIRST_LOG_CHI_STEP, until=is_near_breaking)
    states = [solution.state for solution in solutions]  # the first is that of zero entropy
    states.reverse()  # now by ascending load

    # Add one state at a larger load, that is at a smaller χ.
    log_chi = float(zero_entropy.unknowns[0])  # ln χ is the first unknown of every solution
    log_chi_beyond = log_chi - LOG_CHI_BEYOND_ZERO_ENTROPY
    beyond_zero_entropy = branch.at_chi(log_chi_beyond, start=zero_entropy.unknowns)
    states.append(beyond_zero_entropy.state)
    return states


def capacity_with_breaking(folder: Folder) -> None:
    """Draw the capacity against the density ρ with and without replica symmetry breaking.

    A second panel shows by how much each approximation differs from infinitely many steps of
    breaking. The capacities come from a table in the package; at a few densities they are added to
    the folder's numbers.
    """
    rows = capacity_table()
    table = pd.DataFrame.from_records(rows)
    folder.draw(
        "capacity_breaking",
        table,
        lambda ax: draw_diagram(ax, table),
        lambda ax: draw_corrections(ax, table),
        size=(12, 5),
    )
    for row in rows:
        if row.rho in NUMBER_RHOS:
            _note_capacities(folder, row)


def _note_capacities(folder: Folder, row: Any) -> None:
    """Add two capacities at one density to the folder's numbers.

    They are those with one and with infinitely many steps of replica symmetry breaking. `row` is a
    row of `capacity_table`.
    """
    folder.add_number(
        f"capacity at rho={row.rho:g}, one step of breaking",
        row.alpha_1rsb,
        error=row.error_1rsb,
        source="1RSB",
    )
    folder.add_number(
        f"capacity at rho={row.rho:g}, full breaking",
        row.alpha_full,
        error=row.error_full,
        source="limit of 1, 2, 3 steps",
    )


def finite_size_figures(folder: Folder, sweeps: Mapping[str, Sequence[str]] | None = None) -> None:
    """Draw the figures of numerical experiments on problems of finite size.

    They are the paper's finite-size figure, the same with the best search, and extrapolations to
    infinite size beside theory. Each is drawn from sweeps, which are lists of tasks to run.

    Parameters
    ----------
    folder : takes the figures and their data; its mode says which sweeps are run.
    sweeps : figure → names of its sweeps; None for the built-in ones.
    """
    is_quick = folder.mode == Mode.QUICK
    if sweeps is None and is_quick:
        sweeps = QUICK_SWEEPS
    elif sweeps is None:
        sweeps = SWEEPS

    for figure, sweep_names in sweeps.items():
        points = _finite_size_points(folder, figure, sweep_names)

        # In the quick mode a note above the figure says that the run was small. The paper's figure
        # then also shows the points of the full run that comes with the package.
        if not is_quick:
            note = ""
        elif figure == ScalingFigure.PAPER_FIG3:
            points = with_shipped_run(points)
            note = NOTE_ON_BOTH_RUNS
        else:
            note = NOTE_ON_SMALL_RUN

        picture, table = draw_figure(figure, points)
        if note:
            picture.suptitle(note, fontsize=9)
        # The prefix keeps these files apart from those of theory, which has figures of capacity and
        # entropy too.
        folder.save(f"experiments-{figure}", picture, table)


def with_shipped_run(points: pd.DataFrame) -> pd.DataFrame:
    """The points of the paper's figure from a run made here, and behind them those shipped.

    The column `shipped` tells them apart.
    """
    shipped = shipped_points(ScalingFigure.PAPER_FIG3)
    return pd.concat([points.assign(shipped=False), shipped.assign(shipped=True)])


def _finite_size_points(folder: Folder, figure: str, sweeps: Sequence[str]) -> pd.DataFrame:
    """The points of a figure of experiments.

    In the normal mode they come from results in the package. In the other modes the sweeps (lists
    of tasks) are run here, as far as the store in the folder does not have their results yet.
    """
    if folder.mode == Mode.NORMAL:
        folder.say(
            f"{figure}: drawn from the run that comes with the package "
            "(the full mode computes it again)"
        )
        return shipped_points(figure)
    store = folder.path / "experiments.sqlite"
    if folder.mode == Mode.QUICK:
        store = folder.path / "experiments-quick.sqlite"
    for name in sweeps:
        _run_sweep(folder, store, name)
    return stored_points(figure, store, sweeps)


def _run_sweep(folder: Folder, store: Path, name: str) -> None:
    """Run those tasks of a sweep whose results the store does not have yet, and report progress.

    Parameters
    ----------
    folder : `folder.say` prints a line about the progress; `folder.mode` says whether this is a
        quick run, which the first line mentions.
    store : the file that results are saved in.
    name : the name of a built-in sweep, or the path of a file that describes one.
    """
    sweep = load_sweep(name)
    with Store(store, write=True) as results:
        ids_in_sweep = {task.id for task in sweep.tasks}
        n_missing = len(ids_in_sweep - results.finished())
        first_line = f"{sweep}; {n_missing} to run"
        if folder.mode == Mode.QUICK:
            first_line += ", a small run made on the spot"
        folder.say(first_line)

        # `iter_run` runs the missing tasks and yields a record when one is finished and saved.
        records = iter_run(sweep.tasks, n_jobs=-1, store=results, batch=sweep.batch)
        for n_done, _ in enumerate(records, 1):
            if n_done % TASKS_BETWEEN_LINES == 0:
                folder.say(f"{name}: {n_done} of {n_missing}")


STAGES: tuple[Callable[[Folder], None], ...] = (
    clusters,
    panels,
    capacity_diagram,
    unequal_classes,
    entropy_with_breaking,
    capacity_with_breaking,
    finite_size_figures,
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
