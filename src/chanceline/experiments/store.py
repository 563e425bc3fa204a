"""One SQLite file that keeps one row per finished task.

WAL mode, one writer, one transaction per batch of results: a process killed at any moment loses at most the
tasks in flight. The file says that it is ours (``application_id``) and of which schema (``user_version``);
anything else is refused and left as it was.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline.errors import InputError
from chanceline.experiments.tasks import Task, canonical
from chanceline.files import write_bytes, write_text

if TYPE_CHECKING:
    import pandas

SCHEMA = 1
APPLICATION = 0x43484C4E  # "CHLN"

_TABLE = """
CREATE TABLE results (
    id TEXT PRIMARY KEY,       -- canonical id of the task
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,  -- canonical JSON, every default in force included
    result TEXT NOT NULL,      -- canonical JSON
    made_with TEXT NOT NULL,   -- versions of this package and of those that do its arithmetic
    seconds REAL NOT NULL      -- processor time it took where it ran; never part of a comparison
) WITHOUT ROWID
"""


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


class Store:
    """A results file, opened for writing (one at a time) or for reading (any number, also during a run).

    Parameters
    ----------
    path : path-like
        Created when writing and not there yet (an empty file counts as not there).
    write : bool
        Take the writer's lock. A second writer is refused until the first has closed or died.
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False):
        self.path = Path(path)
        self._lock: sqlite3.Connection | None = None
        if not write and not self.path.exists():
            raise InputError(f"there is no store {self.path}; `chanceline sweep run` makes one")
        if not self.path.parent.is_dir():
            raise InputError(f"the folder {self.path.parent} of the store does not exist; create it first")
        if write:
            self._lock = _lock(self.path)
        try:
            self._connection = _connect(self.path, write)
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM results").fetchone()[0])

    def finished(self) -> set[str]:
        """Ids of all finished tasks."""
        return {row[0] for row in self._connection.execute("SELECT id FROM results")}

    def seconds(self) -> dict[str, float]:
        """Processor time each finished task took, by id."""
        return dict(self._connection.execute("SELECT id, seconds FROM results"))

    def records(self, kind: str | None = None) -> Iterator[Record]:
        """All records in the order of their ids, which does not depend on how they were made."""
        query = "SELECT kind, parameters, result, made_with, seconds FROM results"
        rows = self._connection.execute(f"{query} WHERE ? IS NULL OR kind = ? ORDER BY id", (kind, kind))
        for name, parameters, result, versions, seconds in rows:
            yield Record(Task(name, json.loads(parameters)), json.loads(result), versions, seconds)

    def add(self, records: Iterable[Record]) -> int:
        """Save records in one transaction; returns how many were new.

        A task has one result: a record that contradicts what is stored refuses the whole batch.
        """
        if self._lock is None:
            raise InputError(f"the store {self.path} was opened for reading; open it with write=True")
        new = 0
        with self._connection:
            for record in records:
                task, text = record.task, canonical(dict(record.result))
                query = "SELECT result FROM results WHERE id = ?"
                known = self._connection.execute(query, (task.id,)).fetchone()
                parameters = canonical(dict(task.parameters))
                if known is None:
                    values = (task.id, task.kind, parameters, text, record.made_with, record.seconds)
                    self._connection.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)", values)
                    new += 1
                elif known[0] != text:
                    raise InputError(
                        f"task {task.id} ({task.kind}, {parameters}) has another result in {self.path}; "
                        "keep results of different versions in different stores"
                    )
        return new

    def merge(self, others: Iterable[str | os.PathLike[str]]) -> int:
        """Take over the records of other stores, all or none of each; returns how many were new."""
        new = 0
        for other in others:
            with Store(other) as source:
                new += self.add(source.records())
        return new

    def frame(self, kind: str | None = None) -> pandas.DataFrame:
        """One row a task, sorted by kind and parameters; lists (curves) as JSON text."""
        return frame(self.records(kind))

    def export(self, path: str | os.PathLike[str], kind: str | None = None) -> int:
        """Write CSV or Parquet, by the name's ending; returns the number of rows."""
        target = Path(path)
        table = self.frame(kind)
        if target.suffix == ".csv":
            write_text(target, table.to_csv(index=False, lineterminator="\n"))
        elif target.suffix == ".parquet":
            try:
                write_bytes(target, table.to_parquet(None, index=False))
            except ImportError as error:
                raise InputError("Parquet needs pyarrow: pip install 'chanceline[parquet]'") from error
        else:
            raise InputError(f"cannot tell the format of {target}; end its name in .csv or .parquet")
        return len(table)


def frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Records as a table, in an order that depends on their contents alone."""
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


def _lock(path: Path) -> sqlite3.Connection:
    """The writer's lock: a transaction on a file beside the store, which the system ends with the process."""
    lock = sqlite3.connect(path.with_name(path.name + ".lock.sqlite"), timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        raise InputError(f"another process is writing to {path}; wait for it, or name another store and merge later") from error
    return lock


def _connect(path: Path, write: bool) -> sqlite3.Connection:
    if not write and path.stat().st_size == 0:
        raise InputError(f"{path} is empty; no task has been finished in it yet")
    connection = sqlite3.connect(path, timeout=30)
    try:
        _check(connection, path, write)
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            # With WAL, NORMAL survives the death of the process at any moment.
            connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise InputError(
            f"{path} is damaged or not a chanceline store ({error}); it was left as it is, move it away or name another"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application == 0 and schema == 0 and tables == 0:
        if not write:
            raise InputError(f"{path} is empty; no task has been finished in it yet")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        return
    if application != APPLICATION:
        raise InputError(f"{path} is another program's database; it was left as it is, name another store")
    if schema != SCHEMA:
        raise InputError(
            f"{path} has schema {schema} and this version of chanceline reads schema {SCHEMA}; "
            "it was left as it is, name another store or use the version that made it"
        )
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise InputError(f"{path} is damaged ({problem}); it was left as it is, name another store")
