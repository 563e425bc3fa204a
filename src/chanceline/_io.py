"""Files that are either whole or not there.

What the system refuses is its own OSError; the command line tells it in one sentence.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def write_bytes(path: Path | str, content: bytes) -> None:
    """Write a file so that afterwards it is either complete, or as it was before.

    The content goes to a temporary file in the same folder, which is flushed to the disk and then
    renamed to `path`. If `path` is a symbolic link, its target is replaced; a file that is replaced
    passes its permissions on to the new one.
    """
    check_target(path)
    target = Path(os.path.realpath(path))

    # A terminal, a pipe or /dev/null must be written into: renaming would replace it by a file.
    if target.exists() and not target.is_file():
        with open(target, "wb") as stream:
            stream.write(content)
        return

    temporary_path = target.parent / f".chanceline-{secrets.token_hex(8)}"
    try:
        with open(temporary_path, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary_path, target.stat().st_mode)
        os.replace(temporary_path, target)
    except OSError as error:
        # The error names the temporary file, which means nothing to the user, or no file at all if
        # the disk is full. It should name the file that was to be written.
        error.filename = str(path)
        raise
    finally:
        # The temporary file is still there if an error came before it was renamed.
        temporary_path.unlink(missing_ok=True)


def write_text(path: Path | str, content: str) -> None:
    """`write_bytes` of UTF-8 text; undecodable bytes of a file's name are written as \\udcff."""
    write_bytes(path, content.encode("utf-8", errors="backslashreplace"))


def check_target(path: Path | str) -> Path:
    """Return the path if `write_bytes` could write there, else raise the error that it would meet.

    Called before long computations, so that they do not end with a result that cannot be saved.
    The error is the OSError (of the right subclass and number) that the system raises.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))

    # An existing file must be writable itself; for a new file its folder must be writable.
    file_or_folder = target.parent
    if target.exists():
        file_or_folder = target
    if not os.access(file_or_folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return Path(path)
