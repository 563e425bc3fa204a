"""A sweep's store as a page: averages with their errors, and pictures of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from chanceline.errors import InputError
from chanceline.experiments.extrapolation import mean_estimate
from chanceline.experiments.store import Record, Store
from chanceline.figures.style import legend_below
from chanceline.report.page import Drawings, Page, draw_for_page

# More lines than this in one picture tell nothing.
MAX_LINES = 10


@dataclass(frozen=True)
class Averages:
    """Results of one kind of task, averaged over the trials of each point.

    Attributes
    ----------
    table : one row for each point: its parameters, the number of trials, and for every result its
        mean and, in the column `error_column`, its standard error.
    parameters : names of the columns that tell the points apart.
    results : names of the columns of means.
    """

    table: pd.DataFrame
    parameters: list[str]
    results: list[str]


def error_column(result: str) -> str:
    """The column with the standard errors of a result."""
    return f"± {result}"


def write_sweep_report(store: str | Path, path: str | Path) -> Path:
    """Write the results of a sweep's store as one HTML file."""
    with Store(store) as results:
        records = list(results.records())
    if not records:
        raise InputError(f"the store {store} holds no finished task yet; run a sweep first.")
    return sweep_page(Path(store).name, records).write(path)


def sweep_page(store_name: str, records: Sequence[Record]) -> Page:
    """The page of a sweep's finished tasks, before it is written.

    For each kind of task it has a table of averages over trials, and pictures of them.

    Parameters
    ----------
    store_name : the name of the file with the results.
    records : the finished tasks with their results.
    """
    records_of_kind: dict[str, list[Record]] = {}
    for record in records:
        records_of_kind.setdefault(record.task.kind, []).append(record)

    # Average and draw each kind of task by itself: they have different parameters and results.
    table_of_kind: dict[str, pd.DataFrame] = {}
    pictures_of_kind: dict[str, dict[str, Drawings]] = {}
    for kind in sorted(records_of_kind):
        averages = average_trials(records_of_kind[kind])
        table_of_kind[kind] = averages.table
        pictures_of_kind[kind] = draw_averages(averages)
    rows_of_kind = {kind: table.to_dict("records") for kind, table in table_of_kind.items()}

    seconds = sum(record.seconds for record in records)  # of processor time
    made_with = sorted({record.made_with for record in records})  # versions of packages
    task_ids = "\n".join(record.task.id for record in records)
    return Page(
        template="sweep.html",
        title=f"Sweep {store_name}",
        # The numbers as plain data, which the page has as JSON at its end.
        record={
            "store": store_name,
            "tasks": len(records),
            "seconds": seconds,
            "made_with": made_with,
            "averages": rows_of_kind,
        },
        # The values of the template's variables, for what the page shows.
        values={
            "tasks": len(records),
            "seconds": seconds,
            "tables": table_of_kind,
            "pictures": pictures_of_kind,
        },
        # What is needed to run the same tasks again.
        provenance={
            "store": store_name,
            "SHA-256 of the task ids": hashlib.sha256(task_ids.encode()).hexdigest(),
            "seeds": "derived from each task's id",
            "made with": "; ".join(made_with),
        },
    )


def average_trials(records: Sequence[Record]) -> Averages:
    """Average every numeric result over the trials of each point.

    A point is one combination of parameters; its trials differ only by their seeds.

    Parameters
    ----------
    records : finished tasks of one kind.

    Returns
    -------
    Averages
        Its table has one row for each point, in ascending order of the parameters: the parameters
        that tell points apart, the number of trials, and for every numeric result its mean over the
        trials and the standard error of the mean.
    """
    # Row i of both frames belongs to record i. They are not joined to one frame, because a result
    # may have the name of a parameter.
    parameters = pd.DataFrame([record.task.parameters for record in records])
    results = pd.DataFrame([record.result for record in records])

    # Group the records by point. `groupby` keeps one order of the groups: row i of `table` and
    # entry i of `records_of_points` belong to the same point.
    point_parameters = _parameters_of_points(parameters)
    points = parameters.groupby(point_parameters, dropna=False, sort=True)
    table = points.size().rename("trials").reset_index()
    records_of_points = [group.index for _, group in points]  # numbers of rows in both frames

    # Add two columns for each result: its mean and the standard error of the mean.
    numeric_results = list(results.select_dtypes(("number", "bool")))
    for name in numeric_results:
        estimates = []
        for records_of_point in records_of_points:
            values = results.loc[records_of_point, name].dropna()
            estimates.append(mean_estimate(values))
        table[name] = [estimate.value for estimate in estimates]
        table[error_column(name)] = [estimate.error for estimate in estimates]
    return Averages(table=table, parameters=point_parameters, results=numeric_results)


def _parameters_of_points(parameters: pd.DataFrame) -> list[str]:
    """The names of the parameters that tell points apart; the first one if all are the same."""
    names = sorted(name for name in parameters.columns if name != "trial")
    varying = [name for name in names if parameters[name].nunique(dropna=False) > 1]
    return varying or names[:1]


def draw_averages(averages: Averages) -> dict[str, Drawings]:
    """Draw every result against one parameter, with error bars.

    On the x-axis is the numeric parameter with most different values. There is one line for each
    combination of the other parameters.

    Returns
    -------
    caption → drawing; empty if no numeric parameter varies, or if there would be too many lines.
    """
    # Choose the parameter on the x-axis.
    numeric_parameters = averages.table[averages.parameters].select_dtypes("number")
    n_values = numeric_parameters.nunique()
    if numeric_parameters.empty or n_values.max() < 2:
        return {}
    x_name = str(n_values.idxmax())

    # Split the table into lines.
    line_parameters = [name for name in averages.parameters if name != x_name]
    lines = _lines_of(averages.table, line_parameters)
    if len(lines) > MAX_LINES:
        return {}

    pictures = {}
    for y_name in averages.results:
        caption = f"{y_name} against {x_name}, mean and standard error over trials"
        draw = partial(_draw_result, lines=lines, x_name=x_name, y_name=y_name)
        pictures[caption] = draw_for_page(draw, caption)
    return pictures


class Line(NamedTuple):
    """A part of a table that is drawn as one line; the label is empty if it is the whole table."""

    label: str
    rows: pd.DataFrame


def _lines_of(table: pd.DataFrame, names: list[str]) -> list[Line]:
    """The rows that agree in the columns `names`, one line for each combination of values."""
    if not names:
        return [Line(label="", rows=table)]
    lines = []
    for values, rows in table.groupby(names, dropna=False):
        pairs = zip(names, values, strict=True)
        lines.append(Line(", ".join(f"{name} = {value}" for name, value in pairs), rows))
    return lines


def _draw_result(ax: Any, lines: Sequence[Line], x_name: str, y_name: str) -> None:
    """Draw a result against a parameter on the axes `ax`, with error bars.

    Parameters
    ----------
    ax : axes of matplotlib.
    lines : the rows of the table of averages, split into lines. If there is only one line, its
        label is empty.
    x_name, y_name : the columns of the parameter and of the result.
    """
    for line in lines:
        ax.errorbar(
            x=line.rows[x_name],
            y=line.rows[y_name],
            yerr=line.rows[error_column(y_name)],
            marker="o",
            label=_without_formulas(line.label) or None,
        )
    ax.set(xlabel=_without_formulas(x_name), ylabel=_without_formulas(y_name))
    if lines[0].label:
        legend_below(ax)


def _without_formulas(text: str) -> str:
    """Text for matplotlib, in which a dollar sign would start a formula."""
    return text.replace("$", r"\$")
