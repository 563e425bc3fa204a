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

import math
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
MOST_TASKS = 1_000_000  # some hundred megabytes of tasks; more of them belong into several sweeps


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
        content = path.read_bytes()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"the sweep {path} is not UTF-8 text; save it as such") from error
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the sweep {source} is not valid TOML: {error}") from error
    return parse_sweep(table, default_name=Path(source).stem, trials=trials)


def parse_sweep(content: Mapping[str, Any], *, default_name: str = "sweep", trials: int | None = None) -> Sweep:
    """The sweep that a parsed TOML table describes."""
    name = _plain_name(content.get("name", default_name))
    _refuse_unknown(f"the sweep {name}", content, _SWEEP_KEYS)
    blocks = content.get("block", [])
    if not isinstance(blocks, list) or not blocks:
        raise InputError(f"the sweep {name} has no [[block]]; add one with a kind and a grid")
    description = content.get("description", "no description")
    if not isinstance(description, str):
        raise InputError(f"description of the sweep {name} is {description!r}; it must be text")
    batch = content.get("batch", 1)
    if type(batch) is not int or batch < 1:
        raise InputError(f"batch of the sweep {name} is {batch!r}; it must be a whole number from 1 on")
    parsed = [_parse_block(name, block, trials) for block in blocks]
    count = sum(block.tasks for block in parsed)
    if count > MOST_TASKS:
        raise InputError(f"the sweep {name} has {count:.3g} tasks, more than {MOST_TASKS:,}; ask for fewer trials or split it")
    placed = [pair for block in parsed for pair in _placed_tasks(block)]
    # Blocks side by side: an unfinished run has all points already, with fewer trials each.
    tasks = [task for _, task in sorted(placed, key=lambda pair: pair[0])]
    return Sweep(name, description, tuple(dict.fromkeys(tasks)), batch)


@dataclass(frozen=True)
class _Block:
    kind: str
    grid: Mapping[str, list[Any]]
    fixed: Mapping[str, Any]
    trials: int

    @property
    def tasks(self) -> int:
        return self.trials * math.prod(len(values) for values in self.grid.values())


def _parse_block(name: str, block: Any, most: int | None) -> _Block:
    where = f"a block of the sweep {name}"
    if not isinstance(block, Mapping):
        raise InputError(f"{where} is {block!r}; it must be a table with a kind and a grid")
    _refuse_unknown(where, block, _BLOCK_KEYS)
    if "kind" not in block:
        raise InputError(f"{where} has no kind; say what to run")
    if not isinstance(block["kind"], str):
        raise InputError(f"the kind in {where} is {block['kind']!r}; it must be text")
    grid, fixed, trials = block.get("grid", {}), block.get("fixed", {}), block.get("trials", 1)
    for key, table in (("grid", grid), ("fixed", fixed)):
        if not isinstance(table, Mapping):
            raise InputError(f"{key} in {where} is {table!r}; it must be a table of parameters")
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{key} in a grid of the sweep {name} is {values!r}; it must be a list")
    twice = sorted(set(grid) & set(fixed)) or sorted({"kind", "seed", "trial"} & (set(grid) | set(fixed)))
    if twice:
        raise InputError(f"{twice[0]!r} in {where} is given twice, or is not a parameter that can be given")
    if type(trials) is not int or trials < 1:
        raise InputError(f"trials in the sweep {name} is {trials!r}; it must be a whole number from 1 on")
    return _Block(block["kind"], grid, fixed, min(trials, most or trials))


def _placed_tasks(block: _Block) -> list[tuple[float, Task]]:
    """The block's tasks, each with its place in the block between 0 and 1."""
    points = [dict(zip(block.grid, values, strict=True)) for values in product(*block.grid.values())]
    return [
        (trial / block.trials, make_task(block.kind, **block.fixed, **point, trial=trial))
        for trial in range(block.trials)
        for point in points
    ]


def _plain_name(name: Any) -> str:
    """A name that can name a file in this folder, and no other."""
    if isinstance(name, str) and name.isprintable() and name not in ("", ".", "..") and not set(name) & set("/\\:"):
        return name
    raise InputError(f"the sweep's name is {name!r}; it must be plain text without / or \\, as the store is named after it")


def _refuse_unknown(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
