"""One SQLite file that keeps one row for each finished task.

One writer, one transaction for each batch of results: a process killed at any moment loses at most the tasks in hand. The file
says that it is ours (``application_id``) and of which schema (``user_version``), and every row carries a checksum over all it
says. Opening checks the file and reads it once; what is damaged, or another program's, is refused and left as it is.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline._io import check_target, write_bytes, write_text
from chanceline.errors import InputError
from chanceline.experiments.tasks import Task, canonical, digest

if TYPE_CHECKING:
    import pandas

SCHEMA = 3
READABLE = (2, SCHEMA)  # schema 2 has the same rows, and a second table that is no longer needed
APPLICATION = 0x43484C4E  # "CHLN"
WAIT_SECONDS = 30  # for another process that is in the middle of a transaction

COLUMNS = ("id", "kind", "parameters", "result", "made_with", "seconds")
_TABLE = """
CREATE TABLE results (
    id TEXT PRIMARY KEY,       -- canonical id of the task
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,  -- canonical JSON, every default in force included
    result TEXT NOT NULL,      -- canonical JSON
    made_with TEXT NOT NULL,   -- versions of this package and of those that do its arithmetic
    seconds REAL NOT NULL,     -- processor time it took where it ran; never part of a comparison
    checksum TEXT NOT NULL     -- over all of the above
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Record:
    """A finished task: its result, what it was made with, and its processor time."""

    task: Task
    result: Mapping[str, Any]
    made_with: str
    seconds: float

    def values(self) -> tuple[str, str, str, str, str, float]:
        """What a store keeps, in the order of `COLUMNS`."""
        parameters, result = canonical(dict(self.task.parameters)), canonical(dict(self.result))
        return self.task.id, self.task.kind, parameters, result, self.made_with, float(self.seconds)


def frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Records as a table, in an order that depends on their contents alone; lists (curves) as JSON text."""
    import pandas

    known = list(records)
    parameters = sorted({name for record in known for name in record.task.parameters})
    rows = [
        {"kind": r.task.kind, **r.task.parameters, **r.result, "made_with": r.made_with}
        for r in known
    ]
    texts = [
        {
            name: json.dumps(value) if isinstance(value, list) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    table = pandas.DataFrame(texts)
    return (
        table.sort_values(["kind", *parameters], kind="stable", ignore_index=True)
        if rows
        else table
    )


class Store(AbstractContextManager["Store"]):
    """A results file, opened for writing (one at a time) or for reading (any number, also during a run).

    A reader sees what was there when it was opened.

    Parameters
    ----------
    path : path-like
        Created when writing and not there yet (an empty file counts as not there).
    write : bool
        Take the writer's lock. A second writer is refused until the first has closed or died.
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False):
        self.path = Path(path)
        self._write = write
        if write:
            check_target(self.path)
        elif not self.path.is_file() or not self.path.stat().st_size:
            raise InputError(
                f"there is no store {self.path} with results; `chanceline sweep run` makes one"
            )
        with self._explained(), ExitStack() as opened:
            if write:
                # A transaction on a file beside the store, which the system ends with the process; readers do not notice it.
                lock = sqlite3.connect(f"{self.path}.lock.sqlite", timeout=0, isolation_level=None)
                opened.enter_context(closing(lock)).execute("BEGIN EXCLUSIVE")
            self._connection = sqlite3.connect(
                self.path, timeout=WAIT_SECONDS, isolation_level=None
            )
            opened.enter_context(closing(self._connection))
            self._records = {record.task.id: record for record in self._read()}
            if write:
                # A write-ahead log saves a batch without waiting for the disk, and survives the death of the process. A closed
                # store is one file again, which can be read in a read-only place.
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                opened.callback(self._connection.execute, "PRAGMA journal_mode = DELETE")
            self._opened = opened.pop_all() if write else ExitStack()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._explained():
            self._opened.close()

    def __len__(self) -> int:
        return len(self._records)

    def finished(self) -> set[str]:
        """Ids of all finished tasks."""
        return set(self._records)

    def seconds(self) -> dict[str, float]:
        """Processor time each finished task took, by id."""
        return {task_id: record.seconds for task_id, record in self._records.items()}

    def records(self, kind: str | None = None) -> Iterator[Record]:
        """All records in the order of their ids, which does not depend on how they were made."""
        return (
            record
            for _, record in sorted(self._records.items())
            if kind is None or record.task.kind == kind
        )

    def add(self, records: Iterable[Record]) -> int:
        """Save records in one transaction; returns how many were new.

        A task has one result: a record that contradicts what is stored refuses the whole batch.
        """
        if not self._write:
            raise InputError(
                f"the store {self.path} was opened for reading; open it with write=True"
            )
        new: dict[str, Record] = {}
        for record in records:
            known = self._records.get(record.task.id) or new.setdefault(record.task.id, record)
            if canonical(known.result) != canonical(record.result):
                raise InputError(
                    f"task {record.task.id} ({record.task.kind}) has another result in {self.path} or in another store; "
                    "keep results of different versions in different stores"
                )
        rows = [record.values() for record in new.values()]
        with self._explained(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", [(*r, digest(r)) for r in rows]
            )
        self._records |= new
        return len(new)

    def merge(self, others: Iterable[str | os.PathLike[str]]) -> int:
        """Take over the records of other stores, all of all or none; returns how many were new."""
        return self.add(record for path in others for record in Store(path).records())

    def frame(self, kind: str | None = None) -> pandas.DataFrame:
        """One row for each task, sorted by kind and parameters; lists (curves) as JSON text."""
        return frame(self.records(kind))

    def export(self, path: str | os.PathLike[str], kind: str | None = None) -> int:
        """Write CSV or Parquet, by the name's ending; returns the number of rows."""
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise InputError(
                f"cannot tell the format of {target}; end its name in .csv or .parquet"
            )
        table = self.frame(kind)
        if target.suffix == ".csv":
            write_text(target, table.to_csv(index=False, lineterminator="\n"))
        else:
            try:
                write_bytes(target, table.to_parquet(None, index=False))
            except ImportError as error:
                raise InputError(
                    "Parquet needs pyarrow: pip install 'chanceline[parquet]'"
                ) from error
        return len(table)

    def _read(self) -> list[Record]:
        """Every record, of a file that is whole and ours; an empty one becomes ours when writing."""
        ask = self._connection.execute
        application, schema = (
            ask(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        empty = not (
            application or schema or ask("SELECT count(*) FROM sqlite_master").fetchone()[0]
        )
        records = [] if empty and self._write else self._checked(application, schema)
        if self._write and schema != SCHEMA:
            with self._connection:
                ask("BEGIN IMMEDIATE")
                if empty:
                    ask(_TABLE)
                ask(f"PRAGMA application_id = {APPLICATION}")
                ask(f"PRAGMA user_version = {SCHEMA}")
        return records

    def _checked(self, application: int, schema: int) -> list[Record]:
        if application != APPLICATION:
            raise InputError(
                f"{self.path} is another program's database; it was left as it is, name another store"
            )
        if schema not in READABLE:
            raise InputError(
                f"{self.path} has schema {schema}, not {SCHEMA}; use the version of chanceline that made it"
            )
        problem = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise self._damaged(" ".join(problem.split()))
        return [
            self._record(*row)
            for row in self._connection.execute(
                f"SELECT {', '.join(COLUMNS)}, checksum FROM results"
            )
        ]

    def _record(
        self,
        task_id: str,
        kind: str,
        parameters: str,
        result: str,
        made_with: str,
        seconds: float,
        sum_: str,
    ) -> Record:
        try:
            if sum_ != digest((task_id, kind, parameters, result, made_with, seconds)):
                raise InputError("its checksum does not fit")
            task = Task(kind, json.loads(parameters))
            if task.id != task_id:
                raise InputError("its id is not that of its parameters")
            return Record(task, json.loads(result), made_with, seconds)
        except (ValueError, TypeError) as error:
            raise self._damaged(f"in the row of task {str(task_id)[:40]!r}: {error}") from error

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"{self.path} is damaged ({why}); it was left as it is, move it away or name another"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's refusals in its own words: of the system, or of a damaged file; what has been saved stays as it is."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith("SQLITE_BUSY"):
                raise InputError(
                    f"another process is writing to {self.path}; wait for it, or name another store"
                ) from error
            if code.startswith(
                ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
            ):
                raise OSError(
                    errno.EIO, f"{error}; what was saved before is whole", str(self.path)
                ) from error
            raise self._damaged(f"or no chanceline store: {error}") from error
