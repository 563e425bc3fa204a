"""Where `reproduce` writes: each figure as PNG and SVG, with its data as CSV beside it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from chanceline._io import write_text
from chanceline.figures.style import save

_PACKAGES = ("chanceline", "numpy", "scipy", "numba", "matplotlib", "pandas")


@dataclass
class Folder:
    """Collects what a run makes.

    Attributes
    ----------
    mode
        "quick" (a minute, small runs made on the spot), "normal", or "full" (everything, resumable).
    say
        Receives one line of progress at a time.
    """

    path: Path
    mode: str
    say: Callable[[str], None]
    written: list[str] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
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
        for ax, draw in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            draw(ax)
        self.save(name, figure, table)

    def save(self, name: str, figure: Figure, table: pd.DataFrame) -> None:
        """Write `name`.png, `name`.svg and `name`.csv."""
        for kind in ("png", "svg"):
            save(figure, self.path / f"{name}.{kind}")
        write_text(self.path / f"{name}.csv", table.to_csv(index=False))
        self.written.append(name)
        self.say(f"{name}: png, svg, csv")

    def number(
        self, quantity: str, value: float, error: float | None, source: str, paper: str = ""
    ) -> None:
        """Keep one number for numbers.csv."""
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
            "packages": {name: version(name) for name in _PACKAGES},
        }
        write_text(self.path / "provenance.json", json.dumps(provenance, indent=2) + "\n")
