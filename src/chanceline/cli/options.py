"""Options that several commands share, each with one name, one meaning and one help text.

A command writes `seed: SeedOption = 0`. Options that are settings of the library are in
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


def weighable(path: Path | None) -> Path | None:
    """Refuse a place or a format that weights cannot be written to."""
    if path is None:
        return None
    from chanceline.report.weights import check_weights_path

    return check_weights_path(path)


# The table
DataArgument = Annotated[
    Path | None,
    typer.Argument(
        help="CSV (any separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, "
        "AnnData, PLINK (.bed), Zarr, .npz or .npy; samples in rows.",
        show_default=False,
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label", help="Column with the two classes (name, or number from 0).", show_default=False
    ),
]

OutcomeLabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Column with the outcome: two or more classes, or a number (name, or number from 0).",
        show_default=False,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option("--time", help="Survival: column with the times.", show_default=False),
]
EventOption = Annotated[
    str | None,
    typer.Option(
        "--event",
        help="Survival: column with 1 where the event was seen, 0 where the time was cut off.",
        show_default=False,
    ),
]
OutcomeOption = Annotated[
    str | None,
    typer.Option(
        "--outcome",
        help="number or classes, where few whole numbers may be either.",
        show_default=False,
    ),
]

# Output
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
OutOption = Annotated[Path, typer.Option("--out", help="The file to write.", callback=writable)]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", help="Write a self-contained HTML page as well.", callback=writable),
]
FigureOption = Annotated[
    Path | None,
    typer.Option(
        "--figure", help="Write the picture as well (.svg, .png or .pdf).", callback=drawable
    ),
]

# Where and how long to compute
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Processes; all cores by default. The result is the same.",
        show_default=False,
    ),
]
RestartsOption = Annotated[
    int,
    typer.Option(
        "--restarts",
        min=1,
        help="Search from so many seeds, shared by --jobs, and take the best.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Work on the Dask cluster at this address (tcp://HOST:8786).",
        show_default=False,
    ),
]
SignsOption = Annotated[
    str | None,
    typer.Option(
        "--signs",
        help="Signs of the weights where known (+: large values speak for the positive class): "
        "+ or - for all features, or name=+,other=-.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Iterations of one search; by default some seconds' worth.",
        show_default=False,
    ),
]

# The question
InterceptOption = Annotated[
    bool,
    typer.Option(
        "--intercept/--no-intercept", help="Whether the rule has a threshold, which is not counted."
    ),
]
LevelOption = Annotated[float, typer.Option("--level", help="The p-value that convinces.")]
NullOption = Annotated[
    str,
    typer.Option("--null", help="fixed: class sizes are kept; coin: each label is a fair coin."),
]
