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
    renamed. Links are followed, and the permissions of a file that is replaced are kept.
    """
    check_target(path)
    target = Path(os.path.realpath(path))

    # A terminal, a pipe or /dev/null is written into, never replaced.
    if target.exists() and not target.is_file():
        with open(target, "wb") as stream:
            stream.write(content)
        return

    temporary = target.parent / f".chanceline-{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode)
        os.replace(temporary, target)
    except OSError as error:
        # The error names the temporary file, which nobody knows, or none at all if the disk is
        # full. It should name the file that was to be written.
        error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path | str, content: str) -> None:
    """`write_bytes` of UTF-8 text; undecodable bytes of a file's name are written as \\udcff."""
    write_bytes(path, content.encode("utf-8", errors="backslashreplace"))


def check_target(path: Path | str) -> Path:
    """Return the path if `write_bytes` could write there, else raise the system's own error.

    This is checked before hours of work, whose result could not be saved.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))

    # A new file needs a folder that may be written to.
    needs_permission = target.parent
    if target.exists():
        needs_permission = target
    if not os.access(needs_permission, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return Path(path)
