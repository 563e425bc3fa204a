"""Sweeps: grids of tasks written as TOML, the built-in ones (``data/sweeps``) in the same form as anybody's.

name = "my-sweep"
description = "smallest supports at two loads"
batch = 8                       # tasks handed to a worker together
[[block]]                       # one or more
kind = "smallest"
trials = 100                    # trial = 0 … 99
grid = {n = [64, 128], alpha = [0.5, 1.0]}
fixed = {method = "auto"}
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from chanceline.errors import InputError
from chanceline.experiments.tasks import Task, make_task

_FOLDER = resources.files("chanceline") / "data" / "sweeps"
_BLOCK_KEYS = {"kind", "trials", "grid", "fixed"}
_SWEEP_KEYS = {"name", "description", "batch", "block"}


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
    files = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def load_sweep(source: str | Path, *, trials: int | None = None) -> Sweep:
    """A built-in sweep by name, or one of your own by the path of its TOML file.

    Parameters
    ----------
    source : str or path
    trials : int, optional
        At most this many trials in each block: a smaller run of the same sweep, and a part of the whole.
    """
    if str(source) in builtin_names():
        text = (_FOLDER / f"{source}.toml").read_text(encoding="utf-8")
    else:
        path = Path(source)
        if not path.is_file():
            names = ", ".join(builtin_names())
            raise InputError(f"there is no sweep {str(source)!r}: give one of {names}, or a TOML file")
        text = path.read_text(encoding="utf-8")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the sweep {source} is not valid TOML: {error}") from error
    return parse_sweep(content, default_name=Path(source).stem, trials=trials)


def parse_sweep(content: Mapping[str, Any], *, default_name: str = "sweep", trials: int | None = None) -> Sweep:
    """The sweep that a parsed TOML table describes."""
    name = content.get("name", default_name)
    _refuse_unknown(f"the sweep {name}", content, _SWEEP_KEYS)
    blocks = content.get("block", [])
    if not isinstance(blocks, list) or not blocks:
        raise InputError(f"the sweep {name} has no [[block]]; add one with a kind and a grid")
    batch = content.get("batch", 1)
    if type(batch) is not int or batch < 1:
        raise InputError(f"batch of the sweep {name} is {batch!r}; it must be a whole number from 1 on")
    placed = [pair for block in blocks for pair in _block_tasks(name, block, trials)]
    # Blocks side by side: an unfinished run has all points already, with fewer trials each.
    tasks = [task for _, task in sorted(placed, key=lambda pair: pair[0])]
    return Sweep(name, content.get("description", "no description"), tuple(dict.fromkeys(tasks)), batch)


def _block_tasks(name: str, block: Mapping[str, Any], most: int | None) -> list[tuple[float, Task]]:
    """The block's tasks, each with its place in the block between 0 and 1."""
    _refuse_unknown(f"a block of the sweep {name}", block, _BLOCK_KEYS)
    if "kind" not in block:
        raise InputError(f"a block of the sweep {name} has no kind; say what to run")
    grid, fixed, trials = block.get("grid", {}), block.get("fixed", {}), block.get("trials", 1)
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{key} in a grid of the sweep {name} is {values!r}; it must be a list")
    if type(trials) is not int or trials < 1:
        raise InputError(f"trials in the sweep {name} is {trials!r}; it must be a whole number from 1 on")
    trials = min(trials, most or trials)
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [
        (trial / trials, make_task(block["kind"], **fixed, **point, trial=trial)) for trial in range(trials) for point in points
    ]


def _refuse_unknown(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
