"""Sweeps: grids of tasks written as TOML, the built-in ones (``data/sweeps``) in the same form as anybody's.

name = "my-sweep"
description = "smallest supports at two loads"
batch = 8                       # tasks handed to a worker together
[[block]]                       # one or more
kind = "smallest"
trials = 100                    # trial = 0 … 99
grid = {n = [64, 128], alpha = [0.5, 1.0]}
fixed = {method = "auto"}

A kind may be ``package.module:function``: reading such a file, also to look at a run's progress, imports that module. Only use
files that you would run as a program.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from chanceline.errors import InputError, whole_number
from chanceline.experiments.tasks import Task, make_task

_FOLDER = resources.files("chanceline") / "data" / "sweeps"


@dataclass(frozen=True)
class Sweep:
    """A named list of tasks."""

    name: str
    description: str
    tasks: tuple[Task, ...]
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.name}: {len(self.tasks)} tasks ({self.description})"


def builtin_names() -> list[str]:
    """Names of the sweeps that come with the package."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _FOLDER.iterdir()
        if entry.name.endswith(".toml")
    )


def load_sweep(source: str | Path, *, trials: int | None = None) -> Sweep:
    """A built-in sweep by name, or one of your own by the path of its TOML file.

    Parameters
    ----------
    source : str or path
    trials : int, optional
        At most this many trials in each block: a smaller run of the same sweep, and a part of the whole.
    """
    file = _FOLDER / f"{source}.toml" if str(source) in builtin_names() else Path(source)
    if not file.is_file():
        raise InputError(
            f"there is no sweep {str(source)!r}: give one of {', '.join(builtin_names())}, or a TOML file"
        )
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"the sweep {source} is not valid TOML: {error}") from error
    name = content.get("name", Path(source).stem)
    if Path(str(name)).name != name:
        raise InputError(
            f"the sweep's name is {name!r}; it must be text without / or \\, as the store is named after it"
        )
    _refuse_unknown(f"the sweep {name}", content, {"name", "description", "batch", "block"})
    if not content.get("block"):
        raise InputError(f"the sweep {name} has no [[block]]; add one with a kind and a grid")
    batch = whole_number(content.get("batch", 1), f"batch of the sweep {name}", at_least=1)
    placed = [
        pair
        for block in content["block"]
        for pair in _placed_tasks(f"a block of the sweep {name}", block, trials)
    ]
    # Blocks side by side: an unfinished run has all points already, with fewer trials each.
    tasks = [task for _, task in sorted(placed, key=lambda pair: pair[0])]
    return Sweep(
        name, content.get("description", "no description"), tuple(dict.fromkeys(tasks)), batch
    )


def _placed_tasks(
    where: str, block: Mapping[str, Any], most: int | None
) -> list[tuple[float, Task]]:
    """The block's tasks, each with its place in the block between 0 and 1."""
    _refuse_unknown(where, block, {"kind", "trials", "grid", "fixed"})
    if "kind" not in block:
        raise InputError(f"{where} has no kind; say what to run")
    grid, fixed = block.get("grid", {}), block.get("fixed", {})
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{key} in the grid of {where} is {values!r}; it must be a list")
    twice = sorted(set(grid) & set(fixed) | {"kind", "seed", "trial"} & (set(grid) | set(fixed)))
    if twice:
        raise InputError(
            f"{twice[0]!r} in {where} is given twice, or is not a parameter that can be given"
        )
    asked = whole_number(block.get("trials", 1), f"trials in {where}", at_least=1)
    trials = min(asked, most or asked)
    return [
        (
            trial / trials,
            make_task(block["kind"], **fixed, **dict(zip(grid, values, strict=True)), trial=trial),
        )
        for trial in range(trials)
        for values in product(*grid.values())
    ]


def _refuse_unknown(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(
            f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )
