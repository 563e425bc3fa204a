"""Replica theory as a page: a point of the diagram, or the capacity at one density."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.interpolate import CubicHermiteSpline

from chanceline._arrays import Floats
from chanceline.figures.style import COLOURS
from chanceline.figures.theory import draw_capacity
from chanceline.report.diagram_lines import interpolated_lines
from chanceline.report.page import Page, draw_for_page
from chanceline.theory.capacity import Capacity, capacity_curve, evenly_spaced
from chanceline.theory.chance_line import Density
from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState
from chanceline.theory.solution import Regime, ReplicaSolution

# What `solve`, `capacity` and `density` give: every one of them lies somewhere on the diagram.
TheoryResult = ReplicaSolution | Capacity | Density


class RegimeText(NamedTuple):
    """A regime for the head of the page: the name of its colour, its heading, and a sentence."""

    colour: str
    heading: str
    sentence: str


REGIMES: dict[str, RegimeText] = {
    Regime.TYPICAL: RegimeText(
        colour="chance",
        heading="Typical choices separate",
        sentence="random patterns are separated by typical choices of variables.",
    ),
    Regime.SELECTED: RegimeText(
        colour="chance",
        heading="Chosen variables separate",
        sentence=(
            "typical choices fail, but exponentially many rare ones separate random patterns."
        ),
    ),
    Regime.BEYOND: RegimeText(
        colour="structure",
        heading="Beyond capacity",
        sentence="no choice of variables separates random patterns at this load.",
    ),
}
# Ansatz → its name in the methods.
ANSATZ = {
    "rs": "replica symmetry",
    "1rsb": "one step of replica symmetry breaking between supports",
    "full": "full replica symmetry breaking between supports (the limit of more and more steps)",
}
N_DENSITIES_SOLVED = 59  # of a diagram for patterns whose lines are not shipped
N_DENSITIES_SHIPPED = 199
N_LOADS = 400  # of the entropy's curve
# With errors the flat part of the entropy's curve ends at the latest at this share of the first
# load of the branch: the spline through both needs loads that ascend.
FLAT_PART_SHARE = 0.98
# Where the entropy stays positive up to the load of all inputs, its curve ends this far below it.
DISTANCE_TO_ALL_INPUTS = 1e-4


def write_theory_report(result: TheoryResult, path: str | Path) -> Path:
    """Write the result of `solve`, `capacity` or `density` as one HTML file."""
    return theory_page(result).write(path)


def theory_page(result: TheoryResult) -> Page:
    """The page with a result of replica theory, before it is written.

    It shows where the result lies on the diagram of density ρ (the share of features that are
    chosen) and load α (samples per feature), and all its numbers. If the result is a solution at
    given (ρ, α), the page also shows its regime and its entropy against the load; if it is a point
    of the chance line, the equation of that point.
    """
    record = result.to_dict()
    flat_record = pd.json_normalize(record).to_dict("records")[0]  # nested names joined by dots
    diagram = lines_of_diagram(result.ensemble)
    position = draw_for_page(
        lambda ax: draw_position(ax, diagram, result.rho, result.alpha), "position", (7.5, 5.2)
    )
    # The values of the template's variables.
    values: dict[str, Any] = {
        "result": result,
        "numbers": record,
        "ansatz": ANSATZ[record.get("ansatz", "rs")],  # "rs": replica symmetric
        "rows": [(name, value) for name, value in flat_record.items() if value is not None],
        "position": position,
    }
    if isinstance(result, ReplicaSolution):
        title = f"Replica solution at α = {result.alpha:g}, ρ = {result.rho:g}"
        values |= _values_of_solution(result)
    else:
        equation = chance_line_equation(result)
        title = f"The chance line: {equation}"
        values |= {"is_solution": False, "equation": equation}
    return Page(template="theory.html", title=title, record=record, values=values)


def chance_line_equation(result: Capacity | Density) -> str:
    """The point of the chance line: α_VS at a density, or ρ_VS at a load."""
    if isinstance(result, Capacity):
        return f"α_VS({result.rho:g}) = {result.alpha:.8g}"
    return f"ρ_VS({result.alpha:g}) = {result.rho:.8g}"


def _values_of_solution(result: ReplicaSolution) -> dict[str, Any]:
    """The values of the template's variables that only solutions have: name → value."""
    curve = entropy_curve(result.rho, result.ensemble)
    entropy_figure = draw_for_page(
        lambda ax: draw_entropy_curve(ax, curve, result.alpha, result.entropy), "entropy"
    )
    return {
        "is_solution": True,
        "regime": REGIMES[result.regime],
        "entropy": entropy_figure,
    }


def lines_of_diagram(ensemble: Ensemble = PLAIN) -> pd.DataFrame:
    """The loads of all lines of the (ρ, α) diagram: one row for each density ρ, one column a line.

    `ensemble` says what the patterns are like (share of positives, margin, errors, signs of
    weights). The columns have the names that `figures.theory.draw_capacity` expects.
    """
    # For plain patterns (equal classes, no margin, no errors, free signs) the lines come with the
    # package, except two with closed forms: the VC load ρ and the Cover–Gardner load 2ρ. The
    # capacity by replica-symmetric theory is called alpha_rs there, and alpha_vs in the figure.
    if ensemble.plain:
        densities = evenly_spaced(N_DENSITIES_SHIPPED)
        shipped_lines = pd.DataFrame(interpolated_lines(densities))
        lines = shipped_lines.rename(columns={"alpha_rs": "alpha_vs"})
        return lines.assign(vc=lines["rho"], cover_gardner=2 * lines["rho"])

    # For all other patterns the lines are solved here.
    curve = capacity_curve(
        evenly_spaced(N_DENSITIES_SOLVED),
        balance=ensemble.balance,
        margin=ensemble.margin,
        errors=ensemble.error_rate,
        signs=ensemble.signs,
    )
    return curve.to_frame().drop(columns="signs").astype(float)


class EntropyCurve(NamedTuple):
    """Entropies of separating choices against loads, from 0 to beyond capacity.

    Attributes
    ----------
    typical_load : up to here typical choices separate, and the entropy is that of all choices.
    loads, entropies : the curve, of shape (loads,) each.
    """

    typical_load: float
    loads: Floats
    entropies: Floats


def entropy_curve(rho: float, ensemble: Ensemble) -> EntropyCurve:
    """Compute the entropy Σ of separating choices against the load, at one density ρ.

    About exp(N·Σ) of the choices of ρN out of N features separate random patterns. Up to a certain
    load (patterns per feature) a typical choice separates them, and Σ is the entropy of all
    choices: this part of the curve is flat. At larger loads the theory, in its replica-symmetric
    form, is solved at a few loads. Each solution gives Σ and its slope, and cubic polynomials
    interpolate between the solutions.
    """
    entropy_of_all = binary_entropy(rho)
    typical_load = rho * gardner(ensemble).load  # ρ times the load of a rule with all features
    solutions = separating_branch(rho, ensemble)  # by ascending load
    if ensemble.error_rate:
        solutions = _without_too_large_entropies(solutions, entropy_of_all)
        first_load = solutions[0].alpha
        # The flat part must end before the first solution, because a spline needs ascending loads.
        typical_load = min(typical_load, FLAT_PART_SHARE * first_load)

    # A cubic Hermite spline is given by points and the slopes dΣ/dα there. The points are the two
    # ends of the flat part, where the slope is 0, and the solutions.
    loads = [0.0, typical_load, *(solution.alpha for solution in solutions)]
    entropies = [entropy_of_all, entropy_of_all, *(solution.entropy for solution in solutions)]
    slopes = [0.0, 0.0, *(solution.entropy_by_alpha for solution in solutions)]
    spline = CubicHermiteSpline(loads, entropies, slopes)

    dense_loads = np.linspace(0, loads[-1], N_LOADS)
    return EntropyCurve(
        typical_load=typical_load,
        loads=dense_loads,
        entropies=spline(dense_loads),
    )


def _without_too_large_entropies(solutions: list[RSState], entropy_of_all: float) -> list[RSState]:
    """Leave out solutions whose entropy is not below that of all choices, as it should be.

    They occur where rules may make errors. There the weights that separate on one choice form
    several clusters, and the theory counts the choice once for each cluster, which at the first
    loads gives more than the number of all choices. At least one solution stays: the entropy of the
    last one is much smaller, below 0 at most densities.
    """
    return [solution for solution in solutions if solution.entropy < entropy_of_all]


def separating_branch(rho: float, ensemble: Ensemble) -> list[RSState]:
    """Return the replica-symmetric solutions from the typical load upwards.

    Below the density `ensemble.saturation_density` (1, or ½ with given signs) the last solution is
    the first with a negative entropy. From this density on no entropy is negative: a choice holds
    as much as all inputs together, and the entropy stays positive up to the load of all inputs. The
    last solution then is the first whose distance `to_gardner` from this load is small.
    """
    smallest_distance = 0.0  # below the saturation density; the load of all inputs is not passed
    if rho >= ensemble.saturation_density:
        smallest_distance = DISTANCE_TO_ALL_INPUTS

    def is_last(state: RSState) -> bool:
        return state.entropy < 0 or state.to_gardner < smallest_distance

    return [point.state for point in Branch(rho, ensemble).from_entrance(is_last)]


def draw_position(ax: Any, diagram: pd.DataFrame, rho: float, alpha: float) -> None:
    """Draw the diagram of densities ρ and loads α on the axes `ax`, and mark one point "here".

    Parameters
    ----------
    ax : axes of matplotlib.
    diagram : the lines of the diagram, from `lines_of_diagram`.
    rho, alpha : the point to mark.
    """
    draw_capacity(ax, diagram)
    ax.plot([rho], [alpha], "o", color=COLOURS["here"], markersize=9, zorder=5)
    ax.annotate(
        "here",
        (rho, alpha),
        xytext=(9, 7),  # to the upper right of the point
        textcoords="offset points",
        color=COLOURS["here"],
        weight="bold",
    )


def draw_entropy_curve(ax: Any, curve: EntropyCurve, alpha: float, entropy: float) -> None:
    """Draw the entropy against the load, with a point at (α, Σ)."""
    ax.plot(curve.loads, curve.entropies, color=COLOURS["rs"])
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.axvline(curve.typical_load, color=COLOURS["cover-gardner"], linewidth=1, linestyle=":")
    ax.plot([alpha], [entropy], "o", color=COLOURS["here"], markersize=9)
    ax.set(xlabel="load α", ylabel="entropy of separating choices Σ")
