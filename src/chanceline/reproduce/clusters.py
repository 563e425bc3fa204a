"""The paper's first figure, from numbers: which choices of variables still separate, and by how
much.

The paper sketches choices of variables as circles, with the weights that separate shaded. Here
every circle is a choice of two of eight variables, of one set of random patterns. Its weights are
directions of the plane, and those that separate all patterns are a sector, which is computed
exactly. Below stands the entropy of separating choices in the limit of many variables, at the same
density.
"""

from __future__ import annotations

from itertools import combinations
from math import pi
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline._arrays import Floats
from chanceline.figures.clusters import draw_cluster_entropy, draw_clusters
from chanceline.reproduce.folder import Folder, Mode
from chanceline.theory.capacity import capacity
from chanceline.theory.symmetric import branch_table

N_VARIABLES = 8
N_CHOSEN = 2  # the weights of a choice are then directions of a plane
CLUSTER_DENSITY = N_CHOSEN / N_VARIABLES
# Patterns of the four panels, whose loads lie between the three lines.
PANEL_PATTERNS = (1, 3, 6, 12)
PATTERN_SEED = 0
FIGURE_SIZE = (11, 6)


class Sector(NamedTuple):
    """Directions of a plane between two angles, in radians; empty if the width is 0."""

    start: float
    width: float


def separating_sector(points: Floats) -> Sector:
    """The directions w of the plane with w·x > 0 for all points x, a sector between two angles.

    w·x > 0 means that the angle between w and x is below π/2. So if all points lie between the
    angles a and b, the sector goes from b − π/2 to a + π/2. Its width a − b + π is that of the gap
    without points, 2π − (b − a), minus π. If no gap is wider than π, the sector is empty, and its
    width is 0.

    Parameters
    ----------
    points : (patterns, 2) inputs times labels.
    """
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    first_after_full_turn = angles[0] + 2 * pi
    gaps = np.diff(angles, append=first_after_full_turn)  # entry i begins at angle i
    widest = int(gaps.argmax())
    width = float(gaps[widest]) - pi
    if width <= 0:
        return Sector(start=0.0, width=0.0)
    last_angle = float(angles[widest])  # b: the points end where the widest gap begins
    return Sector(start=last_angle - pi / 2, width=width)


def separating_sectors() -> pd.DataFrame:
    """For every choice of two variables, the directions of weights that separate the patterns.

    Weights on two variables are a direction of a plane; those that classify all patterns correctly
    are a sector (`separating_sector`). This is computed for several numbers of patterns, which are
    always the first ones of the same random set.

    Returns
    -------
    DataFrame
        One row for each number of patterns and choice: patterns, load (patterns per variable),
        first and second (the two variables), start and width of the sector in radians.
    """
    rng = np.random.default_rng(PATTERN_SEED)
    # Inputs times labels. Gaussian numbers times labels ±1 have the same Gaussian distribution, so
    # the products can be drawn directly.
    labelled_inputs = rng.standard_normal((max(PANEL_PATTERNS), N_VARIABLES))
    rows = []
    for n_patterns in PANEL_PATTERNS:
        for first, second in combinations(range(N_VARIABLES), N_CHOSEN):
            sector = separating_sector(labelled_inputs[:n_patterns, [first, second]])
            rows.append(
                {
                    "patterns": n_patterns,
                    "load": n_patterns / N_VARIABLES,
                    "first": first,
                    "second": second,
                    "start": sector.start,
                    "width": sector.width,
                }
            )
    return pd.DataFrame(rows)


def clusters(folder: Folder) -> None:
    """Draw the paper's Fig. 1: fewer and fewer choices of variables separate as patterns are added.

    The upper panels are for few variables: at four loads they show, for every choice of two, the
    weights that separate the patterns. The lower panel is the limit of many variables: the entropy
    of separating choices against the load. `folder` takes the figure and its data; its mode says
    how finely the curve is solved.
    """
    table = separating_sectors()
    n_points = 120
    if folder.mode == Mode.QUICK:
        n_points = 40
    entropies = branch_table(CLUSTER_DENSITY, n_points)

    figure = Figure(figsize=FIGURE_SIZE, layout="constrained")
    halves = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.1, 1))  # (rows, columns)
    upper, lower = halves[:, 0]

    # A panel for each number of patterns, which `groupby` gives in ascending order.
    panels = upper.subplots(1, len(PANEL_PATTERNS))
    for ax, (n_patterns, choices) in zip(panels, table.groupby("patterns"), strict=True):
        load = n_patterns / N_VARIABLES
        draw_clusters(ax, choices, f"$P={n_patterns}$, $\\alpha={load:g}$")

    draw_cluster_entropy(
        lower.subplots(),
        entropies,
        rho=CLUSTER_DENSITY,
        capacity=capacity(CLUSTER_DENSITY).alpha,
        panel_loads=[n_patterns / N_VARIABLES for n_patterns in PANEL_PATTERNS],
    )
    folder.save("clusters", figure, table)
