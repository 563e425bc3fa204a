"""A sweep's store as a page: what was run, averages with their errors, pictures, versions."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline import __version__
from chanceline.errors import InputError
from chanceline.experiments.records import Record
from chanceline.experiments.store import Store
from chanceline.report.page import Page, figure, table, tiles, verdict

if TYPE_CHECKING:
    import pandas as pd


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
    methods = (
        f"{len(records)} independent tasks ({', '.join(kinds)}) were run with chanceline {__version__}; seeds follow from "
        "each task's canonical id, so that results do not depend on the machine, the number of workers or the order. "
        "Averages are given with standard errors over trials."
    )
    provenance = {
        "store": name,
        "SHA-256 of the task ids": _hash_ids(records),
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
    page = Page(f"Sweep {name}", record, methods, provenance)
    plural = "s" if len(records) != 1 else ""
    page.add(verdict("unclear", f"{len(records)} task{plural} finished", f"Kinds: {', '.join(kinds)}."))
    page.add(tiles([("tasks", len(records), "finished"), ("time", f"{seconds:.1f} s", "of one core"), ("kinds", len(kinds), "")]))
    for kind, frame in tables.items():
        page.section(f"Averages: {kind}", *_pictures(frame), table(list(frame.columns), frame.itertuples(index=False)))
    return page


def averages(records: list[Record]) -> pd.DataFrame:
    """Mean and standard error of every numeric result over the trials of each point; constant parameters left out."""
    import pandas as pd

    keys = sorted({key for record in records for key in record.task.parameters if key != "trial"})
    rows = [{**record.task.parameters, **{f"result:{k}": v for k, v in record.result.items()}} for record in records]
    frame = pd.DataFrame(rows)
    numeric = [name for name in frame if str(name).startswith("result:") and pd.api.types.is_numeric_dtype(frame[name])]
    varied = [key for key in keys if frame[key].nunique(dropna=False) > 1] or keys[:1]
    grouped = frame.groupby(varied, dropna=False, sort=True)
    table = grouped.size().rename("trials").reset_index()
    for name in numeric:
        values = grouped[name].agg(["mean", "sem"]).reset_index()
        label = str(name).removeprefix("result:")
        table[label] = values["mean"].astype(float)
        table[f"± {label}"] = values["sem"].astype(float)
    return table


def _pictures(frame: pd.DataFrame) -> list[str]:
    """One picture for each result against the parameter with most values."""
    import pandas as pd

    columns = [str(name) for name in frame.columns]
    parameters = columns[: columns.index("trials")]
    results = [name for name in columns[columns.index("trials") + 1 :] if not name.startswith("± ")]
    axis = max(parameters, key=lambda key: frame[key].nunique() if pd.api.types.is_numeric_dtype(frame[key]) else 0)
    if frame[axis].nunique() < 2 or not pd.api.types.is_numeric_dtype(frame[axis]):
        return []
    others = [key for key in parameters if key != axis]
    lines = list(frame.groupby(others, dropna=False)) if others else [((), frame)]
    if len(lines) > MOST_LINES:
        return []

    def draw(result: str) -> Any:
        def on(ax: Any) -> None:
            for values, part in lines:
                label = ", ".join(f"{key} = {value}" for key, value in zip(others, values, strict=True))
                # A dollar sign would start matplotlib's mathematics.
                ax.errorbar(part[axis], part[result], part[f"± {result}"], marker="o", label=label.replace("$", r"\$") or None)
            ax.set(xlabel=axis.replace("$", r"\$"), ylabel=result.replace("$", r"\$"))
            if others:
                ax.legend(fontsize="small")

        return on

    return [figure(draw(result), f"{result} against {axis}, mean and standard error over trials") for result in results]


def _hash_ids(records: list[Record]) -> str:
    return hashlib.sha256("\n".join(record.task.id for record in records).encode()).hexdigest()
