"""The folder that `chanceline reproduce` wrote as a page: every figure, and the numbers."""

from __future__ import annotations

import hashlib
import json
import re
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from chanceline.errors import InputError
from chanceline.report.page import Page, short_number, svg_in_page

SMALLEST_LETTER = 10  # pixels, for a figure to be readable
GLYPH_SIZE = 100  # of the outlines in which matplotlib draws letters, before they are scaled
# An error below this share of its number is not shown.
NEGLIGIBLE_ERROR = 1e-4


class FigureText(NamedTuple):
    """What stands around a figure: its heading, and a caption that says what is drawn."""

    heading: str
    caption: str


class FigureOnPage(NamedTuple):
    """A figure as the template takes it; `width` in pixels, at which its letters can be read."""

    name: str
    heading: str
    caption: str
    drawing: Markup
    width: int


FIGURES = {
    "clusters": FigureText(
        heading="How choices of variables die out as patterns are added",
        caption=(
            "The paper's first figure, computed: all choices of two of eight variables, and as "
            "sectors the directions of their weights that separate the patterns; below, the "
            "entropy of separating choices among many variables at the same density."
        ),
    ),
    "panels": FigureText(
        heading="How the space of solutions shrinks as patterns are added",
        caption=(
            "The paper's four panels at ρ = 0.5, against the load α: (a) overlaps within and "
            "between supports, (b) the response χ, (c) the entropy of separating choices, (d) "
            "both stability conditions."
        ),
    ),
    "capacity": FigureText(
        heading="The chance line: how much noise a choice of variables separates",
        caption=(
            "Capacity against the density ρ, the share of variables kept, between its closed-"
            "form neighbours."
        ),
    ),
    "unequal_classes": FigureText(
        heading="Unequal classes are easier to separate",
        caption=(
            "The chance line for several shares of positive patterns; the rule has a free "
            "threshold."
        ),
    ),
    "entropy_breaking": FigureText(
        heading="Entropy with breaking of symmetry between supports",
        caption=(
            "Left: entropy of separating choices, replica symmetric and with one step; right: "
            "the parameters of the step."
        ),
    ),
    "capacity_breaking": FigureText(
        heading="How far breaking moves the chance line",
        caption=(
            "Left: the capacity with and without breaking (shaded: where replica symmetry is "
            "exact); right: the corrections."
        ),
    ),
    "experiments-paper-fig3": FigureText(
        heading="The paper's search on finite problems",
        caption=(
            "Smallest sets that greedy-BIHT finds, over the chance line and the line without "
            "choice. Hollow points, where there are any, come with the package."
        ),
    ),
    "experiments-best": FigureText(
        heading="The best search on the same problems",
        caption="Smallest sets of the default search; crosses: extrapolated to N → ∞.",
    ),
    "experiments-entropy": FigureText(
        heading="Counting separating choices, beside theory",
        caption=(
            "Above: entropy against load, theory as lines and extrapolated counts as points; "
            "below: the extrapolation in 1/N."
        ),
    ),
    "experiments-capacity": FigureText(
        heading="Smallest sets for N → ∞, beside theory",
        caption=(
            "The difference from the first moment against 1/N for both kinds of inputs, and the"
            " limits minus ρ_VS."
        ),
    ),
    "memory_capacity": FigureText(
        heading="An associative memory that chooses its inputs: how much it holds",
        caption=(
            "Largest load against the share of inputs kept, for three ways of wiring, beside "
            "the theory."
        ),
    ),
    "memory_stability": FigureText(
        heading="How well it recalls, and what lost couplings cost",
        caption=(
            "Left: overlap after recall against the share of flipped bits in the probe; right: "
            "bits held against couplings cut."
        ),
    ),
}


def write_reproduce_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write one HTML file with the figures and numbers that `chanceline reproduce` made.

    `folder` is the folder that it wrote; `path` is the file to write, by default `report.html` in
    this folder. Returns the path of the file.
    """
    folder = Path(folder)
    if not (folder / "provenance.json").is_file():
        raise InputError(
            f"{folder} was not written by chanceline reproduce: it has no provenance.json."
        )
    try:
        page = reproduce_page(folder)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder} is damaged ({error}), or another version wrote it; run reproduce again."
        ) from error
    if path is None:
        path = folder / "report.html"
    return page.write(path)


def reproduce_page(folder: Path) -> Page:
    """The page of a folder that `chanceline reproduce` wrote, before it is written.

    provenance.json names the mode, the figures and the versions of packages; numbers.csv holds the
    numbers; each figure is a drawing (.svg) with its data (.csv). The page also shows one hash of
    the data of all figures.
    """
    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    numbers = pd.read_csv(folder / "numbers.csv").astype(object)
    # Cells may be empty (a number without an error), which pandas reads as NaN. They become null in
    # the record, and stay empty on the page.
    recorded_numbers = numbers.where(numbers.notna(), None)
    shown_numbers = numbers.fillna("")

    figures = []
    data_digest = hashlib.sha256()
    for name in provenance["figures"]:
        figures.append(read_figure(folder, name))
        data_digest.update((folder / f"{name}.csv").read_bytes())

    versions = [f"{name} {number}" for name, number in provenance["packages"].items()]
    return Page(
        template="reproduce.html",
        title="The paper's figures, recomputed",
        record={
            "provenance": provenance,
            "numbers": recorded_numbers.to_dict("records"),
        },
        values={
            "mode": provenance["mode"],
            "chanceline_version": provenance["packages"]["chanceline"],
            "figures": figures,
            "numbers": [number_cells(row) for row in shown_numbers.itertuples()],
        },
        provenance={
            "mode": provenance["mode"],
            "made with": ", ".join(versions),
            "SHA-256 of the data": data_digest.hexdigest(),
        },
    )


def read_figure(folder: Path, name: str) -> FigureOnPage:
    """Read the drawing of a figure, and add the heading and caption that the page shows with it.

    If no texts are known for this figure, its name stands for both.
    """
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
    text = FIGURES.get(name, FigureText(heading=name, caption=name))
    return FigureOnPage(
        name=name,
        heading=text.heading,
        caption=text.caption,
        drawing=svg_in_page(svg),
        width=readable_width(svg),
    )


def number_cells(row: Any) -> tuple[str, str, str, str]:
    """A row of numbers.csv as cells: quantity, value, what it is, and the paper's value."""
    quantity = row.quantity.replace("rho=", "ρ = ").replace("alpha=", "α = ")
    return quantity, rounded(row.value, row.error), row.source, row.paper


def readable_width(svg: str) -> int:
    """Pixels of width at which the smallest letters of a drawing are 10 pixels high.

    matplotlib draws letters as outlines of size 100 and scales them; 0 if there are none.
    """
    view_box = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) [\d.]+"', svg)
    scales = [float(scale) for scale in re.findall(r"scale\((0\.\d+) -0", svg)]
    if view_box is None or not scales:
        return 0
    width = float(view_box[1])
    smallest_letter = min(GLYPH_SIZE * scale for scale in scales)
    return ceil(width * SMALLEST_LETTER / smallest_letter)


def rounded(value: float, error: Any) -> str:
    """A number for reading: to the first digit of its error, or to five digits without one.

    `error` is empty text where the table has none.
    """
    if not error or error <= NEGLIGIBLE_ERROR * abs(value):
        return short_number(value, 5)
    exponent = int(f"{error:e}".partition("e")[2])
    decimals = max(0, -exponent)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
