"""The paper's theory figures: the four panels at ρ = 0.5 and the capacity diagram."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from chanceline.figures.theory import draw_balances, draw_capacity, draw_entropy, draw_overlaps, draw_response, draw_stability
from chanceline.reproduce.folder import Folder
from chanceline.theory.capacity import capacity, curve_table, evenly_spaced
from chanceline.theory.solve import solve
from chanceline.theory.symmetric import branch_table

RHO = 0.5


def panels(folder: Folder) -> None:
    """q₁ and q₀, χ, Σ and both stability conditions against α at ρ = 0.5."""
    table = branch_table(RHO, 60 if folder.quick else 200)
    end = capacity(RHO)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.4), layout="constrained")
    draw_overlaps(axes[0, 0], table, RHO)
    draw_response(axes[0, 1], table, RHO)
    draw_entropy(axes[1, 0], table, RHO, end.alpha)
    draw_stability(axes[1, 1], table, RHO, end.replicon_alpha)
    for letter, ax in zip("abcd", axes.flat, strict=True):
        ax.set_title(f"({letter})", loc="left")
    folder.save("panels", figure, table)
    point = solve(1.2, RHO)
    folder.number("entropy at alpha=1.2, rho=0.5", point.entropy, point.quadrature_error, "RS", "Fig. (c)")
    folder.number("load where symmetry between supports breaks at rho=0.5", end.replicon_alpha or float("nan"), None, "RS")


def capacity_diagram(folder: Folder) -> None:
    """α_VS(ρ) with every closed-form curve."""
    table = curve_table(evenly_spaced(49 if folder.quick else 199), replicon=True)
    figure, ax = plt.subplots(figsize=(7.4, 5.6), layout="constrained")
    draw_capacity(ax, table)
    folder.save("capacity", figure, table)
    for rho in (0.1, 0.25, 0.5, 0.75, 0.9):
        end = capacity(rho)
        folder.number(f"capacity at rho={rho:g}", end.alpha, end.error, "RS", "capacity figure, solid blue line")


def unequal_classes(folder: Folder) -> None:
    """α_VS(ρ) for 50, 30, 10 and 2 per cent positives."""
    rhos = [float(rho) for rho in np.geomspace(0.001, 0.95, 20 if folder.quick else 60)]
    parts = [curve_table(rhos, balance=balance).assign(balance=balance) for balance in (0.5, 0.3, 0.1, 0.02)]
    table = pd.concat(parts, ignore_index=True)
    figure, ax = plt.subplots(figsize=(7.4, 5.6), layout="constrained")
    draw_balances(ax, table)
    folder.save("unequal_classes", figure, table)
    for balance in (0.3, 0.1):
        end = capacity(0.1, balance=balance)
        folder.number(f"capacity at rho=0.1, balance {balance:g}", end.alpha, end.error, "RS")
