"""The folder that `chanceline reproduce` wrote, as one page."""

from __future__ import annotations

import hashlib
import json
import re
from math import ceil
from pathlib import Path
from typing import Any

from chanceline.errors import InputError
from chanceline.report.page import Page, in_page, number

SMALLEST_LETTER = 10  # pixels
# Figure → its heading, and what is drawn.
FIGURES = {
    "panels": (
        "How the space of solutions shrinks as patterns are added",
        "The paper's four panels at ρ = 0.5, against the load α: (a) overlaps within and between supports, (b) the response χ, "
        "(c) the entropy of separating choices, (d) both stability conditions.",
    ),
    "capacity": (
        "The chance line: how much noise a choice of variables separates",
        "Capacity against the density ρ, the share of variables kept, between its closed-form neighbours.",
    ),
    "unequal_classes": (
        "Unequal classes are easier to separate",
        "The chance line for several shares of positive patterns; the rule has a free threshold.",
    ),
    "entropy_breaking": (
        "Entropy with breaking of symmetry between supports",
        "Left: entropy of separating choices, replica symmetric and with one step; right: the parameters of the step.",
    ),
    "capacity_breaking": (
        "How far breaking moves the chance line",
        "Left: the capacity with and without breaking (shaded: where replica symmetry is exact); right: the corrections.",
    ),
    "experiments-paper-fig3": (
        "The paper's search on finite problems",
        "Smallest sets that greedy-BIHT finds, over the chance line and the line without choice.",
    ),
    "experiments-best": (
        "The best search on the same problems",
        "Smallest sets of the default search; crosses: extrapolated to N → ∞.",
    ),
    "experiments-entropy": (
        "Counting separating choices, beside theory",
        "Above: entropy against load, theory as lines and extrapolated counts as points; below: the extrapolation in 1/N.",
    ),
    "experiments-capacity": (
        "Smallest sets for N → ∞, beside theory",
        "The difference from the first moment against 1/N for both kinds of inputs, and the limits minus ρ_VS.",
    ),
    "memory_capacity": (
        "An associative memory that chooses its inputs: how much it holds",
        "Largest load against the share of inputs kept, for three ways of wiring, beside the theory.",
    ),
    "memory_stability": (
        "How well it recalls, and what lost couplings cost",
        "Left: overlap after recall against the share of flipped bits in the probe; right: bits held against couplings cut.",
    ),
    "memory_pictures": (
        "Pictures stored among random patterns, and recalled",
        "Stored, disturbed and recalled; each column is one picture.",
    ),
}


def write_reproduce_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write the figures and numbers of a `reproduce` folder as one HTML file, by default `report.html` in it."""
    source = Path(folder)
    return reproduce_page(source).write(source / "report.html" if path is None else path)


def reproduce_page(folder: Path) -> Page:
    """The page before it is written."""
    import pandas as pd

    if not (folder / "provenance.json").is_file():
        raise InputError(f"{folder} was not written by chanceline reproduce: it has no provenance.json.")
    try:
        made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        numbers = pd.read_csv(folder / "numbers.csv").astype(object)
        drawings = {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in made["figures"]}
        packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
        tables = b"".join((folder / f"{name}.csv").read_bytes() for name in drawings)
        values = {
            "made": made,
            "figures": [
                (name, *FIGURES.get(name, (name, name)), in_page(svg), readable_width(svg)) for name, svg in drawings.items()
            ],
            "numbers": [
                (
                    row.quantity.replace("rho=", "ρ = ").replace("alpha=", "α = "),
                    rounded(row.value, row.error),
                    row.source,
                    row.paper,
                )
                for row in numbers.fillna("").itertuples()
            ],
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder} is damaged ({error}), or another version wrote it; run reproduce again.") from error
    provenance = {"mode": made["mode"], "made with": packages, "SHA-256 of the data": hashlib.sha256(tables).hexdigest()}
    record = {"provenance": made, "numbers": numbers.where(numbers.notna(), None).to_dict("records")}
    return Page("reproduce.html", "The paper's figures, recomputed", record, values, provenance)


def readable_width(svg: str) -> int:
    """Pixels at which the smallest letters that matplotlib drew (as outlines of size 100, scaled) are 10 pixels high."""
    found = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) [\d.]+"', svg)
    letters = [100 * float(scale) for scale in re.findall(r"scale\((0\.\d+) -0", svg)]
    return ceil(float(found[1]) * SMALLEST_LETTER / min(letters)) if found and letters else 0


def spelled(quantity: str) -> str:
    return quantity.replace("rho=", "ρ = ").replace("alpha=", "α = ")


def rounded(value: float, error: Any) -> str:
    """A number for reading: to the first digit of its error, or to five digits."""
    if not error or error <= 1e-4 * abs(value):
        return number(value, 5)
    places = max(0, -int(f"{error:e}".partition("e")[2]))
    return f"{value:.{places}f} ± {error:.{places}f}"
