"""Files that are either whole or not there, and one sentence for whatever the operating system refuses.

A file is written under a temporary name in the same folder, brought to the disk and renamed; then the folder is brought to the
disk too. So after a kill or a power cut there is the old file or the new one. A link stays a link: the file behind it is
replaced. Terminals, pipes and /dev/null are written into, folders and disks are refused, so nothing but a file is ever replaced.
Files and pipes are read; what may never end is not.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chanceline.errors import ChancelineError, InputError, MachineError

# What the user can mend by naming another file, and how it is said.
_WRONG_FILE = {
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.EISDIR: "it is a folder; name a file",
    errno.EEXIST: "a file of that name is in the way",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "its links go round in a circle",
    errno.EINVAL: "the name is not allowed here",
    errno.ENXIO: "nobody reads from that pipe",
    errno.ETXTBSY: "it is a program that runs",
}
# What only the machine's owner can mend.
_MACHINE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than allowed",
    errno.EIO: "the disk reports an error",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENOMEM: "there is not enough memory",
}

# How long a pipe may stay without anyone who writes into it.
PIPE_SECONDS = 5.0


def explain(error: OSError, attempt: str) -> ChancelineError:
    """The operating system's refusal as one sentence: an `InputError` if another name mends it, else a `MachineError`.

    Parameters
    ----------
    error : what was caught.
    attempt : what was tried, such as "cannot write x.csv".
    """
    if error.errno in _WRONG_FILE:
        return InputError(f"{attempt}: {_WRONG_FILE[error.errno]}")
    reason = _MACHINE.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__
    return MachineError(f"{attempt}: {reason}")


@contextmanager
def explained(attempt: str) -> Iterator[None]:
    """Turn an OSError of the block into the sentence of `explain`."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ChancelineError):
            raise
        raise explain(error, attempt) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once; an older file of that name stays whole until the new one replaces it."""
    path = Path(path)
    with explained(f"cannot write {path}"):
        target = check_target(path)
        if target is None:
            _pour(path, content)
        else:
            _replace(target, content)


def write_text(path: Path, content: str) -> None:
    """`write_bytes` of UTF-8 text; what UTF-8 cannot hold (undecodable bytes of a file's name) is written as \\udcff."""
    write_bytes(path, content.encode("utf-8", errors="backslashreplace"))


def read_bytes(path: Path) -> bytes:
    """All of a file, or of a pipe once somebody writes into it; a device, which may never end, is refused."""
    path = Path(path)
    attempt = f"cannot read {path}"
    if "\0" in str(path):
        raise InputError(f"cannot read {str(path)!r}: a name cannot hold a null character")
    with explained(attempt):
        mode = os.stat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{attempt}: it is a device; name a file")
        return _drain(path) if stat.S_ISFIFO(mode) else path.read_bytes()


def check_target(path: Path) -> Path | None:
    """Whether `write_bytes` would find a place there, asked before hours of work: the file behind links, None for a pipe.

    Raises
    ------
    InputError
        For a folder, a disk or a socket, a file that may not be written, and a folder that does not exist or may not be
        written into.
    """
    path = Path(path)
    attempt = f"cannot write {path}"
    if "\0" in str(path):
        raise InputError(f"cannot write {str(path)!r}: a name cannot hold a null character")
    with explained(attempt):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or _is_open_stream(path)):
            return None
        if mode is not None and stat.S_ISDIR(mode):
            raise InputError(f"{attempt}: it is a folder; name a file")
        if mode is not None and not stat.S_ISREG(mode):
            raise InputError(f"{attempt}: it is a disk or a socket; name a file")
        target = Path(os.path.realpath(path))
        if mode is not None and not os.access(target, os.W_OK):
            raise InputError(f"{attempt}: the file there is write-protected")
        if not target.parent.is_dir():
            raise InputError(f"{attempt}: the folder {target.parent} does not exist")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError(f"{attempt}: no permission to write into {target.parent}, or it is read-only")
        return target


def make_folder(path: Path) -> Path:
    """The folder, made if it is not there."""
    path = Path(path)
    with explained(f"cannot make the folder {path}"):
        path.mkdir(parents=True, exist_ok=True)
    return path


def inside(folder: Path, name: str) -> Path:
    """The path of `name` in `folder`; a name that leads out of it (.., an absolute path, a link) is refused."""
    with explained(f"cannot use the name {name!r}"):
        home = Path(os.path.realpath(folder))
        if "\0" not in name and Path(os.path.realpath(home / name)).is_relative_to(home):
            return Path(folder) / name
    raise InputError(f"the name {name!r} leads out of the folder {folder}; name something inside it")


def _is_open_stream(path: Path) -> bool:
    """Whether it names a stream that is open already, such as /dev/stdout: what the shell has put there must stay."""
    return path.parent.exists() and (
        Path(os.path.realpath(path.parent)).parts[:2] == ("/", "proc") or str(path) in {"/dev/stdout", "/dev/stderr"}
    )


def _drain(pipe: Path) -> bytes:
    # Opened without waiting, a pipe tells whether anyone is at its other end: nothing to read yet is an error, nobody is the end.
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb", buffering=0) as file:
        deadline = time.monotonic() + PIPE_SECONDS
        while (start := file.read(1)) == b"":
            if time.monotonic() > deadline:
                raise InputError(f"cannot read {pipe}: nobody writes into that pipe")
            time.sleep(0.02)
        os.set_blocking(handle, True)
        return (start or b"") + file.readall()


def _pour(path: Path, content: bytes) -> None:
    # Without a reader, opening a pipe would wait for ever; so it is refused at once.
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _replace(target: Path, content: bytes) -> None:
    # A name of its own length: the target's name may be as long as names can be.
    temporary = target.parent / f".chanceline-{secrets.token_hex(8)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _keep_folder(target.parent)


def _keep_folder(folder: Path) -> None:
    """Bring the folder's list of names to the disk, where the system can (Windows and some network disks cannot)."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # a folder that may be written into but not listed
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(handle)
