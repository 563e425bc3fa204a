"""Opening a store's SQLite file: for one writer, for readers, in a read-only place; and what the refusals mean."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from chanceline.errors import InputError

_BUSY, _READ_ONLY, _IO_ERROR, _FULL, _CANNOT_OPEN = 5, 8, 10, 13, 14


def explain_sqlite(error: sqlite3.Error, path: Path, attempt: str) -> Exception:
    """SQLite's refusal as one sentence; what has been saved stays as it is in every case."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code == _FULL or (code == _IO_ERROR and _is_full(path)):
        return OSError(f"cannot {attempt} {path}: the disk is full; what was saved before is whole")
    if code == _IO_ERROR:
        return OSError(f"cannot {attempt} {path}: the disk reports an error ({error})")
    if code == _BUSY:
        return InputError(f"another process is writing to {path}; wait for it, or name another store and merge later")
    if code in (_READ_ONLY, _CANNOT_OPEN):
        return InputError(f"cannot {attempt} {path}: no permission, a read-only place, or not a file ({error})")
    sentence = f"{path} is damaged or not a chanceline store ({error}); it was left as it is, move it away or name another"
    return InputError(sentence)


def _is_full(path: Path) -> bool:
    # SQLite needs a few pages for its own files.
    return shutil.disk_usage(path.parent).free < 2**16


@contextmanager
def explained_sqlite(path: Path, attempt: str) -> Iterator[None]:
    """Turn SQLite's errors in the block into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_sqlite(error, path, attempt) from error


def check_path(path: Path, write: bool) -> None:
    """Refuse what cannot be a store before anything is made beside it."""
    if path.exists() and not path.is_file():
        raise InputError(f"cannot open the store {path}: it is not a file")
    if not write and not path.exists():
        raise InputError(f"there is no store {path}; `chanceline sweep run` makes one")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the store does not exist; create it first")
    if not write and path.stat().st_size == 0:
        raise InputError(f"{path} is empty; no task has been finished in it yet")


def writers_lock(path: Path) -> sqlite3.Connection:
    """A transaction on a file beside the store, which the system ends with the process."""
    with explained_sqlite(path, "write to"):
        lock = sqlite3.connect(path.with_name(path.name + ".lock.sqlite"), timeout=0, isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except BaseException:
            lock.close()
            raise
    return lock


def connect_to_write(path: Path) -> sqlite3.Connection:
    with explained_sqlite(path, "write to"):
        return sqlite3.connect(path, timeout=30, isolation_level=None)


@contextmanager
def connect_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that has been tried; where SQLite may not put its files beside the store, it reads without them."""
    try:
        connection = _tried(sqlite3.connect(path, timeout=30, isolation_level=None))
    except sqlite3.OperationalError as error:
        if (error.sqlite_errorcode or 0) & 0xFF not in (_READ_ONLY, _CANNOT_OPEN):
            raise
        with _connect_in_read_only_place(path) as connection:
            yield connection
        return
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _connect_in_read_only_place(path: Path) -> Iterator[sqlite3.Connection]:
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        connection = _with_log(path, log)
    else:
        connection = _tried(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True, isolation_level=None))
    try:
        yield connection
    finally:
        connection.close()


def _with_log(path: Path, log: Path) -> sqlite3.Connection:
    """In memory, with the results of a killed run that are in its log only: SQLite brings them in where it may write."""
    with tempfile.TemporaryDirectory(prefix="chanceline-") as folder:
        for file in (path, log):
            shutil.copyfile(file, Path(folder) / file.name)
        whole = sqlite3.connect(":memory:", isolation_level=None)
        try:
            with closing(_tried(sqlite3.connect(Path(folder) / path.name, isolation_level=None))) as copy:
                copy.backup(whole)
        except BaseException:
            whole.close()
            raise
    return whole


def _tried(connection: sqlite3.Connection) -> sqlite3.Connection:
    """SQLite opens its files at the first question only."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
