"""Finished runs as pages: a sweep's store (averages with their errors, pictures), and the folder that `reproduce` wrote."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from chanceline.errors import InputError
from chanceline.experiments.extrapolation import mean_estimate
from chanceline.experiments.store import Record, Store
from chanceline.figures.style import legend_below
from chanceline.report.page import Page, drawn, in_page, number

# More lines than this in one picture tell nothing.
MOST_LINES = 10
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
}


def write_sweep_report(store: str | Path, path: str | Path) -> Path:
    """Write the results of a sweep's store as one HTML file."""
    with Store(store) as results:
        records = list(results.records())
    if not records:
        raise InputError(f"the store {store} holds no finished task yet; run a sweep first.")
    seconds = sum(record.seconds for record in records)
    made_with = sorted({record.made_with for record in records})
    tables = {
        kind: averages([record for record in records if record.task.kind == kind])
        for kind in sorted({record.task.kind for record in records})
    }
    name = Path(store).name
    provenance = {
        "store": name,
        "SHA-256 of the task ids": hashlib.sha256(
            "\n".join(record.task.id for record in records).encode()
        ).hexdigest(),
        "seeds": "derived from each task's id",
        "made with": "; ".join(made_with),
    }
    record = {
        "store": name,
        "tasks": len(records),
        "seconds": seconds,
        "made_with": made_with,
        "averages": {kind: frame.to_dict("records") for kind, frame in tables.items()},
    }
    values = {
        "tasks": len(records),
        "seconds": seconds,
        "tables": tables,
        "pictures": {kind: _pictures(frame) for kind, frame in tables.items()},
    }
    return Page("sweep.html", f"Sweep {name}", record, values, provenance).write(path)


def averages(records: list[Record]) -> pd.DataFrame:
    """Mean and error (`mean_estimate`) of every numeric result over the trials of each point; constant parameters left out."""
    keys = sorted({key for record in records for key in record.task.parameters if key != "trial"})
    frame = pd.DataFrame(
        {**record.task.parameters, **{f"result:{k}": v for k, v in record.result.items()}}
        for record in records
    )
    varied = [key for key in keys if frame[key].nunique(dropna=False) > 1] or keys[:1]
    grouped = frame.groupby(varied, dropna=False, sort=True)
    table = grouped.size().rename("trials").reset_index()
    for name in frame.select_dtypes(("number", "bool")).filter(like="result:"):
        estimates = [mean_estimate(values.dropna()) for _, values in grouped[name]]
        label = name.removeprefix("result:")
        table[label], table[f"± {label}"] = zip(*estimates, strict=True)
    return table


def _pictures(frame: pd.DataFrame) -> dict[str, dict[str, Markup]]:
    """One picture for each result against the numeric parameter with most values, by its caption."""
    columns = [str(name) for name in frame.columns]
    parameters = columns[: columns.index("trials")]
    results = [name for name in columns[columns.index("trials") + 1 :] if not name.startswith("± ")]
    numeric = frame[parameters].select_dtypes("number")
    if numeric.empty or numeric.nunique().max() < 2:
        return {}
    axis = str(numeric.nunique().idxmax())
    others = [key for key in parameters if key != axis]
    lines = list(frame.groupby(others, dropna=False)) if others else [((), frame)]
    if len(lines) > MOST_LINES:
        return {}

    def draw(ax: Any, result: str) -> None:
        for values, part in lines:
            label = ", ".join(f"{key} = {value}" for key, value in zip(others, values, strict=True))
            # A dollar sign would start matplotlib's mathematics.
            ax.errorbar(
                part[axis],
                part[result],
                part[f"± {result}"],
                marker="o",
                label=label.replace("$", r"\$") or None,
            )
        ax.set(xlabel=axis.replace("$", r"\$"), ylabel=result.replace("$", r"\$"))
        if others:
            legend_below(ax)

    captions = {
        result: f"{result} against {axis}, mean and standard error over trials"
        for result in results
    }
    return {
        caption: drawn(partial(draw, result=result), caption)
        for result, caption in captions.items()
    }


def write_reproduce_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write the figures and numbers of a `reproduce` folder as one HTML file, by default `report.html` in it."""
    folder = Path(folder)
    if not (folder / "provenance.json").is_file():
        raise InputError(
            f"{folder} was not written by chanceline reproduce: it has no provenance.json."
        )
    try:
        made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        numbers = pd.read_csv(folder / "numbers.csv").astype(object)
        drawings = {
            name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in made["figures"]
        }
        packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
        tables = b"".join((folder / f"{name}.csv").read_bytes() for name in drawings)
        values = {
            "made": made,
            "figures": [
                (name, *FIGURES.get(name, (name, name)), in_page(svg), readable_width(svg))
                for name, svg in drawings.items()
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
        raise InputError(
            f"{folder} is damaged ({error}), or another version wrote it; run reproduce again."
        ) from error
    provenance = {
        "mode": made["mode"],
        "made with": packages,
        "SHA-256 of the data": hashlib.sha256(tables).hexdigest(),
    }
    record = {
        "provenance": made,
        "numbers": numbers.where(numbers.notna(), None).to_dict("records"),
    }
    page = Page("reproduce.html", "The paper's figures, recomputed", record, values, provenance)
    return page.write(folder / "report.html" if path is None else path)


def readable_width(svg: str) -> int:
    """Pixels at which the smallest letters that matplotlib drew (as outlines of size 100, scaled) are 10 pixels high."""
    found = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) [\d.]+"', svg)
    letters = [100 * float(scale) for scale in re.findall(r"scale\((0\.\d+) -0", svg)]
    return ceil(float(found[1]) * SMALLEST_LETTER / min(letters)) if found and letters else 0


def rounded(value: float, error: Any) -> str:
    """A number for reading: to the first digit of its error, or to five digits."""
    if not error or error <= 1e-4 * abs(value):
        return number(value, 5)
    places = max(0, -int(f"{error:e}".partition("e")[2]))
    return f"{value:.{places}f} ± {error:.{places}f}"
