"""What comes after the paper's replica-symmetric solution: breaking between supports."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from chanceline.figures.theory import draw_break_point, draw_corrections, draw_diagram, draw_entropies
from chanceline.reproduce.folder import Folder
from chanceline.theory.closed_forms import capacity_table
from chanceline.theory.rsb import RSBBranch
from chanceline.theory.solve import replicon_line, start_at
from chanceline.theory.symmetric import solve_rs

RHO = 0.5


def entropy_with_breaking(folder: Folder) -> None:
    """Σ(α) replica symmetric and with one step at ρ = 0.5, and how x and K go to their finite ends."""
    critical = replicon_line(RHO).state
    one_step = RSBBranch(RHO)
    end = one_step.at_zero_entropy(start_at(RHO))
    branch = [point.state for point in one_step.follow(end, 0.1, lambda state: state.alpha < critical.alpha + 0.003)]
    beyond = one_step.at_chi(float(end.unknowns[0]) - 0.15, end.unknowns).state
    broken = pd.DataFrame(
        {"alpha": s.alpha, "entropy": s.entropy, "x": s.order.x[0], "K": s.order.K, "p1": s.order.p[1], "p0": s.order.p[0]}
        for s in [*reversed(branch), beyond]
    )
    loads = np.linspace(critical.alpha - 0.06, 1.8, 16 if folder.quick else 40)
    symmetric = pd.DataFrame({"alpha": alpha, "entropy": solve_rs(float(alpha), RHO).entropy} for alpha in loads)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    draw_entropies(axes[0], symmetric, broken, critical.alpha)
    draw_break_point(axes[1], broken)
    table = pd.concat([symmetric.assign(ansatz="rs"), broken.assign(ansatz="1rsb")])
    folder.save("entropy_breaking", figure, table)


def capacity_with_breaking(folder: Folder) -> None:
    """The capacity diagram with and without breaking, from the shipped table."""
    table = pd.DataFrame.from_records(capacity_table())
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    draw_diagram(axes[0], table)
    draw_corrections(axes[1], table)
    folder.save("capacity_breaking", figure, table)
    for row in capacity_table():
        if row.rho in (0.1, 0.25, 0.5, 0.75, 0.9):
            folder.number(f"capacity at rho={row.rho:g}, one step of breaking", row.alpha_1rsb, row.error_1rsb, "1RSB")
            folder.number(f"capacity at rho={row.rho:g}, full breaking", row.alpha_full, row.error_full, "limit of 1, 2, 3 steps")
