"""Sweeps: grids of tasks written as TOML, the built-in ones (``data/sweeps``) like anybody's.

name = "my-sweep"
description = "smallest supports at two loads"
batch = 8                       # tasks handed to a worker together
[[block]]                       # one or more
kind = "smallest"
trials = 100                    # trial = 0 … 99
grid = {n = [64, 128], alpha = [0.5, 1.0]}
fixed = {method = "auto"}

A kind may be ``package.module:function``: reading such a file, also to look at a run's progress,
imports that module. Only use files that you would run as a program.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from chanceline.errors import InputError, whole_number
from chanceline.experiments.tasks import Task, make_task

BUILTIN_FOLDER = resources.files("chanceline") / "data" / "sweeps"
SWEEP_KEYS = {"name", "description", "batch", "block"}
BLOCK_KEYS = {"kind", "trials", "grid", "fixed"}
# Parameters that a block cannot set: they follow from the block and the task.
RESERVED_PARAMETERS = {"kind", "seed", "trial"}


@dataclass(frozen=True)
class Sweep:
    """A named list of tasks; a worker gets `batch` of them at a time."""

    name: str
    description: str
    tasks: tuple[Task, ...]
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.name}: {len(self.tasks)} tasks ({self.description})"


class PlacedTask(NamedTuple):
    """A task and its place in its block: 0 for the first trial, towards 1 for the last."""

    place: float
    task: Task


def builtin_names() -> list[str]:
    """Names of the sweeps that come with the package."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in BUILTIN_FOLDER.iterdir()
        if entry.name.endswith(".toml")
    )


def load_sweep(source: str | Path, *, trials: int | None = None) -> Sweep:
    """A built-in sweep by name, or one of your own by the path of its TOML file.

    Parameters
    ----------
    source : str or path
        The name or the path.
    trials : int, optional
        At most this many trials in each block. The tasks are then some of those of the whole sweep.
    """
    # Check what the file says of the sweep.
    content = _read_toml(source)
    name = content.get("name", Path(source).stem)
    if Path(str(name)).name != name:
        raise InputError(
            f"the sweep's name is {name!r}; it must be text without / or \\, "
            "as the store is named after it"
        )
    _refuse_unknown_keys(content, SWEEP_KEYS, f"the sweep {name}")
    if not content.get("block"):
        raise InputError(f"the sweep {name} has no [[block]]; add one with a kind and a grid")
    batch = whole_number(content.get("batch", 1), f"batch of the sweep {name}", at_least=1)

    # Sort the tasks of all blocks by the share of their block's trials that come before them. So
    # all blocks advance side by side: an unfinished run has all points, with fewer trials each.
    placed_tasks: list[PlacedTask] = []
    for block in content["block"]:
        placed_tasks += _tasks_of_block(block, trials, f"a block of the sweep {name}")
    placed_tasks.sort(key=lambda placed: placed.place)
    tasks = dict.fromkeys(placed.task for placed in placed_tasks)  # each task once, in this order
    return Sweep(
        name=name,
        description=content.get("description", "no description"),
        tasks=tuple(tasks),
        batch=batch,
    )


def _read_toml(source: str | Path) -> dict[str, Any]:
    """The content of a built-in sweep of this name, or of the TOML file at this path."""
    if str(source) in builtin_names():
        file = BUILTIN_FOLDER / f"{source}.toml"
    else:
        file = Path(source)
    if not file.is_file():
        raise InputError(
            f"there is no sweep {str(source)!r}: give one of {', '.join(builtin_names())}, "
            "or a TOML file"
        )
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"the sweep {source} is not valid TOML: {error}") from error


def _tasks_of_block(
    block: Mapping[str, Any], max_trials: int | None, where: str
) -> list[PlacedTask]:
    """The tasks of a block: every point of its grid in each trial, trial after trial.

    The place of a task is the share of trials that come before its own. At most `max_trials` trials
    are taken, all if it is None or 0. `where` is what refusals call the block.
    """
    _refuse_unknown_keys(block, BLOCK_KEYS, where)
    if "kind" not in block:
        raise InputError(f"{where} has no kind; say what to run")
    grid = block.get("grid", {})
    fixed = block.get("fixed", {})
    _check_parameters(grid, fixed, where)
    trials = whole_number(block.get("trials", 1), f"trials in {where}", at_least=1)
    if max_trials:
        trials = min(trials, max_trials)

    placed = []
    for trial in range(trials):
        for values in product(*grid.values()):
            point = dict(zip(grid, values, strict=True))
            task = make_task(block["kind"], **fixed, **point, trial=trial)
            placed.append(PlacedTask(place=trial / trials, task=task))
    return placed


def _check_parameters(grid: Mapping[str, Any], fixed: Mapping[str, Any], where: str) -> None:
    """Refuse a grid that is not made of lists, and parameters given twice or reserved."""
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{name} in the grid of {where} is {values!r}; it must be a list")
    given_twice = set(grid) & set(fixed)
    reserved = RESERVED_PARAMETERS & (set(grid) | set(fixed))
    wrong = sorted(given_twice | reserved)
    if wrong:
        raise InputError(
            f"{wrong[0]!r} in {where} is given twice, or is not a parameter that can be given"
        )


def _refuse_unknown_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse a TOML table that has a key beyond those known; `where` is what it is called."""
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(
            f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )
