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
    """Draw how many patterns a neuron can store against the share ρ of inputs that it keeps.

    The largest load (patterns per possible input) is measured for three wirings, ways to choose the
    inputs. Theory gives three lines beside it: 2ρ for random inputs, α_VS(ρ) for the best inputs,
    and the load for inputs chosen by Hebb's rule. `folder` takes the figure and its data; its mode
    sets the sizes of networks and the effort.
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    loads = load_curve(
        settings.n_neurons,
        settings.rhos,
        seed=SEED,
        budget=settings.budget,
        neurons=settings.n_measured,  # only the first few of all n_neurons are measured
        n_jobs=settings.n_jobs,
    )

    # The table has what was measured, and what theory says at the same ρ.
    table = pd.DataFrame([result.to_dict() for result in loads])
    table["cover_gardner"] = 2 * table["rho"]
    table["alpha_vs"] = [capacity(rho).alpha for rho in table["rho"]]
    table["hebbian"] = table["rho"].map(hebbian_capacity)

    # The lines in the figure go from near ρ = 0 to a little beyond the last point.
    theory = capacity_curve(np.linspace(0.01, max(settings.rhos) + 0.03, 40))
    folder.draw("memory_capacity", table, lambda ax: draw_largest_loads(ax, loads, theory.points))


def memory_stability(folder: Folder) -> None:
    """Draw how well networks recall patterns from noisy probes, and store them after damage.

    At each load (patterns per possible input) three networks store the same random patterns; they
    differ in their wiring, the way in which neurons choose their inputs. At each load recall is
    measured with growing shares of flipped bits in the probe; at one load, how many bits are still
    stored when growing shares of couplings are cut. `folder` takes the figure and its data.
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    recalls: dict[tuple[str, float], Retrieval] = {}  # (wiring, load) → recall to draw
    cuts: dict[str, list[Cutting]] = {}  # wiring → one result for each order of cutting
    rows: list[dict[str, Any]] = []  # of the table, with all that was measured
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
            # At larger loads not all wirings have stored the patterns, so recall is not drawn.
            every_wiring_stores_it = load < LOAD_OF_RANDOM_INPUTS
            if every_wiring_stores_it:
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
    """The columns of the table that are the same in all rows of one network.

    Parameters
    ----------
    wiring : how neurons choose their inputs.
    load : the patterns stored, per possible input.
    report : what storing gave. The stability κ of a neuron is its smallest margin, for weights of
        length one; it is not positive if the neuron could not store all patterns (is unsolved).

    Returns
    -------
    column → value. `alpha_vs_at_kappa` is the load that theory gives for the best choice of inputs
    at the median κ; NaN if this is not positive.
    """
    median_stability = float(np.median(report.stabilities))
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
    """Measure how many couplings a stored bit needs; the numbers go to numbers.csv of the folder.

    Every neuron keeps the smallest number of inputs (its fan-in) with which it stores all patterns.
    There is one network for each wiring, the way to choose the inputs. A network with all couplings
    needs at least 1/2 of a coupling for each bit (Gardner).
    """
    settings = MEMORY_SIZES[Mode(folder.mode)]
    patterns = random_patterns(settings.n_neurons, MINIMAL_LOAD, seed=SEED)
    for wiring in Wiring:
        memory = AssociativeMemory(
            settings.n_neurons, fan_in="minimal", wiring=wiring, seed=SEED, budget=settings.budget
        )
        report = memory.store(patterns, n_jobs=settings.n_jobs)
        folder.add_number(
            f"couplings for a stored bit at load {MINIMAL_LOAD:g}, {settings.n_neurons} neurons, "
            f"{wiring} inputs",
            report.couplings_per_bit,
            source="measured on one network; Gardner's dense limit is 0.5",
        )
