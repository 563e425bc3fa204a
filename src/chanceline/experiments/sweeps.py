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
    """Load a sweep (a list of tasks): a built-in one by name, or your own by its TOML file.

    Parameters
    ----------
    source : str or path
        The name of a built-in sweep, or the path of a TOML file.
    trials : int, optional
        At most this many trials in each block. The tasks are then some of those of the whole sweep.
    """
    # Check what the file says about the sweep as a whole.
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

    # Put the tasks in an order in which all blocks advance side by side, so that an unfinished run
    # has all points, with fewer trials each. The place of a task is the share of its block's trials
    # that come before it.
    placed_tasks: list[PlacedTask] = []
    for block in content["block"]:
        placed_tasks += _tasks_of_block(block, trials, f"a block of the sweep {name}")
    placed_tasks.sort(key=lambda placed: placed.place)
    # A dict keeps each task once, in this order: blocks may have tasks in common.
    tasks = dict.fromkeys(placed.task for placed in placed_tasks)
    return Sweep(
        name=name,
        description=content.get("description", "no description"),
        tasks=tuple(tasks),
        batch=batch,
    )


def _read_toml(source: str | Path) -> dict[str, Any]:
    """Read the file of the built-in sweep with this name, or the TOML file at this path.

    Returns the content, key → value.
    """
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
    except ValueError as error:  # neither TOML nor UTF-8
        raise InputError(f"the sweep {source} is not valid TOML: {error}") from error


def _tasks_of_block(
    block: Mapping[str, Any], max_trials: int | None, where: str
) -> list[PlacedTask]:
    """Make the tasks of a block: one for each trial and each point of its grid, trial after trial.

    Parameters
    ----------
    block : part of a sweep's file: a kind of task; the grid, parameter → list of values, of which
        all combinations are points; fixed, parameter → value; and the number of trials.
    max_trials : trials to take at most; None or 0 for all.
    where : what error messages call the block.

    Returns
    -------
    The tasks, each with its place in the block: the share of trials that come before its own.
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
    """Raise InputError if parameters of a block cannot be used.

    Parameters
    ----------
    grid : parameter → the values that it takes; must be lists with at least one value.
    fixed : parameter → its only value. No parameter may be in both, and none may be reserved.
    where : what error messages call the block.
    """
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
