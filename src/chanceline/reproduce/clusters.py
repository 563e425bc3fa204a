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
    """The directions w of the plane with w·x > 0 for all points x: a sector between two angles.

    If all points lie between the angles a and b, it goes from b − π/2 to a + π/2. It has the width
    0 if the points do not lie within half a turn.

    Parameters
    ----------
    points : (patterns, 2) inputs times labels.
    """
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    first_after_full_turn = angles[0] + 2 * pi
    gaps = np.diff(angles, append=first_after_full_turn)
    widest = int(gaps.argmax())
    width = float(gaps[widest]) - pi
    if width <= 0:
        return Sector(start=0.0, width=0.0)
    last_angle = float(angles[widest])  # b: the points end where the widest gap begins
    return Sector(start=last_angle - pi / 2, width=width)


def cluster_table() -> pd.DataFrame:
    """The separating directions of every choice of two variables, for growing numbers of patterns.

    Weights on two variables are directions of a plane, and those that separate are a sector
    (`separating_sector`). The patterns are the first ones of the same random set. Columns:
    patterns, load, the two variables of the choice, start and width of the sector.
    """
    rng = np.random.default_rng(PATTERN_SEED)
    # Gaussian inputs times labels are Gaussian.
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
    """Draw the paper's Fig. 1: how choices of variables die out as patterns are added.

    The upper panels show, at four loads, the separating directions of every choice of two of few
    variables; the lower one shows the entropy of separating choices of many variables against the
    load.
    """
    table = cluster_table()
    n_points = 40 if folder.mode == Mode.QUICK else 120
    entropies = branch_table(CLUSTER_DENSITY, n_points)

    figure = Figure(figsize=FIGURE_SIZE, layout="constrained")
    halves = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.1, 1))  # (rows, columns)
    upper, lower = halves[:, 0]

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
