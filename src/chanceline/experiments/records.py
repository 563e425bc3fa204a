"""A finished task and its seal: the checksum that a store keeps with every row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chanceline.experiments.tasks import Task, canonical

if TYPE_CHECKING:
    import pandas

COLUMNS = ("id", "kind", "parameters", "result", "made_with", "seconds")
# Sums of seals are kept modulo this.
_SPACE = 2**128


class BrokenRow(ValueError):
    """A row that is not what was written."""


@dataclass(frozen=True)
class Record:
    """A finished task: its result, what it was made with, and its processor time."""

    task: Task
    result: Mapping[str, Any]
    made_with: str
    seconds: float

    def row(self) -> dict[str, Any]:
        """Kind, parameters, results and versions side by side, as exports show them."""
        return {"kind": self.task.kind, **self.task.parameters, **self.result, "made_with": self.made_with}

    def values(self) -> tuple[str, str, str, str, str, float]:
        """What a store keeps, in the order of `COLUMNS`."""
        task = self.task
        parameters, result = canonical(dict(task.parameters)), canonical(dict(self.result))
        return task.id, task.kind, parameters, result, self.made_with, float(self.seconds)


def seal(values: Sequence[Any]) -> str:
    """Checksum over everything a row says, 32 hexadecimal digits."""
    return hashlib.sha256(canonical(list(values)).encode()).hexdigest()[:32]


def add_seals(total: str, seals: Iterable[str]) -> str:
    """The sum of all seals, which tells when a row is missing; it does not depend on the order."""
    return format((int(total, 16) + sum(int(one, 16) for one in seals)) % _SPACE, "032x")


def open_row(values: Sequence[Any], checksum: str | None) -> Record:
    """The record that a row holds, after its id and its checksum (None in stores of the first schema) were checked."""
    row_id, kind, parameters, result, versions, seconds = values
    if not (all(isinstance(value, str) for value in values[:5]) and isinstance(seconds, float)):
        raise BrokenRow("values of the wrong type")
    if checksum is not None and checksum != seal(values):
        raise BrokenRow("the checksum does not fit what it says")
    try:
        task, found = Task(kind, json.loads(parameters)), json.loads(result)
    except (ValueError, AttributeError, RecursionError) as error:
        raise BrokenRow(f"the parameters or the result cannot be read ({error})") from error
    if task.id != row_id:
        raise BrokenRow("the id is not that of the parameters")
    if not isinstance(found, dict):
        raise BrokenRow("the result is not one of a task")
    return Record(task, found, versions, seconds)


def frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Records as a table, in an order that depends on their contents alone; lists (curves) as JSON text."""
    import pandas

    rows: list[dict[str, Any]] = []
    parameters: dict[str, None] = {}
    for record in records:
        parameters.update(dict.fromkeys(record.task.parameters))
        rows.append({k: json.dumps(v) if isinstance(v, list) else v for k, v in record.row().items()})
    table = pandas.DataFrame(rows)
    if len(table):
        table = table.sort_values(["kind", *sorted(parameters)], kind="stable", ignore_index=True)
    return table
