"""Options that several commands share, each with one name, one meaning and one help text.

A command writes `seed: Seed = 0`. Options that are settings of the library are in
`settings_options`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline._io import check_target


def writable(path: Path | None) -> Path | None:
    """Refuse a place that cannot be written to before anything is computed."""
    if path is None:
        return None
    return check_target(path)


def drawable(path: Path | None) -> Path | None:
    """Refuse a place or a format that a figure cannot be written to."""
    if path is None:
        return None
    from chanceline.figures.style import check_figure

    return check_figure(path)


# The table
Data = Annotated[
    Path | None,
    typer.Argument(
        help="CSV (any separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, "
        "AnnData or .npz; samples in rows.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", help="Column with the two classes (name, or number from 0).", show_default=False
    ),
]

# Output
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.", callback=writable)]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="Write a self-contained HTML page as well.", callback=writable),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure", help="Write the picture as well (.svg, .png or .pdf).", callback=drawable
    ),
]

# Where and how long to compute
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Processes; all cores by default. The result is the same.",
        show_default=False,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Work on the Dask cluster at this address (tcp://HOST:8786).",
        show_default=False,
    ),
]
Signs = Annotated[
    str | None,
    typer.Option(
        "--signs",
        help="Signs of the weights where known (+: large values speak for the positive class): "
        "+ or - for all features, or name=+,other=-.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Iterations of one search; by default some seconds' worth.",
        show_default=False,
    ),
]

# The question
Intercept = Annotated[
    bool,
    typer.Option(
        "--intercept/--no-intercept", help="Whether the rule has a threshold, which is not counted."
    ),
]
Level = Annotated[float, typer.Option("--level", help="The p-value that convinces.")]
Null = Annotated[
    str,
    typer.Option("--null", help="fixed: class sizes are kept; coin: each label is a fair coin."),
]
