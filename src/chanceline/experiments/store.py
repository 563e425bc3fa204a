"""One SQLite file that keeps one row for each finished task.

One writer, one transaction for each batch of results: a process killed at any moment loses at most
the tasks in hand. The file says that it is ours (``application_id``) and of which schema
(``user_version``), and every row carries a checksum over all it says. Opening checks the file and
reads it once; what is damaged, or another program's, is refused and left as it is.
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
from typing import TYPE_CHECKING, Any, NamedTuple

from chanceline._io import check_target, write_bytes, write_text
from chanceline.errors import InputError
from chanceline.experiments.tasks import Task, canonical, digest

if TYPE_CHECKING:
    import pandas

SCHEMA = 3
READABLE_SCHEMAS = (2, SCHEMA)  # schema 2 has the same rows, and a second table not needed any more
APPLICATION = 0x43484C4E  # "CHLN"
WAIT_SECONDS = 30  # for another process that is in the middle of a transaction
MAX_ID_SHOWN = 40  # characters of a damaged row's id in a refusal

CREATE_TABLE = """
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
# What the system, not the file, is to blame for.
SYSTEM_REFUSALS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")


class Row(NamedTuple):
    """A record as the store keeps it: the columns of its table but for the checksum, in order."""

    id: str
    kind: str
    parameters: str
    result: str
    made_with: str
    seconds: float


@dataclass(frozen=True)
class Record:
    """A finished task: its result, what it was made with, and its processor time."""

    task: Task
    result: Mapping[str, Any]
    made_with: str
    seconds: float

    def values(self) -> Row:
        """What a store keeps of it."""
        return Row(
            id=self.task.id,
            kind=self.task.kind,
            parameters=canonical(dict(self.task.parameters)),
            result=canonical(dict(self.result)),
            made_with=self.made_with,
            seconds=float(self.seconds),
        )


def record_from(row: Row, checksum: str) -> Record:
    """The record that a row holds; raises where checksum or id do not fit, or the JSON is none."""
    if checksum != digest(row):
        raise InputError("its checksum does not fit")
    task = Task(row.kind, json.loads(row.parameters))
    if task.id != row.id:
        raise InputError("its id is not that of its parameters")
    return Record(
        task=task, result=json.loads(row.result), made_with=row.made_with, seconds=row.seconds
    )


def frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Records of finished tasks as a table, one row each.

    The columns are the kind of the task, every parameter and every value of the result, and
    made_with (the versions of packages). Lists (curves) become JSON text. Rows are sorted by kind
    and parameters, so that their order does not depend on how the records were made.
    """
    import pandas

    rows = []
    parameter_names: set[str] = set()
    for record in records:
        task = record.task
        row = {"kind": task.kind, **task.parameters, **record.result}
        row["made_with"] = record.made_with
        rows.append({name: _as_cell(value) for name, value in row.items()})
        parameter_names.update(task.parameters)

    table = pandas.DataFrame(rows)
    if not rows:
        return table
    return table.sort_values(["kind", *sorted(parameter_names)], kind="stable", ignore_index=True)


def _as_cell(value: Any) -> Any:
    """A value for a cell of a table: a list as JSON text, anything else as it is."""
    if isinstance(value, list):
        return json.dumps(value)
    return value


class Store(AbstractContextManager["Store"]):
    """A results file, opened for writing (one at a time) or for reading (any number).

    It can be read during a run. A reader sees what was there when it was opened.

    Parameters
    ----------
    path : path-like
        Created when writing and not there yet (an empty file counts as not there).
    write : bool
        Take the writer's lock. A second writer is refused until the first has closed or died.
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False):
        """Open the store at a path.

        With `write`, a file that does not exist is made, and records can be added. Without it, the
        file must exist.
        """
        self.path = Path(path)
        self._write = write
        if write:
            check_target(self.path)
        elif not self.path.is_file() or not self.path.stat().st_size:
            raise InputError(
                f"there is no store {self.path} with results; `chanceline sweep run` makes one"
            )
        with self._sqlite_errors_in_words():
            if write:
                self._open_to_write()
            else:
                self._open_to_read()

    def _open_to_read(self) -> None:
        """Read all records. Nothing stays open."""
        self._cleanup = ExitStack()
        with closing(self._connect()) as self._connection:
            self._records = {record.task.id: record for record in self._read_or_create()}

    def _open_to_write(self) -> None:
        """Lock the store, read all records, and stay open until `close` runs the clean-up."""
        with ExitStack() as cleanup:
            self._lock(cleanup)
            self._connection = self._connect()
            cleanup.enter_context(closing(self._connection))
            self._records = {record.task.id: record for record in self._read_or_create()}
            self._prepare_for_batches(cleanup)
            # Had anything failed, all would be closed here. From now on it is for `close` to do.
            self._cleanup = cleanup.pop_all()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)

    def _lock(self, cleanup: ExitStack) -> None:
        """Keep other writers away until the clean-up.

        The lock is a transaction on a file beside the store, which the system ends with the
        process; readers do not notice it.
        """
        lock = sqlite3.connect(f"{self.path}.lock.sqlite", timeout=0, isolation_level=None)
        cleanup.enter_context(closing(lock))
        lock.execute("BEGIN EXCLUSIVE")

    def _prepare_for_batches(self, cleanup: ExitStack) -> None:
        """Write through a log until the clean-up.

        A write-ahead log saves a batch without waiting for the disk, and survives the death of the
        process. A closed store is one file again, which can be read in a read-only place.
        """
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        cleanup.callback(self._connection.execute, "PRAGMA journal_mode = DELETE")

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End writing: the file is whole, and another writer may open it."""
        with self._sqlite_errors_in_words():
            self._cleanup.close()

    def __len__(self) -> int:
        return len(self._records)

    def finished(self) -> set[str]:
        """Ids of all finished tasks."""
        return set(self._records)

    def seconds(self) -> dict[str, float]:
        """Processor time each finished task took, by id."""
        return {task_id: record.seconds for task_id, record in self._records.items()}

    def records(self, kind: str | None = None) -> Iterator[Record]:
        """All records, or those of one kind, in the order of their ids.

        This order does not depend on how they were made.
        """
        for _, record in sorted(self._records.items()):
            if kind is None or record.task.kind == kind:
                yield record

    def add(self, records: Iterable[Record]) -> int:
        """Save records in one transaction; returns how many were new.

        A task has one result. If a record has another result than is stored for its task, an
        InputError is raised and none of the records is saved.
        """
        if not self._write:
            raise InputError(
                f"the store {self.path} was opened for reading; open it with write=True"
            )

        # Find the records that are new. Results are compared as JSON text, in which equal results
        # are equal.
        new: dict[str, Record] = {}
        for record in records:
            task = record.task
            # The record of this task in the store, or an earlier one among `records`.
            known = self._records.get(task.id, new.get(task.id))
            if known is None:
                new[task.id] = record
            elif canonical(known.result) != canonical(record.result):
                raise InputError(
                    f"task {task.id} ({task.kind}) has another result in {self.path} or in another "
                    "store; keep results of different versions in different stores"
                )

        # Write them in one transaction, each row with a checksum of its other columns. SQLite's
        # connection, as a context manager, commits it, or rolls it back after an error.
        columns = [*Row._fields, "checksum"]
        placeholders = ", ".join("?" for _ in columns)
        rows = [record.values() for record in new.values()]
        with self._sqlite_errors_in_words(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                f"INSERT INTO results ({', '.join(columns)}) VALUES ({placeholders})",
                [(*row, digest(row)) for row in rows],
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
        """Write all records, or those of one kind, to a file; returns the number of rows.

        The file is a table in CSV or Parquet, by the ending of its name.
        """
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise InputError(
                f"cannot tell the format of {target}; end its name in .csv or .parquet"
            )
        table = self.frame(kind)
        if target.suffix == ".csv":
            write_text(target, table.to_csv(index=False, lineterminator="\n"))
            return len(table)
        try:
            content = table.to_parquet(None, index=False)
        except ImportError as error:
            raise InputError("Parquet needs pyarrow: pip install 'chanceline[parquet]'") from error
        write_bytes(target, content)
        return len(table)

    def _read_or_create(self) -> list[Record]:
        """Read all records of the file; raise InputError if it is not an undamaged store.

        If the store is opened for writing, this also makes an empty file a store, and marks one of
        an older schema as one of the present schema. If it is opened for reading, the file stays as
        it is, and an empty file is refused like any other that is no store.
        """
        # The two numbers in the header of an SQLite file that programs can set; 0 if they did not.
        application_id = self._ask("PRAGMA application_id")
        schema_version = self._ask("PRAGMA user_version")

        # Make an empty file a store.
        is_unmarked = application_id == 0 and schema_version == 0
        is_empty = is_unmarked and self._ask("SELECT count(*) FROM sqlite_master") == 0
        if is_empty and self._write:
            self._mark_as_store(create_table=True)
            return []

        # Read a file that is a store already.
        self._check_file(application_id, schema_version)
        records = self._read_rows()

        # Older schemas have the same rows, so only the mark in the header is renewed.
        if self._write and schema_version != SCHEMA:
            self._mark_as_store(create_table=False)
        return records

    def _mark_as_store(self, *, create_table: bool) -> None:
        """Mark the file, in its header, as a store of the present schema.

        With `create_table`, the empty table of results is made in the same transaction.
        """
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            if create_table:
                self._connection.execute(CREATE_TABLE)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _ask(self, question: str) -> Any:
        """The one value that an SQL statement answers with."""
        return self._connection.execute(question).fetchone()[0]

    def _check_file(self, application_id: int, schema_version: int) -> None:
        """Raise InputError if the file belongs to another program, cannot be read, or is damaged.

        `application_id` and `schema_version` are the marks in the file's header: which program made
        it, and which version of the table it holds.
        """
        if application_id != APPLICATION:
            raise InputError(
                f"{self.path} is another program's database; it was left as it is, "
                "name another store"
            )
        if schema_version not in READABLE_SCHEMAS:
            raise InputError(
                f"{self.path} has schema {schema_version}, not {SCHEMA}; "
                "use the version of chanceline that made it"
            )
        problem = self._ask("PRAGMA quick_check(1)")  # the first damage that SQLite finds, or "ok"
        if problem != "ok":
            problem_in_one_line = " ".join(problem.split())
            raise self._damage_error(problem_in_one_line)

    def _read_rows(self) -> list[Record]:
        """Read the records of all rows.

        Raises InputError if a row is damaged: `record_from` compares it with its checksum and id.
        """
        columns = ", ".join(Row._fields)
        records = []
        for *values, checksum in self._connection.execute(
            f"SELECT {columns}, checksum FROM results"
        ):
            row = Row(*values)
            try:
                records.append(record_from(row, checksum))
            except (ValueError, TypeError) as error:
                shown_id = str(row.id)[:MAX_ID_SHOWN]
                raise self._damage_error(f"in the row of task {shown_id!r}: {error}") from error
        return records

    def _damage_error(self, reason: str) -> InputError:
        """Return the error that refuses a damaged file: "<file> is damaged (<reason>); …"."""
        return InputError(
            f"{self.path} is damaged ({reason}); it was left as it is, move it away or name another"
        )

    @contextmanager
    def _sqlite_errors_in_words(self) -> Iterator[None]:
        """Context manager that turns SQLite's errors into errors that say what to do.

        If another process writes to the file, or if the file is damaged, this raises an InputError;
        if the operating system refused something, as when the disk is full, an OSError.
        """
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith("SQLITE_BUSY"):
                raise InputError(
                    f"another process is writing to {self.path}; wait for it, or name another store"
                ) from error
            if code.startswith(SYSTEM_REFUSALS):
                reason = f"{error}; what was saved before is whole"
                raise OSError(errno.EIO, reason, str(self.path)) from error
            # SQLite reports a damaged store and a file that never was a store by the same errors.
            # The message is therefore "<file> is damaged (or no chanceline store: <error>); …".
            raise self._damage_error(f"or no chanceline store: {error}") from error
