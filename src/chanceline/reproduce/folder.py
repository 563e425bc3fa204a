"""Where `reproduce` writes: each figure as PNG and SVG, with its data as CSV beside it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from chanceline._io import write_text
from chanceline.figures.style import save

RECORDED_PACKAGES = ("chanceline", "numpy", "scipy", "numba", "matplotlib", "pandas")


class Mode(StrEnum):
    """How much is computed."""

    QUICK = "quick"  # a minute, with small runs made on the spot
    NORMAL = "normal"
    FULL = "full"  # everything, resumable


@dataclass
class Folder:
    """Collects what a run makes.

    Attributes
    ----------
    path
        The folder; made if it is not there.
    mode
        A `Mode`, or its name.
    say
        Receives one line of progress at a time.
    written
        Names of the figures written so far.
    numbers
        Rows of numbers.csv.
    """

    path: Path
    mode: Mode | str
    say: Callable[[str], None]
    written: list[str] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mode = Mode(self.mode)
        self.path.mkdir(parents=True, exist_ok=True)

    def draw(
        self,
        name: str,
        table: pd.DataFrame,
        *panels: Callable[[Any], None],
        size: tuple[float, float] = (7.4, 5.6),
    ) -> None:
        """`save` a figure of panels side by side, one for each function, which gets its axes."""
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, draw_panel in zip(axes, panels, strict=True):
            draw_panel(ax)
        self.save(name, figure, table)

    def save(self, name: str, figure: Figure, table: pd.DataFrame) -> None:
        """Write `name`.png, `name`.svg and `name`.csv."""
        for ending in ("png", "svg"):
            save(figure, self.path / f"{name}.{ending}")
        write_text(self.path / f"{name}.csv", table.to_csv(index=False))
        self.written.append(name)
        self.say(f"{name}: png, svg, csv")

    def add_number(
        self,
        quantity: str,
        value: float,
        *,
        source: str,
        error: float | None = None,
        paper: str = "",
    ) -> None:
        """Add a row to numbers.csv: a number with its source and its place in the paper."""
        self.numbers.append(
            {"quantity": quantity, "value": value, "error": error, "source": source, "paper": paper}
        )

    def finish(self) -> None:
        """Write numbers.csv and provenance.json."""
        write_text(self.path / "numbers.csv", pd.DataFrame(self.numbers).to_csv(index=False))
        provenance = {
            "mode": self.mode,
            "figures": self.written,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in RECORDED_PACKAGES},
        }
        write_text(self.path / "provenance.json", json.dumps(provenance, indent=2) + "\n")
