"""`chanceline memory`: store patterns in a network with few couplings and look at what it holds."""

from __future__ import annotations

import time
import warnings
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chanceline.cli.options import Jobs, Json, Quiet, Scheduler, Seed, writable
from chanceline.cli.terminal import answer, progress_bar
from chanceline.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from chanceline.memory import Retrieval, StorageReport

NOISES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
SURVIVED = 0.95  # share of the probes that come back exactly


def memory(
    neurons: Annotated[
        int | None, typer.Option(help="Number of neurons, n (200, or as --patterns has).")
    ] = None,
    load: Annotated[
        float | None, typer.Option(help="Random patterns for each of the N = n − 1 inputs (0.2).")
    ] = None,
    patterns: Annotated[
        Path | None,
        typer.Option(help="Your own patterns: a .npy or .csv file of ±1, one pattern in each row."),
    ] = None,
    fan_in: Annotated[
        str, typer.Option(help="Inputs a neuron keeps: a share (0.25), a count (50), or 'minimal'.")
    ] = "0.25",
    wiring: Annotated[str, typer.Option(help="selected, random or hebbian-selected.")] = "selected",
    kappa: Annotated[float, typer.Option(help="Stability asked of every neuron.")] = 0.0,
    excitatory: Annotated[
        float | None,
        typer.Option(
            help="Share of neurons whose outgoing couplings are all positive, the others' negative."
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Effort of the search for inputs, in swaps a neuron (2000).")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep the memory in this .npz file.", callback=writable)
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Store patterns in a network whose neurons keep few inputs, and look at what it holds.

    Random patterns or your own are stored; the network's dynamics checks that they are fixed points and recalls them from noisy
    probes. The first line says how much noise it survives.

    Example: [bold]chanceline memory --neurons 200 --load 0.2 --fan-in 0.25 --wiring selected[/bold]

    Example: [bold]chanceline memory --load 0.1 --excitatory 0.8[/bold]
    """
    from chanceline._parallel import cluster
    from chanceline.memory import AssociativeMemory, connectivity, random_patterns, retrieval
    from chanceline.memory.network import DEFAULT_BUDGET

    if patterns is not None and load is not None:
        raise InputError("Give either --patterns or --load, not both.")
    budget = DEFAULT_BUDGET if budget is None else budget
    stored = None if patterns is None else _read_patterns(patterns)
    if neurons is None:
        neurons = 200 if stored is None else stored.shape[1]
    network = AssociativeMemory(
        neurons,
        _read_fan_in(fan_in),
        wiring,
        seed,
        kappa=kappa,
        budget=budget,
        excitatory=excitatory,
    )
    if stored is None:
        stored = random_patterns(neurons, 0.2 if load is None else load, seed)
    stored = network.checked(stored)

    wall = time.perf_counter()
    with cluster(scheduler), progress_bar("neurons", quiet=quiet) as progress:
        report = network.store(stored, n_jobs=jobs, progress=progress)
    wall = time.perf_counter() - wall

    fixed = (network.recall(stored, steps=1) == stored).all(axis=1)
    held = network.is_stored(stored)
    basins = retrieval(network, stored, NOISES, seed=seed)
    survived, words = _survived(basins)
    limit = _limit(report, "free" if excitatory is None else "given")
    wired = connectivity(network)
    if save is not None:
        network.save(save)
    record = {
        **report.to_dict(),
        "fixed_points": int(fixed.sum()),
        "held_with_positive_fields": int(held.sum()),
        "retrieval": basins.to_dict(),
        "survives": survived,
        "excitatory": excitatory,
        "connectivity": wired.to_dict(),
        "theory": limit,
        "seed": seed,
        "budget": budget,
        "seconds": round(wall, 3),
    }
    lines = [words, *_lines(report, limit, basins, fixed), str(wired), f"  learned in {wall:.1f} s"]
    answer(record, "\n".join(lines), json)


def _survived(basins: Retrieval) -> tuple[float | None, str]:
    """The largest noise up to which nearly all probes come back exactly (None: not even without noise), and the same in words."""
    held = sum(1 for _ in takewhile(lambda share: share >= SURVIVED, basins.recalled))
    noises, shares = (
        [f"{value:.0%}" for value in values] for values in (basins.noises, basins.recalled)
    )
    then = f"; with {noises[held]} flipped, {shares[held]} do" if held < len(noises) else ""
    if held == 0:
        return (
            None,
            f"Recall fails: of {basins.probes} probes without noise {shares[0]} come back exactly",
        )
    bits = "no noise" if held == 1 else f"{noises[held - 1]} flipped bits"
    words = f"Recall survives {bits}: {shares[held - 1]} of {basins.probes} such probes come back exactly{then}"
    return float(basins.noises[held - 1]), words


def _lines(
    report: StorageReport, limit: dict[str, Any], basins: Retrieval, fixed: NDArray[Any]
) -> list[str]:
    theory = (
        f"  limit of theory     load {limit['alpha_vs']:.4g} for a chosen share {limit['rho']:.3g} of inputs at the "
        f"median stability {limit['margin']:.3g}"
        if limit["alpha_vs"] is not None
        else None
    )
    recalled = zip(basins.noises, basins.overlaps, basins.errors, basins.recalled, strict=True)
    return [
        str(report),
        *filter(None, [theory]),
        f"  fixed points        {fixed.sum()} of {fixed.size} patterns, by one step of the dynamics",
        "  recall from noisy probes (share of flipped bits: overlap, recalled exactly)",
        *(
            f"    {noise:4.0%}: {overlap:6.3f} ± {error:.3f}, {exact:4.0%}"
            for noise, overlap, error, exact in recalled
        ),
    ]


def _limit(report: StorageReport, signs: str) -> dict[str, Any]:
    """The load that the best choice of as many inputs holds at the stability that half of the neurons have, for N → ∞."""
    import numpy as np

    from chanceline.theory.capacity import capacity

    rho = float(report.fan_ins.mean() / (report.n_neurons - 1))
    margin = float(np.median(report.stabilities))
    known = 0 < rho < 1 and margin > 0
    return {
        "kind": "replica symmetric, N → ∞",
        "rho": rho,
        "margin": margin,
        "signs": signs,
        "alpha_vs": capacity(rho, margin=margin, signs=signs).alpha if known else None,
    }


def _read_fan_in(text: str) -> float | str:
    """'minimal', a whole number (a count) or a decimal number (a share)."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _read_patterns(path: Path) -> NDArray[Any]:
    import numpy as np

    try:
        # An empty file gets our sentence, not NumPy's warning.
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),
            open(path, "rb") as file,
        ):
            read = (
                np.load(file, allow_pickle=False)
                if path.suffix == ".npy"
                else np.loadtxt(file, delimiter=",", ndmin=2)
            )
    except (ValueError, EOFError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path} does not hold a table of +1 and −1, one pattern in each row ({reason})."
        ) from error
    if not isinstance(read, np.ndarray) or read.ndim != 2 or read.size == 0:
        raise InputError(f"{path} must hold one table, one pattern in each row.")
    return read
