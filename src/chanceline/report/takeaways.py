"""What to take from each figure of `reproduce`: a heading, a sentence made from its own table, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Takeaway = Callable[["pd.DataFrame"], str]


@dataclass(frozen=True)
class Shown:
    """How a figure is presented.

    Attributes
    ----------
    heading, caption : what it is about, and what is drawn.
    columns : what `takeaway` needs of the figure's table; without them (a table of another version) nothing is said.
    takeaway : one sentence from the table.
    """

    heading: str
    caption: str
    columns: tuple[str, ...] = ()
    takeaway: Takeaway | None = None

    def sentence(self, table: pd.DataFrame) -> str:
        if self.takeaway is None or not len(table) or not set(self.columns) <= set(table.columns):
            return ""
        return self.takeaway(table)


SHOWN: dict[str, Shown] = {}


def _figure(name: str, heading: str, caption: str, columns: str) -> Callable[[Takeaway], Takeaway]:
    """The function below tells the takeaway of this figure, from these columns of its table."""

    def keep(takeaway: Takeaway) -> Takeaway:
        SHOWN[name] = Shown(heading, caption, tuple(columns.split()), takeaway)
        return takeaway

    return keep


@_figure(
    "panels",
    "How the space of solutions shrinks as patterns are added",
    "The paper's four panels at ρ = 0.5, against the load α: (a) overlaps within and between supports, (b) the response χ, "
    "(c) the entropy of separating choices, (d) both stability conditions.",
    "alpha entropy",
)
def _panels(table: pd.DataFrame) -> str:
    return (
        "At ρ = 0.5 fewer and fewer choices of variables separate as the load grows; none is left where the entropy is zero, "
        f"near α = {_zero(table):.1f}. Without a choice the end would be α = 1."
    )


@_figure(
    "capacity",
    "The chance line: how much noise a choice of variables separates",
    "Capacity against the density ρ, the share of variables kept, between its closed-form neighbours.",
    "rho alpha_vs cover_gardner",
)
def _capacity(table: pd.DataFrame) -> str:
    ordered = table.sort_values("rho")
    chosen, blind = (float(np.interp(0.25, ordered["rho"], ordered[name])) for name in ("alpha_vs", "cover_gardner"))
    return (
        f"Choosing pays: with a quarter of the variables, pure noise is separated up to a load of {chosen:.2f}, "
        f"{chosen / blind:.1f} times what variables taken blindly hold."
    )


@_figure(
    "unequal_classes",
    "Unequal classes are easier to separate",
    "The chance line for several shares of positive patterns; the rule has a free threshold.",
    "balance rho alpha_vs",
)
def _unequal_classes(table: pd.DataFrame) -> str:
    near = _nearest(table, "rho", 0.1).set_index("balance")["alpha_vs"]
    return (
        f"With ten per cent positives noise is separated up to {near[0.1] / near[0.5]:.2g} times the load of equal classes "
        "(one variable in ten kept)."
    )


@_figure(
    "entropy_breaking",
    "Entropy with breaking of symmetry between supports",
    "Left: entropy of separating choices, replica symmetric and with one step; right: the parameters of the step.",
    "alpha entropy ansatz",
)
def _entropy_breaking(table: pd.DataFrame) -> str:
    ends = {ansatz: _zero(table[table["ansatz"] == ansatz]) for ansatz in ("rs", "1rsb")}
    return (
        f"Breaking of symmetry moves the end of the entropy at ρ = 0.5 from α = {ends['rs']:.3f} to {ends['1rsb']:.3f}, by "
        f"{abs(1 - ends['1rsb'] / ends['rs']):.1%} of the paper's value."
    )


@_figure(
    "capacity_breaking",
    "How far breaking moves the chance line",
    "Left: the capacity with and without breaking (shaded: where replica symmetry is exact); right: the corrections.",
    "rho alpha_rs alpha_1rsb",
)
def _capacity_breaking(table: pd.DataFrame) -> str:
    lost = 1 - table["alpha_1rsb"] / table["alpha_rs"]
    worst = lost.idxmax()
    return (
        f"Over all densities one step of breaking lowers the chance line by at most {lost[worst]:.1%}, at ρ = "
        f"{table['rho'][worst]:.2g}."
    )


@_figure(
    "experiments-paper-fig3",
    "The paper's search on finite problems",
    "Smallest sets that greedy-BIHT finds, over the chance line and the line without choice.",
    "alpha n load density error",
)
def _paper_search(table: pd.DataFrame) -> str:
    return _smallest(table, "greedy-BIHT")


@_figure(
    "experiments-best",
    "The best search on the same problems",
    "Smallest sets of the default search; crosses: extrapolated to N → ∞.",
    "alpha n load density error",
)
def _best_search(table: pd.DataFrame) -> str:
    return _smallest(table, "the default search")


def _smallest(table: pd.DataFrame, name: str) -> str:
    row = _nearest(table[table["n"] == table["n"].max()], "alpha", 1.0).iloc[0]
    return (
        f"At N = {row['n']} and load {row['load']:.2f} {name} keeps a share {row['density']:.3f} ± {row['error']:.3f} of the "
        f"variables; without a choice half of the load, {row['load'] / 2:.2f}, is needed."
    )


@_figure(
    "experiments-entropy",
    "Counting separating choices, beside theory",
    "Above: entropy against load, theory as lines and extrapolated counts as points; below: the extrapolation in 1/N.",
    "rs both both_error",
)
def _entropy_counts(table: pd.DataFrame) -> str:
    both = table.dropna(subset=["both", "rs"])
    distance = ((both["both"] - both["rs"]) / both["both_error"]).abs()
    return (
        f"Of {len(both)} entropies that counting gives, extrapolated to N → ∞, {int((distance < 2).sum())} lie within two of "
        f"their errors of replica theory (median distance {distance.median():.1f} errors)."
    )


@_figure(
    "experiments-capacity",
    "Smallest sets for N → ∞, beside theory",
    "The difference from the first moment against 1/N for both kinds of inputs, and the limits minus ρ_VS.",
    "searched searched_error rsb",
)
def _searched(table: pd.DataFrame) -> str:
    distance = ((table["searched"] - table["rsb"]) / table["searched_error"]).abs()
    return (
        f"At {int((distance < 2).sum())} of {len(table)} points the smallest sets found by search, extrapolated to N → ∞, lie "
        "within two of their errors of the theory with breaking."
    )


@_figure(
    "memory_capacity",
    "An associative memory that chooses its inputs: how much it holds",
    "Largest load against the share of inputs kept, for three ways of wiring, beside the theory.",
    "rho wiring load_typical",
)
def _memory_capacity(table: pd.DataFrame) -> str:
    part = _nearest(table, "rho", 0.25).set_index("wiring")["load_typical"]
    if not {"selected", "random"} <= set(part.index):
        return ""
    return (
        f"A neuron that chooses a quarter of its inputs holds {part['selected']:.2f} patterns for each possible input; with "
        f"inputs taken at random it holds {part['random']:.2f}."
    )


@_figure(
    "memory_stability",
    "How well it recalls, and what lost couplings cost",
    "Left: overlap after recall against the share of flipped bits in the probe; right: bits held against couplings cut.",
    "measured share load wiring value",
)
def _memory_stability(table: pd.DataFrame) -> str:
    recall = table[(table["measured"] == "overlap after recall") & (table["share"] == 0.1)]
    lowest = recall[recall["load"] == recall["load"].min()].set_index("wiring")["value"]
    if not {"selected", "random"} <= set(lowest.index):
        return ""
    return (
        f"At load {recall['load'].min():g}, from probes with a tenth of the bits flipped, chosen inputs recall with an "
        f"overlap of {lowest['selected']:.2f}, random ones with {lowest['random']:.2f}."
    )


@_figure(
    "memory_pictures",
    "Pictures stored among random patterns, and recalled",
    "Stored, disturbed and recalled; each column is one picture.",
    "overlap noise",
)
def _memory_pictures(table: pd.DataFrame) -> str:
    whole = int((table["overlap"] == 1).sum())
    noise = table["noise"].iloc[0]
    return f"{whole} of {len(table)} pictures come back without a wrong pixel from probes with {noise:.0%} of them flipped."


def _zero(table: pd.DataFrame) -> float:
    """The load where the entropy passes zero, between the points of the table by a straight line."""
    ordered = table.sort_values("alpha")
    after = int(np.argmax(ordered["entropy"] <= 0))
    part = ordered.iloc[max(0, after - 1) : after + 1]
    return float(np.interp(0.0, part["entropy"][::-1], part["alpha"][::-1]))


def _nearest(table: pd.DataFrame, column: str, value: float) -> pd.DataFrame:
    """The rows whose value in a column lies nearest."""
    distance = (table[column] - value).abs()
    return table[distance == distance.min()]
