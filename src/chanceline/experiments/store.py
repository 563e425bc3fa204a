"""One SQLite file that keeps one row per finished task.

WAL mode, one writer, one transaction per batch of results: a process killed at any moment loses at most the tasks in flight.
The file says that it is ours (``application_id``) and of which schema (``user_version``); anything else is refused and left as
it was. Every row carries a checksum over all it says, and the file the sum of all checksums: whenever rows are read, a changed
digit, a forged id or a lost row is refused. Stores of schema 1, before the checksums, are read as they are (their ids are
checked) and upgraded in the transaction that first adds something.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from chanceline._io import write_bytes, write_text
from chanceline.errors import InputError
from chanceline.experiments.records import COLUMNS, BrokenRow, Record, add_seals, frame, open_row, seal
from chanceline.experiments.store_file import (
    check_path,
    connect_to_read,
    connect_to_write,
    explain_sqlite,
    explained_sqlite,
    writers_lock,
)

if TYPE_CHECKING:
    import pandas

SCHEMA = 2
FIRST_SCHEMA = 1
APPLICATION = 0x43484C4E  # "CHLN"

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
_TOTALS = "CREATE TABLE totals (rows INTEGER NOT NULL, checksum TEXT NOT NULL)"
_NOTHING = f"{0:032x}"


class Store:
    """A results file, opened for writing (one at a time) or for reading (any number, also during a run).

    Opening reads and checks every row.

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
        check_path(self.path, write)
        with ExitStack() as opened:
            with explained_sqlite(self.path, "write to" if write else "read"):
                if write:
                    lock = writers_lock(self.path)
                    opened.callback(lock.close)
                    self._connection = connect_to_write(self.path)
                    opened.callback(self._connection.close)
                else:
                    self._connection = opened.enter_context(connect_to_read(self.path))
                self.schema = self._check()
                self._records()
                if write:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    # With WAL, NORMAL survives the death of the process at any moment.
                    self._connection.execute("PRAGMA synchronous = NORMAL")
            self._opened = opened.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def __len__(self) -> int:
        return len(self._records())

    def finished(self) -> set[str]:
        """Ids of all finished tasks."""
        return {record.task.id for record in self._records()}

    def seconds(self) -> dict[str, float]:
        """Processor time each finished task took, by id."""
        return {record.task.id: record.seconds for record in self._records()}

    def records(self, kind: str | None = None) -> Iterator[Record]:
        """All records in the order of their ids, which does not depend on how they were made."""
        return (record for record in self._records() if kind is None or record.task.kind == kind)

    def add(self, records: Iterable[Record]) -> int:
        """Save records in one transaction; returns how many were new.

        A task has one result: a record that contradicts what is stored refuses the whole batch.
        """
        if not self._write:
            raise InputError(f"the store {self.path} was opened for reading; open it with write=True")
        seals: list[str] = []
        with self._transaction("IMMEDIATE"):
            if self.schema == FIRST_SCHEMA:
                self._upgrade()
            for record in records:
                values = record.values()
                known = self._connection.execute("SELECT result FROM results WHERE id = ?", values[:1]).fetchone()
                if known is None:
                    seals.append(seal(values))
                    self._connection.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, seals[-1]))
                elif known[0] != values[3]:
                    raise InputError(
                        f"task {record.task.id} ({record.task.kind}, {values[2]}) has another result in {self.path}; "
                        "keep results of different versions in different stores"
                    )
            rows, total = self._connection.execute("SELECT rows, checksum FROM totals").fetchone()
            self._connection.execute("UPDATE totals SET rows = ?, checksum = ?", (rows + len(seals), add_seals(total, seals)))
        self.schema = SCHEMA
        return len(seals)

    def merge(self, others: Iterable[str | os.PathLike[str]]) -> int:
        """Take over the records of other stores, all of all or none; returns how many were new."""
        return self.add(read_stores(others))

    def frame(self, kind: str | None = None) -> pandas.DataFrame:
        """One row for each task, sorted by kind and parameters; lists (curves) as JSON text."""
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

    def _records(self) -> list[Record]:
        """Every row, in the order of ids, checked against its checksum and their sum against the total."""
        sealed = self._has_checksums()
        columns = ", ".join((*COLUMNS, "checksum") if sealed else COLUMNS)
        # One transaction: the total belongs to the same moment as the rows.
        with self._transaction("DEFERRED"):
            rows = self._connection.execute(f"SELECT {columns} FROM results ORDER BY id").fetchall()
            totals = self._connection.execute("SELECT rows, checksum FROM totals").fetchall() if sealed else []
        found = []
        for row in rows:
            values, checksum = row[: len(COLUMNS)], row[len(COLUMNS)] if sealed else None
            try:
                found.append(open_row(values, checksum))
            except BrokenRow as error:
                raise InputError(f"{self.path} is damaged: in the row of task {str(values[0])[:40]!r} {error}") from error
        # SQLite trusts its tree; with exchanged pages it would not find what is there.
        if any(one.task.id >= other.task.id for one, other in pairwise(found)):
            raise InputError(f"{self.path} is damaged: its rows are out of order")
        if sealed and totals != [(len(rows), add_seals(_NOTHING, (row[-1] for row in rows)))]:
            raise InputError(f"{self.path} is damaged: rows are missing, or were put in by another program")
        return found

    def _has_checksums(self) -> bool:
        # Another process may have upgraded the store since it was opened.
        return bool(self._connection.execute("PRAGMA user_version").fetchone()[0] >= SCHEMA)

    def _upgrade(self) -> None:
        """From schema 1 to 2, inside a transaction: a checksum for every row, and their sum."""
        self._connection.execute("ALTER TABLE results ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
        rows = self._connection.execute(f"SELECT {', '.join(COLUMNS)} FROM results").fetchall()
        seals = [seal(row) for row in rows]
        pairs = [(one, row[0]) for one, row in zip(seals, rows, strict=True)]
        self._connection.executemany("UPDATE results SET checksum = ? WHERE id = ?", pairs)
        self._start_totals(len(rows), add_seals(_NOTHING, seals))

    def _start_totals(self, rows: int, checksum: str) -> None:
        self._connection.execute(_TOTALS)
        self._connection.execute("INSERT INTO totals VALUES (?, ?)", (rows, checksum))
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")

    @contextmanager
    def _transaction(self, how: str) -> Iterator[None]:
        try:
            self._connection.execute(f"BEGIN {how}")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain_sqlite(error, self.path, "write to" if self._write else "read") from error
            raise

    def _check(self) -> int:
        """The schema, of a file that is whole and ours; an empty one becomes ours when writing."""
        ask = self._connection.execute
        application = ask("PRAGMA application_id").fetchone()[0]
        schema = int(ask("PRAGMA user_version").fetchone()[0])
        tables = ask("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application == 0 and schema == 0 and tables == 0:
            if not self._write:
                raise InputError(f"{self.path} is empty; no task has been finished in it yet")
            with self._transaction("IMMEDIATE"):
                ask(_TABLE)
                ask(f"PRAGMA application_id = {APPLICATION}")
                self._start_totals(0, _NOTHING)
            return SCHEMA
        if application != APPLICATION:
            raise InputError(f"{self.path} is another program's database; it was left as it is, name another store")
        if schema not in (FIRST_SCHEMA, SCHEMA):
            raise InputError(
                f"{self.path} has schema {schema} and this version of chanceline reads schemas {FIRST_SCHEMA} and {SCHEMA}; "
                "it was left as it is, name another store or use the version that made it"
            )
        problem = ask("PRAGMA quick_check(1)").fetchone()[0]
        columns = {row[1] for row in ask("PRAGMA table_info(results)")}
        if problem == "ok" and ("checksum" in columns) != (schema == SCHEMA):
            problem = "its columns are not those of its schema"
        if problem != "ok":
            problem = " ".join(problem.split())
            raise InputError(f"{self.path} is damaged ({problem}); it was left as it is, name another store")
        return schema


def read_stores(paths: Iterable[str | os.PathLike[str]]) -> list[Record]:
    """The records of several stores, each task once; stores that contradict each other are refused."""
    found: dict[str, Record] = {}
    for path in paths:
        with Store(path) as store:
            for record in store.records():
                known = found.setdefault(record.task.id, record)
                if known.result != record.result:
                    raise InputError(
                        f"task {record.task.id} ({record.task.kind}) has another result in {path} than in a store before it; "
                        "keep results of different versions in different stores"
                    )
    return list(found.values())
