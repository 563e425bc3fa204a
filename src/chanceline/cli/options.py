"""Options that several commands have, each with one name, one meaning and one help text.

A command writes `seed: Seed = 0`; where its default differs from the others' it says so in its own help.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline._io import check_target


def _writable(path: Path | None) -> Path | None:
    """Refuse a place that cannot be written to before anything is computed."""
    if path is not None:
        check_target(path)
    return path


# Output
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.", callback=_writable)]
Report = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML page as well.", callback=_writable)]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Write the picture as well (.svg, .png or .pdf).", callback=_writable)
]

# Where and how long to compute
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes; all cores by default. The result is the same.", show_default=False),
]
Engine = Annotated[str, typer.Option("--engine", help="processes (on this machine) or dask (a cluster).")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Address of the Dask scheduler, such as tcp://HOST:8786.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
Budget = Annotated[
    int | None, typer.Option("--budget", help="Iterations of one search; by default some seconds' worth.", show_default=False)
]

# The question
Intercept = Annotated[
    bool, typer.Option("--intercept/--no-intercept", help="Whether the rule has a threshold, which is not counted.")
]
Level = Annotated[float, typer.Option("--level", help="The p-value that convinces.")]
Null = Annotated[str, typer.Option("--null", help="fixed: class sizes are kept; coin: each label is a fair coin.")]
