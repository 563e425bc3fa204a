"""A sweep's store as a page: what was run, averages with their errors, pictures, versions."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline.errors import InputError
from chanceline.experiments.fits import average
from chanceline.experiments.store import Record, Store
from chanceline.report.page import Page, drawn

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup


# More lines than this in one picture tell nothing.
MOST_LINES = 10


def write_sweep_report(store: str | Path, path: str | Path) -> Path:
    """Write the results of a sweep's store as one HTML file."""
    return sweep_page(store).write(path)


def sweep_page(store: str | Path) -> Page:
    """The page before it is written."""
    with Store(store) as results:
        records = list(results.records())
    if not records:
        raise InputError(f"the store {store} holds no finished task yet; run a sweep first.")
    kinds = sorted({record.task.kind for record in records})
    seconds = sum(record.seconds for record in records)
    made_with = sorted({record.made_with for record in records})
    tables = {kind: averages([record for record in records if record.task.kind == kind]) for kind in kinds}
    name = Path(store).name
    provenance = {
        "store": name,
        "SHA-256 of the task ids": hashlib.sha256("\n".join(record.task.id for record in records).encode()).hexdigest(),
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
    pictures = {kind: _pictures(frame) for kind, frame in tables.items()}
    values = {"tasks": len(records), "seconds": seconds, "tables": tables, "pictures": pictures}
    return Page("sweep.html", f"Sweep {name}", record, values, provenance)


def averages(records: list[Record]) -> pd.DataFrame:
    """Mean and error (`average`) of every numeric result over the trials of each point; constant parameters left out."""
    import pandas as pd

    keys = sorted({key for record in records for key in record.task.parameters if key != "trial"})
    rows = [{**record.task.parameters, **{f"result:{k}": v for k, v in record.result.items()}} for record in records]
    frame = pd.DataFrame(rows)
    numeric = [name for name in frame if str(name).startswith("result:") and pd.api.types.is_numeric_dtype(frame[name])]
    varied = [key for key in keys if frame[key].nunique(dropna=False) > 1] or keys[:1]
    grouped = frame.groupby(varied, dropna=False, sort=True)
    table = grouped.size().rename("trials").reset_index()
    for name in numeric:
        estimates = [average(values.dropna()) for _, values in grouped[name]]
        label = str(name).removeprefix("result:")
        table[label] = [estimate.value for estimate in estimates]
        table[f"± {label}"] = [estimate.error for estimate in estimates]
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
            ax.errorbar(part[axis], part[result], part[f"± {result}"], marker="o", label=label.replace("$", r"\$") or None)
        ax.set(xlabel=axis.replace("$", r"\$"), ylabel=result.replace("$", r"\$"))
        if others:
            ax.legend(fontsize="small")

    captions = {result: f"{result} against {axis}, mean and standard error over trials" for result in results}
    return {caption: drawn(partial(draw, result=result), caption) for result, caption in captions.items()}
