"""`chanceline memory`: store patterns in a network with few couplings and look at what it holds."""

from __future__ import annotations

import time
import warnings
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chanceline.cli.options import (
    JobsOption,
    JsonOption,
    QuietOption,
    SchedulerOption,
    SeedOption,
    writable,
)
from chanceline.cli.terminal import print_answer, progress_bar
from chanceline.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from chanceline.memory import Retrieval, StorageReport

DEFAULT_NEURONS = 200
DEFAULT_LOAD = 0.2
# Shares of flipped bits in the probes from which patterns are recalled.
PROBE_NOISES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
# Recall survives a noise if this share of the probes comes back exactly.
SURVIVAL_SHARE = 0.95


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
    seed: SeedOption = 0,
    jobs: JobsOption = -1,
    scheduler: SchedulerOption = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep the memory in this .npz file.", callback=writable)
    ] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Store patterns in a network whose neurons keep few inputs, and look at what it holds.

    Random patterns or your own are stored; the network's dynamics checks that they are fixed points and recalls them from noisy
    probes. The first line says how much noise it survives.

    Example: [bold]chanceline memory --neurons 200 --load 0.2 --fan-in 0.25 --wiring selected[/bold]

    Example: [bold]chanceline memory --load 0.1 --excitatory 0.8[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline._cluster import cluster
    from chanceline.memory import AssociativeMemory, connectivity, random_patterns, retrieval
    from chanceline.memory.network import DEFAULT_SWAP_BUDGET

    # What to store, and the network that stores it.
    if patterns is not None and load is not None:
        raise InputError("Give either --patterns or --load, not both.")
    stored = None if patterns is None else read_patterns(patterns)
    if neurons is None:
        neurons = DEFAULT_NEURONS if stored is None else stored.shape[1]
    if budget is None:
        budget = DEFAULT_SWAP_BUDGET
    network = AssociativeMemory(
        neurons,
        parse_fan_in(fan_in),
        wiring,
        seed,
        kappa=kappa,
        budget=budget,
        excitatory=excitatory,
    )
    if stored is None:
        if load is None:
            load = DEFAULT_LOAD
        stored = random_patterns(neurons, load, seed)
    stored = network.checked(stored)

    begin = time.perf_counter()
    with cluster(scheduler), progress_bar("neurons", quiet=quiet) as progress:
        report = network.store(stored, n_jobs=jobs, progress=progress)
    seconds = time.perf_counter() - begin

    # What it holds: fixed points of the dynamics, recall from noise, and the limit of theory.
    is_fixed = (network.recall(stored, steps=1) == stored).all(axis=1)
    recall = retrieval(network, stored, PROBE_NOISES, seed=seed)
    signs = "free" if excitatory is None else "given"
    limit = theory_limit(report, signs)
    wired = connectivity(network)
    if save is not None:
        network.save(save)
    record = {
        **report.to_dict(),
        "fixed_points": int(is_fixed.sum()),
        "held_with_positive_fields": int(network.is_stored(stored).sum()),
        "retrieval": recall,
        "survives": survived_noise(recall),
        "excitatory": excitatory,
        "connectivity": wired,
        "theory": limit,
        "seed": seed,
        "budget": budget,
        "seconds": round(seconds, 3),
    }
    lines = [
        describe_survival(recall),
        str(report),
        *limit_lines(limit),
        f"  fixed points        {is_fixed.sum()} of {is_fixed.size} patterns, "
        "by one step of the dynamics",
        *recall_lines(recall),
        str(wired),
        f"  learned in {seconds:.1f} s",
    ]
    print_answer(record, "\n".join(lines), json)


def n_survived_noises(recall: Retrieval) -> int:
    """How many noises, from the smallest on, nearly all probes survive."""
    return sum(1 for _ in takewhile(lambda share: share >= SURVIVAL_SHARE, recall.recalled))


def survived_noise(recall: Retrieval) -> float | None:
    """The largest noise up to which nearly all probes come back exactly, None if there is none."""
    n_survived = n_survived_noises(recall)
    if n_survived == 0:
        return None
    return float(recall.noises[n_survived - 1])


def describe_survival(recall: Retrieval) -> str:
    """How much noise recall survives, in a sentence.

    Probes are patterns with a share of flipped bits, the noise. `recall` has the noises that were
    tried, in ascending order from 0 on (`noises`); for each the share of probes from which the
    pattern came back exactly (`recalled`); and the number of probes at each (`probes`). A noise is
    survived if nearly all probes come back, at this noise and at all smaller ones.
    """
    noise_texts = [f"{noise:.0%}" for noise in recall.noises]
    share_texts = [f"{share:.0%}" for share in recall.recalled]
    n_survived = n_survived_noises(recall)  # from the smallest noise on
    if n_survived == 0:
        return (
            f"Recall fails: of {recall.probes} probes without noise {share_texts[0]} come back "
            "exactly"
        )

    # The noises 0, …, n_survived − 1 of the list are survived.
    index_of_largest_survived = n_survived - 1
    index_of_next = n_survived
    largest_survived_noise = f"{noise_texts[index_of_largest_survived]} flipped bits"
    if index_of_largest_survived == 0:
        largest_survived_noise = "no noise"  # the first noise of the list is 0
    sentence = (
        f"Recall survives {largest_survived_noise}: {share_texts[index_of_largest_survived]} of "
        f"{recall.probes} such probes come back exactly"
    )
    if index_of_next < len(noise_texts):
        sentence += f"; with {noise_texts[index_of_next]} flipped, {share_texts[index_of_next]} do"
    return sentence


def recall_lines(recall: Retrieval) -> list[str]:
    """A heading, and for each noise the overlap after recall and the share recalled exactly."""
    lines = ["  recall from noisy probes (share of flipped bits: overlap, recalled exactly)"]
    rows = zip(recall.noises, recall.overlaps, recall.errors, recall.recalled, strict=True)
    for noise, overlap, error, recalled in rows:
        lines.append(f"    {noise:4.0%}: {overlap:6.3f} ± {error:.3f}, {recalled:4.0%}")
    return lines


def limit_lines(limit: dict[str, Any]) -> list[str]:
    """The limit of theory as a line; no line where theory has none."""
    if limit["alpha_vs"] is None:
        return []
    return [
        f"  limit of theory     load {limit['alpha_vs']:.4g} for a chosen share "
        f"{limit['rho']:.3g} of inputs at the median stability {limit['margin']:.3g}"
    ]


def theory_limit(report: StorageReport, signs: str) -> dict[str, Any]:
    """The largest load that neurons can store by theory, if they choose the best inputs.

    The load is the number of patterns divided by the number of possible inputs of a neuron. Its
    limit α_VS (returned as "alpha_vs") is computed for `rho`, the mean share of possible inputs
    that the neurons use, and for `margin`, the median stability of the neurons. It is None if the
    theory has no answer for these.

    Parameters
    ----------
    report : what the network has stored, and with how many inputs.
    signs : "free" or "given", the signs of the couplings.
    """
    import numpy as np

    from chanceline.theory.capacity import capacity

    n_possible_inputs = report.n_neurons - 1
    rho = float(report.fan_ins.mean() / n_possible_inputs)  # fan-in: inputs that a neuron uses
    margin = float(np.median(report.stabilities))
    alpha = None
    if 0 < rho < 1 and margin > 0:
        alpha = capacity(rho, margin=margin, signs=signs).alpha
    return {
        "kind": "replica symmetric, N → ∞",
        "rho": rho,
        "margin": margin,
        "signs": signs,
        "alpha_vs": alpha,
    }


def parse_fan_in(text: str) -> float | str:
    """A whole number (a count), a decimal number (a share), or the text itself, as 'minimal'."""
    for number_type in (int, float):
        try:
            return number_type(text)
        except ValueError:
            continue
    return text


def read_patterns(path: Path) -> NDArray[Any]:
    """Read patterns, (patterns, neurons), from a .npy file or from text separated by commas.

    Only the shape is checked here, not that all entries are ±1.
    """
    import numpy as np

    try:
        # NumPy warns of an empty file, which is refused with an error instead.
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),
            open(path, "rb") as file,
        ):
            if path.suffix == ".npy":
                table = np.load(file, allow_pickle=False)
            else:
                table = np.loadtxt(file, delimiter=",", ndmin=2)
    except (ValueError, EOFError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path} does not hold a table of +1 and −1, one pattern in each row ({reason})."
        ) from error
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.size == 0:
        raise InputError(f"{path} must hold one table, one pattern in each row.")
    return table
